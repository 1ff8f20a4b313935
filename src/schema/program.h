/* program.h: keywords and dialects, and the compiled form of a schema.
 *
 * A program is a graph of nodes, one per subschema, each with an array of instructions. Recursion
 * in the schema is a cycle in the graph. The program owns copies of the documents, to which its
 * constants, names and error texts point.
 */
#ifndef MCP_SRC_SCHEMA_PROGRAM_H
#define MCP_SRC_SCHEMA_PROGRAM_H

#include <mcp/schema.h>

#include "base/base.h"
#include "json/json.h"

/* ---- keywords.c ------------------------------------------------------------------------------ */

/* A dialect is a set of these bits. A keyword belongs to the dialects that have its bits. */
enum {
    VOCAB_CORE = 1,
    VOCAB_APPLICATOR = 2,
    VOCAB_UNEVALUATED = 4,
    VOCAB_VALIDATION = 8,
    VOCAB_META_DATA = 16,
    VOCAB_FORMAT_ANNOTATION = 32,
    VOCAB_FORMAT_ASSERTION = 64,
    VOCAB_CONTENT = 128,
    VOCAB_2020_12 = 256,
    VOCAB_DRAFT_07 = 512,
    VOCAB_ANY_DRAFT = VOCAB_2020_12 | VOCAB_DRAFT_07,
};

enum {
    DIALECT_2020_12 = VOCAB_2020_12 | VOCAB_CORE | VOCAB_APPLICATOR | VOCAB_UNEVALUATED |
                      VOCAB_VALIDATION | VOCAB_META_DATA | VOCAB_FORMAT_ANNOTATION | VOCAB_CONTENT,
    DIALECT_DRAFT_07 = VOCAB_DRAFT_07 | VOCAB_CORE | VOCAB_APPLICATOR | VOCAB_VALIDATION |
                       VOCAB_META_DATA | VOCAB_FORMAT_ANNOTATION | VOCAB_CONTENT,
};

/* The keywords that do not begin with "$" are in alphabetical order. */
typedef enum keyword {
    KW_ANCHOR,
    KW_DEFS,
    KW_DYNAMIC_ANCHOR,
    KW_DYNAMIC_REF,
    KW_ID,
    KW_REF,
    KW_SCHEMA,
    KW_VOCABULARY,
    KW_ADDITIONAL_ITEMS,
    KW_ADDITIONAL_PROPERTIES,
    KW_ALL_OF,
    KW_ANY_OF,
    KW_CONST,
    KW_CONTAINS,
    KW_DEFINITIONS,
    KW_DEPENDENCIES,
    KW_DEPENDENT_REQUIRED,
    KW_DEPENDENT_SCHEMAS,
    KW_ELSE,
    KW_ENUM,
    KW_EXCLUSIVE_MAXIMUM,
    KW_EXCLUSIVE_MINIMUM,
    KW_FORMAT,
    KW_IF,
    KW_ITEMS,
    KW_MAX_CONTAINS,
    KW_MAX_ITEMS,
    KW_MAX_LENGTH,
    KW_MAX_PROPERTIES,
    KW_MAXIMUM,
    KW_MIN_CONTAINS,
    KW_MIN_ITEMS,
    KW_MIN_LENGTH,
    KW_MIN_PROPERTIES,
    KW_MINIMUM,
    KW_MULTIPLE_OF,
    KW_NOT,
    KW_ONE_OF,
    KW_PATTERN,
    KW_PATTERN_PROPERTIES,
    KW_PREFIX_ITEMS,
    KW_PROPERTIES,
    KW_PROPERTY_NAMES,
    KW_REQUIRED,
    KW_THEN,
    KW_TYPE,
    KW_UNEVALUATED_ITEMS,
    KW_UNEVALUATED_PROPERTIES,
    KW_UNIQUE_ITEMS,
    KW_COUNT,
} keyword;

/* Describes where the value of a keyword contains subschemas. */
typedef enum keyword_shape {
    SHAPE_PLAIN, /* no subschemas */
    SHAPE_SCHEMA,
    SHAPE_LIST,                   /* an array of subschemas */
    SHAPE_MAP,                    /* an object of subschemas */
    SHAPE_SCHEMA_OR_LIST,         /* items of draft-07 */
    SHAPE_MAP_OF_SCHEMA_OR_NAMES, /* dependencies */
    SHAPE_LENIENT_MAP,            /* a map; values of other types are ignored */
} keyword_shape;

typedef struct keyword_info {
    const char *name;
    unsigned vocabularies; /* the keyword belongs to a dialect with one of these */
    unsigned drafts;       /* and the dialect is based on one of these */
    keyword_shape shape;
} keyword_info;
extern const keyword_info mcp__schema_keywords[KW_COUNT];

/* Fills a table, indexed by keyword, with the members of a schema that the dialect defines. */
void mcp__schema_keyword_values(const mcp_json *schema, unsigned dialect,
                                const mcp_json *values[KW_COUNT]);

/* Returns the bit of a vocabulary's URI, or 0. */
unsigned mcp__schema_vocabulary(mcp_str uri);

/* Returns the dialect of a built-in metaschema's URI (without its empty fragment), or 0. */
unsigned mcp__schema_dialect(mcp_str uri);

/* ---- the program ----------------------------------------------------------------------------- */

typedef struct node node;
typedef struct resource resource;
typedef struct pattern pattern;

typedef struct named_node {
    mcp_str name;
    node *node;
    struct named_node *next;
} named_node;

/* A schema with a URI of its own: the root of a document, or a subschema with $id. */
struct resource {
    mcp_str uri; /* absolute or not, without fragment */
    node *root;
    unsigned dialect;
    named_node *dynamic; /* its $dynamicAnchor names */
    bool entered;        /* at least one of its nodes was compiled */
};

/* Bits for instances: 1 << mcp_json_type. */
enum {
    IS_INTEGRAL = 1 << MCP_JSON_NONE, /* in a set of types: a number without a fraction */
    IS_NUMBER = 1 << MCP_JSON_INT | 1 << MCP_JSON_REAL | 1 << MCP_JSON_BIGINT,
    IS_STRING = 1 << MCP_JSON_STRING,
    IS_ARRAY = 1 << MCP_JSON_ARRAY,
    IS_OBJECT = 1 << MCP_JSON_OBJECT,
    IS_ANY = 0x1fe,
};

typedef enum op {
    OP_TYPE,
    OP_CONST,
    OP_ENUM,
    OP_BOUND,
    OP_MULTIPLE,
    OP_LENGTH,
    OP_PATTERN,
    OP_FORMAT,
    OP_COUNT,
    OP_UNIQUE,
    OP_MEMBERS,
    OP_DEPENDENT_REQUIRED,
    OP_ITEMS,
    OP_CONTAINS,
    OP_REF,
    OP_DYNAMIC_REF,
    OP_ALL_OF,
    OP_ANY_OF,
    OP_ONE_OF,
    OP_NOT,
    OP_IF,
    OP_DEPENDENT_SCHEMAS,
    OP_UNEVALUATED_ITEMS,
    OP_UNEVALUATED_PROPERTIES,
} op;

/* A divisor: mantissa * 10^exponent. The mantissa is not a multiple of 10. `whole` is its value if
 * that is an integer that fits into int64_t, else 0. */
typedef struct divisor {
    uint64_t mantissa;
    int64_t exponent;
    int64_t whole;
} divisor;

typedef struct node_list {
    const node **nodes;
    size_t count;
} node_list;

/* A name in properties or required. Members are sorted by `order` (see mcp__schema_name_order()),
 * then by length and bytes. */
typedef struct member {
    uint64_t order;
    mcp_str name;
    const node *node; /* the schema in properties, or NULL */
    bool required;
} member;

typedef struct pattern_member {
    const pattern *pattern;
    const node *node;
} pattern_member;

/* properties, required, patternProperties, additionalProperties and propertyNames, checked in one
 * pass over an object. */
typedef struct members {
    member *known;
    size_t known_count;
    size_t required_count;
    const mcp_json *required; /* in the order of the schema, for messages */
    pattern_member *patterns;
    size_t pattern_count;
    const node *additional;
    const node *names;
    bool visits; /* whether more than `required` must be checked */
} members;

typedef struct dependency {
    mcp_str name;
    const mcp_json *required; /* an array of names, or NULL */
    const node *node;
    keyword keyword;
} dependency;

typedef struct dependencies {
    dependency *items;
    size_t count;
} dependencies;

/* prefixItems and items, or in draft-07 items (an array) and additionalItems. */
typedef struct item_plan {
    const node **prefix;
    size_t prefix_count;
    const node *rest;
    keyword prefix_keyword, rest_keyword;
} item_plan;

typedef struct contains {
    const node *node;
    size_t min, max;
    bool marks; /* matching elements count as evaluated; not in draft-07 */
} contains;

typedef struct condition {
    const node *when, *then, *otherwise;
} condition;

typedef struct dynamic_ref {
    const node *target; /* used if no resource in the dynamic scope has the anchor */
    mcp_str anchor;     /* if empty, the reference behaves like $ref */
} dynamic_ref;

typedef struct format_info format_info;

typedef struct instruction {
    uint8_t op;       /* enum op */
    uint8_t keyword;  /* enum keyword, for messages */
    uint16_t applies; /* to instances of these types; it is skipped for others */
    union {
        unsigned types;
        size_t limit;
        const mcp_json *value;
        const divisor *divisor;
        const pattern *pattern;
        const format_info *format;
        const members *members;
        const dependencies *dependencies;
        const item_plan *items;
        const contains *contains;
        const condition *condition;
        const node *node;
        const node_list *list;
        const dynamic_ref *dynamic;
    } u;
} instruction;

#endif
