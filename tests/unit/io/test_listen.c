/* test_listen.c: listeners: addresses, the files of Unix sockets, warnings, the Date header,
 * allocation failures. tests/fault/test_http_sockets.c tests the connections.
 */
#define _GNU_SOURCE
#include <mcp/sys/io.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "failalloc.h"
#include "io/http_server/net.h"
#include "support/wait.h"

static const struct {
    const char *text, *host;
    uint16_t port;
    bool loopback, any;
} good[] = {
    {"127.0.0.1:8642", "127.0.0.1", 8642, true, false},
    {"127.1.2.3:0", "127.1.2.3", 0, true, false},
    {"localhost:80", "127.0.0.1", 80, true, false},
    {":80", "127.0.0.1", 80, true, false},
    {"[::1]:65535", "[::1]", 65535, true, false},
    {"0.0.0.0:1", "0.0.0.0", 1, false, true},
    {"[::]:1", "[::]", 1, false, true},
    {"192.168.1.5:1", "192.168.1.5", 1, false, false},
    {"[fe80::1]:1", "[fe80::1]", 1, false, false},
};

static const char *const bad[] = {
    "",
    "127.0.0.1",
    "127.0.0.1:",
    "127.0.0.1:65536",
    "127.0.0.1:-1",
    "127.0.0.1:1x",
    "[::1]",
    "[::1:80",
    "::1:80",
    "[127.0.0.1:80",
    "example.com:80",
    "1:80",
    "unix:",
    "[]:80",
    "[::1]x:80",
    "256.0.0.1:80",
    "127.0.0.1:000080",
    "localhost",
    "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]:1",
};

static void test_addresses(void **state)
{
    mcp__address a;
    mcp_error error;

    (void)state;
    for (size_t i = 0; i < MCP__COUNT(good); i++) {
        assert_int_equal(mcp__address_parse(&a, good[i].text, &error), MCP_OK);
        assert_string_equal(a.host, good[i].host);
        assert_int_equal(a.port, good[i].port);
        assert_int_equal(a.loopback, good[i].loopback);
        assert_int_equal(a.any, good[i].any);
        assert_null(a.path);
    }
    for (size_t i = 0; i < MCP__COUNT(bad); i++) {
        if (mcp__address_parse(&a, bad[i], &error) != MCP_EINVAL)
            fail_msg("'%s' was taken", bad[i]);
        assert_true(error.text[0]);
    }
    assert_int_equal(mcp__address_parse(&a, "unix:/tmp/x", &error), MCP_OK);
    assert_string_equal(a.path, "/tmp/x");
    char text[200] = "unix:";
    memset(text + 5, 'x', 107);
    assert_int_equal(mcp__address_parse(&a, text, &error), MCP_OK);
    text[5 + 107] = 'x';
    assert_int_equal(mcp__address_parse(&a, text, &error), MCP_EINVAL);
}

/* ---- listeners ------------------------------------------------------------------------------- */

typedef struct fixture {
    mcp_loop *loop;
    mcp_server *server;
    mcp_host host;
    size_t warnings;
    char folder[32];
    char path[64], address[80];
} fixture;

static void count_warnings(const char *level, const char *line, void *user)
{
    fixture *f = user;

    (void)line;
    f->warnings += strcmp(level, "warning") == 0;
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));

    strcpy(f->folder, "/tmp/mcp-listen-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->path, sizeof(f->path), "%s/sock", f->folder);
    snprintf(f->address, sizeof(f->address), "unix:%s", f->path);
    assert_int_equal(mcp_loop_new(NULL, &f->loop, NULL), MCP_OK);
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1"),
                                    &f->server, NULL),
                     MCP_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;

    unlink(f->path);
    rmdir(f->folder);
    mcp_server_free(f->server);
    mcp_loop_free(f->loop);
    free(f);
    return 0;
}

static mcp_listener *opened(fixture *f, const char *address)
{
    mcp_listener *l = NULL;
    mcp_error error = {0};

    if (mcp_loop_listen(f->loop, f->server, MCP_OPTIONS(mcp_listen_options, .address = address), &l,
                        &error) != MCP_OK)
        fail_msg("%s: %s", address, error.text);
    return l;
}

static int refused(fixture *f, const mcp_listen_options *options)
{
    mcp_listener *l = NULL;
    mcp_error error = {0};
    int rc = mcp_loop_listen(f->loop, f->server, options, &l, &error);

    assert_true(rc < 0);
    assert_int_equal(error.code, rc);
    assert_true(error.text[0]);
    assert_null(l);
    return rc;
}

static void test_port(void **state)
{
    fixture *f = *state;
    mcp_listener *l = opened(f, "127.0.0.1:0");
    char address[64];

    snprintf(address, sizeof(address), "%s", mcp_listener_address(l));
    assert_memory_equal(address, "127.0.0.1:", 10);
    assert_true(atoi(address + 10) > 0);
    assert_int_equal(refused(f, MCP_OPTIONS(mcp_listen_options, .address = address)), MCP_EEXIST);
    assert_int_equal(mcp_listener_connections(l), 0);
    assert_int_equal(mcp_http_connections(mcp_listener_http(l)), 0);
    mcp_listener_close(l);
    l = opened(f, address);
    mcp_listener_drain(l);
    mcp_listener_close(opened(f, address)); /* a drained listener does not keep the loop running */
    mcp_listener_close(l);
}

/* Two listeners, as of two processes, accept from one socket; one goes on after the other ended. */
static void test_inherited(void **state)
{
    fixture *f = *state;
    const char *const addresses[] = {"127.0.0.1:0", f->address};
    mcp_listener *one = NULL, *two = NULL;
    mcp_error error;
    int fd, other, plain = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    for (size_t i = 0; i < 2; i++) {
        const char *at = addresses[i];
        assert_int_equal(mcp_socket_listen(at, 0, &fd, &error), MCP_OK);
        assert_true(mcp_socket_listens(fd, at));
        assert_false(mcp_socket_listens(fd, addresses[1 - i]));
        assert_false(mcp_socket_listens(fd, "127.0.0.2:0"));
        assert_false(mcp_socket_listens(fd, "nonsense"));
        assert_false(mcp_socket_listens(plain, "0.0.0.0:0"));
        assert_false(mcp_socket_listens(-1, at));
        other = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        assert_int_equal(
            refused(f, MCP_OPTIONS(mcp_listen_options, .address = "[::1]:0", .socket = fd)),
            MCP_EINVAL);
        assert_true(fcntl(fd, F_GETFD) >= 0); /* a failure leaves the socket to the caller */
        assert_int_equal(mcp_loop_listen(f->loop, f->server,
                                         MCP_OPTIONS(mcp_listen_options, .address = at,
                                                     .socket = fd, .keep_file = true),
                                         &one, &error),
                         MCP_OK);
        assert_int_equal(
            mcp_loop_listen(f->loop, f->server,
                            MCP_OPTIONS(mcp_listen_options, .address = at, .socket = other), &two,
                            &error),
            MCP_OK);
        assert_string_equal(mcp_listener_address(one), mcp_listener_address(two));
        assert_int_equal(mcp_listener_socket(one), fd);
        assert_true(mcp_socket_listens(fd, mcp_listener_address(one)));
        mcp_listener_drain(one);
        assert_int_equal(mcp_listener_socket(one), -1);
        mcp_listener_close(one);
        assert_true(mcp_socket_listens(other, at));
        if (i == 1)
            assert_int_equal(access(f->path, F_OK), 0);
        mcp_listener_close(two);
        assert_int_equal(access(f->path, F_OK), -1);
    }
    mcp_listener *last = opened(f, f->address); /* another process takes over */
    mcp_listener_hand_over(last, 100);
    mcp_listener_close(last);
    assert_int_equal(access(f->path, F_OK), 0);
    close(plain);
}

/* A reply is not delayed until the client has acknowledged the previous one (Nagle's algorithm),
 * which takes 40 ms with most clients. */
static void test_no_delay(void **state)
{
    static const char *const addresses[] = {"127.0.0.1:0", "[::1]:0"};

    (void)state;
    for (size_t i = 0; i < MCP__COUNT(addresses); i++) {
        struct sockaddr_storage at = {0};
        socklen_t len = sizeof(at), size = sizeof(int);
        mcp__address a;
        int listening, on = 0;
        assert_int_equal(mcp__address_parse(&a, addresses[i], NULL), MCP_OK);
        if (mcp__address_listen(&a, 0600, &listening, NULL) != MCP_OK) {
            assert_int_equal(i, 1); /* not every machine has an IPv6 loopback */
            continue;
        }
        assert_int_equal(getsockname(listening, (struct sockaddr *)&at, &len), 0);
        int client = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(client, (struct sockaddr *)&at, len), 0);
        struct pollfd come = {.fd = listening, .events = POLLIN};
        assert_int_equal(poll(&come, 1, 10000), 1);
        int accepted = accept(listening, NULL, NULL);
        assert_int_equal(getsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, &size), 0);
        assert_true(on);
        close(accepted), close(client), close(listening);
    }
}

/* Closing the last listener restores the server's host. */
static void test_host(void **state)
{
    fixture *f = *state;
    mcp_listener *one = opened(f, "127.0.0.1:0"), *two = opened(f, "127.0.0.1:0");

    assert_non_null(mcp_server_host(f->server));
    mcp_listener_close(one);
    assert_non_null(mcp_server_host(f->server));
    mcp_listener_close(two);
    assert_null(mcp_server_host(f->server));
}

static void nobody(mcp_http_login *login, void *user)
{
    (void)user;
    mcp_http_login_refuse(login, NULL);
}

static void test_warning(void **state)
{
    fixture *f = *state;
    mcp_http_options http = {.size = sizeof(http), .authenticate = nobody};
    mcp_listener *l = NULL;

    f->host = *mcp_loop_host(f->loop);
    f->host.user = f;
    f->host.log = count_warnings;
    mcp_server_set_host(f->server, &f->host);
    mcp_listener_close(opened(f, "127.0.0.1:0"));
    mcp_listener_close(opened(f, f->address));
    assert_int_equal(f->warnings, 0);
    mcp_listener_close(opened(f, "0.0.0.0:0"));
    assert_int_equal(f->warnings, 1);
    assert_int_equal(
        mcp_loop_listen(f->loop, f->server,
                        MCP_OPTIONS(mcp_listen_options, .address = "0.0.0.0:0", .http = &http), &l,
                        NULL),
        MCP_OK);
    mcp_listener_close(l);
    assert_int_equal(f->warnings, 1);
}

static mode_t mode_of(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 ? st.st_mode : 0;
}

static void test_unix_socket(void **state)
{
    fixture *f = *state;
    mcp_listener *l = opened(f, f->address);

    assert_string_equal(mcp_listener_address(l), f->address);
    assert_int_equal(mode_of(f->path), S_IFSOCK | 0600);
    assert_int_equal(refused(f, MCP_OPTIONS(mcp_listen_options, .address = f->address)),
                     MCP_EEXIST);
    assert_int_equal(mode_of(f->path), S_IFSOCK | 0600);
    mcp_listener_close(l);
    assert_int_equal(mode_of(f->path), 0);

    assert_int_equal(
        mcp_loop_listen(f->loop, f->server,
                        MCP_OPTIONS(mcp_listen_options, .address = f->address, .socket_mode = 0666),
                        &l, NULL),
        MCP_OK);
    assert_int_equal(mode_of(f->path), S_IFSOCK | 0666);
    mcp_listener_close(l);
}

/* The socket file of a dead server is replaced, any other file is not. A file that has replaced our
 * socket is not removed. */
static void test_unix_leftovers(void **state)
{
    fixture *f = *state;
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(at.sun_path, sizeof(at.sun_path), "%s", f->path);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    close(fd);
    mcp_listener *l = opened(f, f->address);
    unlink(f->path);
    fd = open(f->path, O_CREAT | O_WRONLY, 0600);
    close(fd);
    mcp_listener_close(l);
    assert_int_equal(mode_of(f->path), S_IFREG | 0600);
    assert_int_equal(refused(f, MCP_OPTIONS(mcp_listen_options, .address = f->address)),
                     MCP_EEXIST);
    assert_int_equal(mode_of(f->path), S_IFREG | 0600);
}

static void test_tls_files(void **state)
{
    fixture *f = *state;
    mcp_listen_options o = {.size = sizeof(o), .address = "127.0.0.1:0", .tls_cert = "/dev/null"};

    assert_int_equal(refused(f, &o), MCP_EINVAL);
    o.tls_key = "/dev/null";
    assert_int_equal(refused(f, &o), MCP_EINVAL);
    o.tls_cert = "/nowhere/at/all";
    assert_int_equal(refused(f, &o), MCP_EINVAL);
}

/* ---- the Date header ------------------------------------------------------------------------- */

static const struct {
    int64_t second;
    const char *text;
} dates[] = {
    {0, "Thu, 01 Jan 1970 00:00:00 GMT"},          {784111777, "Sun, 06 Nov 1994 08:49:37 GMT"},
    {951782400, "Tue, 29 Feb 2000 00:00:00 GMT"},  {1785283199, "Tue, 28 Jul 2026 23:59:59 GMT"},
    {1785283200, "Wed, 29 Jul 2026 00:00:00 GMT"}, {253402300799, "Fri, 31 Dec 9999 23:59:59 GMT"},
};

static void test_date_text(void **state)
{
    mcp__date d = {0};

    (void)state;
    for (size_t i = 0; i < 2 * MCP__COUNT(dates); i++) {
        mcp_str text = mcp__date_text(&d, dates[i / 2].second);
        assert_int_equal(text.len, 29);
        assert_memory_equal(text.ptr, dates[i / 2].text, 29);
    }
    assert_true(mcp__date_text(&d, INT64_MAX).len > 0);
}

/* Sends one GET /healthz and reads the response into `in`, NUL-terminated. */
static void ask(fixture *f, char *in, size_t room)
{
    static const char request[] =
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ssize_t n = -1;
    size_t len = 0;

    strcpy(at.sun_path, f->path);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    for (int64_t end = wait_end(); n != 0 && wait_more(end);) {
        mcp_loop_step(f->loop, 5);
        n = recv(fd, in + len, room - 1 - len, 0);
        len += n > 0 ? (size_t)n : 0;
    }
    in[len] = '\0';
    assert_int_equal(n, 0);
    close(fd);
}

/* Returns how many descriptors the epoll sets of this process watch. */
static size_t watched(void)
{
    char name[64], line[200];
    size_t n = 0;

    for (int fd = 0; fd < 256; fd++) {
        snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
        FILE *info = fopen(name, "re");
        while (info && fgets(line, sizeof(line), info))
            n += strncmp(line, "tfd:", 4) == 0;
        if (info)
            fclose(info);
    }
    return n;
}

/* Another process may have copies of the sockets: a child before exec(), a successor. Sockets that
 * are closed here must not be watched any longer: their events would refer to freed memory. */
static void test_copied_sockets(void **state)
{
    fixture *f = *state;
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    mcp_listener *l = opened(f, f->address);
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    strcpy(at.sun_path, f->path);
    assert_int_equal(connect(client, (struct sockaddr *)&at, sizeof(at)), 0);
    for (int64_t end = wait_end(); !mcp_listener_connections(l) && wait_more(end);)
        mcp_loop_step(f->loop, 5);
    assert_int_equal(mcp_listener_connections(l), 1);
    mcp__connection *c = mcp__container(l->connections.next, mcp__connection, link);
    int copies[] = {fcntl(c->socket.fd, F_DUPFD_CLOEXEC, 3),
                    fcntl(l->socket.fd, F_DUPFD_CLOEXEC, 3)};
    size_t before = watched();
    mcp_listener_drain(l); /* also closes the connection, which is idle */
    for (int64_t end = wait_end(); mcp_listener_connections(l) && wait_more(end);)
        mcp_loop_step(f->loop, 5);
    assert_int_equal(mcp_listener_connections(l), 0);
    assert_int_equal(watched(), before - 2);
    assert_int_equal(send(client, "x", 1, MSG_NOSIGNAL), 1);
    mcp_loop_step(f->loop, 5);
    mcp_listener_close(l);
    close(copies[0]), close(copies[1]), close(client);
}

/* A request that has arrived is answered although the time of idle connections is over. */
static void test_late_request(void **state)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    fixture *f = *state;
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    struct timespec longer = {.tv_nsec = 20 * 1000000};
    mcp_listener *l = opened(f, f->address);
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    char in[1000] = "";
    ssize_t n = -1;

    strcpy(at.sun_path, f->path);
    assert_int_equal(connect(client, (struct sockaddr *)&at, sizeof(at)), 0);
    for (int64_t end = wait_end(); !mcp_listener_connections(l) && wait_more(end);)
        mcp_loop_step(f->loop, 5);
    mcp_listener_hand_over(l, 1);
    mcp_listener_drain(l);
    assert_int_equal(send(client, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    nanosleep(&longer, NULL); /* the program is busy, or gets no time */
    for (int64_t end = wait_end(); n < 0 && wait_more(end);) {
        mcp_loop_step(f->loop, 5);
        n = recv(client, in, sizeof(in) - 1, 0);
    }
    assert_non_null(strstr(in, "200 OK"));
    assert_non_null(strstr(in, "Connection: close"));
    for (int64_t end = wait_end(); mcp_listener_connections(l) && wait_more(end);)
        mcp_loop_step(f->loop, 5);
    mcp_listener_close(l);
    close(client);
    unlink(f->path); /* a successor would have it */
}

/* A connection that is complete when draining begins, but was not accepted: its peer may have sent a request. */
static void test_rest(void **state)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    fixture *f = *state;
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    mcp_listener *l = opened(f, f->address);
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    char in[1000] = "";

    snprintf(at.sun_path, sizeof(at.sun_path), "%s", f->path);
    assert_int_equal(connect(client, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(send(client, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    assert_int_equal(
        mcp_loop_serve_http(f->loop,
                            MCP_OPTIONS(mcp_serve_options, .no_signals = true, .drain_now = true,
                                        .linger_ms = 60000, .drain_ms = 60000),
                            NULL),
        MCP_OK);
    assert_true(recv(client, in, sizeof(in) - 1, 0) > 0);
    assert_non_null(strstr(in, "200 OK"));
    assert_non_null(strstr(in, "Connection: close"));
    mcp_listener_close(l);
    close(client);
}

static mcp_str birthday(void *user)
{
    (void)user;
    return MCP_STR("Sun, 06 Nov 1994 08:49:37 GMT");
}

static void test_date_header(void **state)
{
    fixture *f = *state;
    mcp_http_options http = {.size = sizeof(http), .date = birthday};
    mcp_listener *l = opened(f, f->address);
    struct tm t = {0};
    char in[1000];

    ask(f, in, sizeof(in));
    const char *date = strstr(in, "\r\nDate: ");
    assert_non_null(date);
    const char *end = strptime(date + 8, "%a, %d %b %Y %H:%M:%S GMT\r\n", &t);
    assert_non_null(end);
    assert_true(llabs((long long)timegm(&t) - (long long)time(NULL)) < 10);
    mcp_listener_close(l);

    assert_int_equal(
        mcp_loop_listen(f->loop, f->server,
                        MCP_OPTIONS(mcp_listen_options, .address = f->address, .http = &http), &l,
                        NULL),
        MCP_OK);
    ask(f, in, sizeof(in));
    assert_non_null(strstr(in, "\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"));
    mcp_listener_close(l);
}

static void test_nothing_to_serve(void **state)
{
    fixture *f = *state;

    assert_int_equal(mcp_loop_serve_http(f->loop, NULL, NULL), MCP_ESTATE);
    assert_int_equal(mcp_loop_listen(f->loop, NULL, NULL, NULL, NULL), MCP_EINVAL);
    mcp_listener *l = opened(f, "127.0.0.1:0");
    mcp_loop_stop(f->loop);
    assert_int_equal(mcp_loop_serve_http(f->loop, NULL, NULL), MCP_OK);
    mcp_listener_close(l);
    assert_int_equal(mcp_loop_run(f->loop), MCP_OK); /* nothing is left to wait for */
}

static void test_no_memory(void **state)
{
    fixture *f = *state;

    for (size_t n = 1;; n++) {
        failalloc fail = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&fail);
        mcp_loop *loop = NULL;
        mcp_listener *l = NULL;
        int rc = mcp_loop_new(&a, &loop, NULL);
        if (rc == MCP_OK)
            rc = mcp_loop_listen(loop, f->server,
                                 MCP_OPTIONS(mcp_listen_options, .address = f->address), &l, NULL);
        assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
        if (rc == MCP_OK)
            mcp_loop_step(loop, 0);
        mcp_listener_close(l);
        mcp_loop_free(loop);
        assert_int_equal(fail.live, 0);
        assert_int_equal(mode_of(f->path), 0);
        if (fail.calls < n)
            break;
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        TEST(test_port),
        TEST(test_inherited),
        cmocka_unit_test(test_no_delay),
        TEST(test_host),
        TEST(test_warning),
        TEST(test_unix_socket),
        TEST(test_unix_leftovers),
        TEST(test_copied_sockets),
        TEST(test_late_request),
        TEST(test_rest),
        TEST(test_tls_files),
        cmocka_unit_test(test_date_text),
        TEST(test_date_header),
        TEST(test_nothing_to_serve),
        TEST(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
