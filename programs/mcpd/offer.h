/* offer.h: registers what mcpd serves according to the settings: at the start, and again when the
 * configuration is reloaded. */
#ifndef MCPD_OFFER_H
#define MCPD_OFFER_H

#include <bridge.h>
#include <files.h>
#include <isolated.h>

#include "absent.h"
#include "access.h"
#include "config.h"
#include "described.h"
#include "modules.h"
#include "options.h"
#include "places.h"

typedef struct offer {
    modules *modules;
    config *config;               /* NULL without a configuration file */
    const settings *now;          /* the settings in force */
    access_rules *all_rules;      /* NULL if there are none */
    access_rules *rules;          /* the same, or NULL if they do not restrict what callers see */
    const access_rules *building; /* those of a build that is not complete yet */
    access_rules *building_all;   /* the same with those that do not restrict what callers see */
    mcp_isolated_group isolated;  /* the sources in processes of their own */
    notes *notes;
    mcp_files *watching;           /* NULL if no files are served */
    mcp_bridge *bridge;            /* the resource tools; NULL until they are needed */
    bool strict;                   /* an absent source is an error even if there are others */
    absent absent, coming;         /* absent sources; those of a build that is not complete yet */
    source_places places, placing; /* those in force; those of a build that is not complete yet */
    bool looking;                  /* the build was started because an absent source appeared */
    mcp_server *server;            /* needed to poll for absent sources, as are the next three */
    const mcp_host *host;
    mcp_host_timer *timer;
    char logged[sizeof(((mcp_error *)0)->text)];
} offer;

/* Registers everything and replaces what was registered before. On failure nothing changes, and the
 * error is reported or in *error. */
int offer_make(offer *o, mcp_server *server, mcp_error *error);
/* Must be called before the server is freed. */
void offer_leave(offer *o);
void offer_clear(offer *o);

/* Checks whether a source of a module works now. Returns MCP_OK, also if the module cannot check
 * it; otherwise error->text says why not. */
int offer_try(offer *o, const source *s, mcp_error *error);

/* Adds to *ret what the module says about the source, which is not opened. Returns MCP_OK,
 * MCP_EUNSUPPORTED if the module cannot say it, or another negative code; error->text then says
 * why, unless the error was reported. */
int offer_describe(offer *o, const source *s, described *ret, mcp_error *error);

/* Returns the argument for a module, in which a path relative to the configuration file's folder is
 * made absolute. The caller frees it. Returns NULL if out of memory. */
char *offer_place(const mcp_module *module, const char *what, const char *base);

#endif
