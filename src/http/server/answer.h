/* answer.h: writes complete answers (respond.c) and event streams (sse_write.c). */
#ifndef MCP_SRC_HTTP_SERVER_ANSWER_H
#define MCP_SRC_HTTP_SERVER_ANSWER_H

#include <mcp/sys/channel.h>
#include <mcp/http.h>
#include <mcp/sys/http.h>

#include "base/base.h"
#include "http/server/metrics.h"

/* Why the HTTP layer refuses a request. */
typedef enum mcp__http_refusal {
    MCP__HTTP_FINE = 0,
    MCP__HTTP_BAD_SYNTAX,
    MCP__HTTP_BAD_FRAMING,
    MCP__HTTP_UNKNOWN_CODING,
    MCP__HTTP_BAD_VERSION,
    MCP__HTTP_BAD_MIRROR, /* a header that repeats a part of the message */
    MCP__HTTP_NO_HOST,
    MCP__HTTP_DUPLICATE,
    MCP__HTTP_BAD_HOST,
    MCP__HTTP_BAD_ORIGIN,
    MCP__HTTP_NO_PATH,
    MCP__HTTP_LONG_TARGET,
    MCP__HTTP_LONG_HEAD,
    MCP__HTTP_MANY_HEADERS,
    MCP__HTTP_LONG_BODY,
    MCP__HTTP_SLOW_HEAD,
    MCP__HTTP_SLOW_BODY,
    MCP__HTTP_NOT_ALLOWED,  /* the method is not allowed for this target */
    MCP__HTTP_POST_ONLY,    /* the method is not allowed without a session */
    MCP__HTTP_UNAUTHORIZED, /* this one and the next five are results of `authenticate` */
    MCP__HTTP_BAD_LOGIN,
    MCP__HTTP_FORBIDDEN,
    MCP__HTTP_MANY_LOGINS,
    MCP__HTTP_NO_LOGIN,
    MCP__HTTP_SLOW_LOGIN,
    MCP__HTTP_NOT_ACCEPTABLE,
    MCP__HTTP_NEEDS_STREAM,
    MCP__HTTP_BAD_TYPE,
    MCP__HTTP_BAD_CODING,
    MCP__HTTP_BAD_EXPECT,
    MCP__HTTP_BAD_REVISION,
    MCP__HTTP_NO_SESSION,
    MCP__HTTP_NEEDS_SESSION,
    MCP__HTTP_GET_FIRST, /* HTTP+SSE; the next three too */
    MCP__HTTP_NO_STREAM,
    MCP__HTTP_UNREAD,
    MCP__HTTP_NOT_MODERN,
    MCP__HTTP_MANY_CONNECTIONS,
    MCP__HTTP_MANY_PER_ADDRESS,
    MCP__HTTP_MANY_PER_PRINCIPAL,
    MCP__HTTP_MANY_SESSIONS,
    MCP__HTTP_MANY_SESSIONS_EACH,
    MCP__HTTP_MANY_STREAMS,
    MCP__HTTP_DRAINING,
    MCP__HTTP_NO_MEMORY,
    MCP__HTTP_BAD_EVENT,
    MCP__HTTP_BAD_MESSAGE,
    MCP__HTTP_UNEXPECTED,
    MCP__HTTP_NO_RANDOM,
    MCP__HTTP_NO_ANSWER,
    MCP__HTTP_NO_ROOM,
    MCP__HTTP_NO_SHARE,
    MCP__HTTP_NO_FILES,
    MCP__HTTP_CUT,
    MCP__HTTP_BAD_FORWARDED, /* a request that another instance forwarded; the next one too */
    MCP__HTTP_MISDIRECTED,   /* it is for another instance */
    MCP__HTTP_NO_INSTANCE,   /* a request was forwarded, but not answered */
    MCP__HTTP_REFUSALS,
} mcp__http_refusal;

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
