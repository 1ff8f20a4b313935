/* replies.c: see replies.h. */
#include "replies.h"

#include <stdio.h>
#include <string.h>

#include "table_text.h"

/* Fails with the written JSON as data. Frees the writer. */
static int fail_with(mcp_request *req, int code, mcp_json_writer *w, const char *text)
{
    mcp_str data;
    int rc = mcp_json_writer_finish(w, &data);
    if (rc == MCP_OK)
        rc = mcp_reply_fail_data(req, code, mcp_request_strdup(req, data), "%s", text);
    mcp_json_writer_free(w);
    return rc;
}

int common_reply_fail(mcp_request *req, const mcp_allocator *alloc, bool as_tool, mcp_str uri,
                      int code, const char *text)
{
    if (as_tool)
        return mcp_reply_tool_error(req, "%s", text);
    if (!uri.len)
        return mcp_reply_fail(req, code, "%s", text);
    mcp_json_writer *w = mcp_json_writer_new(alloc, 0);
    mcp_json_begin_object(w);
    mcp_json_put_str(w, "uri", uri);
    mcp_json_end(w);
    return fail_with(req, code, w, text);
}

static void put_data(mcp_json_writer *w, const common_too_large *t)
{
    char parts[500];
    snprintf(parts, sizeof(parts), "%.300s%.150s", t->prefix, t->rest);
    mcp_json_begin_object(w);
    mcp_json_put_str(w, "uri", t->uri);
    if (t->size)
        mcp_json_put_uint(w, "size", t->size);
    mcp_json_put_uint(w, "limit", t->limit);
    mcp_json_put_string(w, "uriTemplate", parts);
    mcp_json_end(w);
}

int common_reply_too_large(mcp_request *req, const mcp_allocator *alloc, bool as_tool,
                           const common_too_large *t)
{
    char text[400];
    snprintf(text, sizeof(text),
             "%s has %s%llu bytes, more than the limit of %llu for one read. Read it in parts: "
             "append ?offset=0&length=65536 to the URI%s",
             t->what, t->size ? "" : "more than ",
             (unsigned long long)(t->size ? t->size : t->limit), (unsigned long long)t->limit,
             t->where);
    if (as_tool)
        return mcp_reply_tool_error(req, "%s", text);
    mcp_json_writer *w = mcp_json_writer_new(alloc, 0);
    put_data(w, t);
    return fail_with(req, MCP_CODE_INTERNAL, w, text);
}

int common_reply_table(mcp_request *req, const mcp_allocator *alloc, mcp_str json, bool text,
                       bool row)
{
    common_buffer table;
    common_buffer_init(&table, alloc);
    int rc = text ? common_table_text(&table, json, row, alloc) : MCP_EPARSE;
    if (rc == MCP_OK)
        rc = mcp_reply_str(req, (mcp_str){table.ptr, table.len}, COMMON_TABLE_MIME);
    else if (rc == MCP_EPARSE)
        rc = mcp_reply_str(req, json, "application/json");
    common_buffer_free(&table);
    return rc;
}

int common_reply_formats(mcp_request *req, mcp_str value)
{
    static const char *const formats[] = {"json", "text"};
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < 2; i++)
        if (value.len <= strlen(formats[i]) &&
            (!value.len || memcmp(formats[i], value.ptr, value.len) == 0))
            rc = mcp_reply_completion(req, mcp_str_from(formats[i]));
    return rc;
}
