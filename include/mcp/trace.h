/* mcp/trace.h: what a request did and how long each part took, for a collector of traces. The ids are those of the W3C's
 * Trace Context (https://www.w3.org/TR/trace-context/); 2026-07-28 reserves `traceparent` in _meta for them. The functions
 * here send nothing; the program does (mcpd --traces).
 */
#ifndef MCP_TRACE_H
#define MCP_TRACE_H

#include <mcp/audit.h>
#include <mcp/base.h>
#include <mcp/request.h>
#include <mcp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mcp_span_kind {
    MCP_SPAN_REQUEST = 0, /* the whole request */
    MCP_SPAN_SOURCE, /* the provider of a mount has it, or its part of a list; `name`: as mcp_audit_record.source */
    MCP_SPAN_CALL, /* a request to another server; `name`: that server */
    MCP_SPAN_WORK, /* work on a worker thread (mcp_request_work()), without the time for which it waited */
} mcp_span_kind;

/* A part of a request. Times are measured as in mcp_server_usage(). */
typedef struct mcp_span {
    size_t size;                 /* set by the library */
    const struct mcp_span *next; /* in the order in which they began; NULL after the last one */
    mcp_span_kind kind;
    bool
        failed; /* it has an error. A part that did not end ends with the request, and is as the request */
    unsigned char id[8];
    unsigned char parent[8]; /* all zero: none */
    const char *name;        /* NULL if the kind has none */
    uint64_t begin_us;       /* since the beginning of the request */
    uint64_t duration_us;
} mcp_span;

typedef struct mcp_trace {
    size_t size; /* set by the library */
    unsigned char id[16];
    const mcp_audit_record *request;
    const mcp_span *spans; /* the first one is that of the request; at most MCP_SPANS */
} mcp_trace;

/* Further parts of a request are not recorded. */
#define MCP_SPANS 64

/* Sets a function that is called at the end of a request, as that of mcp_server_set_audit(), for `share` of the requests
 * (0 to 1). Which requests these are does not depend on what the caller asks for (the flag "sampled"): all requests of one
 * trace are among them or none. A request whose caller names no trace begins one. Everything is valid during the call
 * only; the function must not call the server. Set it before the first channel is made. NULL removes the function. Returns
 * MCP_OK, MCP_EINVAL (no server, or a share that is not a number from 0 to 1) or MCP_EIO (no randomness). */
MCP_API int mcp_server_set_trace(mcp_server *server, double share,
                                 void (*ended)(const mcp_trace *trace, void *user), void *user);

/* For handlers. Begins a part of the request; `name` is copied and may be NULL. The span belongs to the request and must
 * not be used after its end. Returns NULL if the request is not traced, has MCP_SPANS of them or is out of memory. Only on
 * the server's thread. */
MCP_API mcp_span *mcp_request_span_begin(mcp_request *req, mcp_span_kind kind, const char *name);
/* Ends a part. Does nothing if span is NULL or has ended. Only on the server's thread. */
MCP_API void mcp_request_span_end(mcp_request *req, mcp_span *span, bool failed);

/* The size of a traceparent with its final NUL. */
#define MCP_TRACEPARENT_ROOM 56

/* For handlers that ask another server. Writes the `traceparent` that it should get: with the id of the span; without one
 * (NULL) that of the source; if the request is not traced, what the caller sent. Returns false, with an empty text, if
 * there is none or it is not valid. Only on the server's thread. */
MCP_API bool mcp_request_traceparent(mcp_request *req, const mcp_span *span,
                                     char to[MCP_TRACEPARENT_ROOM]);

#ifdef __cplusplus
}
#endif
#endif
