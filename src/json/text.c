/* text.c: finds the texts of the parts of a JSON text, without building a tree. They are used for
 * values that are forwarded unchanged, such as numbers with more digits than a double holds.
 *
 * The text must have been parsed before, so that it is valid. With invalid text the results are
 * undefined, but nothing is read beyond its end.
 */
#include "json/json.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t skip_space(mcp_str text, size_t i)
{
    while (i < text.len && is_space(text.ptr[i]))
        i++;
    return i;
}

size_t mcp__json_skip_string(const char *text, size_t len, size_t i)
{
    while (i < len) {
        const char *quote = memchr(text + i, '"', len - i);
        if (!quote)
            return len;
        size_t end = (size_t)(quote - text), slashes = 0;
        while (slashes < end - i && text[end - slashes - 1] == '\\')
            slashes++;
        i = end + 1;
        if (slashes % 2 == 0)
            break;
    }
    return i;
}

static size_t skip_container(mcp_str text, size_t i)
{
    size_t depth = 0;
    while (i < text.len) {
        switch (text.ptr[i++]) {
        case '"': i = mcp__json_skip_string(text.ptr, text.len, i); break;
        case '{':
        case '[': depth++; break;
        case '}':
        case ']':
            if (--depth == 0)
                return i;
            break;
        default: break;
        }
    }
    return i;
}

/* Returns the offset after the value that begins at i. */
static size_t skip_value(mcp_str text, size_t i)
{
    if (i >= text.len)
        return i;
    if (text.ptr[i] == '"')
        return mcp__json_skip_string(text.ptr, text.len, i + 1);
    if (text.ptr[i] == '{' || text.ptr[i] == '[')
        return skip_container(text, i);
    while (i < text.len && !is_space(text.ptr[i]) && !memchr(",:]}", text.ptr[i], 4))
        i++;
    return i;
}

static mcp_str slice(mcp_str text, size_t from, size_t to)
{
    return (mcp_str){text.ptr + from, to - from};
}

bool mcp_json_text_next(mcp_str container, mcp_json_text_iter *iter, mcp_str *key, mcp_str *value)
{
    size_t i = iter->at;
    if (i == 0) {
        i = skip_space(container, 0);
        if (i >= container.len || !memchr("{[", container.ptr[i], 2))
            return false;
        iter->object = container.ptr[i] == '{';
        i = skip_space(container, i + 1);
    } else {
        i = skip_space(container, i);
        if (i >= container.len || container.ptr[i] != ',')
            return false;
        i = skip_space(container, i + 1);
    }
    size_t name = i;
    if (iter->object) {
        i = skip_value(container, i);
        if (key)
            *key = slice(container, name, i);
        i = skip_space(container, i);
        if (i >= container.len || container.ptr[i] != ':')
            return false;
        i = skip_space(container, i + 1);
    } else if (key) {
        *key = (mcp_str){NULL, 0};
    }
    size_t end = skip_value(container, i);
    if (end == i)
        return false;
    *value = slice(container, i, end);
    iter->at = end;
    return true;
}

mcp_str mcp__json_text_get(mcp_str object, mcp_str quoted_key)
{
    mcp_json_text_iter it = {0};
    mcp_str key, value;
    while (mcp_json_text_next(object, &it, &key, &value)) {
        if (mcp_str_eq(key, quoted_key))
            return value;
    }
    return (mcp_str){NULL, 0};
}

mcp_str mcp__json_text_at(mcp_str array, size_t index)
{
    mcp_json_text_iter it = {0};
    mcp_str value;
    while (mcp_json_text_next(array, &it, NULL, &value)) {
        if (index-- == 0)
            return value;
    }
    return (mcp_str){NULL, 0};
}

void mcp__json_put_text(mcp__buf *b, mcp_str json)
{
    size_t start = b->len;
    mcp__buf_str(b, json);
    if (b->failed)
        return;
    /* In valid JSON line ends occur only as white space between tokens. */
    static const char ends[] = {'\n', '\r'};
    for (size_t e = 0; e < sizeof(ends); e++) {
        char *at = b->ptr + start, *end = b->ptr + b->len;
        while ((at = memchr(at, ends[e], (size_t)(end - at))) != NULL)
            *at = ' ';
    }
}

void mcp_json_add_text(mcp_json_writer *w, mcp_str json)
{
    mcp__buf *b = mcp__json_writer_place(w);
    if (b && json.len == 0)
        b->failed = MCP_EINVAL;
    else if (b)
        mcp__json_put_text(b, json);
}
