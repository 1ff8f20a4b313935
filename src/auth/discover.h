/* discover.h: how a client finds the authorization server of a resource, and what it offers:
 * protected resource metadata (RFC 9728), authorization server metadata (RFC 8414, OpenID Connect
 * Discovery 1.0); 2026-07-28, basic/authorization/authorization-server-discovery.
 *
 * URLs and issuers are kept as they are written. They are never normalized, because they are
 * compared and sent byte for byte.
 */
#ifndef MCP_SRC_AUTH_DISCOVER_H
#define MCP_SRC_AUTH_DISCOVER_H

#include "auth/fault.h"
#include "json/json.h"

enum {
    MCP__DISCOVER_BYTES = 64 << 10, /* the longest document */
    MCP__DISCOVER_ISSUERS = 32,     /* the most authorization servers of a resource */
};

/* ---- discover.c: where the documents are ----------------------------------------------------- */

/* Append the URL that is tried in step `i`, from 0. Return MCP_OK, MCP_ENOTFOUND (there are no
 * further URLs), MCP_EINVAL (not a usable URL) or MCP_ENOMEM.
 *
 * For a resource: the well-known path with the path of the resource after it, then without. For an
 * issuer: RFC 8414, then OpenID Connect with the path of the issuer after the well-known path, then
 * with the path before it. */
int mcp__resource_url(mcp__buf *to, mcp_str server, size_t i);
int mcp__issuer_url(mcp__buf *to, mcp_str issuer, size_t i);

/* Returns whether secrets may be sent to this URL, or read from it: https, or, if `loopback` is
 * set, http on this machine; without user, password and fragment. */
bool mcp__oauth_url(mcp_str url, bool loopback);

/* Returns whether the metadata of `resource` may be used for `server`: both are equal, or they have
 * the same origin and the path of the resource, apart from a slash at its end, is the path of the
 * server or of a folder above it. A query must be equal. */
bool mcp__resource_covers(mcp_str resource, mcp_str server);
/* Returns whether two URLs are equal, apart from their queries, slashes at the end, and the ways to
 * write scheme, host and port. */
bool mcp__resource_same(mcp_str a, mcp_str b);

/* ---- protected.c: metadata of protected resources -------------------------------------------- */

typedef struct mcp__protected {
    mcp_json_doc *doc; /* owns the strings */
    mcp_str resource;  /* as written */
    size_t n_issuers;
    mcp_str issuers[MCP__DISCOVER_ISSUERS];
    bool has_scopes;           /* whether there is a list of scopes */
    mcp__buf scopes;           /* that list, separated by spaces */
    const mcp_json *dpop_algs; /* NULL if there is no list */
    bool dpop_required;
} mcp__protected;

/* Reads the metadata that was found at `url`, for `server`. `loopback` as in mcp__oauth_url().
 * A resource above the server is accepted only if `url` is the well-known URL of that resource (RFC
 * 9728 section 3.3): otherwise one server could get the tokens for all servers of its origin.
 * Issuers that are not usable URLs are left out. Whatever the result is, free *ret with
 * mcp__protected_clear(). */
mcp__oauth_fault mcp__protected_read(mcp__protected *ret, mcp_str body, mcp_str server, mcp_str url,
                                     bool loopback, const mcp_allocator *allocator,
                                     mcp_error *error);
void mcp__protected_clear(mcp__protected *resource);

/* Chooses an authorization server: the one that is configured, which must be in the list; else the
 * one that is known from before, if it is in the list; else the first. The first two may be
 * empty. The string belongs to `resource`. */
mcp__oauth_fault mcp__protected_choose(const mcp__protected *resource, mcp_str configured,
                                       mcp_str known, mcp_str *ret, mcp_error *error);

/* ---- issuer.c: metadata of authorization servers --------------------------------------------- */

typedef struct mcp__issuer {
    mcp_json_doc *doc;                                              /* owns the strings */
    mcp_str issuer;                                                 /* as in the document */
    mcp_str authorization, token, registration, device, revocation; /* endpoints; may be empty */
    /* Lists of strings, or NULL if they are absent; see mcp__json_lists(). */
    const mcp_json *scopes, *grants, *responses, *methods, *method_algs, *challenges, *dpop_algs;
    const mcp_json *profiles; /* authorization_grant_profiles_supported */
    bool names_itself;        /* redirects have `iss` (RFC 9207) */
    bool reads_documents;     /* client ids may be URLs of client metadata documents */
} mcp__issuer;

typedef struct mcp__issuer_rules {
    mcp_str issuer;  /* the issuer that the URL of the document was made from */
    mcp_str trusted; /* accepted instead of it; may be empty */
    mcp_str url;     /* where the document was found; for texts */
    bool loopback;   /* as in mcp__oauth_url() */
} mcp__issuer_rules;

/* Reads a document. Every endpoint in it must be a usable URL, and the token endpoint is required.
 * Whatever the result is, free *ret with mcp__issuer_clear(). */
mcp__oauth_fault mcp__issuer_read(mcp__issuer *ret, mcp_str body, const mcp__issuer_rules *rules,
                                  const mcp_allocator *allocator, mcp_error *error);
void mcp__issuer_clear(mcp__issuer *issuer);

/* Makes the metadata of a server of the revision 2025-03-26 that has none: the endpoints are
 * /authorize, /token and /register at the origin of the server, which is also the issuer. PKCE
 * cannot be seen, so `assume_pkce` is needed in the next function. */
mcp__oauth_fault mcp__issuer_legacy(mcp__issuer *ret, mcp_str server, bool loopback,
                                    const mcp_allocator *allocator, mcp_error *error);

/* Check that the authorization server supports a flow. The grant is a `grant_type`; a server that
 * lists none is assumed to support it. */
mcp__oauth_fault mcp__issuer_check_code(const mcp__issuer *issuer, bool assume_pkce,
                                        mcp_error *error);
mcp__oauth_fault mcp__issuer_check_device(const mcp__issuer *issuer, mcp_error *error);
mcp__oauth_fault mcp__issuer_check_grant(const mcp__issuer *issuer, mcp_str grant,
                                         mcp_error *error);

/* Gets an optional list, which is NULL if it is absent. Returns false if the member is neither an
 * array nor null. */
bool mcp__json_get_list(const mcp_json *object, const char *name, const mcp_json **ret);
/* Returns whether a list of strings contains the value. NULL is an empty list. */
bool mcp__json_lists(const mcp_json *list, mcp_str value);

#endif
