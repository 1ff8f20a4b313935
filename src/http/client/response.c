/* response.c: parses the head of an answer, line by line, and decides how to treat the body.
 *
 * The body is not read here. If the body of a failure is a JSON-RPC error, that error takes
 * precedence over the status (2026-07-28, basic/transports/streamable-http, "Backward
 * Compatibility").
 */
#include <stdio.h>

#include "http/client/parser.h"

void mcp__answer_init(mcp__answer *a, const mcp_allocator *allocator)
{
    *a = (mcp__answer){.length = -1};
    mcp__buf_init(&a->session, allocator, MCP__SESSION_MOST);
    mcp__buf_init(&a->challenge, allocator, MCP__CHALLENGE_MOST);
    mcp__buf_init(&a->caching, allocator, MCP__CACHING_MOST);
    mcp__buf_init(&a->nonce, allocator, MCP__NONCE_MOST);
}

void mcp__answer_free(mcp__answer *a)
{
    mcp__buf_free(&a->session);
    mcp__buf_free(&a->challenge);
    mcp__buf_free(&a->caching);
    mcp__buf_free(&a->nonce);
}

static mcp_str trim(mcp_str s)
{
    while (s.len && (unsigned char)s.ptr[0] <= ' ')
        s = mcp__str_sub(s, 1);
    while (s.len && (unsigned char)s.ptr[s.len - 1] <= ' ')
        s.len--;
    return s;
}

/* ---- headers --------------------------------------------------------------------------------- */

static void take_type(mcp__answer *a, mcp_str value)
{
    const char *end = value.len ? memchr(value.ptr, ';', value.len) : NULL;
    mcp_str type = trim((mcp_str){value.ptr, end ? (size_t)(end - value.ptr) : value.len});
    size_t n = MCP__MIN(type.len, sizeof(a->media_text) - 1);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)type.ptr[i];
        a->media_text[i] = c > 0x20 && c < 0x7F ? (char)c : '?';
    }
    a->media_text[n] = 0;
    a->media = MCP__MEDIA_OTHER;
    if (mcp__str_same(type, MCP_STR("application/json")))
        a->media = MCP__MEDIA_JSON;
    else if (mcp__str_same(type, MCP_STR("text/event-stream")))
        a->media = MCP__MEDIA_SSE;
}

/* A session id consists of visible ASCII characters (2025-11-25, basic/transports, "Session
 * Management"). */
static void take_session(mcp__answer *a, mcp_str value)
{
    mcp__buf_reset(&a->session, 0);
    a->bad_session = value.len == 0 || value.len > MCP__SESSION_MOST;
    for (size_t i = 0; i < value.len && !a->bad_session; i++)
        a->bad_session = value.ptr[i] < 0x21 || value.ptr[i] > 0x7E;
    if (!a->bad_session)
        mcp__buf_str(&a->session, value);
}

/* Adds a value to a list. A value that does not fit is discarded, because an incomplete one is
 * useless. */
static void take_element(mcp__buf *list, mcp_str value)
{
    size_t comma = list->len ? 2 : 0;
    if (comma + value.len > list->limit - list->len)
        return;
    if (comma)
        mcp__buf_lit(list, ", ");
    mcp__buf_str(list, value);
}

static void take_challenge(mcp__answer *a, mcp_str value)
{
    take_element(&a->challenge, value);
}

static void take_caching(mcp__answer *a, mcp_str value)
{
    take_element(&a->caching, value);
}

/* A nonce consists of visible ASCII characters except quotes and backslashes (RFC 9449, 8.1). */
static void take_nonce(mcp__answer *a, mcp_str value)
{
    bool valid = value.len && value.len <= MCP__NONCE_MOST;
    for (size_t i = 0; i < value.len && valid; i++)
        valid = value.ptr[i] >= 0x21 && value.ptr[i] <= 0x7E && value.ptr[i] != '"' &&
                value.ptr[i] != '\\';
    mcp__buf_reset(&a->nonce, 0);
    if (valid)
        mcp__buf_str(&a->nonce, value);
}

static bool read_number(mcp_str s, int64_t most, int64_t *ret)
{
    int64_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
        n = MCP__MIN(n * 10 + (s.ptr[i] - '0'), most);
    }
    *ret = n;
    return s.len != 0;
}

static void take_length(mcp__answer *a, mcp_str value)
{
    int64_t n;
    a->length = read_number(value, INT64_MAX / 16, &n) ? n : -1;
}

static void take_retry(mcp__answer *a, mcp_str value)
{
    int64_t n;
    bool is_number = read_number(value, MCP__RETRY_MOST_MS / 1000, &n);
    a->retry_ms = is_number ? (uint64_t)MCP__MAX(n * 1000, 1) : 0;
    a->retry_date[0] = 0;
    if (!is_number && value.len < sizeof(a->retry_date)) {
        memcpy(a->retry_date, value.ptr, value.len);
        a->retry_date[value.len] = 0;
    }
}

static void take_encoding(mcp__answer *a, mcp_str value)
{
    a->is_encoded = !mcp__str_same(value, MCP_STR("identity"));
}

/* libcurl keeps the cookies. */
static void take_cookie(mcp__answer *a, mcp_str value)
{
    (void)value;
    a->n_cookies++;
}

static void take_header(mcp__answer *a, mcp_str name, mcp_str value)
{
    static const struct {
        mcp_str name;
        void (*take)(mcp__answer *a, mcp_str value);
    } known[] = {
        {{"content-type", 12}, take_type},         {{"content-length", 14}, take_length},
        {{"mcp-session-id", 14}, take_session},    {{"www-authenticate", 16}, take_challenge},
        {{"retry-after", 11}, take_retry},         {{"cache-control", 13}, take_caching},
        {{"dpop-nonce", 10}, take_nonce},          {{"set-cookie", 10}, take_cookie},
        {{"content-encoding", 16}, take_encoding},
    };
    for (size_t i = 0; i < MCP__COUNT(known); i++) {
        if (mcp__str_same(name, known[i].name))
            known[i].take(a, value);
    }
}

/* Reads "HTTP/1.1 200 OK" or "HTTP/2 200". */
static void take_status(mcp__answer *a, mcp_str line)
{
    const char *space = memchr(line.ptr, ' ', line.len);
    mcp_str rest = space ? trim(mcp__str_sub(line, (size_t)(space - line.ptr))) : (mcp_str){0};
    int64_t status = 0;
    rest.len = MCP__MIN(rest.len, (size_t)3);
    a->status = read_number(rest, 999, &status) ? (int)status : 0;
    a->media = MCP__MEDIA_NONE;
    a->media_text[0] = 0;
    a->length = -1;
    a->retry_ms = 0;
    a->retry_date[0] = 0;
    a->bad_session = a->complete = a->is_encoded = false;
    mcp__buf_reset(&a->session, 0);
    mcp__buf_reset(&a->challenge, 0);
    mcp__buf_reset(&a->caching, 0);
    mcp__buf_reset(&a->nonce, 0);
}

int mcp__answer_line(mcp__answer *a, mcp_str line)
{
    a->bytes += MCP__MIN(line.len, (size_t)MCP__ANSWER_MOST + 1);
    if (a->bytes > MCP__ANSWER_MOST)
        return MCP_ELIMIT;
    if (mcp__str_starts(line, MCP_STR("HTTP/"))) {
        take_status(a, line);
        return MCP_OK;
    }
    mcp_str content = trim(line);
    const char *colon = content.len ? memchr(content.ptr, ':', content.len) : NULL;
    if (!content.len)
        a->complete = a->status >= 200;
    else if (colon)
        take_header(a, (mcp_str){content.ptr, (size_t)(colon - content.ptr)},
                    trim(mcp__str_sub(content, (size_t)(colon - content.ptr) + 1)));
    bool failed = a->session.failed || a->challenge.failed || a->caching.failed || a->nonce.failed;
    return failed ? MCP_ENOMEM : MCP_OK;
}

/* ---- meaning --------------------------------------------------------------------------------- */

static mcp__verdict verdict_of_good(const mcp__answer *a, mcp__http_request_kind kind)
{
    if (kind == MCP__REQUEST_TAKE || kind == MCP__REQUEST_END)
        return MCP__VERDICT_TAKEN;
    if (a->media == MCP__MEDIA_SSE)
        return MCP__VERDICT_EVENTS;
    if (a->media == MCP__MEDIA_JSON && kind == MCP__REQUEST_ANSWER)
        return MCP__VERDICT_MESSAGE;
    return MCP__VERDICT_WRONG;
}

mcp__verdict mcp__answer_verdict(const mcp__answer *a, mcp__http_request_kind kind)
{
    if (a->status >= 200 && a->status < 300)
        return verdict_of_good(a, kind);
    if (a->status == 401 || a->status == 403)
        return MCP__VERDICT_CHALLENGED;
    return MCP__VERDICT_REFUSED;
}

static const char *reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } reasons[] = {
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {410, "Gone"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {421, "Misdirected Request"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
    };
    for (size_t i = 0; i < MCP__COUNT(reasons); i++) {
        if (reasons[i].status == status)
            return reasons[i].text;
    }
    return NULL;
}

void mcp__answer_text(const mcp__answer *a, char *to, size_t room)
{
    const char *text = reason(a->status);
    if (a->status < 200 || a->status >= 300)
        snprintf(to, room, "the server answered with HTTP status %d%s%s%s", a->status,
                 text ? " (" : "", text ? text : "", text ? ")" : "");
    else if (a->media_text[0])
        snprintf(to, room, "the server answered with %s, which is no answer to this",
                 a->media_text);
    else if (a->length > 0)
        snprintf(to, room,
                 "the server answered with HTTP status %d and a body without Content-Type",
                 a->status);
    else
        snprintf(to, room, "the server answered with HTTP status %d and nothing else", a->status);
}
