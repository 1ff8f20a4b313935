/* fuzz_uri_template.c: a template and a URI, separated by the first newline. A template that parses
 * must expand, and the values of a match must lie within the URI. The expansion of a match must
 * match again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/uri.h>

#define MAX_VARIABLES 16

static void require(int condition)
{
    if (!condition)
        abort();
}

/* Collects all values as strings. Returns false if there are too many, or one is a list. */
static bool collect(const mcp_uri_template *t, const mcp_uri_match *m, size_t uri_len,
                    mcp_uri_pair *values, size_t *count)
{
    bool plain = mcp_uri_template_variable_count(t) <= MAX_VARIABLES;
    for (size_t i = 0; i < mcp_uri_template_variable_count(t); i++) {
        mcp_uri_pair v = {.name = mcp_uri_template_variable(t, i)};
        char *name = calloc(1, v.name.len + 1);
        mcp_uri_match_iter iter = {0};
        mcp_str item, raw;
        size_t items = 0;
        require(name != NULL);
        memcpy(name, v.name.ptr, v.name.len);
        bool found = mcp_uri_match_get(m, name, &v.value);
        require(found == mcp_uri_match_raw(m, name, &raw));
        require(v.value.len <= raw.len && raw.len <= 3 * uri_len);
        for (volatile char sink = 0; mcp_uri_match_next(m, name, &iter, &item); items++) {
            for (size_t j = 0; j < item.len; j++)
                sink = item.ptr[j];
            (void)sink;
        }
        require(found == (items > 0));
        plain = plain && items <= 1;
        if (found && plain)
            values[(*count)++] = v;
        free(name);
    }
    return plain;
}

static void match_again(const mcp_uri_template *t, const mcp_uri_pair *values, size_t count)
{
    char *out = NULL;
    if (mcp_uri_template_expand_strings(t, values, count, NULL, &out, NULL) == MCP_OK) {
        mcp_uri_match *m = NULL;
        if (mcp_uri_template_match(t, mcp_str_from(out), NULL, &m) == MCP_OK)
            mcp_uri_match_free(m);
        free(out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *newline = size ? memchr(text, '\n', size) : NULL;
    size_t split = newline ? (size_t)(newline - text) : size;
    mcp_str uri = {text + split + (newline != NULL), size - split - (newline != NULL)};
    mcp_uri parsed;
    if (mcp_uri_parse(uri, &parsed, NULL) == MCP_OK)
        require(parsed.path.ptr >= uri.ptr &&
                parsed.path.ptr + parsed.path.len <= uri.ptr + uri.len);

    mcp_uri_template *t = NULL;
    mcp_uri_match *m = NULL;
    if (mcp_uri_template_parse((mcp_str){text, split}, NULL, &t, NULL) != MCP_OK)
        return 0;
    mcp_uri_pair values[MAX_VARIABLES];
    size_t count = 0;
    match_again(t, NULL, 0);
    if (mcp_uri_template_match(t, uri, NULL, &m) == MCP_OK) {
        if (collect(t, m, uri.len, values, &count))
            match_again(t, values, count);
    }
    mcp_uri_match_free(m);
    mcp_uri_template_free(t);
    return 0;
}
