/* keywords.c: the tables of keywords, vocabularies and dialects.
 *
 * `definitions` and `dependencies` belong to 2020-12 too, because its metaschema still describes
 * them. $id, $schema and $ref belong to every dialect, even to one that does not list the core
 * vocabulary.
 */
#include "schema/schema.h"

#define BOTH     VOCAB_ANY_DRAFT
#define OLD      VOCAB_DRAFT_07
#define NEW      VOCAB_2020_12
#define ALWAYS   VOCAB_ANY_DRAFT
#define APPLY    VOCAB_APPLICATOR
#define VALIDATE VOCAB_VALIDATION
#define FORMAT   (VOCAB_FORMAT_ANNOTATION | VOCAB_FORMAT_ASSERTION)

const keyword_info mcp__schema_keywords[KW_COUNT] = {
    [KW_ANCHOR] = {"$anchor", ALWAYS, NEW, SHAPE_PLAIN},
    [KW_DEFS] = {"$defs", ALWAYS, NEW, SHAPE_MAP},
    [KW_DYNAMIC_ANCHOR] = {"$dynamicAnchor", ALWAYS, NEW, SHAPE_PLAIN},
    [KW_DYNAMIC_REF] = {"$dynamicRef", ALWAYS, NEW, SHAPE_PLAIN},
    [KW_ID] = {"$id", ALWAYS, BOTH, SHAPE_PLAIN},
    [KW_REF] = {"$ref", ALWAYS, BOTH, SHAPE_PLAIN},
    [KW_SCHEMA] = {"$schema", ALWAYS, BOTH, SHAPE_PLAIN},
    [KW_VOCABULARY] = {"$vocabulary", ALWAYS, NEW, SHAPE_PLAIN},
    [KW_ADDITIONAL_ITEMS] = {"additionalItems", APPLY, OLD, SHAPE_SCHEMA},
    [KW_ADDITIONAL_PROPERTIES] = {"additionalProperties", APPLY, BOTH, SHAPE_SCHEMA},
    [KW_ALL_OF] = {"allOf", APPLY, BOTH, SHAPE_LIST},
    [KW_ANY_OF] = {"anyOf", APPLY, BOTH, SHAPE_LIST},
    [KW_CONST] = {"const", VALIDATE, BOTH, SHAPE_PLAIN},
    [KW_CONTAINS] = {"contains", APPLY, BOTH, SHAPE_SCHEMA},
    [KW_DEFINITIONS] = {"definitions", ALWAYS, BOTH, SHAPE_LENIENT_MAP},
    [KW_DEPENDENCIES] = {"dependencies", APPLY, BOTH, SHAPE_MAP_OF_SCHEMA_OR_NAMES},
    [KW_DEPENDENT_REQUIRED] = {"dependentRequired", VALIDATE, NEW, SHAPE_PLAIN},
    [KW_DEPENDENT_SCHEMAS] = {"dependentSchemas", APPLY, NEW, SHAPE_MAP},
    [KW_ELSE] = {"else", APPLY, BOTH, SHAPE_SCHEMA},
    [KW_ENUM] = {"enum", VALIDATE, BOTH, SHAPE_PLAIN},
    [KW_EXCLUSIVE_MAXIMUM] = {"exclusiveMaximum", VALIDATE, BOTH, SHAPE_PLAIN},
    [KW_EXCLUSIVE_MINIMUM] = {"exclusiveMinimum", VALIDATE, BOTH, SHAPE_PLAIN},
    [KW_FORMAT] = {"format", FORMAT, BOTH, SHAPE_PLAIN},
    [KW_IF] = {"if", APPLY, BOTH, SHAPE_SCHEMA},
    [KW_ITEMS] = {"items", APPLY, BOTH, SHAPE_SCHEMA_OR_LIST},
    [KW_MAX_CONTAINS] = {"maxContains", VALIDATE, NEW, SHAPE_PLAIN},
    [KW_MAX_ITEMS] = {"maxItems", VALIDATE, BOTH, SHAPE_PLAIN},
    [KW_MAX_LENGTH] = {"maxLength", VALIDATE, BOTH, SHAPE_PLAIN},
    [KW_MAX_PROPERTIES] = {"maxProperties", VALIDATE, BOTH, SHAPE_PLAIN},
    [KW_MAXIMUM] = {"maximum", VALIDATE, BOTH, SHAPE_PLAIN},
    [KW_MIN_CONTAINS] = {"minContains", VALIDATE, NEW, SHAPE_PLAIN},
    [KW_MIN_ITEMS] = {"minItems", VALIDATE, BOTH, SHAPE_PLAIN},
    [KW_MIN_LENGTH] = {"minLength", VALIDATE, BOTH, SHAPE_PLAIN},
    [KW_MIN_PROPERTIES] = {"minProperties", VALIDATE, BOTH, SHAPE_PLAIN},
    [KW_MINIMUM] = {"minimum", VALIDATE, BOTH, SHAPE_PLAIN},
    [KW_MULTIPLE_OF] = {"multipleOf", VALIDATE, BOTH, SHAPE_PLAIN},
    [KW_NOT] = {"not", APPLY, BOTH, SHAPE_SCHEMA},
    [KW_ONE_OF] = {"oneOf", APPLY, BOTH, SHAPE_LIST},
    [KW_PATTERN] = {"pattern", VALIDATE, BOTH, SHAPE_PLAIN},
    [KW_PATTERN_PROPERTIES] = {"patternProperties", APPLY, BOTH, SHAPE_MAP},
    [KW_PREFIX_ITEMS] = {"prefixItems", APPLY, NEW, SHAPE_LIST},
    [KW_PROPERTIES] = {"properties", APPLY, BOTH, SHAPE_MAP},
    [KW_PROPERTY_NAMES] = {"propertyNames", APPLY, BOTH, SHAPE_SCHEMA},
    [KW_REQUIRED] = {"required", VALIDATE, BOTH, SHAPE_PLAIN},
    [KW_THEN] = {"then", APPLY, BOTH, SHAPE_SCHEMA},
    [KW_TYPE] = {"type", VALIDATE, BOTH, SHAPE_PLAIN},
    [KW_UNEVALUATED_ITEMS] = {"unevaluatedItems", VOCAB_UNEVALUATED, NEW, SHAPE_SCHEMA},
    [KW_UNEVALUATED_PROPERTIES] = {"unevaluatedProperties", VOCAB_UNEVALUATED, NEW, SHAPE_SCHEMA},
    [KW_UNIQUE_ITEMS] = {"uniqueItems", VALIDATE, BOTH, SHAPE_PLAIN},
};

/* Returns the keyword of that name in the dialect, or KW_COUNT. */
static keyword keyword_of(mcp_str name, unsigned dialect)
{
    for (size_t i = 0; i < KW_COUNT; i++) {
        const keyword_info *k = &mcp__schema_keywords[i];
        if (name.len && k->name[0] == name.ptr[0] && mcp_str_eq(name, mcp_str_from(k->name)))
            return k->vocabularies & dialect && k->drafts & dialect ? (keyword)i : KW_COUNT;
    }
    return KW_COUNT;
}

void mcp__schema_keyword_values(const mcp_json *schema, unsigned dialect,
                                const mcp_json *values[KW_COUNT])
{
    mcp_json_iter iter = {0};
    mcp_str name;
    const mcp_json *value;
    memset(values, 0, KW_COUNT * sizeof(values[0]));
    while ((value = mcp_json_next(schema, &iter, &name))) {
        keyword k = keyword_of(name, dialect);
        if (k != KW_COUNT)
            values[k] = value;
    }
}

unsigned mcp__schema_vocabulary(mcp_str uri)
{
    static const struct {
        const char *name;
        unsigned bit;
    } names[] = {
        {"core", VOCAB_CORE},
        {"applicator", VOCAB_APPLICATOR},
        {"unevaluated", VOCAB_UNEVALUATED},
        {"validation", VOCAB_VALIDATION},
        {"meta-data", VOCAB_META_DATA},
        {"format-annotation", VOCAB_FORMAT_ANNOTATION},
        {"format-assertion", VOCAB_FORMAT_ASSERTION},
        {"content", VOCAB_CONTENT},
    };
    const mcp_str prefix = MCP_STR("https://json-schema.org/draft/2020-12/vocab/");
    if (!mcp__str_starts(uri, prefix))
        return 0;
    for (size_t i = 0; i < MCP__COUNT(names); i++) {
        if (mcp_str_eq(mcp__str_sub(uri, prefix.len), mcp_str_from(names[i].name)))
            return names[i].bit;
    }
    return 0;
}

unsigned mcp__schema_dialect(mcp_str uri)
{
    /* Schemas often confuse http: and https:, so both are accepted. */
    if (mcp__str_starts(uri, MCP_STR("https:")))
        uri = mcp__str_sub(uri, sizeof("https:") - 1);
    else if (mcp__str_starts(uri, MCP_STR("http:")))
        uri = mcp__str_sub(uri, sizeof("http:") - 1);
    if (mcp_str_eq(uri, MCP_STR("//json-schema.org/draft/2020-12/schema")))
        return DIALECT_2020_12;
    if (mcp_str_eq(uri, MCP_STR("//json-schema.org/draft-07/schema")))
        return DIALECT_DRAFT_07;
    return 0;
}
