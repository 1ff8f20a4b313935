/* offer.h: registers what mcpd serves according to the settings: at the start, and again when the
 * configuration is reloaded. */
#ifndef MCPD_OFFER_H
#define MCPD_OFFER_H

#include <bridge.h>
#include <files.h>

#include "absent.h"
#include "access.h"
#include "config.h"
#include "modules.h"
#include "options.h"
#include "places.h"

typedef struct offer {
    modules *modules;
    config *config;      /* NULL: there is none */
    const settings *now; /* what is in force */
    access_rules *rules;
    notes *notes;
    mcp_files *watching;           /* NULL: no files are served */
    mcp_bridge *bridge;            /* of the server; NULL: it was not needed yet */
    bool strict;                   /* a source that is not there is an error, whatever else is */
    absent absent, coming;         /* what is left out; the same of an offer that is being made */
    source_places places, placing; /* of the sources; the same of an offer that is being made */
    bool looking;                  /* it is made because a source came */
    mcp_server *server;            /* for looking again, as are the next three */
    const mcp_host *host;
    mcp_host_timer *timer;
    char said[sizeof(((mcp_error *)0)->text)];
} offer;

/* A source that is not there yet is looked for on the server's host until it is (absent.h). */
/* Offers all of it, instead of what it offered before. On failure everything stays as it was, and
 * what is wrong was told or stands in *error. */
int offer_make(offer *o, mcp_server *server, mcp_error *error);
/* Before the server goes. */
void offer_leave(offer *o);
void offer_clear(offer *o);

/* Whether a source of a module works now: MCP_OK, also where the module cannot tell; else
 * error->text says why not. */
int offer_try(offer *o, const source *s, mcp_error *error);

/* What the module is to open: a relative path of a configuration file begins at its folder. NULL:
 * no memory; free() it. */
char *offer_place(const mcp_module *module, const char *what, const char *base);

#endif
