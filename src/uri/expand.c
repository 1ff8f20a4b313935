/* expand.c: expands templates (RFC 6570 section 3). A lookup function provides the values, so that
 * the same code works with arrays of values and with JSON. */
#include "uri/uri.h"

typedef struct expansion {
    mcp__buf out;
    mcp__arena arena;
    mcp__uri_lookup *lookup;
    const void *values;
    size_t count;
    mcp_error *error;
} expansion;

/* ---- text ------------------------------------------------------------------------------------ */

/* Appends s, percent-encoding all characters that are not in the classes `keep`. If keep_triplets
 * is set, "%XX" is not encoded again. */
static void put_encoded(mcp__buf *out, mcp_str s, int keep, bool keep_triplets)
{
    for (size_t at = 0; at < s.len;) {
        size_t from = at;
        while (at < s.len && mcp__uri_is(s.ptr[at], keep))
            at++;
        if (keep_triplets && at < s.len && mcp__uri_triplet(s, at) >= 0)
            at += 3;
        mcp__buf_add(out, s.ptr + from, at - from);
        if (at > from || at == s.len)
            continue;
        char escaped[3];
        mcp__uri_escape(escaped, (unsigned char)s.ptr[at++]);
        mcp__buf_add(out, escaped, 3);
    }
}

static void put_literal(mcp__buf *out, mcp_str s)
{
    put_encoded(out, s, MCP__URI_UNRESERVED | MCP__URI_RESERVED, true);
}

static void put_value(mcp__buf *out, const mcp__uri_operator *op, mcp_str s)
{
    int keep = op->allow_reserved ? MCP__URI_UNRESERVED | MCP__URI_RESERVED : MCP__URI_UNRESERVED;
    put_encoded(out, s, keep, op->allow_reserved);
}

/* Returns the first `limit` characters. If `triplets` is set, "%XX" counts as one character. */
static mcp_str first_characters(mcp_str s, uint32_t limit, bool triplets)
{
    size_t at = 0;
    for (uint32_t n = 0; n < limit && at < s.len; n++) {
        if (triplets && mcp__uri_triplet(s, at) >= 0) {
            at += 3;
            continue;
        }
        do
            at++;
        while (at < s.len && ((unsigned char)s.ptr[at] & 0xC0) == 0x80);
    }
    return (mcp_str){s.ptr, at};
}

/* ---- one variable ---------------------------------------------------------------------------- */

static void put_name(mcp__buf *out, const mcp__uri_operator *op, mcp_str name, bool empty)
{
    put_literal(out, name);
    if (!empty || !op->bare_empty)
        mcp__buf_char(out, '=');
}

static void put_string(mcp__buf *out, const mcp__uri_operator *op, const mcp__uri_spec *spec,
                       mcp_str s)
{
    if (spec->prefix)
        s = first_characters(s, spec->prefix, op->allow_reserved);
    if (op->named)
        put_name(out, op, spec->variable->name, s.len == 0);
    put_value(out, op, s);
}

/* Writes all elements joined by commas, such as "red,green" or "semi,%3B,dot,.". */
static void put_joined(mcp__buf *out, const mcp__uri_operator *op, const mcp__uri_spec *spec,
                       const mcp_uri_value *value)
{
    if (op->named)
        put_name(out, op, spec->variable->name, false);
    for (size_t i = 0; i < value->count && !out->failed; i++) {
        if (i > 0)
            mcp__buf_char(out, ',');
        if (value->type == MCP_URI_MAP) {
            put_value(out, op, value->items[i].name);
            mcp__buf_char(out, ',');
        }
        put_value(out, op, value->items[i].value);
    }
}

/* Writes each element separately, joined by the operator's separator. */
static void put_exploded(mcp__buf *out, const mcp__uri_operator *op, const mcp__uri_spec *spec,
                         const mcp_uri_value *value)
{
    for (size_t i = 0; i < value->count && !out->failed; i++) {
        const mcp_uri_pair *item = &value->items[i];
        if (i > 0)
            mcp__buf_char(out, op->sep);
        if (value->type == MCP_URI_MAP) {
            put_value(out, op, item->name);
            if (!op->named || item->value.len || !op->bare_empty)
                mcp__buf_char(out, '=');
        } else if (op->named) {
            put_name(out, op, spec->variable->name, item->value.len == 0);
        }
        put_value(out, op, item->value);
    }
}

static bool is_defined(const mcp_uri_value *value)
{
    return value->type == MCP_URI_STRING ||
           ((value->type == MCP_URI_LIST || value->type == MCP_URI_MAP) && value->count > 0);
}

/* Expands one variable. *any says whether the expression has written anything yet. */
static int put_spec(expansion *x, const mcp__uri_operator *op, const mcp__uri_spec *spec, bool *any)
{
    assert(op);
    mcp_uri_value value = {0};
    mcp_str name = spec->variable->name;
    mcp__arena_reset(&x->arena);
    int rc = x->lookup(x->values, x->count, name, &x->arena, &value, x->error);
    if (rc == MCP_ENOTFOUND || (rc == MCP_OK && !is_defined(&value)))
        return MCP_OK;
    if (rc != MCP_OK)
        return rc;
    char lead = *any ? op->sep : op->first;
    if (lead)
        mcp__buf_char(&x->out, lead);
    *any = true;
    if (value.type == MCP_URI_STRING)
        put_string(&x->out, op, spec, value.string);
    else if (spec->prefix)
        return mcp__fail(x->error, MCP_EINVAL, 0, "\"%.*s\" is a list or map and has no prefix",
                         (int)MCP__MIN(name.len, 100), name.ptr);
    else if (spec->explode)
        put_exploded(&x->out, op, spec, &value);
    else
        put_joined(&x->out, op, spec, &value);
    return MCP_OK;
}

/* ---- the template ---------------------------------------------------------------------------- */

static int put_part(expansion *x, const mcp__uri_part *part)
{
    bool any = false;
    if (!part->op)
        put_literal(&x->out, part->text);
    for (size_t i = 0; i < part->spec_count && !x->out.failed; i++) {
        int rc = put_spec(x, part->op, &part->specs[i], &any);
        if (rc != MCP_OK)
            return rc;
    }
    return MCP_OK;
}

static int put_all(expansion *x, const mcp_uri_template *t)
{
    for (size_t i = 0; i < t->part_count && !x->out.failed; i++) {
        int rc = put_part(x, &t->parts[i]);
        if (rc != MCP_OK)
            return rc;
    }
    mcp__buf_char(&x->out, '\0');
    if (x->out.failed)
        return mcp__fail(x->error, x->out.failed, 0, "%s",
                         x->out.failed == MCP_ELIMIT ? "the expansion is longer than 1 MiB"
                                                     : "out of memory");
    return MCP_OK;
}

int mcp__uri_expand(const mcp_uri_template *t, mcp__uri_lookup *lookup, const void *values,
                    size_t count, const mcp_allocator *allocator, char **ret, mcp_error *error)
{
    allocator = mcp__allocator(allocator);
    expansion x = {.lookup = lookup, .values = values, .count = count, .error = error};
    mcp__buf_init(&x.out, allocator, MCP_URI_MAX_EXPANSION + 1);
    mcp__arena_init(&x.arena, allocator, NULL, 0);
    int rc = put_all(&x, t);
    mcp__arena_free(&x.arena);
    if (rc == MCP_OK)
        *ret = x.out.ptr;
    else
        mcp__buf_free(&x.out);
    return rc;
}

/* ---- values in arrays ------------------------------------------------------------------------ */

static int lookup_value(const void *values, size_t count, mcp_str name, mcp__arena *arena,
                        mcp_uri_value *ret, mcp_error *error)
{
    (void)arena, (void)error;
    const mcp_uri_value *all = values;
    for (size_t i = 0; i < count; i++) {
        if (mcp_str_eq(all[i].name, name)) {
            *ret = all[i];
            return MCP_OK;
        }
    }
    return MCP_ENOTFOUND;
}

static int lookup_string(const void *values, size_t count, mcp_str name, mcp__arena *arena,
                         mcp_uri_value *ret, mcp_error *error)
{
    (void)arena, (void)error;
    const mcp_uri_pair *all = values;
    for (size_t i = 0; i < count; i++) {
        if (mcp_str_eq(all[i].name, name)) {
            ret->string = all[i].value;
            return MCP_OK;
        }
    }
    return MCP_ENOTFOUND;
}

int mcp_uri_template_expand(const mcp_uri_template *t, const mcp_uri_value *values, size_t count,
                            const mcp_allocator *allocator, char **ret, mcp_error *error)
{
    mcp__no_error(error);
    return mcp__uri_expand(t, lookup_value, values, count, allocator, ret, error);
}

int mcp_uri_template_expand_strings(const mcp_uri_template *t, const mcp_uri_pair *values,
                                    size_t count, const mcp_allocator *allocator, char **ret,
                                    mcp_error *error)
{
    mcp__no_error(error);
    return mcp__uri_expand(t, lookup_string, values, count, allocator, ret, error);
}
