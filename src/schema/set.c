/* set.c: documents by URI. A set stores only texts; each compilation parses its own copies. */
#include "schema/schema.h"

enum { SET_MAX_DEPTH = 128 };

int mcp_schema_set_new(const mcp_allocator *allocator, mcp_schema_set **ret)
{
    if (!ret)
        return MCP_EINVAL;
    const mcp_allocator *a = mcp__allocator(allocator);
    mcp_schema_set *set = mcp__zalloc(a, sizeof(*set));
    if (!set)
        return MCP_ENOMEM;
    set->allocator = *a;
    mcp__arena_init(&set->arena, &set->allocator, NULL, 0);
    mcp__map_init(&set->by_uri, &set->allocator, 0, 0);
    *ret = set;
    return MCP_OK;
}

void mcp_schema_set_free(mcp_schema_set *set)
{
    if (!set)
        return;
    mcp_allocator a = set->allocator;
    mcp__map_free(&set->by_uri);
    mcp__release(&a, set->entries);
    mcp__arena_free(&set->arena);
    mcp__release(&a, set);
}

static mcp_str copy(mcp__arena *arena, mcp_str s)
{
    return (mcp_str){mcp__arena_strdup(arena, s), s.len};
}

/* Makes room for one more entry, so that adding it later cannot fail. */
static int reserve(mcp_schema_set *set)
{
    if (set->count < set->cap)
        return MCP_OK;
    size_t cap = set->cap ? 2 * set->cap : 8;
    set_entry **grown = mcp__resize(&set->allocator, set->entries, cap * sizeof(*grown));
    if (!grown)
        return MCP_ENOMEM;
    set->entries = grown;
    set->cap = cap;
    return MCP_OK;
}

static int add(mcp_schema_set *set, mcp_str uri, mcp_str text, const mcp_json *root)
{
    set_entry *entry = mcp__arena_alloc(&set->arena, sizeof(*entry));
    mcp_str id = mcp_json_string(mcp_json_get(root, "$id"));
    if (!entry || reserve(set))
        return MCP_ENOMEM;
    *entry = (set_entry){.uri = copy(&set->arena, uri), .text = copy(&set->arena, text)};
    entry->id = entry->uri;
    if (!entry->uri.ptr || !entry->text.ptr)
        return MCP_ENOMEM;
    int rc = id.len ? mcp__schema_resolve(&set->arena, uri, id, &entry->id) : MCP_OK;
    if (rc)
        return rc;
    rc = mcp__map_add(&set->by_uri, entry->uri, entry);
    if (rc)
        return rc;
    /* The document can also be found by its own $id. If that URI belongs to another document
     * already, it stays with that document. */
    if (mcp__map_add(&set->by_uri, entry->id, entry) == MCP_ENOMEM) {
        mcp__map_remove(&set->by_uri, entry->uri);
        return MCP_ENOMEM;
    }
    set->entries[set->count++] = entry;
    return MCP_OK;
}

int mcp_schema_set_add(mcp_schema_set *set, mcp_str uri, mcp_str text, mcp_error *error)
{
    mcp__no_error(error);
    mcp_str fragment;
    excerpt name;
    if (!set || uri.len == 0)
        return mcp__fail(error, MCP_EINVAL, 0, "mcp_schema_set_add() needs a set and a URI");
    mcp__schema_split(uri, &uri, &fragment);
    if (uri.len > SCHEMA_MAX_URI)
        return mcp__fail(error, MCP_ELIMIT, 0, "the URI is over the limit of %d bytes",
                         SCHEMA_MAX_URI);
    if (fragment.len)
        return mcp__fail(error, MCP_EINVAL, 0,
                         "a document is registered without a fragment, not \"#%s\"",
                         mcp__schema_show(&name, fragment));
    mcp_json_doc *doc = NULL;
    mcp_json_limits limits = {.size = sizeof(limits), .max_depth = SET_MAX_DEPTH};
    int rc = mcp_json_parse(text, &limits, &set->allocator, &doc, error);
    if (rc)
        return rc;
    rc = add(set, uri, text, mcp_json_root(doc));
    mcp_json_free(doc);
    if (rc)
        mcp__fail(error, rc, 0,
                  rc == MCP_EEXIST   ? "the URI %s is registered already"
                  : rc == MCP_ELIMIT ? "the URI %s or the $id in the document is too long"
                                     : "out of memory for %s",
                  mcp__schema_show(&name, uri));
    return rc;
}
