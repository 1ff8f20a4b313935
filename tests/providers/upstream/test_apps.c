/* The extension io.modelcontextprotocol/ui: URIs of user interfaces keep their scheme, and have one
 * owner, in every member that refers to them. */
#include "asking.h"

#include <mcp/access.h>
#include <mcp/sys/forward.h>

#define TOOLS                                                                                   \
    "{\"tools\":[{\"name\":\"show\",\"inputSchema\":{\"type\":\"object\"},\"icons\":[{\"src\":" \
    "\"data:,\",\"x\":1.0}],\"annotations\":{\"readOnlyHint\":true,\"y\":1e3},\"_meta\":{"      \
    "\"ui\":{\"resourceUri\":\"ui://w/view\",\"visibility\":[\"app\"],\"z\":[ ]},"              \
    "\"ui/resourceUri\":\"ui://w/view\",\"openai/outputTemplate\":\"ui://w/view\"}}]}"
#define META                                                                                      \
    "\"_meta\":{\"ui\":{\"csp\":{\"connectDomains\":[\"https://a.example\"],\"resourceDomains\":" \
    "[\"https://*.b.example\"]},\"domain\":\"ui://w/view\",\"prefersBorder\":true}}"

static bool declared; /* the last list was for a client that shows apps */

static int list_items(mcp_request *req, mcp_item item, mcp_str cursor, size_t max, void *user)
{
    static const char tools[] = TOOLS,
                      templates[] = "{\"resourceTemplates\":[{\"name\":\"t\",\"uriTemplate\":"
                                    "\"ui://w/{a}\"}]}";
    const mcp_raw raw = {.size = sizeof(raw),
                         .json =
                             item == MCP_ITEM_TOOL ? mcp_str_from(tools) : mcp_str_from(templates)};
    (void)cursor, (void)max, (void)user;
    declared = mcp_request_can(req, "extensions.io.modelcontextprotocol/ui");
    return mcp_reply_raw_page(req, &raw);
}

static int list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    static const char page[] = "{\"resources\":[{\"uri\":\"ui://w/view\",\"name\":\"v\"," META
                               "},{\"uri\":\"f:/x\",\"name\":\"x\"}]}";
    const mcp_raw raw = {.size = sizeof(raw), .json = mcp_str_from(page)};
    (void)cursor, (void)max, (void)user;
    return mcp_reply_raw_page(req, &raw);
}

static int read_one(mcp_request *req, mcp_str uri, void *user)
{
    char result[400];
    (void)user;
    int n = snprintf(result, sizeof(result),
                     "{\"contents\":[{\"uri\":\"%.*s\",\"mimeType\":\"text/html;profile=mcp-app\","
                     "\"text\":\"<a href='ui://w/view'>\"," META "}]}",
                     (int)uri.len, uri.ptr);
    const mcp_raw raw = {.size = sizeof(raw), .json = {result, (size_t)n}};
    return mcp_reply_raw(req, &raw);
}

static int complete(mcp_request *req, mcp_item item, mcp_str name, void *user)
{
    char result[200];
    (void)item, (void)user;
    int n = snprintf(result, sizeof(result), "{\"completion\":{\"values\":[\"of %.*s\"]}}",
                     (int)name.len, name.ptr);
    const mcp_raw raw = {.size = sizeof(raw), .json = {result, (size_t)n}};
    return mcp_reply_raw(req, &raw);
}

static int resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    (void)user;
    snprintf(canonical, room, "%.*s", (int)uri.len, uri.ptr);
    return MCP_OK;
}

static char watched[64];

static int watch(const char *canonical, void *user)
{
    (void)user;
    snprintf(watched, sizeof(watched), "%s", canonical);
    return MCP_OK;
}

static void unwatch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
}

static void open_all(wires *w, const char *revision)
{
    static const mcp_provider provider = {.size = sizeof(provider),
                                          .name = "a",
                                          .items = 1u << MCP_ITEM_TOOL | 1u << MCP_ITEM_TEMPLATE,
                                          .opaque = true,
                                          .list = list,
                                          .list_items = list_items,
                                          .read = read_one,
                                          .complete = complete,
                                          .resolve = resolve,
                                          .watch = watch,
                                          .unwatch = unwatch};
    mcp_server *other = NULL;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "a", .version = "1",
                                                .coalesce_ms = 1),
                                    &other, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_mount(other, "ui:", &provider, NULL, NULL), MCP_OK);
    *w = (wires){.revision = revision, .max_sessions = 8};
    assert_int_equal(wires_open(w, other), MCP_OK);
    assert_int_equal(wires_peer(w, w->front, "ann"), MCP_OK);
}

static void close_all(wires *w)
{
    wires_close(w);
    mcp_server_free(w->other);
}

static void test_uris(void **state)
{
    (void)state;
    static wires w;
    open_all(&w, NULL);
    const char *got = wires_ask(&w, "tools/list", "");
    wires_has(got, "\"_meta\":{\"ui\":{\"resourceUri\":\"ui://mcp+up/w/view\",\"visibility\":["
                   "\"app\"],\"z\":[ ]},\"ui/resourceUri\":\"ui://mcp+up/w/view\","
                   "\"openai/outputTemplate\":\"ui://mcp+up/w/view\"}");
    wires_has(got, "\"icons\":[{\"src\":\"data:,\",\"x\":1.0}],\"annotations\":{"
                   "\"readOnlyHint\":true,\"y\":1e3}");
    got = wires_ask(&w, "resources/list", "");
    wires_has(got, "{\"uri\":\"ui://mcp+up/w/view\",\"name\":\"v\"," META "}");
    wires_has(got, "\"uri\":\"mcp+up:f:/x\"");
    wires_has(wires_ask(&w, "resources/templates/list", ""),
              "\"uriTemplate\":\"ui://mcp+up/w/{a}\"");
    got = wires_ask(&w, "resources/read", "\"uri\":\"ui://mcp+up/w/view\"");
    wires_has(got, "{\"uri\":\"ui://mcp+up/w/view\",\"mimeType\":\"text/html;profile=mcp-app\","
                   "\"text\":\"<a href='ui://w/view'>\"," META "}");
    wires_has(wires_ask(&w, "resources/read", "\"uri\":\"ui://mcp+other/w/view\""), "\"error\"");
    wires_has(wires_ask(&w, "resources/read", "\"uri\":\"ui://w/view\""), "\"error\"");
    wires_has(wires_ask(&w, "completion/complete",
                        "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"ui://mcp+up/w/{a}\"},"
                        "\"argument\":{\"name\":\"a\",\"value\":\"\"}"),
              "\"values\":[\"of ui://w/{a}\"]");
    close_all(&w);
}

/* A change is announced under the URI that the caller knows. */
static void test_watched(void **state)
{
    (void)state;
    static wires w;
    open_all(&w, NULL);
    wires_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                  "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                  "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
    wires_say(&w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    wires_has(wires_say(&w, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/subscribe\","
                            "\"params\":{\"uri\":\"ui://mcp+up/w/view\"}}"),
              "\"result\"");
    assert_string_equal(watched, "ui://w/view");
    mcp_server_resource_updated(w.other, "ui://w/view");
    wires_run(&w);
    wires_has(w.notice, "\"uri\":\"ui://mcp+up/w/view\"");
    close_all(&w);
}

static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    const char *prefix = user;
    (void)identity;
    return item == MCP_ITEM_TOOL ||
           (name.len >= strlen(prefix) && memcmp(name.ptr, prefix, strlen(prefix)) == 0);
}

/* Rules for the server apply to its user interfaces. A tool whose interface may not be seen stays. */
static void test_access(void **state)
{
    (void)state;
    static wires w;
    open_all(&w, NULL);
    mcp_access access = {
        .size = sizeof(access), .may = may, .user = (void *)(uintptr_t) "mcp+up:ui:"};
    assert_int_equal(mcp_server_set_access(w.front, &access), MCP_OK);
    wires_has(wires_ask(&w, "tools/list", ""), "\"resourceUri\":\"ui://mcp+up/w/view\"");
    wires_has(wires_ask(&w, "resources/list", ""), "ui://mcp+up/w/view");
    wires_has(wires_ask(&w, "resources/read", "\"uri\":\"ui://mcp+up/w/view\""), "mcp-app");
    access.user = (void *)(uintptr_t) "mcp+up:f:";
    assert_int_equal(mcp_server_set_access(w.front, &access), MCP_OK);
    const char *got = wires_ask(&w, "tools/list", "");
    wires_has(got, "\"name\":\"up_show\"");
    assert_null(strstr(got, "ui://"));
    assert_null(strstr(wires_ask(&w, "resources/list", ""), "ui://"));
    wires_has(wires_ask(&w, "resources/read", "\"uri\":\"ui://mcp+up/w/view\""), "\"error\"");
    close_all(&w);
}

#define SHOWS(type) "{\"extensions\":{\"io.modelcontextprotocol/ui\":{\"mimeTypes\":[" type "]}}}"

static const char *list_as(wires *w, const char *from, const char *principal,
                           const char *capabilities)
{
    asking_connect(w, from, principal, capabilities);
    return strcmp(from, "2026-07-28") == 0 ? asking_say(w, "tools/list", "\"a\":1", capabilities)
                                           : asking_say_legacy(w, "tools/list", "\"a\":1");
}

/* The other server learns that a caller shows apps, from this caller's requests only. */
static void test_declared(void **state)
{
    static const char *const revisions[] = {"2025-06-18", "2026-07-28"};
    static const struct {
        const char *principal, *capabilities;
        bool shows;
    } callers[] = {{"ann", SHOWS("\"text/html;profile=mcp-app\""), true},
                   {"ann", "{}", false},
                   {"ann", SHOWS("\"a/b\",\"text/html;profile=mcp-app\""), true},
                   {"bob", SHOWS("\"text/html\""), false},
                   {NULL, SHOWS("\"text/html;profile=mcp-app\""), true},
                   {NULL, "{}", false}};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        static wires w;
        open_all(&w, revisions[i / 2]);
        for (size_t k = 0; k < sizeof(callers) / sizeof(callers[0]); k++) {
            declared = !callers[k].shows;
            wires_has(list_as(&w, revisions[i % 2], callers[k].principal, callers[k].capabilities),
                      "up_show");
            assert_int_equal(declared, callers[k].shows);
        }
        close_all(&w);
    }
}

/* What is listed while the other server does not answer is the list for such callers. */
static void test_kept(void **state)
{
    (void)state;
    static wires w;
    open_all(&w, "2026-07-28");
    wires_has(list_as(&w, "2026-07-28", "ann", SHOWS("\"text/html;profile=mcp-app\"")), "up_show");
    w.down = true;
    wires_cut(w.open);
    wires_has(list_as(&w, "2026-07-28", "ann", SHOWS("\"text/html;profile=mcp-app\"")), "up_show");
    wires_has(list_as(&w, "2026-07-28", "ann", "{}"), "\"tools\":[]");
    close_all(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uris),   cmocka_unit_test(test_watched),
        cmocka_unit_test(test_access), cmocka_unit_test(test_declared),
        cmocka_unit_test(test_kept),
    };
    return cmocka_run_group_tests_name("upstream: apps", tests, NULL, NULL);
}
