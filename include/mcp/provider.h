/* mcp/provider.h: mount all resources under a URI scheme or prefix.
 *
 * A provider lists its resources page by page and may answer later. So a provider of a million
 * files needs memory for one page, and a slow disk or database delays no other request. The engine
 * calls a provider for URIs that no registered resource or template matches. A provider registers
 * its templates with mcp_server_add_template(), as a program does.
 *
 * All functions are called on the server's thread, one at a time; `user` is the argument of
 * mcp_server_mount().
 */
#ifndef MCP_PROVIDER_H
#define MCP_PROVIDER_H

#include <mcp/access.h>
#include <mcp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_provider {
    size_t size;
    const char *name; /* for messages; required */

    /* Adds at most `max` entries of the list with mcp_reply_resource(), in a fixed order, beginning
     * after the position that `cursor` describes, or at the start if `cursor` is empty. If there
     * may be more entries, the function then calls mcp_reply_next() with a cursor of its own; even
     * a short or empty page may have one. Returns MCP_OK, MCP_PENDING or a negative code;
     * MCP_EINVAL means that the cursor is invalid. If this is NULL, nothing is listed. */
    int (*list)(mcp_request *req, mcp_str cursor, size_t max, void *user);

    /* Answers resources/read, like mcp_read_fn. May be NULL if templates match all URIs that are
     * listed. */
    int (*read)(mcp_request *req, mcp_str uri, void *user);

    /* Answers resources/read from a cache, for a URI in exactly the spelling of an earlier request.
     * It is called before templates are matched, so it must only answer what `read` or a template
     * of this provider answered before. Returns MCP_OK, or MCP_ENOTFOUND if the URI is not in the
     * cache, after which the engine continues as usual. If this is NULL, the provider has no
     * cache. */
    int (*read_cached)(mcp_request *req, mcp_str uri, void *user);

    /* Returns whether the URI may belong to this provider, now or later (a file that does not exist
     * yet; a URI that matches a template, if its resource can be watched). Writes the canonical
     * spelling, which mcp_server_resource_updated() uses, to `canonical` (of `room` bytes including
     * the NUL). Returns MCP_OK, MCP_ENOTFOUND or MCP_ELIMIT (no room). If
     * this is NULL, no resource can be watched.
     *
     * Access rules use this spelling too. While access rules are set, a URI for which this function
     * fails is treated as one that does not exist. So if `read` or a template of this provider
     * returns the same resource for several spellings, all of them must resolve to one canonical
     * spelling. For access rules the engine removes the query first (see also mcp_access.queries): the query holds parameters
     * that select a part or a form of the resource, and must not give access to anything else. If
     * `resolve` is NULL, access rules use the normal form of the URI, also without its query. */
    int (*resolve)(mcp_str uri, char *canonical, size_t room, void *user);

    /* Called when the first subscriber to a canonical URI arrives, and when the last one leaves.
     * `watch` returns MCP_OK, or a negative code to reject the subscription. */
    int (*watch)(const char *canonical, void *user);
    void (*unwatch)(const char *canonical, void *user);

    /* Called when the first subscriber to list changes arrives, and when the last one leaves. */
    int (*watch_list)(void *user);
    void (*unwatch_list)(void *user);

    /* Called when the provider is no longer needed: the server is being freed, a rebuild replaced
     * the mount, or mcp_server_mount() failed. */
    void (*release)(void *user);

    /* ---- a provider that has more than resources, such as another server ---- */

    /* The kinds of items that it has besides resources, as bits: 1u << MCP_ITEM_TOOL and so on,
     * combined with |. Templates are included only if the provider lists them itself. The server
     * declares the capabilities for these kinds while the provider is mounted. */
    unsigned items;
    /* The prefix of the names of its tools and prompts; copied. NULL means "", which covers all
     * names that are not registered. If the prefixes of several providers match a name, the longest
     * one is used. */
    const char *names;
    /* The URIs below its prefix are opaque: they are passed to `read` without being parsed, and are
     * not matched against templates. */
    bool opaque;
    /* Like `list`, for the lists of other kinds of items. Entries can be added only with
     * mcp_reply_raw_page(). */
    int (*list_items)(mcp_request *req, mcp_item item, mcp_str cursor, size_t max, void *user);
    /* Answers tools/call and prompts/get for a name that begins with `names`. Returns MCP_ENOTFOUND
     * if there is no such tool or prompt. The engine does not know the schema of the arguments, so
     * it does not validate them. */
    int (*run)(mcp_request *req, mcp_item item, mcp_str name, void *user);
    /* Answers completion/complete for a prompt by its name, or for a template or resource below the
     * prefix. */
    int (*complete)(mcp_request *req, mcp_item item, mcp_str name, void *user);
    /* Answers a method that the engine does not know (mcp_request_method()). Providers are called
     * in the order of mounting. Returns MCP_ENOTFOUND if the provider does not know the method
     * either. */
    int (*other)(mcp_request *req, void *user);
    /* Called instead of the functions above, for a provider whose changes concern only some
     * callers, depending on their identity (NULL if anonymous). `watch_as` is called when the first
     * subscriber with this identity to a canonical URI arrives, and `watch_list_as` for each stream
     * of notifications that list changes are sent on. `identity` is valid until the matching call
     * of unwatch_as() or unwatch_list_as(). The provider announces a change with
     * mcp_server_updated_as() and mcp_server_list_changed_as(). If a legacy session gets a request with another identity, its subscriptions are
     * watched as this identity from then on. */
    int (*watch_as)(const char *canonical, mcp_identity *identity, void *user);
    void (*unwatch_as)(const char *canonical, mcp_identity *identity, void *user);
    int (*watch_list_as)(mcp_identity *identity, void *user);
    void (*unwatch_list_as)(mcp_identity *identity, void *user);
    /* The provider may forward log messages (mcp_server_log_raw()). The server declares the
     * capability `logging` while it is mounted. */
    bool logs;
    /* Its tools can be called as tasks (mcp_request_task(), mcp_request_task_asked()). The server
     * declares support for tasks from its mounting on. */
    bool tasks;
    /* A second prefix, of further URIs that belong to the provider, or NULL; copied. `resolve` should
     * give them a canonical spelling below the first prefix, so that access rules for that prefix
     * apply. */
    const char *alias;

    /* For a provider that waits for something else, such as another server. If a page of a list may
     * contain entries of several providers, `list_begin` is called for each of them before the first
     * one is asked, so that they work at the same time. `list` or `list_items` may be called for the
     * same request afterwards, from the start of the list; `list_end` is called in any case, at the
     * latest when the request ends. `list_begin` must not answer the request or set its cancel
     * function. If one of them is NULL, neither is called. */
    void (*list_begin)(mcp_request *req, mcp_item item, void *user);
    void (*list_end)(mcp_request *req, void *user);
    /* The positions of mcp_reply_next() must not be read or made by callers, because the provider
     * cannot tell whose they are, for example in a session with another server that all callers
     * share. Their cursors are then sealed (mcp_server_set_seal()) for the caller and this mount. A
     * cursor of another caller, or one that was not sealed, gets error -32602. Without a key of the
     * program, a restart of the server ends these lists. */
    bool seals_cursors;
    /* Returns whether the provider probably has items of this kind (MCP_ITEM_RESOURCE stands for
     * templates, too) for the caller of `req`, which asks for the capabilities of the server. If no
     * provider has any, and none is registered, the capability is not declared to this caller; its
     * requests are answered as before. If this is NULL, the provider has what `items` says, and
     * resources. */
    bool (*declares)(const mcp_request *req, mcp_item item, void *user);
} mcp_provider;

/* Mounts a provider for every URI that begins with `prefix` (case is ignored in the scheme only;
 * the longest prefix wins). A provider with the prefix "" has all URIs that are not registered, and
 * must be the only one. The struct is copied. Returns MCP_OK, MCP_EEXIST (the prefix is mounted
 * already, or one of two providers has the prefix ""), MCP_EINVAL or MCP_ENOMEM. After a failure the
 * provider is released. */
MCP_API int mcp_server_mount(mcp_server *server, const char *prefix, const mcp_provider *provider,
                             void *user, mcp_error *error);

/* Returns the prefix of the mount with this index, from 0 in the order of mounting, or NULL past
 * the last mount. Within mcp_server_rebuild() the indexes refer to the mounts of the new build
 * only. The string lives as long as the mount. */
MCP_API const char *mcp_server_mount_prefix(const mcp_server *server, size_t index);

/* For `list`: adds one entry. Returns MCP_ELIMIT if the page already has `max` entries, and
 * otherwise the codes of mcp_reply_content(). */
MCP_API int mcp_reply_resource(mcp_request *req, const mcp_resource *resource);
/* For `list`: reports that there may be more entries after this position. The cursor may be any
 * bytes, but not empty (MCP_EINVAL) and not longer than 16 KiB (MCP_ELIMIT). The engine encloses
 * it, with a checksum, in the cursor that the peer gets. */
MCP_API int mcp_reply_next(mcp_request *req, mcp_str cursor);

/* ---- forwarding the messages of another server ----------------------------------------------- */

/* Room for a name of a tool or prompt, with the NUL. */
#define MCP_NAME_ROOM 1024

/* Texts that replace those of another server; NULL leaves one unchanged. */
typedef struct mcp_raw_words {
    size_t size; /* set by the library */
    const char *title, *description;
} mcp_raw_words;

/* A JSON object of another server, for the calls below. Members that the specification defines are
 * converted to the form of the peer's revision. Unknown members are forwarded unchanged, and
 * numbers keep all of their digits. The protocol's own members (resultType, ttlMs, cacheScope,
 * nextCursor, serverInfo in _meta) are replaced by those of this server. With access rules,
 * entries, links and embedded resources that the caller may not see are left out. */
typedef struct mcp_raw {
    size_t size;
    mcp_str json; /* the JSON text of the object; required */
    /* The value that was parsed from this text, if the caller has it (mcp_client_result_text()). If
     * this is NULL, the text is parsed now, and an object with duplicate keys is rejected. */
    const mcp_json *value;
    /* A prefix that is added to every URI and URI template; NULL means none. */
    const char *uri_prefix;
    /* Writes the name by which the peer knows a tool or prompt. Returns MCP_OK, or MCP_ENOTFOUND if
     * the item must be left out. If this is NULL, names are unchanged. */
    int (*name)(mcp_item item, mcp_str name, char to[MCP_NAME_ROOM], void *user);
    void *user;
    /* The name of the other server, for its questions (mcp_request_ask_raw(), error -32042). It is
     * written with ": " before the message that the user reads, so that the user knows who asks
     * (2026-07-28, client/elicitation, "Security Considerations"), and with ":" before the
     * elicitationId, so that the identifiers of several servers differ. It is also the logger of its
     * log messages, with "/" before the name of its own logger. NULL means none of this. */
    const char *asker;
    /* The tools of a list can be called as tasks, even if the other server does not say so. In
     * 2025-11-25 the `execution` of each tool is forwarded, and written if there is none. */
    bool tasks;
    /* What replaces "ui://" in URIs that begin with it, instead of uri_prefix: the scheme of such a
     * URI must stay (extension io.modelcontextprotocol/ui, "UI Resource Format"). NULL means that
     * these URIs are not treated differently. */
    const char *ui_prefix;
    /* Returns whether a URI or URI template of the other server, without prefixes, may be in the
     * result. If this is NULL, all may. */
    bool (*shows)(mcp_item item, mcp_str uri, void *user);
    /* Gets the texts that replace the title and the description of a tool or prompt, given by its name
     * at the other server, in a list. The strings in *to are NULL before, and are borrowed for
     * the call. A new title also replaces that in the annotations of a tool. NULL means none. */
    void (*words)(mcp_item item, mcp_str name, mcp_raw_words *to, void *user);
    /* The values of a completion are shown as they are, although there are access rules: the other
     * server has asked the same rules about each. Otherwise they are asked about the URI to which
     * the template expands with the value, and a value is left out if that is no URI of a
     * resource. */
    bool values_checked;
    bool reserved[7];
} mcp_raw;

/* Replies with a whole result, whose _meta is added to that of the reply. Nothing else may be
 * added. In resources/list and the other lists use mcp_reply_raw_page(). Returns MCP_OK, or the
 * first failure of this reply: MCP_EINVAL, MCP_EPARSE, MCP_EPROTOCOL (not an object), MCP_ENOTFOUND
 * (the caller may not see it), MCP_ELIMIT (longer than max_reply), MCP_ENOMEM or MCP_ESTATE. */
MCP_API int mcp_reply_raw(mcp_request *req, const mcp_raw *result);
/* For `list` and `list_items`: adds the entries of a whole page, even if there are more than `max`.
 * Also adds the other members of the page, except those that the page of another source has already
 * added. If the page has a nextCursor, calls mcp_reply_next() with "=" followed by that cursor.
 * Returns the codes of mcp_reply_raw(). */
MCP_API int mcp_reply_raw_page(mcp_request *req, const mcp_raw *page);
/* Makes the reply from an error of another server. `error` is a JSON-RPC error object. The error
 * for an unknown resource gets the code that the peer's revision defines, and errors that concern
 * the connection to the other server become internal errors. Two of these are passed on if they
 * concern the peer: -32042 (a URL must be visited first) if its revision has that error and it
 * declared elicitation.url, and -32021 (a capability is missing), with the code of its revision, if
 * it did not declare one of data.requiredCapabilities. Returns a negative code, which the handler
 * must return. */
MCP_API int mcp_reply_raw_error(mcp_request *req, const mcp_raw *error);

/* The headers that the calls of a tool need, as "x-mcp-header" in its inputSchema defines them
 * (2026-07-28, basic/transports/streamable-http, "Custom Headers from Tool Parameters"). The server
 * compares those of registered tools itself; a provider compares those of its own. */
typedef struct mcp_tool_headers mcp_tool_headers;
/* Reads an input schema; NULL is allowed. *ret is NULL if no header is needed. Returns MCP_OK,
 * MCP_EINVAL (an annotation that the specification forbids) or MCP_ENOMEM. */
MCP_API int mcp_tool_headers_new(const mcp_json *input_schema, const mcp_allocator *allocator,
                                 mcp_tool_headers **ret, mcp_error *error);
MCP_API void mcp_tool_headers_free(mcp_tool_headers *headers);
/* Returns whether a request has to be compared: it is modern, arrived over HTTP, and has not become a
 * task. */
MCP_API bool mcp_request_has_headers(const mcp_request *req);
/* Compares the headers of a call with its `arguments`. Returns MCP_OK (also if the request need not be
 * compared) or MCP_ENOMEM; otherwise the reply is error -32020, and a negative code is returned, which
 * the handler must return. */
MCP_API int mcp_request_check_headers(mcp_request *req, const mcp_tool_headers *headers);

/* Like mcp_request_progress(), but forwards the notification of another server. `params` is the
 * JSON text of its params (mcp_client_progress_text()). The progressToken is replaced. Unknown
 * members and all digits of numbers are preserved. Returns MCP_OK (also if nothing is sent),
 * MCP_EPROTOCOL (`progress` is not a number), MCP_EPARSE, MCP_EINVAL, MCP_ELIMIT or MCP_ENOMEM. */
MCP_API int mcp_request_progress_raw(mcp_request *req, mcp_str params);

/* ---- forwarding the log messages of another server ------------------------------------------- */

/* Returns the lowest level of log messages (mcp_log_level) that the peer of this request has set: a
 * modern peer in the request, a legacy one with logging/setLevel. Returns MCP_ENOTFOUND if it has set
 * none. */
MCP_API int mcp_request_log_level(const mcp_request *req);
/* Returns the lowest level that a legacy session of this principal (NULL means anonymous) has set
 * with logging/setLevel, or MCP_ENOTFOUND if none has. */
MCP_API int mcp_server_log_level_for(const mcp_server *server, const char *principal);

/* A log message of another server, and the requests that may have caused it. */
typedef struct mcp_raw_log {
    size_t size;
    /* The params of notifications/message. `data`, unknown members and all digits are preserved. */
    const mcp_raw *params;
    /* Pending requests of one principal that the message may belong to, oldest first. Each legacy
     * session gets the message once, with its first request here. Of the modern requests, the first
     * one that wants the message gets it. */
    mcp_request *const *requests;
    size_t n_requests;
    /* The other legacy sessions of `principal` get the message too, outside of any request. */
    bool sessions;
    const char *principal;
} mcp_raw_log;

/* Forwards a log message to those peers that want its level. A legacy peer that has not set a level
 * wants MCP_LOG_INFO and above. The number of messages is not limited here. Peers whose output has
 * to wait do not get the message. Returns MCP_OK (also if nobody wants it), MCP_ELIMIT (a peer's
 * output has to wait), MCP_EPROTOCOL (no level of the specification, or no data), MCP_EPARSE,
 * MCP_EINVAL or MCP_ENOMEM. */
MCP_API int mcp_server_log_raw(mcp_server *server, const mcp_raw_log *log);

/* Returns the text of the request's params as the peer sent it, including unknown members and all
 * digits of numbers. It may contain newlines. Call this before the handler returns for the first
 * time; the text is borrowed until then. ptr is NULL if there are no params or if memory ran
 * out. */
MCP_API mcp_str mcp_request_params_text(mcp_request *req);

/* ---- forwarding the questions of another server ---------------------------------------------- */

/* A question is a request of the other server for input, as in mcp/input.h. A handler may use the
 * calls below in the same way as those of mcp/input.h: it asks, returns MCP_INPUT_REQUIRED or passes
 * it to mcp_reply_finish(), and runs again from its start with the answers (a modern peer repeats
 * its request). They differ in that
 *   - questions and answers are JSON text, with all digits and unknown members, and are not checked
 *     against a schema
 *   - an answer is available in the next round only. It is not part of the state that a modern peer
 *     keeps, and an old answer does not answer a new question with the same key
 *   - no call makes the reply an error, so that the handler may still reply with anything. */

/* Returns the capability that a question needs, for mcp_request_can() and mcp_request_require():
 * "elicitation.form", "elicitation.url", "sampling", "sampling.tools" or "roots". Returns NULL if
 * `method` is not a question, or has a mode that is unknown. `params` may be NULL. The string has
 * static storage. */
MCP_API const char *mcp_question_needs(mcp_str method, const mcp_json *params);

typedef struct mcp_raw_question {
    size_t size;
    /* Identifies the question within this round; required. It has at most 128 bytes and is sent to a
     * modern peer as it is. */
    const char *key;
    const char *method; /* elicitation/create, sampling/createMessage or roots/list; required */
    /* The params. They are converted to the revision of the peer: URIs get their prefix, messages
     * the name of the server that asks, and an elicitation in URL mode the identifier that the
     * revision requires. includeContext is left out, because the peer would understand "thisServer"
     * as this server. NULL means that there are none. */
    const mcp_raw *params;
} mcp_raw_question;

/* Asks the client. Returns
 *   MCP_INPUT_REQUIRED  the question is part of this round
 *   MCP_EREMOTE         the client did not declare the capability, or its revision cannot express the
 *                       question
 *   MCP_EPROTOCOL       the question is malformed: not an object, an elicitation without a message,
 *                       or without a valid URL in URL mode
 *   MCP_EINVAL          another method; an empty or too long key
 *   MCP_ELIMIT          more than 64 questions, or one of more than 1 MiB
 *   MCP_ESTATE          this request's method may not ask
 *   MCP_EPARSE, MCP_ENOMEM */
MCP_API int mcp_request_ask_raw(mcp_request *req, const mcp_raw_question *question);

/* Takes back a question, for example because the other server cancelled it. A legacy client is
 * notified. If the request waits for no other answer, its handler runs again before this function
 * returns, and the request may then have ended. Returns MCP_OK, or MCP_ENOTFOUND if no question with
 * this key is open: it was answered, or a modern client has it. */
MCP_API int mcp_request_withdraw(mcp_request *req, const char *key);

typedef struct mcp_raw_answer {
    mcp_str json; /* the text of the client's result, or of its error object */
    const mcp_json *value;
    /* The client (only a legacy one) answered with a JSON-RPC error. */
    bool refused;
    const void *reserved[2]; /* always NULL */
} mcp_raw_answer;

/* Returns an answer of this round. Call this before the handler returns; the answer lives as long as
 * the request. A modern client can send any value for any key, whether it was asked or not, and may
 * leave out answers. Returns MCP_OK, MCP_ENOTFOUND (no answer with this key) or MCP_ENOMEM. */
MCP_API int mcp_request_raw_answer(mcp_request *req, const char *key, mcp_raw_answer *ret);
/* Returns all answers of this round, without the refused ones, as the text of an object, which is
 * inputResponses of 2026-07-28. It lives as long as the request. Returns MCP_OK, MCP_ENOTFOUND (this
 * round has none) or MCP_ENOMEM. */
MCP_API int mcp_request_raw_answers(mcp_request *req, mcp_str *ret);

/* Like mcp_request_set_state(), but the state may have up to 1 MiB, for the requestState of another
 * server. With such a state a handler may return MCP_INPUT_REQUIRED without a question to a modern
 * client, which then repeats the request (2026-07-28, basic/patterns/mrtr). A legacy client cannot
 * be asked to do so: the reply is then an error. */
MCP_API int mcp_request_set_long_state(mcp_request *req, mcp_str state);

/* Returns the identity of this server, 16 random hexadecimal digits, for a state that only this
 * server can continue. It stays the same as long as the server exists. Returns NULL if there is no
 * randomness. */
MCP_API const char *mcp_server_instance(mcp_server *server);

/* Announces a change of the list of resources (or of templates), prompts or tools. */
MCP_API void mcp_server_list_changed(mcp_server *server, mcp_item item);
/* Like mcp_server_list_changed(), for one principal only (NULL means anonymous). */
MCP_API void mcp_server_list_changed_for(mcp_server *server, mcp_item item, const char *principal);
/* Announce a change to one identity, which is compared by its address; for watch_as() and
 * watch_list_as(). Nothing is announced to an identity that has expired. */
MCP_API void mcp_server_updated_as(mcp_server *server, const char *uri,
                                   const mcp_identity *identity);
MCP_API void mcp_server_list_changed_as(mcp_server *server, mcp_item item,
                                        const mcp_identity *identity);

/* ---- the host: what the program provides for the server -------------------------------------- */

typedef struct mcp_host_timer mcp_host_timer;
typedef struct mcp_host_poll mcp_host_poll;

/* Timers, descriptor polling and worker threads, so that providers need no event loop of their own.
 * mcp/io.h has a host on libuv (mcp_loop_host()); to embed libmcp in another event loop, implement
 * this struct on it. The host must call callbacks on the server's thread. `user` is passed to each
 * function. */
typedef struct mcp_host {
    size_t size;
    void *user;
    /* Returns the time in milliseconds of the same monotonic clock that the channels use. */
    int64_t (*now)(void *user);
    /* Calls fn(arg) once after ms milliseconds. The host owns the timer; timer_stop must be called
     * even after it fired. Returns NULL if out of memory. */
    mcp_host_timer *(*timer_start)(uint64_t ms, void (*fn)(void *arg), void *arg, void *user);
    void (*timer_stop)(mcp_host_timer *timer, void *user);
    /* Calls fn(arg) whenever fd is readable, until poll_stop. Returns NULL if out of memory or if
     * fd cannot be polled. */
    mcp_host_poll *(*poll_start)(int fd, void (*fn)(void *arg), void *arg, void *user);
    void (*poll_stop)(mcp_host_poll *poll, void *user);
    /* Runs work(arg) on a worker thread, then done(arg) on the server's thread. After all channels
     * were freed, the host may call done(arg) without work(arg). Returns MCP_OK, or a negative code
     * if neither will be called (MCP_ELIMIT if too many jobs are queued). If this is NULL, there
     * are no worker threads. */
    int (*work)(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *user);
    /* Logs one line for the operator, without a newline. level is one of "debug", "info",
     * "warning", "error". If this is NULL, nothing is logged. */
    void (*log)(const char *level, const char *line, void *user);
    /* Like `work`, for jobs that may take long, such as a tool that waits for another service.
     * However many of them run, they must not delay jobs of `work`. If this is NULL, `work` is
     * used. */
    int (*work_long)(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *user);
    /* Runs fn(arg) on the server's thread soon, in the order of the calls; may be called from any
     * thread. Returns MCP_OK, or a negative code if fn will not be called. If this is NULL, posting
     * is not supported. */
    int (*post)(void (*fn)(void *arg), void *arg, void *user);
    /* Like poll_start, but calls fn(arg) while fd is writable. poll_stop ends this polling too. A
     * descriptor may be polled either for reading or for writing; duplicate it to poll for both. If
     * this is NULL, polling for writing is not supported. */
    mcp_host_poll *(*poll_start_write)(int fd, void (*fn)(void *arg), void *arg, void *user);
} mcp_host;

/* mcp_server_host() returns the host of the server, or NULL if it has none. mcp_server_set_host()
 * copies the struct. Call it before the first channel is made. */
MCP_API const mcp_host *mcp_server_host(const mcp_server *server);
MCP_API void mcp_server_set_host(mcp_server *server, const mcp_host *host);

#ifdef __cplusplus
}
#endif
#endif
