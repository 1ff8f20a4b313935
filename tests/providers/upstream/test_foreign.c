/* Generated answers of a server that is not built on libmcp. The answers that a caller gets are
 * compared with those that the server sent, which may contain more than libmcp's own servers send.
 *
 * Members may be in another order, because JSON gives the order no meaning.
 */
#define _GNU_SOURCE
#include "compare.h"

#include "upstream.h"
#include "rounds.h"

#include <mcp/sys/client.h>
#include <mcp/sys/server.h>

typedef struct foreign {
    mcp_server *front;
    mcp_client *client;
    mcp_channel *here, *peer; /* the channels of the provider's client and of the caller */
    int64_t now;
    const char *revision;
    text sent[4]; /* requests to the server that wait for their answers */
    size_t n_sent;
    text got; /* the last answer to the caller */
} foreign;

/* ---- the other server ------------------------------------------------------------------------ */

static const char *const arrays[] = {"resources", "resourceTemplates", "prompts", "tools",
                                     "contents",  "content",           "messages"};
static const char *const listings[] = {"resources/list", "resources/templates/list", "prompts/list",
                                       "tools/list",     "resources/read",           "tools/call",
                                       "prompts/get"};
enum { LISTINGS = sizeof(listings) / sizeof(listings[0]) };

static void add_member(text *t, const char *method)
{
    static void (*const entries[])(text * t) = {add_resource, add_template, add_prompt, add_tool,
                                                add_contents, add_block,    add_message};
    for (size_t i = 0; i < LISTINGS; i++) {
        if (strcmp(method, listings[i]) != 0)
            continue;
        add(t, "\"%s\":", arrays[i]);
        add_each(t, entries[i]);
        if (i < 4 && any(4) == 0)
            add(t, ",\"nextCursor\":\"c\"");
        return;
    }
    add(t, "\"completion\":{\"total\":1.0,");
    add_unknown(t);
    add(t, "\"values\":");
    add_each(t, add_string);
    add(t, "}");
}

/* Repeats the request, except for the members that differ on each hop. */
static void add_params(text *t, mcp_str params)
{
    mcp_json_text_iter it = {0};
    mcp_str key, value;
    bool some = false;
    add(t, "\"asked\":{");
    while (mcp_json_text_next(params, &it, &key, &value)) {
        if (mcp_str_eq(key, MCP_STR("\"_meta\"")))
            continue;
        add(t, "%s%.*s:%.*s", some ? "," : "", (int)key.len, key.ptr, (int)value.len, value.ptr);
        some = true;
    }
    add(t, "},");
}

/* Adds the answer to a request with these params. */
static void add_answer(text *t, const char *id, const char *method, mcp_str params)
{
    mcp_json_doc *doc = NULL;
    assert_int_equal(mcp_json_parse(params, NULL, NULL, &doc, NULL), MCP_OK);
    seed = (uint64_t)mcp_json_int(mcp_json_get(mcp_json_root(doc), "seed"), 0);
    mcp_json_free(doc);
    add(t, "{\"jsonrpc\":\"2.0\",\"id\":%s,", id);
    if (any(10) == 0) {
        add(t, "\"error\":{\"code\":%d,\"message\":\"no \303\244\",\"data\":{", any(2) ? 7 : 0);
        add_unknown(t);
        add_uri(t);
        add(t, "}}}");
        return;
    }
    add(t, "\"result\":{");
    add_unknown(t);
    add_meta(t);
    if (strcmp(method, "tools/call") == 0 && any(2)) {
        add(t, "\"structuredContent\":{\"v\":");
        add_value(t, 6);
        add(t, "},\"isError\":%s,", any(2) ? "true" : "false");
    }
    if (strstr(method, "/list") == NULL)
        add_params(t, params);
    if (any(2))
        add(t, "\"resultType\":\"complete\",\"ttlMs\":%" PRIu32 ",", any(9999));
    add_member(t, method);
    add(t, "}}");
}

static const char hello[] =
    "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"%s\":%s%s%s,\"capabilities\":{\"tools\":{},"
    "\"resources\":{},\"prompts\":{},\"completions\":{}},\"serverInfo\":{\"name\":\"foreign\","
    "\"version\":\"1\"},\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\","
    "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"foreign\",\"version\":\"1\"}}}}";

static void answer_one(foreign *f, const text *request)
{
    static text t;
    mcp_json_doc *doc = NULL;
    char id[32], method[64];
    t.len = 0;
    assert_int_equal(mcp_json_parse((mcp_str){request->at, request->len},
                                    MCP_OPTIONS(mcp_json_limits, .max_depth = 1024), NULL, &doc,
                                    NULL),
                     MCP_OK);
    const mcp_json *root = mcp_json_root(doc);
    bool asks = mcp_json_get(root, "id") != NULL;
    snprintf(id, sizeof(id), "%lld", (long long)mcp_json_int(mcp_json_get(root, "id"), 0));
    mcp_str name = mcp_json_string(mcp_json_get(root, "method"));
    snprintf(method, sizeof(method), "%.*s", (int)name.len, name.ptr);
    mcp_json_free(doc);
    if (!asks)
        return;
    mcp_json_text_iter it = {0};
    mcp_str key, value, params = {"{}", 2};
    while (mcp_json_text_next((mcp_str){request->at, request->len}, &it, &key, &value)) {
        if (mcp_str_eq(key, MCP_STR("\"params\"")))
            params = value;
    }
    if (strcmp(method, "server/discover") == 0)
        add(&t, hello, id, "supportedVersions", "[\"", f->revision, "\"]");
    else if (strcmp(method, "initialize") == 0)
        add(&t, hello, id, "protocolVersion", "\"", f->revision, "\"");
    else
        add_answer(&t, id, method, params);
    mcp_channel_receive(f->here, 0, (mcp_str){t.at, t.len}, f->now);
}

/* ---- the rig --------------------------------------------------------------------------------- */

static void keep(text *t, mcp_str message)
{
    t->len = 0;
    add(t, "%.*s", (int)message.len, message.ptr);
}

static void to_server(mcp_channel *channel, mcp_exchange number, mcp_str message, void *user)
{
    foreign *f = user;
    (void)channel, (void)number;
    assert_true(f->n_sent < sizeof(f->sent) / sizeof(f->sent[0]));
    keep(&f->sent[f->n_sent++], message);
}

static void to_caller(mcp_channel *channel, mcp_exchange number, mcp_str message, void *user)
{
    (void)channel, (void)number;
    keep(&((foreign *)user)->got, message);
}

static int connect(mcp_client *client, const char *principal, void **ret, void *user,
                   mcp_error *error)
{
    foreign *f = user;
    (void)principal;
    f->client = client;
    *ret = f;
    return mcp_client_connect(
        client,
        MCP_OPTIONS(mcp_channel_options, .send = to_server, .user = f, .shared_stream = true),
        &f->here, error);
}

static void disconnect(void *link, void *user)
{
    foreign *f = user;
    (void)link;
    f->here = NULL;
    mcp_client_disconnected(f->client, "over");
}

static int64_t now_of(void *user)
{
    return ((foreign *)user)->now;
}

static const char *say(foreign *f, const char *message)
{
    static text one;
    f->got.len = 0;
    f->got.at[0] = 0;
    mcp_channel_receive(f->peer, 0, mcp_str_from(message), f->now);
    for (int idle = 0; idle < 3; idle++) {
        f->now += 2;
        if (f->here)
            mcp_channel_tick(f->here, f->now);
        mcp_channel_tick(f->peer, f->now);
        while (f->n_sent) {
            one = f->sent[0];
            memmove(&f->sent[0], &f->sent[1], --f->n_sent * sizeof(f->sent[0]));
            answer_one(f, &one);
            idle = 0;
        }
    }
    return f->got.at;
}

static void open_foreign(foreign *f, const char *revision)
{
    const mcp_host host = {.size = sizeof(host), .user = f, .now = now_of};
    f->now = 1000;
    f->revision = revision;
    f->n_sent = 0;
    f->here = NULL;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "rig", .version = "1",
                                                .host = &host, .no_rate_limits = true),
                                    &f->front, NULL),
                     MCP_OK);
    assert_int_equal(
        mcp_upstream_mount(f->front,
                           MCP_OPTIONS(mcp_upstream_options, .name = "up", .connect = connect,
                                       .disconnect = disconnect, .user = f, .revision = revision),
                           NULL),
        MCP_OK);
    assert_int_equal(mcp_server_connect(f->front,
                                        MCP_OPTIONS(mcp_channel_options, .send = to_caller,
                                                    .user = f, .shared_stream = true),
                                        &f->peer, NULL),
                     MCP_OK);
}

/* ---- comparing ------------------------------------------------------------------------------- */

typedef struct member {
    mcp_str key, value;
} member;

static int by_key(const void *a, const void *b)
{
    const member *x = a, *y = b;
    size_t n = x->key.len < y->key.len ? x->key.len : y->key.len;
    int order = memcmp(x->key.ptr, y->key.ptr, n);
    return order ? order : (int)x->key.len - (int)y->key.len;
}

/* Adds the members of an answer in the order of their names, without those of a hop. */
static void add_sorted(text *t, mcp_str object, level in)
{
    static const char *const inner[] = {"\"result\"", "\"error\"", "\"_meta\"", NULL};
    member all[64];
    mcp_json_text_iter it = {0};
    size_t n = 0;
    bool some = false;
    while (n < 64 && mcp_json_text_next(object, &it, &all[n].key, &all[n].value))
        n +=
            !is_of_connection(all[n].key, in) && !mcp_str_eq(all[n].key, MCP_STR("\"nextCursor\""));
    qsort(all, n, sizeof(all[0]), by_key);
    add(t, "{");
    for (size_t i = 0; i < n; i++) {
        size_t before = t->len;
        add(t, "%s%.*s:", some ? "," : "", (int)all[i].key.len, all[i].key.ptr);
        if (in == META || !is_key(all[i].key, inner)) {
            add(t, "%.*s", (int)all[i].value.len, all[i].value.ptr);
        } else {
            size_t begin = t->len;
            add_sorted(t, all[i].value, in == MESSAGE ? BODY : META);
            if (in == BODY && t->len == begin + 2) {
                t->len = before;
                t->at[before] = 0;
                continue;
            }
        }
        some = true;
    }
    add(t, "}");
}

static void add_comparable(text *to, const char *message)
{
    static text a, b;
    a.len = b.len = to->len = 0;
    add_without(&a, mcp_str_from(message), "mcp+up:");
    add_without(&b, (mcp_str){a.at, a.len}, "up_");
    a.len = 0; /* 2025-11-25 allows objects only */
    add_without(&a, (mcp_str){b.at, b.len}, "\"outputSchema\":{\"type\":\"array\"},");
    b.len = 0; /* every tool can be called as a task */
    add_without(&b, (mcp_str){a.at, a.len}, ",\"execution\":{\"taskSupport\":\"optional\"}");
    add_sorted(to, (mcp_str){b.at, b.len}, MESSAGE);
}

static void compare_one(foreign *f, bool modern)
{
    static text rest, message, params, expected, a, b;
    uint32_t n = any(METHODS);
    uint64_t number = any(1u << 30);
    rest.len = message.len = params.len = expected.len = 0;
    add_unknown(&rest);
    add(&rest, "\"seed\":%" PRIu64, number);
    uint64_t kept = seed;
    add(&message,
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"%s\",\"params\":{%s%s,\"_meta\":{%s\"x\":1}}}",
        methods[n].method, methods[n].front, rest.at,
        modern ? "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                 "\"io.modelcontextprotocol/clientCapabilities\":{},"
               : "");
    add(&params, "{%s%s}", methods[n].direct, rest.at);
    add_answer(&expected, "5", methods[n].method, (mcp_str){params.at, params.len});
    add_comparable(&a, expected.at);
    add_comparable(&b, say(f, message.at));
    if (strcmp(a.at, b.at) != 0) {
        const pair p = {.modern = {modern, modern}};
        differs(&p, methods[n].method, number, a.at, b.at);
    }
    seed = kept;
}

/* The revisions in which the server may send all of this. */
static void test_foreign(void **state)
{
    static foreign f;
    (void)state;
    seed = 7;
    for (size_t r = 0; r < 2; r++) {
        char greeting[256];
        open_foreign(&f, revisions[r]);
        snprintf(greeting, sizeof(greeting),
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                 "\"protocolVersion\":\"%s\",\"capabilities\":{},"
                 "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}",
                 revisions[r]);
        if (r)
            say(&f, greeting);
        for (size_t i = rounds(500); i; i--)
            compare_one(&f, r == 0);
        mcp_channel_free(f.peer);
        mcp_server_free(f.front);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_foreign)};
    return cmocka_run_group_tests_name("upstream: foreign", tests, NULL, NULL);
}
