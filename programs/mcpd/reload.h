/* reload.h: SIGHUP reloads the configuration file and, over HTTP, tokens and certificates, even
 * without a configuration file.
 *
 * An invalid file changes nothing, and the log has its errors. Sources, access rules and tokens
 * take effect at once; other settings (addresses, limits, the name) need a restart, and the log
 * says so.
 */
#ifndef MCPD_RELOAD_H
#define MCPD_RELOAD_H

#include <mcp/provider.h>
#include <prompts.h>

#include "http.h"
#include "offer.h"
#include "tokens.h"

typedef struct reload reload;

typedef struct reload_context {
    const settings *line;  /* the command line */
    const settings *start; /* what was in force at the start; stays valid */
    offer *offer;
    tokens **known;
    listeners *at;        /* where tokens are asked for */
    mcp_prompts *prompts; /* NULL: none */
    mcp_server *server;
    const mcp_host *host;
} reload_context;

/* From now on SIGHUP stays pending until it is read. Call it before any thread is started; code
 * that starts a program lets it have the signal again. */
void reload_hold(void);

/* MCP_OK, MCP_ENOMEM, MCP_EIO. */
int reload_start(const reload_context *context, reload **ret);
/* NULL is allowed. What is in force by then stays valid until reload_free(). */
void reload_stop(reload *r);
/* After the server. */
void reload_free(reload *r);

#endif
