/* sql.c: see sql.h. */
#include "sql.h"

#include <stdio.h>

void postgres_sql_init(postgres_sql *to, const mcp_allocator *alloc)
{
    common_buffer_init(&to->b, alloc);
    to->failed = false;
}

void postgres_sql_free(postgres_sql *to)
{
    common_buffer_free(&to->b);
}

void postgres_sql_reset(postgres_sql *to)
{
    to->b.len = 0;
    to->failed = false;
}

void postgres_put_str(postgres_sql *to, mcp_str text)
{
    if (text.len && common_buffer_append(&to->b, text.ptr, text.len) != MCP_OK)
        to->failed = true;
}

void postgres_put(postgres_sql *to, const char *text)
{
    postgres_put_str(to, mcp_str_from(text));
}

void postgres_putf(postgres_sql *to, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof(text))
        to->failed = true;
    else
        postgres_put(to, text);
}

void postgres_put_name(postgres_sql *to, const char *name)
{
    postgres_put(to, "\"");
    for (; *name; name++)
        postgres_put_str(to, *name == '"' ? MCP_STR("\"\"") : (mcp_str){name, 1});
    postgres_put(to, "\"");
}

const char *postgres_sql_text(postgres_sql *to)
{
    if (to->failed || common_buffer_append(&to->b, "", 1) != MCP_OK)
        return NULL;
    to->b.len--;
    return to->b.ptr;
}
