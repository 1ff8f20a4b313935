/* repeat.c: compares a head with the former one of the connection.
 *
 * A client sends nearly the same head with every request. The parser need not see a head again if all
 * that differs are digits of Content-Length, and values that the parser does not interpret: it would
 * find what it found in the former head. The bytes of the former head follow its values in `bytes`.
 * If a value differs, all values of the new head are appended.
 */
#include "http/server/head.h"

enum {
    HOLES = 1u << MCP__HTTP_LENGTH | 1u << MCP__HTTP_METHOD | 1u << MCP__HTTP_NAME |
            1u << MCP__HTTP_TRACEPARENT,
    DIGITS = 9, /* of Content-Length */
    NEVER = MCP__HTTP_HOLES + 1,
};

/* The parser passes an empty value with a place that is not the value's. A head with one is not kept. */
void mcp__http_repeat_note(mcp__http_head *head, size_t at, size_t len)
{
    mcp__http_repeat *r = &head->repeat;
    uint8_t kind = head->field_kind;
    if (!(HOLES & 1u << kind) || r->n_holes == NEVER)
        return;
    if (!len || at + len > MCP__HTTP_REPEAT_MAX || r->n_holes == MCP__HTTP_HOLES) {
        r->n_holes = NEVER;
        return;
    }
    r->hole[r->n_holes].kind = kind;
    r->hole[r->n_holes].at = (uint16_t)at;
    r->hole[r->n_holes++].len = (uint16_t)len;
}

/* Returns the number of digits at the beginning. */
static size_t count_digits(mcp_str bytes)
{
    size_t n = 0;
    while (n < bytes.len && bytes.ptr[n] >= '0' && bytes.ptr[n] <= '9')
        n++;
    return n;
}

/* Returns the value at the beginning of the bytes: with `digits`, that many digits; otherwise the
 * bytes up to the end of the line. The value is empty if the parser would not accept it, or would
 * not take it as it is. */
static mcp_str value_at(mcp_str bytes, size_t digits)
{
    const mcp_str none = {0};
    if (digits)
        return count_digits(bytes) == digits ? (mcp_str){bytes.ptr, digits} : none;
    size_t n = mcp__http_plain((mcp_str){bytes.ptr, MCP__MIN(bytes.len, MCP__HTTP_REPEAT_MAX)});
    if (!n || n == bytes.len || bytes.ptr[n] != '\r')
        return none;
    return bytes.ptr[0] == ' ' || bytes.ptr[n - 1] == ' ' ? none : (mcp_str){bytes.ptr, n};
}

/* Returns the number that the digits are, of which there are at most DIGITS. */
static size_t number(mcp_str digits)
{
    size_t n = 0;
    for (size_t i = 0; i < digits.len; i++)
        n = n * 10 + (size_t)(digits.ptr[i] - '0');
    return n;
}

/* Returns whether the hole is the whole value of its header, as both the parser and value_at() read
 * it, and stores the value. */
static bool check_hole(const mcp__http_head *head, mcp_str bytes, size_t i, mcp_str *value)
{
    const mcp__http_repeat *r = &head->repeat;
    size_t before = i ? (size_t)r->hole[i - 1].at + r->hole[i - 1].len : 0;
    if (r->hole[i].at < before || (size_t)r->hole[i].at + r->hole[i].len > bytes.len)
        return false;
    mcp_str rest = mcp__str_sub(bytes, r->hole[i].at);
    size_t digits = r->hole[i].kind == MCP__HTTP_LENGTH ? r->hole[i].len : 0;
    *value = value_at(rest, digits);
    return digits <= DIGITS && value->len && value->len == r->hole[i].len;
}

void mcp__http_repeat_keep(mcp__http_head *head, mcp_str bytes, size_t body)
{
    mcp__http_repeat *r = &head->repeat;
    bool has_length = false;
    r->len = 0;
    if (r->n_holes == NEVER || bytes.len > MCP__HTTP_REPEAT_MAX)
        return;
    for (size_t i = 0; i < r->n_holes; i++) {
        mcp_str value;
        if (!check_hole(head, bytes, i, &value))
            return;
        has_length |= r->hole[i].kind == MCP__HTTP_LENGTH && number(value) == body;
    }
    if (!has_length)
        return;
    r->at = (uint32_t)head->bytes.len;
    mcp__buf_str(&head->bytes, bytes);
    if (head->bytes.failed) { /* the request is complete without it */
        head->bytes.failed = MCP_OK;
        return;
    }
    r->len = (uint32_t)bytes.len;
    r->body = (uint32_t)body;
    r->received = (uint32_t)head->received;
}

/* Compares the head, whose values may differ. Returns its length, or 0 if it is another one. */
static size_t compare(const mcp__http_head *head, mcp_str in, mcp_str *values, size_t *body)
{
    const mcp__http_repeat *r = &head->repeat;
    mcp_str kept = {head->bytes.ptr + r->at, r->len};
    mcp_str rest = in;
    size_t done = 0; /* bytes of the kept head */
    for (size_t i = 0; i < r->n_holes; i++) {
        bool is_length = r->hole[i].kind == MCP__HTTP_LENGTH;
        size_t n = r->hole[i].at - done;
        if (!mcp__str_starts(rest, (mcp_str){kept.ptr + done, n}))
            return 0;
        rest = mcp__str_sub(rest, n);
        values[i] = value_at(rest, is_length ? r->hole[i].len : 0);
        if (!values[i].len)
            return 0;
        if (is_length)
            *body = number(values[i]);
        rest = mcp__str_sub(rest, values[i].len);
        done = (size_t)r->hole[i].at + r->hole[i].len;
    }
    kept = mcp__str_sub(kept, done);
    return mcp__str_starts(rest, kept) ? (size_t)(rest.ptr - in.ptr) + kept.len : 0;
}

/* Makes the values those of the request, or of the kept head if `values` is NULL. */
static void take_values(mcp__http_head *head, const mcp_str *values)
{
    const mcp__http_repeat *r = &head->repeat;
    mcp__buf *b = &head->bytes;
    b->len = r->at + r->len;
    for (size_t i = 0; i < r->n_holes; i++) {
        mcp__http_span value = {r->at + r->hole[i].at, r->hole[i].len};
        if (values) {
            value = (mcp__http_span){(uint32_t)b->len, (uint32_t)values[i].len};
            mcp__buf_str(b, values[i]);
        }
        head->known[r->hole[i].kind] = value;
    }
}

size_t mcp__http_repeat_take(mcp__http_head *head, mcp_str in, size_t max, size_t *body)
{
    mcp__http_repeat *r = &head->repeat;
    mcp_str values[MCP__HTTP_HOLES] = {{0}};
    if (!r->len)
        return 0;
    *body = r->body;
    bool same = mcp__str_starts(in, (mcp_str){head->bytes.ptr + r->at, r->len});
    size_t len = same ? r->len : compare(head, in, values, body);
    if (!len || !*body || r->received + len - r->len > max)
        return 0;
    take_values(head, same ? NULL : values);
    if (head->bytes.failed)
        return 0;
    r->used++;
    return len;
}

void mcp__http_repeat_drop(mcp__http_head *head)
{
    mcp__http_repeat *r = &head->repeat;
    for (size_t i = 0; r->len && i < r->n_holes; i++) {
        if (head->known[r->hole[i].kind].at >= r->at)
            head->present &= ~(1u << r->hole[i].kind);
    }
    if (r->len)
        head->bytes.len = r->at;
    *r = (mcp__http_repeat){0};
}
