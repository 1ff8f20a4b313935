/* test_http_budget.c: the memory that one client can make the server hold (unread responses,
 * incomplete requests, idle connections) is bounded and finally freed, and other clients are served
 * meanwhile.
 */
#define _GNU_SOURCE
#include "http_peer.h"
#include "login.h"

#ifdef __SANITIZE_ADDRESS__
enum { ROOM_KIB = 512 << 10 }; /* the sanitizer keeps freed memory for a while */
#else
enum { ROOM_KIB = 96 << 10 };
#endif

static long resident_kib(void)
{
    char path[64], line[128];
    long kib = -1;
    snprintf(path, sizeof(path), "/proc/%ld/status", (long)child);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (kib < 0 && fgets(line, sizeof(line), f))
        sscanf(line, "VmRSS: %ld", &kib);
    fclose(f);
    assert_true(kib > 0);
    return kib;
}

static const char *asking;

/* Returns a value of /metrics. */
static long metric(const char *name)
{
    char wanted[64], request[128];
    int status = 0, fd = connected();
    snprintf(request, sizeof(request),
             "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n",
             asking);
    send_all(fd, request);
    const char *text = read_reply(fd, &status);
    assert_int_equal(status, 200);
    close(fd);
    snprintf(wanted, sizeof(wanted), "\n%s ", name);
    const char *at = strstr(text, wanted);
    assert_non_null(at);
    return strtol(at + strlen(wanted), NULL, 10);
}

static void wait_for_memory(long less)
{
    int64_t end = now_ms() + PATIENCE_MS;
    while (metric("mcp_memory_bytes") >= less) {
        assert_true(now_ms() < end);
        poll(NULL, 0, 20);
    }
}

static void begin_with(size_t memory, size_t share)
{
    setting.http.max_memory = memory;
    setting.http.max_share = share;
    setting.http.authenticate = login_by_name;
    asking = bearer = "ada";
    start();
    expect_service();
}

static void begin(void)
{
    begin_with(48 << 20, 12 << 20);
}

static int reader(void)
{
    int small = 4096, fd = connected();
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    return fd;
}

static void test_unread_answers(void **state)
{
    (void)state;
    enum { COUNT = 40 };
    int fds[COUNT];
    begin();
    long before = resident_kib();
    for (int i = 0; i < COUNT; i++) {
        fds[i] = reader();
        bearer = "mallory";
        send_all(fds[i], call(i, "huge", ""));
        bearer = "ada";
        if (i % 10 == 0)
            expect_service();
    }
    assert_in_range(metric("mcp_memory_bytes"), 0, 13 << 20);
    assert_true(resident_kib() - before < ROOM_KIB);
    expect(fds[COUNT - 1], 503, "12582912 bytes: read the answers, then try again (max_share");
    assert_true(metric("mcp_memory_refusals_total") > 0);
    assert_true(metric("mcp_limit_refusals_total{limit=\"max_share\"}") > 0);
    assert_int_equal(metric("mcp_limit_refusals_total{limit=\"max_memory\"}"), 0);
    assert_in_range(metric("mcp_limit_used{limit=\"max_share\"}"), 4 << 20, 13 << 20);
    for (int i = 0; i < COUNT; i++)
        close(fds[i]);
    wait_for_memory(1 << 16);
    expect_service();
    assert_int_equal(stop(), 0);
}

/* Unread data waits in buffers that are counted, not in those of the system. */
static void test_unread_answers_are_counted(void **state)
{
    (void)state;
    begin();
    int fd = reader();
    send_all(fd, call(1, "huge", ""));
    expect_service();
    assert_in_range(metric("mcp_memory_bytes"), HUGE - (512 << 10), HUGE + (64 << 10));
    close(fd);
    wait_for_memory(1 << 16);
    assert_int_equal(stop(), 0);
}

/* Other clients have the rest of the budget, each only up to its quota. */
static void test_unread_answers_of_many(void **state)
{
    (void)state;
    enum { MANY = 8, EACH = 5 };
    int fds[MANY][EACH];
    setting.http.stall_ms = 3600000; /* no test waits for it */
    begin();
    long before = resident_kib();
    for (int i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof(name), "many%d", i);
        bearer = name;
        for (int k = 0; k < EACH; k++) {
            fds[i][k] = reader();
            send_all(fds[i][k], call(k, "huge", ""));
        }
    }
    bearer = "ada";
    assert_true(resident_kib() - before < ROOM_KIB);
    /* When memory is short, a peer that reads nothing is disconnected sooner. */
    const struct timeval patience = {12 * PATIENCE_MS / 1000, 0};
    int64_t end = now_ms() + 12 * PATIENCE_MS;
    for (int status = 0; status != 200;) {
        int fd = connected();
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        send_all(fd, call(7, "echo", "still here"));
        assert_non_null(read_reply(fd, &status));
        close(fd);
        assert_true(now_ms() < end);
    }
    assert_in_range(metric("mcp_memory_bytes"), 0, 48 << 20);
    for (int i = 0; i < MANY; i++) {
        for (int k = 0; k < EACH; k++)
            close(fds[i][k]);
    }
    wait_for_memory(1 << 16);
    assert_int_equal(stop(), 0);
}

static void send_half(int fd)
{
    static char spaces[1 << 20];
    static const char head[] =
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Authorization: Bearer mallory\r\nContent-Length: 4000000\r\n\r\n";
    memset(spaces, ' ', sizeof(spaces));
    send(fd, head, sizeof(head) - 1, MSG_NOSIGNAL);
    for (size_t sent = 0; sent < 3900000;) {
        ssize_t n = send(fd, spaces, sizeof(spaces), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n <= 0)
            return; /* the server stopped reading from it */
        sent += (size_t)n;
    }
}

static void test_half_bodies(void **state)
{
    (void)state;
    enum { COUNT = 16 };
    int fds[COUNT];
    begin();
    long before = resident_kib();
    for (int i = 0; i < COUNT; i++) {
        fds[i] = connected();
        send_half(fds[i]);
        if (i % 10 == 0)
            expect_service();
    }
    for (int i = 0; i < COUNT; i++)
        send_half(fds[i]);
    expect_service();
    assert_in_range(metric("mcp_memory_bytes"), 0, 13 << 20);
    assert_true(resident_kib() - before < ROOM_KIB);
    for (int i = 0; i < COUNT; i++)
        close(fds[i]);
    wait_for_memory(1 << 16);
    expect_service();
    assert_int_equal(stop(), 0);
}

/* Pipelined requests are not processed ahead while the client does not read. */
static void test_pipelined_answers(void **state)
{
    (void)state;
    enum { COUNT = 12 };
    begin();
    long before = resident_kib();
    int fd = connected();
    for (int i = 0; i < COUNT; i++)
        send_all(fd, call(1000 + i, "huge", ""));
    expect_service();
    poll(NULL, 0, 100);
    assert_in_range(metric("mcp_memory_bytes"), 0, 13 << 20);
    assert_true(resident_kib() - before < ROOM_KIB);
    for (int i = 0; i < COUNT; i++) {
        char word[32];
        snprintf(word, sizeof(word), "\"id\":%d,", 1000 + i);
        expect(fd, 200, word);
    }
    close(fd);
    assert_int_equal(stop(), 0);
}

/* Requests wait before any is rejected, and continue when memory is available. */
static void test_waits_first(void **state)
{
    (void)state;
    static char spaces[3500000];
    setting.http.max_body = 4 << 20;
    begin_with(48 << 20, 4600000);
    memset(spaces, ' ', sizeof(spaces));
    int body = connected();
    send_all(body, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                   "Authorization: Bearer ada\r\nContent-Length: 3500001\r\n\r\n");
    for (size_t sent = 0; sent < sizeof(spaces);) {
        ssize_t n = send(body, spaces + sent, sizeof(spaces) - sent, MSG_NOSIGNAL);
        assert_true(n > 0);
        sent += (size_t)n;
    }
    asking = "eve";
    for (int64_t end = now_ms() + PATIENCE_MS; metric("mcp_memory_bytes") < 3500000;
         poll(NULL, 0, 5))
        assert_true(now_ms() < end);
    int late = connected();
    send_all(late, call(99, "echo", "in the end"));
    struct pollfd p = {.fd = late, .events = POLLIN};
    assert_int_equal(poll(&p, 1, 200), 0);
    send_all(body, "]");
    expect(body, 400, "not a JSON message");
    expect(late, 200, "in the end");
    close(body);
    close(late);
    assert_int_equal(metric("mcp_memory_waits_total"), 1);
    assert_int_equal(metric("mcp_memory_refusals_total"), 0);
    assert_int_equal(stop(), 0);
}

/* Anonymous idle connections are evicted: callers with a token are still served, and so are file
 * reads. */
static void test_idle_strangers(void **state)
{
    (void)state;
    enum { COUNT = 120 };
    int fds[COUNT];
    setting.descriptors = 64;
    begin();
    int known = connected();
    send_all(known, call(1, "echo", "known"));
    expect(known, 200, "known");
    for (int i = 0; i < COUNT; i++)
        fds[i] = connected();
    poll(NULL, 0, 100);
    for (int i = 0; i < 10; i++) {
        int fd = connected();
        send_all(fd, call(2, "files", ""));
        expect(fd, 200, "opened");
        close(fd);
        send_all(known, call(3, "echo", "still"));
        expect(known, 200, "still");
    }
    assert_true(metric("mcp_connections_shed_total") > 0);
    for (int i = 0; i < COUNT; i++)
        close(fds[i]);
    close(known);
    assert_int_equal(stop(), 0);
}

/* If no connection is idle, a new one gets an error with the reason, and files can still be
 * opened. */
static void test_busy_strangers(void **state)
{
    (void)state;
    enum { COUNT = 70 };
    int fds[COUNT], n = 0;
    char text[2048] = "";
    setting.descriptors = 64;
    begin();
    while (n < COUNT && !strstr(text, " 503 ")) {
        fds[n] = connected();
        send_all(fds[n], listen_request());
        ssize_t len = recv(fds[n++], text, sizeof(text) - 1, 0);
        text[len > 0 ? len : 0] = '\0';
    }
    assert_in_range(n, 10, 50);
    assert_non_null(strstr(text, "Retry-After"));
    assert_non_null(strstr(text, "open files"));
    close(fds[0]);
    poll(NULL, 0, 50);
    int fd = connected();
    send_all(fd, call(2, "files", ""));
    expect(fd, 200, "opened");
    close(fd);
    for (int i = 1; i < n; i++)
        close(fds[i]);
    assert_int_equal(stop(), 0);
}

static int end(void **state)
{
    bearer = NULL;
    return tear_down(state);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, end)
    const struct CMUnitTest tests[] = {
        TEST(test_unread_answers), TEST(test_unread_answers_of_many),
        TEST(test_half_bodies),    TEST(test_pipelined_answers),
        TEST(test_waits_first),    TEST(test_idle_strangers),
        TEST(test_busy_strangers), TEST(test_unread_answers_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
