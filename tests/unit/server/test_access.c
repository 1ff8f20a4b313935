/* A hidden item cannot be listed, read, called, completed or subscribed to, is never announced, and
 * looks as if it did not exist.
 */
#define _GNU_SOURCE /* memmem() */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/mcp.h>
#include <mcp/sys/server.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MODERN                                                               \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

typedef struct world {
    mcp_server *server;
    mcp_channel *channel;
    char sent[1 << 18];
    size_t len;
    int64_t now;
    int released;
} world;

/* All principals may see everything, except bob, for whom names with "secret" are hidden. */
static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    const char *principal = mcp_identity_principal(identity);
    (void)user, (void)item;
    assert_int_equal(name.ptr[name.len], 0);
    return !principal || strcmp(principal, "bob") != 0 || !strstr(name.ptr, "secret");
}

/* The scope that carl lacks for what he is denied. */
static bool may_with_scope(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)user, (void)item;
    return !strstr(name.ptr, "secret") || mcp_identity_has_scopes(identity, "deep");
}

static const char *scopes(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    bool hidden = may_with_scope(identity, item, name, user);
    assert_int_equal(name.ptr[name.len], 0);
    return hidden || strcmp(mcp_identity_principal(identity), "carl") != 0 ? NULL : "deep base";
}

static void release(void *user)
{
    ((world *)user)->released++;
}

/* ---- the items ------------------------------------------------------------------------------- */

static int read_text(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    return mcp_reply_text(req, "here");
}

static int complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                    void *user)
{
    (void)name, (void)value, (void)context, (void)user;
    mcp_reply_completion(req, MCP_STR("open"));
    mcp_reply_completion(req, MCP_STR("secret"));
    mcp_reply_completion_total(req, 2);
    return MCP_OK;
}

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_textf(
        req, "%s",
        mcp_request_may(req, MCP_ITEM_RESOURCE, MCP_STR("mem:%73ecret")) ? "sees it" : "does not");
}

static int list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    (void)cursor, (void)max, (void)user;
    mcp_reply_resource(req, MCP_OPTIONS(mcp_resource, .uri = "mem:open", .name = "open"));
    return mcp_reply_resource(req,
                              MCP_OPTIONS(mcp_resource, .uri = "mem:secret", .name = "secret"));
}

static int read_mem(mcp_request *req, mcp_str uri, void *user)
{
    return read_text(req, uri, NULL, user);
}

static int resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    /* "mem:SECRET" is another spelling, which only the provider knows. */
    bool secret = strncmp(uri.ptr, "mem:SECRET", uri.len) == 0 ||
                  strncmp(uri.ptr, "mem:%73ecret", uri.len) == 0;
    (void)user;
    snprintf(canonical, room, "%.*s", (int)uri.len, uri.ptr);
    if (secret)
        snprintf(canonical, room, "mem:secret");
    return MCP_OK;
}

static int watch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
    return MCP_OK;
}

static const mcp_provider provider = {.size = sizeof(mcp_provider),
                                      .name = "mem",
                                      .list = list,
                                      .read = read_mem,
                                      .resolve = resolve,
                                      .watch = watch};

static void add(world *w, const char *name)
{
    char uri[64], tmpl[64];
    snprintf(uri, sizeof(uri), "app:/%s", name);
    snprintf(tmpl, sizeof(tmpl), "tmpl:/%s/{name}", name);
    assert_int_equal(mcp_server_add_resource(
                         w->server,
                         MCP_OPTIONS(mcp_resource, .uri = uri, .name = "r", .read = read_text),
                         NULL, NULL),
                     MCP_OK);
    assert_int_equal(
        mcp_server_add_template(w->server,
                                MCP_OPTIONS(mcp_resource_template, .uri_template = tmpl,
                                            .name = "t", .read = read_text, .complete = complete),
                                NULL, NULL),
        MCP_OK);
    assert_int_equal(mcp_server_add_tool(
                         w->server, MCP_OPTIONS(mcp_tool, .name = name, .call = call), NULL, NULL),
                     MCP_OK);
    assert_int_equal(
        mcp_server_add_prompt(w->server,
                              MCP_OPTIONS(mcp_prompt, .name = name, .get = (mcp_prompt_fn *)call,
                                          .complete = complete),
                              NULL, NULL),
        MCP_OK);
}

static void on_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    world *w = user;
    (void)channel, (void)exchange;
    assert_true(w->len + message.len + 2 < sizeof(w->sent));
    w->len += (size_t)sprintf(w->sent + w->len, "%.*s\n", (int)message.len, message.ptr);
}

static void open_world(world *w, const char *principal)
{
    *w = (world){.now = 1};
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                                .cache_public = true, .coalesce_ms = 10),
                                    &w->server, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_set_access(w->server, MCP_OPTIONS(mcp_access, .user = w)),
                     MCP_EINVAL);
    assert_int_equal(mcp_server_set_access(w->server, MCP_OPTIONS(mcp_access, .may = may, .user = w,
                                                                  .release = release)),
                     MCP_OK);
    add(w, "open");
    add(w, "secret");
    assert_int_equal(mcp_server_mount(w->server, "mem:", &provider, NULL, NULL), MCP_OK);
    assert_int_equal(mcp_server_connect(w->server,
                                        MCP_OPTIONS(mcp_channel_options, .send = on_send, .user = w,
                                                    .principal = principal),
                                        &w->channel, NULL),
                     MCP_OK);
}

static void close_world(world *w)
{
    mcp_channel_free(w->channel);
    mcp_server_free(w->server);
    assert_int_equal(w->released, 1);
}

static const char *ask(world *w, const char *method, const char *params)
{
    char text[2048];
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s%s" MODERN "}}", method,
             params, *params ? "," : "");
    w->len = 0;
    w->sent[0] = 0;
    assert_int_equal(mcp_channel_receive(w->channel, 0, mcp_str_from(text), w->now), MCP_OK);
    return w->sent;
}

static void keep_cursor(const world *w, char *to, size_t room)
{
    const char *at = strstr(w->sent, "\"nextCursor\":\"");
    assert_non_null(at);
    at += strlen("\"nextCursor\":\"");
    snprintf(to, room, "%.*s", (int)strcspn(at, "\""), at);
}

/* ---- the tests ------------------------------------------------------------------------------- */

static void test_lists(void **state)
{
    (void)state;
    static const char *const methods[] = {"resources/list", "resources/templates/list",
                                          "prompts/list", "tools/list"};
    static const struct {
        const char *principal;
        bool sees;
    } who[] = {{"alice", true}, {NULL, true}, {"bob", false}};
    for (size_t i = 0; i < COUNT(who); i++) {
        static world w;
        open_world(&w, who[i].principal);
        for (size_t k = 0; k < COUNT(methods); k++) {
            const char *got = ask(&w, methods[k], "");
            assert_non_null(strstr(got, "open"));
            assert_int_equal(strstr(got, "secret") != NULL, who[i].sees);
            assert_non_null(strstr(got, "\"cacheScope\":\"private\""));
        }
        assert_int_equal(strstr(ask(&w, "resources/list", ""), "mem:secret") != NULL, who[i].sees);
        assert_non_null(strstr(ask(&w, "resources/read", "\"uri\":\"mem:open\""),
                               "\"cacheScope\":\"private\""));
        close_world(&w);
    }
}

/* {a hidden item, one that does not exist}: the answers are the same except for the name. */
static void test_looks_like_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *method, *hidden, *unknown, *open;
    } rows[] = {
        {"resources/read", "\"uri\":\"app:/secret\"", "\"uri\":\"app:/s3cret\"",
         "\"uri\":\"app:/open\""},
        {"resources/read", "\"uri\":\"app:/%73ecret\"", "\"uri\":\"app:/%73%33cret\"", NULL},
        {"resources/read", "\"uri\":\"APP:/secret\"", "\"uri\":\"APP:/s3cret\"", NULL},
        {"resources/read", "\"uri\":\"tmpl:/secret/a\"", "\"uri\":\"tmpl:/s3cret/a\"",
         "\"uri\":\"tmpl:/open/a\""},
        {"resources/read", "\"uri\":\"tmpl:/open/secret\"", "\"uri\":\"tmpl:/s3cret/a\"", NULL},
        {"resources/read", "\"uri\":\"tmpl:/open/%73%65cret\"", "\"uri\":\"tmpl:/s3cret/a\"", NULL},
        {"resources/read", "\"uri\":\"mem:secret\"", "\"uri\":\"nem:secret\"",
         "\"uri\":\"mem:open\""},
        {"resources/read", "\"uri\":\"mem:SECRET\"", "\"uri\":\"nem:SECRET\"", NULL},
        {"tools/call", "\"name\":\"secret\"", "\"name\":\"s3cret\"", "\"name\":\"open\""},
        {"prompts/get", "\"name\":\"secret\"", "\"name\":\"s3cret\"", "\"name\":\"open\""},
        {"completion/complete",
         "\"ref\":{\"type\":\"ref/"
         "prompt\",\"name\":\"secret\"},\"argument\":{\"name\":\"a\",\"value\":\"\"}",
         "\"ref\":{\"type\":\"ref/"
         "prompt\",\"name\":\"s3cret\"},\"argument\":{\"name\":\"a\",\"value\":\"\"}",
         NULL},
        {"completion/complete",
         "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"app:/"
         "secret\"},\"argument\":{\"name\":\"a\",\"value\":\"\"}",
         "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"app:/"
         "s3cret\"},\"argument\":{\"name\":\"a\",\"value\":\"\"}",
         NULL},
    };
    static world bob, alice;
    open_world(&bob, "bob");
    open_world(&alice, "alice");
    for (size_t i = 0; i < COUNT(rows); i++) {
        char hidden[1024], unknown[1024];
        snprintf(hidden, sizeof(hidden), "%s", ask(&bob, rows[i].method, rows[i].hidden));
        snprintf(unknown, sizeof(unknown), "%s", ask(&bob, rows[i].method, rows[i].unknown));
        assert_non_null(strstr(hidden, "\"error\""));
        assert_null(strstr(hidden, "here"));
        const char *a = strstr(hidden, "\"code\""), *b = strstr(unknown, "\"code\"");
        assert_int_equal(strncmp(a, b, strlen("\"code\":-32602,\"message\":\"123456")), 0);
        assert_null(strstr(ask(&alice, rows[i].method, rows[i].hidden), "-32603"));
        if (rows[i].open)
            assert_null(strstr(ask(&bob, rows[i].method, rows[i].open), "\"error\""));
    }
    close_world(&alice);
    close_world(&bob);
}

static void test_completion(void **state)
{
    (void)state;
    static const char what[] = "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"tmpl:/open/{name}\"},"
                               "\"argument\":{\"name\":\"name\",\"value\":\"\"}";
    static world w;
    open_world(&w, "bob");
    assert_non_null(strstr(ask(&w, "completion/complete", what),
                           "\"values\":[\"open\"],\"total\":1,\"hasMore\":false"));
    close_world(&w);
    open_world(&w, "alice");
    assert_non_null(strstr(ask(&w, "completion/complete", what), "[\"open\",\"secret\"]"));
    close_world(&w);
}

static void pass(world *w)
{
    w->len = 0;
    w->sent[0] = 0;
    for (int i = 0; i < 2; i++)
        mcp_channel_tick(w->channel, w->now += 20);
}

static void test_announcements(void **state)
{
    (void)state;
    static const char listen[] =
        "\"notifications\":{\"toolsListChanged\":true,\"resourcesListChanged\":true,"
        "\"resourceSubscriptions\":[\"mem:open\",\"mem:SECRET\",\"app:/secret\"]}";
    static const mcp_access all = {.size = sizeof(all), .may = may};
    static world w;
    open_world(&w, "bob");
    const char *got = ask(&w, "subscriptions/listen", listen);
    assert_non_null(strstr(got, "\"resourceSubscriptions\":[\"mem:open\"]"));
    add(&w, "secret2");
    pass(&w);
    assert_string_equal(w.sent, "");
    add(&w, "open2");
    pass(&w);
    assert_non_null(strstr(w.sent, "tools/list_changed"));
    mcp_server_remove_tool(w.server, "secret2");
    pass(&w);
    assert_string_equal(w.sent, "");
    mcp_server_resources_changed_by(w.server, "mem:SECRET");
    pass(&w);
    assert_string_equal(w.sent, "");
    mcp_server_resources_changed_by(w.server, "mem:open");
    pass(&w);
    assert_non_null(strstr(w.sent, "resources/list_changed"));
    mcp_server_resource_updated(w.server, "mem:open");
    pass(&w);
    assert_non_null(strstr(w.sent, "mem:open"));
    close_world(&w);

    /* New rules also apply to existing subscriptions. */
    open_world(&w, "bob");
    assert_int_equal(mcp_server_set_access(w.server, NULL), MCP_OK);
    assert_int_equal(w.released, 1);
    got = ask(&w, "subscriptions/listen", listen);
    assert_non_null(strstr(got, "app:/secret"));
    mcp_server_resource_updated(w.server, "app:/secret");
    pass(&w);
    assert_non_null(strstr(w.sent, "app:/secret"));
    assert_int_equal(mcp_server_set_access(w.server, &all), MCP_OK);
    mcp_server_resource_updated(w.server, "app:/secret");
    mcp_server_resource_updated(w.server, "mem:secret");
    pass(&w);
    assert_string_equal(w.sent, "");
    close_world(&w);
}

/* The second page of a provider begins after an entry that the reader may not see. */
static int list_in_pages(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    (void)max, (void)user;
    if (cursor.len)
        return mcp_reply_resource(req, MCP_OPTIONS(mcp_resource, .uri = "two:z", .name = "last"));
    mcp_reply_resource(req, MCP_OPTIONS(mcp_resource, .uri = "two:a", .name = "first"));
    return mcp_reply_next(req, MCP_STR("after the secret one"));
}

/* Decodes unpadded Base64 for URLs. Other characters count as zeros. */
static size_t decoded(const char *text, char *to, size_t room)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t len = 0;
    unsigned bits = 0, n = 0;
    for (; *text && len < room; text++) {
        const char *digit = strchr(digits, *text);
        bits = (bits << 6 | (digit ? (unsigned)(digit - digits) : 0)) & 0xffffff;
        for (n += 6; n >= 8 && len < room; n -= 8)
            to[len++] = (char)(bits >> (n - 8) & 0xff);
    }
    return len;
}

/* A cursor is valid only for its principal and its list. With access rules, its contents are
 * encrypted. */
static void test_cursors(void **state)
{
    (void)state;
    static const char position[] = "after the secret one";
    static const mcp_provider pages = {.size = sizeof(pages),
                                       .name = "two",
                                       .list = list_in_pages,
                                       .read = read_mem,
                                       .resolve = resolve};
    for (int rules = 0; rules < 2; rules++) {
        char cursor[1024], params[1100], inside[1024];
        static world w;
        open_world(&w, "bob");
        assert_int_equal(mcp_server_mount(w.server, "two:", &pages, NULL, NULL), MCP_OK);
        if (!rules)
            assert_int_equal(mcp_server_set_access(w.server, NULL), MCP_OK);
        ask(&w, "resources/list", "");
        keep_cursor(&w, cursor, sizeof(cursor));
        size_t len = decoded(cursor, inside, sizeof(inside));
        assert_int_equal(memmem(inside, len, position, strlen(position)) == NULL, rules);
        snprintf(params, sizeof(params), "\"cursor\":\"%s\"", cursor);
        assert_non_null(strstr(ask(&w, "resources/list", params), "two:z"));
        params[strlen(params) - 3] ^= 1;
        assert_non_null(strstr(ask(&w, "resources/list", params), "-32602"));
        params[strlen(params) - 3] ^= 1;
        assert_non_null(strstr(ask(&w, "tools/list", params), "-32602"));
        static const char *const others[] = {"alice", NULL};
        for (size_t i = 0; i < COUNT(others); i++) {
            mcp_channel_free(w.channel);
            assert_int_equal(mcp_server_connect(w.server,
                                                MCP_OPTIONS(mcp_channel_options, .send = on_send,
                                                            .user = &w, .principal = others[i]),
                                                &w.channel, NULL),
                             MCP_OK);
            assert_non_null(strstr(ask(&w, "resources/list", params), "-32602"));
        }
        close_world(&w);
    }
}

static void test_handlers_ask(void **state)
{
    (void)state;
    static world w;
    open_world(&w, "bob");
    assert_non_null(strstr(ask(&w, "tools/call", "\"name\":\"open\""), "does not"));
    close_world(&w);
    open_world(&w, "alice");
    assert_non_null(strstr(ask(&w, "tools/call", "\"name\":\"open\""), "sees it"));
    close_world(&w);
}

static const char *make_instructions(mcp_request *req, void *user)
{
    bool sees = mcp_request_may(req, MCP_ITEM_RESOURCE, MCP_STR("mem:%73ecret?x=1"));
    return strcmp(user, "\x80") == 0 ? user
           : sees                    ? mcp_request_strdup(req, MCP_STR("secret"))
                                     : NULL;
}

/* Instructions that a function makes for each request; without the function, the common ones. */
static void test_instructions(void **state)
{
    static const char *const who[] = {"alice", "bob"};
    char empty[] = "", broken[] = "\x80";
    (void)state;
    for (size_t i = 0; i < COUNT(who); i++) {
        static world w;
        open_world(&w, who[i]);
        assert_int_equal(mcp_server_set_instructions(w.server, "for all"), MCP_OK);
        mcp_server_set_instructions_hook(w.server, make_instructions, empty);
        const char *got = ask(&w, "server/discover", "");
        assert_null(strstr(got, "for all"));
        assert_int_equal(strstr(got, "\"instructions\":\"secret\"") != NULL, i == 0);
        assert_int_equal(strstr(got, "instructions") != NULL, i == 0);
        mcp_server_set_instructions_hook(w.server, make_instructions, broken);
        assert_null(strstr(ask(&w, "server/discover", ""), "instructions"));
        mcp_server_set_instructions_hook(w.server, NULL, NULL);
        assert_non_null(strstr(ask(&w, "server/discover", ""), "\"instructions\":\"for all\""));
        assert_string_equal(mcp_server_mount_prefix(w.server, 0), "mem:");
        assert_null(mcp_server_mount_prefix(w.server, 1));
        close_world(&w);
    }
}

/* ---- missing scopes -------------------------------------------------------------------------- */

static void open_scoped(world *w, const char *principal, const char *granted)
{
    mcp_identity *identity;
    open_world(w, NULL);
    mcp_channel_free(w->channel);
    assert_int_equal(mcp_server_set_access(w->server, MCP_OPTIONS(mcp_access, .may = may_with_scope,
                                                                  .scopes = scopes, .user = w)),
                     MCP_OK);
    assert_int_equal(mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = principal,
                                                  .scopes = granted),
                                      &identity, NULL),
                     MCP_OK);
    assert_int_equal(mcp_server_connect(w->server,
                                        MCP_OPTIONS(mcp_channel_options, .send = on_send, .user = w,
                                                    .identity = identity),
                                        &w->channel, NULL),
                     MCP_OK);
    mcp_identity_unref(identity);
}

/* Who lacks only a scope sees a thing in lists, and learns the scopes when using it. Everything else
 * is as if it were hidden. */
static void test_scopes(void **state)
{
    (void)state;
    static const struct {
        const char *method, *params;
    } uses[] = {
        {"resources/read", "\"uri\":\"app:/secret\""},
        {"resources/read", "\"uri\":\"mem:SECRET\""},
        {"resources/read", "\"uri\":\"tmpl:/secret/x\""},
        {"tools/call", "\"name\":\"secret\""},
        {"prompts/get", "\"name\":\"secret\""},
        {"completion/complete",
         "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"tmpl:/secret/{name}\"},"
         "\"argument\":{\"name\":\"name\",\"value\":\"\"}"},
    };
    static const char *const methods[] = {"resources/list", "resources/templates/list",
                                          "prompts/list", "tools/list"};
    static const struct {
        const char *principal, *granted;
        bool listed, used, asked;
    } who[] = {
        {"carl", "base deep", true, true, false},
        {"carl", "base", true, false, true},
        {"carl", NULL, true, false, true},
        {"dora", "base", false, false, false},
    };
    world w;
    for (size_t i = 0; i < COUNT(who); i++) {
        open_scoped(&w, who[i].principal, who[i].granted);
        for (size_t k = 0; k < COUNT(methods); k++)
            assert_int_equal(strstr(ask(&w, methods[k], ""), "secret") != NULL, who[i].listed);
        for (size_t k = 0; k < COUNT(uses); k++) {
            const char *answer = ask(&w, uses[k].method, uses[k].params);
            bool asked = strstr(answer, "this needs \\\"deep base\\\"") != NULL;
            if (asked != who[i].asked || (strstr(answer, "\"error\"") == NULL) != who[i].used)
                fail_msg("%s %s %s: %s", who[i].principal, uses[k].method, uses[k].params, answer);
        }
        /* Handlers that show more than they were asked for leave it out. */
        assert_int_equal(strstr(ask(&w, "tools/call", "\"name\":\"open\""), "sees it") != NULL,
                         who[i].used);
        close_world(&w);
    }
}

static void say(world *w, const char *message)
{
    assert_int_equal(mcp_channel_receive(w->channel, 0, mcp_str_from(message), w->now), MCP_OK);
}

/* Subscribes to four resources in another spelling than the canonical one. */
static void subscribe_all(world *w, bool legacy)
{
    static const char *const uris[] = {"mem:SECRET", "tmpl:/open/%61", "tmpl:/open/b",
                                       "tmpl:/%73ecret/a"};
    char message[300];
    if (!legacy) {
        ask(w, "subscriptions/listen",
            "\"notifications\":{\"resourceSubscriptions\":[\"mem:SECRET\",\"tmpl:/open/%61\","
            "\"tmpl:/open/b\",\"tmpl:/%73ecret/a\"]}");
        return;
    }
    say(w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
           "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
           "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
    say(w, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    for (size_t i = 0; i < COUNT(uris); i++) {
        snprintf(message, sizeof(message),
                 "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"resources/subscribe\","
                 "\"params\":{\"uri\":\"%s\"}}",
                 i + 2, uris[i]);
        say(w, message);
    }
}

/* What is subscribed to in another spelling is announced in that one, and only to those who may read
 * the resource when it changes. */
static void test_announced_spellings(void **state)
{
    (void)state;
    static const mcp_access all = {.size = sizeof(all), .may = may};
    static world w;
    for (int legacy = 0; legacy < 2; legacy++) {
        open_world(&w, "bob");
        assert_int_equal(mcp_server_set_access(w.server, NULL), MCP_OK);
        subscribe_all(&w, legacy);
        for (int denied = 0; denied < 2; denied++) {
            mcp_server_resource_updated(w.server, "mem:secret");
            mcp_server_resource_updated(w.server, "tmpl:/open/a");
            mcp_server_resource_updated(w.server, "tmpl:/open/%62");
            mcp_server_resource_updated(w.server, "tmpl:/secret/%61");
            pass(&w);
            assert_int_equal(strstr(w.sent, "\"uri\":\"mem:SECRET\"") == NULL, denied);
            assert_int_equal(strstr(w.sent, "\"uri\":\"tmpl:/%73ecret/a\"") == NULL, denied);
            assert_non_null(strstr(w.sent, "\"uri\":\"tmpl:/open/%61\""));
            assert_non_null(strstr(w.sent, "\"uri\":\"tmpl:/open/b\""));
            assert_int_equal(mcp_server_set_access(w.server, &all), MCP_OK);
        }
        close_world(&w);
    }
}

/* A resource that lacks a scope cannot be subscribed to, and the reason is told. */
static void test_scopes_of_subscriptions(void **state)
{
    static const char subscribe[] =
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/subscribe\","
        "\"params\":{\"uri\":\"mem:secret\"}}";
    static const char hello[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}";
    world w;
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        open_scoped(&w, i ? "dora" : "carl", "base");
        assert_int_equal(mcp_channel_receive(w.channel, 0, mcp_str_from(hello), 1), MCP_OK);
        w.len = 0;
        assert_int_equal(mcp_channel_receive(w.channel, 0, mcp_str_from(subscribe), 2), MCP_OK);
        if (!strstr(w.sent, i ? "Resource not found" : "this needs \\\"deep base\\\""))
            fail_msg("%s", w.sent);
        close_world(&w);
    }
}

/* ---- operations ------------------------------------------------------------------------------ */

/* What `do_it` asks, and what it was told. */
static struct question {
    mcp_operation operation;
    mcp_item item;
    const char *name;
    unsigned flags;
    mcp_effect effect;
} question;

static size_t n_asked; /* calls of may_do() */

static int do_it(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    question.effect = mcp_request_may_do(req, question.operation, question.item,
                                         mcp_str_from(question.name), question.flags);
    return mcp_reply_textf(req, "%d", mcp_request_restricted(req));
}

/* Alice may change "open", is asked before she deletes it, and may move nothing by an exact rule;
 * everybody may create. For one name the answer is no effect at all. */
static mcp_effect may_do(const mcp_identity *identity, mcp_operation operation, mcp_item item,
                         mcp_str name, unsigned flags, void *user)
{
    const char *principal = mcp_identity_principal(identity);
    (void)user, (void)item;
    n_asked++;
    assert_int_equal(name.ptr[name.len], 0);
    if (operation == MCP_OPERATION_READ || operation == MCP_OPERATION_CALL) {
        assert_int_equal(flags, MCP_MAY_EXACT);
        return strstr(name.ptr, "other") ? MCP_EFFECT_DENY : MCP_EFFECT_ALLOW;
    }
    assert_true(operation >= 0 && operation <= MCP_OPERATION_COMMIT);
    assert_true(flags == 0 || flags == MCP_MAY_EXACT);
    if (strstr(name.ptr, "odd"))
        return (mcp_effect)7;
    if (operation == MCP_OPERATION_CREATE)
        return flags ? MCP_EFFECT_ASK : MCP_EFFECT_ALLOW;
    if (!principal || strcmp(principal, "alice") != 0 || !strstr(name.ptr, "open"))
        return MCP_EFFECT_DENY;
    return operation == MCP_OPERATION_CHANGE   ? MCP_EFFECT_ALLOW
           : operation == MCP_OPERATION_DELETE ? MCP_EFFECT_ASK
                                               : MCP_EFFECT_DENY;
}

static mcp_effect effect_of(world *w, mcp_operation operation, mcp_item item, const char *name,
                            unsigned flags)
{
    question = (struct question){operation, item, name, flags, (mcp_effect)-1};
    ask(w, "tools/call", "\"name\":\"do\"");
    return question.effect;
}

static void open_operations(world *w, const char *principal, const mcp_access *access)
{
    open_world(w, principal);
    assert_int_equal(mcp_server_set_access(w->server, access), MCP_OK);
    w->released = 1; /* the rules of open_world() */
    assert_int_equal(mcp_server_add_tool(
                         w->server, MCP_OPTIONS(mcp_tool, .name = "do", .call = do_it), NULL, NULL),
                     MCP_OK);
}

static void test_operations(void **state)
{
    static const struct {
        const char *principal;
        mcp_operation operation;
        mcp_item item;
        const char *name;
        unsigned flags;
        mcp_effect effect;
    } rows[] = {
        {"alice", MCP_OPERATION_READ, MCP_ITEM_RESOURCE, "mem:open", 0, MCP_EFFECT_ALLOW},
        {"alice", MCP_OPERATION_CALL, MCP_ITEM_TOOL, "open", 0, MCP_EFFECT_ALLOW},
        {"alice", MCP_OPERATION_READ, MCP_ITEM_RESOURCE, "mem:open", 4, MCP_EFFECT_ALLOW},
        /* exactly: also what is seen has to be named */
        {"alice", MCP_OPERATION_CALL, MCP_ITEM_TOOL, "open", 1, MCP_EFFECT_ALLOW},
        {"alice", MCP_OPERATION_CALL, MCP_ITEM_TOOL, "other", 0, MCP_EFFECT_ALLOW},
        {"alice", MCP_OPERATION_CALL, MCP_ITEM_TOOL, "other", 1, MCP_EFFECT_DENY},
        {"alice", MCP_OPERATION_CALL, MCP_ITEM_TOOL, "open", 3, MCP_EFFECT_DENY},
        {"alice", MCP_OPERATION_READ, MCP_ITEM_RESOURCE, "mem:other", 1, MCP_EFFECT_DENY},
        {"bob", MCP_OPERATION_CALL, MCP_ITEM_TOOL, "secret", 1, MCP_EFFECT_DENY},
        {"alice", MCP_OPERATION_CHANGE, MCP_ITEM_RESOURCE, "mem:open", 0, MCP_EFFECT_ALLOW},
        {"alice", MCP_OPERATION_CHANGE, MCP_ITEM_RESOURCE, "app:/%6Fpen", 0, MCP_EFFECT_ALLOW},
        {"alice", MCP_OPERATION_CHANGE, MCP_ITEM_TOOL, "open", 0, MCP_EFFECT_ALLOW},
        {"alice", MCP_OPERATION_CHANGE, MCP_ITEM_RESOURCE, "mem:other", 0, MCP_EFFECT_DENY},
        {"alice", MCP_OPERATION_DELETE, MCP_ITEM_RESOURCE, "mem:open", 0, MCP_EFFECT_ASK},
        {"alice", MCP_OPERATION_MOVE, MCP_ITEM_RESOURCE, "mem:open", 0, MCP_EFFECT_DENY},
        {"alice", MCP_OPERATION_COMMIT, MCP_ITEM_RESOURCE, "mem:open", 0, MCP_EFFECT_DENY},
        {"alice", MCP_OPERATION_CREATE, MCP_ITEM_RESOURCE, "mem:new", 0, MCP_EFFECT_ALLOW},
        {"alice", MCP_OPERATION_CREATE, MCP_ITEM_RESOURCE, "mem:new", 1, MCP_EFFECT_ASK},
        {"alice", MCP_OPERATION_CREATE, MCP_ITEM_RESOURCE, "mem:new", 2, MCP_EFFECT_DENY},
        {"alice", MCP_OPERATION_CREATE, MCP_ITEM_RESOURCE, "mem:new", 3, MCP_EFFECT_DENY},
        {"alice", MCP_OPERATION_CREATE, MCP_ITEM_RESOURCE, "mem:odd", 0, MCP_EFFECT_DENY},
        {"alice", (mcp_operation)7, MCP_ITEM_RESOURCE, "mem:open", 0, MCP_EFFECT_DENY},
        {"alice", (mcp_operation)-1, MCP_ITEM_RESOURCE, "mem:open", 0, MCP_EFFECT_DENY},
        {NULL, MCP_OPERATION_CREATE, MCP_ITEM_RESOURCE, "mem:new", 0, MCP_EFFECT_ALLOW},
        {NULL, MCP_OPERATION_CHANGE, MCP_ITEM_RESOURCE, "mem:open", 0, MCP_EFFECT_DENY},
        /* What bob cannot see, he cannot change, although everybody may create. */
        {"bob", MCP_OPERATION_CREATE, MCP_ITEM_RESOURCE, "mem:new", 0, MCP_EFFECT_ALLOW},
        {"bob", MCP_OPERATION_CREATE, MCP_ITEM_RESOURCE, "mem:secret", 0, MCP_EFFECT_DENY},
        {"bob", MCP_OPERATION_CREATE, MCP_ITEM_RESOURCE, "mem:SECRET", 0, MCP_EFFECT_DENY},
        {"bob", MCP_OPERATION_CREATE, MCP_ITEM_RESOURCE, "mem:%73ecret", 0, MCP_EFFECT_DENY},
        {"bob", MCP_OPERATION_READ, MCP_ITEM_RESOURCE, "mem:secret", 0, MCP_EFFECT_DENY},
        {"bob", MCP_OPERATION_CREATE, MCP_ITEM_TOOL, "secret", 0, MCP_EFFECT_DENY},
    };
    static world w;
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        open_operations(&w, rows[i].principal,
                        MCP_OPTIONS(mcp_access, .may = may, .may_do = may_do));
        mcp_effect e = effect_of(&w, rows[i].operation, rows[i].item, rows[i].name, rows[i].flags);
        if (e != rows[i].effect)
            fail_msg("row %zu: %s: %d", i, rows[i].name, e);
        close_world(&w);
    }
}

/* The program is asked about the spelling that rules are written for. */
static mcp_effect may_change_one(const mcp_identity *identity, mcp_operation operation,
                                 mcp_item item, mcp_str name, unsigned flags, void *user)
{
    (void)identity, (void)operation, (void)item, (void)flags, (void)user;
    return mcp_str_eq(name, MCP_STR("mem:secret")) || mcp_str_eq(name, MCP_STR("tmpl:/open/a b/c"))
               ? MCP_EFFECT_DENY
               : MCP_EFFECT_ALLOW;
}

static void test_spellings_of_changes(void **state)
{
    static const char *const spellings[] = {"mem:secret", "mem:SECRET", "mem:%73ecret",
                                            "mem:SECRET?line=1"};
    static world w;
    (void)state;
    open_operations(&w, "alice", MCP_OPTIONS(mcp_access, .may_do = may_change_one));
    for (size_t i = 0; i < COUNT(spellings); i++)
        if (effect_of(&w, MCP_OPERATION_CHANGE, MCP_ITEM_RESOURCE, spellings[i], 0) !=
            MCP_EFFECT_DENY)
            fail_msg("%s", spellings[i]);
    assert_int_equal(effect_of(&w, MCP_OPERATION_CHANGE, MCP_ITEM_RESOURCE, "mem:open", 0),
                     MCP_EFFECT_ALLOW);
    close_world(&w);
}

/* Nobody changes anything without a rule for it. */
static void test_no_rules_for_changes(void **state)
{
    static const mcp_access reading = {.size = sizeof(reading), .may = may};
    static const mcp_access earlier = {
        .size = offsetof(mcp_access, may_do), .may = may, .may_do = may_do};
    static const mcp_access *const without[] = {NULL, &reading, &earlier};
    static world w;
    (void)state;
    for (size_t i = 0; i < COUNT(without); i++) {
        open_operations(&w, "alice", without[i]);
        n_asked = 0;
        for (int operation = 0; operation <= MCP_OPERATION_COMMIT + 1; operation++) {
            for (unsigned flags = 0; flags < 3; flags++) {
                bool named = without[i] && flags == MCP_MAY_EXACT;
                mcp_effect expected =
                    operation <= MCP_OPERATION_CALL && !named ? MCP_EFFECT_ALLOW : MCP_EFFECT_DENY;
                assert_int_equal(
                    effect_of(&w, (mcp_operation)operation, MCP_ITEM_RESOURCE, "mem:open", flags),
                    expected);
                assert_int_equal(
                    effect_of(&w, (mcp_operation)operation, MCP_ITEM_TOOL, "open", flags),
                    expected);
            }
        }
        assert_int_equal(n_asked, 0);
        close_world(&w);
    }
}

/* Rules only about changes do not restrict what is seen, and results stay public. */
static void test_changes_alone(void **state)
{
    static world w;
    (void)state;
    open_operations(&w, "bob",
                    MCP_OPTIONS(mcp_access, .may_do = may_do, .user = &w, .release = release));
    w.released = 0;
    assert_int_equal(effect_of(&w, MCP_OPERATION_CREATE, MCP_ITEM_RESOURCE, "mem:secret", 0),
                     MCP_EFFECT_ALLOW);
    assert_non_null(strstr(w.sent, "\"text\":\"0\""));
    assert_int_equal(effect_of(&w, MCP_OPERATION_READ, MCP_ITEM_RESOURCE, "mem:secret", 0),
                     MCP_EFFECT_ALLOW);
    /* What has no canonical spelling is not there. */
    assert_int_equal(effect_of(&w, MCP_OPERATION_CREATE, MCP_ITEM_RESOURCE, "nem:%zz", 0),
                     MCP_EFFECT_DENY);
    assert_non_null(strstr(ask(&w, "resources/list", ""), "mem:secret"));
    assert_non_null(strstr(w.sent, "\"cacheScope\":\"public\""));
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_looks_like_nothing),
        cmocka_unit_test(test_completion),
        cmocka_unit_test(test_announcements),
        cmocka_unit_test(test_cursors),
        cmocka_unit_test(test_handlers_ask),
        cmocka_unit_test(test_instructions),
        cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_announced_spellings),
        cmocka_unit_test(test_scopes_of_subscriptions),
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_spellings_of_changes),
        cmocka_unit_test(test_no_rules_for_changes),
        cmocka_unit_test(test_changes_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
