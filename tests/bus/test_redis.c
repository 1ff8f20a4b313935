/* The bus on Redis with a real server: entries arrive, nothing is missed after an interruption, what may be
 * lost is reported, and a server that refuses, stops or forgets is survived.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

#include "server.h"

static const char key[] = "mcp:bus:test";

static void test_entries(void **state)
{
    static char large[MCP_BUS_ENTRY_BYTES];
    (void)state;
    connect_bus(&a);
    connect_bus(&b);
    assert_int_equal(a.bus.publish((mcp_str){"a\0b", 3}, a.bus.user), MCP_OK);
    assert_int_equal(a.bus.publish((mcp_str){"x", 1}, a.bus.user), MCP_ESTATE);
    WAIT_FOR(a.published == MCP_OK && b.n_received == 1);
    memset(large, 'x', sizeof(large));
    assert_int_equal(a.bus.publish((mcp_str){large, sizeof(large)}, a.bus.user), MCP_OK);
    WAIT_FOR(b.n_received == 2);
    for (int i = 0; i < 100; i++)
        ask("XADD %s * e %d", key, i);
    ask("XADD %s * other field more %b", key, large, sizeof(large));
    ask("XADD %s * e last", key);
    WAIT_FOR(b.n_received == 103 && a.n_received == 103);
    assert_string_equal(b.last, "last");
    assert_int_equal(a.n_gaps + b.n_gaps, 0);
    close_bus(&a);
    close_bus(&b);
    connect_bus(&a); /* gets what is published from now on */
    publish(&a, "own");
    WAIT_FOR(a.n_received == 1);
    close_bus(&a);
}

static void test_interrupted(void **state)
{
    (void)state;
    connect_bus(&a);
    publish(&a, "before");
    WAIT_FOR(a.n_received == 1);
    ask("CLIENT KILL TYPE normal SKIPME yes");
    for (int i = 0; i < 200; i++)
        ask("XADD %s * e %d", key, i);
    WAIT_FOR(a.n_received == 201);
    assert_string_equal(a.last, "199");
    publish(&a, "after");
    WAIT_FOR(a.n_received == 202);
    assert_int_equal(a.n_gaps, 0);
    close_bus(&a);
}

/* A connection to an empty stream is lost before anything was published. */
static void test_interrupted_empty(void **state)
{
    (void)state;
    ask("DEL %s", key);
    connect_bus(&a);
    ask("CLIENT KILL TYPE normal SKIPME yes");
    ask("XADD %s * e one", key);
    WAIT_FOR(a.n_received == 1);
    publish(&a, "two");
    WAIT_FOR(a.n_received == 2);
    assert_int_equal(a.n_gaps, 0);
    close_bus(&a);
}

static void test_trimmed(void **state)
{
    (void)state;
    connect_bus(&a);
    publish(&a, "before");
    WAIT_FOR(a.n_received == 1);
    ask("MULTI"); /* the instance cannot read between them */
    ask("XADD %s * e lost", key);
    ask("XADD %s * e kept", key);
    ask("XTRIM %s MAXLEN 1", key);
    ask("EXEC");
    WAIT_FOR(a.n_gaps == 1);
    assert_string_equal(a.last, "kept");
    publish(&a, "after");
    WAIT_FOR(strcmp(a.last, "after") == 0);
    assert_int_equal(a.n_gaps, 1);
    close_bus(&a);
}

/* The stream was removed, and the ids of the new one are less. */
static void test_other_stream(void **state)
{
    (void)state;
    connect_bus(&a);
    publish(&a, "before");
    ask("MULTI");
    ask("DEL %s", key);
    ask("XADD %s 1-1 e old", key);
    ask("EXEC");
    WAIT_FOR(a.n_gaps == 1);
    ask("XADD %s 1-2 e new", key);
    WAIT_FOR(strcmp(a.last, "new") == 0);
    assert_int_equal(a.n_gaps, 1);
    close_bus(&a);
}

static void test_full(void **state)
{
    (void)state;
    connect_bus(&a);
    ask("CONFIG SET maxmemory 1");
    assert_int_equal(a.bus.publish((mcp_str){"x", 1}, a.bus.user), MCP_OK);
    WAIT_FOR(a.published != 1);
    assert_int_equal(a.published, MCP_ELIMIT);
    ASSERT_HAS(a.refusal, "OOM");
    assert_int_equal(a.state, MCP_BUS_CONNECTED);
    ask("CONFIG SET maxmemory 0");
    publish(&a, "now");
    WAIT_FOR(a.n_received == 1);
    assert_int_equal(a.n_gaps, 0);
    close_bus(&a);
}

static void test_wrong_type(void **state)
{
    (void)state;
    ask("DEL %s", key);
    ask("SET %s text", key);
    assert_int_equal(open_on(&a, place, NULL, NULL, mcp_loop_host(loop)), MCP_OK);
    WAIT_FOR(a.n_states);
    assert_int_equal(a.state, MCP_BUS_DOWN);
    ASSERT_HAS(a.why, "WRONGTYPE");
    assert_int_equal(a.bus.publish((mcp_str){"x", 1}, a.bus.user), MCP_ESTATE);
    ask("DEL %s", key);
    WAIT_FOR(a.state == MCP_BUS_CONNECTED);
    assert_string_equal(a.why, "");
    close_bus(&a);
}

static void test_passwords(void **state)
{
    (void)state;
    ask("ACL SETUSER notes on >secret +@all ~*");
    assert_int_equal(open_on(&a, place, "notes", "wrong", mcp_loop_host(loop)), MCP_OK);
    WAIT_FOR(a.n_states);
    ASSERT_HAS(a.why, "WRONGPASS");
    assert_null(strstr(a.why, "wrong "));
    close_bus(&a);
    assert_int_equal(open_on(&a, place, "notes", "secret", mcp_loop_host(loop)), MCP_OK);
    WAIT_FOR(a.state == MCP_BUS_CONNECTED);
    close_bus(&a);
    /* Only what docs/bus.md lists, without INFO: each new connection counts as another server. */
    ask("ACL SETUSER notes resetkeys resetchannels -@all +ping +xadd +xread +xrange +xrevrange "
        "~mcp:bus:test");
    assert_int_equal(open_on(&a, place, "notes", "secret", mcp_loop_host(loop)), MCP_OK);
    WAIT_FOR(a.state == MCP_BUS_CONNECTED);
    assert_int_equal(a.n_gaps, 0);
    ask("CLIENT KILL TYPE normal SKIPME yes");
    WAIT_FOR(a.n_gaps == 1 && a.state == MCP_BUS_CONNECTED);
    publish(&a, "with few rights");
    WAIT_FOR(a.n_received == 1);
    close_bus(&a);
    ask("CONFIG SET requirepass all");
    assert_int_equal(open_on(&a, place, NULL, "all", mcp_loop_host(loop)), MCP_OK);
    WAIT_FOR(a.state == MCP_BUS_CONNECTED);
    close_bus(&a);
    assert_int_equal(open_on(&a, place, NULL, NULL, mcp_loop_host(loop)), MCP_OK);
    WAIT_FOR(a.n_states);
    ASSERT_HAS(a.why, "NOAUTH");
    close_bus(&a);
    ask("CONFIG SET requirepass %s", "");
}

static void test_databases(void **state)
{
    char address[200];
    (void)state;
    snprintf(address, sizeof(address), "%s?db=3&max_entries=200", place);
    connect_bus(&a);
    assert_int_equal(open_on(&b, address, NULL, NULL, mcp_loop_host(loop)), MCP_OK);
    WAIT_FOR(b.state == MCP_BUS_CONNECTED);
    for (int i = 0; i < 500; i++)
        publish(&b, "there");
    WAIT_FOR(b.n_received == 500);
    assert_int_equal(a.n_received, 0);
    ask("SELECT 3");
    assert_in_range(ask("XLEN %s", key)->integer, 200, 400);
    ask("SELECT 0");
    close_bus(&a);
    close_bus(&b);
}

static void test_paused(void **state)
{
    (void)state;
    connect_bus(&a);
    connect_bus(&b);
    kill(server_pid, SIGSTOP);
    assert_int_equal(a.bus.publish((mcp_str){"x", 1}, a.bus.user), MCP_OK);
    WAIT_FOR(a.published != 1);
    assert_int_equal(a.published, MCP_EREMOTE);
    WAIT_FOR(a.state == MCP_BUS_DOWN);
    ASSERT_HAS(a.why, "does not answer");
    kill(server_pid, SIGCONT);
    publish(&a, "after");
    WAIT_FOR(strcmp(a.last, "after") == 0 && strcmp(b.last, "after") == 0);
    assert_int_equal(a.n_gaps + b.n_gaps, 0);
    close_bus(&a);
    close_bus(&b);
}

/* A new run of the server may have forgotten entries, even if it kept some. */
static void restart(const char *persist)
{
    connect_bus(&a);
    publish(&a, "before");
    WAIT_FOR(a.n_received == 1);
    kill_server();
    WAIT_FOR(a.state == MCP_BUS_DOWN);
    assert_true(a.why[0]);
    start_server(persist);
    WAIT_FOR(a.n_gaps >= 1);
    publish(&a, "after");
    WAIT_FOR(strcmp(a.last, "after") == 0);
    assert_in_range(a.n_gaps, 1, 2); /* another run, and another stream */
    close_bus(&a);
}

static void test_restarts(void **state)
{
    (void)state;
    kill_server();
    start_server("yes");
    restart("yes");
    restart("no");
    restart("no");
}

static void test_addresses(void **state)
{
    static const struct {
        const char *text, *host, *path;
        int port, db;
        unsigned entries;
    } rows[] = {
        {"db.example", "db.example", "", 6379, 0, 10000},
        {"db.example:1", "db.example", "", 1, 0, 10000},
        {"10.0.0.1:6380?db=2", "10.0.0.1", "", 6380, 2, 10000},
        {"[::1]:7", "::1", "", 7, 0, 10000},
        {"[::1]", "::1", "", 6379, 0, 10000},
        {"fe80::1", "fe80::1", "", 6379, 0, 10000},
        {"/run/redis.sock?max_entries=100&db=1", "", "/run/redis.sock", 0, 1, 100},
        {"", NULL, NULL, 0, 0, 0},
        {":6379", NULL, NULL, 0, 0, 0},
        {"host:", NULL, NULL, 0, 0, 0},
        {"host:0", NULL, NULL, 0, 0, 0},
        {"host:65536", NULL, NULL, 0, 0, 0},
        {"host:1x", NULL, NULL, 0, 0, 0},
        {"[::1", NULL, NULL, 0, 0, 0},
        {"[::1]x", NULL, NULL, 0, 0, 0},
        {"two hosts", NULL, NULL, 0, 0, 0},
        {"host?tls=1&ca=/ca.pem", "host", "", 6379, 0, 10000},
        {"host?tls=1&cert=a&key=b", "host", "", 6379, 0, 10000},
        {"host?tls=2", NULL, NULL, 0, 0, 0},
        {"host?ca=/ca.pem", NULL, NULL, 0, 0, 0},
        {"host?tls=1&cert=a", NULL, NULL, 0, 0, 0},
        {"/run/redis.sock?tls=1", NULL, NULL, 0, 0, 0},
        {"host?db=-1", NULL, NULL, 0, 0, 0},
        {"host?db=", NULL, NULL, 0, 0, 0},
        {"host?max_entries=9999999999", NULL, NULL, 0, 0, 0},
        {"host?max_entries=10", NULL, NULL, 0, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        redis_address got = {.port = -1};
        mcp_error error = {0};
        int rc = redis_address_read(rows[i].text, &got, &error);
        if (!rows[i].host) {
            assert_int_equal(rc, MCP_EINVAL);
            assert_true(error.text[0]);
            continue;
        }
        assert_int_equal(rc, MCP_OK);
        assert_string_equal(got.host, rows[i].host);
        assert_string_equal(got.path, rows[i].path);
        assert_int_equal(got.port, rows[i].port);
        assert_int_equal(got.db, rows[i].db);
        assert_int_equal(got.max_entries, rows[i].entries);
    }
    assert_int_equal(redis_address_read("host?x", &(redis_address){0}, NULL), MCP_EINVAL);
}

/* Names are resolved on another thread, which may end after the bus. */
static void test_names(void **state)
{
    (void)state;
    assert_int_equal(open_on(&a, "mcp-test.invalid:1", NULL, NULL, mcp_loop_host(loop)), MCP_OK);
    WAIT_FOR(a.n_states);
    ASSERT_HAS(a.why, "mcp-test.invalid: the name has no address");
    close_bus(&a);
    assert_int_equal(open_on(&a, "localhost:1", NULL, NULL, mcp_loop_host(loop)), MCP_OK);
    WAIT_FOR(a.n_states);
    ASSERT_HAS(a.why, "refused");
    close_bus(&a);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(open_on(&a, "localhost:1", NULL, NULL, mcp_loop_host(loop)), MCP_OK);
        for (int j = 0; j < i; j++)
            mcp_loop_step(loop, 10);
        close_bus(&a);
    }
}

/* ---- TLS --------------------------------------------------------------------------------------- */

#ifdef MCP_BUS_TLS
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

static int free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    close(fd);
    return ntohs(at.sin_port);
}

static void run(const char *format, ...)
{
    char command[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    assert_int_equal(system(command), 0);
}

static void expect(const char *host, int port, const char *options, const char *why)
{
    char address[400];
    snprintf(address, sizeof(address), "%s:%d?tls=1%s", host, port, options);
    assert_int_equal(open_on(&a, address, NULL, NULL, mcp_loop_host(loop)), MCP_OK);
    if (why) { /* localhost may have another address, where nobody listens */
        WAIT_FOR(strstr(a.why, why));
    } else {
        WAIT_FOR(a.state == MCP_BUS_CONNECTED);
        publish(&a, "sealed twice");
        WAIT_FOR(a.n_received == 1);
    }
    close_bus(&a);
}

static void test_tls(void **state)
{
    char ca[200], port_text[16];
    int port = free_port();
    (void)state;
    run("cd %s && for i in ca other; do openssl req -x509 -newkey ec -pkeyopt "
        "ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=$i -keyout $i.key -out $i.crt "
        "2>/dev/null; done && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 "
        "-nodes -days 30 -subj /CN=x -addext subjectAltName=IP:127.0.0.1 -CA ca.crt -CAkey ca.key "
        "-keyout s.key -out s.crt 2>/dev/null",
        top);
    snprintf(port_text, sizeof(port_text), "%d", port);
    pid_t pid = fork();
    if (pid == 0) {
        if (chdir(top) == 0)
            execlp("redis-server", "redis-server", "--port", "0", "--tls-port", port_text,
                   "--tls-cert-file", "s.crt", "--tls-key-file", "s.key", "--tls-ca-cert-file",
                   "ca.crt", "--tls-auth-clients", "no", "--save", "", "--logfile", "tls.log",
                   (char *)NULL);
        _exit(127);
    }
    snprintf(ca, sizeof(ca), "&ca=%s/ca.crt", top);
    mcp_bus ignored;
    assert_int_equal(
        redis_make("host?tls=1&ca=/none", "test", NULL, NULL, mcp_loop_host(loop), &ignored, NULL),
        MCP_EINVAL);
    for (int64_t stop = wait_end(); wait_more(stop);) { /* until the server listens */
        redisContext *c = redisConnect("127.0.0.1", port);
        bool up = c && !c->err;
        redisFree(c);
        if (up)
            break;
        usleep(20000);
    }
    expect("127.0.0.1", port, ca, NULL);
    expect("localhost", port, ca, "not accepted: "); /* the name is not in it */
    snprintf(ca, sizeof(ca), "&ca=%s/other.crt", top);
    expect("127.0.0.1", port, ca, "certificate is not accepted: ");
    expect("127.0.0.1", port, "", "certificate is not accepted: ");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}
#else
static void test_tls(void **state)
{
    mcp_bus bus;
    mcp_error error = {0};
    (void)state;
    assert_int_equal(
        redis_make("host?tls=1", "test", NULL, NULL, mcp_loop_host(loop), &bus, &error),
        MCP_EUNSUPPORTED);
    ASSERT_HAS(error.text, "no TLS");
}
#endif

/* ---- what fails here --------------------------------------------------------------------------- */

static int to_fail = -1; /* the number of calls until one fails; -1: none does */

static bool fails(void)
{
    return to_fail >= 0 && to_fail-- == 0;
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

static mcp_host real;

static mcp_host_timer *timer_start(uint64_t ms, void (*fn)(void *), void *arg, void *user)
{
    return fails() ? NULL : real.timer_start(ms, fn, arg, user);
}

static mcp_host_poll *poll_start(int fd, void (*fn)(void *), void *arg, void *user)
{
    return fails() ? NULL : real.poll_start(fd, fn, arg, user);
}

static mcp_host_poll *poll_start_write(int fd, void (*fn)(void *), void *arg, void *user)
{
    return fails() ? NULL : real.poll_start_write(fd, fn, arg, user);
}

/* Each call fails once. Only a timer for the next attempt is indispensable. */
static void test_failing(void **state)
{
    (void)state;
    real = *mcp_loop_host(loop);
    mcp_host host = real;
    host.timer_start = timer_start;
    host.poll_start = poll_start;
    host.poll_start_write = poll_start_write;
    for (int n = 0;; n++) {
        to_fail = n;
        int rc = open_on(&a, place, "default", "x", &host);
        for (int64_t end = wait_now() + 300; rc == MCP_OK && wait_now() < end && to_fail >= 0;)
            mcp_loop_step(loop, 10);
        bool failed = to_fail < 0;
        to_fail = -1;
        for (int i = 0; rc == MCP_OK && i < 3; i++)
            mcp_loop_step(loop, 10);
        close_bus(&a);
        if (!failed)
            break;
        assert_true(n < 400);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),   cmocka_unit_test(test_entries),
        cmocka_unit_test(test_interrupted), cmocka_unit_test(test_interrupted_empty),
        cmocka_unit_test(test_trimmed),     cmocka_unit_test(test_other_stream),
        cmocka_unit_test(test_full),        cmocka_unit_test(test_wrong_type),
        cmocka_unit_test(test_passwords),   cmocka_unit_test(test_databases),
        cmocka_unit_test(test_paused),      cmocka_unit_test(test_names),
        cmocka_unit_test(test_tls),         cmocka_unit_test(test_failing),
        cmocka_unit_test(test_restarts),
    };
    if (system("command -v redis-server >/dev/null") != 0) {
        puts("skipped: redis-server is not installed (scripts/install-deps --tests)");
        return 77;
    }
    return cmocka_run_group_tests(tests, set_up_server, tear_down_server);
}
