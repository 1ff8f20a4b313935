/* Resources and lists that are watched for each identity (mcp_provider.watch_as): who is notified,
 * what the provider is told, and a legacy session whose identity changes; with every allocation
 * failing.
 */
#include "rig.h"

#include "channel/channel.h"

#define PREFIX "own://x/"

typedef struct watcher {
    mcp_identity *identity; /* NULL is an entry too */
    int uris, lists;
} watcher;

static watcher watchers[4];
static size_t n_watchers;
static const mcp_identity *denied;

static watcher *of(mcp_identity *identity)
{
    size_t i = 0;
    while (i < n_watchers && watchers[i].identity != identity)
        i++;
    assert_true(i < 4);
    n_watchers += i == n_watchers;
    watchers[i].identity = identity;
    return &watchers[i];
}

static int resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    (void)user;
    assert_true(uri.len < room);
    memcpy(canonical, uri.ptr, uri.len);
    canonical[uri.len] = 0;
    return MCP_OK;
}

static int watch_as(const char *canonical, mcp_identity *identity, void *user)
{
    (void)canonical, (void)user;
    if (identity && identity == denied)
        return MCP_ENOTFOUND;
    of(identity)->uris++;
    return MCP_OK;
}

static void unwatch_as(const char *canonical, mcp_identity *identity, void *user)
{
    (void)canonical, (void)user;
    of(identity)->uris--;
}

static int watch_list_as(mcp_identity *identity, void *user)
{
    (void)user;
    of(identity)->lists++;
    return MCP_OK;
}

static void unwatch_list_as(mcp_identity *identity, void *user)
{
    (void)user;
    of(identity)->lists--;
}

static const mcp_provider provider = {.size = sizeof(mcp_provider),
                                      .name = "own",
                                      .resolve = resolve,
                                      .watch_as = watch_as,
                                      .unwatch_as = unwatch_as,
                                      .watch_list_as = watch_list_as,
                                      .unwatch_list_as = unwatch_list_as};

static mcp_identity *identity_until(const char *principal, int64_t expires_ms)
{
    mcp_identity *made = NULL;
    assert_int_equal(mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = principal,
                                                  .expires_ms = expires_ms),
                                      &made, NULL),
                     MCP_OK);
    return made;
}

static mcp_identity *identity_of(const char *principal)
{
    return identity_until(principal, 0);
}

static void forget(void)
{
    n_watchers = 0;
    memset(watchers, 0, sizeof(watchers));
    denied = NULL;
}

static int open_rig(rig *r)
{
    forget();
    int rc = rig_open(r, MCP_OPTIONS(mcp_server_options, .coalesce_ms = 1), rig_ok);
    return rc == MCP_OK ? mcp_server_mount(r->server, PREFIX, &provider, r, NULL) : rc;
}

static mcp_channel *connect_as(rig *r, mcp_identity *identity)
{
    mcp_channel *channel = NULL;
    (void)mcp_server_connect(r->server,
                             MCP_OPTIONS(mcp_channel_options, .send = rig_send, .user = r,
                                         .shared_stream = true, .identity = identity),
                             &channel, NULL);
    return channel;
}

static void say(rig *r, mcp_channel *channel, const char *message)
{
    mcp_channel_receive(channel, 0, mcp_str_from(message), r->now);
}

static void legacy_start(rig *r, mcp_channel *channel)
{
    say(r, channel,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
    say(r, channel, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    say(r, channel,
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/subscribe\",\"params\":{\"uri\":"
        "\"" PREFIX "a\"}}");
}

static void listen_start(rig *r, mcp_channel *channel)
{
    say(r, channel,
        "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"subscriptions/listen\",\"params\":{" RIG_META
        ",\"notifications\":{\"resourcesListChanged\":true,\"resourceSubscriptions\":[\"" PREFIX
        "a\"]}}}");
}

/* Returns what the peers get until the marks have been reported. */
static const char *told(rig *r, mcp_channel *const *channels, size_t n)
{
    for (int round = 0; round < 2; round++) {
        r->now += 10;
        for (size_t i = 0; i < n; i++)
            mcp_channel_tick(channels[i], r->now);
    }
    return rig_sent(r);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        n++;
    return n;
}

#define UPDATED "resources/updated"
#define LISTED  "resources/list_changed"

/* Each identity is watched and told apart, in both eras. */
static void test_apart(void **state)
{
    static rig r;
    (void)state;
    r = (rig){0};
    assert_int_equal(open_rig(&r), MCP_OK);
    mcp_identity *a = identity_of("p"), *b = identity_of("p"); /* two tokens of one principal */
    mcp_channel *c[4] = {connect_as(&r, a), connect_as(&r, b), connect_as(&r, a),
                         connect_as(&r, NULL)};
    legacy_start(&r, c[0]);
    listen_start(&r, c[1]);
    listen_start(&r, c[2]);
    listen_start(&r, c[3]);
    assert_int_equal(of(a)->uris, 1);
    assert_int_equal(of(a)->lists, 2);
    assert_int_equal(of(b)->uris, 1);
    assert_int_equal(of(b)->lists, 1);
    assert_int_equal(of(NULL)->uris, 1);
    assert_int_equal(of(NULL)->lists, 1);
    (void)told(&r, c, 4);

    const struct {
        const mcp_identity *who;
        size_t n;
    } cases[] = {{a, 2}, {b, 1}, {NULL, 1}};
    for (size_t i = 0; i < 3; i++) {
        mcp_server_updated_as(r.server, PREFIX "a", cases[i].who);
        assert_int_equal(count(told(&r, c, 4), UPDATED), cases[i].n);
        mcp_server_list_changed_as(r.server, MCP_ITEM_RESOURCE, cases[i].who);
        assert_int_equal(count(told(&r, c, 4), LISTED), cases[i].n);
    }
    /* nobody is told by the functions for all */
    mcp_server_resource_updated(r.server, PREFIX "a");
    mcp_server_updated_as(r.server, PREFIX "other", a);
    assert_int_equal(count(told(&r, c, 4), UPDATED), 0);

    for (size_t i = 0; i < 4; i++)
        mcp_channel_free(c[i]);
    for (size_t i = 0; i < n_watchers; i++)
        assert_true(!watchers[i].uris && !watchers[i].lists);
    mcp_identity_unref(a);
    mcp_identity_unref(b);
    rig_close(&r);
}

/* A legacy session gets a request with another token: it is watched as the new identity, and told
 * that something may have changed. */
static void test_adopted(void **state)
{
    static rig r;
    (void)state;
    for (int case_denied = 0; case_denied < 2; case_denied++) {
        r = (rig){0};
        assert_int_equal(open_rig(&r), MCP_OK);
        mcp_identity *a = identity_of("p"), *b = identity_of("p");
        mcp_channel *c = connect_as(&r, a);
        legacy_start(&r, c);
        (void)told(&r, &c, 1);
        denied = case_denied ? b : NULL;
        mcp__channel_set_identity(c, b);
        say(&r, c, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}");
        assert_int_equal(count(told(&r, &c, 1), UPDATED), !case_denied);
        assert_int_equal(of(a)->uris, 0);
        assert_int_equal(of(a)->lists, 0);
        assert_int_equal(of(b)->uris, !case_denied);
        assert_int_equal(of(b)->lists, 1);
        mcp_server_updated_as(r.server, PREFIX "a", a);
        assert_int_equal(count(told(&r, &c, 1), UPDATED), 0);
        mcp_server_updated_as(r.server, PREFIX "a", b);
        assert_int_equal(count(told(&r, &c, 1), UPDATED), !case_denied);
        mcp_channel_free(c);
        assert_int_equal(of(b)->uris, 0);
        assert_int_equal(of(b)->lists, 0);
        mcp_identity_unref(a);
        mcp_identity_unref(b);
        rig_close(&r);
    }
}

static int64_t clock_ms;

static int64_t read_clock(void *user)
{
    (void)user;
    return clock_ms;
}

/* Nothing is announced to an identity that has expired. */
static void test_expired(void **state)
{
    enum { EXPIRES_MS = 1000 };
    static rig r;
    (void)state;
    r = (rig){0};
    forget();
    assert_int_equal(
        rig_open(&r, MCP_OPTIONS(mcp_server_options, .coalesce_ms = 1, .clock = read_clock),
                 rig_ok),
        MCP_OK);
    assert_int_equal(mcp_server_mount(r.server, PREFIX, &provider, &r, NULL), MCP_OK);
    mcp_identity *a = identity_until("p", EXPIRES_MS);
    mcp_channel *c = connect_as(&r, a);
    listen_start(&r, c);
    (void)told(&r, &c, 1);
    for (clock_ms = EXPIRES_MS - 1; clock_ms <= EXPIRES_MS; clock_ms++) {
        mcp_server_updated_as(r.server, PREFIX "a", a);
        assert_int_equal(count(told(&r, &c, 1), UPDATED), clock_ms < EXPIRES_MS);
        mcp_server_list_changed_as(r.server, MCP_ITEM_RESOURCE, a);
        assert_int_equal(count(told(&r, &c, 1), LISTED), clock_ms < EXPIRES_MS);
    }
    mcp_channel_free(c);
    mcp_identity_unref(a);
    rig_close(&r);
}

static int other_mount(mcp_server *server, void *user, mcp_error *error)
{
    return mcp_server_mount(server, PREFIX, &provider, user, error);
}

/* A rebuilt mount watches what the old one watched. */
static void test_rebuilt(void **state)
{
    static rig r;
    (void)state;
    r = (rig){0};
    forget();
    assert_int_equal(rig_open(&r, MCP_OPTIONS(mcp_server_options, .coalesce_ms = 1), rig_ok),
                     MCP_OK);
    assert_int_equal(mcp_server_rebuild(r.server, other_mount, &r, NULL), MCP_OK);
    mcp_identity *a = identity_of("p");
    mcp_channel *c = connect_as(&r, a);
    listen_start(&r, c);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(of(a)->uris, 1);
        assert_int_equal(of(a)->lists, 1);
        assert_int_equal(mcp_server_rebuild(r.server, other_mount, &r, NULL), MCP_OK);
    }
    mcp_server_updated_as(r.server, PREFIX "a", a);
    assert_int_equal(count(told(&r, &c, 1), UPDATED), 1);
    mcp_channel_free(c);
    assert_int_equal(of(a)->uris, 0);
    assert_int_equal(of(a)->lists, 0);
    mcp_identity_unref(a);
    rig_close(&r);
}

static void test_no_memory(void **state)
{
    static rig r;
    (void)state;
    mcp_identity *a = identity_of("p"), *b = identity_of("p");
    for (size_t fail_at = 1; fail_at < 400; fail_at++) {
        r = (rig){0};
        r.memory.fail_at = fail_at;
        mcp_channel *c = NULL;
        if (open_rig(&r) == MCP_OK && (c = connect_as(&r, a)) != NULL) {
            legacy_start(&r, c);
            listen_start(&r, c);
            mcp__channel_set_identity(c, b);
            say(&r, c, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}");
            mcp_server_updated_as(r.server, PREFIX "a", b);
            (void)told(&r, &c, 1);
        }
        mcp_channel_free(c);
        for (size_t i = 0; i < n_watchers; i++)
            assert_true(!watchers[i].uris && !watchers[i].lists);
        rig_close(&r);
        if (r.memory.calls < fail_at)
            break;
    }
    mcp_identity_unref(a);
    mcp_identity_unref(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apart),     cmocka_unit_test(test_adopted),
        cmocka_unit_test(test_expired),   cmocka_unit_test(test_rebuilt),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
