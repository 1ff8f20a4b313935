/* answer.h: answers: whole ones (respond.c) and event streams (sse.c). */
#ifndef MCP_SRC_HTTP_SERVER_ANSWER_H
#define MCP_SRC_HTTP_SERVER_ANSWER_H

#include <mcp/http.h>

#include "base/base.h"
#include "http/server/metrics.h"

enum { MCP__HTTP_PER_ADDRESS = 1000 }; /* max_per_address where it is 0, but for local ones */

/* Why HTTP itself refuses a request. */
typedef enum mcp__http_refusal {
    MCP__HTTP_FINE = 0,
    MCP__HTTP_BAD_SYNTAX,
    MCP__HTTP_BAD_FRAMING,
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
    MCP__HTTP_NOT_ALLOWED, /* the method: never here */
    MCP__HTTP_POST_ONLY,   /* or not without a session */
    MCP__HTTP_UNAUTHORIZED,
    MCP__HTTP_NOT_ACCEPTABLE,
    MCP__HTTP_NEEDS_STREAM,
    MCP__HTTP_BAD_TYPE,
    MCP__HTTP_BAD_CODING,
    MCP__HTTP_BAD_EXPECT,
    MCP__HTTP_BAD_REVISION,
    MCP__HTTP_NO_SESSION,
    MCP__HTTP_NEEDS_SESSION,
    MCP__HTTP_GET_FIRST, /* these of HTTP+SSE */
    MCP__HTTP_NO_STREAM,
    MCP__HTTP_UNREAD,
    MCP__HTTP_NOT_MODERN,
    MCP__HTTP_MANY_CONNECTIONS,
    MCP__HTTP_MANY_PER_ADDRESS,
    MCP__HTTP_MANY_SESSIONS,
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
    MCP__HTTP_REFUSALS,
} mcp__http_refusal;

/* The statuses that answers have. */
typedef struct mcp__http_status_line {
    int status;
    mcp_str line;
} mcp__http_status_line;
extern const mcp__http_status_line mcp__http_statuses[MCP__HTTP_STATUSES];

typedef struct mcp__http_answer {
    int status;
    const char *type; /* Content-Type; NULL: without a body */
    mcp_str body;
    const char *allow;     /* Allow */
    const char *challenge; /* WWW-Authenticate */
    const char *session;   /* Mcp-Session-Id */
    bool preflight;
    bool retry; /* Retry-After */
    int code;   /* of the JSON-RPC error in the body */
} mcp__http_answer;

/* Writes a whole answer and ends the request. */
void mcp__http_respond(mcp_http_connection *c, const mcp__http_answer *answer);
void mcp__http_refuse(mcp_http_connection *c, mcp__http_refusal why);
/* The same with a JSON-RPC message; code: of its error, or 0. */
void mcp__http_reply(mcp_http_connection *c, int status, int code, mcp_str message);
/* Whether there is memory for a message on its way out. */
bool mcp__http_has_room(const mcp_http_connection *c, mcp_str message);
/* The answer, or a refusal with its id where there is no memory for it. */
void mcp__http_answer_fitting(mcp_http_connection *c, const mcp__http_answer *answer);
/* The message, or the same refusal in *instead, which is to be freed; then *code is the refusal's. */
mcp_str mcp__http_fitting(mcp_http_connection *c, mcp_str message, mcp__buf *instead, int *code);
/* mcp__http_complain() of a refusal. */
void mcp__http_complain_of(mcp_http *http, mcp__http_complaint *complaint, mcp__http_refusal why);
/* The error that says that the server ended; id is JSON text. The buffer is the caller's, also when it failed; returns the
 * error's code. */
int mcp__http_put_cut(const mcp_http *http, mcp_str id, mcp__buf *error);
/* Answers the connection's request with it. */
void mcp__http_cut_off(mcp_http_connection *c, mcp_str id);
/* Whether it has the id of the request, so that the body is worth keeping. */
bool mcp__http_refusal_reads(mcp__http_refusal why);
/* Status line and the headers that all answers share, into http->out. */
void mcp__http_put_head(mcp_http_connection *c, int status);

/* ---- sse.c: event streams -------------------------------------------------------------------------------- */

/* These collect in http->out; mcp__http_flush() writes it. */
void mcp__http_sse_begin(mcp_http_connection *c);
void mcp__http_sse_message(mcp_http_connection *c, mcp_str message);
/* With the id "stream-event"; retry is said when it is not 0. */
void mcp__http_sse_event(mcp_http_connection *c, uint64_t stream, uint64_t event, uint64_t retry,
                         mcp_str message);
/* With a type and without an id: HTTP+SSE. */
void mcp__http_sse_typed(mcp_http_connection *c, mcp_str type, mcp_str data);
void mcp__http_sse_comment(mcp_http_connection *c);
/* The last bytes of the stream; the request ends. */
void mcp__http_sse_end(mcp_http_connection *c, int code);
void mcp__http_flush(mcp_http_connection *c);

#endif
