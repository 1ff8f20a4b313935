/* words.c: see words.h. */
#include "words.h"

static bool is_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Returns the length of "{NAME}" at `p`, or 0 if there is none. */
static size_t name_length(const char *p)
{
    size_t n = 1;
    if (p[0] != '{' || !is_start(p[1]))
        return 0;
    while (is_start(p[n]) || (p[n] >= '0' && p[n] <= '9') || p[n] == '-')
        n++;
    return p[n] == '}' ? n + 1 : 0;
}

bool command_piece(const char **at, mcp_str *literal, mcp_str *name)
{
    const char *p = *at;
    size_t n = name_length(p);
    *literal = *name = (mcp_str){0};
    if (!*p)
        return false;
    if (n) {
        *name = (mcp_str){p + 1, n - 2};
        *at = p + n;
        return true;
    }
    if (p[0] == '{' && p[1] == '{') {
        *literal = (mcp_str){p, 1};
        *at = p + 2;
        return true;
    }
    const char *begin = p++;
    while (*p && *p != '{')
        p++;
    *literal = (mcp_str){begin, (size_t)(p - begin)};
    *at = p;
    return true;
}

/* ---- filling --------------------------------------------------------------------------------- */

static int refuse(command_fill *f, mcp_str which, const char *why)
{
    f->which = which;
    f->why = why;
    return MCP_EINVAL;
}

static bool may_begin_with_dash(const command_fill *f, mcp_str name)
{
    for (size_t i = 0; i < f->n_allow; i++)
        if (mcp_str_eq(name, mcp_str_from(f->allow[i])))
            return true;
    return !f->dash;
}

/* Appends a number or boolean as JSON. */
static int append_other(const mcp_json *value, common_buffer *to)
{
    mcp_json_writer *w = mcp_json_writer_new(&to->alloc, 0);
    mcp_str text;
    mcp_json_add_value(w, value);
    int rc = w ? mcp_json_writer_finish(w, &text) : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = common_buffer_append(to, text.ptr, text.len);
    mcp_json_writer_free(w);
    return rc;
}

static int append_argument(command_fill *f, mcp_str name, common_buffer *to)
{
    const mcp_json *value = mcp_json_get_str(f->arguments, name);
    mcp_str text = mcp_json_string(value);
    switch (mcp_json_typeof(value)) {
    case MCP_JSON_NONE:
    case MCP_JSON_NULL: return MCP_PENDING;
    case MCP_JSON_ARRAY:
    case MCP_JSON_OBJECT: return refuse(f, name, "is not a string, number or boolean");
    case MCP_JSON_STRING:
        if (text.len && memchr(text.ptr, 0, text.len))
            return refuse(f, name, "contains NUL");
        return common_buffer_append(to, text.ptr, text.len);
    default: return append_other(value, to);
    }
}

int command_word(command_fill *f, const char *word, common_buffer *to)
{
    mcp_str literal, name;
    size_t begin = to->len;
    int rc = MCP_OK;
    for (const char *at = word; rc == MCP_OK && command_piece(&at, &literal, &name);) {
        size_t before = to->len;
        rc = name.len ? append_argument(f, name, to)
                      : common_buffer_append(to, literal.ptr, literal.len);
        bool first = before == begin && to->len > begin;
        if (rc == MCP_OK && name.len && first && to->ptr[begin] == '-' &&
            !may_begin_with_dash(f, name))
            rc = refuse(f, name, "may not begin with a minus: it would be taken for an option");
    }
    if (rc == MCP_OK)
        rc = common_buffer_append(to, "", 1);
    if (rc != MCP_OK)
        to->len = begin;
    return rc;
}
