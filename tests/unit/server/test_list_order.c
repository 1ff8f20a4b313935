/* A list that several mounts share, while a rebuild changes the mounts or their order: a cursor
 * reaches the mount that made it, or none.
 */
#include "rig.h"

#include <stdlib.h>

#include <mcp/provider.h>

enum { ENTRIES = 3 };

static const char *order; /* one letter for each mount, as "ab" */
static mcp_request *pending;
static bool later;

/* `user` is the letter of the mount. Its position is the letter and the number of entries. */
static int list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    const char *letter = user;
    char uri[16], next[3] = {*letter, '0', 0};
    size_t at = cursor.len ? (size_t)(cursor.ptr[1] - '0') : 0;
    if (cursor.len)
        assert_true(cursor.len == 2 && cursor.ptr[0] == *letter);
    for (; at < ENTRIES && max; at++, max--) {
        snprintf(uri, sizeof(uri), "%c:/%zu", *letter, at);
        mcp_reply_resource(req, MCP_OPTIONS(mcp_resource, .uri = uri, .name = "n"));
    }
    next[1] = (char)('0' + at);
    int rc = at < ENTRIES ? mcp_reply_next(req, mcp_str_from(next)) : MCP_OK;
    if (!later)
        return rc;
    later = false;
    pending = req;
    return MCP_PENDING;
}

static int build(mcp_server *server, void *user, mcp_error *error)
{
    static const mcp_provider provider = {.size = sizeof(provider), .name = "p", .list = list};
    int rc = MCP_OK;
    (void)user;
    for (const char *at = order; rc == MCP_OK && *at; at++) {
        char prefix[] = {*at, ':', 0};
        rc = mcp_server_mount(server, prefix, &provider, (void *)(uintptr_t)at, error);
    }
    return rc;
}

static void set_order(rig *r, const char *mounts)
{
    order = mounts;
    assert_int_equal(mcp_server_rebuild(r->server, build, NULL, NULL), MCP_OK);
}

static void begin(rig *r, mcp_channel **channel, const char *mounts, size_t page_size)
{
    memset(r, 0, sizeof(*r));
    mcp_server_options o = {.page_size = page_size};
    assert_int_equal(rig_open(r, &o, rig_ok), MCP_OK);
    set_order(r, mounts);
    assert_int_equal(rig_connect(r, NULL, NULL, channel), MCP_OK);
}

static void end(rig *r, mcp_channel *channel)
{
    mcp_channel_free(channel);
    rig_close(r);
}

/* Requests the next page. Returns false after the last one. */
static bool next(rig *r, mcp_channel *channel, char token[256], const char **text)
{
    char message[1024];
    snprintf(
        message, sizeof(message),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\",\"params\":{%s%s%s" RIG_META
        "}}",
        *token ? "\"cursor\":\"" : "", token, *token ? "\"," : "");
    assert_int_equal(rig_say(r, channel, message), MCP_OK);
    *text = rig_sent(r);
    const char *at = strstr(*text, "\"nextCursor\":\"");
    token[0] = 0;
    if (at)
        snprintf(token, 256, "%.*s", (int)strcspn(at + 14, "\""), at + 14);
    return at != NULL;
}

static void test_order(void **state)
{
    (void)state;
    rig *r = calloc(1, sizeof(*r));
    mcp_channel *channel;
    char token[256] = "", in_b[256];
    const char *text;
    begin(r, &channel, "ab", 2);
    assert_true(next(r, channel, token, &text)); /* a:/0 a:/1 */
    assert_true(next(r, channel, token, &text)); /* a:/2 b:/0 */
    assert_has(text, "b:/0");
    memcpy(in_b, token, sizeof(in_b));
    set_order(r, "cba");
    memcpy(token, in_b, sizeof(token));
    next(r, channel, token, &text);
    assert_has(text, "b:/1");
    assert_has(text, "b:/2");
    set_order(r, "ca");
    memcpy(token, in_b, sizeof(token));
    assert_false(next(r, channel, token, &text));
    assert_has(text, "\"code\":-32602");
    set_order(r, "b");
    memcpy(token, in_b, sizeof(token));
    assert_false(next(r, channel, token, &text));
    assert_has(text, "b:/1");
    end(r, channel);
    free(r);
}

/* A mount answers only after the rebuild. */
static void test_late(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after, *has, *has_not;
        size_t page_size;
    } lines[] = {
        {"abc", "cab", "b:/0", "c:/0", 100}, /* goes on after the mount that answered */
        {"ab", "b", "a:/0", "b:/0", 100},    /* it is gone */
        {"ab", "a", "a:/0", "b:/0", 100},
        {"cba", "a", "c:/0", "a:/0", 2}, /* its own cursor, which is of no mount then */
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        rig *r = calloc(1, sizeof(*r));
        mcp_channel *channel;
        char token[256] = "";
        const char *text;
        begin(r, &channel, lines[i].before, lines[i].page_size);
        later = true;
        next(r, channel, token, &text);
        assert_string_equal(text, "");
        set_order(r, lines[i].after);
        mcp_reply_finish(pending, MCP_OK);
        text = rig_sent(r);
        assert_has(text, lines[i].has);
        assert_null(strstr(text, lines[i].has_not));
        end(r, channel);
        free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
