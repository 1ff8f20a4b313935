/* compile.c: compiles a document to a program: creates and frees schemas, and keeps the queue of
 * nodes.
 *
 * There are two passes. The scan (scan.c) finds every subschema and its names. Then emit.c makes
 * the instructions of each node in the queue, which may add further nodes to the queue. A queue is
 * used instead of recursion to bound the use of the C stack.
 */
#include <stdio.h>

#include "schema/schema.h"

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_schema_options, max_depth, 512, .maximum = 4096),
    MCP_DEFAULT(mcp_schema_options, max_steps, 4000000),
    MCP_DEFAULT(mcp_schema_options, max_subschemas, 20000),
    MCP_DEFAULT(mcp_schema_options, max_bytes, 4 << 20),
    MCP_DEFAULT(mcp_schema_options, max_pattern, 4096),
    MCP_DEFAULT(mcp_schema_options, pattern_limit, 1000000),
};

int mcp__schema_refuse(compiler *c, int code, const node *at, keyword word, const char *format, ...)
{
    char text[200];
    mcp__buf where;
    va_list args;
    if (!c->error)
        return code;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    mcp__buf_init(&where, &c->schema->allocator, 0);
    if (at)
        mcp__schema_where(&where, at, word);
    mcp__buf_char(&where, '\0');
    mcp__fail(c->error, code, 0, "%s%s%s", where.failed ? "" : where.ptr,
              where.len > 1 && !where.failed ? ": " : "", text);
    mcp__buf_free(&where);
    return code;
}

int mcp__schema_no_memory(compiler *c)
{
    return mcp__fail(c->error, MCP_ENOMEM, 0, "out of memory for a schema");
}

/* ---- the queue ------------------------------------------------------------------------------- */

void mcp__schema_queue(compiler *c, node *n)
{
    if (n->queued)
        return;
    n->queued = true;
    *c->queue_end = n;
    c->queue_end = &n->next;
}

/* Queues all nodes of a resource that have a dynamic anchor, because a $dynamicRef may refer to any
 * of them. */
static void queue_dynamic_anchors(compiler *c, resource *r)
{
    if (r->entered)
        return;
    r->entered = true;
    for (named_node *d = r->dynamic; d; d = d->next)
        mcp__schema_queue(c, d->node);
}

static int compile_node(compiler *c, node *n)
{
    queue_dynamic_anchors(c, n->resource);
    if (n->kind != NODE_OBJECT)
        return MCP_OK;
    c->node = n;
    c->count = 0;
    mcp__schema_keyword_values(n->value, n->resource->dialect, c->values);
    int rc = mcp__schema_emit(c);
    if (rc)
        return rc;
    if (c->count == 0) {
        n->kind = NODE_TRUE;
        return MCP_OK;
    }
    n->code = mcp__arena_alloc(&c->schema->arena, c->count * sizeof(c->code[0]));
    if (!n->code)
        return mcp__schema_no_memory(c);
    memcpy(n->code, c->code, c->count * sizeof(c->code[0]));
    n->count = c->count;
    for (size_t i = 0; i < c->count; i++)
        n->tracks |= c->code[i].op >= OP_UNEVALUATED_ITEMS ? c->code[i].applies : 0;
    return MCP_OK;
}

static int compile_all(compiler *c, mcp_str text)
{
    node *root;
    const char *base = c->schema->limits.base_uri;
    mcp_str uri, fragment;
    mcp__schema_split(mcp_str_from(base), &uri, &fragment);
    uri.ptr = mcp__arena_strdup(&c->schema->arena, uri);
    if (!uri.ptr)
        return mcp__schema_no_memory(c);
    int rc = mcp__schema_load(c, text, uri, &root);
    if (rc)
        return rc;
    c->root_done = true;
    c->schema->root = root;
    for (node *n = c->queue; !rc && n; n = n->next)
        rc = compile_node(c, n);
    return rc;
}

/* ---- creating and freeing -------------------------------------------------------------------- */

static int check_options(const mcp_schema_options *given, mcp_error *error)
{
    mcp_schema_options o;
    return MCP__TAKE_OPTIONAL(&o, given, mcp_schema_options, error);
}

/* Returns the options with defaults filled in. The caller must have checked them. */
static mcp_schema_options effective(const mcp_schema_options *given)
{
    mcp_schema_options o;
    (void)MCP__TAKE_OPTIONAL(&o, given, mcp_schema_options, NULL);
    MCP_SET_DEFAULTS(&o, defaults);
    return o;
}

static mcp_schema *new_schema(const mcp_schema_options *given)
{
    mcp_schema_options o = effective(given);
    const mcp_allocator *a = mcp__allocator(o.allocator);
    mcp_schema *s = mcp__zalloc(a, sizeof(*s));
    if (!s)
        return NULL;
    s->allocator = *a;
    s->limits = o;
    s->limits.allocator = NULL; /* the caller's struct, which is no longer needed */
    atomic_init(&s->spare, NULL);
    mcp__arena_init(&s->arena, &s->allocator, NULL, 0);
    return s;
}

void mcp_schema_free(mcp_schema *schema)
{
    if (!schema)
        return;
    mcp_allocator a = schema->allocator;
    mcp__schema_patterns_free(schema);
    for (document *d = schema->documents; d; d = d->next)
        mcp_json_free(d->json);
    mcp__arena_free(&schema->arena);
    mcp__release(&a, schema);
}

int mcp_schema_compile_text(const mcp_schema_set *set, mcp_str text,
                            const mcp_schema_options *options, mcp_schema **ret, mcp_error *error)
{
    mcp__no_error(error);
    if (!ret || (!text.ptr && text.len))
        return mcp__fail(error, MCP_EINVAL, 0,
                         "mcp_schema_compile_text() needs a text and a result");
    int rc = check_options(options, error);
    if (rc != MCP_OK)
        return rc;
    mcp_schema *s = new_schema(options);
    if (!s)
        return mcp__fail(error, MCP_ENOMEM, 0, "out of memory for a schema");
    compiler c = {.schema = s, .set = set, .error = error};
    c.queue_end = &c.queue;
    mcp__map_init(&c.nodes, &s->allocator, 0, 0);
    mcp__map_init(&c.resources, &s->allocator, 0, 0);
    mcp__map_init(&c.anchors, &s->allocator, 0, 0);
    rc = compile_all(&c, text);
    mcp__map_free(&c.nodes);
    mcp__map_free(&c.resources);
    mcp__map_free(&c.anchors);
    s->limits.base_uri = NULL;
    if (rc) {
        mcp_schema_free(s);
        return rc;
    }
    *ret = s;
    return MCP_OK;
}

int mcp_schema_compile(const mcp_schema_set *set, const mcp_json *schema,
                       const mcp_schema_options *options, mcp_schema **ret, mcp_error *error)
{
    mcp__no_error(error);
    if (!ret || !schema)
        return mcp__fail(error, MCP_EINVAL, 0, "mcp_schema_compile() needs a schema and a result");
    int rc = check_options(options, error);
    if (rc != MCP_OK)
        return rc;
    mcp_schema_options o = effective(options);
    mcp__buf text;
    mcp__buf_init(&text, mcp__allocator(o.allocator), o.max_bytes);
    mcp__json_put_value(&text, schema);
    rc = text.failed;
    if (rc)
        mcp__fail(error, rc, 0,
                  rc == MCP_ELIMIT ? "the schema is over the limit of %zu bytes"
                                   : "out of memory for a schema of up to %zu bytes",
                  o.max_bytes);
    else
        rc = mcp_schema_compile_text(set, mcp__buf_view(&text), options, ret, error);
    mcp__buf_free(&text);
    return rc;
}
