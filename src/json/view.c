/* view.c: the read-only accessors. An mcp_json is a yyjson_val under another name. */
#include <mcp/yyjson.h>

#include "json/json.h"

static const mcp_json *from_yyjson(const yyjson_val *value)
{
    return (const mcp_json *)value;
}

/* The types of yyjson's types, in their order, with each of the four subtypes. Only the subtypes of
 * numbers matter. */
#define TYPES(number)                                                                      \
    MCP_JSON_NONE, MCP_JSON_BIGINT, MCP_JSON_NULL, MCP_JSON_BOOL, number, MCP_JSON_STRING, \
        MCP_JSON_ARRAY, MCP_JSON_OBJECT
static const unsigned char types[32] = {TYPES(MCP_JSON_INT), TYPES(MCP_JSON_INT),
                                        TYPES(MCP_JSON_REAL), TYPES(MCP_JSON_INT)};
#undef TYPES
_Static_assert(YYJSON_TYPE_RAW == 1 && YYJSON_TYPE_NULL == 2 && YYJSON_TYPE_BOOL == 3 &&
                   YYJSON_TYPE_NUM == 4 && YYJSON_TYPE_STR == 5 && YYJSON_TYPE_ARR == 6 &&
                   YYJSON_TYPE_OBJ == 7 && YYJSON_SUBTYPE_REAL == 2 << YYJSON_TYPE_BIT &&
                   YYJSON_TAG_MASK == 0xff,
               "the order of TYPES");

mcp_json_type mcp_json_typeof(const mcp_json *value)
{
    if (!value)
        return MCP_JSON_NONE;
    return (mcp_json_type)types[unsafe_yyjson_get_tag(mcp_json_yyjson(value)) % sizeof(types)];
}

const char *mcp_json_type_name(mcp_json_type type)
{
    static const char *const names[] = {
        [MCP_JSON_NONE] = "nothing",  [MCP_JSON_NULL] = "null",   [MCP_JSON_BOOL] = "boolean",
        [MCP_JSON_INT] = "integer",   [MCP_JSON_REAL] = "number", [MCP_JSON_BIGINT] = "big number",
        [MCP_JSON_STRING] = "string", [MCP_JSON_ARRAY] = "array", [MCP_JSON_OBJECT] = "object",
    };
    return (size_t)type < MCP__COUNT(names) ? names[type] : "unknown";
}

const mcp_json *mcp_json_get_str(const mcp_json *object, mcp_str key)
{
    if (!key.ptr)
        key.ptr = "";
    return from_yyjson(yyjson_obj_getn(mcp_json_yyjson(object), key.ptr, key.len));
}

const mcp_json *mcp_json_get(const mcp_json *object, const char *key)
{
    return key ? mcp_json_get_str(object, mcp_str_from(key)) : NULL;
}

size_t mcp_json_count(const mcp_json *container)
{
    yyjson_val *v = mcp_json_yyjson(container);
    return yyjson_is_ctn(v) ? unsafe_yyjson_get_len(v) : 0;
}

const mcp_json *mcp_json_at(const mcp_json *array, size_t index)
{
    return from_yyjson(yyjson_arr_get(mcp_json_yyjson(array), index));
}

const mcp_json *mcp_json_next(const mcp_json *container, mcp_json_iter *iter, mcp_str *key)
{
    yyjson_val *v = mcp_json_yyjson(container);
    if (iter->index >= mcp_json_count(container))
        return NULL;
    const yyjson_val *at = iter->index == 0 ? v + 1 : iter->next;
    if (unsafe_yyjson_is_obj(v)) {
        if (key)
            *key = (mcp_str){at->uni.str, unsafe_yyjson_get_len((void *)(uintptr_t)at)};
        at++;
    } else if (key) {
        *key = (mcp_str){NULL, 0};
    }
    iter->index++;
    iter->next = unsafe_yyjson_get_next((yyjson_val *)(uintptr_t)at);
    return from_yyjson(at);
}

mcp_str mcp_json_string(const mcp_json *value)
{
    yyjson_val *v = mcp_json_yyjson(value);
    if (!yyjson_is_str(v))
        return (mcp_str){NULL, 0};
    return (mcp_str){v->uni.str, unsafe_yyjson_get_len(v)};
}

int64_t mcp_json_int(const mcp_json *value, int64_t fallback)
{
    const double exact = 9007199254740992.0; /* 2^53: a larger double may have been rounded */
    yyjson_val *v = mcp_json_yyjson(value);
    if (yyjson_is_uint(v))
        return v->uni.u64 <= INT64_MAX ? (int64_t)v->uni.u64 : fallback;
    if (yyjson_is_sint(v))
        return v->uni.i64;
    if (yyjson_is_real(v) && v->uni.f64 >= -exact && v->uni.f64 <= exact) {
        int64_t whole = (int64_t)v->uni.f64;
        return (double)whole >= v->uni.f64 && (double)whole <= v->uni.f64 ? whole : fallback;
    }
    return fallback;
}

/* Returns the double nearest to a number that is stored as text, or fallback if that is
 * infinite. */
static double big_number(const yyjson_val *raw, double fallback)
{
    yyjson_val number = {0};
    if (!yyjson_read_number(raw->uni.str, &number, YYJSON_READ_NOFLAG, NULL, NULL))
        return fallback;
    return yyjson_get_num(&number);
}

double mcp_json_number(const mcp_json *value, double fallback)
{
    yyjson_val *v = mcp_json_yyjson(value);
    if (yyjson_is_num(v))
        return yyjson_get_num(v);
    return yyjson_is_raw(v) ? big_number(v, fallback) : fallback;
}

bool mcp_json_bool(const mcp_json *value, bool fallback)
{
    yyjson_val *v = mcp_json_yyjson(value);
    return yyjson_is_bool(v) ? unsafe_yyjson_get_bool(v) : fallback;
}

const mcp_json *mcp__json_key_of(const mcp_json *member)
{
    return from_yyjson(mcp_json_yyjson(member) - 1);
}

bool mcp__json_uint(const mcp_json *value, uint64_t *ret)
{
    yyjson_val *v = mcp_json_yyjson(value);
    if (!yyjson_is_int(v) || (yyjson_is_sint(v) && v->uni.i64 < 0))
        return false;
    *ret = v->uni.u64; /* -0 is stored as signed, with the same bits */
    return true;
}

mcp_str mcp__json_bigint_text(const mcp_json *value)
{
    yyjson_val *v = mcp_json_yyjson(value);
    if (!yyjson_is_raw(v))
        return (mcp_str){NULL, 0};
    return (mcp_str){v->uni.str, unsafe_yyjson_get_len(v)};
}
