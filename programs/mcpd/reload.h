/* reload.h: SIGHUP reloads the configuration file and, over HTTP, tokens and certificates, even
 * without a configuration file.
 *
 * If the file is invalid, nothing changes and the errors are logged. Sources, access rules and
 * tokens take effect at once. Other settings (addresses, limits, the name) require a restart, which
 * is logged.
 */
#ifndef MCPD_RELOAD_H
#define MCPD_RELOAD_H

#include <mcp/provider.h>
#include <prompts.h>

#include "audit.h"
#include "bus.h"
#include "http.h"
#include "offer.h"
#include "tokens.h"

typedef struct reload reload;

typedef struct reload_context {
    const settings *line;  /* the command line */
    const settings *start; /* the settings at the start; they stay valid */
    offer *offer;
    tokens **known;
    mcp_resource_server *oauth;  /* NULL without the section oauth */
    const config *config;        /* of the start; NULL without a file */
    listeners *at;               /* the listeners, whose requests use the tokens */
    mcp_prompts *prompts;        /* NULL without --prompts */
    size_t workers;              /* of which this process is one; 0 without a supervisor */
    audit *audit;                /* not on without --audit */
    struct traces *traces;       /* NULL without --traces */
    struct decisions *decisions; /* NULL without --decisions */
    const bus *bus;              /* NULL without --bus */
    mcp_server *server;
    const mcp_host *host;
} reload_context;

/* Blocks SIGHUP, and SIGUSR2 (supervisor/life.h), so that they stay pending until they are read. Call it before any thread is
 * started. Code that starts a program unblocks the signals in the child. */
void reload_hold(void);

/* Returns MCP_OK, MCP_ENOMEM or MCP_EIO. */
int reload_start(const reload_context *context, reload **ret);
/* Reloads now. Returns false if nothing changed, after reporting why. */
bool reload_again(reload *r);
/* Since the start: how often a reload succeeded and failed, and when the settings in force were read, in
 * seconds since 1970. */
typedef struct reload_counts {
    uint64_t succeeded, failed;
    int64_t read_at;
} reload_counts;
reload_counts reload_count(void);
/* NULL is allowed. The settings in force stay valid until reload_free(). */
void reload_stop(reload *r);
/* Must be called after the server is freed. */
void reload_free(reload *r);

#endif
