/* cache.c: the cache of fresh results (2026-07-28, server/utilities/caching). Results are stored as
 * JSON text, so that their size is known exactly. The least recently used result is evicted first.
 *
 * A result is not cached if any change was announced between the request and its answer, because
 * the server may have made the result before or after the change.
 */
#include "client/client.h"

enum {
    LONGEST_MS = 24 * 60 * 60 * 1000,
    OVERHEAD = 64, /* estimated memory of an entry in the map, in bytes */
    SHARE = 4,     /* a result is cached if its text is at most 1/SHARE of the limit */
};

typedef struct entry {
    mcp__link link; /* in cache.recent */
    mcp_str key;    /* method, params and authorization; allocated after the struct */
    mcp_str method;
    mcp_str name; /* the URI, for resources/read */
    mcp_str text;
    int64_t until;
    size_t bytes;
} entry;

/* Returns the change that makes results of a method stale, or -1 if they are not cached. */
static int change_of(mcp_str method)
{
    switch (mcp__method_find(method)) {
    case MCP__METHOD_LIST_TOOLS: return MCP_CHANGE_TOOLS;
    case MCP__METHOD_LIST_PROMPTS: return MCP_CHANGE_PROMPTS;
    case MCP__METHOD_LIST_RESOURCES:
    case MCP__METHOD_LIST_TEMPLATES: return MCP_CHANGE_RESOURCES;
    case MCP__METHOD_READ: return MCP_CHANGE_RESOURCE;
    default: return -1;
    }
}

void mcp__cache_init(mcp_client *client, size_t limit)
{
    mcp__cache *cache = &client->cache;
    mcp__map_init(&cache->entries, client->allocator, (uintptr_t)client, 3);
    mcp__list_init(&cache->recent);
    cache->limit = limit;
}

static entry *entry_of(mcp__link *l)
{
    return mcp__container(l, entry, link);
}

static void drop(mcp_client *client, entry *e)
{
    client->cache.bytes -= e->bytes;
    mcp__list_remove(&e->link);
    mcp__map_remove(&client->cache.entries, e->key);
    mcp__release(client->allocator, e);
}

void mcp__cache_free(mcp_client *client)
{
    mcp__cache *cache = &client->cache;
    while (!mcp__list_empty(&cache->recent))
        drop(client, entry_of(cache->recent.next));
    mcp__map_free(&cache->entries);
    mcp__cache_init(client, 0);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static bool is_cacheable(const mcp__call *call)
{
    const mcp_client *client = call->client;
    return client->cache.limit && client->revision && client->revision->caching &&
           !call->no_store && !call->ping && change_of(call->method) >= 0;
}

/* Appends the key of a result. `own` is true for a result that only this authorization may see. */
static void put_key(mcp__buf *b, const mcp__call *call, bool own)
{
    const char *principal = call->client->connection.principal;
    mcp__buf_str(b, call->method);
    mcp__buf_char(b, 0);
    mcp__buf_str(b, mcp__buf_view(&call->params));
    mcp__buf_char(b, 0);
    mcp__buf_char(b, own ? 'o' : 'p');
    if (own && principal)
        mcp__buf_char(b, ':'), mcp__buf_str(b, mcp_str_from(principal));
}

static entry *find(const mcp__call *call, bool own)
{
    mcp_client *client = call->client;
    mcp__buf b;
    mcp__buf_init(&b, client->allocator, 0);
    put_key(&b, call, own);
    entry *e = b.failed ? NULL : mcp__map_get(&client->cache.entries, mcp__buf_view(&b));
    mcp__buf_free(&b);
    if (e && e->until <= mcp__client_now(client)) {
        drop(client, e);
        e = NULL;
    }
    return e;
}

static entry *lookup(const mcp__call *call)
{
    if (!call->client->cache.entries.count || call->options.no_cache || !is_cacheable(call))
        return NULL;
    entry *e = find(call, true);
    return e ? e : find(call, false);
}

bool mcp__cache_has(const mcp__call *call)
{
    return lookup(call) != NULL;
}

mcp_json_doc *mcp__cache_get(mcp__call *call)
{
    mcp_client *client = call->client;
    mcp_json_doc *doc = NULL;
    entry *e = lookup(call);
    if (!e)
        return NULL;
    mcp_json_limits limits = {
        .size = sizeof(limits), .max_bytes = e->text.len, .max_depth = MCP__JSON_DEEPEST};
    mcp__list_remove(&e->link);
    mcp__list_append(&client->cache.recent, &e->link);
    return mcp_json_parse(e->text, &limits, client->allocator, &doc, NULL) == MCP_OK ? doc : NULL;
}

/* ---- storing -------------------------------------------------------------------------------- */

static entry *entry_new(const mcp__call *call, const mcp__buf *key, const mcp__buf *text)
{
    size_t method = call->method.len, name = call->name.len;
    entry *e =
        mcp__alloc(call->client->allocator, sizeof(*e) + key->len + method + name + text->len);
    if (!e)
        return NULL;
    char *at = (char *)(e + 1);
    *e = (entry){.key = {at, key->len},
                 .method = {at + key->len, method},
                 .name = {at + key->len + method, name},
                 .text = {at + key->len + method + name, text->len}};
    memcpy(at, key->ptr, key->len);
    memcpy(at + key->len, call->method.ptr, method);
    memcpy(at + key->len + method, call->name.ptr, name);
    memcpy(at + key->len + method + name, text->ptr, text->len);
    e->bytes = sizeof(*e) + key->len + method + name + text->len + OVERHEAD;
    mcp__list_init(&e->link);
    return e;
}

static void insert(mcp_client *client, entry *e)
{
    mcp__cache *cache = &client->cache;
    entry *old = mcp__map_get(&cache->entries, e->key);
    if (old)
        drop(client, old);
    while (cache->bytes + e->bytes > cache->limit)
        drop(client, entry_of(cache->recent.next));
    if (mcp__map_add(&cache->entries, e->key, e) != MCP_OK) {
        mcp__release(client->allocator, e); /* not cached; it will be requested again */
        return;
    }
    mcp__list_append(&cache->recent, &e->link);
    cache->bytes += e->bytes;
}

void mcp__cache_put(mcp__call *call, const mcp_json *result)
{
    mcp_client *client = call->client;
    int64_t ttl = mcp_json_int(mcp_json_get(result, "ttlMs"), 0);
    mcp_str scope = mcp_json_string(mcp_json_get(result, "cacheScope"));
    if (ttl <= 0 || !is_cacheable(call) || call->changes != client->learnt.changes)
        return;
    mcp__buf key, text;
    mcp__buf_init(&key, client->allocator, 0);
    mcp__buf_init(&text, client->allocator, client->cache.limit / SHARE);
    put_key(&key, call, !mcp_str_eq(scope, MCP_STR("public")));
    mcp__json_put_value(&text, result);
    entry *e = key.failed || text.failed ? NULL : entry_new(call, &key, &text);
    if (e && e->bytes > client->cache.limit) {
        mcp__release(client->allocator, e);
    } else if (e) {
        e->until = mcp__client_now(client) + MCP__MIN(ttl, (int64_t)LONGEST_MS);
        insert(client, e);
    }
    mcp__buf_free(&key);
    mcp__buf_free(&text);
}

/* ---- invalidation --------------------------------------------------------------------------- */

static bool is_stale(const entry *e, mcp_change change, mcp_str uri)
{
    return change_of(e->method) == (int)change &&
           (change != MCP_CHANGE_RESOURCE || mcp_str_eq(e->name, uri));
}

void mcp__cache_changed(mcp_client *client, mcp_change change, mcp_str uri)
{
    client->learnt.changes++;
    for (mcp__link *l = client->cache.recent.next; l != &client->cache.recent;) {
        entry *e = entry_of(l);
        l = l->next;
        if (is_stale(e, change, uri))
            drop(client, e);
    }
}

void mcp__cache_drop(mcp_client *client, mcp_str method)
{
    for (mcp__link *l = client->cache.recent.next; l != &client->cache.recent;) {
        entry *e = entry_of(l);
        l = l->next;
        if (mcp_str_eq(e->method, method))
            drop(client, e);
    }
}
