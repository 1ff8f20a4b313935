/* replies.c: see replies.h. */
#include "replies.h"

#include <stdio.h>

/* With what was written as data; frees the writer. */
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
    mcp_json_key(w, "uri"), mcp_json_add_str(w, uri);
    mcp_json_end(w);
    return fail_with(req, code, w, text);
}

static void put_data(mcp_json_writer *w, const common_too_large *t)
{
    char parts[500];
    snprintf(parts, sizeof parts, "%.300s%.150s", t->prefix, t->rest);
    mcp_json_begin_object(w);
    mcp_json_key(w, "uri"), mcp_json_add_str(w, t->uri);
    if (t->size)
        mcp_json_key(w, "size"), mcp_json_add_uint(w, t->size);
    mcp_json_key(w, "limit"), mcp_json_add_uint(w, t->limit);
    mcp_json_key(w, "uriTemplate"), mcp_json_add_string(w, parts);
    mcp_json_end(w);
}

int common_reply_too_large(mcp_request *req, const mcp_allocator *alloc, bool as_tool,
                           const common_too_large *t)
{
    char text[400];
    snprintf(text, sizeof text,
             "%s has %s%llu bytes, more than the limit of %llu for one read. Read it in parts, "
             "with ?offset=0&length=65536 behind the URI%s",
             t->what, t->size ? "" : "more than ",
             (unsigned long long)(t->size ? t->size : t->limit), (unsigned long long)t->limit,
             t->where);
    if (as_tool)
        return mcp_reply_tool_error(req, "%s", text);
    mcp_json_writer *w = mcp_json_writer_new(alloc, 0);
    put_data(w, t);
    return fail_with(req, MCP_CODE_INTERNAL, w, text);
}
