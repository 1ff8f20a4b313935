/* shapes.c: checks what the server answered against the shape of its revision, before anybody sees
 * it. A malformed result is an error. A malformed entry of a list is left out of the list, because
 * the other entries can be used.
 */
#include "client/client.h"

#include "protocol/shape.h"

static int malformed(mcp_error *error, mcp_str method, const mcp_error *why)
{
    return mcp__fail(error, MCP_EPROTOCOL, 0, "the answer to %.*s is malformed: %s",
                     (int)method.len, method.ptr, why->text);
}

int mcp__answer_check(const mcp__revision *r, mcp_str shape, mcp_str method, const mcp_json *result,
                      mcp_error *error)
{
    mcp_error why = {0};
    int rc = mcp__shape_result(r, shape, result, &why);
    return rc == MCP_OK ? rc : malformed(error, method, &why);
}

int mcp__page_without(const mcp_client *client, const mcp_json *page, mcp_str array,
                      const bool *left_out, mcp_json_doc **ret)
{
    mcp_json_iter it = {0}, each = {0};
    mcp_str key;
    mcp__buf b;
    size_t i = 0;
    mcp__buf_init(&b, client->allocator, 0);
    mcp__json_list members = mcp__json_begin_object(&b);
    for (const mcp_json *v; (v = mcp_json_next(page, &it, &key)) != NULL;) {
        mcp__json_key(&members, key);
        if (!mcp_str_eq(key, array)) {
            mcp__json_put_value(&b, v);
            continue;
        }
        mcp__json_list entries = mcp__json_begin_array(&b);
        for (const mcp_json *e; (e = mcp_json_next(v, &each, NULL)) != NULL;) {
            if (left_out[i++])
                continue;
            mcp__json_next(&entries);
            mcp__json_put_value(&b, e);
        }
        mcp__json_end(&entries);
    }
    mcp__json_end(&members);
    mcp_json_limits limits = {
        .size = sizeof(limits), .max_bytes = b.len, .max_depth = MCP__JSON_DEEPEST};
    int rc = b.failed;
    if (rc == MCP_OK)
        rc = mcp_json_parse(mcp__buf_view(&b), &limits, client->allocator, ret, NULL);
    mcp__buf_free(&b);
    return rc;
}

/* Leaves the malformed entries out of a page. */
static int leave_out(const mcp__call *call, mcp_str array, const mcp_json *page,
                     mcp_json_doc **rest, mcp_error *error)
{
    mcp_client *client = call->client;
    mcp_error why = {0}, what = {0};
    size_t total = mcp_json_count(mcp_json_get_str(page, array));
    bool *bad = mcp__zalloc(client->allocator, total + 1);
    if (!bad)
        return mcp__fail(error, MCP_ENOMEM, 0, "%s", mcp_error_text(MCP_ENOMEM));
    size_t n = mcp__shape_entries(client->revision, call->method, array, page, bad, &why);
    int rc = mcp__page_without(client, page, array, bad, rest);
    mcp__release(client->allocator, bad);
    if (rc != MCP_OK)
        return mcp__fail(error, rc, 0, "%s", mcp_error_text(rc));
    mcp__fail(&what, MCP_EPROTOCOL, 0, "%zu of %zu entries of %s are malformed and left out: %s", n,
              total, call->method.ptr, why.text);
    if (client->options.misbehaved)
        client->options.misbehaved(client, what.text, client->options.user);
    return MCP_OK;
}

int mcp__call_check(const mcp__call *call, bool asks, const mcp_json *result, mcp_json_doc **rest,
                    mcp_error *error)
{
    const mcp__revision *r = call->client->revision;
    mcp_str array = asks ? (mcp_str){0} : mcp__array_of(call->method);
    mcp_error why = {0};
    int rc = mcp__shape_result(r, asks ? MCP__SHAPE_ASKS : call->method, result, &why);
    if (rc == MCP_OK)
        return rc;
    if (array.len)
        rc = mcp__shape_page(r, call->method, array, result, &why);
    return rc == MCP_OK ? leave_out(call, array, result, rest, error)
                        : malformed(error, call->method, &why);
}
