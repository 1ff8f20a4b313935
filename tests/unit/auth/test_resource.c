/* A resource server on a host without threads and sockets. Each allocation fails in turn; the
 * answer is then 503, and never a wrong one. Work is limited for each address, and addresses take
 * turns. */
#include "resource_play.h"

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
