/* oauth_server.c: makes the resource server that the section "oauth" describes. */
#define _GNU_SOURCE
#include "oauth_server.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "oauth.h"
#include "secret.h"

enum { MAX_ISSUERS = 16 };

/* The options while they are read. All strings belong to the configuration. */
typedef struct reading {
    config *c;
    mcp_auth_issuer issuers[MAX_ISSUERS];
    const char **audiences[MAX_ISSUERS]; /* arrays of this file */
    size_t n_issuers;
    mcp_auth_scope *scopes;
    size_t n_scopes;
    bool failed; /* out of memory */
} reading;

static const char *text_of(reading *r, const mcp_json *object, const char *member)
{
    const mcp_json *value = mcp_json_get(object, member);
    const char *text = value ? config_text(r->c, value) : NULL;
    r->failed = r->failed || (value && !text);
    return text;
}

/* ---- the secret of introspection ------------------------------------------------------------- */

const char *oauth_secret(config *c, const mcp_json *introspection, mcp_error *error)
{
    mcp_str file = mcp_json_string(mcp_json_get(introspection, "client-secret-file"));
    const char *path = config_place(c, file);
    char *secret = NULL;
    int rc = path ? secret_load(path, &secret, error) : MCP_ENOMEM;
    return rc == MCP_OK ? config_keep(c, secret) : NULL;
}

static int read_introspection(reading *r, const mcp_json *value, mcp_auth_issuer *to,
                              mcp_error *error)
{
    if (!value)
        return MCP_OK;
    to->introspection_url = text_of(r, value, "url");
    to->client_id = text_of(r, value, "client-id");
    to->client_secret = oauth_secret(r->c, value, error);
    return to->client_secret ? MCP_OK : error->text[0] ? MCP_EINVAL : MCP_ENOMEM;
}

/* ---- issuers and scopes ---------------------------------------------------------------------- */

static void read_audiences(reading *r, const mcp_json *list, size_t i)
{
    size_t n = mcp_json_count(list), k = 0;
    const char **audiences = calloc(n ? n : 1, sizeof(*audiences));
    mcp_json_iter it = {0};
    const mcp_json *v;
    r->audiences[i] = audiences;
    while (audiences && (v = mcp_json_next(list, &it, NULL)) != NULL)
        if (!(audiences[k++] = config_text(r->c, v)))
            r->failed = true;
    r->failed = r->failed || !audiences;
    r->issuers[i].audiences = audiences;
    r->issuers[i].n_audiences = k;
}

static int read_issuer(reading *r, const mcp_json *value, mcp_error *error)
{
    size_t i = r->n_issuers++;
    const mcp_json *type = mcp_json_get(value, "token-type");
    const mcp_json *ca = mcp_json_get(value, "ca-file");
    r->issuers[i] = (mcp_auth_issuer){
        .size = sizeof(r->issuers[i]),
        .issuer = text_of(r, value, "issuer"),
        .jwks_url = text_of(r, value, "jwks-uri"),
        .token_type = text_of(r, type, "type"),
        .token_claim = text_of(r, type, "claim"),
        .token_value = text_of(r, type, "value"),
        .principal = text_of(r, value, "principal"),
        .groups = text_of(r, value, "groups"),
        .allow_private = mcp_json_bool(mcp_json_get(value, "allow-private"), false),
        .ca_file = ca ? config_place(r->c, mcp_json_string(ca)) : NULL,
        .proxy = text_of(r, value, "proxy"),
    };
    r->failed = r->failed || (ca && !r->issuers[i].ca_file);
    read_audiences(r, mcp_json_get(value, "audiences"), i);
    return read_introspection(r, mcp_json_get(value, "introspection"), &r->issuers[i], error);
}

static void read_implied(reading *r, const mcp_json *object)
{
    mcp_json_iter it = {0};
    mcp_str key;
    const mcp_json *v;
    r->scopes = calloc(mcp_json_count(object) + 1, sizeof(*r->scopes));
    while (r->scopes && (v = mcp_json_next(object, &it, &key)) != NULL) {
        mcp_auth_scope *s = &r->scopes[r->n_scopes++];
        *s = (mcp_auth_scope){.size = sizeof(*s),
                              .scope = config_keep(r->c, strndup(key.ptr, key.len)),
                              .implies = config_text(r->c, v)};
        r->failed = r->failed || !s->scope || !s->implies;
    }
    r->failed = r->failed || !r->scopes;
}

static mcp_dpop_mode dpop_of(const mcp_json *section)
{
    mcp_str mode = mcp_json_string(mcp_json_get(section, "dpop"));
    return mcp_str_eq(mode, MCP_STR("required")) ? MCP_DPOP_REQUIRED
           : mcp_str_eq(mode, MCP_STR("off"))    ? MCP_DPOP_OFF
                                                 : MCP_DPOP_ALLOWED;
}

static int make(reading *r, const mcp_json *section, const char *name,
                const unsigned char *nonce_key, mcp_loop *loop, mcp_resource_server **ret,
                mcp_error *error)
{
    mcp_auth_host host = {.size = sizeof(host)};
    mcp_loop_auth_host(loop, &host);
    host.log = log_line;
    return mcp_resource_server_new(
        MCP_OPTIONS(mcp_resource_server_options, .resource = text_of(r, section, "resource"),
                    .issuers = r->issuers, .n_issuers = r->n_issuers,
                    .required_scopes = text_of(r, section, "required-scopes"),
                    .scopes_supported = text_of(r, section, "scopes-supported"),
                    .scopes = r->scopes, .n_scopes = r->n_scopes, .name = name,
                    .documentation = text_of(r, section, "documentation"), .dpop = dpop_of(section),
                    .dpop_nonce = mcp_json_bool(mcp_json_get(section, "dpop-nonce"), false),
                    .nonce_key = nonce_key, .host = &host),
        ret, error);
}

/* ---- views ----------------------------------------------------------------------------------- */

int oauth_set_views(config *c, mcp_resource_server *server, mcp_error *error)
{
    const mcp_json *section = mcp_json_get(config_root(c), "views"), *v;
    size_t n = mcp_json_count(section), i = 0;
    mcp_auth_view *list = calloc(n + 1, sizeof(*list));
    const char **resources = calloc(n + 1, sizeof(*resources));
    mcp_json_iter it = {0};
    mcp_str name;
    int rc = list && resources ? MCP_OK : MCP_ENOMEM;
    while (rc == MCP_OK && (v = mcp_json_next(section, &it, &name)) != NULL) {
        const mcp_json *own = mcp_json_get(v, "resource");
        resources[i] = own ? config_text(c, own) : NULL;
        list[i] = (mcp_auth_view){.size = sizeof(*list),
                                  .name = config_keep(c, strndup(name.ptr, name.len)),
                                  .resource = resources[i],
                                  .audiences = own ? &resources[i] : NULL,
                                  .n_audiences = own ? 1 : 0};
        if (!list[i].name || (own && !resources[i]))
            rc = MCP_ENOMEM;
        i++;
    }
    if (rc == MCP_OK)
        rc = mcp_resource_server_set_views(server, list, n, error);
    free(resources);
    free(list);
    return rc;
}

/* ---- the section ----------------------------------------------------------------------------- */

int oauth_server_new(config *c, const char *name, const unsigned char *nonce_key, mcp_loop *loop,
                     mcp_resource_server **ret, mcp_error *error)
{
    const mcp_json *section = oauth_section(c), *v;
    reading r = {.c = c};
    mcp_json_iter it = {0};
    *ret = NULL;
    if (!section)
        return MCP_OK;
    int rc = oauth_check(c);
    read_implied(&r, mcp_json_get(section, "implies"));
    while (rc == MCP_OK && (v = mcp_json_next(mcp_json_get(section, "issuers"), &it, NULL)) != NULL)
        rc = read_issuer(&r, v, error);
    if (rc == MCP_OK && r.failed)
        rc = MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = make(&r, section, name, nonce_key, loop, ret, error);
    if (rc == MCP_OK && (rc = oauth_set_views(c, *ret, error)) != MCP_OK) {
        mcp_resource_server_free(*ret);
        *ret = NULL;
    }
    for (size_t i = 0; i < r.n_issuers; i++)
        free(r.audiences[i]);
    free(r.scopes);
    return rc;
}

const char *oauth_public_url(config *c)
{
    mcp_str resource = mcp_json_string(mcp_json_get(oauth_section(c), "resource"));
    size_t path = strlen("/mcp");
    if (resource.len <= path || memcmp(resource.ptr + resource.len - path, "/mcp", path) != 0)
        return NULL;
    return config_keep(c, strndup(resource.ptr, resource.len - path));
}
