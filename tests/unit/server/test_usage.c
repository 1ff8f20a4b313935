/* The usage counters of tools and mounts: every outcome, named entries and "other", and that
 * neither invented names nor removed tools leave entries behind.
 */
#include "rig.h"

#include <mcp/sys/forward.h>

typedef struct seen {
    mcp_usage usage[8];
    char names[8][64];
    size_t count;
} seen;

static rig r;
static mcp_channel *peer;

static void keep(const mcp_usage *usage, void *user)
{
    seen *s = user;
    assert_true(s->count < 8);
    assert_int_equal(usage->size, sizeof(*usage));
    snprintf(s->names[s->count], sizeof(s->names[0]), "%.*s", (int)usage->name.len,
             usage->name.ptr);
    s->usage[s->count++] = *usage;
}

static seen look(mcp_usage_kind kind, const char *principal)
{
    seen s = {.count = 0};
    mcp_identity *identity = NULL;
    if (principal)
        assert_int_equal(mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = principal),
                                          &identity, NULL),
                         MCP_OK);
    mcp_server_usage(r.server, identity, kind, keep, &s);
    mcp_identity_unref(identity);
    return s;
}

/* Returns "tool ok=1 error=2 ..." for each entry, without zeros. */
static const char *tell(mcp_usage_kind kind, const char *principal)
{
    static char text[2048];
    seen s = look(kind, principal);
    size_t len = 0;
    text[0] = 0;
    for (size_t i = 0; i < s.count; i++) {
        const mcp_usage *u = &s.usage[i];
        const struct {
            const char *name;
            uint64_t n;
        } numbers[] = {
            {"ok", u->ok},         {"tool", u->tool_errors}, {"lost", u->not_found},
            {"error", u->errors},  {"asked", u->questions},  {"gone", u->gone},
            {"now", u->in_flight}, {"bytes", u->bytes},      {"ms", u->duration_us / 1000},
        };
        uint64_t ended = 0, durations = 0;
        for (size_t k = 0; k < 6; k++)
            ended += numbers[k].n;
        for (size_t k = 0; k <= MCP_USAGE_BUCKETS; k++)
            durations += u->buckets[k];
        assert_int_equal(ended, durations);
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", i ? "; " : "", s.names[i]);
        for (size_t k = 0; k < sizeof(numbers) / sizeof(*numbers); k++) {
            if (numbers[k].n)
                len += (size_t)snprintf(text + len, sizeof(text) - len, " %s=%u", numbers[k].name,
                                        (unsigned)numbers[k].n);
        }
    }
    return text;
}

#define TOOLS(expected)   assert_string_equal(tell(MCP_USAGE_TOOL, NULL), expected)
#define SOURCES(expected) assert_string_equal(tell(MCP_USAGE_SOURCE, NULL), expected)

static void begin(mcp_server_options *o, rig_handler *handler)
{
    r = (rig){.local = true}; /* no limit of calls */
    assert_int_equal(rig_open(&r, o, handler), MCP_OK);
    assert_int_equal(rig_connect(&r, "p", NULL, &peer), MCP_OK);
}

static void end(void)
{
    mcp_channel_free(peer);
    rig_close(&r);
}

static void read_uri(const char *uri)
{
    char message[512];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":"
             "\"%s\"," RIG_META "}}",
             uri);
    rig_say(&r, peer, message);
    rig_sent(&r);
}

static void cancel(int id)
{
    char message[128];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
             "\"requestId\":%d}}",
             id);
    rig_say(&r, peer, message);
}

/* ---- handlers -------------------------------------------------------------------------------- */

static int tool_error(rig *at, mcp_request *req)
{
    (void)at;
    return mcp_reply_tool_error(req, "no");
}

static int error(rig *at, mcp_request *req)
{
    (void)at;
    return mcp_reply_fail(req, -32000, "no");
}

static int not_found(rig *at, mcp_request *req)
{
    (void)at, (void)req;
    return MCP_ENOTFOUND;
}

static int bytes(rig *at, mcp_request *req)
{
    (void)at;
    mcp_reply_text(req, "seven b");
    return mcp_reply_bytes(req, "\0\1\2", 3, "x/y");
}

static int read_rig(mcp_request *req, mcp_str uri, void *user)
{
    (void)uri;
    return ((rig *)user)->handler(user, req);
}

static const mcp_provider provider = {.size = sizeof(provider), .name = "rig", .read = read_rig};

static void mount(const char *prefix)
{
    assert_int_equal(mcp_server_mount(r.server, prefix, &provider, &r, NULL), MCP_OK);
}

/* ---- tools ----------------------------------------------------------------------------------- */

static void call_as(rig_handler *handler, const char *name)
{
    r.handler = handler;
    rig_call_tool(&r, peer, 1, name);
    rig_sent(&r);
}

static void test_outcomes(void **state)
{
    (void)state;
    begin(&(mcp_server_options){.size = 0}, rig_ok);
    TOOLS("");
    call_as(rig_ok, "t");
    call_as(rig_ok, "t");
    TOOLS("t ok=2");
    call_as(tool_error, "t");
    call_as(error, "t");
    call_as(not_found, "t");
    TOOLS("t ok=2 tool=1 error=2");
    call_as(rig_ok, "nobody");
    call_as(rig_ok, "");
    rig_say(&r, peer,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" RIG_META "}}");
    TOOLS("t ok=2 tool=1 error=2; other error=3");
    rig_say(&r, peer,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\","
            "\"arguments\":[]," RIG_META "}}");
    TOOLS("t ok=2 tool=1 error=3; other error=3");
    SOURCES("");
    end();
}

static void test_later(void **state)
{
    (void)state;
    begin(&(mcp_server_options){.handler_timeout_ms = 5000}, rig_keep);
    for (int id = 1; id <= 4; id++)
        rig_call_tool(&r, peer, id, "t");
    TOOLS("t now=4");
    mcp_channel_tick(peer, r.now += 11);
    mcp_reply_finish(r.kept[0], MCP_OK);
    TOOLS("t ok=1 now=3 ms=11");
    cancel(2);
    TOOLS("t ok=1 now=3 ms=11"); /* its handler is still running */
    mcp_reply_finish(r.kept[1], MCP_OK);
    TOOLS("t ok=1 gone=1 now=2 ms=22");
    mcp_channel_tick(peer, r.now += 5000);
    mcp_reply_finish(r.kept[2], MCP_OK); /* too late: the peer got an error */
    TOOLS("t ok=1 error=1 gone=1 now=1 ms=5033");
    mcp_channel_free(peer);
    mcp_reply_finish(r.kept[3], MCP_OK);
    seen s = look(MCP_USAGE_TOOL, NULL);
    assert_int_equal(s.usage[0].errors, 2);
    assert_int_equal(s.usage[0].in_flight, 0);
    assert_int_equal(s.usage[0].buckets[5], 2);
    assert_int_equal(s.usage[0].bounds_us[0], 500);
    assert_int_equal(s.usage[0].bounds_us[4], 10000);
    assert_int_equal(s.usage[0].bounds_us[5], 25000);
    assert_int_equal(s.usage[0].bounds_us[MCP_USAGE_BUCKETS - 1], 60000000);
    rig_close(&r);
}

/* Calls of unknown names leave no entries, for any name and number. */
static void test_invented(void **state)
{
    (void)state;
    begin(&(mcp_server_options){.size = 0}, rig_ok);
    mount("mem:");
    call_as(rig_ok, "nobody");
    read_uri("nobody:x");
    size_t live = r.memory.live;
    for (int i = 0; i < 20000; i++) {
        char name[64];
        snprintf(name, sizeof(name), "t%d", i);
        call_as(rig_ok, name);
        snprintf(name, sizeof(name), "s%d:x", i);
        read_uri(name);
    }
    assert_int_equal(r.memory.live, live);
    TOOLS("other error=20001");
    SOURCES("other lost=20001");
    end();
}

static void test_come_and_go(void **state)
{
    (void)state;
    begin(&(mcp_server_options){.size = 0}, rig_ok);
    size_t live = 0;
    for (int i = 0; i < 2000; i++) {
        char name[32];
        snprintf(name, sizeof(name), "u%d", i);
        assert_int_equal(rig_add_tool(&r, name, 0), MCP_OK);
        call_as(rig_ok, name);
        assert_string_equal(look(MCP_USAGE_TOOL, NULL).names[0], name);
        assert_int_equal(mcp_server_remove_tool(r.server, name), MCP_OK);
        if (i == 100)
            live = r.memory.live;
    }
    assert_int_equal(r.memory.live, live);
    TOOLS("other ok=2000");
    /* A removed tool keeps its entry while its calls are running. */
    assert_int_equal(rig_add_tool(&r, "u", 0), MCP_OK);
    call_as(rig_keep, "u");
    assert_int_equal(mcp_server_remove_tool(r.server, "u"), MCP_OK);
    TOOLS("u now=1; other ok=2000");
    mcp_reply_finish(r.kept[0], MCP_OK);
    TOOLS("other ok=2001");
    /* A tool named "other" does not make two entries of one name. */
    assert_int_equal(rig_add_tool(&r, "other", 0), MCP_OK);
    call_as(tool_error, "other");
    TOOLS("other ok=2001 tool=1");
    end();
}

static int build(mcp_server *server, void *user, mcp_error *error)
{
    (void)server;
    int rc = rig_add_tool(&r, "built", 0);
    if (rc == MCP_OK)
        rc = mcp_server_mount(r.server, "mem://b/", &provider, &r, error);
    return rc == MCP_OK && user ? MCP_EIO : rc;
}

static void test_rebuilt(void **state)
{
    (void)state;
    begin(&(mcp_server_options){.size = 0}, rig_ok);
    assert_int_equal(mcp_server_rebuild(r.server, build, NULL, NULL), MCP_OK);
    call_as(rig_ok, "built");
    call_as(rig_ok, "t");
    r.handler = bytes;
    read_uri("mem://b/x");
    assert_int_equal(mcp_server_rebuild(r.server, build, &r, NULL), MCP_EIO);
    assert_int_equal(mcp_server_rebuild(r.server, build, NULL, NULL), MCP_OK);
    call_as(rig_ok, "built");
    TOOLS("t ok=1; built ok=2");
    SOURCES("mem://b/ ok=1 bytes=10");
    end();
}

/* ---- sources --------------------------------------------------------------------------------- */

static void test_sources(void **state)
{
    (void)state;
    begin(&(mcp_server_options){.size = 0}, bytes);
    mount("mem:");
    mount("mem://deep/");
    assert_int_equal(mcp_server_add_resource(
                         r.server,
                         MCP_OPTIONS(mcp_resource, .uri = "mem:fixed", .name = "f", .text = "four"),
                         NULL, NULL),
                     MCP_OK);
    read_uri("mem:x");
    read_uri("mem://deep/x");
    read_uri("mem://deep/y");
    read_uri("mem:fixed");
    SOURCES("mem: ok=1 bytes=10; mem://deep/ ok=2 bytes=20; other ok=1 bytes=4");
    r.handler = not_found;
    read_uri("mem:x");
    r.handler = error;
    read_uri("mem:x");
    r.handler = rig_keep;
    read_uri("mem:x");
    SOURCES("mem: ok=1 lost=1 error=1 now=1 bytes=10; mem://deep/ ok=2 bytes=20; "
            "other ok=1 bytes=4");
    mcp_channel_tick(peer, r.now += 70000);
    mcp_reply_finish(r.kept[0], MCP_ENOTFOUND);
    seen s = look(MCP_USAGE_SOURCE, NULL);
    assert_int_equal(s.usage[0].not_found, 2);
    assert_int_equal(s.usage[0].buckets[MCP_USAGE_BUCKETS], 1);
    assert_int_equal(s.usage[0].duration_us, 70000000);
    end();
}

/* ---- tools of mounted providers --------------------------------------------------------------- */

static int list_tools(mcp_request *req, mcp_item item, mcp_str cursor, size_t max, void *user)
{
    static const char page[] = "{\"tools\":[{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"}},"
                               "{\"name\":\"b\",\"inputSchema\":{\"type\":\"object\"}}]}";
    (void)cursor, (void)max, (void)user;
    return item == MCP_ITEM_TOOL
               ? mcp_reply_raw_page(req,
                                    MCP_OPTIONS(mcp_raw, .json = mcp_str_from(page), .name = NULL))
               : MCP_OK;
}

static int run_tool(mcp_request *req, mcp_item item, mcp_str name, void *user)
{
    static const char fine[] = "{\"content\":[]}";
    (void)name;
    if (item == MCP_ITEM_PROMPT)
        return MCP_ENOTFOUND;
    rig *its = user;
    return its->handler ? its->handler(its, req)
                        : mcp_reply_raw(req, MCP_OPTIONS(mcp_raw, .json = mcp_str_from(fine)));
}

static const mcp_provider runner = {.size = sizeof(runner),
                                    .name = "far",
                                    .items = 1 << MCP_ITEM_TOOL | 1 << MCP_ITEM_PROMPT,
                                    .list_items = list_tools,
                                    .run = run_tool};

static void mount_runner(const char *prefix)
{
    assert_int_equal(mcp_server_mount(r.server, prefix, &runner, &r, NULL), MCP_OK);
}

static int mount_again(mcp_server *server, void *user, mcp_error *why)
{
    (void)user;
    return mcp_server_mount(server, "mcp+far:", &runner, &r, why);
}

static void list_all_tools(void)
{
    rig_say(&r, peer,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" RIG_META "}}");
    rig_sent(&r);
}

static mcp_str source_of(size_t i)
{
    static seen s;
    s = look(MCP_USAGE_TOOL, "p");
    assert_true(i < s.count);
    return s.usage[i].source;
}

/* A tool of a provider is counted by its name and its source when it has been listed or has
 * succeeded; other names count for the source. None of them counts as a read. */
static void test_mounted(void **state)
{
    (void)state;
    begin(&(mcp_server_options){.size = 0}, rig_ok);
    assert_int_equal(mcp_server_rebuild(r.server, mount_again, NULL, NULL), MCP_OK);
    call_as(rig_ok, "t");
    call_as(error, "a");
    call_as(not_found, "invented");
    TOOLS("t ok=1; other error=2");
    assert_true(mcp_str_eq(source_of(1), MCP_STR("mcp+far:")));
    assert_null(source_of(0).ptr);
    list_all_tools();
    call_as(error, "a");
    call_as(tool_error, "b");
    call_as(NULL, "c");
    call_as(error, "c");
    call_as(not_found, "invented");
    TOOLS("t ok=1; other error=3; a error=1; b tool=1; c ok=1 error=1");
    assert_true(mcp_str_eq(source_of(2), MCP_STR("mcp+far:")));
    call_as(rig_keep, "a");
    TOOLS("t ok=1; other error=3; a error=1 now=1; b tool=1; c ok=1 error=1");
    mcp_reply_finish(r.kept[0], MCP_OK);
    SOURCES("");
    end();
}

static void test_mounted_again(void **state)
{
    (void)state;
    begin(&(mcp_server_options){.size = 0}, rig_ok);
    assert_int_equal(mcp_server_rebuild(r.server, mount_again, NULL, NULL), MCP_OK);
    call_as(NULL, "a");
    assert_int_equal(mcp_server_rebuild(r.server, mount_again, NULL, NULL), MCP_OK);
    call_as(error, "a");
    TOOLS("a ok=1 error=1");
    end();
}

static void count_names(const mcp_usage *usage, void *user)
{
    size_t *n = user;
    n[0]++;
    n[1] += (size_t)usage->ok;
    n[2] += mcp_str_eq(usage->name, MCP_STR("other"));
}

/* No more than MCP_USAGE_NAMES names are reported; the calls of all others are in "other". */
static void test_many(void **state)
{
    (void)state;
    begin(&(mcp_server_options){.size = 0}, rig_ok);
    mount_runner("mcp+far:");
    for (int i = 0; i < MCP_USAGE_NAMES + 200; i++) {
        char name[32];
        snprintf(name, sizeof(name), "x%d", i);
        if (i % 2)
            assert_int_equal(rig_add_tool(&r, name, 0), MCP_OK);
        call_as(i % 2 ? rig_ok : NULL, name);
    }
    size_t n[3] = {0};
    mcp_server_usage_all(r.server, MCP_USAGE_TOOL, count_names, n);
    assert_true(n[0] <= MCP_USAGE_NAMES + 1);
    assert_int_equal(n[1], MCP_USAGE_NAMES + 200);
    assert_true(n[2] >= 1);
    end();
}

/* ---- the clock -------------------------------------------------------------------------------- */

static size_t readings;

static int64_t read_clock(void *user)
{
    readings++;
    return ((rig *)user)->now;
}

static int slow(rig *its, mcp_request *req)
{
    its->now += 30;
    return mcp_reply_text(req, "slow");
}

/* The host's clock is read once for each request. The time that a request waits for another one of
 * its batch does not count. */
static void test_clock(void **state)
{
    (void)state;
    mcp_server_options o = {0};
    begin(&o, slow);
    mcp_server_set_host(r.server,
                        &(mcp_host){.size = sizeof(mcp_host), .user = &r, .now = read_clock});
    readings = 0;
    for (int64_t batch = r.now, i = 0; i < 2; i++)
        mcp_channel_receive(peer, 0,
                            MCP_STR("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                                    "\"params\":{\"name\":\"t\"," RIG_META "}}"),
                            batch);
    TOOLS("t ok=2 ms=60");
    assert_int_equal(readings, 2);
    r.now += 500;
    rig_call_tool(&r, peer, 2, "t");
    TOOLS("t ok=3 ms=90");
    assert_int_equal(readings, 3);
    mcp_server_set_host(r.server, NULL);
    end();
}

static int64_t read_fine(void *user)
{
    return ((rig *)user)->now * 1000 + (int64_t)++readings * 300;
}

/* A clock of microseconds is read at the beginning and at the end. */
static void test_microseconds(void **state)
{
    (void)state;
    begin(&(mcp_server_options){.size = 0}, rig_ok);
    mcp_server_set_host(r.server,
                        MCP_OPTIONS(mcp_host, .user = &r, .now = read_clock, .now_us = read_fine));
    readings = 0;
    rig_call_tool(&r, peer, 1, "t");
    assert_int_equal(readings, 2);
    seen s = look(MCP_USAGE_TOOL, NULL);
    assert_int_equal(s.usage[0].duration_us, 300);
    assert_int_equal(s.usage[0].buckets[0], 1);
    mcp_server_set_host(r.server, NULL);
    end();
}

/* ---- access ---------------------------------------------------------------------------------- */

static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    const char *principal = mcp_identity_principal(identity);
    (void)user, (void)item;
    bool secret = false;
    for (size_t i = 0; i + 6 <= name.len; i++)
        secret = secret || memcmp(name.ptr + i, "secret", 6) == 0;
    return principal && (strcmp(principal, "root") == 0 || !secret);
}

static void test_access(void **state)
{
    (void)state;
    begin(&(mcp_server_options){.size = 0}, rig_ok);
    assert_int_equal(rig_add_tool(&r, "secret", 0), MCP_OK);
    mount("mem:");
    mount("mem://secret/");
    mount("a+secret:"); /* a scheme with a name in it */
    r.handler = bytes;
    call_as(rig_ok, "t");
    call_as(rig_ok, "secret");
    r.handler = bytes;
    read_uri("mem:x");
    read_uri("mem://secret/x");
    read_uri("a+secret:x");
    assert_int_equal(mcp_server_set_access(r.server, MCP_OPTIONS(mcp_access, .may = may)), MCP_OK);
    call_as(rig_ok, "secret"); /* which this peer may not see */
    assert_string_equal(tell(MCP_USAGE_TOOL, "root"), "t ok=1; secret ok=1; other error=1");
    assert_string_equal(tell(MCP_USAGE_TOOL, "p"), "t ok=1; other ok=1 error=1");
    TOOLS("other ok=2 error=1");
    assert_string_equal(tell(MCP_USAGE_SOURCE, "root"),
                        "mem: ok=1 bytes=10; mem://secret/ ok=1 bytes=10; a+secret: ok=1 bytes=10");
    assert_string_equal(tell(MCP_USAGE_SOURCE, "p"), "mem: ok=1 bytes=10; other ok=2 bytes=20");
    end();
}

/* A tool may be seen without its source, and then none is named. */
static void test_access_mounted(void **state)
{
    (void)state;
    begin(&(mcp_server_options){.size = 0}, rig_ok);
    mount_runner("mcp+secret:");
    call_as(NULL, "a");
    call_as(NULL, "a_secret");
    call_as(error, "invented");
    assert_int_equal(mcp_server_set_access(r.server, MCP_OPTIONS(mcp_access, .may = may)), MCP_OK);
    assert_string_equal(tell(MCP_USAGE_TOOL, "root"), "other error=1; a ok=1; a_secret ok=1");
    assert_string_equal(tell(MCP_USAGE_TOOL, "p"), "a ok=1; other ok=1 error=1");
    assert_null(source_of(0).ptr);
    end();
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Counting a request allocates nothing. */
static void test_allocations(void **state)
{
    (void)state;
    begin(&(mcp_server_options){.size = 0}, rig_ok);
    call_as(rig_ok, "t");
    call_as(rig_ok, "nobody");
    size_t before = r.memory.calls;
    call_as(rig_ok, "t");
    size_t first = r.memory.calls - before;
    assert_true(first <= 3);
    for (int i = 0; i < 1000; i++)
        call_as(rig_ok, "t");
    assert_int_equal(r.memory.calls - before, 1001 * first);
    mount_runner("mcp+far:");
    call_as(error, "far"); /* in "other" of the source */
    before = r.memory.calls;
    call_as(error, "far");
    first = r.memory.calls - before;
    for (int i = 0; i < 100; i++)
        call_as(error, "far");
    assert_int_equal(r.memory.calls - before, 101 * first);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcomes), cmocka_unit_test(test_later),
        cmocka_unit_test(test_invented), cmocka_unit_test(test_come_and_go),
        cmocka_unit_test(test_rebuilt),  cmocka_unit_test(test_sources),
        cmocka_unit_test(test_clock),    cmocka_unit_test(test_microseconds),
        cmocka_unit_test(test_access),   cmocka_unit_test(test_allocations),
        cmocka_unit_test(test_mounted),  cmocka_unit_test(test_mounted_again),
        cmocka_unit_test(test_many),     cmocka_unit_test(test_access_mounted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
