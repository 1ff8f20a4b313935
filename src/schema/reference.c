/* reference.c: resolves $ref, $dynamicRef and $schema to their targets.
 *
 * A URI is looked up first in the documents that are loaded, beginning with the schema itself, then
 * in the set, then among the built-in documents. If it is not found, all documents of the set are
 * loaded, because one of them may contain a subschema with this $id.
 */
#include "schema/schema.h"

/* Finds the document at that URI and loads it if necessary. *ret stays NULL if there is none. */
static int load_by_uri(compiler *c, mcp_str uri, resource **ret)
{
    node *root;
    mcp_str text = mcp__schema_builtin(uri);
    const set_entry *entry = c->set ? mcp__map_get(&c->set->by_uri, uri) : NULL;
    if (entry) {
        text = entry->text;
        uri = entry->uri;
    }
    if (!text.len)
        return MCP_OK;
    *ret = mcp__map_get(&c->resources, uri);
    if (*ret)
        return MCP_OK;
    int rc = mcp__schema_load(c, text, uri, &root);
    if (!rc)
        *ret = root->resource;
    return rc;
}

static int load_all(compiler *c)
{
    int rc = MCP_OK;
    for (size_t i = 0; c->set && !c->all_loaded && !rc && i < c->set->count; i++) {
        const set_entry *entry = c->set->entries[i];
        node *root;
        if (!mcp__map_get(&c->resources, entry->uri))
            rc = mcp__schema_load(c, entry->text, entry->uri, &root);
    }
    c->all_loaded = true;
    return rc;
}

static int find_resource(compiler *c, mcp_str uri, resource **ret)
{
    *ret = mcp__map_get(&c->resources, uri);
    int rc = *ret ? MCP_OK : load_by_uri(c, uri, ret);
    if (!rc && !*ret) {
        rc = load_all(c);
        *ret = mcp__map_get(&c->resources, uri);
    }
    return rc;
}

/* ---- fragments ------------------------------------------------------------------------------- */

/* Decodes "%XX" into the arena. */
static int decode(compiler *c, mcp_str s, mcp_str *ret)
{
    char *to = mcp__arena_alloc(&c->schema->arena, s.len + 1);
    size_t len = 0;
    if (!to)
        return MCP_ENOMEM;
    int rc = s.len ? mcp_uri_decode(s, to, s.len, &len) : MCP_OK;
    *ret = (mcp_str){to, len};
    return rc;
}

/* Decodes "~1" and "~0" in place. */
static mcp_str unescape(char *step, size_t len)
{
    size_t to = 0;
    for (size_t i = 0; i < len; i++) {
        char ch = step[i];
        if (ch == '~' && i + 1 < len && (step[i + 1] == '0' || step[i + 1] == '1'))
            ch = step[++i] == '0' ? '~' : '/';
        step[to++] = ch;
    }
    return (mcp_str){step, to};
}

static bool array_index(mcp_str step, size_t *ret)
{
    size_t n = 0;
    bool good = step.len > 0 && step.len < 10 && (step.len == 1 || step.ptr[0] != '0');
    for (size_t i = 0; good && i < step.len; i++) {
        good = mcp__schema_digit(step.ptr[i]);
        n = n * 10 + (size_t)(step.ptr[i] - '0');
    }
    *ret = n;
    return good;
}

static const mcp_json *step_into(const mcp_json *value, mcp_str step)
{
    size_t i;
    if (mcp_json_is(value, MCP_JSON_OBJECT))
        return mcp_json_get_str(value, step);
    return array_index(step, &i) ? mcp_json_at(value, i) : NULL;
}

/* Follows a JSON Pointer, which is unescaped in place. The path may lead through values that are
 * not schemas. The last schema on the path gives the base URI. */
static int walk(compiler *c, node *from, mcp_str pointer, node **ret)
{
    const mcp_json *value = from->value;
    const node *around = from;
    char *at = (char *)(uintptr_t)pointer.ptr, *end = at + pointer.len;
    while (value && at < end) {
        char *start = ++at; /* after the slash */
        at = memchr(start, '/', (size_t)(end - start));
        at = at ? at : end;
        value = step_into(value, unescape(start, (size_t)(at - start)));
        node *passed = value ? mcp__schema_node_of(c, value) : NULL;
        around = passed ? passed : around;
    }
    *ret = value ? mcp__schema_node_of(c, value) : NULL;
    return value && !*ret ? mcp__schema_scan_value(c, value, around, ret) : MCP_OK;
}

/* The key is the address of the resource, followed by the name. */
int mcp__schema_anchor_key(compiler *c, const resource *r, mcp_str name, mcp_str *ret)
{
    char *key = mcp__arena_alloc(&c->schema->arena, sizeof(r) + name.len);
    if (!key)
        return MCP_ENOMEM;
    memcpy(key, &r, sizeof(r));
    memcpy(key + sizeof(r), name.ptr, name.len);
    *ret = (mcp_str){key, sizeof(r) + name.len};
    return MCP_OK;
}

static int find_anchor(compiler *c, const resource *r, mcp_str name, node **ret)
{
    mcp_str key;
    if (mcp__schema_anchor_key(c, r, name, &key))
        return mcp__schema_no_memory(c);
    *ret = mcp__map_get(&c->anchors, key);
    return MCP_OK;
}

int mcp__schema_resolve_at(compiler *c, const node *at, keyword word, mcp_str reference,
                           mcp_str *ret)
{
    int rc = mcp__schema_resolve(&c->schema->arena, at->resource->uri, reference, ret);
    if (rc == MCP_ELIMIT)
        return mcp__schema_refuse(c, rc, at, word, "a URI is over the limit of %d bytes",
                                  SCHEMA_MAX_URI);
    return rc ? mcp__schema_no_memory(c) : MCP_OK;
}

/* A reference that is only a fragment refers to its own resource. That resource is not looked up by
 * its URI, because a document of the set may have the same URI. */
static int find_target(compiler *c, const node *from, keyword word, mcp_str without, resource **ret)
{
    mcp_str uri;
    if (without.len == 0) {
        *ret = from->resource;
        return MCP_OK;
    }
    int rc = mcp__schema_resolve_at(c, from, word, without, &uri);
    if (!rc)
        rc = find_resource(c, uri, ret);
    /* A lookup by the URI under which a document was found, and a lookup by its own $id, give the
     * same resource. */
    if (!rc && *ret)
        *ret = (*ret)->root->resource;
    return rc;
}

int mcp__schema_find(compiler *c, const node *from, keyword word, mcp_str reference, node **ret,
                     mcp_str *anchor)
{
    mcp_str without, fragment;
    resource *r = NULL;
    node *found = NULL;
    excerpt shown;
    mcp__schema_split(reference, &without, &fragment);
    int rc = find_target(c, from, word, without, &r);
    if (rc)
        return rc;
    *anchor = (mcp_str){"", 0};
    rc = decode(c, fragment, &fragment);
    if (rc == MCP_ENOMEM)
        return mcp__schema_no_memory(c);
    if (!rc && r && fragment.len == 0)
        found = r->root;
    else if (!rc && r && fragment.ptr[0] == '/')
        rc = walk(c, r->root, fragment, &found);
    else if (!rc && r) {
        *anchor = fragment;
        rc = find_anchor(c, r, fragment, &found);
    }
    if (rc && rc != MCP_EPARSE)
        return rc;
    if (!found)
        return mcp__schema_refuse(c, MCP_ENOTFOUND, from, word,
                                  "the target \"%s\" does not exist%s",
                                  mcp__schema_show(&shown, reference),
                                  r ? "" : "; documents are not fetched but must be registered");
    *ret = found;
    return MCP_OK;
}

/* ---- dialects -------------------------------------------------------------------------------- */

static int read_vocabularies(compiler *c, const node *at, const mcp_json *vocabularies,
                             unsigned *ret)
{
    mcp_json_iter iter = {0};
    const mcp_json *required;
    mcp_str uri;
    excerpt shown;
    unsigned dialect = VOCAB_2020_12;
    while ((required = mcp_json_next(vocabularies, &iter, &uri))) {
        unsigned bit = mcp__schema_vocabulary(uri);
        if (!bit && mcp_json_bool(required, true))
            return mcp__schema_refuse(c, MCP_EUNSUPPORTED, at, KW_SCHEMA,
                                      "the vocabulary \"%s\" is required and not known",
                                      mcp__schema_show(&shown, uri));
        dialect |= bit;
    }
    *ret = dialect;
    return MCP_OK;
}

enum { LONGEST_DIALECT_CHAIN = 8 };

/* A metaschema without $vocabulary has the vocabularies of its own metaschema. */
static int find_dialect(compiler *c, const node *at, mcp_str uri, unsigned tries, unsigned *ret)
{
    mcp_str without, fragment;
    excerpt shown;
    mcp_json_doc *doc = NULL;
    mcp__schema_split(uri, &without, &fragment);
    *ret = fragment.len ? 0 : mcp__schema_dialect(without);
    if (*ret)
        return MCP_OK;
    const set_entry *entry =
        c->set && !fragment.len ? mcp__map_get(&c->set->by_uri, without) : NULL;
    if (!entry || tries == 0)
        return mcp__schema_refuse(
            c, MCP_EUNSUPPORTED, at, KW_SCHEMA,
            "the dialect \"%s\" is not known; 2020-12 and draft-07 are, and what "
            "is registered",
            mcp__schema_show(&shown, uri));
    mcp_json_limits limits = {.size = sizeof(limits), .max_depth = MCP__JSON_DEEPEST};
    int rc = mcp_json_parse(entry->text, &limits, &c->schema->allocator, &doc, c->error);
    if (rc)
        return rc;
    const mcp_json *root = mcp_json_root(doc);
    const mcp_json *vocabularies = mcp_json_get(root, "$vocabulary");
    mcp_str next = mcp_json_string(mcp_json_get(root, "$schema"));
    rc = vocabularies ? read_vocabularies(c, at, vocabularies, ret)
                      : find_dialect(c, at, next, tries - 1, ret);
    mcp_json_free(doc);
    return rc;
}

int mcp__schema_find_dialect(compiler *c, const node *at, mcp_str uri, unsigned *ret)
{
    return find_dialect(c, at, uri, LONGEST_DIALECT_CHAIN, ret);
}
