/* cut.c: see cut.h. */
#define _GNU_SOURCE
#include "cut.h"

#include <string.h>

/* Returns the offset after `count` lines, or the length of the text. */
static size_t after_lines(mcp_str text, uint64_t count)
{
    size_t at = 0;
    for (; count && at < text.len; count--) {
        const char *lf = memchr(text.ptr + at, '\n', text.len - at);
        at = lf ? (size_t)(lf - text.ptr) + 1 : text.len;
    }
    return at;
}

static uint64_t lines_of(mcp_str text)
{
    uint64_t n = 0;
    for (size_t at = 0; at < text.len; n++)
        at += after_lines((mcp_str){text.ptr + at, text.len - at}, 1);
    return n;
}

/* Returns the length of the whole lines in the first `most` bytes, or that of whole characters if
 * there is no whole line. */
static size_t fitting(mcp_str text, size_t most, bool *within)
{
    const char *lf = memrchr(text.ptr, '\n', most);
    *within = !lf;
    if (lf)
        return (size_t)(lf - text.ptr) + 1;
    while (most && ((unsigned char)text.ptr[most] & 0xc0) == 0x80)
        most--;
    return most;
}

void bridge_cut_lines(mcp_str text, uint64_t first, uint64_t count, size_t most, bridge_cut *ret)
{
    uint64_t before = first ? first - 1 : 0;
    size_t from = after_lines(text, before);
    mcp_str wanted = {text.ptr + from, text.len - from};
    *ret = (bridge_cut){.first = before + 1, .total = lines_of(text)};
    if (count)
        wanted.len = after_lines(wanted, count);
    ret->text = wanted;
    if (wanted.len > most) {
        ret->text.len = fitting(wanted, most, &ret->within);
        ret->more = true;
    }
    ret->last = before + lines_of(ret->text);
}

void bridge_cut_tail(mcp_str text, size_t most, bridge_cut *ret)
{
    size_t from = text.len > most ? text.len - most : 0;
    *ret = (bridge_cut){.text = text, .first = 1, .total = lines_of(text), .more = from != 0};
    if (from) {
        const char *lf = memchr(text.ptr + from - 1, '\n', most + 1);
        ret->within = !lf || lf + 1 == text.ptr + text.len;
        if (!ret->within)
            from = (size_t)(lf - text.ptr) + 1;
        while (from < text.len && ((unsigned char)text.ptr[from] & 0xc0) == 0x80)
            from++;
        ret->text = (mcp_str){text.ptr + from, text.len - from};
    }
    ret->last = ret->total;
    ret->first = ret->total - lines_of(ret->text) + 1;
}
