/* life.h: the life of a process that serves over HTTP, as others see it: it tells the service manager
 * and the process that started it when it is ready, hands its sockets to a successor (SIGUSR2), and if
 * it is a worker, does what its supervisor says.
 */
#ifndef MCPD_LIFE_H
#define MCPD_LIFE_H

#include <mcp/io.h>

#include "http.h"
#include "reload.h"
#include "board.h"
#include "start.h"

typedef struct life life;

typedef struct life_context {
    start *start;
    const settings *now;
    const listeners *at;
    reload *reload;
    mcp_loop *loop;
    board *board; /* of a worker; else NULL */
} life_context;

/* Returns MCP_OK, MCP_ENOMEM or MCP_EIO. */
int life_start(const life_context *context, life **ret);
void life_stop(life *l); /* NULL is allowed */

/* Called when the process serves. */
void life_ready(life *l);
/* Called when a signal ends it, or others have taken over. */
void life_draining(void *life);

/* What a worker and its supervisor say to each other: one byte each. */
enum {
    LIFE_READY = 'R',   /* the worker serves */
    LIFE_RELOAD = 'h',  /* the supervisor: reload the configuration */
    LIFE_LOADED = 'l',  /* the worker: it was reloaded */
    LIFE_REFUSED = 'f', /* the worker: it is invalid, so nothing changed */
    LIFE_LEAVE = 'd',   /* the supervisor: drain, others have taken over */
    LIFE_RETIRE = 'r',  /* the supervisor: serve, but say that this will end (mcp_http_retire()) */
    LIFE_WATCH = 'w',   /* the supervisor asks, and the worker answers, whether the loop runs */
};

/* How long draining leaves idle connections open if others have taken over. */
enum { LIFE_LINGER_MS = 1000 };

#endif
