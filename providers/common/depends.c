/* depends.c: see depends.h. */
#include "depends.h"

#include <stdio.h>

void common_depends_begin(common_depends *d, const mcp_request *req, const mcp_allocator *alloc)
{
    const mcp_json *asks = mcp_json_get(mcp_request_meta(req), COMMON_META_FILES);
    common_depends_end(d);
    if (!mcp_json_bool(asks, false) || mcp_request_restricted(req))
        return;
    d->json = mcp_json_writer_new(alloc, 0);
    mcp_json_begin_array(d->json);
}

void common_depends_add(common_depends *d, const char *folder, const char *name, bool exists)
{
    enum { ROOM = 4096 };
    char path[ROOM];
    if (!d || !d->json)
        return;
    int len = snprintf(path, sizeof(path), "%s%s%s", folder ? folder : "", folder ? "/" : "", name);
    if (len < 0 || len >= ROOM) {
        common_depends_end(d);
        return;
    }
    mcp_json_add_string(d->json, path);
    mcp_json_add_bool(d->json, exists);
}

void common_depends_end(common_depends *d)
{
    if (!d)
        return;
    mcp_json_writer_free(d->json);
    d->json = NULL;
}

int common_depends_reply(common_depends *d, mcp_request *req)
{
    mcp_str text;
    int rc = MCP_OK;
    if (!d->json)
        return MCP_OK;
    mcp_json_end(d->json);
    /* A name that is no valid UTF-8 cannot be written; the answer then has no names. */
    if (mcp_json_writer_finish(d->json, &text) == MCP_OK)
        rc = mcp_reply_meta(req, COMMON_META_FILES, text);
    common_depends_end(d);
    return rc;
}
