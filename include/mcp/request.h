/* mcp/request.h: one request being answered.
 *
 * A handler gets a mcp_request, adds what it has to say with the mcp_reply_*() calls and returns
 *
 *     MCP_OK         the reply is complete: send it
 *     MCP_PENDING    not yet: mcp_reply_finish() will be called later, exactly once
 *     MCP_ENOTFOUND  there is no such resource, prompt, tool: the peer gets the error of its revision
 *     another MCP_E* the peer gets an internal error with the text of mcp_reply_fail(), or a general one
 *
 * The reply is written as it is built, in the form of the peer's revision; what that revision cannot
 * carry is left out or converted. Builders remember their first failure, so that a handler may end with
 * `return mcp_reply_text(...)`.
 *
 * A request belongs to the thread of its channel and lives until it is answered, cancelled or its
 * channel is freed. A pending request that was cancelled, took too long or lost its channel stays valid until
 * mcp_reply_finish(), which is then a quiet no-op for the peer: a handler that returned MCP_PENDING calls it
 * once in every case.
 *
 * A handler that blocks would hold up everybody else. Let it do its blocking in mcp_request_work(), or in a
 * thread of its own that answers by mcp_request_post().
 */
#ifndef MCP_REQUEST_H
#define MCP_REQUEST_H

#include <mcp/base.h>
#include <mcp/json.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_request mcp_request;

/* ---- asking the request ---------------------------------------------------------------------- */

/* The protocol revision that this request is answered in, "2026-07-28"; static storage. */
MCP_API const char *mcp_request_revision(const mcp_request *req);
/* "resources/read"; static storage. */
MCP_API const char *mcp_request_method(const mcp_request *req);
/* The whole params object (NULL when there is none), and its _meta. */
MCP_API const mcp_json *mcp_request_params(const mcp_request *req);
MCP_API const mcp_json *mcp_request_meta(const mcp_request *req);
/* What the client declared: of this request (modern) or of its session (legacy). May be NULL. */
MCP_API const mcp_json *mcp_request_client_capabilities(const mcp_request *req);
/* What the client says about itself, an Implementation ("name", "version", …): in this request (modern) or when its
 * session began (legacy). NULL: nothing. It is a claim that nobody checked. 2026-07-28, basic, "_meta". */
MCP_API const mcp_json *mcp_request_client_info(const mcp_request *req);
/* Who asks, as the transport said; NULL: nobody in particular. */
MCP_API const char *mcp_request_principal(const mcp_request *req);
/* True once the peer cancelled, its stream ended, the channel was closed or the time was over
 * (handler_timeout_ms). May be asked from any thread, so that long work can end early. */
MCP_API bool mcp_request_cancelled(const mcp_request *req);
/* fn is called once, on the channel's thread, when that happens. It may call mcp_reply_finish() for this request,
 * which then ends when fn returns; for no other one. One per request; NULL takes it back. */
MCP_API void mcp_request_on_cancel(mcp_request *req, void (*fn)(mcp_request *req, void *user),
                                   void *user);
/* Memory that is given back with the request, aligned for any type; NULL: no memory. */
MCP_API void *mcp_request_alloc(mcp_request *req, size_t size);
/* A NUL-terminated copy in that memory. */
MCP_API char *mcp_request_strdup(mcp_request *req, mcp_str s);

/* ---- hints that several things carry --------------------------------------------------------- */

typedef enum mcp_audience {
    MCP_AUDIENCE_USER = 1,
    MCP_AUDIENCE_ASSISTANT = 2,
} mcp_audience;

/* 2026-07-28, server/resources, "Annotations". */
typedef struct mcp_annotations {
    size_t size;
    unsigned audience;         /* MCP_AUDIENCE_* ORed; 0: not said */
    bool has_priority;         /* whether priority is said: 0.0 is a value too */
    double priority;           /* 0.0 … 1.0 */
    const char *last_modified; /* ISO 8601, "2025-01-12T15:00:58Z" */
} mcp_annotations;

/* 2026-07-28, basic, "icons". */
typedef struct mcp_icon {
    size_t size;
    const char *src; /* an https: or data: URI; required */
    const char *mime_type;
    const char *sizes; /* separated by spaces: "48x48 96x96", "any" */
    const char *theme; /* "light" or "dark" */
} mcp_icon;

/* ---- replying: contents of resources, tools and prompts -------------------------------------- */

typedef enum mcp_content_kind {
    MCP_CONTENT_TEXT = 0,
    MCP_CONTENT_IMAGE,    /* bytes and mime_type */
    MCP_CONTENT_AUDIO,    /* bytes and mime_type; text for peers before 2025-03-26 */
    MCP_CONTENT_LINK,     /* a resource link: uri, name, …; text for peers before 2025-06-18 */
    MCP_CONTENT_RESOURCE, /* an embedded resource: uri and text, or uri and bytes */
} mcp_content_kind;

typedef enum mcp_role {
    MCP_ROLE_USER = 0,
    MCP_ROLE_ASSISTANT,
} mcp_role;

/* One piece of content. In resources/read it is an entry of `contents` (kind text, or any with bytes);
 * in tools/call an entry of `content`; in prompts/get a message with `role`. Everything is borrowed
 * until the call returns. */
typedef struct mcp_content {
    size_t size;
    mcp_content_kind kind;
    mcp_str text;      /* must be UTF-8: else the request fails with an internal error */
    const void *bytes; /* not NULL: binary, sent in Base64 */
    size_t bytes_len;
    const char *mime_type;
    const char *uri; /* in resources/read NULL is the URI that was asked for */
    mcp_role role;   /* prompts/get only */
    const mcp_annotations *annotations;
    const char *meta; /* JSON text of an object for _meta, or NULL */
    /* MCP_CONTENT_LINK only: */
    const char *name; /* required */
    const char *title;
    const char *description;
    bool has_size; /* whether resource_size is said */
    uint64_t resource_size;
} mcp_content;

/* Adds one piece. MCP_OK, or the first failure of this reply: MCP_EINVAL (not UTF-8, a required field is
 * missing), MCP_ELIMIT (max_reply), MCP_ENOMEM, MCP_ESTATE (this method has no content; already
 * answered). */
MCP_API int mcp_reply_content(mcp_request *req, const mcp_content *content);

/* The short forms: text; text made as by printf; bytes. mime_type may be NULL (in resources/read the
 * registered one is used then). */
MCP_API int mcp_reply_text(mcp_request *req, const char *text);
MCP_API int mcp_reply_str(mcp_request *req, mcp_str text, const char *mime_type);
MCP_API int mcp_reply_textf(mcp_request *req, const char *format, ...) MCP_PRINTF(2, 3);
MCP_API int mcp_reply_bytes(mcp_request *req, const void *bytes, size_t len, const char *mime_type);

/* tools/call: the result is an error of the tool (isError), which the model gets to see. Adds the text;
 * returns as mcp_reply_content(). */
MCP_API int mcp_reply_tool_error(mcp_request *req, const char *format, ...) MCP_PRINTF(2, 3);
/* tools/call: structuredContent, JSON text of any value. When no other content is added it is sent as a text
 * too, as the specification asks, and because revisions that have no structuredContent, or allow only objects
 * where this is none, get nothing else. So a handler that adds contents of its own says all there. MCP_EPARSE
 * when it is not JSON. */
MCP_API int mcp_reply_structured(mcp_request *req, mcp_str json);
/* prompts/get: the description of the result. */
MCP_API int mcp_reply_description(mcp_request *req, const char *description);
/* Adds one member to the result's _meta; json is the text of any value. MCP_EEXIST: there is one of that name
 * already, or the library writes it itself; it stays as it is. Else as mcp_reply_structured(). */
MCP_API int mcp_reply_meta(mcp_request *req, const char *key, mcp_str json);
/* How long and for whom this result may be cached (2026-07-28, server/utilities/caching); overrides the
 * server's default. */
MCP_API void mcp_reply_cache(mcp_request *req, uint64_t ttl_ms, bool is_public);

/* completion/complete: adds one value; the first 100 are sent, the rest is counted. */
MCP_API int mcp_reply_completion(mcp_request *req, mcp_str value);
/* The same for a value that stands for a resource. Where there are access rules, a value of a template is left out when
 * the caller may not read what the template expands to with it and with the arguments that are known. As long as other
 * variables are missing that may be no URI of a provider, and then the value is left out as well; with this call `uri`
 * is asked about instead (of a table's name the table's URI). */
MCP_API int mcp_reply_completion_for(mcp_request *req, mcp_str value, mcp_str uri);
/* How many there are in all, when the handler does not add them all. */
MCP_API void mcp_reply_completion_total(mcp_request *req, uint64_t total);

/* ---- replying: errors ------------------------------------------------------------------------ */

/* JSON-RPC codes for mcp_reply_fail(). A code of your own lies outside of -32768 … -32000. */
typedef enum mcp_code {
    MCP_CODE_INVALID_PARAMS = -32602,
    MCP_CODE_INTERNAL = -32603,
} mcp_code;

/* Makes the reply an error, whatever was added before; `return mcp_reply_fail(...)`. The message is for
 * people and models: what happened, where, what to do. Returns a negative code that makes the engine
 * send it. mcp_reply_fail_data() adds `data`: the text of a JSON value (NULL: none). The first failure
 * counts. */
MCP_API int mcp_reply_fail(mcp_request *req, int code, const char *format, ...) MCP_PRINTF(3, 4);
MCP_API int mcp_reply_fail_data(mcp_request *req, int code, const char *data, const char *format,
                                ...) MCP_PRINTF(4, 5);

/* For a handler that cannot do without something of the client: MCP_OK when the client declared this
 * capability, else the reply is the error of the revision, which names it, and the negative code is to be
 * returned. "sampling", "roots"; what stands behind the first dot is looked for within: "sampling.tools",
 * "elicitation.url", "extensions.io.modelcontextprotocol/tasks". An `elicitation` without members declares
 * "elicitation.form". 2026-07-28, basic, "_meta". MCP_EINVAL (nothing is named),
 * MCP_ENOMEM. */
MCP_API int mcp_request_require(mcp_request *req, const char *capability);

/* ---- progress, later answers ----------------------------------------------------------------- */

/* Says that the handler is at work: its time (handler_timeout_ms) begins anew. Sends
 * notifications/progress, when the peer asked for it with a token; total 0: unknown; message may be
 * NULL. A value that does not increase is dropped (the specification forbids it), and so is what
 * goes beyond 20 notices in a second, but for the last one (progress == total). */
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

/* notifications/message to the peer of this request, when it wants them: a modern peer says so in the
 * request, a legacy one by logging/setLevel (before that it gets MCP_LOG_INFO and above). Does nothing on a
 * server without mcp_server_options.logging. `logger` may be NULL; `data` is the text of any JSON value.
 * At most 20 per second and request are sent. No secrets: the peer's model may read it.
 * mcp_request_logf() sends a string made as by printf. 2026-07-28, server/utilities/logging. */
MCP_API void mcp_request_log(mcp_request *req, mcp_log_level level, const char *logger,
                             mcp_str data);
MCP_API void mcp_request_logf(mcp_request *req, mcp_log_level level, const char *logger,
                              const char *format, ...) MCP_PRINTF(4, 5);

/* For an answer that takes long: ends the connection that waits for it, where the peer can come back for what
 * it missed (HTTP of 2025-11-25 within a session: it asks again with Last-Event-ID). The request goes on, and what
 * it says is kept. Elsewhere it does nothing. 2025-11-25, basic/transports, "Sending Messages to the Server". */
MCP_API void mcp_request_end_stream(mcp_request *req);

/* Ends a request whose handler returned MCP_PENDING; `outcome` is what the handler would have returned.
 * The request is gone afterwards. Call it once in every case, also after a cancel. */
MCP_API void mcp_reply_finish(mcp_request *req, int outcome);

/* Runs `work` where it may block (a worker thread of the host that the server was given, see
 * mcp/provider.h; without one, here and now), then `done` on the channel's thread. `work` must not touch
 * the request but for mcp_request_cancelled() and mcp_request_post(); `done` usually replies and calls mcp_reply_finish(). The handler returns what this
 * returns: MCP_PENDING, or a negative code, and then neither is called. `done` is called in every other
 * case, also when the request was cancelled meanwhile; when its channel is gone, maybe without `work`. */
MCP_API int mcp_request_work(mcp_request *req, void (*work)(void *user),
                             void (*done)(mcp_request *req, void *user), void *user);

/* As mcp_request_work(), for work that brings about so many bytes of contents: file contents, a blob, rows. They and
 * their Base64 form are reserved before the work begins and given back when the request is finished, or when this is called for
 * it again. While mcp_server_options.max_work_memory is spent the work waits, and callers take turns; less than
 * 64 KiB neither waits nor counts, and one request that is larger than the limit runs alone. A request that waits
 * for 30 seconds, or as one of too many, gets an error that names the limit: then, and after a cancel, `done` may be called
 * without `work`, and what it replies is ignored. Without a host with workers, timers and a clock it is mcp_request_work(). */
MCP_API int mcp_request_work_sized(mcp_request *req, size_t bytes, void (*work)(void *user),
                                   void (*done)(mcp_request *req, void *user), void *user);

/* From any thread: runs fn(req, user) on the channel's thread, soon, in the order of the calls. For a request
 * that is not finished yet: in fn anything may be done with it that the handler could do, so one fn reports
 * progress and the last one replies and calls mcp_reply_finish(). After a cancel it runs all the same. Do not post for a
 * request after what finishes it. MCP_OK; MCP_EUNSUPPORTED (the server has no host with `post`: see
 * mcp_server_post()), MCP_ENOMEM, MCP_EINVAL: fn is not called. */
MCP_API int mcp_request_post(mcp_request *req, void (*fn)(mcp_request *req, void *user),
                             void *user);

#ifdef __cplusplus
}
#endif
#endif
