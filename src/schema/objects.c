/* objects.c: the keywords of objects.
 *
 * properties, required, patternProperties, additionalProperties and propertyNames are checked in
 * one pass over the members. Names are looked up in a sorted table, which compares the length and 7
 * bytes of a name as one integer, and then the whole name. A sorted table is used instead of a hash
 * table, so that a hostile schema cannot cause collisions.
 */
#include "schema/schema.h"

enum { FEW_NAMES = 8, NAME_BYTES = 7 };

/* The number consists of the length, the first 3 and the last 4 bytes. These distinguish names of
 * the same length better than their first 7 bytes. Any order is sufficient if it is always the
 * same. */
uint64_t mcp__schema_name_order(mcp_str name)
{
    uint64_t order = MCP__MIN(name.len, (size_t)255) << 56;
    uint32_t first = 0, last;
    if (name.len >= sizeof(last)) {
        memcpy(&first, name.ptr, sizeof(first) - 1);
        memcpy(&last, name.ptr + name.len - sizeof(last), sizeof(last));
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        first >>= 8;
#endif
        return order | (uint64_t)first << 32 | last;
    }
    for (size_t i = 0; i < name.len; i++)
        order |= (uint64_t)(unsigned char)name.ptr[i] << 8 * i;
    return order;
}

/* Compares the parts of two names that mcp__schema_name_order() leaves out. */
static int compare_rest(mcp_str a, mcp_str b)
{
    if (a.len != b.len)
        return a.len < b.len ? -1 : 1;
    return a.len <= NAME_BYTES ? 0 : memcmp(a.ptr, b.ptr, a.len);
}

int mcp__schema_member_compare(const member *a, const member *b)
{
    if (a->order != b->order)
        return a->order < b->order ? -1 : 1;
    return compare_rest(a->name, b->name);
}

static const member *find(const members *m, mcp_str name)
{
    member wanted = {.order = mcp__schema_name_order(name), .name = name};
    size_t low = 0, high = m->known_count;
    if (high <= FEW_NAMES) {
        for (size_t i = 0; i < high; i++) {
            if (m->known[i].order == wanted.order && compare_rest(m->known[i].name, name) == 0)
                return &m->known[i];
        }
        return NULL;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = mcp__schema_member_compare(&wanted, &m->known[middle]);
        if (order == 0)
            return &m->known[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* ---- one pass -------------------------------------------------------------------------------- */

static bool unknown_member(validation *st, const node *n, const members *m, mcp_str name)
{
    frame here = {st->at, name, SIZE_MAX};
    st->at = &here;
    mcp__schema_report_unknown(st, n, m, name);
    st->at = here.parent;
    return false;
}

static bool run_patterns(validation *st, const members *m, mcp_str name, const mcp_json *v,
                         bool *matched)
{
    bool ok = true;
    for (size_t i = 0; i < m->pattern_count && !st->fatal; i++) {
        const pattern_member *p = &m->patterns[i];
        int rc =
            mcp__schema_pattern_match(st->schema, p->pattern, name, &st->match_data, &st->steps);
        if (rc == MCP_ELIMIT)
            return mcp__schema_exhausted(st, "calls of the pattern matcher",
                                         st->schema->limits.pattern_limit);
        if (rc < 0)
            st->fatal = rc;
        if (rc <= 0)
            continue;
        *matched = true;
        ok &= mcp__schema_apply_at(st, p->node, v, name, SIZE_MAX, KW_PATTERN_PROPERTIES);
    }
    return ok && !st->fatal;
}

static bool run_name(validation *st, const node *names, mcp_str name, const mcp_json *v)
{
    st->names++;
    bool ok =
        mcp__schema_apply_at(st, names, mcp__json_key_of(v), name, SIZE_MAX, KW_PROPERTY_NAMES);
    st->names--;
    return ok;
}

/* Validates one member. Sets *described to whether a schema for the member was found. */
static bool run_member(validation *st, const node *n, const members *m, const member *known,
                       mcp_str name, const mcp_json *v, bool *described)
{
    bool ok = true;
    *described = known && known->node;
    if (*described)
        ok = mcp__schema_apply_at(st, known->node, v, name, SIZE_MAX, KW_PROPERTIES);
    if (m->pattern_count && (ok || mcp__schema_go_on(st)))
        ok &= run_patterns(st, m, name, v, described);
    if (!*described && m->additional && !st->fatal) {
        *described = true;
        ok &= m->additional->kind == NODE_FALSE
                  ? unknown_member(st, n, m, name)
                  : mcp__schema_apply_at(st, m->additional, v, name, SIZE_MAX,
                                         KW_ADDITIONAL_PROPERTIES);
    }
    if (m->names && (ok || mcp__schema_go_on(st)))
        ok &= run_name(st, m->names, name, v);
    return ok;
}

static bool report_missing(validation *st, const node *n, keyword word, const mcp_json *required,
                           const mcp_json *v, mcp_str because)
{
    mcp_json_iter iter = {0};
    const mcp_json *one;
    excerpt name, other;
    bool ok = true;
    while (!st->fatal && (one = mcp_json_next(required, &iter, NULL))) {
        if (!mcp__schema_step(st, 1 + mcp_json_count(v) / 8))
            return false;
        if (mcp_json_get_str(v, mcp_json_string(one)))
            continue;
        ok = false;
        mcp__schema_show(&name, mcp_json_string(one));
        if (because.ptr)
            mcp__schema_report(st, n, word, "missing property \"%s\", needed beside \"%s\"",
                               name.text, mcp__schema_show(&other, because));
        else
            mcp__schema_report(st, n, word, "missing property \"%s\"", name.text);
        if (!mcp__schema_go_on(st))
            break;
    }
    return ok;
}

bool mcp__schema_run_members(validation *st, const node *n, const members *m, const mcp_json *v,
                             evaluated *seen)
{
    mcp_json_iter iter = {0};
    const mcp_json *value;
    mcp_str name;
    size_t required = 0;
    bool ok = true, found;
    if (!mcp__schema_step(st, mcp_json_count(v)))
        return false;
    while ((value = mcp_json_next(v, &iter, &name))) {
        const member *known = find(m, name);
        required += known && known->required;
        if (!m->visits)
            continue;
        if (!run_member(st, n, m, known, name, value, &found)) {
            ok = false;
            if (!mcp__schema_go_on(st))
                return false;
        }
        if (found && seen)
            mcp__schema_evaluated_set(seen, iter.index - 1);
    }
    if (MCP__UNLIKELY(required < m->required_count))
        ok &= report_missing(st, n, KW_REQUIRED, m->required, v, (mcp_str){NULL, 0});
    return ok;
}

/* ---- dependencies ---------------------------------------------------------------------------- */

bool mcp__schema_run_dependent_required(validation *st, const node *n, const dependencies *d,
                                        const mcp_json *v)
{
    bool ok = true;
    for (size_t i = 0; i < d->count; i++) {
        const dependency *one = &d->items[i];
        if (!mcp__schema_step(st, 1 + mcp_json_count(v) / 8))
            return false;
        if (mcp_json_get_str(v, one->name) &&
            !report_missing(st, n, one->keyword, one->required, v, one->name)) {
            ok = false;
            if (!mcp__schema_go_on(st))
                break;
        }
    }
    return ok;
}

bool mcp__schema_run_dependent_schemas(validation *st, const dependencies *d, const mcp_json *v,
                                       evaluated *seen)
{
    bool ok = true;
    for (size_t i = 0; i < d->count; i++) {
        const dependency *one = &d->items[i];
        if (!mcp__schema_step(st, 1 + mcp_json_count(v) / 8))
            return false;
        if (mcp_json_get_str(v, one->name) &&
            !mcp__schema_apply(st, one->node, v, seen, one->keyword)) {
            ok = false;
            if (!mcp__schema_go_on(st))
                break;
        }
    }
    return ok;
}

/* ---- unevaluatedProperties ------------------------------------------------------------------- */

bool mcp__schema_run_unevaluated_properties(validation *st, const node *n, const node *rest,
                                            const mcp_json *v, evaluated *seen)
{
    mcp_json_iter iter = {0};
    const mcp_json *value;
    mcp_str name;
    bool ok = true;
    if (!mcp__schema_step(st, mcp_json_count(v)))
        return false;
    while (!seen->all && (value = mcp_json_next(v, &iter, &name))) {
        if (mcp__schema_evaluated_has(seen, iter.index - 1))
            continue;
        if (!(rest->kind == NODE_FALSE ? unknown_member(st, n, NULL, name)
                                       : mcp__schema_apply_at(st, rest, value, name, SIZE_MAX,
                                                              KW_UNEVALUATED_PROPERTIES))) {
            ok = false;
            if (!mcp__schema_go_on(st))
                break;
        }
    }
    seen->all = true;
    return ok;
}
