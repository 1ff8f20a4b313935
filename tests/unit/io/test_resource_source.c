/* Sources of keys that hang, change their answers, redirect, or send too much; keys that are
 * replaced while tokens arrive; and invented names of keys. */
#include "resource_rig.h"

static void expect_header(const reply *r, const char *text)
{
    if (!strstr(r->head, text))
        fail_msg("no \"%s\" in:\n%s", text, r->head);
}

static char *token_of(rig *g, const char *key, const char *kid)
{
    static int number;
    char header[128], sub[32];
    snprintf(header, sizeof(header), "\"typ\":\"at+jwt\",\"kid\":\"%s\"", kid);
    snprintf(sub, sizeof(sub), "caller-%d", ++number);
    return make_token(g, key, header, sub, "");
}

/* Sends a new token that is signed with this key, and returns the status. */
static int try_key(rig *g, const char *key, const char *kid)
{
    char *token = token_of(g, key, kid);
    int status = status_of(g, token);
    free(token);
    return status;
}

/* ---- sources that are away ------------------------------------------------------------------- */

static void test_away(void **state)
{
    (void)state;
    rig g;
    rig_begin(&g);
    rig_serve(&g, NULL, NULL);
    g.key_status = "500 Internal Server Error";
    for (int i = 0; i < 3; i++) {
        char *token = good_token(&g, "alice");
        reply r = try_token(&g, token);
        assert_int_equal(r.status, 503);
        expect_header(&r, "Retry-After: 1\r\n");
        assert_null(strstr(r.head, "WWW-Authenticate"));
        free(token);
    }
    assert_int_equal(g.n_keys, 1); /* at most one fetch in a second */
    /* The metadata is read again, because it may name another URL now. */
    g.shift_ms = 1000;
    assert_int_equal(try_key(&g, key_p256, "p256"), 503);
    assert_int_equal(g.n_metadata, 2);
    g.key_status = NULL;
    assert_int_equal(try_key(&g, key_p256, "p256"), 503); /* two seconds now */
    g.shift_ms = 3000;
    assert_int_equal(try_key(&g, key_p256, "p256"), 200);
    rig_end(&g);
}

static void test_hanging(void **state)
{
    (void)state;
    rig g;
    rig_begin(&g);
    rig_serve(&g, NULL, NULL);
    g.hangs = true;
    g.timeout_ms = 200;
    assert_int_equal(try_key(&g, key_p256, "p256"), 503);
    assert_non_null(strstr(g.log, "warning: the keys of http://127.0.0.1:"));
    g.shift_ms = 1000;
    g.hangs = false;
    g.timeout_ms = 0;
    assert_int_equal(try_key(&g, key_p256, "p256"), 200);
    /* After a set was fetched, a source that hangs does not delay tokens with known keys. */
    g.shift_ms += 3600 * 1000;
    g.hangs = true;
    assert_int_equal(try_key(&g, key_p256, "p256"), 200);
    rig_end(&g);
}

/* The server ends while tokens wait for keys, and clients leave while they wait. */
static void test_end_while_hanging(void **state)
{
    (void)state;
    rig g;
    int fds[4];
    mcp_resource_server_usage usage = {.size = sizeof(usage)};
    rig_begin(&g);
    rig_serve(&g, NULL, NULL);
    g.hangs = true;
    for (int i = 0; i < 4; i++) {
        char *token = token_of(&g, key_p256, "p256");
        fds[i] = send_token(&g, "Bearer", token, NULL);
        free(token);
    }
    int64_t end = wait_end();
    while ((usage.pending < 4 || !g.n_keys) && wait_more(end)) {
        mcp_loop_step(g.loop, 5);
        mcp_resource_server_get_usage(g.auth, &usage);
    }
    close(fds[0]);
    close(fds[1]);
    while (usage.pending > 2 && wait_more(end)) {
        mcp_loop_step(g.loop, 5);
        mcp_resource_server_get_usage(g.auth, &usage);
    }
    assert_int_equal(usage.pending, 2);
    rig_end(&g);
    close(fds[2]);
    close(fds[3]);
}

/* ---- sources that change their minds --------------------------------------------------------- */

/* Whatever the source sends later, the keys that were fetched once stay in use. */
static void test_flipping(void **state)
{
    (void)state;
    static const struct {
        const char *status, *keys;
    } turns[] = {
        {"200 OK", "<html>"},  {"500 Internal Server Error", "{}"},
        {"200 OK", "{}"},      {"200 OK", "{\"keys\":[]}"},
        {"404 Not Found", ""}, {"200 OK", "{\"keys\":[{\"kty\":\"oct\",\"k\":\"YQ\"}]}"},
        {"200 OK", "[1,2"},
    };
    rig g;
    rig_begin(&g);
    rig_serve(&g, NULL, NULL);
    assert_int_equal(try_key(&g, key_p256, "p256"), 200);
    for (size_t i = 0; i < MCP__COUNT(turns); i++) {
        g.shift_ms += 7200 * (int64_t)1000;
        int before = g.n_keys;
        g.key_status = turns[i].status;
        snprintf(g.jwks, sizeof(g.jwks), "%s", turns[i].keys);
        for (int again = 0; again < 3; again++)
            assert_int_equal(try_key(&g, key_p256, "p256"), 200);
        assert_int_equal(g.n_keys, before + 1);
        /* New keys may exist. */
        assert_int_equal(try_key(&g, key_p384, "p384"), 503);
    }
    rig_end(&g);
}

/* Keys are replaced repeatedly while tokens arrive. No valid token is ever refused. If the keys
 * change more often than they are fetched, some requests get 503. */
static void test_rotation(void **state)
{
    (void)state;
    enum { AT_ONCE = 12 };
    static const struct {
        const char *key, *kid;
    } keys[] = {{key_p256, "p256"}, {key_p384, "p384"}, {key_p521, "p521"}};
    rig g;
    int later = 0, fds[AT_ONCE];
    rig_begin(&g);
    rig_serve(&g, NULL, NULL);
    for (size_t turn = 0; turn < 12; turn++) {
        size_t now = turn % 3, next = (turn + 1) % 3;
        set_keys(&g, keys[now].key, keys[next].key);
        if (turn >= 3)
            g.shift_ms += 15000; /* twice as fast as a fetch in 30 seconds */
        for (int i = 0; i < AT_ONCE; i++) {
            size_t k = i % 2 ? next : now;
            char *token = token_of(&g, keys[k].key, keys[k].kid);
            fds[i] = send_token(&g, "Bearer", token, NULL);
            free(token);
        }
        for (int i = 0; i < AT_ONCE; i++) {
            reply r;
            read_reply(&g, fds[i], &r);
            if (r.status != 200 && r.status != 503)
                fail_msg("turn %zu: %d\n%s", turn, r.status, r.head);
            later += r.status == 503;
            assert_true(r.status == 200 || turn >= 4);
        }
    }
    print_message("%d of %d tokens had to come again\n", later, 12 * AT_ONCE);
    rig_end(&g);
}

/* As authorization servers do it: every minute a new key, which is published before it signs, or
 * which replaces the old one at once. Every valid token is accepted at its first attempt. */
static void test_usual_rotation(void **state)
{
    (void)state;
    static const struct {
        const char *key, *kid;
    } keys[] = {{key_p256, "p256"}, {key_p384, "p384"}, {key_p521, "p521"}};
    rig g;
    rig_begin(&g);
    rig_serve(&g, NULL, NULL);
    for (size_t turn = 0; turn < 18; turn++) {
        size_t now = turn % 3, next = (turn + 1) % 3;
        bool published = turn < 9;
        set_keys(&g, keys[now].key, published ? keys[next].key : NULL);
        for (int i = 0; i < 4; i++)
            assert_int_equal(try_key(&g, keys[now].key, keys[now].kid), 200);
        if (published)
            assert_int_equal(try_key(&g, keys[next].key, keys[next].kid), 200);
        g.shift_ms += 60000;
    }
    rig_end(&g);
}

/* Tokens with invented names of keys. */
static void test_invented_names(void **state)
{
    (void)state;
    rig g;
    char kid[32];
    int counts[2] = {0, 0};
    rig_begin(&g);
    rig_serve(&g, NULL, NULL);
    assert_int_equal(try_key(&g, key_p256, "p256"), 200);
    for (int i = 0; i < 20; i++) {
        snprintf(kid, sizeof(kid), "invented-%d", i);
        int status = try_key(&g, key_p384, kid);
        assert_true(status == 401 || status == 503);
        counts[status == 503]++;
    }
    assert_int_equal(counts[0], 4);
    assert_int_equal(g.n_keys, 5);
    /* The keys are replaced now. Tokens with new keys are not refused, and old keys stay valid. */
    set_keys(&g, key_p256, key_p384);
    char *token = token_of(&g, key_p384, "p384");
    reply r = try_token(&g, token);
    assert_int_equal(r.status, 503);
    expect_header(&r, "Retry-After: 30\r\n");
    assert_int_equal(try_key(&g, key_p256, "p256"), 200);
    g.shift_ms = 30000;
    assert_int_equal(status_of(&g, token), 200);
    free(token);
    rig_end(&g);
}

/* ---- waiting until a fetch is allowed -------------------------------------------------------- */

static struct {
    uint64_t ms;
    void (*fn)(void *arg);
    void *arg;
    int running;
} timer;

static struct mcp_host_timer *timer_start(uint64_t ms, void (*fn)(void *arg), void *arg, void *user)
{
    (void)user;
    assert_int_equal(timer.running, 0);
    timer.ms = ms;
    timer.fn = fn;
    timer.arg = arg;
    timer.running = 1;
    return (struct mcp_host_timer *)(void *)&timer;
}

static void timer_stop(struct mcp_host_timer *which, void *user)
{
    (void)user;
    assert_ptr_equal(which, &timer);
    assert_int_equal(timer.running, 1);
    timer.running = 0;
}

/* Uses up the fetches for unknown keys. The next one is allowed 30 seconds after the beginning. */
static void begin_limited(rig *g)
{
    char kid[32];
    memset(&timer, 0, sizeof(timer));
    rig_begin(g);
    g->host.timer_start = timer_start;
    g->host.timer_stop = timer_stop;
    rig_serve(g, NULL, NULL);
    assert_int_equal(try_key(g, key_p256, "p256"), 200);
    for (int i = 0; i < 4; i++) {
        snprintf(kid, sizeof(kid), "invented-%d", i);
        assert_int_equal(try_key(g, key_p384, kid), 401);
    }
    set_keys(g, key_p256, key_p384);
}

static void wait_for_pending(rig *g, uint64_t n)
{
    mcp_resource_server_usage usage = {.size = sizeof(usage)};
    for (int64_t end = wait_end(); usage.pending != n;) {
        assert_true(wait_more(end));
        mcp_loop_step(g->loop, 5);
        mcp_resource_server_get_usage(g->auth, &usage);
    }
}

/* A token with a new key waits if the fetch is allowed soon; others wait for the same fetch. */
static void test_wait_for_limit(void **state)
{
    (void)state;
    rig g;
    reply r;
    begin_limited(&g);
    g.shift_ms = 20000;
    char *token = token_of(&g, key_p384, "p384");
    r = try_token(&g, token);
    assert_int_equal(r.status, 503);
    expect_header(&r, "Retry-After: 10\r\n");
    assert_int_equal(timer.running, 0);
    g.shift_ms = 27000;
    char *other = make_token(&g, key_p384, AT_JWT("p384"), "bob", "");
    char *wrong = make_token(&g, key_p521, AT_JWT("nobody's"), "bob", "");
    int fds[] = {send_token(&g, "Bearer", token, NULL), send_token(&g, "Bearer", other, NULL),
                 send_token(&g, "Bearer", wrong, NULL)};
    wait_for_pending(&g, 3);
    assert_int_equal(timer.ms, 3000);
    assert_int_equal(try_key(&g, key_p256, "p256"), 200); /* not delayed */
    assert_int_equal(g.n_keys, 5);
    g.shift_ms = 30000;
    timer.fn(timer.arg);
    for (size_t i = 0; i < 3; i++) {
        read_reply(&g, fds[i], &r);
        assert_int_equal(r.status, i < 2 ? 200 : 401);
    }
    assert_int_equal(timer.running, 0);
    assert_int_equal(g.n_keys, 6);
    free(token);
    free(other);
    free(wrong);
    rig_end(&g);
}

/* The number of waiting tokens is limited. A client that leaves makes room, and the end of the
 * server ends the wait. */
static void test_wait_for_limit_bounds(void **state)
{
    enum { MOST = 64 };
    (void)state;
    rig g;
    int fds[MOST];
    char sub[16];
    begin_limited(&g);
    g.shift_ms = 27000;
    for (int i = 0; i < MOST; i++) {
        snprintf(sub, sizeof(sub), "u%d", i);
        char *token = make_token(&g, key_p384, AT_JWT("p384"), sub, "");
        fds[i] = send_token(&g, "Bearer", token, NULL);
        free(token);
    }
    wait_for_pending(&g, MOST);
    char *more = make_token(&g, key_p384, AT_JWT("p384"), "more", "");
    assert_int_equal(status_of(&g, more), 503);
    close(fds[0]);
    wait_for_pending(&g, MOST - 1);
    fds[0] = send_token(&g, "Bearer", more, NULL);
    wait_for_pending(&g, MOST);
    assert_int_equal(timer.running, 1);
    free(more);
    rig_end(&g);
    assert_int_equal(timer.running, 0);
    for (int i = 0; i < MOST; i++)
        close(fds[i]);
}

/* Keys without names: a token that was signed with none of them requests new keys. */
static void test_keys_without_names(void **state)
{
    (void)state;
    rig g;
    rig_begin(&g);
    rig_serve(&g, NULL, NULL);
    char *old = make_token(&g, key_p256, "\"typ\":\"at+jwt\"", "alice", "");
    char *new = make_token(&g, rfc8037_key, "\"typ\":\"at+jwt\"", "alice", "");
    char *wrong = make_token(&g, key_ed25519, "\"typ\":\"at+jwt\"", "alice", "");
    set_keys(&g, key_p256, key_ed25519);
    assert_int_equal(status_of(&g, old), 200);
    assert_int_equal(status_of(&g, new), 401);
    assert_int_equal(g.n_keys, 2);
    assert_int_equal(status_of(&g, wrong), 200);
    set_keys(&g, key_p256, rfc8037_key);
    g.shift_ms = 11000; /* longer than a refusal is cached */
    assert_int_equal(status_of(&g, new), 200);
    assert_int_equal(g.n_keys, 3);
    free(old);
    free(new);
    free(wrong);
    rig_end(&g);
}

/* ---- hostile sources ------------------------------------------------------------------------- */

static void redirect(script_connection *c, const script_request *r)
{
    rig *g = c->script->user;
    char location[128];
    if (strcmp(r->path, "/keys") != 0 && strcmp(r->path, "/private") != 0) {
        source_answer(c, r);
        return;
    }
    g->n_keys++;
    snprintf(location, sizeof(location), "Location: http://127.0.0.1:%d/private", g->source.port);
    script_reply(c, "302 Found", location, g->jwks);
}

static void test_redirect(void **state)
{
    (void)state;
    rig g;
    rig_begin(&g);
    rig_serve(&g, NULL, NULL);
    g.source.handle = redirect;
    assert_int_equal(try_key(&g, key_p256, "p256"), 503);
    assert_int_equal(g.n_keys, 1); /* and not "/private" */
    assert_non_null(strstr(g.log, "cannot be fetched: "));
    rig_end(&g);
}

static void send_much(script_connection *c, const script_request *r)
{
    enum { MUCH = 10 << 20 };
    rig *g = c->script->user;
    char head[128];
    if (strcmp(r->path, "/keys") != 0) {
        source_answer(c, r);
        return;
    }
    g->n_keys++;
    char *body = malloc(MUCH);
    assert_non_null(body);
    memset(body, ' ', MUCH);
    memcpy(body, g->jwks, strlen(g->jwks));
    /* First with its length, then without. */
    if (g->n_keys == 1)
        snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", MUCH);
    else
        snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\n\r\n");
    script_write(c, head);
    script_write_bytes(c, body, MUCH);
    script_end(c);
    free(body);
}

static void test_much(void **state)
{
    (void)state;
    rig g;
    rig_begin(&g);
    rig_serve(&g, NULL, NULL);
    g.source.handle = send_much;
    assert_int_equal(try_key(&g, key_p256, "p256"), 503);
    g.shift_ms = 1000;
    assert_int_equal(try_key(&g, key_p256, "p256"), 503);
    assert_int_equal(g.n_keys, 2);
    assert_non_null(strstr(g.log, "larger than 65536 bytes"));
    rig_end(&g);
}

/* An issuer with a public URL does not cause connections to this machine. */
static void test_private_address(void **state)
{
    (void)state;
    for (int allowed = 0; allowed < 2; allowed++) {
        rig g;
        char url[64];
        rig_begin(&g);
        snprintf(url, sizeof(url), "https://127.0.0.1:%d/keys", g.source.port);
        snprintf(g.issuer, sizeof(g.issuer), "https://id.example");
        rig_serve(&g, NULL, &(mcp_auth_issuer){.jwks_url = url, .allow_private = allowed});
        g.timeout_ms = 1000; /* the source knows nothing of TLS */
        assert_int_equal(try_key(&g, key_p256, "p256"), 503);
        assert_true(allowed || g.source.n_connections == 0);
        assert_int_equal(strstr(g.log, "private network") != NULL, !allowed);
        rig_end(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_away),
        cmocka_unit_test(test_hanging),
        cmocka_unit_test(test_end_while_hanging),
        cmocka_unit_test(test_flipping),
        cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_usual_rotation),
        cmocka_unit_test(test_wait_for_limit),
        cmocka_unit_test(test_wait_for_limit_bounds),
        cmocka_unit_test(test_invented_names),
        cmocka_unit_test(test_keys_without_names),
        cmocka_unit_test(test_redirect),
        cmocka_unit_test(test_much),
        cmocka_unit_test(test_private_address),
    };
    return cmocka_run_group_tests(tests, load_crypto, NULL);
}
