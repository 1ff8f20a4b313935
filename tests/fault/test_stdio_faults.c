/* test_stdio_faults.c: the stdio server with each allocation of the transport failing in turn, and
 * with input that is truncated at every byte. It never crashes, leaks memory, or writes an
 * incomplete line.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <mcp/io.h>

#include "support/failalloc.h"

#define PING(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"ping\"}\n"

/* Serves the input `in` on a socket pair in this process. The output has at most `room` bytes. */
static int serve(const mcp_allocator *allocator, mcp_str in, char *out, size_t room, size_t *len)
{
    mcp_error error = {0};
    mcp_server *server;
    mcp_loop *loop;
    int ends[2];

    *len = 0;
    int rc = mcp_loop_new(allocator, &loop, &error);
    if (rc < 0)
        return rc;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1"),
                                    &server, &error),
                     MCP_OK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(write(ends[0], in.ptr, in.len), (ssize_t)in.len);
    shutdown(ends[0], SHUT_WR);
    rc = mcp_loop_serve_stdio(
        loop, server,
        MCP_OPTIONS(mcp_stdio_options, .input = ends[1], .output = ends[1], .max_message = 150000),
        &error);
    assert_int_equal(error.code, rc);
    mcp_server_free(server);
    mcp_loop_free(loop);
    close(ends[1]);
    for (ssize_t n; *len < room && (n = read(ends[0], out + *len, room - *len)) > 0;)
        *len += (size_t)n;
    close(ends[0]);
    return rc;
}

static void test_no_memory(void **state)
{
    enum { LONG = 100000 };
    char *in = malloc(LONG + 200), out[2000];
    size_t len, in_len;

    (void)state;
    memcpy(in, PING("1"), strlen(PING("1")));
    in_len = strlen(PING("1"));
    memset(in + in_len, ' ', LONG); /* makes the buffer grow */
    in_len += LONG;
    memcpy(in + in_len, PING("2"), strlen(PING("2")));
    in_len += strlen(PING("2"));
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        int rc = serve(&a, (mcp_str){in, in_len}, out, sizeof(out), &len);
        assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
        assert_int_equal(f.live, 0);
        assert_true(len == 0 || out[len - 1] == '\n');
        if (f.calls < n) {
            assert_int_equal(rc, MCP_OK);
            break;
        }
    }
    free(in);
}

/* A truncated message is answered as such, and earlier messages are answered normally. */
static void test_input_ends_anywhere(void **state)
{
    static const char in[] = PING("1") PING("\"two\"");
    static const char first[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";

    (void)state;
    for (size_t at = 0; at < sizeof(in); at++) {
        char out[2000];
        size_t len;
        assert_int_equal(serve(NULL, (mcp_str){in, at}, out, sizeof(out), &len), MCP_OK);
        assert_true(len == 0 || out[len - 1] == '\n');
        if (at >= strlen(PING("1")))
            assert_memory_equal(out, first, strlen(first));
    }
}

/* Descriptors and signal dispositions are restored in every case. */
static void test_leaves_no_trace(void **state)
{
    struct sigaction before, after;
    char out[2000];
    size_t len;
    int lowest = dup(0), next;

    (void)state;
    close(lowest);
    signal(SIGPIPE, SIG_DFL);
    sigaction(SIGPIPE, NULL, &before);
    assert_int_equal(serve(NULL, MCP_STR(PING("1")), out, sizeof(out), &len), MCP_OK);
    sigaction(SIGPIPE, NULL, &after);
    assert_ptr_equal(before.sa_handler, after.sa_handler);
    sigaction(SIGTERM, NULL, &after);
    assert_ptr_equal(after.sa_handler, SIG_DFL);
    next = dup(0);
    close(next);
    /* libuv permanently keeps one pair of descriptors for signals. */
    assert_in_range(next - lowest, 0, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_input_ends_anywhere),
        cmocka_unit_test(test_leaves_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
