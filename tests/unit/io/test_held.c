/* test_held.c: connections that are ready in the same turn of the loop. All their requests are received
 * before the first one is handled, and their answers are held and sent together: none is lost, and
 * each connection gets its own, in order.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/http_server/net.h"
#include "support/dice.h"
#include "support/wait.h"

enum { LARGEST = 100 * 1000, ROOM = 4 * LARGEST, KEEP = 100 };

typedef struct fixture {
    mcp_loop *loop;
    mcp_server *servers[2];
    mcp_listener *listeners[2];
    mcp_request *waiting; /* the call of "begin" */
    char folder[32], paths[2][64];
    char text[LARGEST + 1];
    unsigned step;     /* number of steps of the loop in test_received_first() */
    unsigned steps[4]; /* of each call of "note" */
    size_t n_steps;
    struct client *next; /* sends another request during the first call of "note" */
} fixture;

/* ---- the tools ------------------------------------------------------------------------------- */

static int begin(mcp_request *req, const mcp_json *arguments, void *user)
{
    fixture *f = user;

    (void)arguments;
    f->waiting = req;
    mcp_request_progress(req, 1, 2, "begun");
    return MCP_PENDING;
}

static int end(mcp_request *req, const mcp_json *arguments, void *user)
{
    fixture *f = user;

    (void)arguments;
    mcp_reply_finish(f->waiting, mcp_reply_text(f->waiting, "done"));
    return mcp_reply_text(req, "ended");
}

static int text(mcp_request *req, const mcp_json *arguments, void *user)
{
    fixture *f = user;
    size_t size = (size_t)mcp_json_int(mcp_json_get(arguments, "size"), 0);

    assert_true(size <= LARGEST);
    return mcp_reply_text(req, f->text + LARGEST - size);
}

static int close_first(mcp_request *req, const mcp_json *arguments, void *user)
{
    fixture *f = user;

    (void)arguments;
    mcp_listener_close(f->listeners[0]);
    f->listeners[0] = NULL;
    return mcp_reply_text(req, "closed");
}

static void call(struct client *c, const char *tool, size_t size);

static int note(mcp_request *req, const mcp_json *arguments, void *user)
{
    fixture *f = user;

    (void)arguments;
    f->steps[f->n_steps++] = f->step;
    if (f->next)
        call(f->next, "note", 0);
    f->next = NULL;
    return mcp_reply_text(req, "x");
}

static const struct {
    const char *name;
    int (*call)(mcp_request *req, const mcp_json *arguments, void *user);
} tools[] = {
    {"begin", begin}, {"end", end}, {"text", text}, {"close", close_first}, {"note", note}};

static void make_server(fixture *f, int which)
{
    char address[80];

    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                                .no_rate_limits = true),
                                    &f->servers[which], NULL),
                     MCP_OK);
    for (size_t i = 0; i < MCP__COUNT(tools); i++) {
        const mcp_tool tool = {.size = sizeof(tool), .name = tools[i].name, .call = tools[i].call};
        assert_int_equal(mcp_server_add_tool(f->servers[which], &tool, f, NULL), MCP_OK);
    }
    snprintf(f->paths[which], sizeof(f->paths[which]), "%s/%d", f->folder, which);
    snprintf(address, sizeof(address), "unix:%s", f->paths[which]);
    assert_int_equal(
        mcp_loop_listen(f->loop, f->servers[which],
                        MCP_OPTIONS(mcp_listen_options, .address = address, .keep_files = KEEP),
                        &f->listeners[which], NULL),
        MCP_OK);
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));

    memset(f->text, 'x', LARGEST);
    strcpy(f->folder, "/tmp/mcp-held-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    assert_int_equal(mcp_loop_new(NULL, &f->loop, NULL), MCP_OK);
    for (int i = 0; i < 2; i++)
        make_server(f, i);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;

    for (int i = 0; i < 2; i++) {
        mcp_listener_close(f->listeners[i]);
        mcp_server_free(f->servers[i]);
        unlink(f->paths[i]);
    }
    mcp_loop_free(f->loop);
    rmdir(f->folder);
    free(f);
    return 0;
}

/* ---- the clients ----------------------------------------------------------------------------- */

typedef struct client {
    int fd;
    size_t expected, answers; /* numbers of answers */
    size_t sizes[4];
    size_t len;
    char *in;
} client;

static void connect_to(client *c, fixture *f, int which)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    size_t before = mcp_listener_connections(f->listeners[which]);

    *c = (client){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                  .in = calloc(1, ROOM)};
    strcpy(at.sun_path, f->paths[which]);
    assert_int_equal(connect(c->fd, (struct sockaddr *)&at, sizeof(at)), 0);
    for (int64_t ends = wait_end();
         mcp_listener_connections(f->listeners[which]) == before && wait_more(ends);)
        mcp_loop_step(f->loop, 5);
}

static void disconnect(client *c)
{
    close(c->fd);
    free(c->in);
}

static void call_padded(client *c, const char *tool, size_t size, size_t padding)
{
    static char body[LARGEST + 1024], all[LARGEST + 2048];
    int len =
        snprintf(body, sizeof(body),
                 "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\",\"params\":{"
                 "\"name\":\"%s\",\"arguments\":{\"size\":%zu,\"padding\":\"%*s\"},\"_meta\":{"
                 "\"progressToken\":1,"
                 "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                 "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
                 c->expected, tool, size, (int)padding, "");

    len =
        snprintf(all, sizeof(all),
                 "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                 "Accept: application/json, text/event-stream\r\nMcp-Method: tools/call\r\n"
                 "MCP-Protocol-Version: 2026-07-28\r\nMcp-Name: %s\r\nContent-Length: %d\r\n\r\n%s",
                 tool, len, body);
    assert_int_equal(send(c->fd, all, (size_t)len, MSG_NOSIGNAL), len);
    c->expected++;
}

static void call(client *c, const char *tool, size_t size)
{
    call_padded(c, tool, size, 0);
}

/* Takes what has arrived. Returns whether the connection is open. */
static bool take(client *c)
{
    ssize_t n = recv(c->fd, c->in + c->len, ROOM - 1 - c->len, 0);

    c->len += n > 0 ? (size_t)n : 0;
    c->in[c->len] = '\0';
    return n != 0;
}

/* Checks the next answers that are complete, each with its id and the size of its text. */
static void check(client *c)
{
    for (char *body; (body = strstr(c->in, "\r\n\r\n"));) {
        const char *length = strstr(c->in, "Content-Length: ");
        char id[32], *first;
        size_t size;

        assert_memory_equal(c->in, "HTTP/1.1 200", 12);
        assert_true(length && length < body);
        size = (size_t)strtoul(length + 16, NULL, 10);
        body += 4;
        if (c->len - (size_t)(body - c->in) < size)
            return;
        snprintf(id, sizeof(id), "\"id\":%zu,", c->answers);
        assert_non_null(memmem(body, size, id, strlen(id)));
        first = memchr(body, 'x', size); /* of the text; "text" comes before it */
        first = first ? memmem(body, size, "\"text\":\"", 8) : NULL;
        assert_non_null(first);
        assert_int_equal(strspn(first + 8, "x"), c->sizes[c->answers]);
        c->answers++;
        c->len -= (size_t)(body - c->in) + size;
        memmove(c->in, body + size, c->len + 1);
    }
}

/* Runs the loop until the client has received the text. The test fails if it comes too late. */
static void await_text(fixture *f, client *c, const char *text)
{
    for (int64_t ends = wait_end(); !strstr(c->in, text) && wait_more(ends);) {
        mcp_loop_step(f->loop, 5);
        assert_true(take(c));
    }
    assert_non_null(strstr(c->in, text));
}

/* Runs the loop until the connection is closed, and takes what arrived before. */
static void await_close(fixture *f, client *c)
{
    bool open = true;

    for (int64_t ends = wait_end(); open && wait_more(ends);) {
        mcp_loop_step(f->loop, 5);
        open = take(c);
    }
    assert_false(open);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Any number of connections, with requests and answers of any sizes, some of them in a row. */
static void test_sizes(void **state)
{
    static const size_t most[] = {10, 2000, 20 * 1000, 40 * 1000, LARGEST};
    enum { CLIENTS = 3 * MCP__HELD };
    fixture *f = *state;
    client clients[CLIENTS];

    for (int i = 0; i < CLIENTS; i++)
        connect_to(&clients[i], f, 0);
    for (int round = 0; round < 30; round++) {
        size_t active = 1 + dice(CLIENTS), open = active, largest = most[dice(MCP__COUNT(most))];
        size_t padding = most[dice(MCP__COUNT(most))] / 2;
        for (size_t i = 0; i < active; i++) {
            client *c = &clients[i];
            c->expected = c->answers = 0;
            for (unsigned n = 1 + dice(2); n > 0; n--) {
                c->sizes[c->expected] = dice((unsigned)largest);
                call_padded(c, "text", c->sizes[c->expected], dice((unsigned)padding));
            }
        }
        for (int64_t ends = wait_end(); open && wait_more(ends);) {
            mcp_loop_step(f->loop, 1);
            open = 0;
            for (size_t i = 0; i < active; i++) {
                assert_true(take(&clients[i]));
                check(&clients[i]);
                open += clients[i].answers < clients[i].expected;
            }
        }
        assert_int_equal(open, 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(clients[i].len, 0);
        disconnect(&clients[i]);
    }
}

/* The second call lets the first one end, whose head and progress are still held. */
static void test_order(void **state)
{
    fixture *f = *state;
    client first, second;

    connect_to(&first, f, 0);
    connect_to(&second, f, 0);
    call(&first, "begin", 0);
    call(&second, "end", 0);
    await_text(f, &first, "\r\n0\r\n\r\n");
    assert_memory_equal(first.in, "HTTP/1.1 200", 12);
    const char *begun = strstr(first.in, "begun"), *done = strstr(first.in, "done");
    assert_non_null(begun);
    assert_non_null(done);
    assert_true(begun < done);
    disconnect(&first);
    disconnect(&second);
}

/* The second call closes the first connection, whose answer is still held. It is sent. */
static void test_close(void **state)
{
    fixture *f = *state;
    client first, second;

    connect_to(&first, f, 0);
    connect_to(&second, f, 1);
    first.sizes[0] = 20;
    call(&first, "text", 20);
    call(&second, "close", 0);
    await_close(f, &first);
    check(&first);
    assert_int_equal(first.answers, 1);
    await_text(f, &second, "closed");
    disconnect(&first);
    disconnect(&second);
}

/* The first call closes the second connection, whose request was received but is not handled. */
static void test_closed_before(void **state)
{
    fixture *f = *state;
    client first, second;

    connect_to(&first, f, 1);
    connect_to(&second, f, 0);
    call(&first, "close", 0);
    call(&second, "note", 0);
    await_close(f, &second);
    assert_int_equal(second.len, 0);
    assert_int_equal(f->n_steps, 0);
    await_text(f, &first, "closed");
    disconnect(&first);
    disconnect(&second);
}

/* Descriptors are short, so a new connection closes an idle one: not the one whose request was received
 * in the same turn. */
static void test_short_of_files(void **state)
{
    fixture *f = *state;
    client first, second = {.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct rlimit before, lower;

    connect_to(&first, f, 0);
    first.sizes[0] = first.sizes[1] = 20;
    call(&first, "text", 20);
    for (int64_t ends = wait_end(); first.answers < 1 && wait_more(ends);) {
        mcp_loop_step(f->loop, 5);
        assert_true(take(&first));
        check(&first);
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    lower = before;
    lower.rlim_cur = (rlim_t)second.fd + KEEP / 2;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &lower), 0);
    call(&first, "text", 20);
    strcpy(at.sun_path, f->paths[0]);
    assert_int_equal(connect(second.fd, (struct sockaddr *)&at, sizeof(at)), 0);
    bool open = true;
    for (int64_t ends = wait_end(); open && first.answers < 2 && wait_more(ends);) {
        mcp_loop_step(f->loop, 5);
        open = take(&first);
        check(&first);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(first.answers, 2);
    disconnect(&first);
    close(second.fd);
}

/* All requests are received before the first of them is handled: one that is sent meanwhile comes in
 * the next step, also on a connection whose request is handled after that. */
static void test_received_first(void **state)
{
    fixture *f = *state;
    client first, second;

    connect_to(&first, f, 0);
    connect_to(&second, f, 0);
    f->next = &second;
    for (size_t i = 0; i < 4; i++)
        second.sizes[i] = first.sizes[i] = 1;
    call(&first, "note", 0);
    call(&second, "note", 0);
    for (int64_t ends = wait_end(); second.answers < 2 && wait_more(ends);) {
        f->step++;
        mcp_loop_step(f->loop, 5);
        assert_true(take(&first) && take(&second));
        check(&first);
        check(&second);
    }
    assert_int_equal(first.answers, 1);
    assert_int_equal(second.answers, 2);
    assert_int_equal(f->n_steps, 3);
    assert_int_equal(f->steps[1], f->steps[0]);
    assert_true(f->steps[2] > f->steps[1]);
    disconnect(&first);
    disconnect(&second);
}

/* A peer that is gone has no effect on the others. */
static void test_gone(void **state)
{
    fixture *f = *state;
    client clients[3];

    for (int i = 0; i < 3; i++) {
        connect_to(&clients[i], f, 0);
        clients[i].sizes[0] = 30;
        call(&clients[i], "text", 30);
    }
    close(clients[1].fd);
    clients[1].fd = -1;
    for (int i = 0; i < 3; i += 2) {
        for (int64_t ends = wait_end(); !clients[i].answers && wait_more(ends);) {
            mcp_loop_step(f->loop, 5);
            assert_true(take(&clients[i]));
            check(&clients[i]);
        }
        assert_int_equal(clients[i].answers, 1);
        disconnect(&clients[i]);
    }
    free(clients[1].in);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_sizes),         TEST(test_order),          TEST(test_close),
        TEST(test_closed_before), TEST(test_short_of_files), TEST(test_received_first),
        TEST(test_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
