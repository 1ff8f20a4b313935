/* What workers send each other: entries of the bus and messages about sessions reach the others; a worker that
 * begins later gets the state of all sessions; one that does not read, ends of workers and of the supervisor; each call
 * failing.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <mcp/io.h>

#include "supervisor/line.h"
#include "supervisor/relay.h"
#include "wait.h"

enum { WORKERS = 4, NAME = 32, ROLL_SESSIONS = 20000 };

typedef struct instance {
    worker_line *line;
    mcp_bus bus;
    mcp_bus_state state;
    char why[100], last[100];
    size_t n_received, n_gaps, last_len;
    int published; /* 1: no answer yet */
    size_t n_told, n_forgotten;
    size_t n_roles, n_heard;
    bool watches, missed;
    char heard[100]; /* the number and the last message about watching */
    char told[2000]; /* the letters of the messages, each with the last character of the name */
} instance;

static mcp_loop *loop;
static relay *between;
static instance a, b, c;

static void on_received(mcp_str entry, void *user)
{
    instance *i = user;
    i->n_received++;
    i->last_len = entry.len;
    snprintf(i->last, sizeof(i->last), "%.*s", (int)(entry.len < 90 ? entry.len : 90), entry.ptr);
}

static void on_gap(void *user)
{
    ((instance *)user)->n_gaps++;
}

static void on_published(int rc, const char *why, void *user)
{
    (void)why;
    ((instance *)user)->published = rc;
}

static void on_state(mcp_bus_state state, const char *why, void *user)
{
    instance *i = user;
    i->state = state;
    snprintf(i->why, sizeof(i->why), "%s", why);
}

static void on_told(mcp_str message, void *user)
{
    instance *i = user;
    i->n_told++;
    size_t len = strlen(i->told);
    assert_true(message.len > NAME);
    if (len + 3 < sizeof(i->told))
        snprintf(i->told + len, sizeof(i->told) - len, "%c%c ", message.ptr[0], message.ptr[NAME]);
}

static void on_forget(void *user)
{
    ((instance *)user)->n_forgotten++;
}

static void on_role(bool watches, bool missed, void *user)
{
    instance *i = user;
    i->n_roles++;
    i->watches = watches;
    i->missed = missed;
}

static void on_watching(size_t from, mcp_str message, void *user)
{
    instance *i = user;
    i->n_heard++;
    snprintf(i->heard, sizeof(i->heard), "%zu:%.*s", from,
             (int)(message.len < 90 ? message.len : 90), message.ptr);
}

/* One turn of the supervisor. */
static void turn(void)
{
    struct pollfd fds[WORKERS];
    relay_poll(between, fds);
    assert_true(poll(fds, WORKERS, 0) >= 0);
    relay_turn(between, fds);
}

#define WAIT_FOR(condition)                              \
    do {                                                 \
        for (int64_t end_ = wait_end(); !(condition);) { \
            assert_true(wait_more(end_));                \
            if (between)                                 \
                turn();                                  \
            mcp_loop_step(loop, 1);                      \
        }                                                \
    } while (0)

static int open_at(instance *i, int fd, const mcp_host *host)
{
    mcp_bus_events events = {.size = sizeof(events),
                             .user = i,
                             .received = on_received,
                             .gap = on_gap,
                             .published = on_published,
                             .state = on_state};
    line_events of_line = {
        .told = on_told, .forget = on_forget, .role = on_role, .watching = on_watching, .user = i};
    *i = (instance){.published = 1};
    int rc = line_new(fd, host, &of_line, &i->line);
    if (rc == MCP_OK) {
        line_bus(i->line, &i->bus);
        rc = i->bus.open(&events, i->bus.user, NULL);
    }
    return rc == MCP_OK ? line_begin(i->line) : rc;
}

static void join(instance *i, size_t number)
{
    int fd = relay_add(between, number);
    assert_true(fd >= 0);
    assert_int_equal(open_at(i, fd, mcp_loop_host(loop)), MCP_OK);
    assert_int_equal(i->bus.publish((mcp_str){"x", 1}, i->bus.user), MCP_ESTATE);
    WAIT_FOR(i->state == MCP_BUS_CONNECTED && line_is_complete(i->line));
}

static void leave(instance *i)
{
    if (i->bus.close)
        i->bus.close(i->bus.user);
    line_free(i->line);
    i->bus = (mcp_bus){0};
    i->line = NULL;
}

static void publish(instance *i, const char *text, size_t len)
{
    i->published = 1;
    assert_int_equal(i->bus.publish((mcp_str){text, len}, i->bus.user), MCP_OK);
    assert_int_equal(i->bus.publish((mcp_str){text, len}, i->bus.user), MCP_ESTATE);
    WAIT_FOR(i->published == MCP_OK);
}

static int begin(void **state)
{
    (void)state;
    between = relay_new(WORKERS, ROLL_SESSIONS);
    return !between;
}

static int end(void **state)
{
    (void)state;
    leave(&a);
    leave(&b);
    leave(&c);
    relay_free(between);
    between = NULL;
    return 0;
}

static void test_entries(void **state)
{
    static char large[MCP_BUS_ENTRY_BYTES];
    (void)state;
    memset(large, 'x', sizeof(large));
    join(&a, 0);
    join(&b, 1);
    join(&c, 2);
    publish(&a, "one", 3);
    WAIT_FOR(b.n_received == 1 && c.n_received == 1);
    assert_string_equal(b.last, "one");
    publish(&b, large, sizeof(large));
    WAIT_FOR(a.n_received == 1 && c.n_received == 2);
    assert_int_equal(a.last_len, sizeof(large));
    for (int i = 0; i < 200; i++)
        publish(&c, large, sizeof(large));
    WAIT_FOR(a.n_received == 201);
    assert_int_equal(a.n_gaps + b.n_gaps + c.n_gaps, 0);
}

/* A process that hangs, with the end of its pair in the hands of the test. */
static void test_hangs(void **state)
{
    static char large[20000];
    size_t n = 0;
    bool gap = false;
    ssize_t len;
    (void)state;
    join(&a, 0);
    join(&b, 1);
    int fd = relay_add(between, 2);
    assert_true(fd >= 0);
    for (size_t i = 1; i <= 300; i++) {
        publish(&a, large, sizeof(large));
        WAIT_FOR(b.n_received == i); /* not slowed */
    }
    for (int64_t stop = wait_end(); !gap && wait_more(stop);) {
        len = recv(fd, large, sizeof(large), MSG_DONTWAIT);
        n += len > 0 && large[0] == 'e';
        gap = len == 1 && large[0] == 'g';
        if (len < 0)
            turn();
    }
    assert_true(gap);
    assert_in_range(n, 1, 299);
    publish(&a, "after", 5);
    WAIT_FOR(recv(fd, large, sizeof(large), MSG_DONTWAIT) == 6);
    close(fd);
    publish(&a, "on", 2);
    WAIT_FOR(b.n_received == 302);
}

static void test_gap(void **state)
{
    static char large[MCP_BUS_ENTRY_BYTES + 2] = "e";
    int pair[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    assert_int_equal(send(pair[1], "c", 1, 0), 1);
    assert_int_equal(open_at(&a, pair[0], mcp_loop_host(loop)), MCP_OK);
    assert_true(line_is_complete(a.line)); /* before anything else is done */
    assert_int_equal(send(pair[1], "g", 1, 0), 1);
    WAIT_FOR(a.n_gaps == 1);
    assert_int_equal(send(pair[1], large, sizeof(large), 0), sizeof(large));
    WAIT_FOR(a.n_gaps == 2);
    assert_int_equal(send(pair[1], "?", 1, 0), 1);
    assert_int_equal(send(pair[1], "e", 1, 0), 1);
    assert_int_equal(send(pair[1], "s\0", 2, 0), 2);
    assert_int_equal(send(pair[1], "s\1\1too short", 12, 0), 12);
    close(pair[1]);
    WAIT_FOR(a.why[0]);
    assert_int_equal(a.n_gaps, 2);
    assert_int_equal(a.n_received + a.n_told, 0);
}

/* What a process sends that it should not is not passed on. */
static void test_strange(void **state)
{
    static char large[MCP_BUS_ENTRY_BYTES + 100] = "e";
    (void)state;
    join(&a, 0);
    int fd = relay_add(between, 1);
    assert_true(fd >= 0);
    assert_int_equal(send(fd, "g", 1, 0), 1);
    assert_int_equal(send(fd, "x", 1, 0), 1);
    assert_int_equal(send(fd, "s", 1, 0), 1);
    assert_int_equal(send(fd, "s\0\3HHH\0\0\0", 9, 0), 9); /* no messages about sessions */
    assert_int_equal(send(fd, "s\377\377H", 4, 0), 4);
    assert_int_equal(send(fd, large, sizeof(large), 0), sizeof(large));
    assert_int_equal(send(fd, "efine", 5, 0), 5);
    WAIT_FOR(a.n_received == 1);
    assert_string_equal(a.last, "fine");
    assert_int_equal(a.n_gaps + a.n_told, 0);
    close(fd);
}

static void test_ends(void **state)
{
    (void)state;
    join(&a, 0);
    join(&b, 1);
    leave(&b);
    publish(&a, "alone", 5);
    assert_int_equal(a.bus.publish((mcp_str){"x", 1}, a.bus.user), MCP_OK);
    relay_free(between);
    between = NULL;
    WAIT_FOR(a.why[0]);
    assert_int_equal(a.state, MCP_BUS_DOWN);
    assert_string_equal(a.why, "the supervisor has ended");
    assert_int_equal(a.bus.publish((mcp_str){"x", 1}, a.bus.user), MCP_ESTATE);
    assert_false(line_is_complete(a.line));
    line_tell(a.line, MCP_STR("H"));
}

/* ---- one watches for all ----------------------------------------------------------------------- */

static void test_watches(void **state)
{
    (void)state;
    join(&a, 0);
    join(&b, 1);
    join(&c, 2);
    assert_true(a.watches && !b.watches && !c.watches);
    assert_false(a.missed || b.missed || c.missed);
    assert_true(line_ask(c.line, MCP_STR("+this")));
    WAIT_FOR(a.n_heard == 1);
    assert_string_equal(a.heard, "2:+this");
    assert_true(line_answer(a.line, 2, MCP_STR("=this")));
    WAIT_FOR(c.n_heard == 1);
    assert_string_equal(c.heard, "0:=this");
    /* What makes no sense is not passed on. */
    assert_true(line_answer(b.line, 2, MCP_STR("=that")));
    assert_true(line_answer(a.line, 3, MCP_STR("=that")));
    assert_true(line_answer(a.line, 200, MCP_STR("=that")));
    assert_true(line_ask(a.line, MCP_STR("+myself")));
    leave(&b);
    WAIT_FOR(a.n_heard == 2);
    assert_memory_equal(a.heard, "1:0", 3); /* it has left */
    assert_int_equal(a.n_roles + c.n_roles, 2);
    leave(&a);
    WAIT_FOR(c.watches);
    assert_true(c.missed);
    join(&a, 0);
    assert_false(a.watches || a.missed);
    assert_true(line_ask(a.line, MCP_STR("+more")));
    WAIT_FOR(c.n_heard == 2);
    assert_string_equal(c.heard, "0:+more");
}

/* The one that watches does not read: the others ask anew when it does. */
static void test_watcher_hangs(void **state)
{
    static char large[20000];
    int n = 0, lefts = 0;
    (void)state;
    int fd = relay_add(between, 0);
    assert_true(fd >= 0);
    join(&b, 1);
    memset(large, '+', sizeof(large));
    for (int i = 0; i < 100; i++) {
        WAIT_FOR(line_ask(b.line, (mcp_str){large, sizeof(large)}));
        turn();
    }
    assert_int_equal(b.n_roles, 1);
    for (int64_t stop = wait_end(); b.n_roles == 1 && wait_more(stop);) {
        ssize_t len = recv(fd, large, sizeof(large), MSG_DONTWAIT);
        n += len > 100;
        lefts += len == 2 + 5 && large[0] == 'w' && large[1] == 1 && large[2] == '0';
        turn();
        mcp_loop_step(loop, 0);
    }
    assert_in_range(n, 1, 99);
    WAIT_FOR(b.n_roles == 2);
    assert_false(b.watches || b.missed);
    for (ssize_t len; (len = recv(fd, large, sizeof(large), MSG_DONTWAIT)) > 0;)
        lefts += len == 2 + 5 && large[0] == 'w' && large[1] == 1 && large[2] == '0';
    assert_int_equal(lefts, 1);
    close(fd);
    WAIT_FOR(b.watches && b.missed);
}

/* ---- sessions ---------------------------------------------------------------------------------- */

/* Tells something about a session whose name ends with this character. */
static void tell(instance *i, char letter, char name)
{
    char text[1 + NAME + 20] = {letter};
    memset(text + 1, '0', NAME - 1);
    text[NAME] = name;
    size_t len = 1 + NAME;
    if (letter == 'A')
        len += (size_t)snprintf(text + len, sizeof(text) - len, "unix:there");
    line_tell(i->line, (mcp_str){text, len});
}

static void test_sessions(void **state)
{
    (void)state;
    join(&a, 0);
    join(&b, 1);
    tell(&a, 'A', '1');
    WAIT_FOR(strcmp(b.told, "A1 ") == 0);
    tell(&a, 'S', '1');
    WAIT_FOR(strcmp(b.told, "A1 A1 S1 ") == 0);
    tell(&b, 'A', '2');
    WAIT_FOR(strcmp(a.told, "A2 ") == 0);
    tell(&b, 'E', '2');
    WAIT_FOR(strcmp(a.told, "A2 E2 ") == 0);
    tell(&b, 'A', '3');
    tell(&b, 'S', '4'); /* of which nobody has heard */
    tell(&b, 'E', '4');
    tell(&b, '?', '3');
    WAIT_FOR(strcmp(a.told, "A2 E2 A3 ") == 0);
    join(&c, 2);
    assert_string_equal(c.told, "A1 S1 A3 "); /* what is still true */
    assert_int_equal(c.n_forgotten, 1);
    /* A session that another one has taken over keeps what it has. */
    tell(&c, 'A', '1');
    WAIT_FOR(strcmp(a.told, "A2 E2 A3 A1 S1 ") == 0);
    tell(&c, 'E', '1');
    WAIT_FOR(strcmp(a.told, "A2 E2 A3 A1 S1 E1 ") == 0);
    WAIT_FOR(strcmp(b.told, "A1 A1 S1 A1 S1 E1 ") == 0);
    assert_string_equal(c.told, "A1 S1 A3 ");
}

/* What a worker said before it was killed counts, and its successor hears of it. */
static void test_killed(void **state)
{
    (void)state;
    join(&a, 0);
    join(&b, 1);
    tell(&a, 'A', '1');
    tell(&a, 'S', '1');
    tell(&a, 'A', '2');
    leave(&a);
    relay_end(between, 0);
    join(&a, 0);
    assert_string_equal(a.told, "A1 S1 A2 ");
    WAIT_FOR(strcmp(b.told, "A1 S1 A2 ") == 0);
    tell(&b, 'A', '2'); /* it goes on there */
    WAIT_FOR(strcmp(a.told, "A1 S1 A2 A2 ") == 0);
}

static void begin_many(instance *i, size_t n, char letter)
{
    char text[1 + NAME + 20];
    for (size_t k = 0; k < n; k++) {
        int len = snprintf(text, sizeof(text), "%c%032zu%s", letter, k,
                           letter == 'A' ? "unix:there" : "");
        line_tell(i->line, (mcp_str){text, (size_t)len});
        if (k % 50 == 0) {
            turn();
            mcp_loop_step(loop, 0);
        }
    }
}

/* A worker that does not read gets the last state when it does. */
static void test_slow(void **state)
{
    enum { MANY = 20000 };
    (void)state;
    join(&a, 0);
    join(&b, 1);
    int fd = relay_add(between, 2);
    assert_true(fd >= 0);
    begin_many(&a, MANY, 'A');
    WAIT_FOR(b.n_told == MANY);
    begin_many(&a, MANY - 1, 'E');
    WAIT_FOR(b.n_told == 2 * MANY - 1);
    assert_int_equal(open_at(&c, fd, mcp_loop_host(loop)), MCP_OK);
    WAIT_FOR(line_is_complete(c.line) && c.n_told >= MANY);
    assert_in_range(c.n_told, MANY, 2 * MANY); /* those that it was told of, and their ends */
    assert_int_equal(c.n_forgotten, 1);
}

/* If more is said than the line can keep, the sessions of the worker are forgotten. */
static void test_lost(void **state)
{
    char text[600];
    (void)state;
    join(&a, 0);
    join(&b, 1);
    tell(&a, 'A', 'x');
    tell(&b, 'A', 'y');
    WAIT_FOR(b.n_told == 1 && a.n_told == 1);
    memset(text, 'n', sizeof(text));
    text[0] = 'S';
    for (int i = 0; i < 5000; i++) /* the supervisor has no turn */
        line_tell(a.line, (mcp_str){text, 400});
    tell(&a, 'A', 'z');
    WAIT_FOR(strstr(b.told, "Ex ") && strstr(b.told, "Az "));
    assert_string_equal(a.told, "Ay ");
    line_tell(a.line, (mcp_str){text, sizeof(text)}); /* too long */
    WAIT_FOR(strstr(b.told, "Ez "));
}

static void take_none(mcp_str message, void *arg)
{
    (*(size_t *)arg) += message.len > 0;
}

static size_t read_all(roll *r, size_t worker, size_t *n)
{
    static char packet[ROLL_PACKET];
    size_t len, packets = 0;
    for (; (len = roll_next(r, worker, packet)) != 0; packets++) {
        if (packet[0] == ROLL_TOLD)
            roll_read((mcp_str){packet + 1, len - 1}, take_none, n);
        roll_sent(r, worker);
    }
    return packets;
}

/* There is a limit, also if a worker never reads. */
static void test_limit(void **state)
{
    char text[64];
    size_t n = 0;
    roll *r = roll_new(ROLL_SESSIONS);
    (void)state;
    assert_non_null(r);
    roll_join(r, 0);
    roll_join(r, 1);
    roll_join(r, 2);
    assert_int_equal(read_all(r, 1, &n), 2); /* nothing, and that this is all */
    assert_int_equal(read_all(r, 2, &n), 2);
    for (size_t i = 0; i < 3 * (size_t)ROLL_SESSIONS; i++) {
        int len = snprintf(text, sizeof(text), "A%032zuunix:there", i);
        roll_take(r, 0, (mcp_str){text, (size_t)len});
        if (i % 64 == 0)
            read_all(r, 1, &n);
        assert_true(roll_count(r) <= 2 * (size_t)ROLL_SESSIONS);
    }
    read_all(r, 0, &n);
    read_all(r, 1, &n);
    assert_true(roll_has_next(r, 2));
    n = 0;
    read_all(r, 2, &n);
    assert_int_equal(n, ROLL_SESSIONS);
    assert_int_equal(roll_count(r), ROLL_SESSIONS);
    roll_leave(r, 0);
    assert_false(roll_has_next(r, 0));
    assert_int_equal(roll_count(r), ROLL_SESSIONS);
    roll_free(r);
}

/* ---- what fails here --------------------------------------------------------------------------- */

static int to_fail = -1;
static mcp_host real;

static bool fails(void)
{
    return to_fail >= 0 && to_fail-- == 0;
}

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

static void test_failing(void **state)
{
    (void)state;
    real = *mcp_loop_host(loop);
    mcp_host host = real;
    host.timer_start = timer_start;
    host.poll_start = poll_start;
    host.poll_start_write = poll_start_write;
    for (int n = 0;; n++) {
        int fd = relay_add(between, 0);
        assert_true(fd >= 0);
        to_fail = n;
        int rc = open_at(&a, fd, &host);
        for (int i = 0; rc == MCP_OK && i < 100 && a.state != MCP_BUS_CONNECTED; i++)
            mcp_loop_step(loop, 20);
        if (rc == MCP_OK)
            rc = a.bus.publish((mcp_str){"x", 1}, a.bus.user);
        bool failed = to_fail < 0;
        to_fail = -1;
        assert_int_equal(rc, failed ? MCP_ENOMEM : MCP_OK);
        leave(&a);
        if (!failed)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_entries, begin, end),
        cmocka_unit_test_setup_teardown(test_hangs, begin, end),
        cmocka_unit_test_setup_teardown(test_gap, begin, end),
        cmocka_unit_test_setup_teardown(test_strange, begin, end),
        cmocka_unit_test_setup_teardown(test_ends, begin, end),
        cmocka_unit_test_setup_teardown(test_watches, begin, end),
        cmocka_unit_test_setup_teardown(test_watcher_hangs, begin, end),
        cmocka_unit_test_setup_teardown(test_sessions, begin, end),
        cmocka_unit_test_setup_teardown(test_killed, begin, end),
        cmocka_unit_test_setup_teardown(test_slow, begin, end),
        cmocka_unit_test_setup_teardown(test_lost, begin, end),
        cmocka_unit_test(test_limit),
        cmocka_unit_test_setup_teardown(test_failing, begin, end),
    };
    if (mcp_loop_new(NULL, &loop, NULL) != MCP_OK)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mcp_loop_free(loop);
    return failed;
}
