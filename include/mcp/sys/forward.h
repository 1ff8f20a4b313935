/* mcp/sys/forward.h: what a gateway needs, a provider whose resources, tools and prompts are those of
 * another MCP server: results, errors, questions and log messages pass through it as JSON text.
 * mcp/sys/client.h has the side of the other server.
 *
 * Like all headers of mcp/sys it may change in any minor version until 1.0
 * (docs/api-stability.md).
 */
#ifndef MCP_SYS_FORWARD_H
#define MCP_SYS_FORWARD_H

#include <mcp/base.h>
#include <mcp/json.h>
#include <mcp/request.h>
#include <mcp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- forwarding the messages of another server ----------------------------------------------- */

/* Room for a name of a tool or prompt, with the NUL. */
#define MCP_NAME_ROOM 1024

/* Texts that replace those of another server; NULL leaves one unchanged. */
typedef struct mcp_raw_titles {
    size_t size; /* set by the library */
    const char *title, *description;
} mcp_raw_titles;

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
    void (*words)(mcp_item item, mcp_str name, mcp_raw_titles *to, void *user);
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
    /* The prefix of the mount that forwards the message. Those sessions get it only if their callers
     * may read this URI, because rules or a view may hide the other server from them. NULL: all
     * get it. */
    const char *prefix;
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

/* ---- calls of the other server that go on ----------------------------------------------------- */

/* Turns the call of a provider's tool (mcp_provider.tasks) into a task if the client has requested
 * one, as 2025-11-25 defines. Call it when it is known that the tool exists. Does nothing for other
 * requests. Returns the codes of mcp_request_task(), or MCP_EINVAL (the reply is an error: the
 * request for a task is malformed). */
MCP_API int mcp_request_task_asked(mcp_request *req);

/* For a handler that keeps something in this process until the next round, such as a call to another
 * server that goes on. Must be called in each round that returns MCP_INPUT_REQUIRED. If several
 * instances serve the same clients (mcp_http_options.instance_address), a modern client's next
 * request then comes to this instance, if it lives, whichever instance has received it. Otherwise
 * the request is handled by the instance that has received it, as without this call. */
MCP_API void mcp_request_stay(mcp_request *req);

/* Like mcp_server_list_changed(), for one principal only (NULL means anonymous). */
MCP_API void mcp_server_list_changed_for(mcp_server *server, mcp_item item, const char *principal);

/* ---- entries of other servers ---------------------------------------------------------------- */

/* What the descriptors of mcp_entry_read() point to, besides the entry. */
typedef struct mcp_entry_memory mcp_entry_memory;

/* Reads an entry of a list that another server sent into *to, the struct for this kind, for example
 * mcp_resource; set its `size` first. Handlers, unknown members and values of a wrong type are left
 * out. Strings point into the document of the entry. If *memory is NULL, it is made; it can be used
 * for many entries, and is freed after the last use of them, even if this fails. Returns MCP_OK,
 * MCP_EINVAL (`size` is not set) or MCP_ENOMEM. */
MCP_API int mcp_entry_read(mcp_item kind, const mcp_json *entry, void *to,
                           const mcp_allocator *allocator, mcp_entry_memory **memory);
/* NULL is allowed. */
MCP_API void mcp_entry_memory_free(mcp_entry_memory *memory);

#ifdef __cplusplus
}
#endif
#endif
