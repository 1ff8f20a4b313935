/* jwk_set.c: sets of keys; see jwk.h. */
#include "auth/jwk.h"

static int add_keys(const mcp__crypto *crypto, const mcp_json *keys, mcp__jwk_set *set,
                    mcp_error *error)
{
    mcp_json_iter iter = {0};
    for (const mcp_json *jwk; (jwk = mcp_json_next(keys, &iter, NULL));) {
        int rc =
            mcp__jwk_read(crypto, jwk, MCP__JWK_VERIFY, &set->allocator, &set->keys[set->n], error);
        if (rc == MCP_ENOMEM)
            return rc;
        if (rc == MCP_OK)
            set->n++;
        else
            set->skipped++;
    }
    if (!set->n && !set->skipped)
        return mcp__fail(error, MCP_EINVAL, 0, "the key set is empty");
    if (!set->n)
        return MCP_EINVAL; /* *error is that of the last key */
    mcp__no_error(error);
    return MCP_OK;
}

static int read_set(const mcp__crypto *crypto, const mcp_json *root, mcp__jwk_set *set,
                    mcp_error *error)
{
    const mcp_json *keys = mcp_json_get(root, "keys");
    if (!mcp_json_is(root, MCP_JSON_OBJECT) || !mcp_json_is(keys, MCP_JSON_ARRAY))
        return mcp__fail(error, MCP_EPARSE, 0,
                         "a key set must be an object with an array \"keys\"");
    if (mcp_json_count(keys) > MCP__JWK_SET_KEYS)
        return mcp__fail(error, MCP_ELIMIT, 0, "the key set has more than %d keys",
                         MCP__JWK_SET_KEYS);
    return add_keys(crypto, keys, set, error);
}

int mcp__jwk_set_read(const mcp__crypto *crypto, mcp_str text, const mcp_allocator *allocator,
                      mcp__jwk_set **ret, mcp_error *error)
{
    const mcp_allocator *a = mcp__allocator(allocator);
    mcp_json_doc *doc;
    if (text.len > MCP__JWK_SET_BYTES)
        return mcp__fail(error, MCP_ELIMIT, 0, "the key set is longer than %d bytes",
                         MCP__JWK_SET_BYTES);
    int rc = mcp_json_parse(text, NULL, a, &doc, error);
    if (rc != MCP_OK)
        return rc;
    mcp__jwk_set *set = mcp__zalloc(a, sizeof(*set));
    if (set) {
        set->allocator = *a;
        set->refs = 1;
        rc = read_set(crypto, mcp_json_root(doc), set, error);
    } else {
        rc = mcp__fail(error, MCP_ENOMEM, 0, "no memory for a key set");
    }
    mcp_json_free(doc);
    if (rc == MCP_OK)
        *ret = set;
    else
        mcp__jwk_set_unref(set);
    return rc;
}

mcp__jwk_set *mcp__jwk_set_ref(mcp__jwk_set *set)
{
    set->refs++;
    return set;
}

void mcp__jwk_set_unref(mcp__jwk_set *set)
{
    if (!set || --set->refs)
        return;
    mcp_allocator a = set->allocator;
    for (size_t i = 0; i < set->n; i++)
        mcp__jwk_free(set->keys[i]);
    mcp__release(&a, set);
}

const mcp__jwk *mcp__jwk_set_next(const mcp__jwk_set *set, mcp_str kid, const mcp__jws_alg *alg,
                                  size_t *at)
{
    while (*at < set->n) {
        const mcp__jwk *key = set->keys[(*at)++];
        if (mcp__jwk_allows(key, alg) && (!kid.len || mcp_str_eq(kid, key->kid)))
            return key;
    }
    return NULL;
}
