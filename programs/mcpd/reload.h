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
    const settings *start; /* the settings at the start; stay valid */
    offer *offer;
    tokens **known;
    listeners *at;        /* the listeners, whose requests use the tokens */
    mcp_prompts *prompts; /* NULL: none */
    mcp_server *server;
    const mcp_host *host;
} reload_context;

/* Blocks SIGHUP, so that it stays pending until it is read. Call it before any thread is started;
 * code that starts a program unblocks it there. */
void reload_hold(void);

/* MCP_OK, MCP_ENOMEM, MCP_EIO. */
int reload_start(const reload_context *context, reload **ret);
/* NULL is allowed. The settings in force stay valid until reload_free(). */
void reload_stop(reload *r);
/* After the server. */
void reload_free(reload *r);

#endif
