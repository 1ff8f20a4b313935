/* params.c: makes the params of a request for the process: those of the request, and a member of
 * `_meta` that describes the caller (mcp_channel_options.trusted_parent).
 */
#include <inttypes.h>
#include <stdio.h>

#include "provider.h"

/* Writes an object with the member. */
static void put_caller(mcp_json_writer *w, const isolated_call *call, size_t page_size)
{
    char number[24];
    mcp_request *req = call->f.req;
    const mcp_json *info = mcp_request_client_info(req);
    const char *principal = mcp_request_principal(req);
    mcp_json_begin_object(w);
    mcp_json_key(w, MCP_META_CALLER);
    mcp_json_begin_object(w);
    mcp_json_key(w, "revision"), mcp_json_add_string(w, mcp_request_revision(req));
    mcp_json_key(w, "restricted"), mcp_json_add_bool(w, mcp_request_restricted(req));
    if (principal)
        mcp_json_key(w, "principal"), mcp_json_add_string(w, principal);
    if (call->caller) {
        snprintf(number, sizeof(number), "%" PRIu64, call->caller->number);
        mcp_json_key(w, "token"), mcp_json_add_string(w, number);
    }
    if (info)
        mcp_json_key(w, "clientInfo"), mcp_json_add_value(w, info);
    if (page_size)
        mcp_json_key(w, "pageSize"), mcp_json_add_uint(w, page_size);
    mcp_json_end(w);
    mcp_json_end(w);
}

int isolated_params_make(isolated_call *call, mcp_str cursor, size_t page_size)
{
    const mcp_allocator *alloc = &call->owner->alloc;
    mcp_str made;
    mcp_json_writer *w = mcp_json_writer_new(alloc, 0);
    put_caller(w, call, page_size);
    int rc = mcp_json_writer_finish(w, &made);
    if (rc == MCP_OK)
        rc = common_passing_params(
            call->f.req, &(common_passing){.cursor = cursor, .meta = {made.ptr + 1, made.len - 2}},
            alloc, &call->f.params);
    mcp_json_writer_free(w);
    return rc;
}
