/* emit_container.c: the instructions for keywords of arrays and objects. */
#include <stdlib.h>

#include "schema/emit.h"

/* ---- arrays ---------------------------------------------------------------------------------- */

int mcp__emit_unique(compiler *c, keyword word)
{
    if (!mcp_json_is(c->values[word], MCP_JSON_BOOL))
        return mcp__emit_refuse(c, word, "true or false is needed");
    if (mcp_json_bool(c->values[word], false))
        mcp__emit(c, OP_UNIQUE, word, IS_ARRAY);
    return MCP_OK;
}

int mcp__emit_items(compiler *c, keyword word)
{
    bool tuple = mcp_json_is(c->values[KW_ITEMS], MCP_JSON_ARRAY); /* draft-07 */
    keyword prefix = tuple ? KW_ITEMS : KW_PREFIX_ITEMS;
    keyword rest = tuple ? KW_ADDITIONAL_ITEMS : KW_ITEMS;
    node_list list = {0};
    (void)word;
    if (!c->values[prefix] && !c->values[rest])
        return MCP_OK;
    item_plan *i = mcp__emit_alloc(c, 1, sizeof(*i));
    if (!i || mcp__emit_list(c, c->values[prefix], &list))
        return mcp__schema_no_memory(c);
    *i = (item_plan){list.nodes, list.count, mcp__emit_subschema(c, c->values[rest]), prefix, rest};
    mcp__emit(c, OP_ITEMS, rest, IS_ARRAY)->u.items = i;
    return MCP_OK;
}

int mcp__emit_contains(compiler *c, keyword word)
{
    contains *k = mcp__emit_alloc(c, 1, sizeof(*k));
    if (!k)
        return mcp__schema_no_memory(c);
    *k = (contains){mcp__emit_subschema(c, c->values[word]), 1, SIZE_MAX,
                    !(c->node->resource->dialect & VOCAB_DRAFT_07)};
    if (c->values[KW_MIN_CONTAINS] && !mcp__schema_as_size(c->values[KW_MIN_CONTAINS], &k->min))
        return mcp__emit_refuse(c, KW_MIN_CONTAINS, "a non-negative integer is needed");
    if (c->values[KW_MAX_CONTAINS] && !mcp__schema_as_size(c->values[KW_MAX_CONTAINS], &k->max))
        return mcp__emit_refuse(c, KW_MAX_CONTAINS, "a non-negative integer is needed");
    mcp__emit(c, OP_CONTAINS, word, IS_ARRAY)->u.contains = k;
    return MCP_OK;
}

int mcp__emit_unevaluated(compiler *c, keyword word)
{
    bool object = word == KW_UNEVALUATED_PROPERTIES;
    instruction *in = mcp__emit(c, object ? OP_UNEVALUATED_PROPERTIES : OP_UNEVALUATED_ITEMS, word,
                                object ? IS_OBJECT : IS_ARRAY);
    in->u.node = mcp__emit_subschema(c, c->values[word]);
    return MCP_OK;
}

/* ---- objects --------------------------------------------------------------------------------- */

static bool is_names(const mcp_json *list)
{
    mcp_json_iter iter = {0};
    const mcp_json *value;
    bool good = mcp_json_is(list, MCP_JSON_ARRAY);
    while (good && (value = mcp_json_next(list, &iter, NULL)))
        good = mcp_json_is(value, MCP_JSON_STRING);
    return good;
}

static int by_name(const void *a, const void *b)
{
    return mcp__schema_member_compare(a, b);
}

static void add_known(members *m, mcp_str name, const node *n, bool required)
{
    m->known[m->known_count++] = (member){mcp__schema_name_order(name), name, n, required};
}

/* Sorts the names and merges equal ones, of which at most one is from properties and the others are
 * from required. */
static void merge_known(members *m)
{
    size_t to = 0;
    if (m->known_count == 0)
        return;
    qsort(m->known, m->known_count, sizeof(m->known[0]), by_name);
    for (size_t i = 1; i < m->known_count; i++) {
        member *last = &m->known[to], *one = &m->known[i];
        if (mcp__schema_member_compare(last, one) != 0) {
            m->known[++to] = *one;
            continue;
        }
        last->node = last->node ? last->node : one->node;
        last->required |= one->required;
    }
    m->known_count = to + 1;
    for (size_t i = 0; i < m->known_count; i++)
        m->required_count += m->known[i].required;
}

static int make_known(compiler *c, members *m)
{
    const mcp_json *properties = c->values[KW_PROPERTIES], *value;
    mcp_json_iter iter = {0};
    mcp_str name;
    m->required = c->values[KW_REQUIRED];
    if (m->required && !is_names(m->required))
        return mcp__emit_refuse(c, KW_REQUIRED, "an array of strings is needed");
    m->known = mcp__emit_alloc(c, mcp_json_count(properties) + mcp_json_count(m->required),
                               sizeof(m->known[0]));
    if (!m->known)
        return mcp__schema_no_memory(c);
    while ((value = mcp_json_next(properties, &iter, &name)))
        add_known(m, name, mcp__emit_subschema(c, value), false);
    iter = (mcp_json_iter){0};
    while ((value = mcp_json_next(m->required, &iter, NULL)))
        add_known(m, mcp_json_string(value), NULL, true);
    merge_known(m);
    return MCP_OK;
}

static int make_patterns(compiler *c, members *m)
{
    const mcp_json *patterns = c->values[KW_PATTERN_PROPERTIES], *value;
    mcp_json_iter iter = {0};
    mcp_str source;
    m->patterns = mcp__emit_alloc(c, mcp_json_count(patterns), sizeof(m->patterns[0]));
    if (!m->patterns)
        return mcp__schema_no_memory(c);
    while ((value = mcp_json_next(patterns, &iter, &source))) {
        pattern_member *p = &m->patterns[m->pattern_count++];
        int rc = mcp__emit_new_pattern(c, KW_PATTERN_PROPERTIES, source, &p->pattern);
        if (rc)
            return rc;
        p->node = mcp__emit_subschema(c, value);
    }
    return MCP_OK;
}

int mcp__emit_members(compiler *c, keyword word)
{
    (void)word;
    if (!c->values[KW_PROPERTIES] && !c->values[KW_REQUIRED] && !c->values[KW_PATTERN_PROPERTIES] &&
        !c->values[KW_ADDITIONAL_PROPERTIES] && !c->values[KW_PROPERTY_NAMES])
        return MCP_OK;
    members *m = mcp__emit_alloc(c, 1, sizeof(*m));
    if (!m)
        return mcp__schema_no_memory(c);
    int rc = make_known(c, m);
    if (!rc)
        rc = make_patterns(c, m);
    if (rc)
        return rc;
    m->additional = mcp__emit_subschema(c, c->values[KW_ADDITIONAL_PROPERTIES]);
    m->names = mcp__emit_subschema(c, c->values[KW_PROPERTY_NAMES]);
    m->visits = c->values[KW_PROPERTIES] || m->pattern_count || m->additional || m->names;
    mcp__emit(c, OP_MEMBERS, KW_PROPERTIES, IS_OBJECT)->u.members = m;
    return MCP_OK;
}

/* Compiles dependentRequired, dependentSchemas, or dependencies, which combines the two. */
static int make_dependencies(compiler *c, keyword word, dependencies *names, dependencies *schemas)
{
    const mcp_json *value;
    mcp_json_iter iter = {0};
    mcp_str name;
    if (c->values[word] && !mcp_json_is(c->values[word], MCP_JSON_OBJECT))
        return mcp__emit_refuse(c, word, "an object is needed");
    while ((value = mcp_json_next(c->values[word], &iter, &name))) {
        const node *n = word == KW_DEPENDENT_REQUIRED ? NULL : mcp__emit_subschema(c, value);
        if (!n && !is_names(value))
            return mcp__emit_refuse(c, word, "each member is an array of strings");
        dependencies *to = n ? schemas : names;
        to->items[to->count++] = (dependency){name, n ? NULL : value, n, word};
    }
    return MCP_OK;
}

int mcp__emit_dependencies(compiler *c, keyword ignored)
{
    static const keyword words[] = {KW_DEPENDENT_REQUIRED, KW_DEPENDENT_SCHEMAS, KW_DEPENDENCIES};
    size_t count = 0;
    int rc = MCP_OK;
    (void)ignored;
    for (size_t i = 0; i < MCP__COUNT(words); i++)
        count += c->values[words[i]] ? mcp_json_count(c->values[words[i]]) + 1 : 0;
    if (count == 0)
        return MCP_OK;
    dependencies *both = mcp__emit_alloc(c, 2, sizeof(*both));
    dependency *items = mcp__emit_alloc(c, 2 * count, sizeof(*items));
    if (!both || !items)
        return mcp__schema_no_memory(c);
    both[0].items = items;
    both[1].items = items + count;
    for (size_t i = 0; !rc && i < MCP__COUNT(words); i++)
        rc = make_dependencies(c, words[i], &both[0], &both[1]);
    if (!rc && both[0].count)
        mcp__emit(c, OP_DEPENDENT_REQUIRED, KW_DEPENDENT_REQUIRED, IS_OBJECT)->u.dependencies =
            &both[0];
    if (!rc && both[1].count)
        mcp__emit(c, OP_DEPENDENT_SCHEMAS, KW_DEPENDENT_SCHEMAS, IS_OBJECT)->u.dependencies =
            &both[1];
    return rc;
}
