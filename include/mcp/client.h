/* mcp/client.h: use what a server offers.
 *
 * A client is sans-I/O like a server: connect it to a transport of mcp/io.h (mcp_child_spawn(),
 * …) or to your own with mcp_client_connect(). It speaks every revision of the protocol and
 * finds out which one the server speaks; a program need not know, because each call, each
 * question of the server and each subscription has one form for all of them.
 *
 * With callbacks, on a loop:
 *
 *     mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "me", .version = "1"), &client, &error);
 *     mcp_child_spawn(loop, client, MCP_OPTIONS(mcp_child_options, .argv = argv), &child, &error);
 *     mcp_client_read(client, "file:///a", MCP_OPTIONS(mcp_call_options, .done = on_read), NULL);
 *     mcp_loop_run(loop);
 *
 * Blocking, where the transport can (those of mcp/io.h do):
 *
 *     mcp_json_doc *result = NULL;
 *     mcp_call_id call;
 *     mcp_client_read(client, "file:///a", NULL, &call);
 *     if (mcp_client_wait(client, call, &result, &error) == MCP_OK)
 *         use(mcp_json_get(mcp_json_root(result), "contents"));
 *     mcp_json_free(result);
 *
 * Callbacks come on the client's thread, never from within the call that asked for them. They
 * may make further calls, but neither free the client, end its transport nor wait.
 *
 * What a server says is text from a stranger: it may hold control characters, and its hints
 * (annotations of tools, say) are no permission. URI templates of resources/templates/list are
 * expanded with mcp_uri_template_expand() of mcp/uri.h.
 */
#ifndef MCP_CLIENT_H
#define MCP_CLIENT_H

#include <mcp/base.h>
#include <mcp/channel.h>
#include <mcp/json.h>
#include <mcp/request.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_client mcp_client;
typedef struct mcp_question mcp_question;
typedef struct mcp_subscription mcp_subscription;

/* One call, from the moment it is made until its outcome was told; never 0, never used twice. */
typedef uint64_t mcp_call_id;

/* ---- options --------------------------------------------------------------------------------- */

/* The server asks something: see "questions" below. To be answered once, now or later. */
typedef void mcp_question_fn(mcp_client *client, mcp_question *question, void *user);

typedef struct mcp_client_options {
    size_t size;
    const char *name;    /* required; who we say that we are. Everything is copied */
    const char *version; /* required */
    const char *title;
    /* NULL: find out (2026-07-28, basic/versioning, "Backward Compatibility"); else the one
     * revision to speak, "2025-06-18". */
    const char *revision;
    /* How long server/discover may take before we try initialize; 3000, where every request is an
     * exchange of its own 10000; no longer than timeout_ms. On a stream the whole start takes timeout_ms at the most,
     * and the probe half of that; a DiscoverResult that comes later still counts, so that a modern server may
     * take timeout_ms to start. */
    uint64_t probe_ms;
    uint64_t timeout_ms; /* how long a call may take; 60000 */
    size_t max_pages;    /* of one list; 10000 */
    size_t max_message; /* bytes of one message of the server, if the transport is silent; 64 MiB */
    const mcp_allocator *allocator;

    const char *description;
    const char *website_url;
    const mcp_icon *icons;
    size_t n_icons;
    const char
        *extensions; /* JSON text of an object: extensions that we support, for capabilities */
    const char *experimental; /* the same for "experimental" */

    void *user; /* of all functions below */

    /* What the server may ask. Those that are set are declared as capabilities; a server that
     * asks for another is refused, and a call that needs it fails with MCP_EUNSUPPORTED. */
    mcp_question_fn *elicit_form; /* fill in a form */
    mcp_question_fn *elicit_url; /* open an address, after asking the user (2025-11-25 and later) */
    mcp_question_fn *sample;     /* a language model's answer */
    bool sample_tools;           /* sampling with tools is supported */
    bool sample_context;         /* sampling with includeContext is supported */
    /* NULL: mcp_client_set_roots() answers, if it was called before the start. */
    mcp_question_fn *roots;

    /* Any notification of the server, beside what the functions below and subscriptions are
     * told. params may be NULL. */
    void (*notification)(mcp_client *client, mcp_str method, const mcp_json *params, void *user);
    /* notifications/message, which comes at the level of mcp_client_set_log_level(). logger may
     * be empty. */
    void (*log)(mcp_client *client, mcp_str level, mcp_str logger, const mcp_json *data,
                void *user);
    /* An interaction behind an address that elicit_url accepted is over (2025-11-25). */
    void (*elicitation_complete)(mcp_client *client, mcp_str elicitation_id, void *user);
    /* A tool is left out of tools/list, because what it asks of us cannot be done (2026-07-28,
     * basic/transports/streamable-http, "Schema Extension"); why is one sentence. */
    void (*tool_refused)(mcp_client *client, mcp_str name, const char *why, void *user);
    /* Every message as it is sent (`sent`) or received. Not to call the client back. */
    void (*trace)(mcp_client *client, bool sent, mcp_exchange exchange, mcp_str message,
                  void *user);

    /* Of a call whose progress is told: each notice gives it timeout_ms more, up to this in all; ten
     * times its timeout_ms. */
    uint64_t max_timeout_ms;
    size_t max_rounds;           /* of questions for one call; 10 */
    size_t max_questions;        /* waiting for an answer at one time; 64 */
    size_t questions_per_minute; /* on average, half of them at once; 120 */
    size_t max_list;             /* bytes of a list whose pages are collected; 64 MiB */
    bool no_cache;               /* keep no results */
    size_t max_cache;            /* bytes of results that are kept; 8 MiB */
    /* The first wait before a lost subscription is made again, doubled each time, up to the longest;
     * 1000 and 60000. */
    uint64_t retry_ms, max_retry_ms;
    /* Calls of tools may become tasks (2025-11-25, basic/utilities/tasks, for tools that require it;
     * 2026-07-28, the extension io.modelcontextprotocol/tasks, which is declared then, when the server wants). Such a call is
     * still one call with one outcome: the engine polls as often as the server says, answers its questions like
     * all others, and tells the server to cancel the task when the call ends before it. It may take max_timeout_ms in
     * all; timeout_ms is for each of its requests. */
    bool tasks;
    /* The server did what the protocol does not allow, and the client goes on without it; what is one sentence. Told once for a
     * client: a request of a modern server on its stream, which is not answered. */
    void (*misbehaved)(mcp_client *client, const char *what, void *user);
    /* How often a legacy server is sent a ping, counted from its last answer to one; 0: never. Modern servers have no ping
     * (2026-07-28, changelog, "Major changes", 5) and are sent none. A server that leaves pings unanswered for ping_timeout_ms
     * (10000) counts as lost: every pending call fails with MCP_ECLOSED, further ones with MCP_ESTATE, subscriptions are
     * told MCP_SUBSCRIPTION_LOST, and `lost` is called, which may be NULL. The transport stays: the program ends it, or calls
     * mcp_client_start() for a new session on it. While a question of the server is open, nothing is counted. */
    uint64_t ping_ms, ping_timeout_ms;
    void (*lost)(mcp_client *client, const char *why, void *user);
} mcp_client_options;

/* MCP_EINVAL (a required field is missing, a text is not UTF-8 or not JSON, or the revision is
 * not one that we speak: error says which there are), MCP_ENOMEM. */
MCP_API int mcp_client_new(const mcp_client_options *options, mcp_client **ret, mcp_error *error);
/* Calls that are still pending fail with MCP_ECLOSED, open questions and subscriptions go. End the
 * transport first: the channel is freed too. NULL is allowed. */
MCP_API void mcp_client_free(mcp_client *client);

/* ---- start ----------------------------------------------------------------------------------- */

/* The outcome of a call. rc is MCP_OK, or
 *   MCP_EREMOTE       the server's error: error->text holds its message, result is the error object
 *   MCP_ETIMEOUT      no answer in time; the server was told, unless it was the handshake
 *   MCP_ECANCELLED    mcp_client_cancel(), or a page callback said so
 *   MCP_ECLOSED       the connection is gone, or the exchange ended without an answer
 *   MCP_EIO           the transport could not deliver the request
 *   MCP_EACCESS       the transport was refused access (HTTP 401, 403)
 *   MCP_EPROTOCOL     the answer breaks the protocol: malformed, of an unknown resultType, a tool whose
 *                     definition was refused
 *   MCP_ELIMIT        the answer, the list or the rounds of questions exceed our limits
 *   MCP_EUNSUPPORTED  the server asks for input that we do not give
 *   MCP_EINVAL        an argument cannot be sent (an integer beyond 2^53 that has to be a header)
 *   MCP_ENOMEM
 * result is NULL where nothing else is said; error is NULL with MCP_OK. Everything is borrowed
 * until the callback returns. */
typedef void mcp_result_fn(mcp_client *client, int rc, const mcp_json *result,
                           const mcp_error *error, void *user);

/* Finds out the era and revision and, for a legacy server, performs the handshake. `result` is
 * the DiscoverResult or InitializeResult; a failure that rests on the server's versions is
 * MCP_EPROTOCOL. Other calls may be made before it is through: they wait, and fail as it fails.
 * fn may be NULL; mcp_client_wait(client, 0, …) waits for it. A client that is never started
 * starts with its first call. It may be started again after a failure. MCP_OK; MCP_ESTATE (it is
 * started), MCP_ECLOSED (the connection is gone). */
MCP_API int mcp_client_start(mcp_client *client, mcp_result_fn *fn, void *user);

/* What was found out by the last mcp_client_start() that succeeded, until the next one or the
 * client's end; NULL, false and the empty string before, and where the server does not say. */
MCP_API const char *mcp_client_revision(const mcp_client *client);
/* Whether that revision is of the modern era: stateless, 2026-07-28 and later. */
MCP_API bool mcp_client_is_modern(const mcp_client *client);
MCP_API const mcp_json *mcp_client_server_info(const mcp_client *client);
MCP_API const mcp_json *mcp_client_server_capabilities(const mcp_client *client);
MCP_API mcp_str mcp_client_instructions(const mcp_client *client);

/* ---- calls ----------------------------------------------------------------------------------- */

/* notifications/progress of a call. Told only when it grew. */
typedef struct mcp_progress {
    size_t size; /* set by the library */
    double progress;
    bool has_total;
    double total;
    mcp_str message; /* may be empty */
} mcp_progress;

typedef void mcp_progress_fn(mcp_client *client, mcp_call_id call, const mcp_progress *progress,
                             void *user);

/* What the server says of the task that a call became: its Task object, with `status` and perhaps `statusMessage`. Called when
 * it is made and for each poll. */
typedef void mcp_task_fn(mcp_client *client, mcp_call_id call, const mcp_json *task, void *user);

#define MCP_NO_TIMEOUT UINT64_MAX

typedef struct mcp_call_options {
    size_t size;
    mcp_result_fn *done;       /* called exactly once; may be NULL */
    mcp_progress_fn *progress; /* not NULL: progress is asked for (we choose the token) */
    void *user;
    /* 0: the client's; MCP_NO_TIMEOUT: none. It does not run while a question of the server is
     * being answered. */
    uint64_t timeout_ms;
    uint64_t max_timeout_ms;
    bool no_cache;         /* ask the server, whatever was kept */
    const char *log_level; /* of this call, modern servers; NULL: mcp_client_set_log_level() */
    mcp_task_fn *task;     /* mcp_client_options.tasks; may be NULL */
} mcp_call_options;

/* Any request: `params` is the JSON text of an object (NULL: none). What the server needs in
 * _meta is added to what params have there. Questions of the server are answered and the call is
 * made again on the way (2026-07-28, basic/patterns/mrtr; error -32042 of 2025-11-25). A result
 * that is still fresh (ttlMs) may come from what was kept.
 *
 * An event stream of a modern server that breaks off loses its call (2026-07-28, changelog, "Major changes", 9). What
 * changes nothing is then requested again, up to three times, after growing pauses and within its time-out: lists, reads,
 * prompts/get, completion/complete, server/discover; and a tool that tools/list, if it was read, annotates with
 * readOnlyHint or idempotentHint. That is a hint of the server's, but the server alone bears what a wrong one does. Any
 * other call fails with MCP_ECLOSED, and the error says that it was not repeated.
 *
 * options may be NULL. ret may be NULL, else it gets the call's id; and a call without `done`
 * whose id was asked for keeps its outcome for mcp_client_wait(), until then or until
 * mcp_client_cancel().
 *
 * MCP_OK, or a negative code, and then `done` is not called: MCP_EINVAL (no method, params are
 * no object), MCP_EPARSE, MCP_ESTATE (the start failed), MCP_ECLOSED, MCP_ENOMEM. All calls of
 * this section return that. */
MCP_API int mcp_client_request(mcp_client *client, const char *method, const char *params,
                               const mcp_call_options *options, mcp_call_id *ret);
/* The same with defaults. */
MCP_API int mcp_client_call(mcp_client *client, const char *method, const char *params,
                            mcp_result_fn *fn, void *user);

/* All pages of a list method ("resources/list", "resources/templates/list", "prompts/list",
 * "tools/list", or one of an extension). Pages are followed until there is no nextCursor, a
 * cursor comes twice (MCP_EPROTOCOL) or max_pages were read (MCP_ELIMIT). With `page` each page
 * is handed over and the outcome is the last page; `page` returning false stops with
 * MCP_ECANCELLED. Without it the outcome is one object with the entries of all pages (MCP_ELIMIT
 * above max_list), and when the server refuses a cursor of its own (-32602), the list is read once more from
 * its first page. The method's array ("resources") is there; its elements are unchecked. A
 * time-out is one page's. */
typedef bool mcp_page_fn(mcp_client *client, const mcp_json *result, void *user);
MCP_API int mcp_client_list_all(mcp_client *client, const char *method, mcp_page_fn *page,
                                const mcp_call_options *options, mcp_call_id *ret);
/* The same with defaults. */
MCP_API int mcp_client_list(mcp_client *client, const char *method, mcp_page_fn *page,
                            mcp_result_fn *fn, void *user);

/* resources/read: the result has `contents`. */
MCP_API int mcp_client_read(mcp_client *client, const char *uri, const mcp_call_options *options,
                            mcp_call_id *ret);
/* tools/call: `arguments` is the JSON text of an object (NULL: none). The result has `content`,
 * and isError when the tool failed. With modern servers over HTTP the parameters that the tool
 * wants in headers are put there, if tools/list was read; a server that misses them is asked for
 * its list, and called once more. */
MCP_API int mcp_client_call_tool(mcp_client *client, const char *name, const char *arguments,
                                 const mcp_call_options *options, mcp_call_id *ret);
/* prompts/get: `arguments` is the JSON text of an object of strings (NULL: none). */
MCP_API int mcp_client_get_prompt(mcp_client *client, const char *name, const char *arguments,
                                  const mcp_call_options *options, mcp_call_id *ret);

/* What to complete: an argument of a prompt, or a variable of a URI template. */
typedef struct mcp_completion_query {
    size_t size;
    const char *prompt;       /* one of these two */
    const char *uri_template; /* as it was listed */
    const char *argument;     /* its name; required */
    const char *value;        /* what there is of it; NULL: nothing */
    const char *context; /* JSON text of an object of strings: the other arguments; NULL: none */
} mcp_completion_query;

/* completion/complete: the result has `completion`, with `values`, `total` and `hasMore`. */
MCP_API int mcp_client_complete(mcp_client *client, const mcp_completion_query *query,
                                const mcp_call_options *options, mcp_call_id *ret);
/* ping, and server/discover where that is no more. */
MCP_API int mcp_client_ping(mcp_client *client, const mcp_call_options *options, mcp_call_id *ret);

/* Ends a call: `done` gets MCP_ECANCELLED, soon, and the server is told
 * (notifications/cancelled, or the end of the exchange); an outcome that waits for
 * mcp_client_wait() is dropped. reason may be NULL. MCP_OK; MCP_ENOTFOUND (it is over, or never
 * was), MCP_EINVAL. */
MCP_API int mcp_client_cancel(mcp_client *client, mcp_call_id call, const char *reason);

/* The blocking form: runs the transport until the call is over. The call was made without `done`
 * and its id asked for; 0 is mcp_client_start(), which is made when nobody did. Other callbacks
 * come meanwhile. Returns the call's rc; ret (may be NULL) gets a document that is yours, of the
 * result or, with MCP_EREMOTE, of the error object; error is written as for every failure.
 * Beside that: MCP_ESTATE (the transport has no `step`, or this is a callback of the client),
 * MCP_ENOTFOUND (no such call keeps its outcome), MCP_ECANCELLED (somebody stopped the loop: the
 * call was cancelled, the start goes on). */
MCP_API int mcp_client_wait(mcp_client *client, mcp_call_id call, mcp_json_doc **ret,
                            mcp_error *error);

/* A notification of ours: `params` is the JSON text of an object (NULL: none). MCP_OK; MCP_EINVAL,
 * MCP_EPARSE, MCP_ESTATE (not started), MCP_ENOMEM. It is sent soon. */
MCP_API int mcp_client_notify(mcp_client *client, const char *method, const char *params);

/* Which log messages the server shall send, from this level on: "debug", "info", "notice",
 * "warning", "error", "critical", "alert", "emergency"; NULL: what it thinks right (legacy),
 * none (modern). Modern servers are told with each call from now on, legacy ones now, or when
 * they are started, if they declare logging; whether they agree is not told (call
 * "logging/setLevel" to know). MCP_OK, MCP_EINVAL, MCP_ENOMEM. */
MCP_API int mcp_client_set_log_level(mcp_client *client, const char *level);

/* ---- questions: what the server asks of us --------------------------------------------------- */

/* Legacy servers send requests (elicitation/create, sampling/createMessage, roots/list), modern
 * ones answer a call with questions, which is then made again with the answers. Both come here.
 *
 * A question lives until it is answered, once. When it is withdrawn (the server or
 * mcp_client_cancel() cancelled it, or the connection is gone) its on_cancel function is called;
 * it has to be answered all the same, which is then a quiet no-op. Those left over go with the
 * client. */
typedef enum mcp_question_kind {
    MCP_QUESTION_FORM = 0, /* message, schema: accept, decline or cancel */
    MCP_QUESTION_URL,    /* message, url: accept, decline or cancel. Show the whole address and ask
                              before it is opened; never fetch it */
    MCP_QUESTION_SAMPLE, /* params of sampling/createMessage: mcp_question_sampled() */
    MCP_QUESTION_ROOTS,  /* mcp_question_roots() */
} mcp_question_kind;

MCP_API mcp_question_kind mcp_question_kind_of(const mcp_question *question);
/* All of its params (an empty object where there are none); lives as long as the question. */
MCP_API const mcp_json *mcp_question_params(const mcp_question *question);
/* Why the server asks; empty for the last two kinds. */
MCP_API mcp_str mcp_question_message(const mcp_question *question);
/* The requestedSchema of a form; NULL for other kinds. */
MCP_API const mcp_json *mcp_question_schema(const mcp_question *question);
MCP_API mcp_str mcp_question_url(const mcp_question *question);
/* Of 2025-11-25: elicitation_complete names it when all is done. May be empty. */
MCP_API mcp_str mcp_question_elicitation_id(const mcp_question *question);
/* The call for which the server asks, where that is known; else 0. */
MCP_API mcp_call_id mcp_question_call(const mcp_question *question);
/* fn is called once when the question is withdrawn; it must not answer it. NULL takes it back. */
MCP_API void mcp_question_on_cancel(mcp_question *question,
                                    void (*fn)(mcp_question *question, void *user), void *user);

/* The answers. MCP_OK, and the question is gone; or a negative code, and it is still to be
 * answered: MCP_EINVAL (the answer does not fit the question: error says why), MCP_EPARSE,
 * MCP_ESTATE (an answer of another kind of question), MCP_ENOMEM. error may be NULL.
 *
 * The user agreed. `content` is the JSON text of an object (NULL: an empty one): what a form was
 * filled with. Fields that it lacks get the defaults of the schema, then it is checked against
 * it. Not for MCP_QUESTION_URL, whose answer has no content. */
MCP_API int mcp_question_accept(mcp_question *question, const char *content, mcp_error *error);
/* The user said no; the user made no choice. For forms and addresses. */
MCP_API int mcp_question_decline(mcp_question *question);
MCP_API int mcp_question_cancel(mcp_question *question);
/* A CreateMessageResult as JSON text: role, content, model, stopReason. */
MCP_API int mcp_question_sampled(mcp_question *question, const char *result, mcp_error *error);

typedef struct mcp_root {
    size_t size;
    const char *uri; /* required; file: */
    const char *name;
} mcp_root;

MCP_API int mcp_question_roots(mcp_question *question, const mcp_root *roots, size_t n,
                               mcp_error *error);
/* Any kind: there will be no answer. A legacy server gets an error with this code (0: -1,
 * "rejected by the user") and message, the call of a modern one fails with MCP_ECANCELLED and
 * the message. */
MCP_API int mcp_question_fail(mcp_question *question, int code, const char *message);

/* The roots that the server may know; copied. Declared as a capability from the next start on; a
 * server that is told of changes (legacy) is told. Allowed at any time. MCP_OK, MCP_EINVAL (no
 * URI, not UTF-8), MCP_ENOMEM. */
MCP_API int mcp_client_set_roots(mcp_client *client, const mcp_root *roots, size_t n);

/* ---- subscriptions --------------------------------------------------------------------------- */

typedef enum mcp_change {
    MCP_CHANGE_RESOURCE = 0, /* notifications/resources/updated */
    MCP_CHANGE_RESOURCES,    /* …/list_changed */
    MCP_CHANGE_PROMPTS,
    MCP_CHANGE_TOOLS,
} mcp_change;

typedef enum mcp_subscription_state {
    /* The server listens to us; mcp_subscription_honours() says to what. Told again after a
     * loss: something may have been missed. */
    MCP_SUBSCRIPTION_ACTIVE = 0,
    /* Lost, or not to be had now: error says why; it is tried again in retry_ms, doubled each time. */
    MCP_SUBSCRIPTION_LOST,
    /* The server will not: error says why. It is tried again when the set changes or the client is
     * started anew. */
    MCP_SUBSCRIPTION_REFUSED,
} mcp_subscription_state;

typedef struct mcp_subscription_options {
    size_t size;
    const char *const *uris; /* resources; copied */
    size_t n_uris;
    bool resources, prompts, tools; /* changes of the lists */
    /* uri is of MCP_CHANGE_RESOURCE: the one that was subscribed, or one below it. */
    void (*changed)(mcp_client *client, mcp_subscription *subscription, mcp_change change,
                    mcp_str uri, void *user);
    /* May be NULL. error is NULL with MCP_SUBSCRIPTION_ACTIVE. */
    void (*state)(mcp_client *client, mcp_subscription *subscription, mcp_subscription_state state,
                  const mcp_error *error, void *user);
    void *user;
} mcp_subscription_options;

/* Hears of changes until mcp_subscription_end(): with modern servers by one subscriptions/listen
 * for all subscriptions of the client, with legacy ones by resources/subscribe and the notices
 * that they send. It may be made at any time, outlives connections, and is made again after a
 * loss. `changed` is required. MCP_EINVAL (also: a URI is not UTF-8), MCP_ENOMEM. */
MCP_API int mcp_client_subscribe(mcp_client *client, const mcp_subscription_options *options,
                                 mcp_subscription **ret);
/* Replaces the set of URIs. MCP_OK, MCP_EINVAL, MCP_ENOMEM (and then it is as it was). */
MCP_API int mcp_subscription_set_uris(mcp_subscription *subscription, const char *const *uris,
                                      size_t n);
/* Whether the server said that it will tell of this (for a legacy server: declares it, or took the
 * subscription). uri is for MCP_CHANGE_RESOURCE. */
MCP_API bool mcp_subscription_honours(const mcp_subscription *subscription, mcp_change change,
                                      const char *uri);
/* Ends and frees it; also from its own callbacks. NULL is allowed. */
MCP_API void mcp_subscription_end(mcp_subscription *subscription);

/* ---- contents -------------------------------------------------------------------------------- */

/* Decodes the Base64 of a blob, an image or audio. `to` has room for text.len / 4 * 3 bytes.
 * MCP_OK and how many bytes there are; MCP_EPARSE: it is not standard Base64 with padding. */
MCP_API int mcp_base64_decode(void *to, mcp_str text, size_t *ret);

/* ---- the transport's side -------------------------------------------------------------------- */

/* What a transport for clients has beside a mcp_channel_options. `user` of its functions is that
 * of the channel options; none of them may call the client or the channel back. */
typedef struct mcp_transport_options {
    size_t size;

    /* Every request of ours goes out in an exchange of its own, as an HTTP POST: `send` gets a
     * number that is not 0 and never comes twice. What the server says on it is received with
     * that number, until the answer was there or mcp_client_exchange_ended() says how it ended
     * without. Our notifications carry 0, our answers to a server's requests the exchange on
     * which they came; nobody answers those. False: all share one stream, as on stdio. */
    bool exchanges;
    /* We want nothing more of an exchange: a call was cancelled or timed out, a subscription
     * ended. The transport closes it; for a modern server that is the cancellation. Never after
     * the answer, and no mcp_client_exchange_ended() is needed after it. Required with
     * `exchanges`. */
    void (*abandon)(mcp_channel *channel, mcp_exchange exchange, void *user);
    /* The server knows neither server/discover nor initialize on POST: may we try HTTP+SSE of
     * 2024-11-05 (2024-11-05, basic/transports, "HTTP with SSE")? True: from now on messages go
     * that way, beginning with an initialize that is sent soon; until the endpoint is known the
     * transport keeps them, and what the server says it receives with exchange 0. Asked once in
     * a connection. NULL: no. */
    bool (*fall_back)(mcp_channel *channel, void *user);
    /* Runs the transport until something happened, ms at the most: for mcp_client_wait().
     * MCP_OK, MCP_ECANCELLED (somebody stopped its loop) or another failure. NULL:
     * mcp_client_wait() is not possible. This one may call the channel, and it may end with
     * mcp_client_disconnected(). */
    int (*step)(uint64_t ms, void *user);
} mcp_transport_options;

/* Makes the client's channel. Nothing is sent from within: the channel's deadline is due at once
 * when something waits, so the transport should call mcp_channel_tick() as soon as it can send,
 * and whenever `wake` is called. The channel is the client's: the transport does not free it,
 * but tells its end with mcp_client_disconnected(). `principal` of the options is the
 * authorization for which results are kept: see mcp_client_set_authorization(). MCP_ESTATE:
 * there is one; MCP_EINVAL, MCP_ENOMEM. */
MCP_API int mcp_client_connect_transport(mcp_client *client, const mcp_channel_options *options,
                                         const mcp_transport_options *transport, mcp_channel **ret,
                                         mcp_error *error);
/* The same for a transport of which there is nothing to say. */
MCP_API int mcp_client_connect(mcp_client *client, const mcp_channel_options *options,
                               mcp_channel **ret, mcp_error *error);
/* The connection is gone: frees the channel; every pending call fails with MCP_ECLOSED and this
 * text (NULL: a general one). Not from within `send` or while the channel is being called. The
 * client can be connected again, though not from within a callback of this, to the same server (what is kept of
 * it stays; another server wants another client); it is started again then and its subscriptions are made again. */
MCP_API void mcp_client_disconnected(mcp_client *client, const char *why);

/* The message that `send` is being called with; valid only there. */
typedef struct mcp_client_output {
    size_t size; /* set by the library */
    mcp_output_kind kind;
    bool modern;    /* its revision is stateless: no session, no GET, no DELETE */
    bool handshake; /* it is initialize: no session id goes with it, and its answer may bring one */
    bool long_lived; /* its answer may come after days: subscriptions/listen */
    bool
        once; /* it may have an effect: not to be sent again where it may have arrived (tools/call) */
    mcp_str method;      /* empty for an answer */
    uint64_t timeout_ms; /* when we abandon it; 0: never. The transport need not keep time itself */
} mcp_client_output;
MCP_API const mcp_client_output *mcp_client_sending(mcp_client *client);
/* The headers that have to go with it, in turn from 0, until false: MCP-Protocol-Version,
 * Mcp-Method, Mcp-Name, Mcp-Param-…, as far as the revision and the message want them. Values
 * are encoded: they go out as they are, also an empty one. Both are NUL-terminated, borrowed
 * until the next call; only within `send`. */
MCP_API bool mcp_client_header(mcp_client *client, size_t index, mcp_str *name, mcp_str *value);
/* The value of MCP-Protocol-Version for requests of the transport's own (GET and DELETE of a
 * session), or NULL where the revision has no such header. Static storage. */
MCP_API const char *mcp_client_version_header(const mcp_client *client);

/* How an exchange ended without an answer that mcp_channel_receive() could take. */
typedef struct mcp_exchange_end {
    size_t size;
    int status;       /* HTTP; 0: none, the server could not be reached or broke off */
    const char *text; /* for a person, "Connection refused", "404 Not Found"; NULL: a general one */
    /* Of an answer that is not 2xx, as far as it was read (64 KiB are enough): it may hold a JSON-RPC
     * error, which then is the answer. */
    mcp_str body;
    /* The request named a session: then 404 says that it is gone, a new one is made and the call
     * repeated, once. So does 400 with a body about the session, which many servers answer instead. */
    bool session;
    /* The answer had begun as an event stream, which broke off. A modern server cannot be asked for the rest: the call may be
     * made again (see mcp_client_request()). */
    bool broke_off;
    /* What the server said (429, 503): before that no subscription is made again; 0: nothing. */
    uint64_t retry_after_ms;
} mcp_exchange_end;

/* Tells the engine, once per exchange. It then does what has to follow: fail the call, go on to
 * the next era (2026-07-28, basic/transports/streamable-http, "Backward Compatibility"), begin a
 * new session, listen again later. An event stream that ended without the answer has the status
 * 200 (legacy: after the transport has tried to resume it). Unknown numbers are ignored, so a
 * transport may tell it of every end. Exchange 0 is a stream of no call's: when its session is
 * gone (`session`, and 404 or 400) a new one is made, any other refusal (405) means that a legacy server has no such stream, and subscriptions
 * are told MCP_SUBSCRIPTION_REFUSED. Counts as a call of the channel: ask for its deadline
 * afterwards. */
MCP_API void mcp_client_exchange_ended(mcp_client *client, mcp_exchange exchange,
                                       const mcp_exchange_end *end, int64_t now);

/* Whether a request of that exchange is still unanswered. From anywhere but `send`. */
MCP_API bool mcp_client_awaits(const mcp_client *client, mcp_exchange exchange);

/* Whose authorization the requests carry from now on: a name for the token's owner, not the
 * token; NULL: nobody's. What was kept for another one and is not public is not used any more.
 * Begins with the channel's principal. MCP_OK, MCP_ENOMEM (then nothing is kept from now on). */
MCP_API int mcp_client_set_authorization(mcp_client *client, const char *who);

#ifdef __cplusplus
}
#endif
#endif
