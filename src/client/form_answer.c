/* form_answer.c: completes the answer to a form of elicitation: adds the schema's defaults for
 * missing fields (2025-11-25 and later, client/elicitation, "Requested Schema") and validates the result.
 *
 * If the schema cannot be compiled, the answer is not validated here. The server validates it in
 * any case.
 */
#include "client/client.h"

#include <mcp/schema.h>

static void put_member(mcp__json_list *object, mcp_str key, const mcp_json *value)
{
    mcp__json_key(object, key);
    mcp__json_put_value(object->buf, value);
}

static void put_filled(mcp__buf *b, const mcp_json *schema, const mcp_json *content)
{
    mcp__json_list filled = mcp__json_begin_object(b);
    mcp_json_iter it = {0}, all = {0};
    mcp_str key;
    for (const mcp_json *v; (v = mcp_json_next(content, &it, &key)) != NULL;)
        put_member(&filled, key, v);
    const mcp_json *properties = mcp_json_get(schema, "properties");
    if (!mcp_json_is(properties, MCP_JSON_OBJECT))
        properties = NULL;
    for (const mcp_json *p; (p = mcp_json_next(properties, &all, &key)) != NULL;) {
        const mcp_json *fallback = mcp_json_get(p, "default");
        /* Some generators write null for "none", but an answer must not contain null (schema,
         * ElicitResult). */
        if (fallback && !mcp_json_is(fallback, MCP_JSON_NULL) && !mcp_json_get_str(content, key))
            put_member(&filled, key, fallback);
    }
    mcp__json_end(&filled);
}

static int check(const mcp_json *schema, mcp_str text, const mcp_allocator *a, mcp_error *error)
{
    mcp_schema *compiled = NULL;
    mcp_json_doc *doc = NULL;
    int rc = mcp_schema_compile(
        NULL, schema, MCP_OPTIONS(mcp_schema_options, .allocator = a, .assert_formats = true),
        &compiled, NULL);
    if (rc == MCP_ENOMEM)
        return mcp__fail(error, rc, 0, "%s", mcp_error_text(rc));
    if (rc != MCP_OK)
        return MCP_OK;
    rc = mcp_json_parse(text, NULL, a, &doc, error);
    if (rc == MCP_OK)
        rc = mcp_schema_validate(compiled, mcp_json_root(doc), error);
    mcp_json_free(doc);
    mcp_schema_free(compiled);
    return rc;
}

int mcp__form_fill(const mcp_json *schema, const mcp_json *content, const mcp_allocator *a,
                   mcp__buf *b, mcp_error *error)
{
    if (!mcp_json_is(content, MCP_JSON_OBJECT))
        return mcp__fail(error, MCP_EINVAL, 0, "the content of a form must be an object, not %s",
                         mcp_json_type_name(mcp_json_typeof(content)));
    size_t start = b->len;
    put_filled(b, schema, content);
    if (b->failed)
        return mcp__fail(error, b->failed, 0, "%s", mcp_error_text(b->failed));
    return check(schema, mcp__str_sub(mcp__buf_view(b), start), a, error);
}
