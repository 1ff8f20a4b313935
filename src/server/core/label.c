/* label.c: names as values of labels in the text format of Prometheus (mcp_metric_label()). One label
 * that is not UTF-8, or that ends its line, would make a scraper refuse the whole text. */
#include <mcp/server.h>

#include "base/base.h"

static mcp_str escape_of(char c)
{
    switch (c) {
    case '\\': return MCP_STR("\\\\");
    case '"': return MCP_STR("\\\"");
    case '\n': return MCP_STR("\\n");
    default: return (mcp_str){0};
    }
}

/* Returns the length of the beginning that needs no escape. */
static size_t plain_of(mcp_str text)
{
    size_t n = 0;
    while (n < text.len && !escape_of(text.ptr[n]).ptr)
        n++;
    return n;
}

void mcp_metric_label(mcp_str text, void (*add)(mcp_str piece, void *arg), void *arg)
{
    while (text.len) {
        size_t valid = mcp__utf8_valid(text.ptr, text.len),
               n = plain_of((mcp_str){text.ptr, valid});
        if (n)
            add((mcp_str){text.ptr, n}, arg);
        text = mcp__str_sub(text, n);
        if (!text.len)
            return;
        add(n < valid ? escape_of(*text.ptr) : MCP_STR("\xEF\xBF\xBD"), arg);
        text = mcp__str_sub(text, 1);
    }
}
