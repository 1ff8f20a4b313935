/* traces.h: sends what requests did (mcp/trace.h) to a collector of OpenTelemetry (--traces). It gets names, addresses, outcomes and
 * times: only what the table in traces.c has, and so never arguments, contents, queries of URIs, identities or tokens.
 *
 * Spans are collected and sent together. While the collector does not answer, at most TRACES_KEPT of them wait; further ones
 * are lost and counted. No request waits for any of this.
 */
#ifndef MCPD_TRACES_H
#define MCPD_TRACES_H

#include <mcp/io.h>
#include <mcp/trace.h>

#include "options.h"

enum { TRACES_KEPT = 2048 };

typedef struct traces traces;

typedef struct traces_counts {
    uint64_t sent, lost; /* spans */
} traces_counts;

/* Starts, if there is --traces; otherwise *ret is NULL. Returns MCP_OK, or a negative code with *error set. */
int traces_start(const settings *s, mcp_loop *loop, mcp_server *server, traces **ret,
                 mcp_error *error);
/* Reads the file of --traces-auth-file again. */
void traces_renew(traces *t);
/* Zeros if t is NULL. */
traces_counts traces_count(const traces *t);
/* Sends what is left, for at most two seconds. Must be called after the last request, before the loop is freed. NULL is allowed. */
void traces_stop(traces *t);

#endif
