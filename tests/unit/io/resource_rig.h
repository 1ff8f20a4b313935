/* resource_rig.h: a resource server with its endpoint, a fake authorization server, and a client,
 * on one loop and over real sockets. Time can be moved forward. */
#ifndef MCP_TESTS_RESOURCE_RIG_H
#define MCP_TESTS_RESOURCE_RIG_H

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http_script.h"
#include "unit/auth/rig.h"

#include <mcp/auth.h>
#include <mcp/io.h>

#include "support/wait.h"

#define RESOURCE "https://mcp.example/mcp"

typedef struct rig {
    mcp_allocator allocator; /* used on several threads */
    atomic_size_t live;
    mcp_loop *loop;
    mcp_server *server;
    mcp_auth_host inner; /* of the loop */
    mcp_auth_host host;
    /* The clocks of the host. They stand still, except that a test can add to `shift_ms`, so that
     * no test depends on its speed. */
    int64_t now, wall, shift_ms;
    mcp_resource_server *auth;
    mcp_listener *listener;
    int port;
    /* of the last request */
    char principal[1024];
    int logged;
    /* the authorization server */
    script source;
    char issuer[128];
    char jwks[8192];         /* its key set */
    const char *headers;     /* of the answer with the key set */
    const char *key_status;  /* NULL means "200 OK" */
    const char *metadata_at; /* the path of its metadata; NULL means that it has none */
    char metadata_issuer[128];
    bool hangs;
    bool proxied;        /* the client is a proxy, whose X-Forwarded-For counts */
    uint64_t timeout_ms; /* of the next fetches; 0 means that of the options */
    int n_metadata, n_keys, n_asked;
    const char *answer;                 /* of its introspection endpoint */
    char asked[8192], credentials[512]; /* the last introspection request */
    char log[4096];
} rig;

typedef struct reply {
    int status;
    char head[4096], body[16384];
} reply;

/* ---- memory ------------------------------------------------------------------------------------ */

static void *rig_allocate(size_t size, void *user)
{
    rig *g = user;
    g->live++;
    void *p = malloc(size ? size : 1);
    assert_non_null(p);
    return p;
}

static void *rig_resize(void *ptr, size_t size, void *user)
{
    if (!ptr)
        return rig_allocate(size, user);
    void *p = realloc(ptr, size ? size : 1);
    assert_non_null(p);
    return p;
}

static void rig_release(void *ptr, void *user)
{
    rig *g = user;
    g->live -= ptr != NULL;
    free(ptr);
}

/* ---- the authorization server ---------------------------------------------------------------- */

static inline void source_answer(script_connection *c, const script_request *r)
{
    rig *g = c->script->user;
    char text[512];

    if (strcmp(r->path, "/keys") == 0) {
        g->n_keys++;
        if (!g->hangs)
            script_reply(c, g->key_status ? g->key_status : "200 OK", g->headers, g->jwks);
        return;
    }
    if (strcmp(r->path, "/introspect") == 0) {
        g->n_asked++;
        snprintf(g->asked, sizeof(g->asked), "%s", r->body);
        script_header(r, "Authorization", g->credentials);
        if (!g->hangs)
            script_reply(c, g->key_status ? g->key_status : "200 OK",
                         "Content-Type: application/json", g->answer);
        return;
    }
    g->n_metadata++;
    if (!g->metadata_at || strcmp(r->path, g->metadata_at) != 0) {
        script_reply(c, "404 Not Found", NULL, "");
        return;
    }
    snprintf(text, sizeof(text), "{\"issuer\":\"%s\",\"jwks_uri\":\"http://127.0.0.1:%d/keys\"}",
             g->metadata_issuer, g->source.port);
    script_json(c, text);
}

/* Sets the keys of the authorization server to the public parts of these keys. */
static inline void set_keys(rig *g, const char *a, const char *b)
{
    char *first = public_part(a), *second = b ? public_part(b) : NULL;
    snprintf(g->jwks, sizeof(g->jwks), "{\"keys\":[%s%s%s]}", first, b ? "," : "", b ? second : "");
    free(first);
    free(second);
}

/* ---- the host ---------------------------------------------------------------------------------- */

static int64_t rig_now(void *user)
{
    rig *g = user;
    return g->now + g->shift_ms;
}

static int64_t rig_wall(void *user)
{
    rig *g = user;
    return g->wall + g->shift_ms;
}

static int rig_random(void *bytes, size_t len, void *user)
{
    rig *g = user;
    return g->inner.random(bytes, len, g->inner.user);
}

static int rig_work(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *user)
{
    rig *g = user;
    return g->inner.work(work, done, arg, g->inner.user);
}

static int rig_fetch(const mcp_fetch_options *o, mcp_fetch **ret, mcp_error *error, void *user)
{
    rig *g = user;
    mcp_fetch_options options = *o;
    options.timeout_ms = g->timeout_ms ? g->timeout_ms : o->timeout_ms;
    return g->inner.fetch(&options, ret, error, g->inner.user);
}

static void rig_fetch_cancel(mcp_fetch *fetch, void *user)
{
    rig *g = user;
    g->inner.fetch_cancel(fetch, g->inner.user);
}

static void rig_log(const char *level, const char *line, void *user)
{
    rig *g = user;
    size_t len = strlen(g->log);
    snprintf(g->log + len, sizeof(g->log) - len, "%s: %s\n", level, line);
}

static inline void make_host(rig *g)
{
    g->inner.size = sizeof(g->inner);
    mcp_loop_auth_host(g->loop, &g->inner);
    g->now = g->inner.now(g->inner.user);
    g->wall = g->inner.wall(g->inner.user);
    g->host = (mcp_auth_host){.size = sizeof(g->host),
                              .user = g,
                              .now = rig_now,
                              .wall = rig_wall,
                              .random = rig_random,
                              .work = rig_work,
                              .fetch = rig_fetch,
                              .fetch_cancel = rig_fetch_cancel,
                              .log = rig_log};
}

/* ---- beginning and end ------------------------------------------------------------------------- */

static void rig_record(const mcp_http_record *record, void *user)
{
    rig *g = user;
    g->logged++;
    snprintf(g->principal, sizeof(g->principal), "%s", record->principal ? record->principal : "");
}

/* Makes the loop and the authorization server. */
static inline void rig_begin(rig *g)
{
    memset(g, 0, sizeof(*g));
    g->allocator = (mcp_allocator){rig_allocate, rig_resize, rig_release, g};
    assert_int_equal(mcp_loop_new(&g->allocator, &g->loop, NULL), MCP_OK);
    script_open(&g->source, g->loop, source_answer, g);
    snprintf(g->issuer, sizeof(g->issuer), "http://127.0.0.1:%d", g->source.port);
    snprintf(g->metadata_issuer, sizeof(g->metadata_issuer), "%s", g->issuer);
    g->metadata_at = "/.well-known/oauth-authorization-server";
    set_keys(g, key_p256, NULL);
    make_host(g);
}

/* Makes the resource server and its endpoint. NULL means the defaults, with the issuer of the rig
 * and the audience "me". `user` is an `authenticate` of the program, or NULL. */
static inline void rig_serve(rig *g, const mcp_resource_server_options *options,
                             const mcp_auth_issuer *issuer)
{
    static const char *const audience[] = {"me"}, *const proxies[] = {"127.0.0.1"};
    mcp_auth_issuer own = issuer ? *issuer : (mcp_auth_issuer){0};
    mcp_resource_server_options o = options ? *options : (mcp_resource_server_options){0};
    mcp_error error;
    own.size = sizeof(own);
    own.issuer = own.issuer ? own.issuer : g->issuer;
    own.audiences = audience;
    own.n_audiences = 1;
    o.size = sizeof(o);
    o.resource = RESOURCE;
    o.issuers = o.issuers ? o.issuers : &own;
    o.n_issuers = o.n_issuers ? o.n_issuers : 1;
    o.fetch_ms = o.fetch_ms ? o.fetch_ms : 50000; /* no test depends on how fast a fetch is */
    o.host = &g->host;
    o.allocator = &g->allocator;
    if (mcp_resource_server_new(&o, &g->auth, &error) != MCP_OK)
        fail_msg("%s", error.text);
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "a", .version = "1",
                                                .allocator = &g->allocator),
                                    &g->server, NULL),
                     MCP_OK);
    mcp_http_options http = {.size = sizeof(http),
                             .resource_server = g->auth,
                             .log = rig_record,
                             .wall = rig_wall,
                             .user = g,
                             .public_url = "https://mcp.example",
                             .login_ms = 60000,
                             .trusted_proxies = proxies,
                             .n_trusted_proxies = g->proxied};
    assert_int_equal(
        mcp_loop_listen(g->loop, g->server,
                        MCP_OPTIONS(mcp_listen_options, .address = "127.0.0.1:0", .http = &http),
                        &g->listener, &error),
        MCP_OK);
    g->port = atoi(strrchr(mcp_listener_address(g->listener), ':') + 1);
}

static inline void rig_end(rig *g)
{
    mcp_listener_close(g->listener);
    mcp_resource_server_free(g->auth);
    assert_int_equal(mcp_loop_drain(g->loop, 60000), MCP_OK);
    mcp_server_free(g->server);
    script_free(&g->source, g->loop);
    mcp_loop_free(g->loop);
    assert_int_equal(g->live, 0);
}

/* ---- the client -------------------------------------------------------------------------------- */

static inline int send_request(rig *g, const char *method, const char *path, const char *headers)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)g->port)};
    char text[32768];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    int len = snprintf(text, sizeof(text),
                       "%s %s HTTP/1.1\r\nHost: localhost\r\n%sConnection: close\r\n\r\n", method,
                       path, headers ? headers : "");
    assert_true(len < (int)sizeof(text));
    assert_int_equal(send(fd, text, (size_t)len, MSG_NOSIGNAL), len);
    return fd;
}

/* Reads the answer, while the loop runs. */
static inline void read_reply(rig *g, int fd, reply *r)
{
    static char text[32768];
    size_t len = 0;
    bool ended = false;
    for (int64_t end = wait_end(); !ended && wait_more(end);) {
        mcp_loop_step(g->loop, 5);
        ssize_t n;
        while ((n = recv(fd, text + len, sizeof(text) - 1 - len, MSG_DONTWAIT)) > 0)
            len += (size_t)n;
        ended = n == 0;
    }
    assert_true(ended);
    close(fd);
    text[len] = '\0';
    memset(r, 0, sizeof(*r));
    char *body = strstr(text, "\r\n\r\n");
    assert_non_null(body);
    snprintf(r->head, sizeof(r->head), "%.*s", (int)(body - text) + 2, text);
    snprintf(r->body, sizeof(r->body), "%s", body + 4);
    assert_int_equal(sscanf(text, "HTTP/1.1 %d", &r->status), 1);
}

static inline reply request(rig *g, const char *method, const char *path, const char *headers)
{
    reply r;
    read_reply(g, send_request(g, method, path, headers), &r);
    return r;
}

/* Sends a token with GET /metrics, which needs a login. */
static inline int send_token(rig *g, const char *scheme, const char *token, const char *more)
{
    char headers[24576];
    snprintf(headers, sizeof(headers), "Authorization: %s %s\r\n%s", scheme, token,
             more ? more : "");
    return send_request(g, "GET", "/metrics", headers);
}

static inline reply try_token(rig *g, const char *token)
{
    reply r;
    read_reply(g, send_token(g, "Bearer", token, NULL), &r);
    return r;
}

static inline int status_of(rig *g, const char *token)
{
    return try_token(g, token).status;
}

/* ---- tokens ------------------------------------------------------------------------------------ */

/* Makes a token that is valid except for `more`, members that follow the others. The caller frees
 * it. */
static inline char *make_token(rig *g, const char *key, const char *header, const char *sub,
                               const char *more)
{
    char payload[8192];
    mcp__jwk *signer = key_for(key, MCP__JWK_SIGN);
    snprintf(payload, sizeof(payload),
             "{\"iss\":\"%s\",\"aud\":\"me\",\"sub\":\"%s\",\"exp\":%lld%s}", g->issuer, sub,
             (long long)(rig_wall(g) / 1000 + 3600), more);
    char *token = sign_text(signer, header, payload);
    mcp__jwk_free(signer);
    return token;
}

#define AT_JWT(kid) "\"typ\":\"at+jwt\",\"kid\":\"" kid "\""

static inline char *good_token(rig *g, const char *sub)
{
    return make_token(g, key_p256, AT_JWT("p256"), sub, "");
}

#endif
