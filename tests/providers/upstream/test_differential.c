/* Generated exchanges with one server, directly and through a server in front of it: the answers
 * must be identical except for names, URIs and cursors. docs/upstream.md lists the other
 * differences.
 *
 * The answer depends on the request's number: unknown members, numbers with many digits, deep
 * objects, URIs in every position. It also repeats the request, so that losses in requests are
 * detected too. MCP_EXCHANGES is the number of exchanges in each revision.
 */
#include <inttypes.h>

#include "wires.h"

typedef struct text {
    char at[64 * 1024];
    size_t len;
} text;

static uint64_t seed;

static uint32_t any(uint32_t below)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(seed >> 33) % below;
}

MCP_PRINTF(2, 3) static void add(text *t, const char *format, ...)
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
    add_uri(t);
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

/* Adds the received request, without the members that differ on each hop. */
static void add_asked(text *t, mcp_request *req)
{
    mcp_str params = mcp_request_params_text(req), key, value;
    mcp_json_text_iter it = {0};
    add(t, "\"asked\":{");
    bool some = false;
    while (mcp_json_text_next(params, &it, &key, &value)) {
        if (mcp_str_eq(key, MCP_STR("\"_meta\"")) || mcp_str_eq(key, MCP_STR("\"cursor\"")))
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

static int answer(mcp_request *req, const char *member, void (*one)(text *t))
{
    static text t;
    t.len = 0;
    seed = (uint64_t)mcp_json_int(mcp_json_get(mcp_request_params(req), "seed"), 0);
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
    add(&t, "{\"%s\":", members[item]);
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
    return answer(req, "contents", add_contents);
}

static int run(mcp_request *req, mcp_item item, mcp_str name, void *user)
{
    (void)name, (void)user;
    return item == MCP_ITEM_TOOL ? answer(req, "content", add_block)
                                 : answer(req, "messages", add_message);
}

static int complete(mcp_request *req, mcp_item item, mcp_str name, void *user)
{
    (void)item, (void)name, (void)user;
    return answer(req, "values", add_string);
}

static mcp_server *other_new(void)
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
                                          .complete = complete};
    mcp_server *s;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "rig", .version = "1",
                                                .no_rate_limits = true),
                                    &s, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_mount(s, "f:", &provider, NULL, NULL), MCP_OK);
    return s;
}

/* ---- exchanges ------------------------------------------------------------------------------- */

static const struct {
    const char *method;
    const char *direct, *front; /* the params of a direct request, and of one to the front server */
} methods[] = {
    {"resources/list", "", ""},
    {"resources/templates/list", "", ""},
    {"prompts/list", "", ""},
    {"tools/list", "", ""},
    {"resources/read", "\"uri\":\"f:/%41 b\",", "\"uri\":\"mcp+up:f:/%41 b\","},
    {"tools/call", "\"name\":\"t\",", "\"name\":\"up_t\","},
    {"prompts/get", "\"name\":\"p\",", "\"name\":\"up_p\","},
    {"completion/complete",
     "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\",\"x\":1.0},\"argument\":{\"name\":\"a\","
     "\"value\":\"\"},",
     "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"up_p\",\"x\":1.0},\"argument\":{\"name\":\"a\","
     "\"value\":\"\"},"},
    {"completion/complete",
     "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"f:/"
     "{a}\"},\"argument\":{\"name\":\"a\",\"value\":"
     "\"\"},",
     "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"mcp+up:f:/{a}\"},\"argument\":{\"name\":\"a\","
     "\"value\":\"\"},"},
};
enum { METHODS = sizeof(methods) / sizeof(methods[0]) };

static const char *const revisions[] = {"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26",
                                        "2024-11-05"};

static const char *const modern_meta = "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                                       "\"io.modelcontextprotocol/clientCapabilities\":{},";

/* Returns a copy of `from` without the occurrences of `part`. */
static char *without(const char *from, const char *part)
{
    size_t n = strlen(part), len = 0;
    char *made = malloc(strlen(from) + 1);
    while (*from) {
        if (strncmp(from, part, n) == 0)
            from += n;
        else
            made[len++] = *from++;
    }
    made[len] = 0;
    return made;
}

static char *plain(const char *reply, char *cursor, size_t room)
{
    static const char key[] = "\"nextCursor\":\"";
    char *uris = without(reply, "mcp+up:"), *all = without(uris, "up_");
    char *at = strstr(all, key);
    cursor[0] = 0;
    if (at) {
        at += sizeof(key) - 1;
        size_t n = strcspn(at, "\"");
        snprintf(cursor, room, "%.*s", (int)n, at);
        memmove(at, at + n, strlen(at + n) + 1);
    }
    free(uris);
    return all;
}

typedef struct exchange {
    const char *method;
    text params; /* additional members after those of the method */
    bool modern;
} exchange;

static char *say(wires *w, mcp_channel *peer, const exchange *e, const char *own,
                 const char *cursor, char *next, size_t room)
{
    static text t;
    t.len = 0;
    add(&t, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"%s\",\"params\":{%s", e->method, own);
    if (*cursor)
        add(&t, "\"cursor\":\"%s\",", cursor);
    add(&t, "%s\"_meta\":{%s\"x\":%zu}}}", e->params.at, e->modern ? modern_meta : "",
        strlen(e->params.at));
    w->peer = peer;
    return plain(wires_say(w, t.at), next, room);
}

static void compare(wires *w, mcp_channel *direct, mcp_channel *front, bool modern)
{
    static exchange e;
    char here[2048] = "", there[2048] = "";
    uint32_t n = any(METHODS);
    uint64_t number = any(1u << 30);
    e.method = methods[n].method;
    e.modern = modern;
    e.params.len = 0;
    add_unknown(&e.params);
    add(&e.params, "\"seed\":%" PRIu64 ",", number);
    uint64_t kept = seed;
    do {
        char *a = say(w, direct, &e, methods[n].direct, there, there, sizeof(there));
        char *b = say(w, front, &e, methods[n].front, here, here, sizeof(here));
        assert_true(*a);
        if (strcmp(a, b) != 0)
            fail_msg("%s %" PRIu64 "\n%s\n%s", e.method, number, a, b);
        free(a);
        free(b);
    } while (*here);
    assert_string_equal(there, "");
    seed = kept;
}

static mcp_channel *peer_of(wires *w, mcp_server *server, const char *revision)
{
    char hello[256];
    mcp_channel *channel;
    w->peer = NULL;
    assert_int_equal(wires_peer(w, server, any(2) ? "ann" : NULL), MCP_OK);
    channel = w->peer;
    snprintf(hello, sizeof(hello),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
             "\"protocolVersion\":\"%s\",\"capabilities\":{},"
             "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}",
             revision);
    if (strcmp(revision, revisions[0]) != 0)
        wires_say(w, hello);
    return channel;
}

static void test_same(void **state)
{
    (void)state;
    static wires w;
    const char *wanted = getenv("MCP_EXCHANGES");
    size_t most = wanted ? strtoul(wanted, NULL, 10) : 150;
    w = (wires){0};
    seed = 1;
    assert_int_equal(wires_open(&w, other_new()), MCP_OK);
    for (size_t r = 0; r < sizeof(revisions) / sizeof(revisions[0]); r++) {
        mcp_channel *direct = peer_of(&w, w.other, revisions[r]);
        mcp_channel *front = peer_of(&w, w.front, revisions[r]);
        for (size_t i = 0; i < most; i++)
            compare(&w, direct, front, r == 0);
        mcp_channel_free(direct);
        mcp_channel_free(front);
        w.peer = NULL;
    }
    wires_close(&w);
    mcp_server_free(w.other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same)};
    return cmocka_run_group_tests_name("upstream: differential", tests, NULL, NULL);
}
