/* exchanges.h: a server whose answers depend on the number in the request: unknown members, numbers
 * with many digits, deep objects, URIs in every position. It also repeats the request, so that
 * losses in requests are detected too, and does what the request's other members tell it:
 *
 *     "emit"   announces changes: "u0" of a resource, "r", "p" and "t" of lists
 *     "hold"   does not answer before the request is cancelled
 *     "count"  answers with the numbers of watched resources and of held requests
 */
#ifndef MCP_TESTS_EXCHANGES_H
#define MCP_TESTS_EXCHANGES_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <mcp/mcp.h>
#include <mcp/sys/forward.h>
#include <mcp/sys/json.h>

typedef struct text {
    char at[1 << 19];
    size_t len;
} text;

static uint64_t seed;

static uint32_t any(uint32_t below)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(seed >> 33) % below;
}

MCP_PRINTF(2, 3) static inline void add(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at + t->len, sizeof(t->at) - t->len, format, args);
    va_end(args);
    assert_true(n >= 0 && (size_t)n < sizeof(t->at) - t->len);
    t->len += (size_t)n;
}

static void add_value(text *t, unsigned depth)
{
    static const char *const values[] = {
        "null",
        "true",
        "0",
        "-0.0",
        "1.10",
        "1e3",
        "0.12345678901234567890123456789",
        "1e999",
        "123456789012345678901234567890",
        "18446744073709551615",
        "\"\"",
        "\"a\\u0000\\ud83d\\ude00\"",
        "\"\\/ \\\" \\\\ \\n\"",
        "\"\303\244\"",
        "[ ]",
        "{ }",
        "1E-7",
    };
    uint32_t kind = depth ? any(4) : 3;
    uint32_t n = any(4);
    if (kind >= 2) {
        add(t, "%s", values[any(sizeof(values) / sizeof(values[0]))]);
        return;
    }
    add(t, kind ? "[" : "{");
    for (uint32_t i = 0; i < n; i++) {
        add(t, kind ? "%s" : "%s\"k\\u006%" PRIu32 " %" PRIu32 "\":", i ? " ," : "", i, any(100));
        add_value(t, depth - 1);
    }
    add(t, kind ? "]" : "}");
}

/* Adds members that the specification does not define, each with a trailing comma. */
static void add_unknown(text *t)
{
    uint32_t n = any(3);
    for (uint32_t i = 0; i < n; i++) {
        add(t, "\"x-%" PRIu32 "\":", i);
        add_value(t, 1 + any(any(10) ? 4 : 30));
        add(t, ",");
    }
}

static void add_meta(text *t)
{
    if (any(2))
        return;
    add(t, "\"_meta\":{\"example/a\":");
    add_value(t, 5);
    add(t, "},");
}

/* A URI of a resource that exists: in normal form. */
static void add_own_uri(text *t)
{
    static const char *const uris[] = {"f:/a", "https://example.org/x?y=z", "f://h/A%20b?%C3%A4",
                                       "mcp+other:f:/a", "urn:x:%C3%A4"};
    add(t, "\"uri\":\"%s\"", uris[any(5)]);
}

static void add_uri(text *t)
{
    static const char *const uris[] = {"f:/a", "https://example.org/x?y=z#f", "no uri at all",
                                       "mcp+other:f:/a", "urn:x:%C3%A4"};
    add(t, "\"uri\":\"%s\"", uris[any(5)]);
}

static void add_contents(text *t)
{
    add(t, "{");
    add_unknown(t);
    add_meta(t);
    add_uri(t);
    if (any(2))
        add(t, ",\"text\":\"t\",\"mimeType\":\"text/plain\"}");
    else
        add(t, ",\"blob\":\"AAAA\"}");
}

static void add_block(text *t)
{
    add(t, "{");
    add_unknown(t);
    add_meta(t);
    if (any(3) == 0)
        add(t, "\"annotations\":{\"priority\":0.50,\"lastModified\":\"2025-01-01T00:00:00Z\"},");
    switch (any(5)) {
    case 0: add(t, "\"type\":\"text\",\"text\":\"some\"}"); break;
    case 1: add(t, "\"type\":\"image\",\"data\":\"AA==\",\"mimeType\":\"image/png\"}"); break;
    case 2: add(t, "\"type\":\"audio\",\"data\":\"AAA=\",\"mimeType\":\"audio/wav\"}"); break;
    case 3:
        add(t, "\"type\":\"resource_link\",\"name\":\"l\",\"title\":\"L\",\"icons\":[],");
        add_uri(t);
        add(t, "}");
        break;
    default:
        add(t, "\"type\":\"resource\",\"resource\":");
        add_contents(t);
        add(t, "}");
    }
}

static void add_each(text *t, void (*one)(text *t))
{
    uint32_t n = any(4);
    add(t, "[");
    for (uint32_t i = 0; i < n; i++) {
        add(t, "%s", i ? "," : "");
        one(t);
    }
    add(t, "]");
}

static void add_message(text *t)
{
    add(t, "{\"role\":\"%s\",", any(2) ? "user" : "assistant");
    add_unknown(t);
    add(t, "\"content\":");
    add_block(t);
    add(t, "}");
}

static void add_argument(text *t)
{
    add(t, "{\"name\":\"a%" PRIu32 "\",", any(1000));
    add_unknown(t);
    add(t, "\"title\":\"A\",\"required\":true}");
}

/* Adds the members that all list entries have. */
static void add_entry(text *t)
{
    add_unknown(t);
    add_meta(t);
    if (any(2))
        add(t, "\"title\":\"T\",");
    if (any(2))
        add(t, "\"icons\":[{\"src\":\"data:,\",\"sizes\":[\"1x1\"],\"x\":1.0}],");
    add(t, "\"description\":\"d\",");
}

static void add_resource(text *t)
{
    add(t, "{");
    add_entry(t);
    add(t, "\"name\":\"r\",\"size\":1e2,");
    add_own_uri(t);
    add(t, "}");
}

static void add_template(text *t)
{
    add(t, "{");
    add_entry(t);
    add(t, "\"name\":\"t\",\"uriTemplate\":\"f:/{a}{?b*}\"}");
}

static void add_prompt(text *t)
{
    add(t, "{");
    add_entry(t);
    add(t, "\"name\":\"p%" PRIu32 "\",\"arguments\":", any(1000));
    add_each(t, add_argument);
    add(t, "}");
}

static void add_tool(text *t)
{
    add(t, "{");
    add_entry(t);
    if (any(2))
        add(t, "\"annotations\":{\"readOnlyHint\":true},");
    if (any(2))
        add(t, "\"outputSchema\":{\"type\":\"%s\"},", any(2) ? "object" : "array");
    add(t, "\"name\":\"t%" PRIu32 "\",\"inputSchema\":{\"type\":\"object\",\"x\":", any(1000));
    add_value(t, 3);
    add(t, "}}");
}

static void add_string(text *t)
{
    add(t, "\"v%" PRIu32 "\"", any(1000));
}

/* ---- the server ------------------------------------------------------------------------------ */

static struct exchanges {
    mcp_server *server;
    size_t watched, held;
    bool logs;    /* log messages are part of the exchanges */
    size_t tasks; /* calls that have become tasks */
    text params;  /* of a call that has become a task, which has no text any more; else empty */
} exchanges;

/* Adds the received request, without the members that differ on each hop. */
static void add_asked(text *t, mcp_request *req)
{
    mcp_str params = exchanges.params.len ? (mcp_str){exchanges.params.at, exchanges.params.len}
                                          : mcp_request_params_text(req),
            key, value;
    mcp_json_text_iter it = {0};
    add(t, "\"asked\":{");
    bool some = false;
    while (mcp_json_text_next(params, &it, &key, &value)) {
        if (mcp_str_eq(key, MCP_STR("\"_meta\"")) || mcp_str_eq(key, MCP_STR("\"cursor\"")) ||
            mcp_str_eq(key, MCP_STR("\"task\"")))
            continue;
        add(t, "%s%.*s:%.*s", some ? "," : "", (int)key.len, key.ptr, (int)value.len, value.ptr);
        some = true;
    }
    const mcp_json *meta = mcp_json_get(mcp_request_meta(req), "x");
    add(t, "%s\"meta\":%" PRId64 "},", some ? "," : "", mcp_json_int(meta, -1));
}

static mcp_raw raw_of(const text *t)
{
    return (mcp_raw){.size = sizeof(mcp_raw), .json = {t->at, t->len}};
}

/* Begins an object with unknown members and `_meta`. */
static void begin_params(text *t)
{
    t->len = 0;
    add(t, "{");
    add_unknown(t);
    add_meta(t);
}

/* Sends some progress notifications, whose numbers have more digits than a double, or an
 * exponent. */
static void report(mcp_request *req)
{
    uint32_t n = any(4);
    for (uint32_t i = 0; i < n; i++) {
        static text t;
        begin_params(&t);
        if (any(2))
            add(&t, "\"total\":%s,", any(2) ? "1.00e1" : "123456789012345678901234567890");
        if (any(2))
            add(&t, "\"message\":\"\\u006d \303\244\",");
        add(&t, "\"progress\":%" PRIu32 ".%s}", i, any(2) ? "1234567890123456789012345" : "5E0");
        assert_int_equal(mcp_request_progress_raw(req, (mcp_str){t.at, t.len}), MCP_OK);
    }
}

/* Sends some log messages to the caller. */
static void log_some(mcp_request *req)
{
    static const char *const levels[] = {"debug", "info", "warning", "emergency"};
    uint32_t n = exchanges.logs ? any(3) : 0;
    for (uint32_t i = 0; i < n; i++) {
        static text t;
        begin_params(&t);
        if (any(2))
            add(&t, "\"logger\":\"l\\u0061/%" PRIu32 "\",", any(9));
        add(&t, "\"data\":");
        add_value(&t, 4);
        add(&t, ",\"level\":\"%s\"}", levels[any(4)]);
        const mcp_raw raw = raw_of(&t);
        const mcp_raw_log log = {
            .size = sizeof(log), .params = &raw, .requests = &req, .n_requests = 1};
        assert_int_equal(mcp_server_log_raw(exchanges.server, &log), MCP_OK);
    }
}

static int answer(mcp_request *req, const char *member, void (*one)(text *t))
{
    static text t;
    t.len = 0;
    seed = (uint64_t)mcp_json_int(mcp_json_get(mcp_request_params(req), "seed"), 0);
    report(req);
    log_some(req);
    if (any(12) == 0) {
        add(&t, "{\"code\":%d,\"message\":\"no %s\",\"data\":{",
            any(2) && strcmp(member, "contents") == 0 ? -32002 : 7, member);
        add_unknown(&t);
        add_uri(&t);
        add(&t, "}}");
        const mcp_raw raw = raw_of(&t);
        return mcp_reply_raw_error(req, &raw);
    }
    add(&t, "{");
    add_asked(&t, req);
    add_unknown(&t);
    add_meta(&t);
    if (strcmp(member, "content") == 0 && any(2)) {
        add(&t, "\"structuredContent\":");
        add_value(&t, 6);
        add(&t, ",");
    }
    if (any(2))
        add(&t, "\"ttlMs\":%" PRIu32 ",\"cacheScope\":\"%s\",", any(9999),
            any(2) ? "public" : "private");
    if (strcmp(member, "values") == 0) {
        add(&t, "\"completion\":{\"total\":1.0,");
        add_unknown(&t);
    }
    add(&t, "\"%s\":", member);
    add_each(&t, one);
    add(&t, strcmp(member, "values") == 0 ? "}}" : "}");
    const mcp_raw raw = raw_of(&t);
    return mcp_reply_raw(req, &raw);
}

static int list_items(mcp_request *req, mcp_item item, mcp_str cursor, size_t max, void *user)
{
    static const char *const members[] = {"resources", "resourceTemplates", "prompts", "tools"};
    static void (*const entries[])(text * t) = {add_resource, add_template, add_prompt, add_tool};
    static text t;
    (void)max, (void)user;
    t.len = 0;
    seed = (uint64_t)mcp_json_int(mcp_json_get(mcp_request_params(req), "seed"), 0) + cursor.len;
    report(req);
    add(&t, "{");
    add_unknown(&t);
    add_meta(&t);
    add(&t, "\"%s\":", members[item]);
    add_each(&t, entries[item]);
    if (!cursor.len && any(2))
        add(&t, ",\"nextCursor\":\"%s\"", any(2) ? "on" : "");
    add(&t, ",\"ttlMs\":9,\"cacheScope\":\"public\"}");
    const mcp_raw raw = raw_of(&t);
    return mcp_reply_raw_page(req, &raw);
}

static int list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    return list_items(req, MCP_ITEM_RESOURCE, cursor, max, user);
}

static int read_one(mcp_request *req, mcp_str uri, void *user)
{
    (void)uri, (void)user;
    exchanges.params.len = 0;
    return answer(req, "contents", add_contents);
}

static void emit(const char *what)
{
    static const struct {
        char name;
        mcp_item item;
    } lists[] = {{'r', MCP_ITEM_RESOURCE}, {'p', MCP_ITEM_PROMPT}, {'t', MCP_ITEM_TOOL}};
    char uri[8];
    snprintf(uri, sizeof(uri), "f:/%s", what + 1);
    if (what[0] == 'u')
        mcp_server_resource_updated(exchanges.server, uri);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        if (what[0] == lists[i].name)
            mcp_server_list_changed(exchanges.server, lists[i].item);
    }
}

static void let_go(mcp_request *req, void *user)
{
    (void)user;
    exchanges.held--;
    mcp_reply_finish(req, MCP_ECANCELLED);
}

static int run(mcp_request *req, mcp_item item, mcp_str name, void *user)
{
    const mcp_json *params = mcp_request_params(req), *what = mcp_json_get(params, "emit");
    (void)name, (void)user;
    if (what)
        emit(mcp_json_string(what).ptr);
    if (mcp_json_get(params, "hold")) {
        exchanges.held++;
        mcp_request_on_cancel(req, let_go, NULL);
        return MCP_PENDING;
    }
    exchanges.params.len = 0;
    if (mcp_json_get(params, "as task")) {
        mcp_str all = mcp_request_params_text(req);
        exchanges.params.len = 0;
        add(&exchanges.params, "%.*s", (int)all.len, all.ptr);
        int rc = mcp_request_task_asked(req);
        rc = rc == MCP_OK ? mcp_request_task(req, NULL) : rc;
        if (rc != MCP_OK)
            return rc;
        exchanges.tasks += mcp_request_task_id(req) != NULL;
    }
    if (mcp_json_get(params, "count"))
        return mcp_reply_textf(req, "watched %zu, held %zu", exchanges.watched, exchanges.held);
    return item == MCP_ITEM_TOOL ? answer(req, "content", add_block)
                                 : answer(req, "messages", add_message);
}

static int complete(mcp_request *req, mcp_item item, mcp_str name, void *user)
{
    (void)item, (void)name, (void)user;
    exchanges.params.len = 0;
    return answer(req, "values", add_string);
}

static int resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    (void)user;
    snprintf(canonical, room, "%.*s", (int)uri.len, uri.ptr);
    return MCP_OK;
}

static int watch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
    exchanges.watched++;
    return MCP_OK;
}

static void unwatch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
    exchanges.watched--;
}

static inline mcp_server *exchanges_server(void)
{
    static const mcp_provider provider = {.size = sizeof(provider),
                                          .name = "f",
                                          .items = 1u << MCP_ITEM_TEMPLATE | 1u << MCP_ITEM_PROMPT |
                                                   1u << MCP_ITEM_TOOL,
                                          .opaque = true,
                                          .list = list,
                                          .list_items = list_items,
                                          .read = read_one,
                                          .run = run,
                                          .complete = complete,
                                          .resolve = resolve,
                                          .watch = watch,
                                          .unwatch = unwatch,
                                          .tasks = true};
    mcp_server *s;
    assert_int_equal(
        mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "rig", .version = "1",
                                   .no_rate_limits = true, .coalesce_ms = 1, .logging = true),
                       &s, NULL),
        MCP_OK);
    assert_int_equal(mcp_server_set_tasks(s, MCP_OPTIONS(mcp_task_settings, .poll_ms = 20), NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_mount(s, "f:", &provider, NULL, NULL), MCP_OK);
    exchanges.server = s;
    exchanges.watched = exchanges.held = exchanges.params.len = 0;
    exchanges.logs = false;
    return s;
}

#endif
