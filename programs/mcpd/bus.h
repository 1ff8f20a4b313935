/* bus.h: the instances of this server tell each other what changed (mcpd --bus; mcp/bus.h). Workers
 * without --bus tell each other over their lines to the supervisor (supervisor/line.h).
 *
 * Besides changes, the instances tell each other which static tokens were removed, and that results of
 * token checks are to be forgotten.
 */
#ifndef MCPD_BUS_H
#define MCPD_BUS_H

#include <mcp/auth.h>
#include <mcp/sys/bus.h>

#include "http.h"
#include "options.h"
#include "tokens.h"

typedef struct bus bus;

/* What messages of other instances are about. Everything is borrowed. */
typedef struct bus_context {
    const settings *s;
    const mcp_host *host;
    mcp_server *server;
    tokens *const *known;
    mcp_resource_server *oauth; /* NULL without the section oauth */
    listeners *at;
    /* Of a worker: the descriptor of its line, which the bus takes over. Without a line it is -1. */
    int line;
    const unsigned char *key; /* of all workers, and of successors: BUS_KEY bytes */
} bus_context;

enum { BUS_KEY = 32 };

/* Loads the module, reads the password and makes the bus, which does not connect yet; sets the seal of the
 * server. *ret is NULL if there is neither a bus nor a line. Returns MCP_OK or a negative code with the reason in
 * *error; *which is then the name of the option that is wrong. */
int bus_new(const bus_context *context, bus **ret, const char **which, mcp_error *error);
/* Begins to share. `b` may be NULL. */
int bus_share(bus *b, mcp_error *error);
/* Waits, at most two seconds, until the other instances can know everything that happened here: called at the end, when
 * nothing is served any more. `b` may be NULL. */
void bus_settle(const bus *b, mcp_loop *loop);
/* Must be called after the server is freed, which closes the bus. NULL is allowed. */
void bus_free(bus *b);

/* Tell the other instances. `b` may be NULL. */
void bus_tell_removed(const bus *b, const mcp_identity *identity);
void bus_tell_forget(const bus *b);

/* Returns the line of a worker; else NULL. `b` may be NULL. */
struct worker_line *bus_line(const bus *b);

/* Returns the name that the instances have in common. */
const char *bus_name(const settings *s);

/* bus_look.c: the bus in --doctor and in /metrics. */
void bus_look(const settings *now);
void bus_metrics(const mcp_server *server, void (*add)(mcp_str text, void *arg), void *arg);

/* bus_make.c: makes the bus of an address "NAME:REST". */
int bus_make(const settings *s, const mcp_host *host, mcp_bus *ret, const char **which,
             mcp_error *error);

#endif
