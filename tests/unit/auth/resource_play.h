/* resource_play.h: a resource server on a host without threads and sockets, whose fetches and work are
 * answered by the test. */
#ifndef MCP_TESTS_RESOURCE_PLAY_H
#define MCP_TESTS_RESOURCE_PLAY_H

#include "rig.h"
#include "auth/resource/resource.h"

#define NOW 1700000000

/* ---- the host -------------------------------------------------------------------------------- */

typedef struct open_fetch {
    bool used;
    char url[128];
    mcp_fetch_fn *done;
    void *user;
} open_fetch;

static open_fetch fetches[8];
static char jwks[2048];
static int64_t later_s; /* how much later than NOW it is, in seconds */

static int64_t host_now(void *user)
{
    (void)user;
    return 1000;
}

static int64_t host_wall(void *user)
{
    (void)user;
    return (NOW + later_s) * 1000;
}

static int host_random(void *bytes, size_t len, void *user)
{
    (void)user;
    memset(bytes, 7, len);
    return MCP_OK;
}

static int host_fetch(const mcp_fetch_options *o, mcp_fetch **ret, mcp_error *error, void *user)
{
    (void)user;
    (void)error;
    size_t i = 0;
    while (i < MCP__COUNT(fetches) && fetches[i].used)
        i++;
    assert_true(i < MCP__COUNT(fetches));
    fetches[i] = (open_fetch){.used = true, .done = o->done, .user = o->user};
    snprintf(fetches[i].url, sizeof(fetches[i].url), "%s", o->url);
    *ret = (mcp_fetch *)(void *)&fetches[i];
    return MCP_OK;
}

static void host_fetch_cancel(mcp_fetch *fetch, void *user)
{
    (void)user;
    ((open_fetch *)(void *)fetch)->used = false;
}

/* Work that is queued, for a host that has threads. */
static struct {
    void (*work)(void *arg);
    void (*done)(void *arg);
    void *arg;
} queue[64];
static size_t queued;

static inline int host_work(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *user)
{
    (void)user;
    assert_true(queued < MCP__COUNT(queue));
    queue[queued].work = work;
    queue[queued].done = done;
    queue[queued++].arg = arg;
    return MCP_OK;
}

/* Runs the first job of the queue, or only ends it, as a host does that ends. */
static inline void end_first(bool runs)
{
    void (*work)(void *arg) = queue[0].work, (*done)(void *arg) = queue[0].done;
    void *arg = queue[0].arg;
    assert_true(queued > 0);
    memmove(queue, queue + 1, --queued * sizeof(*queue));
    if (runs)
        work(arg);
    done(arg);
}

static const mcp_auth_host host = {.size = sizeof(host),
                                   .now = host_now,
                                   .wall = host_wall,
                                   .random = host_random,
                                   .fetch = host_fetch,
                                   .fetch_cancel = host_fetch_cancel};

/* Answers the fetches that are open. */
static inline void answer_fetches(void)
{
    static const struct {
        const char *url, *body;
    } documents[] = {
        {"https://as.example/.well-known/oauth-authorization-server",
         "{\"issuer\":\"https://as.example\",\"jwks_uri\":\"https://as.example/keys\"}"},
        {"https://as.example/keys", jwks},
        {"https://b.example/introspect", "{\"active\":true,\"aud\":\"me\",\"sub\":\"bob\"}"},
    };
    for (size_t i = 0; i < MCP__COUNT(fetches); i++) {
        open_fetch one = fetches[i];
        if (!one.used)
            continue;
        fetches[i].used = false;
        size_t d = 0;
        while (strcmp(documents[d].url, one.url) != 0)
            assert_true(++d < MCP__COUNT(documents));
        one.done(MCP_OK,
                 &(mcp_fetched){.size = sizeof(mcp_fetched),
                                .status = 200,
                                .media_type = "",
                                .body = mcp_str_from(documents[d].body)},
                 NULL, one.user);
    }
}

/* ---- questions ------------------------------------------------------------------------------- */

typedef struct outcome {
    int answers, status;
    char principal[128], challenge[512];
} outcome;

/* Kept for the next questions, as a connection does; empty unless a test uses it. */
static mcp__rs_recent *recent;
static const mcp_allocator *recent_allocator = &mcp__default_allocator;
static mcp__rs_view *in_view; /* in which the next questions are asked; NULL: in none */

static void on_answer(const mcp__rs_answer *answer, void *user)
{
    outcome *o = user;
    o->answers++;
    o->status = answer->status;
    snprintf(o->principal, sizeof(o->principal), "%s",
             answer->identity ? mcp_identity_principal(answer->identity) : "");
    snprintf(o->challenge, sizeof(o->challenge), "%s",
             answer->n_challenges ? answer->challenges[0] : "");
}

static inline outcome ask(mcp_resource_server *rs, const char *authorization, const char *proof)
{
    outcome o = {0};
    mcp__rs_question question = {.authorization = mcp_str_from(authorization),
                                 .proof = mcp_str_from(proof),
                                 .method = "GET",
                                 .url = in_view ? NULL : "https://mcp.example/mcp",
                                 .view = in_view,
                                 .client = "192.0.2.1",
                                 .answer = on_answer,
                                 .user = &o,
                                 .recent = recent,
                                 .allocator = recent_allocator};
    mcp__rs_login *login = mcp__rs_ask(rs, &question);
    for (int i = 0; i < 4 && !o.answers; i++)
        answer_fetches();
    if (!o.answers)
        mcp__rs_login_cancel(login);
    assert_int_equal(o.answers, 1);
    return o;
}

static inline char *header_of(const char *scheme, const char *token)
{
    size_t room = strlen(scheme) + strlen(token) + 2;
    char *text = malloc(room);
    assert_non_null(text);
    snprintf(text, room, "%s %s", scheme, token);
    return text;
}

static inline char *make_token(const char *more, const char *scheme)
{
    char payload[512];
    mcp__jwk *key = key_for(key_p256, MCP__JWK_SIGN);
    snprintf(payload, sizeof(payload),
             "{\"iss\":\"https://as.example\",\"aud\":\"me\",\"sub\":\"alice\",\"exp\":%d,"
             "\"scope\":\"a\"%s}",
             NOW + 60, more);
    char *token = sign_text(key, "\"typ\":\"at+jwt\",\"kid\":\"p256\"", payload);
    char *header = header_of(scheme, token);
    mcp__jwk_free(key);
    free(token);
    return header;
}

static inline char *make_proof(const char *header)
{
    char payload[512], head[512], hash[MCP__SHA256_TEXT + 1] = {0};
    char *part = public_part(key_ed25519);
    mcp__jwk *key = key_for(key_ed25519, MCP__JWK_SIGN);
    assert_true(mcp__sha256_text(&crypto, mcp_str_from(header + strlen("DPoP ")), hash));
    snprintf(head, sizeof(head), "\"typ\":\"dpop+jwt\",\"jwk\":%s", part);
    snprintf(payload, sizeof(payload),
             "{\"htm\":\"GET\",\"htu\":\"https://mcp.example/mcp\",\"jti\":\"1\",\"iat\":%d,"
             "\"ath\":\"%s\"}",
             NOW, hash);
    char *proof = sign_text(key, head, payload);
    mcp__jwk_free(key);
    free(part);
    return proof;
}

static inline int make_server(const mcp_allocator *a, const mcp_auth_host *h,
                              mcp_resource_server **ret)
{
    static const char *const me = "me";
    const mcp_auth_scope scope = {sizeof(scope), "a", "b c"};
    const mcp_auth_issuer issuers[] = {
        {.size = sizeof(*issuers),
         .issuer = "https://as.example",
         .audiences = &me,
         .n_audiences = 1},
        {.size = sizeof(*issuers),
         .issuer = "https://b.example",
         .audiences = &me,
         .n_audiences = 1,
         .introspection_url = "https://b.example/introspect",
         .client_id = "i",
         .client_secret = "s"},
    };
    return mcp_resource_server_new(
        MCP_OPTIONS(mcp_resource_server_options, .resource = "https://mcp.example/mcp",
                    .issuers = issuers, .n_issuers = 2, .scopes = &scope, .n_scopes = 1,
                    .max_proofs = 8, .host = h, .max_verifying = 6, .allocator = a),
        ret, NULL);
}

#endif
