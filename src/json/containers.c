/* containers.c: arrays and objects that write their own commas. */
#include "json/json.h"

static mcp__json_list begin(mcp__buf *b, char first, char last)
{
    mcp__buf_char(b, first);
    return (mcp__json_list){.buf = b, .last = last};
}

mcp__json_list mcp__json_begin_array(mcp__buf *b)
{
    return begin(b, '[', ']');
}

mcp__json_list mcp__json_begin_object(mcp__buf *b)
{
    return begin(b, '{', '}');
}

void mcp__json_next(mcp__json_list *l)
{
    if (l->any)
        mcp__buf_char(l->buf, ',');
    l->any = true;
}

void mcp__json_key(mcp__json_list *l, mcp_str key)
{
    mcp__json_next(l);
    mcp__json_put_str(l->buf, key);
    mcp__buf_char(l->buf, ':');
}

void mcp__json_name(mcp__json_list *l, const char *name)
{
    size_t len = strlen(name);
    char *to = mcp__buf_reserve(l->buf, len + 4);
    bool comma = l->any;
    l->any = true;
    if (!to)
        return;
    to[0] = ',';
    to += comma;
    to[0] = '"';
    memcpy(to + 1, name, len);
    to[len + 1] = '"';
    to[len + 2] = ':';
    l->buf->len += len + 3 + comma;
}

void mcp__json_end(mcp__json_list *l)
{
    mcp__buf_char(l->buf, l->last);
}
