/* One instance watches for another: when each of them watches, what is refused or lost, what is told when the
 * role passes on; with every allocation failing. The test carries the messages.
 */
#include <mcp/sys/bus.h>

#include "rig.h"

enum { TIMERS = 8, QUEUE = 16, OVERLAP_MS = 1000 };

static int64_t now_ms;
struct mcp_host_timer {
    int64_t at; /* 0 if it was called */
    void (*fn)(void *arg);
    void *arg;
};
static mcp_host_timer timers[TIMERS];

static int64_t now(void *user)
{
    (void)user;
    return now_ms;
}

static mcp_host_timer *timer_start(uint64_t ms, void (*fn)(void *), void *arg, void *user)
{
    (void)user;
    for (size_t i = 0; i < TIMERS; i++) {
        if (!timers[i].fn) {
            timers[i] = (mcp_host_timer){now_ms + (int64_t)ms, fn, arg};
            return &timers[i];
        }
    }
    return NULL;
}

static void timer_stop(mcp_host_timer *timer, void *user)
{
    (void)user;
    *timer = (mcp_host_timer){0};
}

static const mcp_host host = {
    .size = sizeof(host), .now = now, .timer_start = timer_start, .timer_stop = timer_stop};

static void pass(int64_t ms)
{
    for (int64_t end = now_ms + ms; now_ms < end; now_ms += 10) {
        for (size_t i = 0; i < TIMERS; i++) {
            if (timers[i].fn && timers[i].at && timers[i].at <= now_ms) {
                timers[i].at = 0;
                timers[i].fn(timers[i].arg);
            }
        }
    }
}

/* ---- instances ------------------------------------------------------------------------------- */

typedef struct side {
    rig r;
    mcp_channel *peer;
    int topics, lists; /* how many the provider watches; it has one list */
    bool refuses, full;
    char queue[QUEUE][MCP_BUS_ENTRY_BYTES]; /* what it sent */
    size_t len[QUEUE], n;
} side;

static side asks, watches;
enum { ASKS = 3 }; /* the number of the one that asks */

static int resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    (void)user;
    snprintf(canonical, room, "%.*s", (int)uri.len, uri.ptr);
    return MCP_OK;
}

static int watch(const char *canonical, void *user)
{
    side *s = user;
    (void)canonical;
    if (s->refuses)
        return MCP_ELIMIT;
    s->topics++;
    return MCP_OK;
}

static void unwatch(const char *canonical, void *user)
{
    (void)canonical;
    ((side *)user)->topics--;
}

static int watch_list(void *user)
{
    ((side *)user)->lists++;
    return MCP_OK;
}

static void unwatch_list(void *user)
{
    ((side *)user)->lists--;
}

static int read_none(mcp_request *req, mcp_str uri, void *user)
{
    (void)req, (void)uri, (void)user;
    return MCP_ENOTFOUND;
}

static const mcp_provider provider = {.size = sizeof(provider),
                                      .name = "files",
                                      .read = read_none,
                                      .resolve = resolve,
                                      .watch = watch,
                                      .unwatch = unwatch,
                                      .watch_list = watch_list,
                                      .unwatch_list = unwatch_list};

static bool keep(side *s, mcp_str message)
{
    assert_in_range(message.len, 1, MCP_BUS_ENTRY_BYTES);
    if (s->full || s->n == QUEUE)
        return false;
    memcpy(s->queue[s->n], message.ptr, message.len);
    s->len[s->n++] = message.len;
    return true;
}

static bool ask(mcp_str message, void *user)
{
    return keep(user, message);
}

static bool answer(size_t to, mcp_str message, void *user)
{
    assert_int_equal(to, ASKS);
    return keep(user, message);
}

static int begin(side *s)
{
    memset(s, 0, sizeof(*s));
    int rc = rig_open(&s->r, &(mcp_server_options){.host = &host, .coalesce_ms = 1}, rig_ok);
    if (rc == MCP_OK)
        rc = mcp_server_mount(s->r.server, "mem:", &provider, s, NULL);
    if (rc == MCP_OK)
        rc = mcp_server_watch_once(s->r.server,
                                   MCP_OPTIONS(mcp_watch_options, .ask = ask, .answer = answer,
                                               .user = s, .overlap_ms = OVERLAP_MS),
                                   NULL);
    if (rc == MCP_OK)
        rc = rig_connect(&s->r, NULL, NULL, &s->peer);
    return rc;
}

static void close_one(side *s)
{
    mcp_channel_free(s->peer);
    s->peer = NULL;
    rig_close(&s->r);
    assert_int_equal(s->topics + s->lists, 0);
}

static void open_two(void)
{
    now_ms = 1000;
    memset(timers, 0, sizeof(timers));
    assert_int_equal(begin(&asks), MCP_OK);
    assert_int_equal(begin(&watches), MCP_OK);
    mcp_server_watch_role(asks.r.server, false, false);
    mcp_server_watch_role(watches.r.server, true, false);
}

static void close_two(void)
{
    close_one(&asks);
    close_one(&watches);
    for (size_t i = 0; i < TIMERS; i++)
        assert_null(timers[i].fn);
}

/* Delivers what one of them sent to the other. */
static void carry(side *from, side *to)
{
    for (size_t i = 0; i < from->n; i++)
        mcp_server_watch_received(to->r.server, ASKS, (mcp_str){from->queue[i], from->len[i]});
    from->n = 0;
}

static void talk(void)
{
    for (int i = 0; i < 10; i++) {
        pass(20);
        carry(&asks, &watches);
        carry(&watches, &asks);
    }
}

static void listen(side *s, int id, const char *uri)
{
    char text[400];
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"subscriptions/listen\",\"params\":{"
             "\"notifications\":{\"resourceSubscriptions\":[\"%s\"],\"resourcesListChanged\":true}"
             "," RIG_META "}}",
             id, uri);
    assert_int_equal(rig_say(&s->r, s->peer, text), MCP_OK);
    assert_has(rig_sent(&s->r), "acknowledged");
}

static void leave(side *s, int id)
{
    char text[200];
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
             "\"requestId\":%d}}",
             id);
    rig_say(&s->r, s->peer, text);
}

static const char *told(side *s)
{
    mcp_channel_tick(s->peer, s->r.now += 1000);
    mcp_channel_tick(s->peer, s->r.now += 1000);
    return rig_sent(&s->r);
}

#define WATCHED(s, n_topics, n_lists)           \
    do {                                        \
        assert_int_equal((s).topics, n_topics); \
        assert_int_equal((s).lists, n_lists);   \
    } while (0)

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_hand_over(void **state)
{
    (void)state;
    open_two();
    listen(&asks, 1, "mem:x");
    WATCHED(asks, 1, 1); /* at once */
    WATCHED(watches, 0, 0);
    talk();
    WATCHED(asks, 1, 1);
    WATCHED(watches, 1, 1);
    pass(2 * OVERLAP_MS);
    WATCHED(asks, 0, 0);
    WATCHED(watches, 1, 1);
    listen(&asks, 2, "mem:x"); /* a second subscriber changes nothing */
    listen(&watches, 1, "mem:x");
    talk();
    WATCHED(asks, 0, 0);
    WATCHED(watches, 1, 1);
    leave(&asks, 1);
    leave(&watches, 1);
    talk();
    WATCHED(watches, 1, 1);
    leave(&asks, 2);
    talk();
    WATCHED(asks, 0, 0);
    WATCHED(watches, 0, 0);
    listen(&asks, 3, "mem:x"); /* again at once */
    WATCHED(asks, 1, 1);
    leave(&asks, 3);
    listen(&asks, 4, "mem:x");
    talk();
    pass(2 * OVERLAP_MS);
    WATCHED(asks, 0, 0);
    WATCHED(watches, 1, 1);
    mcp_server_resource_updated(asks.r.server, "mem:x"); /* as the bus says */
    assert_has(told(&asks), "\"notifications/resources/updated\"");
    close_two();
}

static void test_roles(void **state)
{
    (void)state;
    open_two();
    listen(&asks, 1, "mem:x");
    talk();
    pass(2 * OVERLAP_MS);
    WATCHED(asks, 0, 0);
    rig_sent(&asks.r);
    mcp_server_watch_received(watches.r.server, ASKS, (mcp_str){MCP_WATCH_LEFT, 5});
    WATCHED(watches, 0, 0);

    mcp_server_watch_role(asks.r.server, false, false); /* it has to ask anew */
    WATCHED(asks, 1, 1);
    assert_null(strstr(told(&asks), "updated"));
    talk();
    pass(2 * OVERLAP_MS);
    WATCHED(asks, 0, 0);
    WATCHED(watches, 1, 1);

    mcp_server_watch_role(asks.r.server, true, true); /* the other one has ended */
    WATCHED(asks, 1, 1);
    const char *text = told(&asks);
    assert_has(text, "\"notifications/resources/updated\"");
    assert_has(text, "\"notifications/resources/list_changed\"");
    mcp_server_watch_role(watches.r.server, false, true);
    WATCHED(watches, 0, 0);
    listen(&watches, 1, "mem:y");
    for (int i = 0; i < 10; i++) {
        pass(20);
        carry(&watches, &asks);
        carry(&asks, &watches);
    }
    pass(2 * OVERLAP_MS);
    WATCHED(watches, 0, 0);
    WATCHED(asks, 2, 1);
    close_two();
}

/* What is refused, or gets no answer, is watched here. */
static void test_losses(void **state)
{
    (void)state;
    open_two();
    watches.refuses = true;
    listen(&asks, 1, "mem:x");
    talk();
    pass(2 * OVERLAP_MS);
    WATCHED(asks, 1, 0);
    watches.refuses = false;
    watches.full = true; /* its answers are lost */
    listen(&asks, 2, "mem:y");
    talk();
    pass(2 * OVERLAP_MS);
    WATCHED(asks, 2, 0);
    watches.full = false;
    pass(60000); /* it is asked again */
    talk();
    pass(2 * OVERLAP_MS);
    WATCHED(asks, 1, 0);
    asks.full = true; /* there is no room for a while */
    listen(&asks, 3, "mem:z");
    pass(1000);
    WATCHED(asks, 2, 0);
    asks.full = false;
    talk();
    pass(2 * OVERLAP_MS);
    WATCHED(asks, 1, 0);
    WATCHED(watches, 2, 1);
    close_two();
}

/* Many subscriptions: one message is under way at a time. */
static void test_many(void **state)
{
    enum { MANY = 900 };
    char uri[100];
    (void)state;
    open_two();
    for (int i = 0; i < MANY; i++) {
        snprintf(uri, sizeof(uri), "mem:a resource with a long name, of which there are many/%d",
                 i);
        listen(&asks, i, uri);
    }
    pass(100);
    assert_int_equal(asks.n, 1);
    for (int i = 0; i < 10; i++)
        talk();
    WATCHED(watches, MANY, 1);
    pass(2 * OVERLAP_MS);
    WATCHED(asks, 0, 0);
    close_two();
}

static void test_rebuild_keeps(void **state)
{
    (void)state;
    open_two();
    listen(&asks, 1, "mem:x");
    talk();
    pass(2 * OVERLAP_MS);
    mcp_server_set_host(asks.r.server, &host); /* ends it */
    WATCHED(asks, 1, 1);
    mcp_server_set_host(watches.r.server, &host);
    WATCHED(watches, 0, 0);
    close_two();
}

static void test_strange(void **state)
{
    static const char *const texts[] = {"",
                                        "+",
                                        "+\0\0\0\0",
                                        "+\0\0\0\1u",
                                        "+\0\0\0\2l9",
                                        "+\0\0\0\3l00",
                                        "+\0\0\0\3l0\0",
                                        "+\0\0\0\5utxt:",
                                        "-\0\0\0\3u:x",
                                        "=\0\0\0\6umem:x",
                                        "!\0\0\0\6umem:x",
                                        "?\0\0\0\6umem:x",
                                        "+\377\377\377\377u"};
    static const size_t lens[] = {0, 1, 5, 6, 7, 8, 8, 10, 8, 11, 11, 11, 6};
    (void)state;
    open_two();
    listen(&asks, 1, "mem:x");
    for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
        mcp_server_watch_received(watches.r.server, ASKS, (mcp_str){texts[i], lens[i]});
        mcp_server_watch_received(asks.r.server, ASKS, (mcp_str){texts[i], lens[i]});
    }
    mcp_server_watch_received(watches.r.server, MCP_WATCH_INSTANCES, MCP_STR("+\0\0\0\6umem:x"));
    WATCHED(watches, 0, 0);
    WATCHED(asks, 1, 1);
    watches.n = 0;
    talk();
    assert_int_equal(
        mcp_server_watch_once(asks.r.server,
                              MCP_OPTIONS(mcp_watch_options, .ask = ask, .answer = answer), NULL),
        MCP_ESTATE);
    assert_int_equal(
        mcp_server_watch_once(asks.r.server, MCP_OPTIONS(mcp_watch_options, .ask = ask), NULL),
        MCP_EINVAL);
    close_two();
}

/* Without memory, something is watched twice, and nothing not at all. */
static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 0; n < 60; n++) {
        open_two();
        asks.r.memory.fail_at = n < 30 ? asks.r.memory.calls + n + 1 : 0;
        watches.r.memory.fail_at = n < 30 ? 0 : watches.r.memory.calls + n - 29;
        char text[] =
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{"
            "\"notifications\":{\"resourceSubscriptions\":[\"mem:x\"]}," RIG_META "}}";
        (void)rig_say(&asks.r, asks.peer, text);
        bool works = strstr(rig_sent(&asks.r), "acknowledged") && asks.topics;
        talk();
        pass(2 * OVERLAP_MS);
        if (works)
            assert_true(asks.topics + watches.topics > 0);
        asks.r.memory.fail_at = watches.r.memory.fail_at = 0;
        close_two();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hand_over),     cmocka_unit_test(test_roles),
        cmocka_unit_test(test_losses),        cmocka_unit_test(test_many),
        cmocka_unit_test(test_rebuild_keeps), cmocka_unit_test(test_strange),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
