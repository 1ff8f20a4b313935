/* mcp/audit.h: a record of every request that ends, for an audit log: who, what, at which source,
 * with which outcome. The functions here write nothing; the program does (mcpd --audit).
 */
#ifndef MCP_AUDIT_H
#define MCP_AUDIT_H

#include <mcp/base.h>
#include <mcp/identity.h>
#include <mcp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum mcp_audit_outcome {
    MCP_AUDIT_OK = 0,
    MCP_AUDIT_TOOL_ERROR, /* a result with isError */
    MCP_AUDIT_INPUT,      /* the result asks the client for input (MCP_INPUT_REQUIRED) */
    MCP_AUDIT_NOT_FOUND,  /* "Resource not found", and access rules do not deny the resource */
    MCP_AUDIT_DENIED,     /* access rules deny the item; the client got the error of one that does
                             * not exist. Or the handler said so: mcp_request_note_denied() */
    MCP_AUDIT_SCOPES,     /* mcp_request_need_scopes(): the caller's token lacks a scope */
    MCP_AUDIT_CANCELLED,  /* cancelled by the client, or the client disconnected */
    MCP_AUDIT_ERROR,      /* any other error; mcp_audit_record.code */
    MCP_AUDIT_LIMITED,    /* it exceeded a rate (MCP_CODE_RATE) */
} mcp_audit_outcome;

/* A change that a request made or asked for, for its record. A member that is zero is not known. */
typedef struct mcp_audit_change {
    size_t size;
    const char *operation; /* one word, such as "create" */
    bool dry_run;          /* the request only asks what would be changed */
    mcp_str uri, to; /* of what; `to` only of a move. As the peer spelled them, or canonical */
    uint64_t bytes;  /* of the new contents */
    const char *was, *now; /* the versions before and after */
} mcp_audit_change;

/* Everything is valid during the call only. Strings are not NUL-terminated and come from the peer,
 * unless stated otherwise. */
typedef struct mcp_audit_record {
    size_t size; /* set by the library */
    /* NULL if the caller is anonymous. */
    const mcp_identity *identity;
    /* The address of the caller, or what else the transport says (mcp_channel_options.describe, or
     * else caller); NULL if unknown. */
    const char *caller;
    mcp_str method;
    /* The member "uri", "name" or "taskId" of the params, or that of "ref" in completion/complete.
     * Empty if there is none. */
    mcp_str name;
    /* The prefix of the mount that the URI or name belongs to (mcp_server_mount()); empty if none,
     * as for tools and resources that the program registered. */
    mcp_str source;
    mcp_audit_outcome outcome;
    int code; /* of the JSON-RPC error; 0 if none was sent */
    /* The program sent the request to its own server (mcp_channel_options.inner). */
    bool inner;
    uint64_t duration_us;
    /* The params of the request; NULL if there are none. */
    const mcp_json *params;
    /* Why the client cancelled the request: `reason` of its notifications/cancelled, at most 256 bytes
     * of it; or what mcp_request_note_reason() said. Empty if there is none. */
    mcp_str reason;
    /* What the transport calls the session of the request (mcp_channel_options.describe); empty if it
     * has none. */
    mcp_str session;
    /* The trace of which the request is a part, in the form of the W3C ("00-…"), from _meta or else
     * from the transport; empty if there is none. The caller chose it. */
    mcp_str traceparent;
    /* Size of the answer as JSON text; 0 if none was sent, and for subscriptions/listen. */
    uint64_t bytes;
    /* With MCP_AUDIT_SCOPES, the scopes that the request needs, separated by spaces; otherwise
     * NULL. */
    const char *scopes;
    /* What mcp_request_note_change() said last; NULL if nothing. Whether it was made is the outcome. */
    const mcp_audit_change *change;
} mcp_audit_record;

/* Sets a function that is called once for each request that reached a method of the server or was
 * refused by it, on every channel, on the server's thread:
 * - when the request ends. A tool call that became a task ends with the task (mcp/task.h);
 * - for subscriptions/listen, when the subscription is open.
 * A message that is refused before, because it is not a valid request or exceeds a limit of the
 * channel, has no record; neither has a notification. Durations are measured as in
 * mcp_server_usage(). The function must not call the server. Set it before the first channel is
 * made. NULL removes the function. */
MCP_API void mcp_server_set_audit(mcp_server *server,
                                  void (*ended)(const mcp_audit_record *record, void *user),
                                  void *user);

/* Makes the audit log a condition of serving. `kept` returns whether all records are kept that `ended` has got so far. It
 * is asked before a request runs, and again between its record and its answer. If it returns false, the client gets an
 * error and nothing else (-32603, with data.retryAfterMs); what the request has changed stays changed. initialize,
 * server/discover, ping and logging/setLevel, which give nothing of what is served, are answered all the same. A
 * subscription that is open, and progress, go on. `kept` gets the `user` of mcp_server_set_audit() and must not call the server. It may be set at any
 * time; NULL removes it. */
MCP_API void mcp_server_require_audit(mcp_server *server, bool (*kept)(void *user));

/* For handlers. Says what the request changes; a later call replaces what an earlier one said. Everything
 * is copied. Without an audit function or without memory it is only counted (mcp/server.h,
 * mcp_server_change_counts()). Only on the server's thread. */
MCP_API void mcp_request_note_change(mcp_request *req, const mcp_audit_change *change);

/* For handlers. Says that a result with isError, or an error, is a refusal: the caller may not do this.
 * Then the outcome is MCP_AUDIT_DENIED. Only on the server's thread. */
MCP_API void mcp_request_note_denied(mcp_request *req);

/* For handlers. Sets mcp_audit_record.reason, of which at most 256 bytes are kept; a reason that was said before stays.
 * Without memory there is none. Only on the server's thread. */
MCP_API void mcp_request_note_reason(mcp_request *req, mcp_str reason);

#ifdef __cplusplus
}
#endif
#endif
