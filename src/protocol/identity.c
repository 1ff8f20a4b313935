/* identity.c: the identity of a caller, which is one block of memory with a reference count.
 *
 * An identity in a view is a second block, which shares everything else with the identity from which
 * it was made, also its reference count, and lives as long. It is made once for each view and kept in
 * a list that only grows, so that requests with the same token in the same view have the same
 * identity, as they have without views: subscriptions are told apart by its address.
 */
#include <stdatomic.h>

#include "json/json.h"
#include "protocol/identity.h"
#include "protocol/scope.h"

enum { MAX_NAME = 1023, MAX_SCOPES = 16 << 10, MAX_CLAIMS = 64 << 10, MAX_VIEW = 64 };

/* Begins the binding of a caller in a view, and no principal. */
static const mcp_str mark = {"\1\2", 2};

struct mcp_identity {
    atomic_size_t references;
    mcp_allocator allocator;
    int64_t expires_ms;
    size_t bytes; /* of this block */
    mcp_json_doc *claims;
    const char *principal, *scopes, *issuer, *token; /* in `text`, or NULL */
    mcp_identity *base;            /* of an identity in a view: the one that it was made from */
    _Atomic(mcp_identity *) views; /* otherwise: the first of those in views */
    mcp_identity *next;            /* the next one of the same base */
    const char *view, *binding;    /* `view` is in `text`, or NULL */
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
    if (!o->principal && !o->view)
        return mcp__fail(error, MCP_EINVAL, 0, "an identity needs a principal");
    if (mcp__str_starts(mcp_str_from(o->principal), mark))
        return mcp__fail(error, MCP_EINVAL, 0, "a principal must not begin with U+0001 U+0002");
    if (o->view && !mcp__is_view(mcp_str_from(o->view)))
        return mcp__fail(
            error, MCP_EINVAL, 0,
            "the name of a view has 1 to %d characters A-Z, a-z, 0-9, \".\", \"_\" and "
            "\"-\", and begins with a letter or a digit",
            MAX_VIEW);
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
    i->principal = i->binding = keep(&at, o.principal);
    i->scopes = keep(&at, o.scopes);
    i->issuer = keep(&at, o.issuer);
    i->token = keep(&at, o.token);
    rc = parse_claims(i, o.claims, error);
    mcp_identity *made = i;
    if (rc == MCP_OK && o.view &&
        (rc = mcp__identity_in_view(i, mcp_str_from(o.view), &made)) != MCP_OK)
        mcp__fail(error, rc, 0, "no memory for an identity");
    if (rc == MCP_OK)
        *ret = made;
    else
        mcp_identity_unref(i);
    return rc;
}

/* Returns the identity that has the reference count. */
static mcp_identity *counted(mcp_identity *identity)
{
    return identity->base ? identity->base : identity;
}

mcp_identity *mcp_identity_ref(mcp_identity *identity)
{
    if (identity)
        atomic_fetch_add_explicit(&counted(identity)->references, 1, memory_order_relaxed);
    return identity;
}

void mcp_identity_unref(mcp_identity *identity)
{
    mcp_identity *i = identity ? counted(identity) : NULL;
    if (!i || atomic_fetch_sub_explicit(&i->references, 1, memory_order_acq_rel) != 1)
        return;
    mcp_allocator a = i->allocator;
    for (mcp_identity *in_view = atomic_load(&i->views), *next; in_view; in_view = next) {
        next = in_view->next;
        mcp__release(&a, in_view);
    }
    mcp_json_free(i->claims);
    mcp__release(&a, i);
}

/* ---- views ----------------------------------------------------------------------------------- */

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool mcp__is_view(mcp_str name)
{
    if (!name.len || name.len > MAX_VIEW || !is_alphanumeric(name.ptr[0]))
        return false;
    for (size_t i = 1; i < name.len; i++) {
        if (!is_alphanumeric(name.ptr[i]) && !memchr("._-", name.ptr[i], 3))
            return false;
    }
    return true;
}

/* Makes the identity in a view with its two texts: the view, and the binding, which no principal and
 * no other pair of a principal and a view has. */
static mcp_identity *in_view_new(mcp_identity *base, mcp_str view)
{
    size_t name = size_of(base->principal);
    mcp_identity *i = mcp__zalloc(&base->allocator, sizeof(*i) + 2 * view.len + name + 6);
    if (!i)
        return NULL;
    i->base = base;
    i->expires_ms = base->expires_ms;
    i->claims = base->claims;
    i->principal = base->principal;
    i->scopes = base->scopes;
    i->issuer = base->issuer;
    i->token = base->token;
    i->view = i->text;
    memcpy(i->text, view.ptr, view.len);
    char *at = i->text + view.len + 1;
    i->binding = at;
    memcpy(at, mark.ptr, mark.len);
    at += mark.len;
    memcpy(at, view.ptr, view.len);
    at += view.len;
    *at++ = mark.ptr[0];
    *at++ = base->principal ? 'n' : 'a';
    if (base->principal)
        memcpy(at, base->principal, name);
    return i;
}

/* Returns the one for this view among those from `first` to `end`, or NULL. */
static mcp_identity *find_view(mcp_identity *first, const mcp_identity *end, mcp_str view)
{
    while (first != end && !mcp_str_eq(mcp_str_from(first->view), view))
        first = first->next;
    return first != end ? first : NULL;
}

int mcp__identity_in_view(mcp_identity *identity, mcp_str view, mcp_identity **ret)
{
    mcp_identity *base = counted(identity), *seen = NULL;
    mcp_identity *first = atomic_load(&base->views), *found = find_view(first, NULL, view);
    if (!found && !mcp__is_view(view))
        return MCP_EINVAL;
    mcp_identity *made = found ? NULL : in_view_new(base, view);
    while (made && !found) {
        seen = made->next = first;
        if (atomic_compare_exchange_weak(&base->views, &first, made))
            found = made;
        else if ((found = find_view(first, seen, view)) != NULL) /* another thread was faster */
            mcp__release(&base->allocator, made);
    }
    *ret = found;
    return found ? MCP_OK : MCP_ENOMEM;
}

mcp_identity *mcp__identity_nobody(const mcp_allocator *allocator)
{
    mcp_identity *i = mcp__zalloc(allocator, sizeof(*i));
    if (!i)
        return NULL;
    atomic_init(&i->references, 1);
    i->allocator = *allocator;
    i->bytes = sizeof(*i);
    return i;
}

/* ---- members --------------------------------------------------------------------------------- */

size_t mcp__identity_memory(const mcp_identity *identity)
{
    enum { HEAP = 24 }; /* as in parse.c */
    if (!identity)
        return 0;
    const mcp_identity *i = identity->base ? identity->base : identity;
    return i->bytes + HEAP + mcp__json_doc_allocated(i->claims);
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

const char *mcp_identity_view(const mcp_identity *identity)
{
    return identity ? identity->view : NULL;
}

const char *mcp_identity_binding(const mcp_identity *identity)
{
    return identity ? identity->binding : NULL;
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
