/* emit.c: one function per keyword, or per group of keywords that run together. Each function
 * checks the value of its keyword and appends the instruction. emit_container.c has the functions
 * for keywords of arrays and objects.
 *
 * The order of the table at the end is the order in which a validation runs the instructions: those
 * that are cheap or fail most often first, unevaluated* last.
 */
#include "schema/emit.h"

void *mcp__emit_alloc(compiler *c, size_t count, size_t size)
{
    void *p = size && count > SIZE_MAX / size
                  ? NULL
                  : mcp__arena_alloc(&c->schema->arena, count * size + 1);
    if (p)
        memset(p, 0, count * size);
    return p;
}

instruction *mcp__emit(compiler *c, op code, keyword word, unsigned applies)
{
    assert(c->count < MAX_INSTRUCTIONS);
    instruction *in = &c->code[c->count++];
    *in = (instruction){(uint8_t)code, (uint8_t)word, (uint16_t)applies, {0}};
    return in;
}

int mcp__emit_refuse(compiler *c, keyword word, const char *what)
{
    return mcp__schema_refuse(c, MCP_EINVAL, c->node, word, "%s", what);
}

const node *mcp__emit_subschema(compiler *c, const mcp_json *value)
{
    node *n = value ? mcp__schema_node_of(c, value) : NULL;
    if (n)
        mcp__schema_queue(c, n);
    return n;
}

/* ---- any instance ---------------------------------------------------------------------------- */

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
            return mcp__emit_refuse(
                c, word,
                "a type is one of \"null\", \"boolean\", \"object\", \"array\", "
                "\"number\", \"integer\", \"string\", or a list of them");
        types |= bits;
        one = list ? mcp_json_next(value, &iter, NULL) : NULL;
    }
    if (!types)
        return mcp__emit_refuse(c, word, "the list of types is empty");
    mcp__emit(c, OP_TYPE, word, IS_ANY)->u.types = types;
    return MCP_OK;
}

static int emit_const(compiler *c, keyword word)
{
    mcp__emit(c, OP_CONST, word, IS_ANY)->u.value = c->values[word];
    return MCP_OK;
}

static int emit_enum(compiler *c, keyword word)
{
    if (!mcp_json_is(c->values[word], MCP_JSON_ARRAY))
        return mcp__emit_refuse(c, word, "an array is needed");
    mcp__emit(c, OP_ENUM, word, IS_ANY)->u.value = c->values[word];
    return MCP_OK;
}

static int emit_ref(compiler *c, keyword word)
{
    mcp_str text = mcp_json_string(c->values[word]), anchor;
    node *target;
    if (!text.ptr)
        return mcp__emit_refuse(c, word, "a string is needed");
    int rc = mcp__schema_find(c, c->node, word, text, &target, &anchor);
    if (rc)
        return rc;
    mcp__schema_queue(c, target);
    mcp__emit(c, OP_REF, word, IS_ANY)->u.node = target;
    return MCP_OK;
}

/* A $dynamicRef is dynamic only if its target has a $dynamicAnchor of the same name. */
static int emit_dynamic_ref(compiler *c, keyword word)
{
    mcp_str text = mcp_json_string(c->values[word]), anchor;
    dynamic_ref *d = mcp__emit_alloc(c, 1, sizeof(*d));
    node *target;
    if (!text.ptr)
        return mcp__emit_refuse(c, word, "a string is needed");
    if (!d)
        return mcp__schema_no_memory(c);
    int rc = mcp__schema_find(c, c->node, word, text, &target, &anchor);
    if (rc)
        return rc;
    mcp__schema_queue(c, target);
    mcp_str own = mcp_json_string(mcp_json_get(target->value, "$dynamicAnchor"));
    *d = (dynamic_ref){target, anchor.len && mcp_str_eq(own, anchor) ? anchor : (mcp_str){"", 0}};
    mcp__emit(c, OP_DYNAMIC_REF, word, IS_ANY)->u.dynamic = d;
    return MCP_OK;
}

int mcp__emit_list(compiler *c, const mcp_json *value, node_list *list)
{
    mcp_json_iter iter = {0};
    const mcp_json *one;
    list->nodes = mcp__emit_alloc(c, mcp_json_count(value), sizeof(list->nodes[0]));
    if (!list->nodes)
        return mcp__schema_no_memory(c);
    while ((one = mcp_json_next(value, &iter, NULL)))
        list->nodes[list->count++] = mcp__emit_subschema(c, one);
    return MCP_OK;
}

static int emit_combined(compiler *c, keyword word)
{
    op code = word == KW_ALL_OF ? OP_ALL_OF : word == KW_ANY_OF ? OP_ANY_OF : OP_ONE_OF;
    node_list *list = mcp__emit_alloc(c, 1, sizeof(*list));
    if (!list || mcp__emit_list(c, c->values[word], list))
        return mcp__schema_no_memory(c);
    if (list->count == 0)
        return mcp__emit_refuse(c, word, "at least one schema is needed");
    mcp__emit(c, code, word, IS_ANY)->u.list = list;
    return MCP_OK;
}

static int emit_not(compiler *c, keyword word)
{
    mcp__emit(c, OP_NOT, word, IS_ANY)->u.node = mcp__emit_subschema(c, c->values[word]);
    return MCP_OK;
}

static int emit_if(compiler *c, keyword word)
{
    condition *cond = mcp__emit_alloc(c, 1, sizeof(*cond));
    if (!cond)
        return mcp__schema_no_memory(c);
    cond->when = mcp__emit_subschema(c, c->values[word]);
    cond->then = mcp__emit_subschema(c, c->values[KW_THEN]);
    cond->otherwise = mcp__emit_subschema(c, c->values[KW_ELSE]);
    mcp__emit(c, OP_IF, word, IS_ANY)->u.condition = cond;
    return MCP_OK;
}

/* ---- numbers and strings --------------------------------------------------------------------- */

static bool is_number(const mcp_json *value)
{
    return (1u << mcp_json_typeof(value)) & IS_NUMBER;
}

static int emit_bound(compiler *c, keyword word)
{
    if (!is_number(c->values[word]))
        return mcp__emit_refuse(c, word, "a number is needed");
    mcp__emit(c, OP_BOUND, word, IS_NUMBER)->u.value = c->values[word];
    return MCP_OK;
}

static int emit_multiple(compiler *c, keyword word)
{
    divisor *d = mcp__emit_alloc(c, 1, sizeof(*d));
    if (!d)
        return mcp__schema_no_memory(c);
    int rc = is_number(c->values[word]) ? mcp__schema_divisor(c->values[word], d) : MCP_EINVAL;
    if (rc == MCP_EUNSUPPORTED)
        return mcp__schema_refuse(c, rc, c->node, word, "more than 19 digits are not supported");
    if (rc)
        return mcp__emit_refuse(c, word, "a number above 0 is needed");
    mcp__emit(c, OP_MULTIPLE, word, IS_NUMBER)->u.divisor = d;
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
        return mcp__emit_refuse(c, word, "a non-negative integer is needed");
    while (kinds[i].word != word)
        i++;
    mcp__emit(c, (op)kinds[i].code, word, kinds[i].applies)->u.limit = limit;
    return MCP_OK;
}

int mcp__emit_new_pattern(compiler *c, keyword word, mcp_str source, const pattern **ret)
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
        return mcp__emit_refuse(c, word, "a string is needed");
    int rc = mcp__emit_new_pattern(c, word, source, &p);
    if (!rc)
        mcp__emit(c, OP_PATTERN, word, IS_STRING)->u.pattern = p;
    return rc;
}

static int emit_format(compiler *c, keyword word)
{
    mcp_str name = mcp_json_string(c->values[word]);
    bool asserted =
        c->schema->limits.assert_formats || c->node->resource->dialect & VOCAB_FORMAT_ASSERTION;
    const format_info *format = mcp__schema_format(name);
    if (!name.ptr)
        return mcp__emit_refuse(c, word, "a string is needed");
    if (asserted && format)
        mcp__emit(c, OP_FORMAT, word, IS_STRING)->u.format = format;
    return MCP_OK;
}

/* ---- the table of emitters ------------------------------------------------------------------- */

/* If `word` is KW_COUNT, the function looks up its keywords itself. */
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
    {mcp__emit_members, KW_COUNT},
    {mcp__emit_items, KW_COUNT},
    {mcp__emit_unique, KW_UNIQUE_ITEMS},
    {mcp__emit_contains, KW_CONTAINS},
    {emit_ref, KW_REF},
    {emit_dynamic_ref, KW_DYNAMIC_REF},
    {emit_combined, KW_ALL_OF},
    {emit_combined, KW_ANY_OF},
    {emit_combined, KW_ONE_OF},
    {emit_not, KW_NOT},
    {emit_if, KW_IF},
    {mcp__emit_dependencies, KW_COUNT},
    {mcp__emit_unevaluated, KW_UNEVALUATED_ITEMS},
    {mcp__emit_unevaluated, KW_UNEVALUATED_PROPERTIES},
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
