/* token_cache.c: see token_cache.h. The cache is a hash table with chains. All entries are also in
 * a list, in the order of their last use. */
#include <stdatomic.h>

#include "auth/token_cache.h"

enum {
    FIRST_BUCKETS = 64,
    BLOCK = 16, /* the overhead of an allocation, in bytes */
};

typedef struct entry {
    struct entry *next; /* in its chain */
    mcp__link link;
    mcp__token_id id;
    void *value;
    size_t cost;
    int64_t until;
} entry;

struct mcp__token_cache {
    mcp__token_cache_options options;
    mcp_allocator allocator;
    EVP_MAC_CTX *mac; /* initialized with the key */
    entry **buckets;
    size_t n_buckets; /* a power of two */
    size_t count, bytes;
    uint64_t generation; /* changes whenever an entry is removed; 0 is never used */
    mcp__link used;
};

/* The last generation of all caches of the process. */
static atomic_uint_fast64_t generations;

static void begin_generation(mcp__token_cache *cache)
{
    cache->generation = atomic_fetch_add_explicit(&generations, 1, memory_order_relaxed) + 1;
}

static entry **bucket_of(const mcp__token_cache *cache, const mcp__token_id *id)
{
    size_t hash;
    memcpy(&hash, id->mac, sizeof(hash));
    return &cache->buckets[hash & (cache->n_buckets - 1)];
}

/* Returns the entry, or NULL. */
static entry *find(const mcp__token_cache *cache, const mcp__token_id *id)
{
    entry *e = *bucket_of(cache, id);
    while (e && cache->options.crypto->CRYPTO_memcmp(e->id.mac, id->mac, MCP__SHA256) != 0)
        e = e->next;
    return e;
}

static void drop(mcp__token_cache *cache, entry *e)
{
    entry **at = bucket_of(cache, &e->id);
    while (*at && *at != e)
        at = &(*at)->next;
    if (*at)
        *at = e->next;
    mcp__list_remove(&e->link);
    begin_generation(cache);
    cache->count--;
    cache->bytes -= e->cost;
    cache->options.release(e->value, cache->options.user);
    mcp__release(&cache->allocator, e);
}

static void drop_oldest(mcp__token_cache *cache)
{
    drop(cache, mcp__container(cache->used.next, entry, link));
}

static size_t table_bytes(size_t buckets)
{
    return buckets * sizeof(entry *) + BLOCK;
}

/* Doubles the number of chains. Does nothing if out of memory, so that the chains get longer. */
static void grow(mcp__token_cache *cache)
{
    size_t n = 2 * cache->n_buckets;
    if (cache->count < cache->n_buckets || cache->bytes + table_bytes(n) > cache->options.max_bytes)
        return;
    entry **buckets = mcp__zalloc(&cache->allocator, n * sizeof(entry *));
    if (!buckets)
        return;
    mcp__release(&cache->allocator, cache->buckets);
    cache->bytes += table_bytes(n) - table_bytes(cache->n_buckets);
    cache->buckets = buckets;
    cache->n_buckets = n;
    for (mcp__link *at = cache->used.next; at != &cache->used; at = at->next) {
        entry *e = mcp__container(at, entry, link);
        entry **bucket = bucket_of(cache, &e->id);
        e->next = *bucket;
        *bucket = e;
    }
}

/* Returns an HMAC that can be used for any number of texts. Preparing the key takes longer than
 * computing the HMAC of a token. Returns NULL if libcrypto fails. */
static EVP_MAC_CTX *make_mac(const mcp__crypto *c, const unsigned char *key)
{
    char digest[] = "SHA256";
    EVP_MAC *hmac = c->EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *mac = hmac ? c->EVP_MAC_CTX_new(hmac) : NULL;
    OSSL_PARAM params[] = {
        c->OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        c->OSSL_PARAM_construct_end(),
    };
    c->EVP_MAC_free(hmac); /* the context has a reference of its own */
    if (mac && c->EVP_MAC_init(mac, key, MCP__SHA256, params) == 1)
        return mac;
    c->EVP_MAC_CTX_free(mac);
    return NULL;
}

int mcp__token_cache_new(const mcp__token_cache_options *options, const mcp_allocator *allocator,
                         mcp__token_cache **ret)
{
    const mcp_allocator *a = mcp__allocator(allocator);
    mcp__token_cache *cache = mcp__zalloc(a, sizeof(*cache));
    if (!cache)
        return MCP_ENOMEM;
    cache->options = *options;
    cache->options.key = NULL;
    if (!cache->options.max_bytes)
        cache->options.max_bytes = MCP__TOKEN_CACHE_BYTES;
    cache->allocator = *a;
    mcp__list_init(&cache->used);
    begin_generation(cache);
    cache->n_buckets = FIRST_BUCKETS;
    cache->bytes = table_bytes(FIRST_BUCKETS);
    cache->buckets = mcp__zalloc(a, FIRST_BUCKETS * sizeof(entry *));
    cache->mac = cache->buckets ? make_mac(options->crypto, options->key) : NULL;
    if (!cache->mac) {
        mcp__token_cache_free(cache);
        return MCP_ENOMEM;
    }
    *ret = cache;
    return MCP_OK;
}

void mcp__token_cache_clear(mcp__token_cache *cache)
{
    while (cache->count)
        drop_oldest(cache);
}

void mcp__token_cache_free(mcp__token_cache *cache)
{
    if (!cache)
        return;
    mcp_allocator a = cache->allocator;
    mcp__token_cache_clear(cache);
    cache->options.crypto->EVP_MAC_CTX_free(cache->mac);
    mcp__release(&a, cache->buckets);
    mcp__release(&a, cache);
}

bool mcp__token_cache_id(mcp__token_cache *cache, uint64_t resource, mcp_str token,
                         mcp__token_id *ret)
{
    const mcp__crypto *c = cache->options.crypto;
    unsigned char number[sizeof(resource)];
    size_t len;
    memcpy(number, &resource, sizeof(number));
    return c->EVP_MAC_init(cache->mac, NULL, 0, NULL) == 1 &&
           c->EVP_MAC_update(cache->mac, number, sizeof(number)) == 1 &&
           c->EVP_MAC_update(cache->mac, (const unsigned char *)token.ptr, token.len) == 1 &&
           c->EVP_MAC_final(cache->mac, ret->mac, &len, sizeof(ret->mac)) == 1;
}

/* Returns the value of an entry. If it has expired, removes the entry and returns NULL. */
static void *use(mcp__token_cache *cache, entry *e, int64_t now)
{
    if (now >= e->until) {
        drop(cache, e);
        return NULL;
    }
    mcp__list_remove(&e->link);
    mcp__list_append(&cache->used, &e->link);
    return e->value;
}

void *mcp__token_cache_get(mcp__token_cache *cache, const mcp__token_id *id, int64_t now)
{
    entry *e = find(cache, id);
    return e ? use(cache, e, now) : NULL;
}

void *mcp__token_cache_entry(const mcp__token_cache *cache, const mcp__token_id *id,
                             uint64_t *generation)
{
    *generation = cache->generation;
    return find(cache, id);
}

void *mcp__token_cache_again(mcp__token_cache *cache, void *found, uint64_t generation, int64_t now)
{
    return found && generation == cache->generation ? use(cache, found, now) : NULL;
}

int mcp__token_cache_put(mcp__token_cache *cache, const mcp__token_id *id, void *value,
                         size_t bytes, int64_t expires, int64_t longest, int64_t now)
{
    size_t room = cache->options.max_bytes, fixed = table_bytes(cache->n_buckets);
    size_t cost = sizeof(entry) + 2 * BLOCK;
    if (now >= expires || longest <= 0 || bytes > room || cost + bytes + fixed > room)
        return MCP_ELIMIT;
    entry *e = mcp__zalloc(&cache->allocator, sizeof(*e));
    if (!e)
        return MCP_ENOMEM;
    e->cost = cost + bytes;
    e->id = *id;
    e->value = value;
    e->until = MCP__MIN(expires, now + longest);
    entry *same = find(cache, id);
    if (same)
        drop(cache, same);
    while (cache->bytes + e->cost > room)
        drop_oldest(cache);
    entry **bucket = bucket_of(cache, id);
    e->next = *bucket;
    *bucket = e;
    mcp__list_append(&cache->used, &e->link);
    cache->count++;
    cache->bytes += e->cost;
    grow(cache);
    return MCP_OK;
}

size_t mcp__token_cache_bytes(const mcp__token_cache *cache)
{
    return cache->bytes;
}

size_t mcp__token_cache_count(const mcp__token_cache *cache)
{
    return cache->count;
}
