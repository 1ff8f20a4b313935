/* equal.c: equality of JSON values. Numbers are compared by value. The order of the members of an
 * object does not matter.
 *
 * A document is never deeper than MCP__JSON_DEEPEST, so recursion is safe. Two objects are compared
 * member by member as long as their keys have the same order. After that, members are looked up by
 * key, and each lookup counts as steps.
 */
#include "schema/schema.h"

static bool charge(size_t *steps, size_t n)
{
    *steps = *steps > n ? *steps - n : 0;
    return *steps > 0;
}

static bool is_number(mcp_json_type type)
{
    return (1u << type) & IS_NUMBER;
}

/* Long strings and numbers count as more than one step. */
enum { BYTES_PER_STEP = 64 };

static size_t big_length(const mcp_json *number)
{
    return mcp__json_bigint_text(number).len;
}

static bool equal_strings(mcp_str a, mcp_str b, size_t *steps)
{
    return a.len == b.len && charge(steps, a.len / BYTES_PER_STEP) && mcp_str_eq(a, b);
}

static bool equal_arrays(const mcp_json *a, const mcp_json *b, size_t *steps)
{
    mcp_json_iter i = {0}, k = {0};
    const mcp_json *x;
    bool same = true;
    while (same && (x = mcp_json_next(a, &i, NULL)))
        same = mcp__schema_equal(x, mcp_json_next(b, &k, NULL), steps);
    return same;
}

static bool equal_objects(const mcp_json *a, const mcp_json *b, size_t *steps)
{
    mcp_json_iter i = {0}, k = {0};
    mcp_str name, other = {"", 0};
    const mcp_json *x, *y;
    bool same = true, ordered = true;
    while (same && (x = mcp_json_next(a, &i, &name))) {
        if (ordered) {
            y = mcp_json_next(b, &k, &other);
            ordered = mcp_str_eq(name, other);
        }
        if (!ordered) {
            same = charge(steps, mcp_json_count(b) / 8);
            y = same ? mcp_json_get_str(b, name) : NULL;
        }
        same = same && mcp__schema_equal(x, y, steps);
    }
    return same;
}

bool mcp__schema_equal(const mcp_json *a, const mcp_json *b, size_t *steps)
{
    mcp_json_type x = mcp_json_typeof(a), y = mcp_json_typeof(b);
    if (!charge(steps, 1) || (x != y && !(is_number(x) && is_number(y))))
        return false;
    switch (x) {
    case MCP_JSON_NULL: return true;
    case MCP_JSON_BOOL: return mcp_json_bool(a, false) == mcp_json_bool(b, false);
    case MCP_JSON_STRING: return equal_strings(mcp_json_string(a), mcp_json_string(b), steps);
    case MCP_JSON_ARRAY: return mcp_json_count(a) == mcp_json_count(b) && equal_arrays(a, b, steps);
    case MCP_JSON_OBJECT:
        return mcp_json_count(a) == mcp_json_count(b) && equal_objects(a, b, steps);
    case MCP_JSON_NONE: return false;
    default:
        return charge(steps, big_length(a) / BYTES_PER_STEP + big_length(b) / BYTES_PER_STEP) &&
               mcp__schema_compare(a, b) == 0;
    }
}

/* ---- hashing --------------------------------------------------------------------------------- */

static const uint64_t SEED[2] = {0x6a736f6e, 0x68617368};

static uint64_t mix(uint64_t h, uint64_t more)
{
    h = (h ^ more) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

/* Equal numbers have the same nearest double, however they are written; -0.0 hashes as 0. */
static uint64_t hash_number(const mcp_json *value)
{
    double v = mcp_json_number(value, 0) + 0.0;
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    return mix(MCP_JSON_INT, bits);
}

/* The hashes of the members of an object are added, because their order does not matter. */
static uint64_t hash_container(const mcp_json *value, mcp_json_type type, size_t *steps)
{
    mcp_json_iter iter = {0};
    mcp_str name = {"", 0};
    const mcp_json *one;
    uint64_t h = mix(type, mcp_json_count(value));
    while ((one = mcp_json_next(value, &iter, &name))) {
        uint64_t inner = mcp__schema_hash(one, steps);
        if (type == MCP_JSON_OBJECT)
            h += mix(mcp__siphash(name.ptr, name.len, SEED), inner);
        else
            h = mix(h, inner);
    }
    return h;
}

uint64_t mcp__schema_hash(const mcp_json *value, size_t *steps)
{
    mcp_json_type type = mcp_json_typeof(value);
    mcp_str s;
    charge(steps, 1);
    switch (type) {
    case MCP_JSON_STRING:
        s = mcp_json_string(value);
        charge(steps, s.len / BYTES_PER_STEP);
        return mix(type, mcp__siphash(s.ptr, s.len, SEED));
    case MCP_JSON_ARRAY:
    case MCP_JSON_OBJECT: return hash_container(value, type, steps);
    case MCP_JSON_NULL:
    case MCP_JSON_NONE: return mix(type, 0);
    case MCP_JSON_BOOL: return mix(type, mcp_json_bool(value, false));
    default: charge(steps, big_length(value) / BYTES_PER_STEP); return hash_number(value);
    }
}
