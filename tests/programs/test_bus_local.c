/* The bus between processes of one machine: what one publishes reaches the others; one that does not read is
 * told that it missed something; ends of processes and of the relay; each call failing.
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

#include "bus_local.h"
#include "wait.h"

typedef struct instance {
    mcp_bus bus;
    mcp_bus_state state;
    char why[100], last[100];
    size_t n_received, n_gaps, last_len;
    int published; /* 1: no answer yet */
} instance;

static mcp_loop *loop;
static bus_relay *relay;
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

#define WAIT_FOR(condition)                              \
    do {                                                 \
        for (int64_t end_ = wait_end(); !(condition);) { \
            assert_true(wait_more(end_));                \
            mcp_loop_step(loop, 20);                     \
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
    *i = (instance){.published = 1};
    int rc = bus_local_make(fd, host, &i->bus);
    if (rc == MCP_OK && (rc = i->bus.open(&events, i->bus.user, NULL)) != MCP_OK)
        i->bus.close(i->bus.user);
    if (rc != MCP_OK)
        i->bus = (mcp_bus){0};
    return rc;
}

static void join(instance *i)
{
    int fd;
    assert_int_equal(bus_relay_add(relay, &fd), MCP_OK);
    assert_int_equal(open_at(i, fd, mcp_loop_host(loop)), MCP_OK);
    assert_int_equal(i->bus.publish((mcp_str){"x", 1}, i->bus.user), MCP_ESTATE);
    WAIT_FOR(i->state == MCP_BUS_CONNECTED);
}

static void leave(instance *i)
{
    if (i->bus.close)
        i->bus.close(i->bus.user);
    i->bus = (mcp_bus){0};
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
    relay = bus_relay_new(mcp_loop_host(loop));
    return !relay;
}

static int end(void **state)
{
    (void)state;
    leave(&a);
    leave(&b);
    leave(&c);
    bus_relay_free(relay);
    return 0;
}

static void test_entries(void **state)
{
    static char large[MCP_BUS_ENTRY_BYTES];
    (void)state;
    memset(large, 'x', sizeof(large));
    join(&a);
    join(&b);
    join(&c);
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
    int fd;
    size_t n = 0;
    bool gap = false;
    ssize_t len;
    (void)state;
    join(&a);
    join(&b);
    assert_int_equal(bus_relay_add(relay, &fd), MCP_OK);
    for (size_t i = 1; i <= 300; i++) {
        publish(&a, large, sizeof(large));
        WAIT_FOR(b.n_received == i); /* not slowed */
    }
    for (int64_t stop = wait_end(); !gap && wait_more(stop);) {
        len = recv(fd, large, sizeof(large), MSG_DONTWAIT);
        n += len > 0 && large[0] == 'e';
        gap = len == 1 && large[0] == 'g';
        if (len < 0)
            mcp_loop_step(loop, 10);
    }
    assert_true(gap);
    assert_in_range(n, 1, 299);
    publish(&a, "after", 5);
    WAIT_FOR(recv(fd, large, sizeof(large), MSG_DONTWAIT) == 6);
    close(fd);
    WAIT_FOR(bus_relay_count(relay) == 2);
}

static void test_gap(void **state)
{
    static char large[MCP_BUS_ENTRY_BYTES + 2] = "e";
    int pair[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    assert_int_equal(open_at(&a, pair[0], mcp_loop_host(loop)), MCP_OK);
    assert_int_equal(send(pair[1], "g", 1, 0), 1);
    WAIT_FOR(a.n_gaps == 1);
    assert_int_equal(send(pair[1], large, sizeof(large), 0), sizeof(large));
    WAIT_FOR(a.n_gaps == 2);
    assert_int_equal(send(pair[1], "?", 1, 0), 1);
    WAIT_FOR(a.n_gaps == 3);
    assert_int_equal(a.n_received, 0);
    close(pair[1]);
    WAIT_FOR(a.why[0]);
}

/* What a process sends that it should not is not passed on. */
static void test_strange(void **state)
{
    static char large[MCP_BUS_ENTRY_BYTES + 100] = "e";
    int fd;
    (void)state;
    join(&a);
    assert_int_equal(bus_relay_add(relay, &fd), MCP_OK);
    assert_int_equal(send(fd, "g", 1, 0), 1);
    assert_int_equal(send(fd, "x", 1, 0), 1);
    assert_int_equal(send(fd, large, sizeof(large), 0), sizeof(large));
    assert_int_equal(send(fd, "efine", 5, 0), 5);
    WAIT_FOR(a.n_received == 1);
    assert_string_equal(a.last, "fine");
    assert_int_equal(a.n_gaps, 0);
    close(fd);
}

static void test_ends(void **state)
{
    (void)state;
    join(&a);
    join(&b);
    leave(&b);
    WAIT_FOR(bus_relay_count(relay) == 1);
    publish(&a, "alone", 5);
    assert_int_equal(a.bus.publish((mcp_str){"x", 1}, a.bus.user), MCP_OK);
    bus_relay_free(relay);
    relay = NULL;
    WAIT_FOR(a.why[0]);
    assert_int_equal(a.state, MCP_BUS_DOWN);
    assert_string_equal(a.why, "the parent process has ended");
    assert_int_equal(a.bus.publish((mcp_str){"x", 1}, a.bus.user), MCP_ESTATE);
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
        int fd = -1;
        bus_relay *r = bus_relay_new(&host);
        to_fail = n;
        int rc = bus_relay_add(r, &fd);
        if (rc == MCP_OK)
            rc = open_at(&a, fd, &host);
        for (int i = 0; rc == MCP_OK && i < 100 && a.state != MCP_BUS_CONNECTED; i++)
            mcp_loop_step(loop, 20);
        if (rc == MCP_OK)
            rc = a.bus.publish((mcp_str){"x", 1}, a.bus.user);
        bool failed = to_fail < 0;
        to_fail = -1;
        assert_int_equal(rc, failed ? MCP_ENOMEM : MCP_OK);
        leave(&a);
        bus_relay_free(r);
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
        cmocka_unit_test_setup_teardown(test_failing, begin, end),
    };
    if (mcp_loop_new(NULL, &loop, NULL) != MCP_OK)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mcp_loop_free(loop);
    return failed;
}
