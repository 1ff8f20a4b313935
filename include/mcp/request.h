/* mcp/request.h: one request in flight.
 *
 * A handler gets an mcp_request, adds its reply with the mcp_reply_*() calls and returns
 *
 *     MCP_OK         the reply is complete: send it
 *     MCP_PENDING    the reply follows: mcp_reply_finish() will be called later, exactly once
 *     MCP_ENOTFOUND  no such resource, prompt or tool: the peer gets the error of its revision
 *     another MCP_E* the peer gets an internal error, with the text of mcp_reply_fail() if called
 *
 * The reply is serialized as it is built, in the form of the peer's revision. What that revision
 * cannot represent is left out or converted. The builders remember their first failure, so that a
 * handler may end with `return mcp_reply_text(...)`.
 *
 * A request belongs to the thread of its channel and lives until it is answered or cancelled, or
 * until its channel is freed. A pending request that was cancelled, timed out or lost its channel
 * stays valid until mcp_reply_finish(), which then sends nothing: a handler that returned
 * MCP_PENDING must call it exactly once in every case.
 *
 * A handler must not block, because it would delay all other requests. Block in mcp_request_work()
 * instead, or in a thread of the program that answers by mcp_request_post().
 */
#ifndef MCP_REQUEST_H
#define MCP_REQUEST_H

#include <mcp/base.h>
#include <mcp/fields.h>
#include <mcp/identity.h>
#include <mcp/json.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_request mcp_request;

/* ---- reading the request --------------------------------------------------------------------- */

/* Returns the protocol revision in which this request is answered, for example "2026-07-28". The
 * string has static storage. */
MCP_API const char *mcp_request_revision(const mcp_request *req);
/* Returns whether the request belongs to a modern revision (2026-07-28 and later): it stands by itself
 * and declares the client's capabilities, instead of a session. */
MCP_API bool mcp_request_is_modern(const mcp_request *req);
/* Returns the method, for example "resources/read". The string has static storage. */
MCP_API const char *mcp_request_method(const mcp_request *req);
/* Return the whole params object and its _meta, or NULL if there is none. */
MCP_API const mcp_json *mcp_request_params(const mcp_request *req);
MCP_API const mcp_json *mcp_request_meta(const mcp_request *req);
/* Returns the capabilities that the client declared, in this request (modern) or for its session
 * (legacy). May be NULL. */
MCP_API const mcp_json *mcp_request_client_capabilities(const mcp_request *req);
/* Returns the client's description of itself, an Implementation ("name", "version", …), from this
 * request (modern) or from the start of its session (legacy). Returns NULL if there is none. The
 * description is not verified. See 2026-07-28, basic, "_meta". */
MCP_API const mcp_json *mcp_request_client_info(const mcp_request *req);
/* Returns the authenticated caller, as the transport reported it, or NULL if anonymous. */
MCP_API const char *mcp_request_principal(const mcp_request *req);
/* Returns the text to which a handler binds what it keeps for the caller: mcp_identity_binding() of
 * its identity. What one caller in one view has begun, no other caller and no other view finds. */
MCP_API const char *mcp_request_binding(const mcp_request *req);
/* Returns the identity of the caller (mcp/identity.h). Its scopes and claims are those of the token
 * with which this request was sent. If a trusted parent describes the caller
 * (mcp_channel_options.trusted_parent), the identity has only the principal and the name of a token.
 * Returns NULL if the caller is anonymous. Valid until the request ends; add a reference to keep it
 * longer. */
MCP_API mcp_identity *mcp_request_identity(const mcp_request *req);
/* Checks that the caller has all of these scopes, separated by spaces. A caller without an identity
 * has no scopes. Returns MCP_OK if the caller has them all. If not, sets the error of the request
 * and returns MCP_EREMOTE, which the handler must return. Returns MCP_EINVAL (a character that
 * scopes cannot contain) or MCP_ENOMEM without setting the error.
 *
 * Over HTTP, the error is sent with the status 403 and a challenge that names the scopes, so that
 * the client can request them (2026-07-28, basic/authorization, "Scope Challenge Handling").
 * Therefore pass all scopes that the operation needs at once, before sending any notification for
 * the request. On other transports, in a batch, and after a notification, the answer is an ordinary
 * error. */
MCP_API int mcp_request_need_scopes(mcp_request *req, const char *scopes);

/* A rate limit of the program's own. */
typedef struct mcp_rate {
    size_t size;
    /* Each caller has one bucket for each name; at most 128 bytes, required. Error texts contain it, so
     * choose one that tells an operator where the limit is configured. */
    const char *name;
    uint32_t per_minute; /* how many units are added; required */
    uint32_t burst;      /* the most that a bucket has, as at the beginning; default: per_minute */
    uint64_t together;   /* 1: all callers have one bucket for the name; otherwise 0 */
} mcp_rate;

/* Takes a unit from the bucket of the caller, who is a principal or, without one, an address. All
 * callers with neither have one bucket. Returns MCP_OK, or MCP_EREMOTE if the bucket is empty: the
 * reply is then an error that names the limit and says when to try again (data.retryAfterMs), and the
 * handler must return this code. A unit is then not taken. Returns MCP_EINVAL or MCP_ENOMEM without
 * setting the error. At most 4,096 buckets are kept; a caller whose bucket was used longest ago gets a
 * full one. Call this on the server's thread. */
MCP_API int mcp_request_take(mcp_request *req, const mcp_rate *rate);

/* Returns true once the peer has cancelled the request, its stream ended, the channel was closed,
 * or the request timed out (handler_timeout_ms). May be called from any thread, so that long work
 * can end early. */
MCP_API bool mcp_request_cancelled(const mcp_request *req);
/* Sets a function that is called once, on the channel's thread, when mcp_request_cancelled()
 * becomes true. It may call mcp_reply_finish() for this request, which then ends when fn returns.
 * It must not call mcp_reply_finish() for another request. A request has one such function; NULL
 * removes it. */
MCP_API void mcp_request_on_cancel(mcp_request *req, void (*fn)(mcp_request *req, void *user),
                                   void *user);
/* Sets a pointer that the handler finds again in later rounds (mcp/input.h) of the same request
 * object: those of a legacy client and of a task. The next round of a modern client is a new
 * request. `release` may be NULL; it is called once, on the channel's thread: when the request ends
 * for whatever reason, or when another pointer is set. It must not use the request. It is the only
 * notice that a request has ended while it waited for the answer to a question. */
MCP_API void mcp_request_set_data(mcp_request *req, void *data, void (*release)(void *data));
/* Returns that pointer, or NULL. */
MCP_API void *mcp_request_data(const mcp_request *req);
/* Allocates memory that is freed with the request, aligned for any type. Returns NULL if out of
 * memory. */
MCP_API void *mcp_request_alloc(mcp_request *req, size_t size);
/* Returns a NUL-terminated copy of a string in such memory, or NULL if out of memory. */
MCP_API char *mcp_request_strdup(mcp_request *req, mcp_str s);

/* ---- annotations and icons ------------------------------------------------------------------- */

typedef enum mcp_audience {
    MCP_AUDIENCE_USER = 1,
    MCP_AUDIENCE_ASSISTANT = 2,
} mcp_audience;

/* See 2026-07-28, server/resources, "Annotations". */
typedef struct mcp_annotations {
    size_t size;
    unsigned audience;         /* MCP_AUDIENCE_* combined with |; 0 if not set */
    bool has_priority;         /* whether priority is set */
    double priority;           /* from 0.0 to 1.0 */
    const char *last_modified; /* ISO 8601, for example "2025-01-12T15:00:58Z" */
} mcp_annotations;

/* See 2026-07-28, basic, "icons". */
typedef struct mcp_icon {
    size_t size;
    const char *src; /* an https: or data: URI; required */
    const char *mime_type;
    const char *sizes; /* separated by spaces, as in "48x48 96x96"; or "any" */
    const char *theme; /* "light" or "dark" */
} mcp_icon;

/* ---- replying: contents of resources, tools and prompts -------------------------------------- */

typedef enum mcp_content_kind {
    MCP_CONTENT_TEXT = 0,
    MCP_CONTENT_IMAGE, /* bytes and mime_type */
    MCP_CONTENT_AUDIO, /* bytes and mime_type; becomes text for peers before 2025-03-26 */
    /* a resource link: uri, name, …; becomes text for peers before 2025-06-18 */
    MCP_CONTENT_LINK,
    MCP_CONTENT_RESOURCE, /* an embedded resource: uri and text, or uri and bytes */
} mcp_content_kind;

typedef enum mcp_role {
    MCP_ROLE_USER = 0,
    MCP_ROLE_ASSISTANT,
} mcp_role;

/* One piece of content. In resources/read it is an entry of `contents` (kind text, or any with
 * bytes); in tools/call an entry of `content`; in prompts/get a message with `role`. Everything is
 * borrowed until the call returns. */
typedef struct mcp_content {
    size_t size;
    mcp_content_kind kind;
    mcp_str text;      /* must be UTF-8, or the request fails with an internal error */
    const void *bytes; /* if not NULL, binary contents, sent in Base64 */
    size_t bytes_len;
    const char *mime_type;
    const char *uri; /* in resources/read NULL means the requested URI */
    mcp_role role;   /* prompts/get only */
    const mcp_annotations *annotations;
    const char *meta; /* JSON text of an object for _meta, or NULL */
    /* MCP_CONTENT_LINK only: */
    const char *name; /* required */
    const char *title;
    const char *description;
    bool has_size; /* whether resource_size is set */
    uint64_t resource_size;
} mcp_content;

/* Adds one piece of content. Returns MCP_OK, or the first failure of this reply: MCP_EINVAL (not
 * UTF-8, a required field is missing), MCP_ELIMIT (longer than max_reply), MCP_ENOMEM or MCP_ESTATE
 * (results of this method have no content, or the request is already answered). */
MCP_API int mcp_reply_content(mcp_request *req, const mcp_content *content);

/* Short forms of mcp_reply_content(), for text, text formatted as by printf, and bytes. mime_type
 * may be NULL; resources/read then uses the registered one. */
MCP_API int mcp_reply_text(mcp_request *req, const char *text);
MCP_API int mcp_reply_str(mcp_request *req, mcp_str text, const char *mime_type);
MCP_API int mcp_reply_textf(mcp_request *req, const char *format, ...) MCP_PRINTF(2, 3);
MCP_API int mcp_reply_bytes(mcp_request *req, const void *bytes, size_t len, const char *mime_type);

/* tools/call: makes the result an error of the tool (isError), which the model sees, and adds the
 * text. Returns the codes of mcp_reply_content(). */
MCP_API int mcp_reply_tool_error(mcp_request *req, const char *format, ...) MCP_PRINTF(2, 3);
/* tools/call: sets structuredContent, the JSON text of any value. If no other content is added, the
 * JSON is also sent as text, as the specification asks. A peer gets only the text content if its
 * revision has no structuredContent, or if the revision allows only objects there and the value is
 * not an object. So a handler that adds its own content should put all information into it. Returns
 * the codes of mcp_reply_content(), and MCP_EPARSE if `json` is not JSON. */
MCP_API int mcp_reply_structured(mcp_request *req, mcp_str json);
/* Sets structuredContent to an object made from the struct at `from`, as the table of its fields
 * describes (mcp/fields.h). */
MCP_API int mcp_reply_fields(mcp_request *req, const mcp_field *fields, size_t n, const void *from);
/* prompts/get: sets the description of the result. */
MCP_API int mcp_reply_description(mcp_request *req, const char *description);
/* Adds one member to the result's _meta. `json` is the text of any value. Returns MCP_EEXIST, and
 * changes nothing, if a member with that name exists or if the library writes that member itself.
 * Otherwise returns the codes of mcp_reply_structured(). */
MCP_API int mcp_reply_meta(mcp_request *req, const char *key, mcp_str json);
/* Sets the cache hints of this result (ttlMs and cacheScope: 2026-07-28, server/utilities/caching)
 * instead of the server's defaults. `ttl_ms` is the number of milliseconds for which a client may
 * reuse the result. `is_public` says whether a shared cache may serve it to other users; it is
 * ignored while access rules are set, and for a result that depends on the client. The call has no
 * effect on results and revisions without cache hints. */
MCP_API void mcp_reply_cache(mcp_request *req, uint64_t ttl_ms, bool is_public);

/* completion/complete: adds one value. The first 100 are sent; the others are only counted. */
MCP_API int mcp_reply_completion(mcp_request *req, mcp_str value);
/* Like mcp_reply_completion(), for a value that identifies a resource, such as the name of a table.
 * With access rules, mcp_reply_completion() drops a value of a template if the caller may not read
 * the URI to which the template expands with this value and the known arguments. While other
 * variables are unknown, no provider may recognize that URI, and then the value is dropped too.
 * This call checks access to `uri` instead (in the example, the URI of the table). */
MCP_API int mcp_reply_completion_for(mcp_request *req, mcp_str value, mcp_str uri);
/* Sets the total number of values if the handler does not add all of them. */
MCP_API void mcp_reply_completion_total(mcp_request *req, uint64_t total);

/* ---- replying: errors ------------------------------------------------------------------------ */

/* JSON-RPC codes for mcp_reply_fail(). Codes of a program must lie outside of -32768 … -32000. */
typedef enum mcp_code {
    MCP_CODE_INVALID_PARAMS = -32602,
    MCP_CODE_INTERNAL = -32603,
    /* A rate is exceeded (mcp_request_take()); the reply has data.retryAfterMs. The specification has no
     * code for this yet and reserves -32020 … -32099 for those that it defines, so it is a code of ours. */
    MCP_CODE_RATE = -31429,
    /* A policy denies the request (mcp/decide.h), though the caller may know of the thing; also a code of
     * ours. */
    MCP_CODE_DENIED = -31403,
} mcp_code;

/* Makes the reply an error, whatever was added before. A handler ends with `return
 * mcp_reply_fail(...)`. The message is for people and models: it should say what happened, where,
 * and what to do. Returns a negative code, which the handler must return. mcp_reply_fail_data()
 * adds `data`, the text of a JSON value, or NULL for none. Only the first failure counts. */
MCP_API int mcp_reply_fail(mcp_request *req, int code, const char *format, ...) MCP_PRINTF(3, 4);
MCP_API int mcp_reply_fail_data(mcp_request *req, int code, const char *data, const char *format,
                                ...) MCP_PRINTF(4, 5);

/* For a handler that needs a capability of the client, such as "sampling" or "roots". Returns
 * MCP_OK if the client declared the capability. Otherwise the reply becomes the error that the
 * revision defines, which names the capability, and the handler must return the negative code. The
 * part after the first dot is a member of the capability, as in "sampling.tools", "elicitation.url"
 * or "extensions.io.modelcontextprotocol/tasks". An `elicitation` without members declares
 * "elicitation.form" (2026-07-28, basic, "_meta"). Also returns MCP_EINVAL (no capability given)
 * and MCP_ENOMEM. */
MCP_API int mcp_request_require(mcp_request *req, const char *capability);

/* ---- progress, later answers ----------------------------------------------------------------- */

/* Reports that the handler is making progress, which restarts its time-out (handler_timeout_ms).
 * Sends notifications/progress if the peer requested it with a token. A total of 0 means unknown;
 * message may be NULL. A value that does not increase is dropped, because the specification forbids
 * it. Notifications beyond 20 per second are dropped too, except for the last one (progress ==
 * total). A value that is not finite only restarts the time-out. */
MCP_API void mcp_request_progress(mcp_request *req, double progress, double total,
                                  const char *message);

/* Severities (RFC 5424), as MCP names them. */
typedef enum mcp_log_level {
    MCP_LOG_DEBUG = 0,
    MCP_LOG_INFO,
    MCP_LOG_NOTICE,
    MCP_LOG_WARNING,
    MCP_LOG_ERROR,
    MCP_LOG_CRITICAL,
    MCP_LOG_ALERT,
    MCP_LOG_EMERGENCY,
} mcp_log_level;

/* Sends notifications/message to the peer of this request if the peer requested log messages of
 * this level. A modern peer sets the lowest level in the request, and a legacy peer by
 * logging/setLevel. A legacy peer that has not set a level gets MCP_LOG_INFO and above. Does
 * nothing on a server without mcp_server_options.logging. `logger` may be NULL; `data` is the text
 * of any JSON value. For one request, at most 20 messages per second are sent. Do not log secrets:
 * the peer's model may read them. mcp_request_logf() sends a string that is formatted as by printf.
 * See 2026-07-28, server/utilities/logging. */
MCP_API void mcp_request_log(mcp_request *req, mcp_log_level level, const char *logger,
                             mcp_str data);
MCP_API void mcp_request_logf(mcp_request *req, mcp_log_level level, const char *logger,
                              const char *format, ...) MCP_PRINTF(4, 5);

/* For an answer that takes long: closes the connection on which the peer waits, if the peer can
 * fetch the messages later (over HTTP within a session of 2025-11-25, with Last-Event-ID). The
 * request continues, and its messages are stored. In all other cases this does nothing. See
 * 2025-11-25, basic/transports, "Sending Messages to the Server". */
MCP_API void mcp_request_end_stream(mcp_request *req);

/* For a handler that waits or continues in steps: calls fn(req, user) every ms milliseconds on the
 * channel's thread, counted from the end of the last call, until fn returns something other than
 * MCP_PENDING. The request then ends as if the handler had returned that value. However the request
 * ends, fn is not called afterwards. A cancelled request ends at once; a function set by
 * mcp_request_on_cancel() can release the resources of the request, and need not finish the
 * request. So do not use this call for a request that is finished in another way, such as by
 * mcp_request_work(). Calling it again, even from fn, replaces the earlier call. A step does not
 * extend the time limit; mcp_request_progress() does.
 *
 * The handler must return what this call returns: MCP_PENDING, MCP_EUNSUPPORTED (the server has no
 * host with timers), MCP_EINVAL (no fn, or ms beyond 24 days) or MCP_ENOMEM. */
MCP_API int mcp_request_repeat(mcp_request *req, uint64_t ms,
                               int (*fn)(mcp_request *req, void *user), void *user);

/* Ends a request whose handler returned MCP_PENDING; `outcome` is what the handler would have
 * returned. The request is freed. Call it exactly once in every case, even after a cancellation. */
MCP_API void mcp_reply_finish(mcp_request *req, int outcome);

/* Runs `work` on a worker thread of the server's host (see mcp/provider.h), where it may block, and
 * then `done` on the channel's thread. Without a host `work` runs at once. `work` must not use the
 * request except for mcp_request_cancelled() and mcp_request_post(); `done` usually replies and
 * calls mcp_reply_finish(). The handler returns what this call returns: MCP_PENDING, or a negative
 * code if neither function will be called. In every other case `done` is called, even if the
 * request was cancelled meanwhile. If the channel was freed, `done` may be called without
 * `work`. */
MCP_API int mcp_request_work(mcp_request *req, void (*work)(void *user),
                             void (*done)(mcp_request *req, void *user), void *user);

/* Like mcp_request_work(), for work that produces about `bytes` bytes of contents: file contents, a
 * blob, rows. Memory for them and for their Base64 form is reserved before the work begins. It is
 * released when the request is finished or when this function is called again for the same request.
 * While mcp_server_options.max_work_memory is used up, the work waits, and callers take turns. A
 * reservation below 64 KiB is neither delayed nor counted. A single request above the limit runs
 * alone.
 *
 * A request that waited for 30 seconds, or that exceeds the maximum number of waiting requests,
 * gets an error that names the limit. In these cases, and after a cancellation, `done` may be
 * called without `work`, and its reply is ignored. Without a host that has workers, timers and a
 * clock this is the same as mcp_request_work(). */
MCP_API int mcp_request_work_sized(mcp_request *req, size_t bytes, void (*work)(void *user),
                                   void (*done)(mcp_request *req, void *user), void *user);

/* Runs fn(req, user) on the channel's thread soon, in the order of the calls. May be called from
 * any thread, for a request that is not finished yet. fn may do anything with the request that its
 * handler could do: some calls report progress, and the last one replies and calls
 * mcp_reply_finish(). fn runs even after a cancellation. Do not post after the call that finishes
 * the request. Returns MCP_OK, or a negative code, in which case fn is not called: MCP_EUNSUPPORTED
 * (the server has no host with `post`, see mcp_server_post()), MCP_ENOMEM or MCP_EINVAL. */
MCP_API int mcp_request_post(mcp_request *req, void (*fn)(mcp_request *req, void *user),
                             void *user);

#ifdef __cplusplus
}
#endif
#endif
