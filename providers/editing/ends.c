/* ends.c: see ends.h. */
#define _GNU_SOURCE
#include "ends.h"

#include <string.h>

size_t editing_end_before(mcp_str text, size_t from, size_t at, bool cr_ends)
{
    if (at <= from)
        return 0;
    if (text.ptr[at - 1] == '\n')
        return at - from >= 2 && text.ptr[at - 2] == '\r' ? 2 : 1;
    return cr_ends && text.ptr[at - 1] == '\r';
}

size_t editing_next_end(mcp_str text, size_t from, bool cr_ends, size_t *ret)
{
    *ret = text.len;
    if (from >= text.len)
        return 0;
    if (!cr_ends) {
        const char *feed = memchr(text.ptr + from, '\n', text.len - from);
        if (!feed)
            return 0;
        *ret = (size_t)(feed - text.ptr);
        bool both = *ret > from && feed[-1] == '\r';
        *ret -= both;
        return 1u + both;
    }
    for (size_t at = from; at < text.len; at++) {
        size_t width = editing_end_at(text, at, true);
        if (width) {
            *ret = at;
            return width;
        }
    }
    return 0;
}

size_t editing_line_at(mcp_str text, size_t offset, bool cr_ends)
{
    size_t line = 1, at, width;
    for (size_t from = 0; (width = editing_next_end(text, from, cr_ends, &at)) > 0; line++) {
        from = at + width;
        if (from > offset)
            break;
    }
    return line;
}

void editing_ends_init(editing_ends *e, mcp_str text, bool cr_ends)
{
    *e = (editing_ends){.text = text, .cr_ends = cr_ends};
}

void editing_ends_passage(editing_ends *e, size_t begin, size_t end)
{
    e->at = begin;
    e->to = end;
    e->repeated = (mcp_str){NULL, 0};
}

/* Returns the last line end of the text, or LF. */
static mcp_str find_last(mcp_str text, bool cr_ends)
{
    const char *end = text.len ? memrchr(text.ptr, '\n', text.len) : NULL;
    const char *cr = text.len && cr_ends ? memrchr(text.ptr, '\r', text.len) : NULL;
    if (cr && (!end || end < cr))
        end = cr;
    if (!end)
        return MCP_STR("\n");
    size_t at = (size_t)(end - text.ptr) + 1, width = editing_end_before(text, 0, at, cr_ends);
    return (mcp_str){text.ptr + at - width, width};
}

/* The line end of the line where the passage ends. What was found is kept, since passages ascend. */
static mcp_str neighbour(editing_ends *e)
{
    if (!e->last.len && (!e->width || e->next < e->to))
        e->width = editing_next_end(e->text, e->to, e->cr_ends, &e->next);
    if (e->width)
        return (mcp_str){e->text.ptr + e->next, e->width};
    if (!e->last.len)
        e->last = find_last(e->text, e->cr_ends);
    return e->last;
}

mcp_str editing_ends_take(editing_ends *e)
{
    mcp_str passage = {e->text.ptr, e->to};
    size_t at = e->to,
           width = e->at < e->to ? editing_next_end(passage, e->at, e->cr_ends, &at) : 0;
    if (width) {
        e->repeated = (mcp_str){e->text.ptr + at, width};
        e->at = at + width;
    } else {
        e->at = e->to;
        if (!e->repeated.len)
            e->repeated = neighbour(e);
    }
    return e->repeated;
}
