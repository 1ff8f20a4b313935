/* resource_server.c: creates and frees a resource server. */
#include <stdarg.h>
#include <stdio.h>

#include "auth/resource/resource.h"

/* ---- the log --------------------------------------------------------------------------------- */

void mcp__rs_log(const mcp_resource_server *rs, const char *level, const char *format, ...)
{
    char line[512];
    va_list args;
    if (!rs->host.log)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    rs->host.log(level, line, rs->host.user);
}

/* ---- metadata -------------------------------------------------------------------------------- */

static const mcp_str root = {"/.well-known/oauth-protected-resource", 37};

static int put_metadata(const mcp_resource_server *rs, const char *url, mcp__buf *b)
{
    const mcp_resource_server_options *o = &rs->options;
    mcp_str issuers[MCP__RS_ISSUERS];
    for (size_t i = 0; i < rs->n_issuers; i++)
        issuers[i] = rs->rules[i].issuer;
    mcp__resource resource = {
        .url = mcp_str_from(url),
        .issuers = issuers,
        .n_issuers = rs->n_issuers,
        .scopes = mcp_str_from(o->scopes_supported ? o->scopes_supported : o->required_scopes),
        .name = mcp_str_from(o->name),
        .documentation = mcp_str_from(o->documentation),
        .dpop = o->dpop != MCP_DPOP_OFF,
        .dpop_required = o->dpop == MCP_DPOP_REQUIRED,
    };
    return mcp__resource_put(b, &resource);
}

/* Returns the path in the URL of metadata. */
static mcp_str find_path(mcp_str url)
{
    size_t at = 0;
    while (at + root.len < url.len && memcmp(url.ptr + at, root.ptr, root.len) != 0)
        at++;
    mcp_str path = mcp__str_sub(url, at);
    const char *query = memchr(path.ptr, '?', path.len);
    return (mcp_str){path.ptr, query ? (size_t)(query - path.ptr) : path.len};
}

int mcp__rs_document_make(const mcp_resource_server *rs, const char *resource,
                          mcp__rs_document *ret, mcp_error *error)
{
    mcp__buf b;
    mcp__buf_init(&b, rs->allocator, 0);
    int rc = put_metadata(rs, resource, &b);
    if (rc == MCP_OK && !(ret->text = mcp__strdup(rs->allocator, mcp__buf_view(&b))))
        rc = MCP_ENOMEM;
    mcp__buf_reset(&b, 0);
    if (rc == MCP_OK)
        rc = mcp__resource_metadata_url(&b, mcp_str_from(resource));
    if (rc == MCP_OK && !(ret->url = mcp__strdup(rs->allocator, mcp__buf_view(&b))))
        rc = MCP_ENOMEM;
    mcp__buf_free(&b);
    if (rc != MCP_OK)
        return mcp__fail(error, rc, 0, "the URL of the resource: %s", mcp_error_text(rc));
    ret->path = find_path(mcp_str_from(ret->url));
    return MCP_OK;
}

void mcp__rs_document_clear(const mcp_resource_server *rs, mcp__rs_document *document)
{
    mcp__release(rs->allocator, document->text);
    mcp__release(rs->allocator, document->url);
}

const char *mcp__rs_resource(const mcp_resource_server *rs, const mcp__rs_view *view)
{
    return view ? view->resource : rs->options.resource;
}

const char *mcp__rs_metadata_url(const mcp_resource_server *rs, const mcp__rs_view *view)
{
    return view ? view->document.url : rs->document.url;
}

/* Those of the server have two paths. One ends with the path of the resource, the other does not
 * (2026-07-28, basic/authorization, "Protected Resource Metadata Discovery Requirements"). */
const char *mcp__rs_metadata_at(const mcp_resource_server *rs, mcp_str path, const char **view)
{
    *view = NULL;
    if (!rs || !mcp__str_starts(path, root))
        return NULL;
    if (mcp_str_eq(path, rs->document.path) || mcp_str_eq(path, root))
        return rs->document.text;
    for (size_t i = 0; i < rs->n_views; i++) {
        const mcp__rs_view *v = rs->views[i];
        if (!mcp_str_eq(path, v->document.path))
            continue;
        *view = v->name;
        return v->document.text;
    }
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void release_known(void *value, void *user)
{
    const mcp_resource_server *rs = user;
    mcp__rs_known_clear(value);
    mcp__release(rs->allocator, value);
}

static int fill_random(mcp_resource_server *rs, void *bytes, size_t len)
{
    return rs->host.random(bytes, len, rs->host.user);
}

static int make_cache(mcp_resource_server *rs)
{
    unsigned char key[MCP__SHA256];
    int rc = fill_random(rs, key, sizeof(key));
    if (rc != MCP_OK)
        return rc;
    mcp__token_cache_options options = {.crypto = &rs->crypto,
                                        .key = key,
                                        .max_bytes = rs->options.max_token_bytes,
                                        .release = release_known,
                                        .user = rs};
    rc = mcp__token_cache_new(&options, rs->allocator, &rs->known);
    rs->crypto.OPENSSL_cleanse(key, sizeof(key));
    return rc;
}

static int make_nonce_keys(mcp_resource_server *rs, const mcp_resource_server_options *o)
{
    if (!o->dpop_nonce)
        return MCP_OK;
    rs->n_nonce_keys = 1;
    if (!o->nonce_key)
        return fill_random(rs, rs->nonce_keys[0], MCP__SHA256);
    memcpy(rs->nonce_keys[0], o->nonce_key, MCP__SHA256);
    if (o->nonce_key_before)
        memcpy(rs->nonce_keys[rs->n_nonce_keys++], o->nonce_key_before, MCP__SHA256);
    return MCP_OK;
}

/* Reads the keys of issuers whose keys are part of the configuration. */
static int read_fixed_keys(mcp_resource_server *rs, const mcp_resource_server_options *o,
                           mcp_error *error)
{
    for (size_t i = 0; i < rs->n_issuers; i++) {
        mcp__rs_issuer *issuer = &rs->issuers[i];
        mcp_auth_issuer given;
        mcp_error why;
        mcp__take_element(&given, sizeof(given), o->issuers, i);
        if (!given.jwks)
            continue;
        issuer->is_fixed = true;
        int rc = mcp__jwk_set_read(&rs->crypto, mcp_str_from(given.jwks), rs->allocator,
                                   &issuer->keys.set, &why);
        if (rc == MCP_ENOMEM)
            return mcp__fail(error, rc, 0, "no memory for keys");
        if (rc != MCP_OK)
            return mcp__fail(error, MCP_EINVAL, 0, "the keys of %.100s: %.120s", given.issuer,
                             why.text);
    }
    return MCP_OK;
}

static int fill(mcp_resource_server *rs, const mcp_resource_server_options *o, mcp_error *error)
{
    uint64_t seed[2];
    int rc = mcp__crypto_load(&rs->crypto, error);
    if (rc == MCP_OK)
        rc = mcp__rs_options_read(rs, o, error);
    if (rc == MCP_OK)
        rc = mcp__rs_document_make(rs, o->resource, &rs->document, error);
    if (rc == MCP_OK)
        rc = read_fixed_keys(rs, o, error);
    if (rc != MCP_OK)
        return rc;
    rc = fill_random(rs, seed, sizeof(seed));
    mcp__map_init(&rs->checks, rs->allocator, seed[0], seed[1]);
    mcp__map_init(&rs->addresses, rs->allocator, seed[1], seed[0]);
    if (rc == MCP_OK)
        rc = make_nonce_keys(rs, o);
    if (rc == MCP_OK)
        rc = make_cache(rs);
    return rc == MCP_OK ? rc : mcp__fail(error, rc, 0, "a resource server: %s", mcp_error_text(rc));
}

static void init(mcp_resource_server *rs, const mcp_allocator *allocator)
{
    rs->own_allocator = *allocator;
    rs->allocator = &rs->own_allocator;
    mcp__arena_init(&rs->texts, rs->allocator, NULL, 0);
    mcp__map_init(&rs->checks, rs->allocator, 0, 0);
    mcp__map_init(&rs->addresses, rs->allocator, 0, 0);
    mcp__list_init(&rs->addresses_used);
    mcp__list_init(&rs->ready);
    mcp__list_init(&rs->asking);
    for (size_t i = 0; i < MCP__RS_ISSUERS; i++) {
        mcp__rs_issuer *issuer = &rs->issuers[i];
        issuer->rs = rs;
        issuer->index = i;
        mcp__keyset_init(&issuer->keys);
        mcp__list_init(&issuer->waiting);
        mcp__list_init(&issuer->job.link);
        mcp__buf_init(&issuer->body, rs->allocator, 0);
        mcp__buf_init(&issuer->caching, rs->allocator, 0);
    }
}

int mcp_resource_server_new(const mcp_resource_server_options *options, mcp_resource_server **ret,
                            mcp_error *error)
{
    mcp_resource_server_options o;
    mcp__no_error(error);
    mcp__refer_to_version();
    int rc = MCP__TAKE(&o, options, mcp_resource_server_options, error);
    if (rc != MCP_OK)
        return rc;
    if (!ret)
        return mcp__fail(error, MCP_EINVAL, 0, "\"ret\" is missing");
    const mcp_allocator *a = mcp__allocator(o.allocator);
    mcp_resource_server *rs = mcp__zalloc(a, sizeof(*rs));
    if (!rs)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a resource server");
    init(rs, a);
    rc = fill(rs, &o, error);
    if (rc == MCP_OK)
        *ret = rs;
    else
        mcp_resource_server_free(rs);
    return rc;
}

void mcp__rs_release(mcp_resource_server *rs)
{
    mcp_allocator a = rs->own_allocator;
    for (size_t i = 0; i < rs->n_issuers; i++) {
        mcp__keyset_clear(&rs->issuers[i].keys);
        mcp__jwk_set_unref(rs->issuers[i].read);
        mcp__buf_free(&rs->issuers[i].body);
        mcp__buf_free(&rs->issuers[i].caching);
        mcp__release(&a, rs->issuers[i].found);
        mcp__release(&a, rs->issuers[i].read_url);
    }
    mcp__token_cache_free(rs->known);
    mcp__replay_free(rs->proofs);
    mcp__map_free(&rs->checks);
    mcp__rs_addresses_free(rs);
    mcp__rs_views_clear(rs);
    mcp__rs_document_clear(rs, &rs->document);
    mcp__arena_free(&rs->texts);
    if (rs->crypto.OPENSSL_cleanse)
        rs->crypto.OPENSSL_cleanse(rs->nonce_keys, sizeof(rs->nonce_keys));
    mcp__release(&a, rs);
}

void mcp_resource_server_free(mcp_resource_server *rs)
{
    if (!rs)
        return;
    rs->freed = true;
    for (size_t i = 0; i < rs->n_issuers; i++)
        mcp__rs_source_stop(&rs->issuers[i]);
    size_t at = 0;
    for (mcp__rs_check *check; (check = mcp__map_next(&rs->checks, &at));)
        mcp__rs_check_drop(check);
    if (!rs->jobs)
        mcp__rs_release(rs);
}

/* ---- metrics --------------------------------------------------------------------------------- */

void mcp_resource_server_forget(mcp_resource_server *rs)
{
    rs->forgotten++;
    mcp__token_cache_clear(rs->known);
}

void mcp_resource_server_get_usage(const mcp_resource_server *rs, mcp_resource_server_usage *ret)
{
    mcp_resource_server_usage usage = rs->usage;
    usage.tokens = mcp__token_cache_count(rs->known);
    usage.token_bytes = mcp__token_cache_bytes(rs->known);
    usage.pending = rs->checks.count;
    usage.size = ret->size;
    memcpy(ret, &usage, MCP__MIN(ret->size, sizeof(usage)));
}
