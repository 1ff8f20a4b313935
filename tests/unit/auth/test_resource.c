/* A resource server on a host without threads and sockets. Each allocation fails in turn; the
 * answer is then 503, and never a wrong one. Work is limited for each address, and addresses take
 * turns. */
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

static int64_t host_now(void *user)
{
    (void)user;
    return 1000;
}

static int64_t host_wall(void *user)
{
    (void)user;
    return (int64_t)NOW * 1000;
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

static int host_work(void (*work)(void *arg), void (*done)(void *arg), void *arg, void *user)
{
    (void)user;
    assert_true(queued < MCP__COUNT(queue));
    queue[queued].work = work;
    queue[queued].done = done;
    queue[queued++].arg = arg;
    return MCP_OK;
}

/* Runs the first job of the queue, or only ends it, as a host does that ends. */
static void end_first(bool runs)
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
static void answer_fetches(void)
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

static outcome ask(mcp_resource_server *rs, const char *authorization, const char *proof)
{
    outcome o = {0};
    mcp__rs_question question = {.authorization = mcp_str_from(authorization),
                                 .proof = mcp_str_from(proof),
                                 .method = "GET",
                                 .url = "https://mcp.example/mcp",
                                 .client = "192.0.2.1",
                                 .answer = on_answer,
                                 .user = &o};
    mcp__rs_login *login = mcp__rs_ask(rs, &question);
    for (int i = 0; i < 4 && !o.answers; i++)
        answer_fetches();
    if (!o.answers)
        mcp__rs_login_cancel(login);
    assert_int_equal(o.answers, 1);
    return o;
}

static char *header_of(const char *scheme, const char *token)
{
    size_t room = strlen(scheme) + strlen(token) + 2;
    char *text = malloc(room);
    assert_non_null(text);
    snprintf(text, room, "%s %s", scheme, token);
    return text;
}

static char *make_token(const char *more, const char *scheme)
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

static char *make_proof(const char *header)
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

static int make_server(const mcp_allocator *a, const mcp_auth_host *h, mcp_resource_server **ret)
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

/* ---- no memory ------------------------------------------------------------------------------- */

static void test_no_memory(void **state)
{
    (void)state;
    static const char *const principals[] = {
        "https://as.example#alice",
        "https://as.example#alice",
        "https://b.example#bob",
        "https://as.example#alice",
        "",
    };
    char *plain = make_token("", "Bearer"), *more = public_part(key_p256);
    mcp__jwk *client = key_for(key_ed25519, MCP__JWK_SIGN);
    char cnf[128];
    snprintf(cnf, sizeof(cnf), ",\"cnf\":{\"jkt\":\"%.*s\"}", MCP__SHA256_TEXT, client->thumbprint);
    char *bound = make_token(cnf, "DPoP"), *proof = make_proof(bound);
    snprintf(jwks, sizeof(jwks), "{\"keys\":[%s]}", more);
    const char *const questions[][2] = {
        {plain, NULL}, {plain, NULL}, {"Bearer opaque", NULL}, {bound, proof}, {"Bearer a.b", ""}};
    size_t good = 0;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        mcp_resource_server *rs = NULL;
        int rc = make_server(&a, &host, &rs);
        good = 0;
        for (size_t i = 0; rc == MCP_OK && i < MCP__COUNT(questions); i++) {
            outcome o = ask(rs, questions[i][0], questions[i][1]);
            bool right = o.status == 0 && strcmp(o.principal, principals[i]) == 0;
            if (i == MCP__COUNT(questions) - 1)
                right = o.status == 0; /* the token is opaque too */
            if (!right && o.status != 503)
                fail_msg("allocation %zu, question %zu: %d %s", n, i, o.status, o.challenge);
            good += right;
        }
        if (rc == MCP_OK)
            mcp_resource_server_free(rs);
        else
            assert_int_equal(rc, MCP_ENOMEM);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
    assert_int_equal(good, MCP__COUNT(questions));
    mcp__jwk_free(client);
    free(plain);
    free(more);
    free(bound);
    free(proof);
}

/* ---- turns ----------------------------------------------------------------------------------- */

enum { LOGINS = 14 };

typedef struct crowd {
    mcp_resource_server *rs;
    outcome outcomes[LOGINS];
    mcp__rs_login *logins[LOGINS];
} crowd;

/* Sends a token that is not known yet, from this address. */
static void send_from(crowd *c, size_t i, const char *client)
{
    char more[64];
    snprintf(more, sizeof(more), ",\"n\":%zu", i);
    char *header = make_token(more, "Bearer");
    mcp__rs_question question = {.authorization = mcp_str_from(header),
                                 .method = "GET",
                                 .client = client,
                                 .answer = on_answer,
                                 .user = &c->outcomes[i]};
    c->logins[i] = mcp__rs_ask(c->rs, &question);
    assert_non_null(c->logins[i]);
    free(header);
}

/* The first address sends ten tokens, the second three, the third one. */
static void open_crowd(crowd *c, const mcp_allocator *a)
{
    mcp_auth_host threads = host;
    char *key = public_part(key_p256);
    threads.work = host_work;
    memset(c, 0, sizeof(*c));
    snprintf(jwks, sizeof(jwks), "{\"keys\":[%s]}", key);
    free(key);
    assert_int_equal(make_server(a, &threads, &c->rs), MCP_OK);
    send_from(c, 0, "192.0.2.1");
    for (int i = 0; i < 2; i++) { /* the metadata and the keys */
        answer_fetches();
        end_first(true);
    }
    assert_int_equal(queued, 1);
    for (size_t i = 1; i < LOGINS; i++)
        send_from(c, i, i < 10 ? "192.0.2.1" : i < 13 ? "192.0.2.2" : "192.0.2.3");
}

static const char *address_of(size_t i)
{
    const mcp__rs_job *job = queue[i].arg;
    return job->address->text;
}

static void test_turns(void **state)
{
    (void)state;
    static const char *const order[] = {
        "192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.1", /* four of an address */
        "192.0.2.2", "192.0.2.2",                           /* six of all */
        "192.0.2.2", "192.0.2.3", "192.0.2.1",              /* in turn */
    };
    failalloc f = {0};
    mcp_allocator a = failalloc_allocator(&f);
    crowd c;
    open_crowd(&c, &a);
    for (size_t i = 0; i < MCP__COUNT(order); i++) {
        assert_true(queued <= 6);
        if (strcmp(address_of(0), order[i]) != 0)
            fail_msg("job %zu is of %s", i, address_of(0));
        end_first(true);
    }
    while (queued)
        end_first(true);
    for (size_t i = 0; i < LOGINS; i++) {
        assert_int_equal(c.outcomes[i].answers, 1);
        assert_int_equal(c.outcomes[i].status, 0);
    }
    mcp_resource_server_free(c.rs);
    assert_int_equal(f.live, 0);
}

/* The server is freed while jobs run, or are waiting in the host, which ends them without running
 * them. Logins were cancelled before, as endpoints do when they are freed. */
static void test_freed_meanwhile(void **state)
{
    (void)state;
    for (size_t before = 0; before < 12; before++) {
        failalloc f = {0};
        mcp_allocator a = failalloc_allocator(&f);
        crowd c;
        open_crowd(&c, &a);
        for (size_t i = 0; i < before; i++)
            end_first(true);
        for (size_t i = 0; i < LOGINS; i++) {
            if (!c.outcomes[i].answers)
                mcp__rs_login_cancel(c.logins[i]);
        }
        mcp_resource_server_free(c.rs);
        for (bool runs = true; queued; runs = !runs)
            end_first(runs);
        assert_int_equal(f.live, 0);
    }
}

/* What a check finds out that began before all tokens were forgotten is not remembered. */
static void test_forgotten_meanwhile(void **state)
{
    (void)state;
    crowd c;
    mcp_resource_server_usage usage = {.size = sizeof(usage)};
    open_crowd(&c, NULL);
    end_first(true);
    mcp_resource_server_get_usage(c.rs, &usage);
    assert_int_equal(usage.tokens, 1);
    mcp_resource_server_forget(c.rs);
    while (queued)
        end_first(true);
    mcp_resource_server_get_usage(c.rs, &usage);
    assert_int_equal(usage.tokens, 0);
    assert_int_equal(c.outcomes[LOGINS - 1].answers, 1);
    send_from(&c, 0, "192.0.2.1");
    end_first(true);
    mcp_resource_server_get_usage(c.rs, &usage);
    assert_int_equal(usage.tokens, 1);
    mcp_resource_server_free(c.rs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_freed_meanwhile),
        cmocka_unit_test(test_forgotten_meanwhile),
    };
    return cmocka_run_group_tests(tests, load_crypto, NULL);
}
