/* Rejections contain the id of the request if it could be read, the limit, and the program's name
 * of the option. Each row is sent as a whole and split at every byte. */
#include "rig.h"

static const char *option_name(const char *member, void *user)
{
    (void)user;
    return strcmp(member, "max_body") == 0      ? "--largest-body"
           : strcmp(member, "allow_hosts") == 0 ? "--host"
                                                : NULL;
}

#define POST(headers, body) "POST /mcp HTTP/1.1\n{{std}}" headers "Content-Length: {{len}}\n\n" body
#define AUTHORIZED          "Authorization: Bearer ada\n"
#define ERROR_OF(id, text) \
    "{\"jsonrpc\":\"2.0\"," id "\"error\":{\"code\":-32600,\"message\":\"" text "\"}}"

static const struct row {
    const char *name, *in, *out;
} rows[] = {
    {"no token", POST("", "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0031\",\"method\":\"ping\"}"),
     "HTTP/1.1 401 ~WWW-Authenticate: Bearer\n~\n\n" ERROR_OF("\"id\":\"a1\",", "~valid token~")},
    {"a notification without a token",
     POST("", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"),
     "HTTP/1.1 401 ~\n\n" ERROR_OF("", "~valid token~")},
    {"a response without a token: its id is the server's",
     POST("", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{} }"),
     "HTTP/1.1 401 ~\n\n" ERROR_OF("", "~valid token~")},
    {"a batch without a token", POST("", "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]"),
     "HTTP/1.1 401 ~\n\n" ERROR_OF("", "~valid token~")},
    {"no JSON and no token", POST("", "{\"jsonrpc\":\"2.0\",\"id\":1,"),
     "HTTP/1.1 401 ~\n\n" ERROR_OF("", "~valid token~")},
    {"chunks without a token are not read",
     "POST /mcp HTTP/1.1\n{{std}}Transfer-Encoding: chunked\n\n",
     "HTTP/1.1 401 ~Connection: close\n~\n\n" ERROR_OF("", "~valid token~")},
    {"GET without a token", "GET /mcp HTTP/1.1\nHost: localhost\n\n",
     "HTTP/1.1 401 ~\n\n" ERROR_OF("", "~valid token~")},
    {"a long body that is read", /* so that the connection is kept */
     POST(AUTHORIZED, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{"
                      "\"name\":\"0123456789012345678901234567890123456789\"} }"),
     "HTTP/1.1 413 ~\n\n" ERROR_OF("\"id\":7,", "~ 100 bytes (--largest-body)")},
    {"a long body that is not",
     "POST /mcp HTTP/1.1\n{{std}}" AUTHORIZED "Content-Length: 1000000\n\n",
     "HTTP/1.1 413 ~Connection: close\n~\n\n" ERROR_OF("", "~ 100 bytes (--largest-body)")},
    {"an unknown session",
     POST(AUTHORIZED "Mcp-Session-Id: x\n", "{\"jsonrpc\":\"2.0\",\"id\":-3,\"method\":\"ping\"}"),
     "HTTP/1.1 404 ~\n\n" ERROR_OF("\"id\":-3,", "~session~")},
    {"another Host",
     "POST /mcp HTTP/1.1\nHost: evil.example\nContent-Type: application/json\n"
     "Content-Length: {{len}}\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
     "HTTP/1.1 403 ~\n\n" ERROR_OF("", "~ (--host)")},
    {"another Origin",
     POST("Origin: https://evil.example\n", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"),
     "HTTP/1.1 403 ~\n\n" ERROR_OF("", "~ (allow_origins)")},
};

static const mcp_http_options options = {
    .option_name = option_name, .max_body = 100, .authenticate = login_by_name};

static void test_rows(void **state)
{
    (void)state;
    rig r;
    rig_begin(&r, &options);
    for (size_t i = 0; i < COUNT(rows); i++) {
        expansion e = {0};
        expand_request(&r, rows[i].in, &e);
        for (size_t cut = 0; cut < e.len; cut++) {
            wire w;
            wire_open(&w, &r);
            wire_bytes(&w, e.ptr, cut);
            wire_bytes(&w, e.ptr + cut, e.len - cut);
            if (!rig_matches(wire_text(&w), rows[i].out))
                fail_msg("%s, split at %zu: expected\n%s\nbut got\n%s", rows[i].name, cut,
                         rows[i].out, wire_text(&w));
            wire_end(&w);
        }
        free(e.ptr);
    }
    rig_end(&r);
}

/* The body of an unauthorized request is read to its end but not stored. */
static void test_long(void **state)
{
    (void)state;
    static const struct {
        size_t len;
        bool known;
    } cases[] = {{8 << 10, true}, {(8 << 10) + 1, false}, {64 << 10, false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        static const char begin[] = "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}";
        rig r;
        wire w;
        char head[256], space[512];
        rig_begin(&r, &(mcp_http_options){.authenticate = login_by_name});
        wire_open(&w, &r);
        snprintf(head, sizeof(head), "POST /mcp HTTP/1.1\n{{std}}Content-Length: %zu\n\n",
                 cases[i].len);
        wire_send(&w, head);
        memset(space, ' ', sizeof(space));
        size_t calls = r.memory.calls;
        wire_bytes(&w, begin, strlen(begin));
        for (size_t left = cases[i].len - strlen(begin); left;) {
            size_t n = left < sizeof(space) ? left : sizeof(space);
            assert_true(cases[i].known || r.memory.calls == calls);
            wire_bytes(&w, space, n);
            left -= n;
        }
        wire_expect(&w, cases[i].known ? "HTTP/1.1 401 ~\"id\":5,~"
                                       : "HTTP/1.1 401 ~\"2.0\",\"error\"~");
        assert_int_equal(w.closed, 0);
        wire_end(&w);
        rig_end(&r);
    }
}

/* Without memory only the status is sent, or the connection is closed. */
static void test_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        rig plain;
        rig_begin(&plain, &options);
        size_t from = plain.memory.calls;
        rig_end(&plain);
        for (bool more = true; more; from++) {
            rig r;
            assert_int_equal(rig_begin_with(&r, &options, from + 1), MCP_OK);
            expansion e = {0};
            expand_request(&r, rows[i].in, &e);
            wire w;
            if (wire_open_from(&w, &r, NULL) == MCP_OK) {
                wire_bytes(&w, e.ptr, e.len);
                assert_true(w.closed || strncmp(wire_text(&w), rows[i].out, 11) == 0 ||
                            strncmp(wire_text(&w), "HTTP/1.1 503", 12) == 0);
                wire_end(&w);
            }
            free(e.ptr);
            more = r.memory.calls > from;
            rig_end(&r);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_long),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
