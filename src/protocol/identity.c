/* identity.c: the identity of a caller, which is one block of memory with a reference count. */
#include <stdatomic.h>

#include "json/json.h"
#include "protocol/identity.h"
#include "protocol/scope.h"

enum { MAX_NAME = 1023, MAX_SCOPES = 16 << 10, MAX_CLAIMS = 64 << 10 };

struct mcp_identity {
    atomic_size_t references;
    mcp_allocator allocator;
    int64_t expires_ms;
    size_t bytes; /* of this block */
    mcp_json_doc *claims;
    const char *principal, *scopes, *issuer, *token; /* in `text`, or NULL */
    char text[];
};

static int check(const mcp_identity_options *o, mcp_error *error)
{
    const struct {
        const char *name, *text;
        size_t max;
    } texts[] = {
        {"principal", o->principal, MAX_NAME}, {"scopes", o->scopes, MAX_SCOPES},
        {"claims", o->claims, MAX_CLAIMS},     {"issuer", o->issuer, MAX_NAME},
        {"token", o->token, MAX_NAME},
    };
    for (size_t i = 0; i < MCP__COUNT(texts); i++) {
        if (texts[i].text && strlen(texts[i].text) > texts[i].max)
            return mcp__fail(error, MCP_ELIMIT, 0, "the %s of an identity has more than %zu bytes",
                             texts[i].name, texts[i].max);
    }
    if (!o->principal)
        return mcp__fail(error, MCP_EINVAL, 0, "an identity needs a principal");
    if (!mcp__scopes_valid(mcp_str_from(o->scopes)))
        return mcp__fail(error, MCP_EINVAL, 0, "a scope has a character that is not allowed");
    return MCP_OK;
}

static int parse_claims(mcp_identity *i, const char *claims, mcp_error *error)
{
    if (!claims)
        return MCP_OK;
    int rc = mcp_json_parse(mcp_str_from(claims), NULL, &i->allocator, &i->claims, error);
    if (rc == MCP_OK && mcp__json_shrink(&i->claims) != MCP_OK) /* identities are kept in caches */
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for the claims of an identity");
    if (rc != MCP_OK || mcp_json_is(mcp_json_root(i->claims), MCP_JSON_OBJECT))
        return rc;
    return mcp__fail(error, MCP_EPROTOCOL, 0, "the claims are not a JSON object");
}

static const char *keep(char **at, const char *text)
{
    if (!text)
        return NULL;
    char *copy = *at;
    size_t size = strlen(text) + 1;
    memcpy(copy, text, size);
    *at += size;
    return copy;
}

static size_t size_of(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

int mcp_identity_new(const mcp_identity_options *options, mcp_identity **ret, mcp_error *error)
{
    mcp_identity_options o;
    mcp__no_error(error);
    int rc = MCP__TAKE(&o, options, mcp_identity_options, error);
    if (rc != MCP_OK)
        return rc;
    if (!ret)
        return mcp__fail(error, MCP_EINVAL, 0, "\"ret\" is missing");
    rc = check(&o, error);
    if (rc != MCP_OK)
        return rc;
    const mcp_allocator *a = mcp__allocator(o.allocator);
    size_t bytes = sizeof(mcp_identity) + size_of(o.principal) + size_of(o.scopes) +
                   size_of(o.issuer) + size_of(o.token);
    mcp_identity *i = mcp__zalloc(a, bytes);
    if (!i)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for an identity");
    char *at = i->text;
    atomic_init(&i->references, 1);
    i->allocator = *a;
    i->bytes = bytes;
    i->expires_ms = o.expires_ms;
    i->principal = keep(&at, o.principal);
    i->scopes = keep(&at, o.scopes);
    i->issuer = keep(&at, o.issuer);
    i->token = keep(&at, o.token);
    rc = parse_claims(i, o.claims, error);
    if (rc == MCP_OK)
        *ret = i;
    else
        mcp_identity_unref(i);
    return rc;
}

mcp_identity *mcp_identity_ref(mcp_identity *identity)
{
    if (identity)
        atomic_fetch_add_explicit(&identity->references, 1, memory_order_relaxed);
    return identity;
}

void mcp_identity_unref(mcp_identity *identity)
{
    if (!identity || atomic_fetch_sub_explicit(&identity->references, 1, memory_order_acq_rel) != 1)
        return;
    mcp_allocator a = identity->allocator;
    mcp_json_free(identity->claims);
    mcp__release(&a, identity);
}

size_t mcp__identity_memory(const mcp_identity *identity)
{
    enum { HEAP = 24 }; /* as in parse.c */
    return identity ? identity->bytes + HEAP + mcp__json_doc_allocated(identity->claims) : 0;
}

const char *mcp_identity_principal(const mcp_identity *identity)
{
    return identity ? identity->principal : NULL;
}

const char *mcp_identity_scopes(const mcp_identity *identity)
{
    return identity ? identity->scopes : NULL;
}

const mcp_json *mcp_identity_claims(const mcp_identity *identity)
{
    return identity ? mcp_json_root(identity->claims) : NULL;
}

const char *mcp_identity_issuer(const mcp_identity *identity)
{
    return identity ? identity->issuer : NULL;
}

const char *mcp_identity_token(const mcp_identity *identity)
{
    return identity ? identity->token : NULL;
}

int64_t mcp_identity_expires_ms(const mcp_identity *identity)
{
    return identity ? identity->expires_ms : 0;
}

bool mcp_identity_has_scopes(const mcp_identity *identity, const char *scopes)
{
    mcp_str granted = mcp_str_from(identity ? identity->scopes : NULL), rest = mcp_str_from(scopes);
    for (mcp_str scope; mcp__scope_next(&rest, &scope);) {
        if (!mcp__scope_is_offline(scope) && !mcp__scopes_cover(granted, scope, NULL, 0))
            return false;
    }
    return true;
}
