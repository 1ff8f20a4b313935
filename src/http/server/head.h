/* head.h: the head of a request (headers.c). */
#ifndef MCP_SRC_HTTP_SERVER_HEAD_H
#define MCP_SRC_HTTP_SERVER_HEAD_H

#include <mcp/http.h>

#include "base/base.h"

/* The headers that are used. Each may occur only once, except Accept, X-Forwarded-For and Forwarded. Some of
 * these headers repeat a part of the message (2026-07-28, basic/transports/streamable-http, "Server
 * Validation"). The server role compares these with the message, and refuses duplicates of them. */
typedef enum mcp__http_known {
    MCP__HTTP_HOST = 0,
    MCP__HTTP_ORIGIN,
    MCP__HTTP_AUTHORIZATION,
    MCP__HTTP_CONTENT_TYPE,
    MCP__HTTP_CONTENT_ENCODING,
    MCP__HTTP_ACCEPT,
    MCP__HTTP_EXPECT,
    MCP__HTTP_SESSION,
    MCP__HTTP_REVISION,
    MCP__HTTP_METHOD,
    MCP__HTTP_NAME,
    MCP__HTTP_LAST_EVENT,
    MCP__HTTP_TRACEPARENT,
    MCP__HTTP_FORWARDED_FOR,   /* or Forwarded: mcp_http_options.proxy_header */
    MCP__HTTP_HOP,             /* of requests that another instance forwards */
    MCP__HTTP_REQUEST_HEADERS, /* of a CORS preflight */
    MCP__HTTP_LENGTH,          /* Content-Length, which the parser interprets, as the next one */
    MCP__HTTP_CODING,          /* Transfer-Encoding */
    MCP__HTTP_KNOWN,           /* number of the headers above */
    MCP__HTTP_PARAM,           /* Mcp-Param-… */
    MCP__HTTP_MORE,            /* one of login_headers */
    MCP__HTTP_IGNORED,
} mcp__http_known;

typedef struct mcp__http_span {
    uint32_t at, len;
} mcp__http_span;

/* The part of a head that is kept: the target, the values of known headers, and the names and
 * values of Mcp-Param-* and of login_headers. Spans and offsets refer to `bytes`, which may move
 * when it grows. */
typedef struct mcp__http_head {
    mcp__buf bytes;
    const mcp_http_options *options; /* for login_headers; set when the connection is opened */
    mcp__http_span target, path;
    mcp__http_span view; /* the part of the path that names a view; empty if none */
    mcp__http_span known[MCP__HTTP_KNOWN];
    uint32_t present; /* 1 << mcp__http_known */
    uint32_t params;  /* offset of the first header that is kept with its name, or 0 */
    uint32_t last_param;
    uint32_t field;       /* start of the header being received */
    uint32_t field_value; /* start of its value */
    uint8_t field_kind;
    uint8_t accepts;   /* MCP__HTTP_JSON | MCP__HTTP_SSE */
    bool duplicate;    /* a header that is not compared with the message occurred twice */
    uint32_t repeated; /* compared headers that occurred twice: 1 << mcp__http_known */
    size_t received;   /* bytes of the head, including those not kept */
    size_t count;
} mcp__http_head;

#define MCP__FORWARDED_HEADER "Libmcp-Forwarded-Request"

enum { MCP__HTTP_JSON = 1, MCP__HTTP_SSE = 2 };

void mcp__http_head_reset(mcp__http_head *head);
/* Shrinks the buffer to its contents. */
void mcp__http_head_shrink(mcp__http_head *head);
void mcp__http_head_name(mcp__http_head *head, const char *at, size_t len);
void mcp__http_head_name_end(mcp__http_head *head);
void mcp__http_head_value(mcp__http_head *head, const char *at, size_t len);
void mcp__http_head_value_end(mcp__http_head *head);

/* ---- headers.c ------------------------------------------------------------------------------ */

/* Returns the value of a header. Its ptr is NULL if the header is missing. */
mcp_str mcp__http_header(const mcp__http_head *head, mcp__http_known known);
/* Finds a header by name, including Mcp-Param-* and login_headers. Returns false if it is missing.
 * If it occurred more than once, *value is "\n", which cannot be the value of a header. */
bool mcp__http_find(const mcp__http_head *head, const char *name, mcp_str *value);
static inline mcp_str mcp__http_text(const mcp__http_head *head, mcp__http_span span)
{
    return (mcp_str){head->bytes.ptr + span.at, span.len};
}
/* Iterates over Mcp-Param-* and login_headers that occurred once. *at is 0 at the beginning. Returns
 * false after the last one. */
bool mcp__http_next_param(const mcp__http_head *head, uint32_t *at, mcp_str *name, mcp_str *value);
/* Returns whether the header being received repeats a part of the message, and is compared with
 * it. */
bool mcp__http_is_mirrored(const mcp__http_head *head);
mcp_str mcp__http_trim(mcp_str s);

/* Returns the media types that a value of Accept allows: a combination of MCP__HTTP_JSON and
 * MCP__HTTP_SSE, or 0. */
unsigned mcp__http_accepts(mcp_str value);
bool mcp__http_is_json(mcp_str content_type);

#endif
