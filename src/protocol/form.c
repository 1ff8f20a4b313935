/* form.c: the schemas of forms (elicitation): flat objects of simple properties, and the form that
 * they have in revision 2025-06-18.
 */
#include "protocol/form.h"

#include <mcp/sys/json.h>

static bool is_one_of(mcp_str s, const char *const *names)
{
    while (*names && !mcp_str_eq(s, mcp_str_from(*names)))
        names++;
    return *names != NULL;
}

static bool is_simple_property(const mcp_json *property)
{
    static const char *const simple[] = {"string", "number", "integer", "boolean", NULL};
    mcp_str type = mcp_json_string(mcp_json_get(property, "type"));
    const mcp_json *items = mcp_json_get(property, "items");
    if (mcp_str_eq(type, MCP_STR("array")))
        return mcp_json_is(mcp_json_get(items, "enum"), MCP_JSON_ARRAY) ||
               mcp_json_is(mcp_json_get(items, "anyOf"), MCP_JSON_ARRAY);
    return is_one_of(type, simple) && !items && !mcp_json_get(property, "properties");
}

int mcp__form_check(const mcp_json *schema, mcp_error *error)
{
    const mcp_json *properties = mcp_json_get(schema, "properties");
    if (!mcp_str_eq(mcp_json_string(mcp_json_get(schema, "type")), MCP_STR("object")))
        return mcp__fail(error, MCP_EINVAL, 0, "\"type\" must be \"object\"");
    if (!mcp_json_is(properties, MCP_JSON_OBJECT))
        return mcp__fail(error, MCP_EINVAL, 0, "\"properties\" must be an object");
    mcp_json_iter it = {0};
    mcp_str key;
    for (const mcp_json *p; (p = mcp_json_next(properties, &it, &key)) != NULL;)
        if (!is_simple_property(p))
            return mcp__fail(error, MCP_EINVAL, 0,
                             "/properties/%.*s must be a string, number, integer, boolean, or an "
                             "array with a list of choices",
                             (int)mcp__utf8_cut(key.ptr, MCP__MIN(key.len, (size_t)60)), key.ptr);
    return MCP_OK;
}

/* ---- forms for 2025-06-18: no titles in oneOf, defaults for booleans only, no arrays -------- */

static void put_column(mcp__buf *b, const mcp_json *choices, const char *member)
{
    mcp_json_iter it = {0};
    mcp__json_list values = mcp__json_begin_array(b);
    for (const mcp_json *c; (c = mcp_json_next(choices, &it, NULL)) != NULL;) {
        const mcp_json *value = mcp_json_get(c, member);
        mcp__json_next(&values);
        mcp__json_put_value(b, value ? value : mcp_json_get(c, "const"));
    }
    mcp__json_end(&values);
}

static void put_old_member(mcp__json_list *members, mcp_str key, const mcp_json *value,
                           mcp_str text)
{
    if (!mcp_str_eq(key, MCP_STR("oneOf"))) {
        mcp__json_key(members, key);
        mcp__json_put_text(members->buf, text);
        return;
    }
    mcp__json_name(members, "enum");
    put_column(members->buf, value, "const");
    mcp__json_name(members, "enumNames");
    put_column(members->buf, value, "title");
}

static int put_old_property(mcp__buf *b, const mcp_json *property, mcp_str text)
{
    mcp_str type = mcp_json_string(mcp_json_get(property, "type"));
    if (mcp_str_eq(type, MCP_STR("array")))
        return MCP_EUNSUPPORTED;
    bool keeps_default = mcp_str_eq(type, MCP_STR("boolean"));
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    const mcp_json *v;
    mcp_str key, member;
    mcp__json_list members = mcp__json_begin_object(b);
    while ((v = mcp_json_next(property, &it, &key)) != NULL &&
           mcp_json_text_next(text, &texts, NULL, &member)) {
        if (keeps_default || !mcp_str_eq(key, MCP_STR("default")))
            put_old_member(&members, key, v, member);
    }
    mcp__json_end(&members);
    return MCP_OK;
}

static int put_old_properties(mcp__buf *b, const mcp_json *properties, mcp_str text)
{
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    const mcp_json *p;
    mcp_str key, property;
    int rc = MCP_OK;
    mcp__json_list members = mcp__json_begin_object(b);
    while (rc == MCP_OK && (p = mcp_json_next(properties, &it, &key)) != NULL &&
           mcp_json_text_next(text, &texts, NULL, &property)) {
        mcp__json_key(&members, key);
        rc = put_old_property(b, p, property);
    }
    mcp__json_end(&members);
    return rc;
}

int mcp__form_put_old(mcp__buf *b, const mcp_json *schema, mcp_str text)
{
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    const mcp_json *v;
    mcp_str key, member;
    int rc = MCP_OK;
    mcp__json_list form = mcp__json_begin_object(b);
    while (rc == MCP_OK && (v = mcp_json_next(schema, &it, &key)) != NULL &&
           mcp_json_text_next(text, &texts, NULL, &member)) {
        bool properties = mcp_str_eq(key, MCP_STR("properties"));
        if (!properties && !mcp_str_eq(key, MCP_STR("type")) &&
            !mcp_str_eq(key, MCP_STR("required")))
            continue;
        mcp__json_key(&form, key);
        if (properties)
            rc = put_old_properties(b, v, member);
        else
            mcp__json_put_text(b, member);
    }
    mcp__json_end(&form);
    return rc;
}
