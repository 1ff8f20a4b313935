/* header.c: checks and collects the headers of a request.
 *
 * The lines are in the form that libcurl expects. There, a header without a value is written
 * "Name;", because "Name:" would remove the header.
 */
#include "http/client/parser.h"

void mcp__headers_init(mcp__headers *h, const mcp_allocator *allocator)
{
    mcp__buf_init(&h->lines, allocator, MCP__HEADERS_MOST);
}

void mcp__headers_free(mcp__headers *h)
{
    mcp__buf_free(&h->lines);
}

static bool is_token(mcp_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c <= 0x20 || c >= 0x7F || strchr("\"(),/:;<=>?@[\\]{}", c))
            return false;
    }
    return s.len != 0;
}

/* Checks a value according to RFC 9110, 5.5. Bytes above ASCII are allowed, because they are used
 * in practice. */
static bool is_value(mcp_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if ((c < 0x20 && c != '\t') || c == 0x7F)
            return false;
    }
    return true;
}

static mcp_str trim(mcp_str s)
{
    while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
        s = mcp__str_sub(s, 1);
    while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
        s.len--;
    return s;
}

int mcp__headers_add(mcp__headers *h, mcp_str name, mcp_str value)
{
    if (!is_token(name) || !is_value(value))
        return MCP_EINVAL;
    value = trim(value);
    mcp__buf_str(&h->lines, name);
    if (value.len)
        mcp__buf_lit(&h->lines, ": ");
    else
        mcp__buf_lit(&h->lines, ";");
    mcp__buf_str(&h->lines, value);
    mcp__buf_char(&h->lines, 0);
    return h->lines.failed;
}

int mcp__headers_append(mcp__headers *h, const mcp__headers *other)
{
    mcp__buf_str(&h->lines, mcp__buf_view(&other->lines));
    return h->lines.failed;
}

const char *mcp__headers_next(const mcp__headers *h, size_t *at)
{
    if (*at >= h->lines.len)
        return NULL;
    const char *line = h->lines.ptr + *at;
    *at += strlen(line) + 1;
    return line;
}

bool mcp__header_is_free(mcp_str name)
{
    static const mcp_str ours[] = {
        {"accept", 6},
        {"accept-encoding", 15},
        {"connection", 10},
        {"content-encoding", 16},
        {"content-length", 14},
        {"content-type", 12},
        {"expect", 6},
        {"host", 4},
        {"keep-alive", 10},
        {"last-event-id", 13},
        {"te", 2},
        {"trailer", 7},
        {"transfer-encoding", 17},
        {"upgrade", 7},
    };
    for (size_t i = 0; i < MCP__COUNT(ours); i++) {
        if (mcp__str_same(name, ours[i]))
            return false;
    }
    return !mcp__str_same((mcp_str){name.ptr, MCP__MIN(name.len, (size_t)4)}, MCP_STR("mcp-"));
}
