/* doctor_oauth.c: what mcpd --doctor finds out about the section "oauth": whether metadata and keys
 * of each issuer can be fetched, and fit the configuration; whether introspection works.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/uri.h>

#include "doctor.h"
#include "oauth.h"
#include "oauth_server.h"

enum { MAX_URL = 1300, MAX_BYTES = 256 * 1024, FETCH_MS = 10000 };

/* One document. */
typedef struct document {
    bool done;
    int rc, status;
    mcp_json_doc *json; /* NULL if it is not JSON */
    mcp_error error;
} document;

static void on_fetched(int rc, const mcp_fetched *fetched, const mcp_error *error, void *user)
{
    document *d = user;
    d->done = true;
    d->rc = rc;
    if (error)
        d->error = *error;
    if (rc != MCP_OK)
        return;
    d->status = fetched->status;
    if (fetched->status == 200)
        (void)mcp_json_parse(fetched->body, NULL, NULL, &d->json, NULL);
}

/* `form` and `authorization` are those of mcp_fetch_options. */
static document ask(mcp_loop *loop, const mcp_json *issuer, const char *url, const char *form,
                    const char *authorization, config *c)
{
    document d = {.rc = MCP_OK};
    mcp_fetch *running = NULL;
    const mcp_json *ca = mcp_json_get(issuer, "ca-file"), *proxy = mcp_json_get(issuer, "proxy");
    mcp_uri name;
    mcp_str text = mcp_json_string(mcp_json_get(issuer, "issuer"));
    bool here =
        mcp_uri_parse(text, &name, NULL) == MCP_OK &&
        (mcp_str_eq(name.host, MCP_STR("localhost")) ||
         mcp_str_eq(name.host, MCP_STR("127.0.0.1")) || mcp_str_eq(name.host, MCP_STR("::1")));
    bool private = mcp_json_bool(mcp_json_get(issuer, "allow-private"), false);
    d.rc = mcp_loop_fetch(loop,
                          MCP_OPTIONS(mcp_fetch_options, .url = url, .accept = "application/json",
                                      .max_bytes = MAX_BYTES, .timeout_ms = FETCH_MS,
                                      .allow_private = private || here, .no_redirect = true,
                                      .proxy = proxy ? config_text(c, proxy) : NULL,
                                      .ca_file = ca ? config_place(c, mcp_json_string(ca)) : NULL,
                                      .form = form, .authorization = authorization,
                                      .done = on_fetched, .user = &d),
                          &running, &d.error);
    int64_t end = mcp_loop_now(loop) + 2 * FETCH_MS;
    while (d.rc == MCP_OK && !d.done && mcp_loop_now(loop) < end)
        mcp_loop_step(loop, 100);
    if (d.rc == MCP_OK && !d.done) {
        mcp_fetch_cancel(running);
        d.rc = MCP_ETIMEOUT;
    }
    return d;
}

static document fetch(mcp_loop *loop, const mcp_json *issuer, const char *url, config *c)
{
    return ask(loop, issuer, url, NULL, NULL, c);
}

/* ---- findings -------------------------------------------------------------------------------- */

static void tell_unreachable(const char *what, const char *url, const document *d)
{
    if (d->rc == MCP_OK && d->status != 200)
        doctor_find(FINDING_WRONG, "oauth", "%s %s: the answer has the status %d", what, url,
                    d->status);
    else if (d->rc == MCP_OK)
        doctor_find(FINDING_WRONG, "oauth", "%s %s: the answer is no JSON", what, url);
    else
        doctor_find(FINDING_WRONG, "oauth",
                    "%s %s: %s: check the name and the way there (\"proxy\", \"ca-file\"; "
                    "\"allow-private\" for an issuer in a private network)",
                    what, url, d->error.text[0] ? d->error.text : mcp_error_text(d->rc));
}

static bool is_usable(const mcp_json *key)
{
    static const char *const types[] = {"RSA", "EC", "OKP"};
    mcp_str type = mcp_json_string(mcp_json_get(key, "kty"));
    mcp_str use = mcp_json_string(mcp_json_get(key, "use"));
    bool known = false;
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        known = known || mcp_str_eq(type, mcp_str_from(types[i]));
    return known && (!use.ptr || mcp_str_eq(use, MCP_STR("sig")));
}

static void look_at_keys(mcp_loop *loop, const mcp_json *issuer, const char *url, config *c)
{
    document d = fetch(loop, issuer, url, c);
    const mcp_json *keys = mcp_json_get(mcp_json_root(d.json), "keys"), *v;
    mcp_json_iter it = {0};
    size_t usable = 0;
    while ((v = mcp_json_next(keys, &it, NULL)) != NULL)
        usable += is_usable(v);
    if (!d.json)
        tell_unreachable("the keys at", url, &d);
    else if (!usable)
        doctor_find(FINDING_WRONG, "oauth", "%s: there is no key for signatures in it", url);
    else
        doctor_find(FINDING_OK, "oauth", "%s: %zu keys for signatures", url, usable);
    mcp_json_free(d.json);
}

/* ---- metadata -------------------------------------------------------------------------------- */

static bool contains(const mcp_json *list, mcp_str text)
{
    mcp_json_iter it = {0};
    const mcp_json *v;
    while ((v = mcp_json_next(list, &it, NULL)) != NULL)
        if (mcp_str_eq(mcp_json_string(v), text))
            return true;
    return false;
}

/* Reports what clients will miss. */
static void look_at_clients(const char *name, const mcp_json *metadata)
{
    bool registers =
        mcp_json_get(metadata, "registration_endpoint") ||
        mcp_json_bool(mcp_json_get(metadata, "client_id_metadata_document_supported"), false);
    if (!contains(mcp_json_get(metadata, "code_challenge_methods_supported"), MCP_STR("S256")))
        doctor_find(FINDING_WARNING, "oauth",
                    "%s: its metadata does not name the code challenge method S256: clients refuse "
                    "to use it",
                    name);
    if (!registers)
        doctor_find(FINDING_WARNING, "oauth",
                    "%s: clients cannot register themselves: register each one at the issuer, and "
                    "tell its users the client id",
                    name);
}

static void look_at_metadata(mcp_loop *loop, const mcp_json *issuer, const document *d,
                             const char *url, config *c)
{
    const mcp_json *metadata = mcp_json_root(d->json);
    mcp_str name = mcp_json_string(mcp_json_get(issuer, "issuer"));
    mcp_str told = mcp_json_string(mcp_json_get(metadata, "issuer"));
    const mcp_json *keys = mcp_json_get(metadata, "jwks_uri");
    if (!mcp_str_eq(name, told)) {
        doctor_find(FINDING_WRONG, "oauth",
                    "%s says that the issuer is \"%s\": write exactly this, because tokens are "
                    "compared with it byte for byte",
                    url, told.ptr ? told.ptr : "");
        return;
    }
    doctor_find(FINDING_OK, "oauth", "%s: metadata of this issuer", url);
    look_at_clients(name.ptr, metadata);
    if (mcp_json_get(issuer, "introspection"))
        return;
    const char *at = keys ? config_text(c, keys) : NULL;
    if (at)
        look_at_keys(loop, issuer, at, c);
    else
        doctor_find(FINDING_WRONG, "oauth", "%s names no jwks_uri: write it into \"jwks-uri\"",
                    url);
}

/* Writes the URLs of the metadata: RFC 8414, then OpenID Connect Discovery. */
static void put_urls(mcp_str issuer, char to[2][MAX_URL])
{
    mcp_uri u;
    to[0][0] = to[1][0] = '\0';
    while (issuer.len && issuer.ptr[issuer.len - 1] == '/')
        issuer.len--;
    if (mcp_uri_parse(issuer, &u, NULL) != MCP_OK)
        return;
    size_t origin = issuer.len - u.path.len;
    snprintf(to[0], MAX_URL, "%.*s/.well-known/oauth-authorization-server%.*s", (int)origin,
             issuer.ptr, (int)u.path.len, issuer.ptr + origin);
    snprintf(to[1], MAX_URL, "%.*s/.well-known/openid-configuration", (int)issuer.len, issuer.ptr);
}

static void find_metadata(mcp_loop *loop, const mcp_json *issuer, config *c)
{
    char urls[2][MAX_URL];
    put_urls(mcp_json_string(mcp_json_get(issuer, "issuer")), urls);
    for (size_t i = 0; i < 2; i++) {
        document d = fetch(loop, issuer, urls[i], c);
        bool last = i == 1 || (d.rc != MCP_OK && d.rc != MCP_EACCESS);
        if (d.json)
            look_at_metadata(loop, issuer, &d, urls[i], c);
        else if (last)
            tell_unreachable("the metadata at", urls[i], &d);
        mcp_json_free(d.json);
        if (d.json || last)
            return;
    }
}

/* ---- introspection --------------------------------------------------------------------------- */

/* Adds the text as in forms, where everything but unreserved characters is percent-encoded. */
static void put_encoded(FILE *to, mcp_str text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._";
    for (size_t i = 0; i < text.len; i++)
        fprintf(to, text.ptr[i] && strchr(plain, text.ptr[i]) ? "%c" : "%%%02X",
                (unsigned char)text.ptr[i]);
}

/* Returns the header for the client and its secret (RFC 6749 section 2.3.1), or NULL if out of
 * memory. The caller frees it. */
static char *make_basic(mcp_str client, mcp_str secret)
{
    char *pair = NULL, *header = NULL;
    size_t len = 0;
    mcp_str text;
    FILE *to = open_memstream(&pair, &len);
    if (!to)
        return NULL;
    put_encoded(to, client);
    fputc(':', to);
    put_encoded(to, secret);
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    if (fclose(to) == 0)
        mcp_json_add_base64(w, pair, len);
    if (mcp_json_writer_finish(w, &text) != MCP_OK || text.len < 2 ||
        asprintf(&header, "Basic %.*s", (int)text.len - 2, text.ptr + 1) < 0)
        header = NULL;
    mcp_json_writer_free(w);
    free(pair);
    return header;
}

static void tell_introspection(const char *url, const document *d)
{
    const mcp_json *active = mcp_json_get(mcp_json_root(d->json), "active");
    if (d->rc == MCP_OK && (d->status == 401 || d->status == 403))
        doctor_find(FINDING_WRONG, "oauth",
                    "the introspection endpoint %s refuses this server (status %d): check "
                    "client-id and client-secret-file, and that the issuer allows this client to "
                    "introspect",
                    url, d->status);
    else if (!d->json)
        tell_unreachable("the introspection endpoint", url, d);
    else if (!mcp_json_is(active, MCP_JSON_BOOL))
        doctor_find(FINDING_WRONG, "oauth",
                    "%s: the answer does not say whether a token is active: check that this is "
                    "the introspection_endpoint of the metadata",
                    url);
    else if (mcp_json_bool(active, false))
        doctor_find(FINDING_WRONG, "oauth", "%s calls a token active that nobody has issued", url);
    else
        doctor_find(FINDING_OK, "oauth", "%s: introspection works", url);
}

/* Asks about a token that does not exist. */
static void look_at_introspection(mcp_loop *loop, const mcp_json *issuer, config *c)
{
    const mcp_json *section = mcp_json_get(issuer, "introspection");
    mcp_error error = {0};
    const char *url = config_text(c, mcp_json_get(section, "url"));
    const char *secret = url ? oauth_secret(c, section, &error) : NULL;
    char *basic = secret ? make_basic(mcp_json_string(mcp_json_get(section, "client-id")),
                                      mcp_str_from(secret))
                         : NULL;
    if (!basic)
        return; /* a file that cannot be read was reported */
    document d = ask(loop, issuer, url, "token=mcpd-doctor&token_type_hint=access_token", basic, c);
    tell_introspection(url, &d);
    mcp_json_free(d.json);
    free(basic);
}

/* ---- the section ----------------------------------------------------------------------------- */

static void look_at_host(const settings *now, const config *c)
{
    mcp_uri u;
    mcp_str resource = mcp_json_string(mcp_json_get(oauth_section(c), "resource"));
    if (mcp_uri_parse(resource, &u, NULL) != MCP_OK)
        return;
    bool allowed = mcp_str_eq(u.host, MCP_STR("localhost")) ||
                   mcp_str_eq(u.host, MCP_STR("127.0.0.1")) || mcp_str_eq(u.host, MCP_STR("::1"));
    for (size_t i = 0; i < now->allow_host.count; i++)
        allowed = allowed || strcmp(now->allow_host.items[i], "*") == 0 ||
                  mcp_str_eq(mcp_str_from(now->allow_host.items[i]), u.host);
    if (!allowed)
        doctor_find(
            FINDING_WARNING, "oauth",
            "requests for %.*s are refused, unless a proxy changes the header Host: add it to "
            "allow-host",
            (int)u.host.len, u.host.ptr);
}

void doctor_oauth(const settings *now, config *c, mcp_loop *loop)
{
    mcp_error error = {0};
    mcp_resource_server *made = NULL;
    mcp_json_iter it = {0};
    const mcp_json *v, *section = oauth_section(c);
    if (!section)
        return;
    int rc = oauth_server_new(c, now->name, NULL, loop, &made, &error);
    mcp_resource_server_free(made);
    if (rc != MCP_OK && error.text[0])
        doctor_find(FINDING_WRONG, "oauth", "%s", error.text);
    if (rc != MCP_OK)
        return;
    look_at_host(now, c);
    while ((v = mcp_json_next(mcp_json_get(section, "issuers"), &it, NULL)) != NULL) {
        const mcp_json *keys = mcp_json_get(v, "jwks-uri");
        const char *url = keys ? config_text(c, keys) : NULL;
        if (url)
            look_at_keys(loop, v, url, c);
        else
            find_metadata(loop, v, c);
        if (mcp_json_get(v, "introspection"))
            look_at_introspection(loop, v, c);
    }
}
