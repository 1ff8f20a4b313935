/* Views in the server role: who a caller of a trusted parent is, and which sessions of a principal get
 * the log messages of another server. HTTP and what is remembered: tests/unit/http/test_views.c.
 */
#include "rig.h"

#include <mcp/access.h>
#include <mcp/identity.h>
#include <mcp/provider.h>
#include <mcp/sys/forward.h>

static const char *or_none(const char *text)
{
    return text ? text : "none";
}

static int say_who(rig *r, mcp_request *req)
{
    char text[200];
    const mcp_identity *identity = mcp_request_identity(req);
    (void)r;
    snprintf(text, sizeof(text), "%s, %s, %s, bound %d", or_none(mcp_request_principal(req)),
             or_none(mcp_identity_view(identity)), or_none(mcp_identity_token(identity)),
             mcp_request_binding(req) != NULL);
    return mcp_reply_text(req, text);
}

static mcp_channel *connect(rig *r, const char *principal, const char *view, bool parent)
{
    mcp_channel *channel = NULL;
    mcp_identity *identity = NULL;
    if (principal || view)
        assert_int_equal(mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = principal,
                                                      .view = view),
                                          &identity, NULL),
                         MCP_OK);
    assert_int_equal(
        mcp_server_connect(r->server,
                           MCP_OPTIONS(mcp_channel_options, .send = rig_send, .user = r,
                                       .identity = identity, .trusted_parent = parent),
                           &channel, NULL),
        MCP_OK);
    mcp_identity_unref(identity);
    return channel;
}

/* The parent asks again about each caller, so the caller must not lose its view on the way. */
static void test_parent(void **state)
{
    static const struct {
        const char *caller, *who;
    } table[] = {
        {"\"principal\":\"p\",\"token\":\"1\"", "p, none, 1, bound 1"},
        {"\"principal\":\"p\",\"view\":\"a\",\"token\":\"2\"", "p, a, 2, bound 1"},
        {"\"view\":\"a\",\"token\":\"3\"", "none, a, 3, bound 1"},
        {"\"restricted\":true", "none, none, none, bound 0"},
    };
    rig r = {0};
    (void)state;
    assert_int_equal(rig_open(&r, &(mcp_server_options){.no_rate_limits = true}, say_who), MCP_OK);
    mcp_channel *channel = connect(&r, "parent", NULL, true);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char message[600];
        snprintf(message, sizeof(message),
                 "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\",\"params\":{\"name\":"
                 "\"t\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                 "\"io.modelcontextprotocol/clientCapabilities\":{},\"" MCP_META_CALLER
                 "\":{%s}}}}",
                 i, table[i].caller);
        rig_say(&r, channel, message);
        assert_has(rig_sent(&r), table[i].who);
    }
    mcp_channel_free(channel);
    rig_close(&r);
}

/* ---- log messages ---------------------------------------------------------------------------- */

static int resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    (void)user;
    if (uri.len >= room)
        return MCP_ELIMIT;
    memcpy(canonical, uri.ptr, uri.len);
    canonical[uri.len] = 0;
    return MCP_OK;
}

static int list(mcp_request *req, mcp_str position, size_t max, void *user)
{
    (void)req, (void)position, (void)max, (void)user;
    return MCP_OK;
}

/* View b does not have the mount. */
static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    const char *view = mcp_identity_view(identity);
    (void)user;
    return item != MCP_ITEM_RESOURCE || !view || *view != 'b' || name.len < 3 ||
           memcmp(name.ptr, "up:", 3) != 0;
}

static void begin_session(rig *r, mcp_channel *channel)
{
    rig_say(r, channel,
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
            "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\","
            "\"version\":\"1\"}}}");
    rig_say(r, channel, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    rig_sent(r);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        n++;
    return n;
}

static void test_logs(void **state)
{
    static const char message[] = "{\"level\":\"error\",\"data\":\"boom\"}";
    static const char *const views[] = {NULL, "a", "b"};
    enum { N = sizeof(views) / sizeof(views[0]) };
    mcp_channel *channels[N];
    rig r = {0};
    (void)state;
    assert_int_equal(
        rig_open(&r, &(mcp_server_options){.no_rate_limits = true, .logging = true}, say_who),
        MCP_OK);
    const mcp_provider provider = {
        .size = sizeof(provider), .name = "up", .list = list, .resolve = resolve};
    assert_int_equal(mcp_server_mount(r.server, "up:", &provider, NULL, NULL), MCP_OK);
    assert_int_equal(mcp_server_set_access(r.server, MCP_OPTIONS(mcp_access, .may = may)), MCP_OK);
    for (size_t i = 0; i < N; i++) {
        channels[i] = connect(&r, "p", views[i], false);
        begin_session(&r, channels[i]);
    }
    const mcp_raw raw = {.size = sizeof(raw), .json = mcp_str_from(message), .asker = "up"};
    mcp_raw_log log = {
        .size = sizeof(log), .params = &raw, .sessions = true, .principal = "p", .prefix = "up:"};
    assert_int_equal(mcp_server_log_raw(r.server, &log), MCP_OK);
    assert_int_equal(count(rig_sent(&r), "boom"), N - 1);
    log.prefix = NULL;
    assert_int_equal(mcp_server_log_raw(r.server, &log), MCP_OK);
    assert_int_equal(count(rig_sent(&r), "boom"), N);
    for (size_t i = 0; i < N; i++)
        mcp_channel_free(channels[i]);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parent),
        cmocka_unit_test(test_logs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
