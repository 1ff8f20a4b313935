/* answer.h: writes complete answers (respond.c) and event streams (sse_write.c). */
#ifndef MCP_SRC_HTTP_SERVER_ANSWER_H
#define MCP_SRC_HTTP_SERVER_ANSWER_H

#include <mcp/sys/channel.h>
#include <mcp/http.h>
#include <mcp/sys/http.h>

#include "base/base.h"
#include "http/server/metrics.h"

/* Why the HTTP layer refuses a request: X(NAME). */
#define MCP__HTTP_REFUSAL_MAP(X)                                                       \
    X(BAD_SYNTAX)                                                                      \
    X(BAD_FRAMING)                                                                     \
    X(UNKNOWN_CODING)                                                                  \
    X(BAD_VERSION)                                                                     \
    X(BAD_MIRROR) /* a header that repeats a part of the message */                    \
    X(NO_HOST)                                                                         \
    X(DUPLICATE)                                                                       \
    X(BAD_HOST)                                                                        \
    X(BAD_ORIGIN)                                                                      \
    X(NO_PATH)                                                                         \
    X(LONG_TARGET)                                                                     \
    X(LONG_HEAD)                                                                       \
    X(MANY_HEADERS)                                                                    \
    X(LONG_BODY)                                                                       \
    X(SLOW_HEAD)                                                                       \
    X(SLOW_BODY)                                                                       \
    X(NOT_ALLOWED)  /* the method is not allowed for this target */                    \
    X(POST_ONLY)    /* the method is not allowed without a session */                  \
    X(UNAUTHORIZED) /* this one and the next five are results of `authenticate` */     \
    X(BAD_LOGIN)                                                                       \
    X(FORBIDDEN)                                                                       \
    X(MANY_LOGINS)                                                                     \
    X(NO_LOGIN)                                                                        \
    X(SLOW_LOGIN)                                                                      \
    X(NOT_ACCEPTABLE)                                                                  \
    X(NEEDS_STREAM)                                                                    \
    X(BAD_TYPE)                                                                        \
    X(BAD_CODING)                                                                      \
    X(BAD_EXPECT)                                                                      \
    X(BAD_REVISION)                                                                    \
    X(NO_SESSION)                                                                      \
    X(NEEDS_SESSION)                                                                   \
    X(GET_FIRST) /* HTTP+SSE; the next three too */                                    \
    X(NO_STREAM)                                                                       \
    X(UNREAD)                                                                          \
    X(NOT_MODERN)                                                                      \
    X(MANY_CONNECTIONS)                                                                \
    X(MANY_PER_ADDRESS)                                                                \
    X(MANY_PER_PRINCIPAL)                                                              \
    X(MANY_SESSIONS)                                                                   \
    X(MANY_SESSIONS_EACH)                                                              \
    X(MANY_STREAMS)                                                                    \
    X(DRAINING)                                                                        \
    X(NO_MEMORY)                                                                       \
    X(BAD_EVENT)                                                                       \
    X(BAD_MESSAGE)                                                                     \
    X(UNEXPECTED)                                                                      \
    X(NO_RANDOM)                                                                       \
    X(NO_ANSWER)                                                                       \
    X(NO_ROOM)                                                                         \
    X(NO_SHARE)                                                                        \
    X(NO_FILES)                                                                        \
    X(CUT)                                                                             \
    X(BAD_FORWARDED) /* a request that another instance forwarded; the next one too */ \
    X(MISDIRECTED)   /* it is for another instance */                                  \
    X(NO_INSTANCE)   /* a request was forwarded, but not answered */

typedef enum mcp__http_refusal {
    MCP__HTTP_FINE = 0,
#define MCP__HTTP_REFUSAL(name) MCP__HTTP_##name,
    MCP__HTTP_REFUSAL_MAP(MCP__HTTP_REFUSAL)
#undef MCP__HTTP_REFUSAL
        MCP__HTTP_REFUSALS,
} mcp__http_refusal;
/* Returns the name of a refusal, such as "BAD_HOST", or "" for MCP__HTTP_FINE. */
const char *mcp__http_refusal_name(mcp__http_refusal why);

/* The statuses that answers can have. */
typedef struct mcp__http_status_line {
    int status;
    mcp_str line;
} mcp__http_status_line;
extern const mcp__http_status_line mcp__http_statuses[MCP__HTTP_STATUSES]; /* status.c */
/* Returns whether an answer can have this status. */
bool mcp__http_has_status(int status);

typedef struct mcp__http_answer {
    int status;
    const char *type; /* Content-Type, or NULL if there is no body */
    mcp_str body;
    const char *allow;   /* Allow, or NULL */
    mcp_str lines;       /* more header lines, each with its line end */
    const char *session; /* Mcp-Session-Id, or NULL */
    bool preflight;      /* adds the headers of an answer to a CORS preflight */
    bool retry;          /* adds Retry-After */
    int code;            /* of the JSON-RPC error in the body, or 0 */
} mcp__http_answer;

/* Writes a complete answer and ends the request. */
void mcp__http_respond(mcp_http_connection *c, const mcp__http_answer *answer);
void mcp__http_refuse(mcp_http_connection *c, mcp__http_refusal why);
/* Answers with a JSON-RPC message, which `info` describes. `session` is the value of
 * Mcp-Session-Id, or NULL. If the budget has no room for the message, the request is refused
 * instead. */
void mcp__http_reply(mcp_http_connection *c, int status, const mcp_output_info *info,
                     const char *session, mcp_str message);
/* Returns whether the budget has room for an outgoing message. */
bool mcp__http_has_room(const mcp_http_connection *c, mcp_str message);
/* Writes the answer or, if the budget has no room for it, a refusal with the id of its message. */
void mcp__http_answer_fitting(mcp_http_connection *c, const mcp__http_answer *answer);
/* Returns the message or, if the budget has no room for it, a JSON-RPC error with the same id. The
 * error is stored in *instead, and its code in *code. The caller frees *instead in both cases. */
mcp_str mcp__http_fitting(mcp_http_connection *c, mcp_str message, mcp__buf *instead, int *code);
/* Logs the text of a refusal with mcp__http_complain(). */
void mcp__http_complain_of(mcp_http *http, mcp__http_complaint *complaint, mcp__http_refusal why);
/* Returns the limit that a refusal is about. */
size_t mcp__http_limit_of(const mcp_http *http, mcp__http_refusal why);
/* Returns the program's name of an option, such as "--max-body" for "max_body", or `member`. */
const char *mcp__http_option_name(const mcp_http *http, const char *member);
/* Returns the member of mcp_http_options that a refusal is about, or NULL. */
const char *mcp__http_option_of(mcp__http_refusal why);
/* Writes the JSON-RPC error for a request that the stopping server leaves unanswered. `id` is JSON
 * text. Initializes the buffer, which the caller frees, even on failure. Returns the code of the
 * error. */
int mcp__http_put_cut(const mcp_http *http, mcp_str id, mcp__buf *error);
/* Answers the connection's request with that error. */
void mcp__http_cut_off(mcp_http_connection *c, mcp_str id);
/* Returns whether the refusal contains the id of the request, so that the body has to be read. */
bool mcp__http_refusal_reads(mcp__http_refusal why);
/* Writes the status line and the headers that all answers share to http->out. */
void mcp__http_put_head(mcp_http_connection *c, int status);

/* ---- page.c: pages of the program ------------------------------------------------------------ */

void mcp__http_answer_page(mcp_http_connection *c);

/* ---- sse_write.c: event streams -------------------------------------------------------------- */

/* These functions append to http->out, which mcp__http_flush() sends. */
void mcp__http_sse_begin(mcp_http_connection *c);
void mcp__http_sse_message(mcp_http_connection *c, mcp_str message);
/* Writes an event with the id "stream-event". Omits the field `retry` (in milliseconds) if it is
 * 0. */
void mcp__http_sse_event(mcp_http_connection *c, uint64_t stream, uint64_t event, uint64_t retry,
                         mcp_str message);
/* Writes an event with a type and without an id, as HTTP+SSE needs it. */
void mcp__http_sse_typed(mcp_http_connection *c, mcp_str type, mcp_str data);
void mcp__http_sse_comment(mcp_http_connection *c);
/* Sends a part of an event stream that another instance wrote. */
void mcp__http_sse_raw(mcp_http_connection *c, mcp_str bytes);
/* Ends the stream and the request. `code` is the code of the JSON-RPC error in the answer, or 0. */
void mcp__http_sse_end(mcp_http_connection *c, int code);
void mcp__http_flush(mcp_http_connection *c);

#endif
