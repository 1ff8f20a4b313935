/* scan.c: finds the subschemas of a document and their URIs and anchors.
 *
 * The scan follows keywords, so a value that only looks like a schema (in const, in enum, under an
 * unknown keyword) is skipped. The scan also checks that every value that must be a schema is one.
 * Nodes are compiled only after the scan, because a $ref may refer to a name that follows later.
 * The recursion is bounded by the depth of a document, which the parser limits.
 */
#include "schema/schema.h"

enum { DOCUMENT_MAX_DEPTH = 128 };

/* The location of a subschema. */
typedef struct place {
    const node *parent;
    keyword word;
    mcp_str step;
    size_t index;
    resource *resource;
} place;

static int scan(compiler *c, const mcp_json *value, place at, node **ret);

node *mcp__schema_node_of(const compiler *c, const mcp_json *value)
{
    return mcp__map_get(&c->nodes, (mcp_str){(const char *)&value, sizeof(value)});
}

static int add_node(compiler *c, const mcp_json *value, place at, node **ret)
{
    if (c->subschemas++ >= c->schema->limits.max_subschemas)
        return mcp__schema_refuse(c, MCP_ELIMIT, at.parent, at.word, "more than %zu subschemas",
                                  c->schema->limits.max_subschemas);
    node *n = mcp__arena_alloc(&c->schema->arena, sizeof(*n));
    if (!n)
        return mcp__schema_no_memory(c);
    *n = (node){.value = value,
                .resource = at.resource,
                .parent = at.parent,
                .place = at.word,
                .step = at.step,
                .index = at.index,
                .kind = NODE_OBJECT};
    if (mcp_json_is(value, MCP_JSON_BOOL))
        n->kind = mcp_json_bool(value, true) ? NODE_TRUE : NODE_FALSE;
    int rc = mcp__map_add(&c->nodes, (mcp_str){(const char *)&n->value, sizeof(n->value)}, n);
    if (rc == MCP_ENOMEM)
        return mcp__schema_no_memory(c);
    if (!c->root_done)
        mcp__schema_queue(c, n);
    *ret = n;
    return MCP_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

static int add_anchor(compiler *c, node *n, keyword word, mcp_str name)
{
    excerpt shown;
    mcp_str key;
    int rc = mcp__schema_anchor_key(c, n->resource, name, &key);
    if (!rc)
        rc = mcp__map_add(&c->anchors, key, n);
    if (rc == MCP_ENOMEM)
        return mcp__schema_no_memory(c);
    if (rc == MCP_EEXIST && mcp__map_get(&c->anchors, key) != n)
        return mcp__schema_refuse(c, MCP_EEXIST, n, word, "the anchor \"%s\" is defined twice",
                                  mcp__schema_show(&shown, name));
    return MCP_OK;
}

static bool is_anchor_name(mcp_str s)
{
    bool good = s.len > 0 && (mcp__schema_letter(s.ptr[0]) || s.ptr[0] == '_');
    for (size_t i = 1; good && i < s.len; i++) {
        good = mcp__schema_letter(s.ptr[i]) || mcp__schema_digit(s.ptr[i]) || s.ptr[i] == '-' ||
               s.ptr[i] == '_' || s.ptr[i] == '.';
    }
    return good;
}

static int scan_anchors(compiler *c, node *n, const mcp_json *const *values)
{
    static const keyword words[] = {KW_ANCHOR, KW_DYNAMIC_ANCHOR};
    for (size_t i = 0; i < MCP__COUNT(words); i++) {
        if (!values[words[i]])
            continue;
        mcp_str name = mcp_json_string(values[words[i]]);
        if (!is_anchor_name(name))
            return mcp__schema_refuse(c, MCP_EINVAL, n, words[i], "an anchor is a plain name");
        int rc = add_anchor(c, n, words[i], name);
        if (rc)
            return rc;
        if (words[i] == KW_DYNAMIC_ANCHOR) {
            named_node *d = mcp__arena_alloc(&c->schema->arena, sizeof(*d));
            if (!d)
                return mcp__schema_no_memory(c);
            *d = (named_node){name, n, n->resource->dynamic};
            n->resource->dynamic = d;
            if (n->resource->entered)
                mcp__schema_queue(c, n);
        }
    }
    return MCP_OK;
}

/* Makes the node the root of a resource with that URI. If the document was loaded because of a
 * reference and the URI is in use already, lookups continue to find the earlier resource. */
static int add_resource(compiler *c, node *n, mcp_str uri, unsigned dialect)
{
    excerpt shown;
    resource *r = mcp__arena_alloc(&c->schema->arena, sizeof(*r));
    if (!r)
        return mcp__schema_no_memory(c);
    *r = (resource){.uri = uri, .root = n, .dialect = dialect};
    int rc = mcp__map_add(&c->resources, uri, r);
    if (rc == MCP_ENOMEM)
        return mcp__schema_no_memory(c);
    if (rc == MCP_EEXIST && !c->root_done)
        return mcp__schema_refuse(c, MCP_EEXIST, n, KW_ID, "the URI \"%s\" is defined twice",
                                  mcp__schema_show(&shown, uri));
    n->resource = r;
    return MCP_OK;
}

/* $schema is read only at the root of a resource. */
static int dialect_of(compiler *c, node *n, unsigned *ret)
{
    const mcp_json *value = mcp_json_get(n->value, "$schema");
    if (!value)
        return MCP_OK;
    mcp_str uri = mcp_json_string(value);
    if (!uri.ptr)
        return mcp__schema_refuse(c, MCP_EINVAL, n, KW_SCHEMA, "a string is needed");
    return mcp__schema_find_dialect(c, n, uri, ret);
}

/* The dialect determines how $id is read, and a $schema beside $id determines the dialect. */
static int scan_id(compiler *c, node *n)
{
    const mcp_json *value = mcp_json_get(n->value, "$id");
    unsigned dialect = n->resource->dialect;
    mcp_str id = mcp_json_string(value), without, fragment, uri;
    int rc = value ? dialect_of(c, n, &dialect) : MCP_OK;
    if (rc || !value || (dialect & VOCAB_DRAFT_07 && mcp_json_get(n->value, "$ref")))
        return rc;
    if (!id.ptr)
        return mcp__schema_refuse(c, MCP_EINVAL, n, KW_ID, "a string is needed");
    mcp__schema_split(id, &without, &fragment);
    if (fragment.len && !(dialect & VOCAB_DRAFT_07))
        return mcp__schema_refuse(c, MCP_EINVAL, n, KW_ID,
                                  "a fragment is not allowed; use $anchor");
    if (without.len) {
        rc = mcp__schema_resolve_at(c, n, KW_ID, without, &uri);
        if (rc)
            return rc;
        if (!mcp_str_eq(uri, n->resource->uri))
            rc = add_resource(c, n, uri, dialect);
    }
    return rc || !fragment.len ? rc : add_anchor(c, n, KW_ID, fragment);
}

/* ---- subschemas ------------------------------------------------------------------------------ */

static place below(const node *n, keyword word, mcp_str step, size_t index)
{
    return (place){n, word, step, index, n->resource};
}

static int scan_list(compiler *c, const node *n, keyword word, const mcp_json *list)
{
    mcp_json_iter iter = {0};
    const mcp_json *value;
    node *ignored;
    int rc = MCP_OK;
    if (!mcp_json_is(list, MCP_JSON_ARRAY))
        return mcp__schema_refuse(c, MCP_EINVAL, n, word, "an array of schemas is needed");
    for (size_t i = 0; !rc && (value = mcp_json_next(list, &iter, NULL)); i++)
        rc = scan(c, value, below(n, word, (mcp_str){"", 0}, i), &ignored);
    return rc;
}

static int scan_map(compiler *c, const node *n, keyword word, const mcp_json *map)
{
    keyword_shape shape = mcp__schema_keywords[word].shape;
    mcp_json_iter iter = {0};
    const mcp_json *value;
    mcp_str name;
    node *ignored;
    int rc = MCP_OK;
    if (!mcp_json_is(map, MCP_JSON_OBJECT)) {
        return shape == SHAPE_LENIENT_MAP
                   ? MCP_OK
                   : mcp__schema_refuse(c, MCP_EINVAL, n, word, "an object of schemas is needed");
    }
    while (!rc && (value = mcp_json_next(map, &iter, &name))) {
        mcp_json_type type = mcp_json_typeof(value);
        bool skipped =
            (shape == SHAPE_MAP_OF_SCHEMA_OR_NAMES && type == MCP_JSON_ARRAY) ||
            (shape == SHAPE_LENIENT_MAP && type != MCP_JSON_OBJECT && type != MCP_JSON_BOOL);
        if (!skipped)
            rc = scan(c, value, below(n, word, name, SIZE_MAX), &ignored);
    }
    return rc;
}

static int scan_keyword(compiler *c, const node *n, keyword word, const mcp_json *value)
{
    node *ignored;
    switch (mcp__schema_keywords[word].shape) {
    case SHAPE_PLAIN: return MCP_OK;
    case SHAPE_LIST: return scan_list(c, n, word, value);
    case SHAPE_SCHEMA_OR_LIST:
        if (n->resource->dialect & VOCAB_DRAFT_07 && mcp_json_is(value, MCP_JSON_ARRAY))
            return scan_list(c, n, word, value);
        if (mcp_json_is(value, MCP_JSON_ARRAY))
            return mcp__schema_refuse(
                c, MCP_EINVAL, n, word,
                "one schema is needed; a list of them is prefixItems since 2020-12");
        MCP__FALLTHROUGH;
    case SHAPE_SCHEMA: return scan(c, value, below(n, word, (mcp_str){"", 0}, SIZE_MAX), &ignored);
    case SHAPE_MAP:
    case SHAPE_MAP_OF_SCHEMA_OR_NAMES:
    case SHAPE_LENIENT_MAP: break;
    }
    return scan_map(c, n, word, value);
}

static int scan_object(compiler *c, node *n)
{
    const mcp_json *values[KW_COUNT];
    int rc = scan_id(c, n);
    if (rc)
        return rc;
    mcp__schema_keyword_values(n->value, n->resource->dialect, values);
    rc = scan_anchors(c, n, values);
    for (size_t i = 0; !rc && i < KW_COUNT; i++) {
        if (values[i])
            rc = scan_keyword(c, n, (keyword)i, values[i]);
    }
    return rc;
}

static int scan(compiler *c, const mcp_json *value, place at, node **ret)
{
    mcp_json_type type = mcp_json_typeof(value);
    if (type != MCP_JSON_OBJECT && type != MCP_JSON_BOOL)
        return mcp__schema_refuse(c, MCP_EINVAL, at.parent, at.word,
                                  "a schema is an object or a boolean, not %s",
                                  mcp_json_type_name(type));
    node *n = NULL;
    int rc = add_node(c, value, at, &n);
    if (!n)
        return rc;
    *ret = n;
    return type == MCP_JSON_BOOL ? MCP_OK : scan_object(c, n);
}

int mcp__schema_scan_value(compiler *c, const mcp_json *value, const node *parent, node **ret)
{
    return scan(c, value, below(parent, KW_COUNT, (mcp_str){"", 0}, SIZE_MAX), ret);
}

/* ---- documents ------------------------------------------------------------------------------- */

static int parse(compiler *c, mcp_str text, const mcp_json **ret)
{
    mcp_schema *s = c->schema;
    mcp_json_limits limits = {
        .size = sizeof(limits), .max_bytes = s->limits.max_bytes, .max_depth = DOCUMENT_MAX_DEPTH};
    document *doc = mcp__arena_alloc(&s->arena, sizeof(*doc));
    if (!doc)
        return mcp__schema_no_memory(c);
    int rc = mcp_json_parse(text, &limits, &s->allocator, &doc->json, c->error);
    if (rc)
        return rc;
    doc->next = s->documents;
    s->documents = doc;
    *ret = mcp_json_root(doc->json);
    return MCP_OK;
}

/* If the root has an $id other than the URI under which the document was found, both URIs refer to
 * it. */
int mcp__schema_load(compiler *c, mcp_str text, mcp_str uri, node **ret)
{
    bool old = c->schema->limits.dialect == MCP_SCHEMA_DRAFT_07;
    unsigned dialect = old ? DIALECT_DRAFT_07 : DIALECT_2020_12;
    const mcp_json *value = NULL;
    int rc = parse(c, text, &value);
    if (rc)
        return rc;
    mcp_json_type type = mcp_json_typeof(value);
    if (type != MCP_JSON_OBJECT && type != MCP_JSON_BOOL)
        return mcp__schema_refuse(c, MCP_EINVAL, NULL, KW_COUNT,
                                  "a schema is an object or a boolean, not %s",
                                  mcp_json_type_name(type));
    place at = {.word = KW_COUNT, .index = SIZE_MAX};
    rc = add_node(c, value, at, ret);
    if (!rc)
        rc = dialect_of(c, *ret, &dialect);
    if (!rc)
        rc = add_resource(c, *ret, uri, dialect);
    return rc || type == MCP_JSON_BOOL ? rc : scan_object(c, *ret);
}
