/* The git provider with worker threads: concurrent reads, cancelled at any time, while the
 * repository is repacked, removed or replaced, and while the peer is closed. It is intended for the
 * thread sanitizer. Each result is compared with that of the same read alone. */
#define _GNU_SOURCE
#include "repository.h"

#include <pthread.h>

enum { COMMITS = 600, FILES = 20, LINES = 60, AT_ONCE = 200, MAX_REPLY = 1 << 20 };

static peer p;

static const struct {
    const char *method, *params;
} asked[] = {
    {"resources/read", "\"uri\":\"git://t/HEAD/f03\""},
    {"resources/read", "\"uri\":\"git://t/HEAD/big\""},
    {"resources/read", "\"uri\":\"git://t/HEAD/big?offset=200000&length=50\""},
    {"resources/read", "\"uri\":\"git://t/v1/f17\""},
    {"resources/read", "\"uri\":\"git://t/HEAD/\""},
    {"resources/read", "\"uri\":\"git://t/\""},
    {"resources/read", "\"uri\":\"git://t/-/commit/v1\""},
    {"resources/read", "\"uri\":\"git://t/-/log/HEAD?limit=100\""},
    {"resources/read", "\"uri\":\"git://t/-/log/HEAD/f05\""},
    {"resources/read", "\"uri\":\"git://t/-/diff/v1/HEAD\""},
    {"resources/read", "\"uri\":\"git://t/-/diff/v1/HEAD/f07\""},
    {"resources/read", "\"uri\":\"git://t/-/blame/HEAD/f05\""},
    {"resources/read", "\"uri\":\"git://t/-/blame/v1/f11?line=5&lines=20\""},
    {"resources/read", "\"uri\":\"git://t/-/branches\""},
    {"resources/read", "\"uri\":\"git://t/-/tags\""},
    {"resources/list", ""},
    {"completion/complete",
     "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"git://t/{rev}/{+path}"
     "{?offset,length,format}\"},\"argument\":{\"name\":\"path\",\"value\":\"f\"}"},
};
enum { KINDS = sizeof(asked) / sizeof(*asked) };

/* ---- the repository -------------------------------------------------------------------------- */

static void put_commit(FILE *f, int i, bool goes_on)
{
    fprintf(f, "commit refs/heads/main\ncommitter A <a@example.org> %d +0000\ndata 1\nx\n%s",
            1700000000 + i, goes_on ? "from refs/heads/main^0\n" : "");
    fprintf(f, "M 100644 inline f%02d\ndata <<END\n", i % FILES);
    for (int k = 0; k < LINES; k++) /* each line is from the last commit that changed it */
        fprintf(f, "line %d of commit %d\n", k, i - (i / FILES + LINES - k) % LINES);
    fputs("END\n", f);
    if (i)
        return;
    fputs("M 100644 inline big\ndata 400000\n", f);
    for (int k = 0; k < 10000; k++)
        fprintf(f, "%039d\n", k);
}

static void import(int from, int to, bool loose)
{
    char command[256];
    snprintf(command, sizeof(command),
             "cd %s/t && git -c core.fsync=none -c fastimport.unpackLimit=%d fast-import --quiet",
             top, loose ? 1 << 30 : 1);
    FILE *f = popen(command, "w");
    assert_non_null(f);
    for (int i = from; i < to; i++)
        put_commit(f, i, from && i == from);
    if (!from)
        fputs("reset refs/tags/v1\nfrom refs/heads/main\n\n", f);
    assert_int_equal(pclose(f), 0);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static char *expected[KINDS];
static size_t answers, good;

/* The request's id modulo KINDS is its kind. */
static void on_answer(mcp_channel *channel, mcp_exchange number, mcp_str message, void *user)
{
    static char text[MAX_REPLY];
    (void)channel, (void)number;
    assert_true(message.len < sizeof(text));
    memcpy(text, message.ptr, message.len);
    text[message.len] = 0;
    const char *id = strstr(text, "\"id\":"), *result = strstr(text, "\"result\":");
    assert_non_null(id);
    size_t kind = strtoul(id + 5, NULL, 10) % KINDS;
    answers++;
    if (!result)
        return;
    if (!expected[kind])
        assert_non_null(expected[kind] = strdup(result));
    if (strcmp(expected[kind], result) == 0)
        good++;
    else if (!user)
        fail_msg("%s\nnow says %.1000s\nand said %.1000s", asked[kind].params, result,
                 expected[kind]);
}

static void send_request(int id)
{
    peer_send(&p, id, asked[id % KINDS].method, asked[id % KINDS].params);
}

static void cancel(int id)
{
    char message[512];
    int n = snprintf(message, sizeof(message),
                     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                     "\"requestId\":%d,\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
                     "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
                     id);
    mcp_channel_receive(p.channel, 0, (mcp_str){message, (size_t)n}, now());
}

/* If `changing`, answers may differ from the expected ones. */
static void open_peer(const mcp_host *host, bool changing)
{
    memset(&p, 0, sizeof(p));
    if (peer_open(&p, "t", &(mcp_git_options){.timeout_ms = 60000}, host, NULL) != MCP_OK)
        fail_msg("%s", p.error.text);
    mcp_channel_free(p.channel);
    assert_int_equal(
        mcp_server_connect(p.server,
                           MCP_OPTIONS(mcp_channel_options, .send = on_answer,
                                       .user = changing ? &p : NULL, .shared_stream = true),
                           &p.channel, NULL),
        MCP_OK);
    answers = good = 0;
}

static void begin(bool changing)
{
    mcp_loop *loop;
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), MCP_OK);
    open_peer(mcp_loop_host(loop), changing);
    p.loop = loop;
}

static void wait_for_all(void)
{
    for (int64_t until = now() + 60000; mcp_channel_in_flight(p.channel) && now() < until;)
        mcp_loop_step(p.loop, 10);
    assert_int_equal(mcp_channel_in_flight(p.channel), 0);
}

/* Records the answer to each kind of request in an unchanged repository. */
static void learn(void)
{
    open_peer(NULL, false);
    for (int i = 0; i < KINDS; i++)
        send_request(i);
    assert_int_equal(good, KINDS);
    peer_close(&p);
}

/* ---- concurrent requests --------------------------------------------------------------------- */

static void test_at_once(void **state)
{
    (void)state;
    begin(false);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < AT_ONCE; i++)
            send_request(round * AT_ONCE + i);
        wait_for_all();
    }
    assert_int_equal(good, 3 * AT_ONCE);
    peer_close(&p);
}

/* ---- cancelled ------------------------------------------------------------------------------- */

/* A host whose work runs only when the test runs it. */
typedef struct held {
    void (*work)(void *), (*done)(void *);
    void *arg;
} held;

static held waiting[AT_ONCE];
static size_t n_waiting;

static int hold(void (*work)(void *), void (*done)(void *), void *arg, void *user)
{
    (void)user;
    if (n_waiting == AT_ONCE)
        return MCP_ELIMIT;
    waiting[n_waiting++] = (held){work, done, arg};
    return MCP_OK;
}

static void *run_held(void *user)
{
    const held *h = user;
    h->work(h->arg);
    return NULL;
}

enum { BEFORE, DURING, AFTER, NEVER };

static void check_cancelled(int when)
{
    static const mcp_host host = {.size = sizeof(host), .work = hold};
    pthread_t thread[AT_ONCE];
    open_peer(&host, false);
    n_waiting = 0;
    for (int i = 0; i < 2 * KINDS; i++)
        send_request(i);
    size_t at_once = answers;
    for (int i = 0; when == BEFORE && i < 2 * KINDS; i++)
        cancel(i);
    for (size_t i = 0; i < n_waiting; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run_held, &waiting[i]), 0);
    for (int i = 0; when == DURING && i < 2 * KINDS; i++)
        cancel(i);
    for (size_t i = 0; i < n_waiting; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; when == AFTER && i < 2 * KINDS; i++)
        cancel(i);
    for (size_t i = 0; i < n_waiting; i++)
        waiting[i].done(waiting[i].arg);
    assert_int_equal(mcp_channel_in_flight(p.channel), 0);
    assert_int_equal(good, when == NEVER ? 2 * KINDS : at_once);
    assert_true(n_waiting > KINDS && at_once);
    peer_close(&p);
}

static void test_cancelled(void **state)
{
    (void)state;
    for (int when = BEFORE; when <= NEVER; when++)
        check_cancelled(when);
}

/* The channel is closed before, and while, its requests are processed. */
static void test_peer_gone(void **state)
{
    static const mcp_host host = {.size = sizeof(host), .work = hold};
    pthread_t thread[AT_ONCE];
    (void)state;
    for (int early = 0; early < 2; early++) {
        open_peer(&host, false);
        n_waiting = 0;
        for (int i = 0; i < KINDS; i++)
            send_request(i);
        for (size_t i = 0; i < n_waiting && !early; i++)
            assert_int_equal(pthread_create(&thread[i], NULL, run_held, &waiting[i]), 0);
        mcp_channel_free(p.channel);
        for (size_t i = 0; i < n_waiting && !early; i++)
            pthread_join(thread[i], NULL);
        for (size_t i = 0; i < n_waiting; i++)
            waiting[i].done(waiting[i].arg);
        mcp_server_free(p.server);
    }
    begin(false);
    for (int i = 0; i < AT_ONCE; i++)
        send_request(i);
    peer_close(&p);
}

/* Requests are cancelled at any moment while the loop runs. */
static void test_cancelled_at_once(void **state)
{
    (void)state;
    begin(false);
    for (int i = 0; i < 3 * AT_ONCE; i++) {
        send_request(i);
        if (i % 3)
            cancel(i - i % 7);
        if (i % 20 == 0)
            mcp_loop_step(p.loop, 1);
    }
    wait_for_all();
    answers = good = 0;
    for (int i = 0; i < KINDS; i++)
        send_request(i);
    wait_for_all();
    assert_int_equal(good, KINDS);
    peer_close(&p);
}

/* ---- changes during requests ----------------------------------------------------------------- */

static void ask_meanwhile(const char *script)
{
    answers = good = 0;
    for (int i = 0; i < AT_ONCE; i++) {
        send_request(i);
        if (i == AT_ONCE / 2)
            sh(script);
    }
    wait_for_all();
}

static void check_restored(void)
{
    answers = good = 0;
    for (int i = 0; i < KINDS; i++)
        send_request(i);
    wait_for_all();
    assert_int_equal(good, KINDS);
}

/* Every pack and loose object is replaced by another file during the reads, but the contents stay
 * the same. */
static void test_packed_anew(void **state)
{
    (void)state;
    begin(false);
    ask_meanwhile("git -C t -c core.fsync=none repack -a -d -q");
    assert_int_equal(good, AT_ONCE);
    ask_meanwhile("git -C t pack-refs --all --prune");
    assert_int_equal(good, AT_ONCE);
    check_restored();
    ask_meanwhile("cd t/.git/objects/pack; for p in *.pack; do git -C ../../.. -c core.fsync=none "
                  "unpack-objects -q <$p || exit 1; done");
    assert_int_equal(good, AT_ONCE);
    check_restored();
    peer_close(&p);
}

/* The repository is moved away, replaced by another one, and moved back. */
static void test_replaced(void **state)
{
    (void)state;
    begin(true);
    for (int i = 0; i < 3; i++) {
        ask_meanwhile("mv t away");
        answers = 0;
        send_request(0);
        wait_for_all();
        assert_int_equal(answers, 1);
        ask_meanwhile("git init -q t");
        ask_meanwhile("rm -rf t; mv away t");
        check_restored();
    }
    peer_close(&p);
}

/* The repository's objects are removed while it is used: a missing object gives an error, and all
 * other answers are correct. */
static void test_taken_apart(void **state)
{
    (void)state;
    begin(true);
    ask_meanwhile("cp -r t copy; find t/.git/objects -type f -delete");
    ask_meanwhile("rm -rf t");
    assert_true(answers > good);
    ask_meanwhile("mv copy t");
    check_restored();
    peer_close(&p);
}

static int setup(void **state)
{
    (void)state;
    make_top();
    sh("git init -q -b main t");
    import(0, COMMITS / 2, false);
    import(COMMITS / 2, COMMITS, true);
    learn();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++)
        free(expected[i]);
    remove_top();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_once),           cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_cancelled_at_once), cmocka_unit_test(test_peer_gone),
        cmocka_unit_test(test_packed_anew),       cmocka_unit_test(test_replaced),
        cmocka_unit_test(test_taken_apart),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
