/* Heads that repeat the former one of the connection, which the parser does not see: a sequence of
 * requests has the same effect however its bytes arrive. Byte by byte, the parser sees everything. */
#include "text.h"
#include "http/server/connection.h"
#include "support/dice.h"

enum { REQUESTS = 6 };

/* What was logged of all requests of a sequence. Empty lines before a request count as received only
 * if they arrive with it. */
static text logged;
static bool has_empty_lines;

static void log_all(const mcp_http_record *r, void *user)
{
    const mcp_str parts[] = {r->http_method, r->path, r->method, r->name, r->traceparent};
    char line[64];
    rig_log(r, user);
    for (size_t i = 0; i < COUNT(parts); i++) {
        put(&logged, parts[i].len ? parts[i].ptr : "", parts[i].len);
        put_str(&logged, " ");
    }
    snprintf(line, sizeof(line), "%d %d %d\n", r->status, r->code,
             r->status == 200 && !has_empty_lines ? (int)r->bytes_in : 0);
    put_str(&logged, line);
}

static const struct {
    const char *method, *name, *params;
} calls[] = {
    {"resources/read", "fixed:/text", "\"uri\":\"fixed:/text\","},
    {"resources/read", "fixed:/blob", "\"uri\":\"fixed:/blob\","},
    {"resources/read", "fixed:/missing", "\"uri\":\"fixed:/missing\","},
    {"tools/list", "", ""},
    {"server/discover", "", ""},
};

/* One way in which a request may be wrong or unusual. */
typedef enum twist {
    PLAIN,
    CONTROL,     /* a control character in a value */
    HIGH,        /* a byte that is not ASCII */
    SPACES,      /* white space around a value */
    OTHER_NAME,  /* Mcp-Name does not match the message */
    LONGER,      /* Content-Length is larger or smaller than the body */
    ZEROS,       /* Content-Length with leading zeros, or a sign */
    TWICE,       /* a header occurs twice */
    OTHER_HOST,  /* a host that is not allowed */
    OTHER_PATH,  /* another path, or one that does not exist */
    CLOSING,     /* Connection: close */
    OLD,         /* HTTP/1.0 */
    GET,         /* another HTTP method */
    BARE,        /* a line that ends without CR */
    LONG,        /* a long value */
    CHUNKED,     /* Transfer-Encoding: chunked */
    EXPECTING,   /* Expect: 100-continue */
    EMPTY_LINES, /* before the request */
    EMPTY,       /* an empty value, and a header after it that may differ each time */
    TWISTS,
} twist;

/* What the heads of a sequence have in common. */
typedef struct style {
    unsigned layout; /* bits: which headers, in which order */
    twist how;
    uint32_t at, detail, more; /* which header is twisted, and in which way */
} style;

static void choose(style *s)
{
    s->how = dice(3) == 0 ? PLAIN : (twist)dice(TWISTS);
    s->at = dice(5);
    s->detail = dice(1u << 20);
    s->more = dice(1u << 20);
}

static void put_twisted(text *t, const char *name, const char *value, const style *s)
{
    char spaced[300];
    static const char *const lines[] = {"X-Other: a\r\n",
                                        "X-Other: b\r\n",
                                        "Origin: http://localhost\r\n",
                                        "Origin: http://a.example\r\n",
                                        "Connection: close\r\n",
                                        "Transfer-Encoding: chunked\r\n",
                                        "Expect: nonsense\r\n",
                                        "no header\r\n"};
    static const char *const around[] = {"  %s", "\t%s", "%s ", "%s\t", " %s \t "};
    put_str(t, name);
    put_str(t, ": ");
    size_t start = t->len;
    if (s->how == EMPTY)
        value = s->detail % 2 ? "" : "  ";
    snprintf(spaced, sizeof(spaced), s->how == SPACES ? around[s->detail % 5] : "%s", value);
    put_str(t, spaced);
    size_t len = t->len - start;
    if ((s->how == CONTROL || s->how == HIGH) && len)
        t->bytes[start + s->detail % len] =
            s->how == HIGH ? (char)(0x80 + s->more % 0x80) : "\r\n\1\x1f\x7f"[s->more % 5];
    for (uint32_t i = 0; s->how == LONG && i < s->detail % 1200; i++)
        put_str(t, "l");
    put_str(t, s->how == BARE ? "\n" : "\r\n");
    if (s->how == EMPTY)
        put_str(t, lines[dice(dice(3) ? 4 : COUNT(lines))]);
}

/* `at` is the number of the header among those that may be twisted. */
static void put_header(text *t, const char *name, const char *value, const style *s, uint32_t at)
{
    const style none = {0};
    put_twisted(t, name, value, s->at == at ? s : &none);
}

static void put_length(text *t, size_t len, const style *s)
{
    char value[32];
    static const char *const forms[] = {"0%zu", "00%zu", "+%zu", "%zu0", "1%zu", "%zux", "%zu "};
    if (s->how == LONGER)
        len = s->detail % 3 ? len + 3 - s->more % 7 : s->more % 1000;
    snprintf(value, sizeof(value), s->how == ZEROS ? forms[s->detail % 7] : "%zu", len);
    put_header(t, "Content-Length", value, s, 0);
}

static void put_request(text *t, const style *s)
{
    static const char *const paths[] = {"/other", "/sse?sessionId=1", "/healthz"};
    size_t call = dice(COUNT(calls));
    unsigned layout = s->layout, id = layout & 8 ? 1 : dice(2000);
    const char *name = calls[s->how == OTHER_NAME ? dice(3) : call].name;
    char body[1200], trace[60], size[24];
    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":{%s" RIG_META "}}", id,
             calls[call].method, calls[call].params);
    snprintf(trace, sizeof(trace), "00-0af7651916cd43dd8448eb211c80319c-%016x-01", dice(3) + 1);
    if (s->how == EMPTY_LINES)
        put_str(t, s->detail % 2 ? "\r\n" : "\n\r\n");
    put_str(t, s->how == GET ? "GET " : "POST ");
    put_str(t, s->how == OTHER_PATH ? paths[s->detail % 3] : layout & 16 ? "/mcp?a=b" : "/mcp");
    put_str(t, s->how == OLD ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
    put_header(t, "Host", s->how == OTHER_HOST ? "example.org" : "localhost", s, 1);
    if (layout & 1)
        put_length(t, strlen(body), s);
    put_header(t, "Content-Type", "application/json", &(style){0}, 1);
    put_header(t, layout & 4 ? "mcp-method" : "Mcp-Method", calls[call].method, s, 2);
    if (layout & 32)
        put_header(t, "X-Other", "something", s, 3);
    put_header(t, "MCP-Protocol-Version", "2026-07-28", &(style){0}, 1);
    if (s->how == TWICE && s->detail % 2)
        put_header(t, "mcp-method", calls[call].method, s, 2);
    if (*name)
        put_header(t, "Mcp-Name", name, s, 4);
    if (layout & 2)
        put_header(t, "traceparent", trace, s, 3);
    if (s->how == TWICE && s->detail & 2)
        put_header(t, "traceparent", trace, s, 3);
    if (s->how == TWICE && s->detail & 16)
        put_str(t, "Content-Type: application/json\r\n");
    if (layout & 64)
        put_header(t, "Origin", "http://localhost", s, 1);
    if (s->how == CLOSING)
        put_str(t,
                s->detail % 2 ? "Connection: close\r\n" : "Connection: upgrade\r\nUpgrade: h\r\n");
    if (s->how == EXPECTING)
        put_str(t, "Expect: 100-continue\r\n");
    snprintf(size, sizeof(size), "%zx\r\n", strlen(body));
    if (s->how == CHUNKED)
        put_str(t, "Transfer-Encoding: chunked\r\n");
    if (s->how == CHUNKED ? s->detail & 4 : !(layout & 1) || (s->how == TWICE && s->detail & 8))
        put_length(t, strlen(body), s);
    put_str(t, "\r\n");
    if (s->how == CHUNKED)
        put_str(t, size);
    if (s->how != GET || s->detail % 2)
        put_str(t, body);
    if (s->how == CHUNKED)
        put_str(t, "\r\n0\r\n\r\n");
}

/* How the bytes of a sequence arrive. */
typedef enum way { BY_BYTE, BY_REQUEST, AT_ONCE, IN_PIECES, WAYS } way;

typedef struct sequence {
    text t;
    size_t end[REQUESTS]; /* of each request */
} sequence;

static size_t piece_of(const sequence *s, way how, size_t at)
{
    size_t i = 0;
    switch (how) {
    case BY_BYTE: return 1;
    case BY_REQUEST:
        while (s->end[i] <= at)
            i++;
        return s->end[i] - at;
    case IN_PIECES: return 1 + dice(dice(3) ? 700 : 5000);
    default: return s->t.len - at;
    }
}

/* Logins: of three in a row, one is accepted at once, one later, and one is refused later. */
static struct desk {
    mcp_http_login *open;
    size_t asked;
} desk;

static void on_cancel(mcp_http_login *login, void *user)
{
    (void)user;
    if (desk.open == login)
        desk.open = NULL;
}

static void authenticate(mcp_http_login *login, void *user)
{
    (void)user;
    if (desk.asked++ % 3 == 0) {
        mcp_http_login_accept(login, NULL);
        return;
    }
    desk.open = login;
    mcp_http_login_on_cancel(login, on_cancel, NULL);
}

static void answer_logins(void)
{
    while (desk.open) {
        mcp_http_login *login = desk.open;
        desk.open = NULL;
        if (desk.asked % 3 == 0)
            mcp_http_login_refuse(login, NULL);
        else
            mcp_http_login_accept(login, NULL);
    }
}

/* Sends the sequence on one connection, and stores what was answered and logged. Adds the number of
 * requests whose heads the parser did not see to *taken. */
static void run(rig *r, const sequence *s, way how, text *all, size_t *taken)
{
    wire w;
    uint32_t used = 0;
    all->len = logged.len = 0;
    desk = (struct desk){0};
    wire_open(&w, r);
    for (size_t at = 0; at < s->t.len && !w.closed;) {
        size_t n = piece_of(s, how, at);
        n = n < s->t.len - at ? n : s->t.len - at;
        wire_bytes(&w, s->t.bytes + at, n);
        at += n;
        do {
            answer_logins();
            while (!w.closed && mcp_http_deadline(r->http) <= r->now)
                mcp_http_tick(r->http, r->now);
        } while (desk.open);
        *taken += w.c->head.repeat.used > used;
        used = w.c->head.repeat.used;
    }
    put(all, wire_text(&w), w.len);
    put(all, logged.bytes, logged.len);
    put_str(all, w.closed ? "closed" : "open");
    wire_end(&w);
}

static void make(sequence *s)
{
    style head = {.layout = dice(128)};
    s->t.len = 0;
    has_empty_lines = false;
    for (size_t i = 0; i < REQUESTS; i++) {
        if (dice(5) == 0)
            head.layout ^= 1u << dice(7);
        if (dice(5) < 2)
            choose(&head);
        has_empty_lines |= head.how == EMPTY_LINES;
        put_request(&s->t, &head);
        s->end[i] = s->t.len;
    }
}

/* Compares all ways of `rounds` sequences. */
static void compare(mcp_http_options options, int rounds, size_t taken[WAYS])
{
    static sequence s;
    static text expected, got;
    rig r;
    size_t good = 0, bad = 0;
    options.max_header_bytes = 900;
    options.log = log_all;
    options.cors = true;
    options.sse_path = "/sse";
    rig_begin(&r, &options);
    for (int round = 0; round < rounds; round++) {
        make(&s);
        run(&r, &s, BY_BYTE, &expected, &taken[BY_BYTE]);
        good += strstr(expected.bytes, "HTTP/1.1 200") != NULL;
        bad += strstr(expected.bytes, "HTTP/1.1 4") != NULL;
        for (way how = BY_REQUEST; how < WAYS; how++) {
            run(&r, &s, how, &got, &taken[how]);
            if (strcmp(got.bytes, expected.bytes) == 0)
                continue;
            printf("%s\n# expected:\n%s\n# got:\n%s\n", s.t.bytes, expected.bytes, got.bytes);
            fail_msg("round %d, way %d", round, (int)how);
        }
    }
    assert_true(good > (size_t)rounds / 2 && bad > (size_t)rounds / 4);
    assert_int_equal(taken[BY_BYTE], 0);
    rig_end(&r);
}

static void test_any_pieces(void **state)
{
    (void)state;
    size_t taken[WAYS] = {0};
    compare((mcp_http_options){0}, 6000, taken);
    assert_true(taken[BY_REQUEST] > 4000 && taken[AT_ONCE] > 500 && taken[IN_PIECES] > 50);
}

/* The same, where the parser stops at the end of a head until its sender is known. */
static void test_logins(void **state)
{
    (void)state;
    size_t taken[WAYS] = {0};
    compare((mcp_http_options){.authenticate = authenticate}, 3000, taken);
    assert_true(taken[BY_REQUEST] > 200);
}

static void send_call(wire *w, const char *name, unsigned trace, const char *expected)
{
    char request[900];
    snprintf(request, sizeof(request),
             "POST /mcp HTTP/1.1\n{{modern resources/read}}Mcp-Name: %s\n"
             "traceparent: 00-0af7651916cd43dd8448eb211c80319c-%016x-01\n"
             "Content-Length: {{len}}\n\n"
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{"
             "\"uri\":\"%s\",{{meta}}}}",
             name, trace, name);
    wire_clear(w);
    wire_send(w, request);
    wire_expect(w, expected);
}

#define READ "HTTP/1.1 200 OK\n~\"contents\":~"

/* The values that differ are those of the request. */
static void test_values(void **state)
{
    (void)state;
    rig r;
    wire w;
    rig_begin(&r, &(mcp_http_options){.log = rig_log});
    wire_open(&w, &r);
    send_call(&w, "fixed:/text", 1, READ);
    assert_int_equal(w.c->head.repeat.used, 0);
    size_t len = w.c->head.bytes.len;
    send_call(&w, "fixed:/text", 1, READ);
    assert_int_equal(w.c->head.bytes.len, len);
    for (unsigned i = 2; i < 50; i++) {
        char trace[60];
        send_call(&w, i % 2 ? "fixed:/text" : "fixed:/blob", i, READ);
        snprintf(trace, sizeof(trace), "00-0af7651916cd43dd8448eb211c80319c-%016x-01", i);
        assert_string_equal(r.traceparent, trace);
        assert_int_equal(w.c->head.repeat.used, i);
        assert_true(w.c->head.bytes.len < len + 100);
    }
    send_call(&w, "fixed:/text", 1, READ);
    assert_int_equal(w.c->head.bytes.len, len);
    wire_end(&w);
    rig_end(&r);
}

/* The body's length does not count for the request that follows. */
static void test_length(void **state)
{
    (void)state;
    enum { LENGTH = 70000 };
    static char request[LENGTH + 1000];
    rig r;
    wire w;
    rig_begin(&r, NULL);
    wire_open(&w, &r);
    int n = snprintf(request, sizeof(request),
                     "POST /mcp HTTP/1.1\n{{modern tools/list}}Content-Length: {{len}}\n\n"
                     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{"
                     "\"a\":\"%0*d\",{{meta}}}}",
                     LENGTH, 1);
    assert_true(n > LENGTH && (size_t)n < sizeof(request));
    for (int i = 0; i < 3; i++) {
        wire_clear(&w);
        wire_send(&w, request);
        wire_expect(&w, "HTTP/1.1 200 OK\n~\"tools\":~");
    }
    assert_int_equal(w.c->head.repeat.used, 2);
    for (int i = 0; i < 2; i++) {
        wire_clear(&w);
        wire_send(&w, "GET /other HTTP/1.1\nHost: localhost\n\n");
        wire_expect(&w, "HTTP/1.1 404 ~");
        assert_int_equal(w.closed, 0);
    }
    wire_end(&w);
    rig_end(&r);
}

/* A stream does not keep the head, also if its own head repeated the former one. */
static void test_stream(void **state)
{
    (void)state;
    for (int with_log = 0; with_log < 2; with_log++) {
        static const char listen[] =
            "POST /mcp HTTP/1.1\n{{modern subscriptions/listen}}Content-Length: {{len}}\n\n"
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{"
            "\"notifications\":{\"toolsListChanged\":true},{{meta}}}}";
        static const char list[] =
            "POST /mcp HTTP/1.1\n{{modern tools/list}}Content-Length: {{len}}\n\n"
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{"
            "\"a\":\"ten bytes.......\",\"b\":\"and more......................\",{{meta}}}}";
        rig r;
        wire w;
        rig_begin(&r, &(mcp_http_options){.log = with_log ? rig_log : NULL});
        wire_open(&w, &r);
        wire_send(&w, list);
        wire_send(&w, list);
        assert_int_equal(w.c->head.repeat.used, 1);
        wire_clear(&w);
        wire_send(&w, listen);
        wire_expect(&w, "HTTP/1.1 200 OK\n~text/event-stream~acknowledged~");
        assert_int_equal(w.c->head.repeat.len, 0);
        assert_true(w.c->head.bytes.cap < 400);
        wire_end(&w);
        rig_end(&r);
    }
}

/* Every allocation fails once. */
static void test_memory(void **state)
{
    (void)state;
    size_t answered = 0;
    for (size_t i = 1;; i++) {
        rig r;
        wire w;
        bool done = false;
        if (rig_begin_with(&r, NULL, i) == MCP_OK && wire_open_from(&w, &r, NULL) == MCP_OK) {
            for (unsigned n = 0; n < 4 && !w.closed; n++)
                send_call(&w, n % 2 ? "fixed:/text" : "fixed:/blob", n, "~");
            answered += rig_matches(wire_text(&w), READ);
            done = r.memory.calls < i;
            wire_end(&w);
        }
        rig_end(&r);
        if (done)
            break;
    }
    assert_true(answered > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_pieces), cmocka_unit_test(test_logins),
        cmocka_unit_test(test_values),     cmocka_unit_test(test_length),
        cmocka_unit_test(test_stream),     cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
