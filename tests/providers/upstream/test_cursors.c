/* Cursors of a session that all callers share are sealed for the caller and for the other server. */
#include "wires.h"

enum { CURSOR = 1024 };

/* Two servers, "up" and "two", with pages of one tool each. */
typedef struct rig {
    wires up, two;
    char cursor[CURSOR]; /* of the last page, or "" */
} rig;

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    return mcp_reply_text(req, "called");
}

static mcp_server *other_new(void)
{
    static const char *const names[] = {"a", "b"};
    mcp_server *s;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "rig", .version = "1",
                                                .page_size = 1),
                                    &s, NULL),
                     MCP_OK);
    for (size_t i = 0; i < 2; i++)
        mcp_server_add_tool(s, MCP_OPTIONS(mcp_tool, .name = names[i], .call = call), NULL, NULL);
    return s;
}

static bool open_front(rig *r, bool two_is_shared)
{
    mcp_server *up = r->up.other, *two = r->two.other;
    r->two = (wires){.other = two, .last = &r->two.first};
    return wires_open(&r->up, up) == MCP_OK &&
           mcp_upstream_mount(r->up.front,
                              MCP_OPTIONS(mcp_upstream_options, .name = "two",
                                          .connect = wires_connect, .disconnect = wires_disconnect,
                                          .user = &r->two, .revision = r->up.revision,
                                          .shared = two_is_shared, .group = &r->up.group,
                                          .allocator = &r->up.allocator),
                              NULL) == MCP_OK;
}

static void open_all(rig *r, const char *revision, bool up_is_shared, bool two_is_shared)
{
    *r = (rig){.up.revision = revision, .up.shared = up_is_shared, .up.max_sessions = 8};
    r->up.other = other_new();
    r->two.other = other_new();
    assert_true(open_front(r, two_is_shared));
}

static void close_all(rig *r)
{
    mcp_server *up = r->up.other, *two = r->two.other;
    wires_close(&r->up);
    assert_null(r->two.open);
    mcp_server_free(up);
    mcp_server_free(two);
}

static const char *say(rig *r, const char *message)
{
    wires_say(&r->up, message);
    for (int i = 0; i < 4; i++) {
        r->two.now = r->up.now;
        wires_run(&r->two);
        wires_run(&r->up);
    }
    return r->up.reply ? r->up.reply : "";
}

static void keep_cursor(rig *r)
{
    const char *at = r->up.reply ? strstr(r->up.reply, "\"nextCursor\":\"") : NULL;
    at = at ? at + strlen("\"nextCursor\":\"") : "\"";
    snprintf(r->cursor, sizeof(r->cursor), "%.*s", (int)strcspn(at, "\""), at);
}

/* Reads a page as this principal, over a new connection, and keeps its cursor. */
static const char *page(rig *r, bool modern, const char *principal, const char *cursor)
{
    char message[2 * CURSOR];
    if (wires_peer(&r->up, r->up.front, principal) != MCP_OK)
        return "";
    if (!modern)
        say(r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
               "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
               "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{%s%s%s%s%s}}",
             cursor ? "\"cursor\":\"" : "", cursor ? cursor : "", cursor ? "\"" : "",
             cursor && modern ? "," : "", modern ? WIRES_META : "");
    say(r, message);
    keep_cursor(r);
    return r->up.reply ? r->up.reply : "";
}

static const char *const revisions[] = {NULL, "2026-07-28", "2025-11-25", "2024-11-05"};
enum { REVISIONS = sizeof(revisions) / sizeof(revisions[0]) };

/* Reads the cursors of the first two pages: the first one belongs to "up", the second one to "two". */
static void read_cursors(rig *r, bool modern, const char *principal, char to[2][CURSOR])
{
    wires_has(page(r, modern, principal, NULL), "\"up_a\"");
    strcpy(to[0], r->cursor);
    wires_has(page(r, modern, principal, to[0]), "\"up_b\"");
    wires_has(r->up.reply, "\"two_a\"");
    strcpy(to[1], r->cursor);
    wires_has(page(r, modern, principal, to[1]), "\"two_b\"");
    assert_string_equal(r->cursor, "");
}

/* The cursor of another principal is refused, and so is one that was changed. The right caller goes
 * on, in either era. */
static void test_principals(void **state)
{
    (void)state;
    static rig r;
    char cursors[2][CURSOR], changed[CURSOR];
    for (size_t i = 0; i < 2 * REVISIONS; i++) {
        bool modern = i % 2;
        open_all(&r, revisions[i / 2], true, true);
        read_cursors(&r, modern, "ann", cursors);
        for (size_t k = 0; k < 2; k++) {
            wires_has(page(&r, modern, "bob", cursors[k]), "\"code\":-32602");
            wires_has(page(&r, modern, NULL, cursors[k]), "\"code\":-32602");
            for (size_t at = 0; at + 1 < strlen(cursors[k]); at += 11) {
                strcpy(changed, cursors[k]);
                changed[at] = changed[at] == 'A' ? 'B' : 'A';
                wires_has(page(&r, modern, "ann", changed), "\"code\":-32602");
            }
            wires_has(page(&r, modern, "ann", cursors[k]), k ? "\"two_b\"" : "\"up_b\"");
            wires_has(page(&r, !modern, "ann", cursors[k]), k ? "\"two_b\"" : "\"up_b\"");
        }
        close_all(&r);
    }
}

/* A caller cannot make a cursor: one with the right contents that was not sealed is refused. Without
 * shared sessions it is accepted, because it is for the caller's own session. */
static void test_forged(void **state)
{
    (void)state;
    static rig r;
    char cursors[2][CURSOR];
    for (size_t i = 0; i < 2 * REVISIONS; i++) {
        bool modern = i % 2;
        open_all(&r, revisions[i / 2], false, false);
        read_cursors(&r, modern, "bob", cursors);
        close_all(&r);
        open_all(&r, revisions[i / 2], false, false);
        wires_has(page(&r, modern, "bob", cursors[0]), "\"up_b\"");
        close_all(&r);
        open_all(&r, revisions[i / 2], true, true);
        for (size_t k = 0; k < 2; k++)
            wires_has(page(&r, modern, "bob", cursors[k]), "\"code\":-32602");
        close_all(&r);
    }
}

/* Only the cursors of shared sessions are sealed, so the others are the same each time, and outlive the
 * server. */
static void test_one_of_two(void **state)
{
    (void)state;
    static rig r;
    char cursors[2][CURSOR], again[2][CURSOR];
    for (int shared = 0; shared < 2; shared++) {
        open_all(&r, NULL, shared == 0, shared == 1);
        read_cursors(&r, true, "ann", cursors);
        read_cursors(&r, true, "ann", again);
        assert_string_not_equal(cursors[shared], again[shared]);
        assert_string_equal(cursors[!shared], again[!shared]);
        close_all(&r);
        open_all(&r, NULL, shared == 0, shared == 1);
        wires_has(page(&r, true, "ann", cursors[shared]), "\"code\":-32602");
        wires_has(page(&r, true, "ann", cursors[!shared]), shared ? "\"up_b\"" : "\"two_b\"");
        close_all(&r);
    }
}

static void test_no_memory(void **state)
{
    (void)state;
    static rig r;
    mcp_server *up = other_new(), *two = other_new();
    for (size_t at = 1; at < 6000; at++) {
        r = (rig){.up.memory.fail_at = at, .up.other = up, .up.shared = true, .two.other = two};
        bool opened = open_front(&r, true);
        if (opened) {
            page(&r, true, "ann", NULL);
            page(&r, true, "ann", r.cursor);
        }
        bool through = r.up.memory.calls < at;
        wires_close(&r.up);
        if (opened && through) {
            mcp_server_free(up);
            mcp_server_free(two);
            return;
        }
    }
    fail();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_principals),
        cmocka_unit_test(test_forged),
        cmocka_unit_test(test_one_of_two),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests_name("upstream: cursors", tests, NULL, NULL);
}
