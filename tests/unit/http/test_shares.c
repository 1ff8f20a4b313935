/* The sessions of one client are not ended by others: generated requests of several clients against a
 * slow model of whose session ends for a new one. */
#include <malloc.h>

#include "rig.h"

#include "support/dice.h"

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define GET  "GET /mcp HTTP/1.1\nHost: localhost\n%sMcp-Session-Id: %s\nAccept: %s\n\n"

enum { CLIENTS = 6, WAYS = 2, MOST = 9, EACH = 4, SESSIONS = 16 };

/* How a client is known: each has two spellings, of one owner. */
typedef struct spelling {
    const char *address, *headers;
} spelling;

#define TOKEN(name)                                     \
    {                                                   \
        "192.0.2.9", "Authorization: Bearer " name "\n" \
    }
#define VIA(client)                                 \
    {                                               \
        "10.0.0.1", "X-Forwarded-For: " client "\n" \
    }

static const struct {
    const char *name;
    bool login;
    spelling clients[CLIENTS][WAYS];
} kinds[] = {
    {"tokens",
     true,
     {{TOKEN("a"), {"192.0.2.1", "Authorization: Bearer a\n"}},
      {TOKEN("b"), {"2001:db8::", "Authorization: Bearer b\n"}},
      {TOKEN("c"), {"10.0.0.1", "X-Forwarded-For: 192.0.2.1\nAuthorization: Bearer c\n"}},
      {TOKEN("d"), TOKEN("d")},
      {TOKEN("e"), TOKEN("e")},
      {TOKEN("192.0.2.1"), TOKEN("192.0.2.1")}}},
    {"addresses",
     false,
     {{{"192.0.2.1", ""}, {"192.0.2.1", "X-Forwarded-For: 192.0.2.2\n"}},
      {{"192.0.2.2", ""}, VIA("192.0.2.2")},
      {VIA("2001:db8:0:1::1"), VIA("2001:db8:0:1:ffff::2")},
      {VIA("2001:db8:0:2::1"), VIA("192.0.2.1, 2001:db8:0:2::1")},
      {VIA("::ffff:198.51.100.1"), VIA("198.51.100.1")},
      {{"10.0.0.1", ""}, VIA("unknown")}}},
};

typedef struct session {
    char id[40];
    size_t client;
    bool exists, busy;
    unsigned since; /* when it was used last */
    wire stream;
} session;

static session sessions[SESSIONS];
static unsigned moved[CLIENTS], now;
static size_t kind, each;
static uint64_t evicted, evicted_own;

/* ---- the model ------------------------------------------------------------------------------- */

static size_t count_of(size_t client, bool idle)
{
    size_t n = 0;
    for (size_t i = 0; i < SESSIONS; i++)
        n += sessions[i].exists && sessions[i].client == client && !(idle && sessions[i].busy);
    return n;
}

static session *oldest_of(size_t client)
{
    session *oldest = NULL;
    for (size_t i = 0; i < SESSIONS; i++) {
        session *s = &sessions[i];
        if (s->exists && !s->busy && s->client == client && (!oldest || s->since < oldest->since))
            oldest = s;
    }
    return oldest;
}

static size_t richest(size_t *count)
{
    size_t first = 0;
    *count = 0;
    for (size_t i = 0; i < CLIENTS; i++) {
        size_t n = count_of(i, true) ? count_of(i, false) : 0;
        if (n > *count || (n && n == *count && moved[i] < moved[first])) {
            *count = n;
            first = i;
        }
    }
    return first;
}

/* Ends what has to end for a new session. Returns the option that the answer names, or NULL. */
static const char *model_room(size_t client)
{
    size_t all = 0, own = count_of(client, false), most, loser = client;
    for (size_t i = 0; i < CLIENTS; i++)
        all += count_of(i, false);
    if (own < each && all < MOST)
        return NULL;
    size_t first = richest(&most);
    if (own < each && most && (!own || most > own + 1))
        loser = first;
    session *goes = oldest_of(loser);
    if (!goes)
        return own >= each ? "max_sessions_each" : "max_sessions";
    assert_true(loser == client || !own || count_of(loser, false) > own + 1);
    goes->exists = false;
    moved[loser] = ++now;
    evicted++;
    evicted_own += own >= each;
    return NULL;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* The address is that of the peer too, which can so be a trusted proxy. */
static void open_from(wire *w, rig *r, const char *address)
{
    *w = (wire){.rig = r};
    assert_int_equal(mcp_http_accept(r->http,
                                     MCP_OPTIONS(mcp_http_connection_options, .write = wire_write,
                                                 .close = wire_close, .user = w, .peer = address,
                                                 .address = address),
                                     r->now, &w->c, NULL),
                     MCP_OK);
}

static const spelling *any_way(size_t client)
{
    return &kinds[kind].clients[client][dice(WAYS)];
}

static void once(rig *r, size_t client, const char *request, const char *expected)
{
    wire w;
    open_from(&w, r, any_way(client)->address);
    wire_send(&w, request);
    wire_expect(&w, expected);
    wire_end(&w);
}

static void use(session *s)
{
    moved[s->client] = s->since = ++now;
}

static void initialize(rig *r, size_t client)
{
    static const char body[] =
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}";
    const spelling *who = any_way(client);
    const char *refused = model_room(client);
    char request[1024], expected[64];
    wire w;
    snprintf(request, sizeof(request), "POST /mcp HTTP/1.1\n{{std}}%sContent-Length: {{len}}\n\n%s",
             who->headers, body);
    open_from(&w, r, who->address);
    wire_send(&w, request);
    snprintf(expected, sizeof(expected), "HTTP/1.1 503 ~Retry-After~(%s)~", refused ? refused : "");
    wire_expect(&w, refused ? expected : "HTTP/1.1 200 ~");
    if (!refused) {
        session *s = sessions;
        while (s->exists)
            s++;
        const char *id = strstr(wire_text(&w), "Mcp-Session-Id: ");
        assert_non_null(id);
        *s = (session){.client = client, .exists = true};
        snprintf(s->id, sizeof(s->id), "%.32s", id + 16);
        use(s);
    }
    wire_end(&w);
}

static void ping(rig *r, session *s)
{
    char request[1024];
    snprintf(request, sizeof(request),
             "POST /mcp HTTP/1.1\n{{std}}%sMcp-Session-Id: %s\nContent-Length: {{len}}\n\n" PING,
             any_way(s->client)->headers, s->id);
    wire w;
    open_from(&w, r, any_way(s->client)->address);
    wire_send(&w, request);
    wire_expect(&w, "HTTP/1.1 200 ~");
    wire_end(&w);
    if (!s->busy)
        use(s);
}

static void open_stream(rig *r, session *s)
{
    char request[4096];
    const spelling *who = any_way(s->client);
    snprintf(request, sizeof(request), GET, who->headers, s->id, "text/event-stream");
    open_from(&s->stream, r, who->address);
    wire_send(&s->stream, request);
    wire_expect(&s->stream, "HTTP/1.1 200 ~");
    s->busy = true;
}

static void close_stream(session *s)
{
    wire_end(&s->stream);
    s->busy = false;
    use(s);
}

static void end(rig *r, session *s)
{
    char request[1024];
    snprintf(request, sizeof(request),
             "DELETE /mcp HTTP/1.1\nHost: localhost\n%sMcp-Session-Id: %s\n\n",
             any_way(s->client)->headers, s->id);
    once(r, s->client, request, "HTTP/1.1 204 ~");
    if (s->busy)
        wire_end(&s->stream);
    s->exists = false;
    moved[s->client] = ++now;
}

/* A session that exists refuses a GET that accepts no stream. That is no use of the session. */
static void check(rig *r)
{
    char request[4096], expected[256];
    size_t all = 0;
    for (size_t i = 0; i < SESSIONS; i++) {
        const session *s = &sessions[i];
        all += s->exists;
        if (!s->id[0])
            continue;
        snprintf(request, sizeof(request), GET, any_way(s->client)->headers, s->id, "text/html");
        once(r, s->client, request, s->exists ? "HTTP/1.1 406 ~" : "HTTP/1.1 404 ~");
    }
    snprintf(request, sizeof(request), "GET /metrics HTTP/1.1\nHost: localhost\n%s\n",
             kinds[kind].clients[0][0].headers);
    snprintf(expected, sizeof(expected),
             "~\nmcp_sessions %zu\n~\nmcp_sessions_evicted_total %u\n~"
             "\nmcp_sessions_evicted_own_total %u\n~",
             all, (unsigned)evicted, (unsigned)evicted_own);
    once(r, 0, request, expected);
}

static void step(rig *r, size_t favourite)
{
    session *s = &sessions[dice(SESSIONS)];
    size_t client = dice(3) ? favourite : dice(CLIENTS);
    if (!s->exists || dice(3) == 0)
        initialize(r, client);
    else if (s->busy && dice(3) == 0)
        close_stream(s);
    else if (!s->busy && dice(3) == 0)
        open_stream(r, s);
    else if (dice(4) == 0)
        end(r, s);
    else
        ping(r, s);
}

static void run(size_t limit)
{
    static const char *const proxies[] = {"10.0.0.1"};
    rig r;
    memset(sessions, 0, sizeof(sessions));
    evicted = evicted_own = 0;
    each = limit ? limit : MOST / 4;
    rig_begin(&r, &(mcp_http_options){.authenticate = kinds[kind].login ? login_by_name : NULL,
                                      .trusted_proxies = proxies,
                                      .n_trusted_proxies = 1,
                                      .max_sessions = MOST,
                                      .max_sessions_each = limit});
    size_t favourite = dice(CLIENTS);
    for (size_t i = 0; i < 150; i++) {
        step(&r, favourite);
        check(&r);
    }
    for (size_t i = 0; i < SESSIONS; i++)
        if (sessions[i].exists && sessions[i].busy)
            wire_end(&sessions[i].stream);
    rig_end(&r);
}

static void test_generated(void **state)
{
    static const size_t limits[] = {0, 1, EACH, SIZE_MAX};
    (void)state;
    for (kind = 0; kind < COUNT(kinds); kind++)
        for (size_t i = 0; i < 3 * COUNT(limits); i++)
            run(limits[i % COUNT(limits)]);
}

/* Clients of this machine have no share unless it is given, but cannot end sessions of others. */
static void test_local(void **state)
{
    (void)state;
    rig r;
    char bob[40];
    rig_begin(&r, &(mcp_http_options){.authenticate = login_by_name, .max_sessions = 20});
    rig_initialize(&r, "2025-11-25", "Authorization: Bearer bob\n");
    memcpy(bob, r.session, sizeof(bob));
    for (size_t i = 0; i < 100; i++) {
        wire w;
        open_from(&w, &r, i % 2 ? "127.0.0.1" : "::1");
        wire_send(&w, "POST /mcp HTTP/1.1\n{{std}}Authorization: Bearer alice\n"
                      "Content-Length: {{len}}\n\n"
                      "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                      "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                      "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
        wire_expect(&w, "HTTP/1.1 200 ~");
        wire_end(&w);
    }
    memcpy(r.session, bob, sizeof(bob));
    wire w;
    wire_open(&w, &r);
    wire_send(&w,
              "POST /mcp HTTP/1.1\n{{std}}Authorization: Bearer bob\nMcp-Session-Id: {{session}}\n"
              "Content-Length: {{len}}\n\n" PING);
    wire_expect(&w, "HTTP/1.1 200 ~");
    wire_clear(&w);
    wire_send(&w, "GET /metrics HTTP/1.1\nHost: localhost\nAuthorization: Bearer bob\n\n");
    wire_expect(&w, "~mcp_limit{limit=\"max_sessions_each\"} 5\n~"
                    "mcp_limit_used{limit=\"max_sessions_each\"} 19\n~"
                    "mcp_sessions 20\n~mcp_sessions_evicted_total 81\n~");
    wire_end(&w);
    rig_end(&r);
}

static size_t metric(rig *r, const char *name)
{
    wire w;
    wire_open(&w, r);
    wire_send(&w, "GET /metrics HTTP/1.1\nHost: localhost\n\n");
    const char *line = strstr(wire_text(&w), name);
    size_t value = line ? strtoul(line + strlen(name), NULL, 10) : SIZE_MAX;
    wire_end(&w);
    return value;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t held; /* bytes */

static void *count_allocate(size_t size, void *user)
{
    (void)user;
    void *p = malloc(size ? size : 1);
    held += malloc_usable_size(p);
    return p;
}

static void *count_resize(void *ptr, size_t size, void *user)
{
    (void)user;
    held -= malloc_usable_size(ptr);
    void *p = realloc(ptr, size ? size : 1);
    held += malloc_usable_size(p);
    return p;
}

static void count_release(void *ptr, void *user)
{
    (void)user;
    held -= malloc_usable_size(ptr);
    free(ptr);
}

/* Makes an endpoint whose memory is counted. */
static mcp_http_budget *count_begin(rig *r)
{
    mcp_http_budget *budget = NULL;
    mcp_allocator counting = {count_allocate, count_resize, count_release, NULL};
    assert_int_equal(mcp_http_budget_new(NULL, &budget, NULL), MCP_OK);
    *r = (rig){.now = 1000, .allocator = counting};
    assert_int_equal(fixture_new(&(fixture_options){.allocator = &r->allocator}, &r->fixture, NULL),
                     MCP_OK);
    assert_int_equal(mcp_http_new(fixture_server(r->fixture),
                                  MCP_OPTIONS(mcp_http_options, .random = rig_random, .user = r,
                                              .allocator = &r->allocator, .budget = budget),
                                  &r->http, NULL),
                     MCP_OK);
    return budget;
}

static void count_end(rig *r, mcp_http_budget *budget)
{
    mcp_http_free(r->http);
    fixture_free(r->fixture);
    assert_int_equal(mcp_http_budget_used(budget), 0);
    mcp_http_budget_free(budget);
    assert_int_equal(held, 0);
}

static char last_answer[1024]; /* its beginning */

static void begin_sized(rig *r, const char *who, size_t size, const char *expected)
{
    char *request = malloc(size + 1024);
    assert_non_null(request);
    int len = snprintf(request, 1024,
                       "POST /mcp HTTP/1.1\n{{std}}Content-Length: {{len}}\n\n"
                       "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                       "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                       "\"clientInfo\":{\"version\":\"1\",\"name\":\"");
    memset(request + len, 'n', size);
    memcpy(request + len + size, "\"}}}", 5);
    wire w;
    open_from(&w, r, who);
    wire_send(&w, request);
    wire_expect(&w, expected);
    snprintf(last_answer, sizeof(last_answer), "%s", wire_text(&w));
    wire_end(&w);
    free(request);
}

/* What is counted is what sessions take, with what their clients sent. The blocks of the heap are
 * somewhat larger than what is usable of them. */
static void test_memory(void **state)
{
    static const size_t sizes[] = {1, 3000, 100000};
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        enum { N = 200 };
        rig r;
        mcp_http_budget *budget = count_begin(&r);
        for (size_t k = 0; k < N; k++)
            begin_sized(&r, "192.0.2.1", sizes[i], "HTTP/1.1 200 ~");
        size_t before = held, counted = mcp_http_budget_used(budget);
        for (size_t k = 0; k < N; k++)
            begin_sized(&r, "192.0.2.1", sizes[i], "HTTP/1.1 200 ~");
        double each_held = (double)(held - before) / N;
        double each_counted = (double)(mcp_http_budget_used(budget) - counted) / N;
        if (each_counted < 0.8 * each_held || each_counted > 1.4 * each_held)
            fail_msg("a session takes %.0f bytes, and %.0f are counted", each_held, each_counted);
        count_end(&r, budget);
    }
}

/* Sessions fill a quarter of the memory, and those of a client a quarter of its share. */
static void test_bytes(void **state)
{
    (void)state;
    rig r;
    rig_begin(&r, &(mcp_http_options){.max_memory = 8 << 20, .max_share = 4 << 20});
    begin_sized(&r, "192.0.2.2", 1, "HTTP/1.1 200 ~");
    for (size_t i = 0; i < 400; i++) {
        begin_sized(&r, "192.0.2.1", 1, "HTTP/1.1 200 ~");
        begin_sized(&r, "192.0.2.3", 50000, "HTTP/1.1 200 ~");
    }
    assert_in_range(metric(&r, "\nmcp_memory_sessions_bytes "), 1 << 20, (2 << 20) + 200000);
    rig_end(&r);
}

/* ---- stored events --------------------------------------------------------------------------- */

static void in_session(rig *r, const char *who, const char *id, const char *request,
                       const char *expected)
{
    wire w;
    snprintf(r->session, sizeof(r->session), "%s", id);
    open_from(&w, r, who);
    wire_send(&w, request);
    wire_expect(&w, expected);
    wire_end(&w);
}

/* Once their answers are sent, sessions and connections hold nothing of them. */
static void test_answers(void **state)
{
    enum { N = 50, SIZE = 100000, LITTLE = 8000 };
    static const char in_session_text[] =
        "POST /mcp HTTP/1.1\n{{std}}Mcp-Session-Id: {{session}}\nContent-Length: {{len}}\n\n"
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"large:/"
        "text\"}}";
    static const char alone[] = "POST /mcp HTTP/1.1\n{{modern resources/read}}Mcp-Name: "
                                "large:/text\nContent-Length: {{len}}\n\n"
                                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/"
                                "read\",\"params\":{\"uri\":\"large:/text\",{{meta}}}}";
    static char text[SIZE + 1];
    (void)state;
    rig r;
    static wire w[N];
    char id[40];
    memset(text, 'x', SIZE);
    mcp_http_budget *budget = count_begin(&r);
    assert_int_equal(mcp_server_add_resource(fixture_server(r.fixture),
                                             MCP_OPTIONS(mcp_resource, .uri = "large:/text",
                                                         .name = "large", .text = text),
                                             NULL, NULL),
                     MCP_OK);
    size_t before = 0;
    for (size_t i = 0; i < N; i++) {
        if (i == 1) /* what the endpoint holds for all of them is there */
            before = held;
        begin_sized(&r, "192.0.2.1", 1, "HTTP/1.1 200 ~");
        snprintf(id, sizeof(id), "%.32s", strstr(last_answer, "Mcp-Session-Id: ") + 16);
        in_session(&r, "192.0.2.1", id, in_session_text, "HTTP/1.1 200 ~xxxx~");
    }
    assert_in_range((held - before) / (N - 1), 1, LITTLE);
    before = held;
    for (size_t i = 0; i < N; i++) {
        open_from(&w[i], &r, "192.0.2.1");
        wire_send(&w[i], alone);
        wire_expect(&w[i], "HTTP/1.1 200 ~xxxx~");
    }
    assert_in_range((held - before) / N, 1, LITTLE);
    for (size_t i = 0; i < N; i++)
        wire_end(&w[i]);
    count_end(&r, budget);
}

/* Events that one client has stored leave room for those of another. */
static void test_events(void **state)
{
    static const char call[] =
        "POST /mcp HTTP/1.1\n{{std}}Mcp-Session-Id: {{session}}\nContent-Length: {{len}}\n\n"
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
        "\"name\":\"progress\",\"_meta\":{\"progressToken\":\"t\"}}}";
    static const char again[] = "GET /mcp HTTP/1.1\nHost: localhost\nMcp-Session-Id: "
                                "{{session}}\nAccept: text/event-stream\n"
                                "Last-Event-ID: 2-0\n\n";
    (void)state;
    rig r;
    char alice[40], bob[40];
    rig_begin(&r, &(mcp_http_options){.max_memory = 4 << 20});
    begin_sized(&r, "192.0.2.2", 1, "HTTP/1.1 200 ~");
    snprintf(bob, sizeof(bob), "%.32s", strstr(last_answer, "Mcp-Session-Id: ") + 16);
    for (size_t i = 0; i < 2400; i++) {
        if (i % 300 == 0) {
            begin_sized(&r, "192.0.2.1", 1, "HTTP/1.1 200 ~");
            snprintf(alice, sizeof(alice), "%.32s", strstr(last_answer, "Mcp-Session-Id: ") + 16);
        }
        in_session(&r, "192.0.2.1", alice, call, "HTTP/1.1 200 ~\"id\":1~");
    }
    size_t stored = metric(&r, "\nmcp_memory_stored_bytes ");
    assert_in_range(stored, 200000, (4 << 20) / 16);
    in_session(&r, "192.0.2.2", bob, call, "HTTP/1.1 200 ~\"id\":1~");
    assert_true(metric(&r, "\nmcp_memory_stored_bytes ") > stored);
    in_session(&r, "192.0.2.2", bob, again, "HTTP/1.1 200 ~id: 2-1\n~\"id\":1~");
    rig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generated), cmocka_unit_test(test_local),
        cmocka_unit_test(test_memory),    cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_events),    cmocka_unit_test(test_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
