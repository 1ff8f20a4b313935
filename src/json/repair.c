/* repair.c: replaces what is no character in the strings of a JSON text: bytes that are not UTF-8, and
 * escaped halves of surrogate pairs. A client uses this for messages of servers that cut a text in the
 * middle of a character, so that the rest of the message can be read. Other mistakes stay.
 */
#include "base/base.h"
#include "json/json.h"

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/* Returns the value of the escape \uXXXX at text[at], or -1. */
static int unit_at(mcp_str text, size_t at)
{
    int value = 0;
    if (at + 6 > text.len || text.ptr[at] != '\\' || text.ptr[at + 1] != 'u')
        return -1;
    for (size_t i = at + 2; i < at + 6; i++) {
        char c = text.ptr[i];
        int digit = c >= '0' && c <= '9'                     ? c - '0'
                    : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                             : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static bool is_high(int unit)
{
    return unit >= 0xD800 && unit <= 0xDBFF;
}

static bool is_low(int unit)
{
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* Returns the length of the escape at text[at]. It is 0 if it is half of a surrogate pair. */
static size_t escape_length(mcp_str text, size_t at)
{
    int unit = unit_at(text, at);
    if (is_high(unit) && is_low(unit_at(text, at + 6)))
        return 12;
    if (is_high(unit) || is_low(unit))
        return 0;
    return MCP__MIN((size_t)(unit >= 0 ? 6 : 2), text.len - at);
}

/* Adds a text without escapes. Returns the number of bytes that were replaced. */
static size_t add_plain(mcp__buf *to, mcp_str text)
{
    size_t n = 0, i = 0;
    while (i < text.len) {
        size_t valid = mcp__utf8_valid(text.ptr + i, text.len - i);
        mcp__buf_add(to, text.ptr + i, valid);
        i += valid;
        if (i == text.len)
            break;
        mcp__buf_lit(to, REPLACEMENT);
        i++;
        n++;
    }
    return n;
}

size_t mcp__json_repair(mcp_str text, mcp__buf *to)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len;) {
        const char *escape = memchr(text.ptr + i, '\\', text.len - i);
        size_t at = escape ? (size_t)(escape - text.ptr) : text.len;
        n += add_plain(to, (mcp_str){text.ptr + i, at - i});
        if (!escape)
            break;
        size_t len = escape_length(text, at);
        mcp__buf_add(to, len ? escape : REPLACEMENT, len ? len : sizeof(REPLACEMENT) - 1);
        n += !len;
        i = at + (len ? len : 6);
    }
    return n;
}
