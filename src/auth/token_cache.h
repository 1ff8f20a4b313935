/* token_cache.h: caches the results of token checks.
 *
 * A token is looked up by its HMAC under a random key, and the HMACs are compared in constant time.
 * The token itself is not stored. The size is limited in bytes; the least recently used entries are
 * evicted. Only one thread at a time may use a cache.
 */
#ifndef MCP_SRC_AUTH_TOKEN_CACHE_H
#define MCP_SRC_AUTH_TOKEN_CACHE_H

#include "auth/crypto.h"

enum {
    MCP__TOKEN_CACHE_BYTES = 11 << 20, /* the default limit; with the heap's holes, 16 MiB */
    MCP__TOKEN_CACHE_S = 300,          /* how long an entry is used at most, in seconds */
    MCP__TOKEN_CACHE_ANSWER_S = 60,    /* the same for answers of introspection endpoints */
};

typedef struct mcp__token_cache mcp__token_cache;

typedef struct mcp__token_id {
    unsigned char mac[MCP__SHA256];
} mcp__token_id;

typedef struct mcp__token_cache_options {
    const mcp__crypto *crypto;
    const unsigned char *key;                 /* MCP__SHA256 random bytes; copied */
    size_t max_bytes;                         /* 0 means MCP__TOKEN_CACHE_BYTES */
    void (*release)(void *value, void *user); /* frees a value that is removed */
    void *user;
} mcp__token_cache_options;

/* Returns MCP_OK or MCP_ENOMEM. */
int mcp__token_cache_new(const mcp__token_cache_options *options, const mcp_allocator *allocator,
                         mcp__token_cache **ret);
void mcp__token_cache_free(mcp__token_cache *cache); /* NULL is allowed */

/* Computes the id of a token for a resource, which is named by a number: a token has another id for each.
 * Returns false if libcrypto failed. */
bool mcp__token_cache_id(mcp__token_cache *cache, uint64_t resource, mcp_str token,
                         mcp__token_id *ret);
/* Returns the value of a token, which is borrowed, or NULL. Times are in seconds since 1970. */
void *mcp__token_cache_get(mcp__token_cache *cache, const mcp__token_id *id, int64_t now);
/* Returns the entry of a token that mcp__token_cache_get() has just found, and the generation of the
 * cache. mcp__token_cache_again() then returns the value of that entry as mcp__token_cache_get()
 * would, or NULL if any entry was removed since: each removal begins a new generation. Generations of
 * different caches differ. */
void *mcp__token_cache_entry(const mcp__token_cache *cache, const mcp__token_id *id,
                             uint64_t *generation);
void *mcp__token_cache_again(mcp__token_cache *cache, void *entry, uint64_t generation,
                             int64_t now);
/* Adds or replaces a value of `bytes` bytes. The entry is used until `expires`, but for at most
 * `longest` seconds. Returns MCP_OK if the cache has taken ownership of the value. Otherwise
 * returns MCP_ENOMEM or MCP_ELIMIT (larger than the limit, or expired). */
int mcp__token_cache_put(mcp__token_cache *cache, const mcp__token_id *id, void *value,
                         size_t bytes, int64_t expires, int64_t longest, int64_t now);
/* Removes all entries, for example after a change of keys or rules. */
void mcp__token_cache_clear(mcp__token_cache *cache);
/* Return the number of bytes and of entries. */
size_t mcp__token_cache_bytes(const mcp__token_cache *cache);
size_t mcp__token_cache_count(const mcp__token_cache *cache);

#endif
