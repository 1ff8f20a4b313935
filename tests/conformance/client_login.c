/* client_login.c: the authorization of the conformance client. The kind of grant follows from the
 * scenario and from what the suite gives the client; everything else is the library's. */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 16384 };

struct login {
    mcp_oauth_client *oauth;
    const mcp_json *context;
    const char *assertion; /* the member of the context with the JWT to present, or NULL */
};

/* What a client has tells how it is authorized. The first row whose member is there, in a scenario
 * whose name begins like this, counts; otherwise a person logs in. A secret alone does not tell: the
 * client of auth/pre-registration has one, too. */
static const struct {
    const char *has, *scenario;
    mcp_oauth_grant grant;
    const char *assertion;
} kinds[] = {
    {"idp_id_token", "", MCP_OAUTH_ENTERPRISE, "idp_id_token"},
    {"valid_jwt", "", MCP_OAUTH_ASSERTION, "valid_jwt"},
    {"private_key_pem", "", MCP_OAUTH_CLIENT_CREDENTIALS, NULL},
    {"client_secret", "auth/client-credentials-", MCP_OAUTH_CLIENT_CREDENTIALS, NULL},
};

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The texts of a context, NUL-terminated. */
typedef struct texts {
    char *all;
    size_t used;
} texts;

/* Returns NULL if the context does not have it. */
static const char *text_of(texts *t, const mcp_json *context, const char *name)
{
    mcp_str value = mcp_json_string(mcp_json_get(context, name));
    if (!value.ptr || value.len >= MAX_TEXT - t->used)
        return NULL;
    char *text = t->all + t->used;
    memcpy(text, value.ptr, value.len);
    text[value.len] = 0;
    t->used += value.len + 1;
    return text;
}

/* The issuer that 0.1.16 of the suite names at the origin of its server of 2025-03-26, and that has to
 * be trusted, because metadata at an origin are those of the origin. Returns NULL elsewhere. */
static const char *moved_issuer(texts *t, const char *url, const char *scenario)
{
    const char *path = strstr(url, "://") ? strchr(strstr(url, "://") + 3, '/') : NULL;
    size_t len = path ? (size_t)(path - url) : strlen(url), room = MAX_TEXT - t->used;
    char *text = t->all + t->used;
    if (!begins(scenario, "auth/2025-03-26-oauth-metadata-") || len + sizeof("/oauth") > room)
        return NULL;
    t->used += (size_t)snprintf(text, room, "%.*s/oauth", (int)len, url) + 1;
    return text;
}

static int assertion(mcp_oauth_client *client, void (*give)(void *arg, mcp_str jwt), void *arg,
                     void *user, mcp_error *error)
{
    const login *l = user;
    (void)client, (void)error;
    give(arg, mcp_json_string(mcp_json_get(l->context, l->assertion)));
    return MCP_OK;
}

/* The suite's authorization servers redirect at once. */
static int visit(mcp_oauth_client *client, const mcp_oauth_visit *visit, void *user)
{
    char to[8192];
    mcp_error error = {0};
    (void)user;
    fprintf(stderr, "visit: %s\n", visit->url);
    if (!browser_follow(visit->url, to, sizeof(to)))
        return MCP_EIO;
    fprintf(stderr, "redirected: %s\n", to);
    int rc = mcp_oauth_client_redirected(client, mcp_str_from(to), &error);
    if (rc != MCP_OK)
        fprintf(stderr, "redirect: %s\n", error.text);
    return rc;
}

static void trace(mcp_oauth_client *client, const mcp_oauth_step *step, void *user)
{
    (void)client, (void)user;
    fprintf(stderr, "%s: %s %s %d %s\n", step->what, step->method ? step->method : "",
            step->url ? step->url : "", step->status, step->text ? step->text : "");
}

int login_new(mcp_loop *loop, const char *url, const char *scenario, const mcp_json *context,
              login **ret, mcp_error *error)
{
    mcp_auth_host host = {.size = sizeof(host)};
    login *l = calloc(1, sizeof(*l));
    texts t = {.all = malloc(MAX_TEXT)};
    int rc = MCP_ENOMEM;
    size_t kind = 0;
    mcp_loop_auth_host(loop, &host);
    while (kind < sizeof(kinds) / sizeof(kinds[0]) &&
           (!mcp_json_get(context, kinds[kind].has) || !begins(scenario, kinds[kind].scenario)))
        kind++;
    bool code = kind == sizeof(kinds) / sizeof(kinds[0]);
    if (l && t.all) {
        l->context = context;
        l->assertion = code ? NULL : kinds[kind].assertion;
        rc = mcp_oauth_client_new(
            MCP_OPTIONS(
                mcp_oauth_client_options, .server = url, .host = &host,
                .grant = code ? MCP_OAUTH_CODE : kinds[kind].grant,
                .client_name = "libmcp-conformance", .client_id = text_of(&t, context, "client_id"),
                .client_secret = text_of(&t, context, "client_secret"),
                .client_key = text_of(&t, context, "private_key_pem"),
                .client_metadata_url = "https://conformance-test.local/client-metadata.json",
                .issuer = text_of(&t, context, "issuer"),
                .trusted_issuer = moved_issuer(&t, url, scenario),
                .idp_token_endpoint = text_of(&t, context, "idp_token_endpoint"),
                .idp_client_id = text_of(&t, context, "idp_client_id"),
                .assertion = l->assertion ? assertion : NULL,
                .redirect_uri = "http://127.0.0.1:41414/callback",
                .legacy_endpoints = begins(scenario, "auth/2025-03-26-"), .visit = visit,
                .fetch_ms = PATIENT_MS, .trace = trace, .user = l),
            &l->oauth, error);
    }
    free(t.all);
    if (rc == MCP_OK)
        *ret = l;
    else
        login_free(l);
    return rc;
}

void login_free(login *l)
{
    if (l)
        mcp_oauth_client_free(l->oauth);
    free(l);
}

mcp_oauth_client *login_oauth(login *l)
{
    return l->oauth;
}
