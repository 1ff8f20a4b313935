/* mcp/client.h: the client side: call a server and subscribe to its changes.
 *
 * A client is sans-I/O like a server: connect it to a transport of mcp/io.h (mcp_child_spawn(), …)
 * or to your own with mcp_client_connect(). It supports every revision of the protocol and detects
 * which one the server speaks. A program need not know the revision, because each call, each input
 * request of the server and each subscription has the same form in all of them.
 *
 * With callbacks, on a loop:
 *
 *     mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "me", .version = "1"), &client,
 *                    &error);
 *     mcp_child_spawn(loop, client, MCP_OPTIONS(mcp_child_options, .argv = argv), &child, &error);
 *     mcp_client_read(client, "file:///a", MCP_OPTIONS(mcp_call_options, .done = on_read), NULL);
 *     mcp_loop_run(loop);
 *
 * Blocking, if the transport supports it (those of mcp/io.h do):
 *
 *     mcp_json_doc *result = NULL;
 *     mcp_call_id call;
 *     mcp_client_read(client, "file:///a", NULL, &call);
 *     if (mcp_client_wait(client, call, &result, &error) == MCP_OK)
 *         use(mcp_json_get(mcp_json_root(result), "contents"));
 *     mcp_json_free(result);
 *
 * Callbacks run on the client's thread, never from within the call that requested them. They may
 * make further calls, but must not free the client, end its transport or call mcp_client_wait().
 *
 * Treat everything that a server sends as untrusted text: it may contain control characters, and
 * its hints (such as the annotations of tools) grant no permission. Expand the URI templates of
 * resources/templates/list with mcp_uri_template_expand() of mcp/uri.h.
 */
#ifndef MCP_CLIENT_H
#define MCP_CLIENT_H

#include <mcp/base.h>
#include <mcp/json.h>
#include <mcp/request.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_client mcp_client;
typedef struct mcp_question mcp_question;
typedef struct mcp_subscription mcp_subscription;

/* Identifies one call from the moment it is made until its outcome is delivered. An identifier is
 * never 0 and never reused. */
typedef uint64_t mcp_call_id;

/* ---- options --------------------------------------------------------------------------------- */

/* Called when the server requests input: see "questions" below. The program must answer the
 * question exactly once, within this function or later. */
typedef void mcp_question_fn(mcp_client *client, mcp_question *question, void *user);

typedef struct mcp_client_options {
    size_t size;
    const char *name;    /* required; sent to the server. All strings of this struct are copied */
    const char *version; /* required */
    const char *title;
    /* The only revision to use, for example "2025-06-18". If this is NULL, the client detects which
     * one the server supports (2026-07-28, basic/versioning, "Backward Compatibility"). */
    const char *revision;
    /* How long server/discover may take before the client tries initialize, at most timeout_ms. The
     * default is 3000, or 10000 over HTTP. On a stream (stdio) the time is also limited to half of
     * timeout_ms, so that enough is left for initialize. A DiscoverResult that arrives later on a
     * stream is still accepted, so a modern server may take timeout_ms to start. */
    uint64_t probe_ms;
    uint64_t timeout_ms; /* how long a call may take; default 60000 */
    size_t max_pages;    /* maximum number of pages of one list; default 10000 */
    /* The maximum size of one message of the server in bytes, unless the transport sets a limit.
     * The default is 64 MiB. */
    size_t max_message;
    const mcp_allocator *allocator;

    const char *description;
    const char *website_url;
    const mcp_icon *icons;
    size_t n_icons;
    /* The supported extensions as JSON text of an object, sent as capabilities.extensions. Legacy
     * servers get them in `initialize`, as extensions define it, although only 2026-07-28 has this member. */
    const char *extensions;
    const char *experimental; /* the same for capabilities.experimental */

    void *user; /* passed to all functions below */

    /* The input that the server may request. For each function that is set, the client declares the
     * capability. Any other input request of the server is rejected, and a call that needs it fails
     * with MCP_EUNSUPPORTED. */
    mcp_question_fn *elicit_form; /* fill in a form */
    mcp_question_fn *elicit_url;  /* open a URL, after asking the user (2025-11-25 and later) */
    mcp_question_fn *sample;      /* sample a language model */
    bool sample_tools;            /* sampling with tools is supported */
    bool sample_context;          /* sampling with includeContext is supported */
    /* If this is NULL, the client sends the roots of mcp_client_set_roots(), provided that it was
     * called before the start. */
    mcp_question_fn *roots;

    /* Called for every notification of the server, in addition to the functions below and to those
     * of subscriptions. params may be NULL. */
    void (*notification)(mcp_client *client, mcp_str method, const mcp_json *params, void *user);
    /* Called for each log message of the server (notifications/message). Its minimum level is set
     * by mcp_client_set_log_level(). logger may be empty. */
    void (*log)(mcp_client *client, mcp_str level, mcp_str logger, const mcp_json *data,
                void *user);
    /* Called when the interaction at a URL is complete, if elicit_url accepted the question
     * (2025-11-25). */
    void (*elicitation_complete)(mcp_client *client, mcp_str elicitation_id, void *user);
    /* Called when a tool is removed from the result of tools/list because its definition cannot be
     * honoured (2026-07-28, basic/transports/streamable-http, "Schema Extension"). `why` is one
     * sentence. */
    void (*tool_refused)(mcp_client *client, mcp_str name, const char *why, void *user);
    /* Called for every message that is sent (`sent` is true) or received. Must not call the
     * client. */
    void (*trace)(mcp_client *client, bool sent, uint64_t exchange, mcp_str message, void *user);

    /* The total time limit of a call that requests progress. Each progress notification extends the
     * time-out of the call by timeout_ms, up to this limit. The default is ten times the timeout_ms
     * of the call. */
    uint64_t max_timeout_ms;
    size_t max_rounds;           /* maximum rounds of questions for one call; default 10 */
    size_t max_questions;        /* maximum of unanswered questions; default 64 */
    size_t questions_per_minute; /* average rate; a burst may have half as many; default 120 */
    size_t max_list;             /* bytes of a list whose pages are collected; default 64 MiB */
    bool no_cache;               /* cache no results */
    size_t max_cache;            /* bytes of cached results; default 8 MiB */
    /* The first and the longest pause before a lost subscription is renewed. The pause is doubled
     * after each failure. The defaults are 1000 and 60000. */
    uint64_t retry_ms, max_retry_ms;
    /* Tool calls may become tasks. In 2025-11-25 (basic/utilities/tasks) the calls of tools that
     * require tasks become tasks. In 2026-07-28 the client declares the extension
     * io.modelcontextprotocol/tasks, and the server chooses which calls become tasks. Such a call
     * is still one call with one outcome: the engine polls as often as the server requests, passes
     * on the questions of the task like all others, and cancels the task if the call ends first.
     * The call may take max_timeout_ms in all; timeout_ms applies to each of its requests. */
    bool tasks;
    /* Called when the server violated the protocol and the client continues. `what` is one
     * sentence. Three violations are reported. A modern server sends a request on its stream; such a
     * request is not answered, and only the first one of a connection is reported. Entries of a list
     * do not have the shape that schema.json of the revision demands; they are left out of the list,
     * and each such page is reported with their number and the fault of the first one. A notification
     * does not have this shape; it is reported and ignored. */
    void (*misbehaved)(mcp_client *client, const char *what, void *user);
    /* The interval of pings to a legacy server, counted from its last answer to a ping. 0 means no
     * pings. Modern servers have no ping (2026-07-28, changelog, "Major changes", 5), so the client
     * sends them none. A server that answers no ping for ping_timeout_ms is
     * considered lost: every pending call fails with MCP_ECLOSED, further calls fail with
     * MCP_ESTATE, subscriptions change to MCP_SUBSCRIPTION_LOST, and `lost` is called unless it is
     * NULL. The transport stays open: the program must end it, or call mcp_client_start() for a new
     * session on it. While a question of the server is unanswered, the time-out does not run. */
    uint64_t ping_ms;
    uint64_t ping_timeout_ms; /* default 10,000 */
    void (*lost)(mcp_client *client, const char *why, void *user);
    /* The maximum number of JSON values in one message of the server; see mcp_json_limits. If an
     * answer has more, its call fails with MCP_EPROTOCOL or MCP_ELIMIT. No limit by default. */
    size_t max_values;
    /* The maximum number of entries in one page of a list. If a page has more, its call fails with
     * MCP_ELIMIT before its entries are looked at. No limit by default. */
    size_t max_entries;
    /* Called for each message of the server that is not valid JSON (or longer or deeper than the
     * limits), and does not show which call it answers: it has no id at its top level, or several, or a
     * method. `why` says what is wrong at which byte. A message with an id ends its call with
     * MCP_EPROTOCOL instead. Bytes that are not UTF-8 and halves of surrogate pairs are read as
     * U+FFFD. */
    void (*unreadable)(mcp_client *client, const char *why, void *user);
} mcp_client_options;

/* Makes a client. Returns MCP_OK, MCP_EINVAL (a required field is missing, a string is not UTF-8 or
 * not JSON, or the revision is not supported; in the last case *error lists the supported ones) or
 * MCP_ENOMEM. */
MCP_API int mcp_client_new(const mcp_client_options *options, mcp_client **ret, mcp_error *error);
/* Frees the client with its channel, questions and subscriptions. Pending calls fail with
 * MCP_ECLOSED. End the transport first. NULL is allowed. */
MCP_API void mcp_client_free(mcp_client *client);

/* ---- start ----------------------------------------------------------------------------------- */

/* The outcome of a call. rc is MCP_OK, or
 *   MCP_EREMOTE       the server answered with an error: error->text is the message of that error,
 *                     and result is the error object
 *   MCP_INPUT_REQUIRED
 *                     only with mcp_call_options.as_is: result is an InputRequiredResult
 *   MCP_ETIMEOUT      no answer in time; the request was cancelled, unless it was the handshake
 *   MCP_ECANCELLED    mcp_client_cancel() or a page callback cancelled the call
 *   MCP_ECLOSED       the connection was lost, or the exchange ended without an answer
 *   MCP_EIO           the transport could not deliver the request
 *   MCP_EACCESS       the transport was refused access (HTTP 401, 403)
 *   MCP_EPROTOCOL     the answer violates the protocol: it is malformed, has an unknown resultType,
 *                     or the tool's definition was rejected
 *   MCP_ELIMIT        the answer, the list or the rounds of questions exceed a limit of the client
 *   MCP_EUNSUPPORTED  the server requests input that the program does not provide
 *   MCP_EINVAL        an argument cannot be sent (a header would need an integer beyond 2^53)
 *   MCP_ENOMEM
 *
 * result is NULL with any other code than MCP_OK, MCP_INPUT_REQUIRED and MCP_EREMOTE. error is NULL
 * with MCP_OK and MCP_INPUT_REQUIRED. Both are borrowed until the callback returns. */
typedef void mcp_result_fn(mcp_client *client, int rc, const mcp_json *result,
                           const mcp_error *error, void *user);

/* Detects the era and revision of the server and, with a legacy server, performs the handshake.
 * `result` is the DiscoverResult or InitializeResult. If the server supports no common revision,
 * the outcome is MCP_EPROTOCOL. Other calls may be made before the start is complete. They are
 * queued until then, and fail if the start fails. fn may be NULL; mcp_client_wait(client, 0, …)
 * waits for the outcome. The first call of any function that sends a request starts the client if
 * this was not done before. After a failure a client may be started again. Returns MCP_OK,
 * MCP_ESTATE (the client is started already) or MCP_ECLOSED (the connection was lost). */
MCP_API int mcp_client_start(mcp_client *client, mcp_result_fn *fn, void *user);

/* Return what the last successful mcp_client_start() received from the server. The values are valid
 * until the next start or until the client is freed. They are NULL, false or empty before the first
 * start, and for anything that the server did not send. */
MCP_API const char *mcp_client_revision(const mcp_client *client);
/* Returns whether that revision is of the modern era, which is stateless: 2026-07-28 and later. */
MCP_API bool mcp_client_is_modern(const mcp_client *client);
MCP_API const mcp_json *mcp_client_server_info(const mcp_client *client);
MCP_API const mcp_json *mcp_client_server_capabilities(const mcp_client *client);
MCP_API mcp_str mcp_client_instructions(const mcp_client *client);

/* ---- calls ----------------------------------------------------------------------------------- */

/* The contents of notifications/progress for a call. The client drops a notification whose progress
 * did not increase. */
typedef struct mcp_progress {
    size_t size; /* set by the library */
    double progress;
    bool has_total;
    double total;
    mcp_str message; /* may be empty */
} mcp_progress;

typedef void mcp_progress_fn(mcp_client *client, mcp_call_id call, const mcp_progress *progress,
                             void *user);

/* The state of the task that a call became: `task` is the server's Task object, with `status` and
 * perhaps `statusMessage`. Called when the task is made and after each poll. */
typedef void mcp_task_fn(mcp_client *client, mcp_call_id call, const mcp_json *task, void *user);

#define MCP_NO_TIMEOUT UINT64_MAX

/* When a tool call becomes a task, if mcp_client_options.tasks is set. */
typedef enum mcp_call_task_mode {
    MCP_CALL_TASK_AUTO = 0, /* see mcp_client_options.tasks */
    /* Also if the tool of a server of 2025-11-25 only supports tasks and does not require them. The
     * list of tools must have been read, or be read for another reason; otherwise the call does not
     * become a task. */
    MCP_CALL_TASK_PREFERRED,
    /* Only if the call is not possible otherwise. In 2026-07-28 the client then declares the
     * extension only after the server has required it. */
    MCP_CALL_TASK_LAST_RESORT,
    /* Only if a server of 2025-11-25 requires it. In 2026-07-28 the client never declares the
     * extension, so a tool that requires it fails with error -32021. */
    MCP_CALL_TASK_UNDECLARED,
} mcp_call_task_mode;

typedef struct mcp_call_options {
    size_t size;
    mcp_result_fn *done; /* called exactly once; may be NULL */
    /* if not NULL, progress is requested; the client chooses the token */
    mcp_progress_fn *progress;
    void *user;
    /* 0 selects the client's timeout_ms, and MCP_NO_TIMEOUT means no time-out. The time-out does
     * not run while a question of the server is unanswered. */
    uint64_t timeout_ms;
    uint64_t max_timeout_ms;
    bool no_cache; /* query the server even if the result is cached */
    /* The log level for this call only, with modern servers. NULL selects the level of
     * mcp_client_set_log_level(). */
    const char *log_level;
    mcp_task_fn *task; /* see mcp_client_options.tasks; may be NULL */
    /* The members of _meta, as JSON text without braces, for a program that forwards many requests
     * and has checked them. If this is not NULL, `params` must be the text of the other members of
     * params, also without braces. Neither text is parsed, so both must be valid JSON without
     * newlines, and _meta must not contain members that the client adds. Both may be empty. The
     * result is not cached. If the method has a name or URI in its params, `name` is needed for tasks,
     * and over HTTP, where the call fails with MCP_EINVAL without it. */
    const char *meta;
    /* For a program that forwards the answer: the questions in an answer do not go to the functions
     * of the client, and the call is not repeated for them. An InputRequiredResult is the result,
     * with the code MCP_INPUT_REQUIRED, and error -32042 has the code MCP_EREMOTE. `params` may
     * contain inputResponses and requestState. A call that has become a task is not affected. */
    bool as_is;
    /* The request is never sent again if the server may have received it, whatever its method is
     * and whatever the annotations of its tool say. */
    bool once;
    /* JSON text of an object: the capabilities that a modern server gets with this request, instead
     * of all those of the client, including its extensions. The result is not cached. Legacy
     * servers know only what the handshake declared. Copied; NULL means those of the client. */
    const char *capabilities;
    mcp_call_task_mode task_mode;
    uint64_t task_ttl_ms; /* the ttl of the task to request (2025-11-25); 0 means none */
    /* With `meta`: the name of the tool or prompt, or the URI of the resource, that the params have;
     * copied. */
    const char *name;
} mcp_call_options;

/* Sends any request. `params` is the JSON text of an object, or NULL for none. The members of _meta
 * that the server needs are added to those in params. If the server asks questions, they are
 * answered and the call is repeated (2026-07-28, basic/patterns/mrtr; error -32042 of 2025-11-25).
 * A result that is still fresh (ttlMs) may come from the cache.
 *
 * If the event stream of a modern server breaks off, its call is lost (2026-07-28, changelog,
 * "Major changes", 9). Requests without side effects are then repeated, up to three times, after
 * growing pauses and within their time-out. Such requests are lists, reads, prompts/get,
 * completion/complete, server/discover, and calls of a tool that is annotated with readOnlyHint or
 * idempotentHint in a tools/list that the client has read. The client cannot verify such a hint,
 * but a wrong one harms only the server that gave it. Any other call fails with MCP_ECLOSED, and
 * the error says that it was not repeated.
 *
 * options may be NULL. If ret is not NULL, *ret gets the identifier of the call. If a call has such
 * an identifier but no `done`, its outcome is kept until mcp_client_wait() returns it or
 * mcp_client_cancel() discards it.
 *
 * Returns MCP_OK, or a negative code, in which case `done` is not called: MCP_EINVAL (no method,
 * params is not an object), MCP_EPARSE, MCP_ESTATE (the start failed), MCP_ECLOSED or MCP_ENOMEM.
 * All functions of this section that make a call return these codes. */
MCP_API int mcp_client_request(mcp_client *client, const char *method, const char *params,
                               const mcp_call_options *options, mcp_call_id *ret);
/* Like mcp_client_request(), but with default options. `fn` gets the outcome. */
MCP_API int mcp_client_call(mcp_client *client, const char *method, const char *params,
                            mcp_result_fn *fn, void *user);

/* Reads all pages of a list method ("resources/list", "resources/templates/list", "prompts/list",
 * "tools/list", or one of an extension), until there is no nextCursor, a cursor is repeated
 * (MCP_EPROTOCOL) or max_pages were read (MCP_ELIMIT).
 *
 * If `page` is not NULL, it is called for each page, and the outcome is the last page, or
 * MCP_ECANCELLED if `page` returned false. If `page` is NULL, the outcome is one object with the
 * entries of all pages (MCP_ELIMIT above max_list). In that case, if the server rejects a cursor
 * that it returned (-32602), the list is read once more from its first page. The method's array
 * ("resources") is always present; its elements are not checked. The time-out applies to each
 * page. */
typedef bool mcp_page_fn(mcp_client *client, const mcp_json *result, void *user);
MCP_API int mcp_client_list_all(mcp_client *client, const char *method, mcp_page_fn *page,
                                const mcp_call_options *options, mcp_call_id *ret);
/* Like mcp_client_list_all(), but with default options. `fn` gets the outcome. */
MCP_API int mcp_client_list(mcp_client *client, const char *method, mcp_page_fn *page,
                            mcp_result_fn *fn, void *user);

/* resources/read: the result has `contents`. */
MCP_API int mcp_client_read(mcp_client *client, const char *uri, const mcp_call_options *options,
                            mcp_call_id *ret);
/* tools/call: `arguments` is the JSON text of an object, or NULL for none. The result has
 * `content`, and isError if the tool failed. With modern servers over HTTP, the client copies
 * parameters into headers as the definition of the tool requires, if it has read tools/list. If the
 * server reports that they are missing, the client reads the list and repeats the call once. */
MCP_API int mcp_client_call_tool(mcp_client *client, const char *name, const char *arguments,
                                 const mcp_call_options *options, mcp_call_id *ret);
/* prompts/get: `arguments` is the JSON text of an object of strings, or NULL for none. */
MCP_API int mcp_client_get_prompt(mcp_client *client, const char *name, const char *arguments,
                                  const mcp_call_options *options, mcp_call_id *ret);

/* What to complete: an argument of a prompt, or a variable of a URI template. */
typedef struct mcp_completion_query {
    size_t size;
    const char *prompt;       /* either prompt or uri_template is required */
    const char *uri_template; /* exactly as the server listed it */
    const char *argument;     /* name of the argument or variable; required */
    const char *value;        /* the text that was entered so far; may be NULL */
    /* The values of the other arguments, as JSON text of an object of strings. NULL if none. */
    const char *context;
} mcp_completion_query;

/* completion/complete: the result has `completion`, with `values`, `total` and `hasMore`. */
MCP_API int mcp_client_complete(mcp_client *client, const mcp_completion_query *query,
                                const mcp_call_options *options, mcp_call_id *ret);
/* Sends ping, or server/discover in revisions that have no ping. */
MCP_API int mcp_client_ping(mcp_client *client, const mcp_call_options *options, mcp_call_id *ret);

/* Cancels a call: `done` gets MCP_ECANCELLED soon, and the server is notified (by
 * notifications/cancelled, or by the end of the exchange). An outcome that is kept for
 * mcp_client_wait() is discarded. reason may be NULL. Returns MCP_OK, MCP_ENOTFOUND (the call is
 * over or never existed) or MCP_EINVAL. */
MCP_API int mcp_client_cancel(mcp_client *client, mcp_call_id call, const char *reason);

/* Blocks until a call is over, and runs the transport meanwhile. The call must have been made with
 * an identifier and without `done`. If `call` is 0, waits for the outcome of mcp_client_start(),
 * and calls it first if the client was not started. Other callbacks run meanwhile. Returns the rc
 * of the call. *ret gets a document that the caller must free: the result or, with MCP_EREMOTE, the
 * error object. ret may be NULL. After a failure *error holds the reason. Also returns MCP_ESTATE
 * (the transport has no `step`, or this is a callback of the client), MCP_ENOTFOUND (no call has
 * this identifier, or its outcome is not kept) or MCP_ECANCELLED (the loop was stopped; the call
 * was cancelled, but a start continues). */
MCP_API int mcp_client_wait(mcp_client *client, mcp_call_id call, mcp_json_doc **ret,
                            mcp_error *error);

/* Queues a notification, which is sent soon. `params` is the JSON text of an object, or NULL for
 * none. Returns MCP_OK, MCP_EINVAL, MCP_EPARSE, MCP_ESTATE (not started) or MCP_ENOMEM. */
MCP_API int mcp_client_notify(mcp_client *client, const char *method, const char *params);

/* Sets the lowest level of log messages that the server should send: "debug", "info", "notice",
 * "warning", "error", "critical", "alert" or "emergency". With NULL a legacy server chooses the
 * level, and a modern server sends no messages. A modern server gets the level with each later
 * call. A legacy server that declares logging gets it now, or at the start. The server's answer is
 * not reported. To receive the answer, request "logging/setLevel" instead. Returns MCP_OK,
 * MCP_EINVAL or MCP_ENOMEM. */
MCP_API int mcp_client_set_log_level(mcp_client *client, const char *level);

/* ---- questions: input that the server requests ----------------------------------------------- */

/* Legacy servers send requests (elicitation/create, sampling/createMessage, roots/list). Modern
 * servers answer a call with input requests, and the call is repeated with the answers. Both arrive
 * here, as questions.
 *
 * A question exists until the program answers it, exactly once. If it is withdrawn (the server or
 * mcp_client_cancel() cancelled it, or the connection was lost), the function set by
 * mcp_question_on_cancel() is called. The program must still answer the question, but the answer is
 * ignored. mcp_client_free() frees the remaining questions. */
typedef enum mcp_question_kind {
    MCP_QUESTION_FORM = 0, /* a form, with message and schema: accept, decline or cancel it */
    MCP_QUESTION_URL,      /* a URL, with message and url: accept, decline or cancel it. Show the
                              whole URL and ask before opening it; never fetch it */
    MCP_QUESTION_SAMPLE,   /* a request for sampling: answer with mcp_question_sampled() */
    MCP_QUESTION_ROOTS,    /* a request for the roots: answer with mcp_question_roots() */
} mcp_question_kind;

/* Returns the kind of a question. */
MCP_API mcp_question_kind mcp_question_kind_of(const mcp_question *question);
/* Returns all params of the question, or an empty object if there are none. They live as long as
 * the question. */
MCP_API const mcp_json *mcp_question_params(const mcp_question *question);
/* Returns the params as JSON text. If the question was a request of a legacy server, the text has all
 * digits of its numbers; line ends are replaced by spaces. It lives as long as the question. */
MCP_API mcp_str mcp_question_params_text(const mcp_question *question);
/* Returns the text that explains to the user why the server requests input. It is empty for
 * MCP_QUESTION_SAMPLE and MCP_QUESTION_ROOTS. */
MCP_API mcp_str mcp_question_message(const mcp_question *question);
/* Returns the requestedSchema of a form, or NULL for other kinds. */
MCP_API const mcp_json *mcp_question_schema(const mcp_question *question);
/* Returns the URL to open; empty for other kinds than MCP_QUESTION_URL. */
MCP_API mcp_str mcp_question_url(const mcp_question *question);
/* Returns the identifier that elicitation_complete gets when the interaction is complete
 * (2025-11-25). May be empty. */
MCP_API mcp_str mcp_question_elicitation_id(const mcp_question *question);
/* Returns the call to which the question belongs, or 0 if that is unknown. */
MCP_API mcp_call_id mcp_question_call(const mcp_question *question);
/* Sets a function that is called once if the question is withdrawn. It must not answer the
 * question. NULL removes the function. */
MCP_API void mcp_question_on_cancel(mcp_question *question,
                                    void (*fn)(mcp_question *question, void *user), void *user);

/* The answers. MCP_OK means that the question is answered and freed. After a negative code the
 * question must still be answered: MCP_EINVAL (the answer does not fit the question; *error says
 * why), MCP_EPARSE, MCP_ESTATE (the answer is for another kind of question) or MCP_ENOMEM. error
 * may be NULL.
 *
 * mcp_question_accept() reports that the user agreed. `content` is the JSON text of an object with
 * the values of the form; NULL means an empty object. Missing fields get the defaults of the
 * schema. Then the object is validated against the schema. The answer to MCP_QUESTION_URL has no
 * content. */
MCP_API int mcp_question_accept(mcp_question *question, const char *content, mcp_error *error);
/* For forms and URLs: mcp_question_decline() reports that the user declined, and
 * mcp_question_cancel() that the user dismissed the question without a choice. */
MCP_API int mcp_question_decline(mcp_question *question);
MCP_API int mcp_question_cancel(mcp_question *question);
/* Answers MCP_QUESTION_SAMPLE. `result` is a CreateMessageResult as JSON text, with role, content,
 * model and stopReason. */
MCP_API int mcp_question_sampled(mcp_question *question, const char *result, mcp_error *error);

typedef struct mcp_root {
    size_t size;
    const char *uri; /* required; a file: URI */
    const char *name;
} mcp_root;

/* Answers MCP_QUESTION_ROOTS with n roots. */
MCP_API int mcp_question_roots(mcp_question *question, const mcp_root *roots, size_t n,
                               mcp_error *error);
/* Answers a question of any kind with a failure. A legacy server gets an error with this code and
 * message; code 0 selects -1, "rejected by the user". With a modern server the call fails with
 * MCP_ECANCELLED and the message. */
MCP_API int mcp_question_fail(mcp_question *question, int code, const char *message);
/* Sets the roots that the server may see; copied. The capability is declared from the next start
 * on. A legacy server is notified of the change. May be called at any time. Returns MCP_OK,
 * MCP_EINVAL (no URI, not UTF-8) or MCP_ENOMEM. */
MCP_API int mcp_client_set_roots(mcp_client *client, const mcp_root *roots, size_t n);

/* ---- subscriptions --------------------------------------------------------------------------- */

typedef enum mcp_change {
    MCP_CHANGE_RESOURCE = 0, /* notifications/resources/updated */
    MCP_CHANGE_RESOURCES,    /* …/list_changed */
    MCP_CHANGE_PROMPTS,
    MCP_CHANGE_TOOLS,
} mcp_change;

typedef enum mcp_subscription_state {
    /* The server confirmed the subscription. mcp_subscription_honours() returns for which changes.
     * Reported again when a lost subscription is renewed; changes may have been missed in
     * between. */
    MCP_SUBSCRIPTION_ACTIVE = 0,
    /* Lost, or not available now; *error says why. The client retries after retry_ms, and doubles
     * that time after each failure. */
    MCP_SUBSCRIPTION_LOST,
    /* Refused by the server; *error says why. The client retries when the set of URIs changes or
     * the client is started again. */
    MCP_SUBSCRIPTION_REFUSED,
} mcp_subscription_state;

typedef struct mcp_subscription_options {
    size_t size;
    const char *const *uris; /* of resources; copied */
    size_t n_uris;
    bool resources, prompts, tools; /* whether to report changes to these lists */
    /* Called for each change. With MCP_CHANGE_RESOURCE, uri is the subscribed URI or a URI below
     * it. Required. */
    void (*changed)(mcp_client *client, mcp_subscription *subscription, mcp_change change,
                    mcp_str uri, void *user);
    /* Called when the state changes. May be NULL. error is NULL with MCP_SUBSCRIPTION_ACTIVE. */
    void (*state)(mcp_client *client, mcp_subscription *subscription, mcp_subscription_state state,
                  const mcp_error *error, void *user);
    void *user;
} mcp_subscription_options;

/* Subscribes to changes until mcp_subscription_end(). With a modern server the client sends one
 * subscriptions/listen for all of its subscriptions. With a legacy server it uses
 * resources/subscribe and the list notifications of the server. A subscription may be made at any
 * time, outlives connections, and is renewed after a loss. Returns MCP_OK, MCP_EINVAL (`changed` is
 * missing, or a URI is not UTF-8) or MCP_ENOMEM. */
MCP_API int mcp_client_subscribe(mcp_client *client, const mcp_subscription_options *options,
                                 mcp_subscription **ret);
/* Replaces the set of URIs. Returns MCP_OK, MCP_EINVAL or MCP_ENOMEM. After a failure the set is
 * unchanged. */
MCP_API int mcp_subscription_set_uris(mcp_subscription *subscription, const char *const *uris,
                                      size_t n);
/* Returns whether the server confirmed that it will announce this change. A legacy server does so
 * when it declares the capability or accepts the subscription. uri is used only with
 * MCP_CHANGE_RESOURCE. */
MCP_API bool mcp_subscription_honours(const mcp_subscription *subscription, mcp_change change,
                                      const char *uri);
/* Ends and frees a subscription. May be called from its own callbacks. NULL is allowed. */
MCP_API void mcp_subscription_end(mcp_subscription *subscription);

/* ---- contents -------------------------------------------------------------------------------- */

/* Decodes the Base64 of a blob, an image or audio. `to` must have room for text.len / 4 * 3 bytes.
 * Returns MCP_OK, with the number of bytes in *ret, or MCP_EPARSE if the text is not standard
 * Base64 with padding. */
MCP_API int mcp_base64_decode(void *to, mcp_str text, size_t *ret);

#ifdef __cplusplus
}
#endif
#endif
