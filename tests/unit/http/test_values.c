/* Values of headers: however the bytes of a request arrive, it has the same headers and gets the same
 * answer. */
#include "text.h"

enum { ROOM = 8192, NAMES = 14 };

static const char *const login_headers[] = {"X-Kept", "Cookie"};

/* What `authenticate` found. */
typedef struct seen {
    size_t n, len[3];
    char values[3][ROOM];
} seen;

static seen last;

static void authenticate(mcp_http_login *login, void *user)
{
    static const char *const names[] = {"Authorization", "X-Kept", "Cookie"};
    mcp_identity *identity = NULL;
    (void)user;
    last.n++;
    for (size_t i = 0; i < 3; i++) {
        mcp_str value = {0};
        mcp_http_login_header(login, names[i], &value);
        assert_true(value.len < ROOM);
        last.len[i] = value.len;
        memcpy(last.values[i], value.len ? value.ptr : "", value.len);
    }
    assert_int_equal(
        mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = "a"), &identity, NULL),
        MCP_OK);
    mcp_http_login_accept(login, identity);
    mcp_identity_unref(identity);
}

static uint32_t seed = 5;

static uint32_t next(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

/* Puts a value that is mostly plain, with some bytes that are special, at any place. */
static void put_value(text *t)
{
    static const char special[] = " \t \t\x80\xff~!:,;=\"";
    static const char wrong[] = "\r\n\0\x01\x1f\x7f";
    size_t start = t->len, len = next(4) ? 100 + next(700) : next(40);
    for (size_t i = 0; i < len; i++) {
        char c = (char)('a' + next(26));
        if (next(12) == 0 || i < next(3) || i + next(3) >= len)
            c = special[next(sizeof(special) - 1)];
        put(t, &c, 1);
    }
    if (len && next(12) == 0)
        t->bytes[start + next((uint32_t)len)] = wrong[next(sizeof(wrong) - 1)];
}

/* Makes a request with some more headers. The lengths of some names are those of headers that the
 * parser interprets. */
static void make(text *t)
{
    static const char *const names[NAMES] = {
        "Authorization",     "X-Kept",          "Cookie",          "cookie",     "X-Other",
        "Mcp-Param-A",       "Upgrade",         "X-Some",          "Connection", "Content-Length",
        "Transfer-Encoding", "X-1234567890123", "Content-Lengthy", "Accept",
    };
    static const char body[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" RIG_META "}}";
    char length[64];
    t->len = 0;
    put_str(t, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
               "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n");
    for (size_t i = 0, n = next(5); i < n; i++) {
        /* The values of those that the parser interprets are rarely right. */
        put_str(t, names[next(8) ? next(8) : next(NAMES)]);
        put_str(t, next(5) ? ": " : next(2) ? ":" : ":  \t ");
        put_value(t);
        put_str(t, next(60) ? "\r\n" : next(2) ? "\n" : "\r\n ");
    }
    snprintf(length, sizeof(length), "Content-Length: %zu\r\n\r\n", strlen(body));
    put_str(t, length);
    put_str(t, body);
}

/* Sends the request in pieces of at most `piece` bytes, with a first piece of `first`, followed by
 * a second request if the connection is still open. Returns what was answered. */
static char *run(rig *r, const text *t, size_t first, size_t piece, uint64_t *received)
{
    wire w;
    wire_open(&w, r);
    memset(&last, 0, sizeof(last));
    r->record.bytes_in = 0;
    for (size_t at = 0; at < t->len && !w.closed;) {
        size_t n = at == 0 && first ? first : piece;
        n = n < t->len - at ? n : t->len - at;
        wire_bytes(&w, t->bytes + at, n);
        at += n;
    }
    *received = r->record.bytes_in;
    char *out = w.out;
    assert_non_null(out);
    w.out = NULL;
    wire_end(&w);
    return out;
}

static void test_any_pieces(void **state)
{
    (void)state;
    rig r;
    static text t;
    static seen whole;
    size_t good = 0, bad = 0;
    rig_begin(&r, &(mcp_http_options){.authenticate = authenticate,
                                      .login_headers = login_headers,
                                      .n_login_headers = 2,
                                      .max_header_bytes = 2000,
                                      .log = rig_log});
    for (int round = 0; round < 3000; round++) {
        uint64_t bytes[3];
        make(&t);
        char *expected = run(&r, &t, 0, 1, &bytes[0]);
        whole = last;
        good += strstr(expected, "HTTP/1.1 200") != NULL;
        bad += strstr(expected, "HTTP/1.1 4") != NULL;
        for (int i = 0; i < 3; i++) {
            size_t first = i ? 1 + next((uint32_t)t.len) : 0;
            char *out = run(&r, &t, first, i < 2 ? ROOM : 1 + next(400), &bytes[1]);
            assert_string_equal(out, expected);
            if (strstr(out, "HTTP/1.1 200"))
                assert_int_equal(bytes[1], bytes[0]);
            assert_memory_equal(&last, &whole, sizeof(last));
            free(out);
        }
        free(expected);
    }
    assert_true(good > 500 && bad > 500);
    rig_end(&r);
}

/* The limit of a head is the same for a value that arrives at once. */
static void test_limit(void **state)
{
    (void)state;
    rig r;
    static text t;
    uint64_t received;
    int statuses[2][40];
    rig_begin(&r, &(mcp_http_options){.authenticate = authenticate, .max_header_bytes = 700});
    for (int i = 0; i < 40; i++) {
        t.len = 0;
        put_str(&t, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization:  ");
        for (int n = 0; n < 620 + i; n++)
            put(&t, "x", 1);
        put_str(&t, " \r\n\r\n");
        for (int way = 0; way < 2; way++) {
            char *out = run(&r, &t, 0, way ? ROOM : 1, &received);
            assert_int_equal(sscanf(out, "HTTP/1.1 %d", &statuses[way][i]), 1);
            free(out);
        }
        assert_int_equal(statuses[0][i], statuses[1][i]);
    }
    assert_int_equal(statuses[1][0], 200);
    assert_int_equal(statuses[1][39], 431);
    rig_end(&r);
}

/* A long value has the same effect as a short one. */
static void test_interpreted(void **state)
{
    (void)state;
    static const char *const names[] = {"Connection", "connection", "Proxy-Connection"};
    rig r;
    static text t;
    uint64_t received;
    rig_begin(&r, &(mcp_http_options){.authenticate = authenticate});
    for (size_t i = 0; i < 3; i++) {
        char line[300];
        t.len = 0;
        snprintf(line, sizeof(line), "%s: %180s\r\n\r\n", names[i], "close");
        put_str(&t, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n");
        put_str(&t, line);
        put_str(&t, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        char *out = run(&r, &t, 0, ROOM, &received);
        assert_null(strstr(strstr(out, "HTTP/1.1 200") + 1, "HTTP/1.1 200"));
        free(out);
    }
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_pieces),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_interpreted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
