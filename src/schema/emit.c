/* emit.c: one function per keyword, or per group of keywords that run together. Each checks the
 * value and emits the instruction.
 *
 * The table at the end gives their order, which is the order in which a validation runs them: cheap
 * and decisive ones first, unevaluated* last.
 */
#include <stdlib.h>

#include "schema/schema.h"

static void *make(compiler *c, size_t count, size_t size)
{
    void *p = size && count > SIZE_MAX / size
                  ? NULL
                  : mcp__arena_alloc(&c->schema->arena, count * size + 1);
    if (p)
        memset(p, 0, count * size);
    return p;
}

static instruction *emit(compiler *c, op code, keyword word, unsigned applies)
{
    assert(c->count < MAX_INSTRUCTIONS);
    instruction *in = &c->code[c->count++];
    *in = (instruction){(uint8_t)code, (uint8_t)word, (uint16_t)applies, {0}};
    return in;
}

static int refuse(compiler *c, keyword word, const char *what)
{
    return mcp__schema_refuse(c, MCP_EINVAL, c->node, word, "%s", what);
}

/* Returns the node of a subschema, which the scan has made, and queues it. */
static const node *subschema(compiler *c, const mcp_json *value)
{
    node *n = value ? mcp__schema_node_of(c, value) : NULL;
    if (n)
        mcp__schema_queue(c, n);
    return n;
}

static bool is_names(const mcp_json *list)
{
    mcp_json_iter iter = {0};
    const mcp_json *value;
    bool good = mcp_json_is(list, MCP_JSON_ARRAY);
    while (good && (value = mcp_json_next(list, &iter, NULL)))
        good = mcp_json_is(value, MCP_JSON_STRING);
    return good;
}

/* ---- any instance ----------------------------------------------------------------------------- */

static unsigned type_bits(mcp_str name)
{
    static const struct {
        const char *name;
        unsigned bits;
    } types[] = {
        {"string", IS_STRING},
        {"object", IS_OBJECT},
        {"number", IS_NUMBER | IS_INTEGRAL},
        {"integer", 1 << MCP_JSON_INT | IS_INTEGRAL},
        {"boolean", 1 << MCP_JSON_BOOL},
        {"array", IS_ARRAY},
        {"null", 1 << MCP_JSON_NULL},
    };
    for (size_t i = 0; i < MCP__COUNT(types); i++) {
        if (mcp_str_eq(name, mcp_str_from(types[i].name)))
            return types[i].bits;
    }
    return 0;
}

static int emit_type(compiler *c, keyword word)
{
    const mcp_json *value = c->values[word], *one = value;
    mcp_json_iter iter = {0};
    unsigned types = 0;
    bool list = mcp_json_is(value, MCP_JSON_ARRAY);
    if (list)
        one = mcp_json_next(value, &iter, NULL);
    while (one) {
        unsigned bits = type_bits(mcp_json_string(one));
        if (!bits)
            return refuse(c, word,
                          "a type is one of \"null\", \"boolean\", \"object\", \"array\", "
                          "\"number\", \"integer\", \"string\", or a list of them");
        types |= bits;
        one = list ? mcp_json_next(value, &iter, NULL) : NULL;
    }
    if (!types)
        return refuse(c, word, "the list of types is empty");
    emit(c, OP_TYPE, word, IS_ANY)->u.types = types;
    return MCP_OK;
}

static int emit_const(compiler *c, keyword word)
{
    emit(c, OP_CONST, word, IS_ANY)->u.value = c->values[word];
    return MCP_OK;
}

static int emit_enum(compiler *c, keyword word)
{
    if (!mcp_json_is(c->values[word], MCP_JSON_ARRAY))
        return refuse(c, word, "an array is needed");
    emit(c, OP_ENUM, word, IS_ANY)->u.value = c->values[word];
    return MCP_OK;
}

static int emit_ref(compiler *c, keyword word)
{
    mcp_str text = mcp_json_string(c->values[word]), anchor;
    node *target;
    if (!text.ptr)
        return refuse(c, word, "a string is needed");
    int rc = mcp__schema_find(c, c->node, word, text, &target, &anchor);
    if (rc)
        return rc;
    mcp__schema_queue(c, target);
    emit(c, OP_REF, word, IS_ANY)->u.node = target;
    return MCP_OK;
}

/* The reference is dynamic only if its target has a $dynamicAnchor of the same name. */
static int emit_dynamic_ref(compiler *c, keyword word)
{
    mcp_str text = mcp_json_string(c->values[word]), anchor;
    dynamic_ref *d = make(c, 1, sizeof(*d));
    node *target;
    if (!text.ptr)
        return refuse(c, word, "a string is needed");
    if (!d)
        return mcp__schema_no_memory(c);
    int rc = mcp__schema_find(c, c->node, word, text, &target, &anchor);
    if (rc)
        return rc;
    mcp__schema_queue(c, target);
    mcp_str own = mcp_json_string(mcp_json_get(target->value, "$dynamicAnchor"));
    *d = (dynamic_ref){target, anchor.len && mcp_str_eq(own, anchor) ? anchor : (mcp_str){"", 0}};
    emit(c, OP_DYNAMIC_REF, word, IS_ANY)->u.dynamic = d;
    return MCP_OK;
}

static int make_list(compiler *c, const mcp_json *value, node_list *list)
{
    mcp_json_iter iter = {0};
    const mcp_json *one;
    list->nodes = make(c, mcp_json_count(value), sizeof(list->nodes[0]));
    if (!list->nodes)
        return mcp__schema_no_memory(c);
    while ((one = mcp_json_next(value, &iter, NULL)))
        list->nodes[list->count++] = subschema(c, one);
    return MCP_OK;
}

static int emit_combined(compiler *c, keyword word)
{
    op code = word == KW_ALL_OF ? OP_ALL_OF : word == KW_ANY_OF ? OP_ANY_OF : OP_ONE_OF;
    node_list *list = make(c, 1, sizeof(*list));
    if (!list || make_list(c, c->values[word], list))
        return mcp__schema_no_memory(c);
    if (list->count == 0)
        return refuse(c, word, "at least one schema is needed");
    emit(c, code, word, IS_ANY)->u.list = list;
    return MCP_OK;
}

static int emit_not(compiler *c, keyword word)
{
    emit(c, OP_NOT, word, IS_ANY)->u.node = subschema(c, c->values[word]);
    return MCP_OK;
}

static int emit_if(compiler *c, keyword word)
{
    condition *cond = make(c, 1, sizeof(*cond));
    if (!cond)
        return mcp__schema_no_memory(c);
    cond->when = subschema(c, c->values[word]);
    cond->then = subschema(c, c->values[KW_THEN]);
    cond->otherwise = subschema(c, c->values[KW_ELSE]);
    emit(c, OP_IF, word, IS_ANY)->u.condition = cond;
    return MCP_OK;
}

/* ---- numbers and strings ---------------------------------------------------------------------- */

static bool is_number(const mcp_json *value)
{
    return (1u << mcp_json_typeof(value)) & IS_NUMBER;
}

static int emit_bound(compiler *c, keyword word)
{
    if (!is_number(c->values[word]))
        return refuse(c, word, "a number is needed");
    emit(c, OP_BOUND, word, IS_NUMBER)->u.value = c->values[word];
    return MCP_OK;
}

static int emit_multiple(compiler *c, keyword word)
{
    divisor *d = make(c, 1, sizeof(*d));
    if (!d)
        return mcp__schema_no_memory(c);
    int rc = is_number(c->values[word]) ? mcp__schema_divisor(c->values[word], d) : MCP_EINVAL;
    if (rc == MCP_EUNSUPPORTED)
        return mcp__schema_refuse(c, rc, c->node, word, "more than 19 digits are not supported");
    if (rc)
        return refuse(c, word, "a number above 0 is needed");
    emit(c, OP_MULTIPLE, word, IS_NUMBER)->u.divisor = d;
    return MCP_OK;
}

static int emit_limit(compiler *c, keyword word)
{
    static const struct {
        uint8_t word, code;
        uint16_t applies;
    } kinds[] = {
        {KW_MIN_LENGTH, OP_LENGTH, IS_STRING},    {KW_MAX_LENGTH, OP_LENGTH, IS_STRING},
        {KW_MIN_ITEMS, OP_COUNT, IS_ARRAY},       {KW_MAX_ITEMS, OP_COUNT, IS_ARRAY},
        {KW_MIN_PROPERTIES, OP_COUNT, IS_OBJECT}, {KW_MAX_PROPERTIES, OP_COUNT, IS_OBJECT},
    };
    size_t limit, i = 0;
    if (!mcp__schema_as_size(c->values[word], &limit))
        return refuse(c, word, "an integer from 0 on is needed");
    while (kinds[i].word != word)
        i++;
    emit(c, (op)kinds[i].code, word, kinds[i].applies)->u.limit = limit;
    return MCP_OK;
}

static int new_pattern(compiler *c, keyword word, mcp_str source, const pattern **ret)
{
    mcp_error why = {0};
    int rc = mcp__schema_pattern_new(c->schema, source, ret, &why);
    if (rc == MCP_ENOMEM)
        return mcp__schema_no_memory(c);
    return rc ? mcp__schema_refuse(c, rc, c->node, word, "%s", why.text) : MCP_OK;
}

static int emit_pattern(compiler *c, keyword word)
{
    mcp_str source = mcp_json_string(c->values[word]);
    const pattern *p;
    if (!source.ptr)
        return refuse(c, word, "a string is needed");
    int rc = new_pattern(c, word, source, &p);
    if (!rc)
        emit(c, OP_PATTERN, word, IS_STRING)->u.pattern = p;
    return rc;
}

static int emit_format(compiler *c, keyword word)
{
    mcp_str name = mcp_json_string(c->values[word]);
    bool asserted =
        c->schema->limits.assert_formats || c->node->resource->dialect & VOCAB_FORMAT_ASSERTION;
    const format_info *format = mcp__schema_format(name);
    if (!name.ptr)
        return refuse(c, word, "a string is needed");
    if (asserted && format)
        emit(c, OP_FORMAT, word, IS_STRING)->u.format = format;
    return MCP_OK;
}

/* ---- arrays ----------------------------------------------------------------------------------- */

static int emit_unique(compiler *c, keyword word)
{
    if (!mcp_json_is(c->values[word], MCP_JSON_BOOL))
        return refuse(c, word, "true or false is needed");
    if (mcp_json_bool(c->values[word], false))
        emit(c, OP_UNIQUE, word, IS_ARRAY);
    return MCP_OK;
}

static int emit_items(compiler *c, keyword word)
{
    bool tuple = mcp_json_is(c->values[KW_ITEMS], MCP_JSON_ARRAY); /* draft-07 */
    keyword prefix = tuple ? KW_ITEMS : KW_PREFIX_ITEMS;
    keyword rest = tuple ? KW_ADDITIONAL_ITEMS : KW_ITEMS;
    node_list list = {0};
    (void)word;
    if (!c->values[prefix] && !c->values[rest])
        return MCP_OK;
    item_plan *i = make(c, 1, sizeof(*i));
    if (!i || make_list(c, c->values[prefix], &list))
        return mcp__schema_no_memory(c);
    *i = (item_plan){list.nodes, list.count, subschema(c, c->values[rest]), prefix, rest};
    emit(c, OP_ITEMS, rest, IS_ARRAY)->u.items = i;
    return MCP_OK;
}

static int emit_contains(compiler *c, keyword word)
{
    contains *k = make(c, 1, sizeof(*k));
    if (!k)
        return mcp__schema_no_memory(c);
    *k = (contains){subschema(c, c->values[word]), 1, SIZE_MAX,
                    !(c->node->resource->dialect & VOCAB_DRAFT_07)};
    if (c->values[KW_MIN_CONTAINS] && !mcp__schema_as_size(c->values[KW_MIN_CONTAINS], &k->min))
        return refuse(c, KW_MIN_CONTAINS, "an integer from 0 on is needed");
    if (c->values[KW_MAX_CONTAINS] && !mcp__schema_as_size(c->values[KW_MAX_CONTAINS], &k->max))
        return refuse(c, KW_MAX_CONTAINS, "an integer from 0 on is needed");
    emit(c, OP_CONTAINS, word, IS_ARRAY)->u.contains = k;
    return MCP_OK;
}

static int emit_unevaluated(compiler *c, keyword word)
{
    bool object = word == KW_UNEVALUATED_PROPERTIES;
    instruction *in = emit(c, object ? OP_UNEVALUATED_PROPERTIES : OP_UNEVALUATED_ITEMS, word,
                           object ? IS_OBJECT : IS_ARRAY);
    in->u.node = subschema(c, c->values[word]);
    return MCP_OK;
}

/* ---- objects ---------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return mcp__schema_member_compare(a, b);
}

static void add_known(members *m, mcp_str name, const node *n, bool required)
{
    m->known[m->known_count++] = (member){mcp__schema_name_order(name), name, n, required};
}

/* Sorts the names and merges those that are equal: at most one is from properties, the others are
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
        return refuse(c, KW_REQUIRED, "an array of strings is needed");
    m->known =
        make(c, mcp_json_count(properties) + mcp_json_count(m->required), sizeof(m->known[0]));
    if (!m->known)
        return mcp__schema_no_memory(c);
    while ((value = mcp_json_next(properties, &iter, &name)))
        add_known(m, name, subschema(c, value), false);
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
    m->patterns = make(c, mcp_json_count(patterns), sizeof(m->patterns[0]));
    if (!m->patterns)
        return mcp__schema_no_memory(c);
    while ((value = mcp_json_next(patterns, &iter, &source))) {
        pattern_member *p = &m->patterns[m->pattern_count++];
        int rc = new_pattern(c, KW_PATTERN_PROPERTIES, source, &p->pattern);
        if (rc)
            return rc;
        p->node = subschema(c, value);
    }
    return MCP_OK;
}

static int emit_members(compiler *c, keyword word)
{
    (void)word;
    if (!c->values[KW_PROPERTIES] && !c->values[KW_REQUIRED] && !c->values[KW_PATTERN_PROPERTIES] &&
        !c->values[KW_ADDITIONAL_PROPERTIES] && !c->values[KW_PROPERTY_NAMES])
        return MCP_OK;
    members *m = make(c, 1, sizeof(*m));
    int rc = m ? make_known(c, m) : mcp__schema_no_memory(c);
    if (!rc)
        rc = make_patterns(c, m);
    if (rc)
        return rc;
    m->additional = subschema(c, c->values[KW_ADDITIONAL_PROPERTIES]);
    m->names = subschema(c, c->values[KW_PROPERTY_NAMES]);
    m->visits = c->values[KW_PROPERTIES] || m->pattern_count || m->additional || m->names;
    emit(c, OP_MEMBERS, KW_PROPERTIES, IS_OBJECT)->u.members = m;
    return MCP_OK;
}

/* Compiles dependentRequired, dependentSchemas, and dependencies, which combines the two. */
static int make_dependencies(compiler *c, keyword word, dependencies *names, dependencies *schemas)
{
    const mcp_json *value;
    mcp_json_iter iter = {0};
    mcp_str name;
    if (c->values[word] && !mcp_json_is(c->values[word], MCP_JSON_OBJECT))
        return refuse(c, word, "an object is needed");
    while ((value = mcp_json_next(c->values[word], &iter, &name))) {
        const node *n = word == KW_DEPENDENT_REQUIRED ? NULL : subschema(c, value);
        if (!n && !is_names(value))
            return refuse(c, word, "each member is an array of strings");
        dependencies *to = n ? schemas : names;
        to->items[to->count++] = (dependency){name, n ? NULL : value, n, word};
    }
    return MCP_OK;
}

static int emit_dependencies(compiler *c, keyword ignored)
{
    static const keyword words[] = {KW_DEPENDENT_REQUIRED, KW_DEPENDENT_SCHEMAS, KW_DEPENDENCIES};
    size_t count = 0;
    int rc = MCP_OK;
    (void)ignored;
    for (size_t i = 0; i < MCP__COUNT(words); i++)
        count += c->values[words[i]] ? mcp_json_count(c->values[words[i]]) + 1 : 0;
    if (count == 0)
        return MCP_OK;
    dependencies *both = make(c, 2, sizeof(*both));
    dependency *items = make(c, 2 * count, sizeof(*items));
    if (!both || !items)
        return mcp__schema_no_memory(c);
    both[0].items = items;
    both[1].items = items + count;
    for (size_t i = 0; !rc && i < MCP__COUNT(words); i++)
        rc = make_dependencies(c, words[i], &both[0], &both[1]);
    if (!rc && both[0].count)
        emit(c, OP_DEPENDENT_REQUIRED, KW_DEPENDENT_REQUIRED, IS_OBJECT)->u.dependencies = &both[0];
    if (!rc && both[1].count)
        emit(c, OP_DEPENDENT_SCHEMAS, KW_DEPENDENT_SCHEMAS, IS_OBJECT)->u.dependencies = &both[1];
    return rc;
}

/* ---- the table of emitters ------------------------------------------------------------------ */

/* KW_COUNT: the function itself looks up its keywords. */
static const struct {
    int (*emit)(compiler *c, keyword word);
    keyword word;
} emitters[] = {
    {emit_type, KW_TYPE},
    {emit_const, KW_CONST},
    {emit_enum, KW_ENUM},
    {emit_bound, KW_MINIMUM},
    {emit_bound, KW_EXCLUSIVE_MINIMUM},
    {emit_bound, KW_MAXIMUM},
    {emit_bound, KW_EXCLUSIVE_MAXIMUM},
    {emit_multiple, KW_MULTIPLE_OF},
    {emit_limit, KW_MIN_LENGTH},
    {emit_limit, KW_MAX_LENGTH},
    {emit_format, KW_FORMAT},
    {emit_pattern, KW_PATTERN},
    {emit_limit, KW_MIN_ITEMS},
    {emit_limit, KW_MAX_ITEMS},
    {emit_limit, KW_MIN_PROPERTIES},
    {emit_limit, KW_MAX_PROPERTIES},
    {emit_members, KW_COUNT},
    {emit_items, KW_COUNT},
    {emit_unique, KW_UNIQUE_ITEMS},
    {emit_contains, KW_CONTAINS},
    {emit_ref, KW_REF},
    {emit_dynamic_ref, KW_DYNAMIC_REF},
    {emit_combined, KW_ALL_OF},
    {emit_combined, KW_ANY_OF},
    {emit_combined, KW_ONE_OF},
    {emit_not, KW_NOT},
    {emit_if, KW_IF},
    {emit_dependencies, KW_COUNT},
    {emit_unevaluated, KW_UNEVALUATED_ITEMS},
    {emit_unevaluated, KW_UNEVALUATED_PROPERTIES},
};

int mcp__schema_emit(compiler *c)
{
    int rc = MCP_OK;
    if (c->values[KW_REF] && c->node->resource->dialect & VOCAB_DRAFT_07)
        return emit_ref(c, KW_REF);
    for (size_t i = 0; !rc && i < MCP__COUNT(emitters); i++) {
        keyword word = emitters[i].word;
        if (word == KW_COUNT || c->values[word])
            rc = emitters[i].emit(c, word);
    }
    return rc;
}
