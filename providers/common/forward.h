/* forward.h: requests that are forwarded to another server: their params, and their life. A request
 * waits until the process of that server is ready, is sent, and ends with the answer, with an error, or
 * when the peer cancels it. After a cancellation it remains until the client has reported the end of
 * its call.
 */
#ifndef COMMON_FORWARD_H
#define COMMON_FORWARD_H

#include <mcp/trace.h>
#include <mcp/sys/children.h>

/* ---- forward_params.c -------------------------------------------------------------------------- */

/* The members to change. A string whose ptr is NULL is not set. */
typedef struct common_forward_change {
    mcp_str cursor; /* the other server's cursor; if not set, params have no cursor */
    mcp_str name, uri;
    bool ref;             /* `name` and `uri` replace members of "ref", not of params */
    mcp_str meta;         /* further members of _meta, as JSON text without braces */
    const mcp_span *span; /* the part of the request in which the other server is asked, or NULL */
} common_forward_change;

/* Params for the other server, in one block of memory that begins at `members`, which the caller
 * releases. The strings are NUL-terminated. */
typedef struct common_params {
    char *members;    /* those of params except _meta, as JSON text without braces or line ends */
    const char *meta; /* those of _meta; see mcp_call_options.meta */
    const char
        *name; /* `name` or, if it is not set, `uri`; NULL if neither replaces a member of params */
    size_t len; /* bytes of `members` and `meta` */
} common_params;

/* Makes the params. They are copied as text, except for the members that belong to a single hop. Of a trace, the
 * other server gets what mcp_request_traceparent() says, `tracestate` if that is the caller's trace and it has at most 512 bytes,
 * and no `baggage`, in which callers hand on what they like (https://www.w3.org/TR/trace-context/, "tracestate Limits").
 * Returns MCP_OK, MCP_ENOMEM, or MCP_EINVAL if _meta is not an object. */
int common_forward_params(mcp_request *req, const common_forward_change *change,
                          const mcp_allocator *alloc, common_params *ret);

/* ---- forward.c --------------------------------------------------------------------------------- */

typedef struct common_forward common_forward;

/* What a provider does in the stages of this life. All functions but `send` may end it. */
typedef struct common_forward_kind {
    /* Calls common_forward_call(), or keeps the request for later. Returns MCP_OK or a negative
     * code. */
    int (*send)(common_forward *f);
    /* The process did not start, or `send` failed. */
    void (*failed)(common_forward *f, int rc, const mcp_error *error);
    /* The call has ended, as mcp_call_options.done. `req` is NULL if nobody waits for the answer. */
    void (*done)(common_forward *f, int rc, const mcp_json *result, const mcp_error *error);
    /* The peer has cancelled the request; `req` is NULL. */
    void (*cancelled)(common_forward *f);
    void (*free)(common_forward *f);
    /* Progress has arrived; NULL if this does not matter. */
    void (*progressed)(common_forward *f);
} common_forward_kind;

/* The first member of a struct of the provider, which sets the members above `call` except `req`, and
 * releases params.members. */
struct common_forward {
    const common_forward_kind *kind;
    mcp_client *client;
    mcp_service *service; /* NULL if the other server is not a process of its own */
    const char *method;
    common_params params;
    mcp_request *req; /* NULL while nobody waits for the answer */
    mcp_span *span;   /* of `req`, if that is traced: the time until the answer; NULL if none */
    mcp_call_id call; /* 0 unless it is in flight */
    mcp_service_use use;
};

/* Makes `req`, which is pending, the request that gets the answer. */
void common_forward_attach(common_forward *f, mcp_request *req);
/* Undoes that, and returns the request, or NULL if there is none. The caller finishes it. */
mcp_request *common_forward_detach(common_forward *f);
/* Sends the call as soon as the process is ready. Returns MCP_OK, or a negative code, perhaps with the
 * reason in *error; `failed` is not called then. */
int common_forward_start(common_forward *f, mcp_error *error);
/* Returns the options of the call, which `send` may change. Progress is forwarded. */
mcp_call_options common_forward_options(common_forward *f);
/* Sends the request. Returns the code of mcp_client_request(). */
int common_forward_call(common_forward *f, const mcp_call_options *options);
/* Cancels the call or, if it is not in flight, frees the forward. */
void common_forward_cancel(common_forward *f, const char *why);
/* Frees the forward, and finishes its request. */
void common_forward_finish(common_forward *f, int outcome);

#endif
