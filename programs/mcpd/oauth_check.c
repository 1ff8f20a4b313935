/* oauth_check.c: finds mistakes in the section "oauth" that would otherwise show only when a token is
 * refused: issuers and audiences are compared byte for byte.
 */
#define _GNU_SOURCE
#include <string.h>

#include <mcp/uri.h>

#include <common/origin.h>

#include "oauth.h"

/* A value, and where it is. */
typedef struct place {
    const config *c;
    char pointer[120];
    int rc; /* the first error */
} place;

#define WRONG(p, ...) ((p)->rc = config_wrong((p)->c, MCP_EINVAL, (p)->pointer, __VA_ARGS__)) /**/

static bool has(mcp_str text, const char *part)
{
    return text.len && memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

static bool ends_with(mcp_str text, const char *end)
{
    size_t len = strlen(end);
    return text.len >= len && memcmp(text.ptr + text.len - len, end, len) == 0;
}

/* ---- URLs ------------------------------------------------------------------------------------ */

static bool is_loopback(const mcp_uri *u)
{
    static const char *const hosts[] = {"localhost", "127.0.0.1", "::1"};
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++)
        if (mcp_str_eq(u->host, mcp_str_from(hosts[i])))
            return true;
    return false;
}

/* Checks what all URLs have in common. `insecure` allows http to other machines. */
static bool check_url(place *p, mcp_str text, bool insecure, mcp_uri *u)
{
    mcp_error why = {0};
    if (mcp_uri_parse(text, u, &why) != MCP_OK)
        return WRONG(p, "it is no URL: %s", why.text), false;
    bool https = mcp_uri_scheme_is(u, "https"), http = mcp_uri_scheme_is(u, "http");
    if ((!https && !http) || !u->host.len)
        return WRONG(p, "it must be a URL that begins with https://"), false;
    if (http && !insecure && !is_loopback(u))
        return WRONG(p, "http sends tokens and keys unprotected: write https:// (http is allowed "
                        "for this machine alone)"),
               false;
    if (u->has_userinfo)
        return WRONG(p, "a URL here must not contain a user or a password"), false;
    if (u->has_fragment)
        return WRONG(p, "remove the part from \"#\" on: it must have no fragment"), false;
    return true;
}

static void check_resource(place *p, mcp_str text)
{
    mcp_uri u;
    if (!check_url(p, text, false, &u))
        return;
    if (u.has_query)
        WRONG(p, "remove the part from \"?\" on: it must be the URL of the endpoint as clients "
                 "write it");
    else if (u.path.len > 1 && ends_with(u.path, "/"))
        WRONG(p, "remove the slash at the end: clients compare it with the URL of the endpoint, "
                 "which ends with /mcp");
    else if (!ends_with(u.path, "/mcp"))
        WRONG(p, "it must end with /mcp, the path of the endpoint");
}

/* ---- issuers --------------------------------------------------------------------------------- */

static void check_issuer_name(place *p, mcp_str text, bool private)
{
    static const char *const shared[] = {"/common/", "/organizations/", "/consumers/"};
    mcp_uri u;
    if (!check_url(p, text, private, &u))
        return;
    if (u.has_query)
        WRONG(p, "an issuer has no query: remove the part from \"?\" on");
    else if (has(text, "/.well-known/"))
        WRONG(p, "this is the address of metadata: the issuer is what \"issuer\" says there, in "
                 "most cases the part before /.well-known/");
    for (size_t i = 0; i < sizeof(shared) / sizeof(*shared) && !p->rc; i++)
        if (has(text, "//login.microsoftonline.com/") && has(text, shared[i]))
            WRONG(p, "no token has this issuer: replace \"%s\" with the id of the tenant",
                  shared[i]);
}

/* Returns whether the texts differ by a slash at the end alone. */
static bool differs_by_slash(mcp_str a, mcp_str b)
{
    mcp_str longer = a.len > b.len ? a : b, shorter = a.len > b.len ? b : a;
    return longer.len == shorter.len + 1 && ends_with(longer, "/") &&
           memcmp(longer.ptr, shorter.ptr, shorter.len) == 0;
}

static void check_audiences(place *p, const mcp_json *list, mcp_str resource)
{
    mcp_json_iter it = {0};
    const mcp_json *v;
    bool is_named = false;
    if (!mcp_json_count(list)) {
        WRONG(p,
              "name at least one audience, which is what the issuer writes into \"aud\": for most "
              "the resource, for Keycloak what its audience mapper says, for Entra ID the id of "
              "the application");
        return;
    }
    while ((v = mcp_json_next(list, &it, NULL)) != NULL)
        is_named = is_named || mcp_str_eq(mcp_json_string(v), resource);
    it = (mcp_json_iter){0};
    size_t len = strlen(p->pointer);
    while (!is_named && (v = mcp_json_next(list, &it, NULL)) != NULL) {
        snprintf(p->pointer + len, sizeof(p->pointer) - len, "/%zu", it.index - 1);
        if (differs_by_slash(mcp_json_string(v), resource))
            WRONG(p, "it differs from the resource by a slash at the end, and audiences are "
                     "compared byte for byte: name both");
    }
}

static void enter(place *p, size_t i, const char *member)
{
    p->rc = MCP_OK;
    snprintf(p->pointer, sizeof(p->pointer), "/oauth/issuers/%zu%s%s", i, member ? "/" : "",
             member ? member : "");
}

static void check_sources(place *p, const mcp_json *issuer, size_t i, bool private)
{
    static const char *const urls[] = {"jwks-uri", "introspection/url"};
    mcp_uri u;
    for (size_t k = 0; k < sizeof(urls) / sizeof(*urls); k++) {
        char path[40];
        snprintf(path, sizeof(path), "/%s", urls[k]);
        mcp_str url = mcp_json_string(config_follow(issuer, mcp_str_from(path)));
        enter(p, i, urls[k]);
        if (url.ptr)
            (void)check_url(p, url, private, &u);
        if (p->rc != MCP_OK)
            return;
    }
    enter(p, i, "introspection");
    if (mcp_json_get(issuer, "introspection") && mcp_json_get(issuer, "jwks-uri"))
        WRONG(p, "introspection or jwks-uri, not both: with introspection the issuer is asked "
                 "about every token");
}

/* The page connects to the issuer, which its Content-Security-Policy has to name. */
static void check_page(place *p, mcp_str issuer)
{
    char origin[ORIGIN_ROOM];
    if (!origin_of(issuer, origin))
        WRONG(p, "remove it: the page can log in only at a host of letters, digits, dots and "
                 "hyphens");
}

/* Returns the first error of an issuer. */
static int check_issuer(const config *c, const mcp_json *issuer, size_t i, mcp_str resource)
{
    mcp_str name = mcp_json_string(mcp_json_get(issuer, "issuer"));
    bool private = mcp_json_bool(mcp_json_get(issuer, "allow-private"), false);
    place p = {.c = c};
    enter(&p, i, "issuer");
    check_issuer_name(&p, name, private);
    for (size_t k = 0; k < i && p.rc == MCP_OK; k++) {
        const mcp_json *other = config_follow(config_root(c), MCP_STR("/oauth/issuers"));
        if (mcp_str_eq(mcp_json_string(mcp_json_get(mcp_json_at(other, k), "issuer")), name))
            WRONG(&p, "this issuer is named twice");
    }
    if (p.rc != MCP_OK)
        return p.rc;
    enter(&p, i, mcp_json_get(issuer, "audiences") ? "audiences" : NULL);
    check_audiences(&p, mcp_json_get(issuer, "audiences"), resource);
    if (p.rc == MCP_OK)
        check_sources(&p, issuer, i, private);
    if (p.rc == MCP_OK && mcp_json_get(issuer, "page-client-id")) {
        enter(&p, i, "page-client-id");
        check_page(&p, name);
    }
    return p.rc;
}

/* ---- the section ----------------------------------------------------------------------------- */

static int check_scopes(const config *c, const mcp_json *section, const char *member)
{
    mcp_str scopes = mcp_json_string(mcp_json_get(section, member));
    place p = {.c = c};
    snprintf(p.pointer, sizeof(p.pointer), "/oauth/%s", member);
    if (has(scopes, "offline_access"))
        WRONG(&p, "remove offline_access: it concerns the client and its issuer, and no request "
                  "needs it");
    return p.rc;
}

static size_t count_introspected(const mcp_json *issuers)
{
    mcp_json_iter it = {0};
    const mcp_json *v;
    size_t n = 0;
    while ((v = mcp_json_next(issuers, &it, NULL)) != NULL)
        n += mcp_json_get(v, "introspection") != NULL;
    return n;
}

/* A token that is good at /mcp must not be good at the view, and the other way round. */
static void check_apart(place *p, const mcp_json *issuers, mcp_str resource)
{
    mcp_json_iter it = {0}, each;
    const mcp_json *v, *one;
    while ((v = mcp_json_next(issuers, &it, NULL)) != NULL && p->rc == MCP_OK) {
        each = (mcp_json_iter){0};
        while ((one = mcp_json_next(mcp_json_get(v, "audiences"), &each, NULL)) != NULL)
            if (mcp_str_eq(mcp_json_string(one), resource))
                WRONG(p,
                      "an issuer in oauth has it as an audience, so tokens for the view would be "
                      "good for the whole server: remove it there");
    }
}

int oauth_check_view(const config *c, const char *pointer, const char *view, mcp_str resource)
{
    const mcp_json *section = oauth_section(c);
    place p = {.c = c};
    char end[80];
    mcp_uri u;
    snprintf(p.pointer, sizeof(p.pointer), "%s", pointer);
    snprintf(end, sizeof(end), "/mcp/%s", view);
    if (!section)
        WRONG(&p, "it needs the section oauth, whose issuers issue the tokens");
    else if (!check_url(&p, resource, false, &u))
        return p.rc;
    else if (u.has_query || !ends_with(u.path, end))
        WRONG(&p, "it must end with %s, the path of the view", end);
    else
        check_apart(&p, mcp_json_get(section, "issuers"), resource);
    return p.rc;
}

int oauth_check(const config *c)
{
    const mcp_json *section = oauth_section(c), *v;
    const mcp_json *issuers = mcp_json_get(section, "issuers");
    mcp_str resource = mcp_json_string(mcp_json_get(section, "resource"));
    place p = {.c = c, .pointer = "/oauth/resource"};
    mcp_json_iter it = {0};
    if (!section)
        return MCP_OK;
    check_resource(&p, resource);
    int rc = p.rc;
    while ((v = mcp_json_next(issuers, &it, NULL)) != NULL) {
        int code = check_issuer(c, v, it.index - 1, resource);
        rc = rc == MCP_OK ? code : rc;
    }
    p = (place){.c = c, .pointer = "/oauth/issuers"};
    if (count_introspected(issuers) > 1)
        WRONG(&p, "only one issuer can have introspection, because an opaque token does not name "
                  "its issuer");
    rc = rc == MCP_OK ? p.rc : rc;
    int required = check_scopes(c, section, "required-scopes");
    int supported = check_scopes(c, section, "scopes-supported");
    return rc != MCP_OK ? rc : required != MCP_OK ? required : supported;
}
