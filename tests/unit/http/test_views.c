/* Views: which paths lead to one, who the caller of a request is there, and that nothing that is
 * remembered in one view means anything in another or without a view: sessions and their streams,
 * subscriptions, cursors, the state of calls, tasks, also at other instances, and with every
 * allocation failing.
 */
#include "fleet.h"

#include <mcp/access.h>
#include <mcp/mcp.h>
#include <mcp/sys/forward.h>

#define META                                                                         \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","         \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\",\"version\":\"1\"},"     \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{\"form\":{}}," \
    "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}}"
#define JSON     "HTTP/1.1 200 OK\nContent-Type: application/json\n~"
#define SSE_HEAD "HTTP/1.1 200 OK\nContent-Type: text/event-stream\n~"
#define GONE     "HTTP/1.1 404 Not Found\n~"
#define ALICE    "Authorization: Bearer alice\n"

enum { TEXT = 2048 };

/* The paths of the server without a view and of its views. */
static const char *const paths[] = {"/mcp", "/mcp/a", "/mcp/b"};

static bool has_view(mcp_str name, void *user)
{
    (void)user;
    return name.len == 1 && (name.ptr[0] == 'a' || name.ptr[0] == 'b');
}

static const mcp_http_options with_views = {.has_view = has_view};

/* ---- the server ------------------------------------------------------------------------------ */

static const char *or_none(const char *text)
{
    return text ? text : "none";
}

/* Says who the caller is. */
static int call_who(mcp_request *req, const mcp_json *arguments, void *user)
{
    char text[200];
    (void)arguments, (void)user;
    const mcp_identity *identity = mcp_request_identity(req);
    snprintf(text, sizeof(text), "principal %s, view %s", or_none(mcp_identity_principal(identity)),
             or_none(mcp_identity_view(identity)));
    return mcp_reply_text(req, text);
}

/* Asks, and stays where it asked. */
static int call_asks(mcp_request *req, const mcp_json *arguments, void *user)
{
    static const char form[] = "{\"type\":\"object\",\"properties\":{}}";
    mcp_elicited answer;
    (void)arguments, (void)user;
    mcp_request_stay(req);
    int rc = mcp_request_elicit(
        req, "k", MCP_OPTIONS(mcp_elicit, .message = "Go on?", .schema = form), &answer);
    return rc == MCP_OK ? mcp_reply_text(req, "went on") : rc;
}

static int read_nothing(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    return mcp_reply_text(req, "");
}

static int add_items(mcp_server *s)
{
    char uri[40];
    int rc =
        mcp_server_add_tool(s, MCP_OPTIONS(mcp_tool, .name = "who", .call = call_who), NULL, NULL);
    if (rc == MCP_OK)
        rc = mcp_server_add_tool(s, MCP_OPTIONS(mcp_tool, .name = "stay", .call = call_asks), NULL,
                                 NULL);
    for (int i = 0; rc == MCP_OK && i < 120; i++) {
        snprintf(uri, sizeof(uri), "many:/%d", i);
        rc = mcp_server_add_resource(
            s, MCP_OPTIONS(mcp_resource, .uri = uri, .name = "n", .read = read_nothing), NULL,
            NULL);
    }
    return rc;
}

static void begin(rig *r, bool logins)
{
    mcp_http_options o = with_views;
    o.authenticate = logins ? login_by_name : NULL;
    rig_tasks = true;
    rig_begin(r, &o);
    assert_int_equal(add_items(fixture_server(r->fixture)), MCP_OK);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Sends a modern request to a path. */
static void send_modern(wire *w, const char *path, const char *method, const char *name,
                        const char *more)
{
    char text[3 * TEXT];
    snprintf(text, sizeof(text),
             "POST %s HTTP/1.1\n{{modern %s}}" ALICE "%s%s%sContent-Length: {{len}}\n\n"
             "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\",\"params\":{%s" META "}}",
             path, method, name ? "Mcp-Name: " : "", name ? name : "", name ? "\n" : "", method,
             more);
    wire_send(w, text);
}

static void modern(rig *r, const char *path, const char *method, const char *name, const char *more,
                   const char *expected)
{
    wire w;
    wire_open(&w, r);
    send_modern(&w, path, method, name, more);
    wire_expect(&w, expected);
    wire_end(&w);
}

/* Copies the string that follows `before` in the answer to a request. */
static void take(rig *r, const char *path, const char *method, const char *name, const char *more,
                 const char *before, char to[TEXT])
{
    wire w;
    wire_open(&w, r);
    send_modern(&w, path, method, name, more);
    const char *at = strstr(wire_text(&w), before);
    if (!at)
        fail_msg("no %s in %s", before, wire_text(&w));
    at += strlen(before);
    snprintf(to, TEXT, "%.*s", (int)strcspn(at, "\""), at);
    wire_end(&w);
}

static void legacy(rig *r, const char *method, const char *path, const char *more, const char *body,
                   const char *expected)
{
    wire w;
    char text[TEXT];
    snprintf(text, sizeof(text),
             "%s %s HTTP/1.1\n{{std}}" ALICE
             "Mcp-Session-Id: {{session}}\n%sContent-Length: {{len}}\n\n%s",
             method, path, more, body);
    wire_open(&w, r);
    wire_send(&w, text);
    wire_expect(&w, expected);
    wire_end(&w);
}

/* Begins a legacy session at a path; r->session is then its id. */
static void initialize(rig *r, const char *path)
{
    wire w;
    char text[TEXT];
    snprintf(text, sizeof(text),
             "POST %s HTTP/1.1\n{{std}}" ALICE "Content-Length: {{len}}\n\n"
             "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
             "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
             "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"} } }",
             path);
    wire_open(&w, r);
    wire_send(&w, text);
    const char *id = strstr(wire_text(&w), "Mcp-Session-Id: ");
    assert_non_null(id);
    snprintf(r->session, sizeof(r->session), "%.*s", (int)strcspn(id + 16, "\n"), id + 16);
    wire_end(&w);
    legacy(r, "POST", path, "", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
           "HTTP/1.1 202 ~");
}

/* ---- paths ----------------------------------------------------------------------------------- */

#define WHO "\"name\":\"who\",\"arguments\":{},"

static void test_paths(void **state)
{
    static const struct {
        const char *path, *expected;
    } table[] = {
        {"/mcp", JSON "principal alice, view none~"},
        {"/mcp/a", JSON "principal alice, view a~"},
        {"/mcp/b", JSON "principal alice, view b~"},
        {"/mcp/a?x=/b", JSON "principal alice, view a~"},
        {"http://localhost:8642/mcp/b", JSON "principal alice, view b~"},
        {"/mcp/c", GONE},
        {"/mcp/", GONE},
        {"/mcp/a/", GONE},
        {"/mcp/a/b", GONE},
        {"/mcp//a", GONE},
        {"/mcp/%61", GONE},
        {"/mcp/A", GONE},
        {"/mcp/ab", GONE},
        {"/mcp/.", GONE},
        {"/mcpa", GONE},
        {"/mcp.a", GONE},
        {"/a", GONE},
    };
    rig r;
    (void)state;
    begin(&r, true);
    for (size_t i = 0; i < COUNT(table); i++)
        modern(&r, table[i].path, "tools/call", "who", WHO, table[i].expected);
    rig_end(&r);

    begin(&r, false); /* an anonymous caller is in a view, too */
    modern(&r, "/mcp/a", "tools/call", "who", WHO, JSON "principal none, view a~");
    modern(&r, "/mcp", "tools/call", "who", WHO, JSON "principal none, view none~");
    rig_end(&r);

    rig_begin(&r, NULL); /* without views */
    modern(&r, "/mcp/a", "tools/list", NULL, "", GONE);
    rig_end(&r);
}

static bool page(const mcp_http_page *asked, mcp_http_page_answer *answer, void *user)
{
    (void)user;
    answer->type = "text/plain";
    answer->body = asked->path;
    return true;
}

/* The endpoint may be at the root, where names of the library's own paths are no views; and what is no
 * view may be a page, but not the endpoint. */
static void test_other_paths(void **state)
{
    mcp_http_options o = with_views;
    rig r;
    (void)state;
    o.path = "/";
    rig_begin(&r, &o);
    assert_int_equal(add_items(fixture_server(r.fixture)), MCP_OK);
    modern(&r, "/a", "tools/call", "who", WHO, JSON "view a~");
    modern(&r, "/", "tools/call", "who", WHO, JSON "view none~");
    modern(&r, "/c", "tools/call", "who", WHO, GONE);
    rig_end(&r);

    o.path = NULL;
    o.page = page;
    rig_begin(&r, &o);
    modern(&r, "/mcp/c", "tools/list", NULL, "",
           "HTTP/1.1 200 OK\nContent-Type: text/plain\n~/mcp/c");
    rig_end(&r);
}

/* The requests of one connection may be for several views. */
static void test_one_connection(void **state)
{
    rig r;
    wire w;
    (void)state;
    for (int logins = 0; logins < 2; logins++) {
        begin(&r, logins);
        wire_open(&w, &r);
        for (size_t i = 0; i < 9; i++) {
            char expected[100];
            const char *path = paths[i * i % 3];
            snprintf(expected, sizeof(expected), JSON "principal %s, view %s\"~",
                     logins ? "alice" : "none", path[4] ? path + 5 : "none");
            wire_clear(&w);
            send_modern(&w, path, "tools/call", "who", WHO);
            wire_expect(&w, expected);
        }
        wire_end(&w);
        rig_end(&r);
    }
}

static char login_url[200];

static void note_url(mcp_http_login *login, void *user)
{
    (void)user;
    snprintf(login_url, sizeof(login_url), "%s", or_none(mcp_http_login_url(login)));
    mcp_http_login_accept(login, NULL);
}

/* A token may be bound to the URL of the request. */
static void test_url(void **state)
{
    mcp_http_options o = with_views;
    rig r;
    (void)state;
    o.public_url = "https://example.com/x";
    o.authenticate = note_url;
    rig_begin(&r, &o);
    assert_int_equal(add_items(fixture_server(r.fixture)), MCP_OK);
    modern(&r, "/mcp/a?b", "tools/call", "who", WHO, JSON "principal none, view a~");
    assert_string_equal(login_url, "https://example.com/x/mcp/a");
    modern(&r, "/mcp", "tools/list", NULL, "", JSON "~");
    assert_string_equal(login_url, "https://example.com/x/mcp");
    modern(&r, "/mcp/b", "tools/list", NULL, "", JSON "~");
    assert_string_equal(login_url, "https://example.com/x/mcp/b");
    rig_end(&r);
}

/* ---- sessions -------------------------------------------------------------------------------- */

/* Everything that a client can do with the id of a session. */
static const struct {
    const char *method, *more, *body, *expected;
} session_uses[] = {
    {"POST", "", CALL("resources/unsubscribe", "\"uri\":\"many:/1\""), JSON "\"result\":{}}"},
    {"POST", "", CALL("resources/subscribe", "\"uri\":\"many:/1\""), JSON "\"result\":{}}"},
    {"POST", "", CALL("resources/list", ""), JSON "\"many:/1\"~"},
    {"POST", "", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{} }", "HTTP/1.1 202 ~"},
    {"GET", "", "", SSE_HEAD},
    {"GET", "Last-Event-ID: 0-0\n", "", SSE_HEAD},
    {"DELETE", "", "", "HTTP/1.1 204 ~"},
};

static void test_sessions(void **state)
{
    rig r;
    (void)state;
    for (int logins = 0; logins < 2; logins++)
        for (size_t own = 0; own < COUNT(paths); own++) {
            begin(&r, logins);
            initialize(&r, paths[own]);
            for (size_t i = 0; i < COUNT(session_uses); i++)
                for (size_t k = 1; k < COUNT(paths); k++)
                    legacy(&r, session_uses[i].method, paths[(own + k) % COUNT(paths)],
                           session_uses[i].more, session_uses[i].body, GONE);
            for (size_t i = 0; i < COUNT(session_uses); i++)
                legacy(&r, session_uses[i].method, paths[own], session_uses[i].more,
                       session_uses[i].body, session_uses[i].expected);
            rig_end(&r);
        }
}

/* HTTP+SSE has no views: its session is without one. */
static void test_duplex(void **state)
{
    mcp_http_options o = with_views;
    rig r;
    wire stream;
    char path[200];
    (void)state;
    o.sse_path = "/sse";
    rig_begin(&r, &o);
    wire_open(&stream, &r);
    wire_send(&stream, "GET /sse/a HTTP/1.1\nHost: localhost\nAccept: text/event-stream\n\n");
    wire_expect(&stream, GONE);
    wire_clear(&stream);
    wire_send(&stream, "GET /sse HTTP/1.1\nHost: localhost\nAccept: text/event-stream\n\n");
    const char *id = strstr(wire_text(&stream), "sessionId=");
    assert_non_null(id);
    snprintf(r.session, sizeof(r.session), "%.32s", id + strlen("sessionId="));
    for (size_t i = 0; i < COUNT(paths); i++)
        legacy(&r, "POST", paths[i], "", CALL("ping", ""), GONE);
    snprintf(path, sizeof(path), "/sse/a?sessionId=%.32s", r.session);
    legacy(&r, "POST", path, "", CALL("ping", ""), GONE);
    wire_end(&stream);
    rig_end(&r);
}

/* ---- subscriptions --------------------------------------------------------------------------- */

/* View b has everything but many:/1. */
static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    const char *view = mcp_identity_view(identity);
    (void)user;
    return item != MCP_ITEM_RESOURCE || !view || *view != 'b' ||
           !mcp_str_eq(name, MCP_STR("many:/1"));
}

#define LISTEN "\"notifications\":{\"resourceSubscriptions\":[\"many:/1\",\"many:/2\"]},"

/* What a listener is told depends on its own view alone. */
static void test_subscriptions(void **state)
{
    rig r;
    wire streams[COUNT(paths)], others[COUNT(paths)];
    (void)state;
    begin(&r, true);
    mcp_server *server = fixture_server(r.fixture);
    assert_int_equal(mcp_server_set_access(server, MCP_OPTIONS(mcp_access, .may = may)), MCP_OK);
    for (size_t i = 0; i < COUNT(paths); i++) {
        wire_open(&streams[i], &r), wire_open(&others[i], &r);
        send_modern(&streams[i], paths[i], "subscriptions/listen", NULL, LISTEN);
        wire_expect(&streams[i], SSE_HEAD "acknowledged~");
        initialize(&r, paths[i]);
        legacy(&r, "POST", paths[i], "", session_uses[1].body, i < 2 ? JSON "{}}" : JSON "~error~");
        char text[1400];
        snprintf(text, sizeof(text),
                 "GET %s HTTP/1.1\nHost: localhost\nAccept: text/event-stream\n" ALICE
                 "Mcp-Session-Id: %s\n\n",
                 paths[i], r.session);
        wire_send(&others[i], text);
        wire_expect(&others[i], SSE_HEAD);
        wire_clear(&streams[i]), wire_clear(&others[i]);
    }
    mcp_server_resource_updated(server, "many:/1");
    rig_pass(&r, 250);
    for (size_t i = 0; i < COUNT(paths); i++) {
        wire_expect(&streams[i], i < 2 ? "~resources/updated~many:/1~" : "");
        wire_expect(&others[i], i < 2 ? "~resources/updated~many:/1~" : "");
        wire_end(&streams[i]), wire_end(&others[i]);
    }
    rig_end(&r);
}

/* ---- cursors, states, tasks ------------------------------------------------------------------ */

/* Expects that a request works at one path only. */
static void only_at(rig *r, size_t own, const char *method, const char *name, const char *more,
                    const char *expected)
{
    for (size_t k = 1; k < COUNT(paths); k++)
        modern(r, paths[(own + k) % COUNT(paths)], method, name, more, JSON "-32602~");
    modern(r, paths[own], method, name, more, expected);
}

static void test_cursors(void **state)
{
    char cursor[TEXT], more[TEXT + 40];
    rig r;
    (void)state;
    for (int restricted = 0; restricted < 2; restricted++)
        for (size_t own = 0; own < COUNT(paths); own++) {
            begin(&r, true);
            if (restricted) /* the cursors are sealed */
                assert_int_equal(mcp_server_set_access(fixture_server(r.fixture),
                                                       MCP_OPTIONS(mcp_access, .may = may)),
                                 MCP_OK);
            take(&r, paths[own], "resources/list", NULL, "", "\"nextCursor\":\"", cursor);
            snprintf(more, sizeof(more), "\"cursor\":\"%s\",", cursor);
            only_at(&r, own, "resources/list", NULL, more, JSON "\"resources\":[~");
            rig_end(&r);
        }
}

static void test_states(void **state)
{
    char sealed[TEXT], more[TEXT + 200];
    rig r;
    (void)state;
    for (int logins = 0; logins < 2; logins++)
        for (size_t own = 0; own < COUNT(paths); own++) {
            begin(&r, logins);
            take(&r, paths[own], "tools/call", "stay", "\"name\":\"stay\",", "\"requestState\":\"",
                 sealed);
            snprintf(more, sizeof(more),
                     "\"name\":\"stay\",\"requestState\":\"%s\",\"inputResponses\":{\"k\":{"
                     "\"action\":\"accept\",\"content\":{}}},",
                     sealed);
            only_at(&r, own, "tools/call", "stay", more, JSON "went on~");
            rig_end(&r);
        }
}

static void test_tasks(void **state)
{
    static const char *const methods[] = {"tasks/get", "tasks/update", "tasks/cancel"};
    char id[TEXT], more[TEXT + 60];
    rig r;
    (void)state;
    for (int logins = 0; logins < 2; logins++)
        for (size_t own = 0; own < COUNT(paths); own++) {
            begin(&r, logins);
            take(&r, paths[own], "tools/call", "job", "\"name\":\"job\",\"arguments\":{},",
                 "\"taskId\":\"", id);
            for (size_t i = 0; i < COUNT(methods); i++) {
                snprintf(more, sizeof(more), "\"taskId\":\"%s\",%s", id,
                         i == 1 ? "\"inputResponses\":{}," : "");
                only_at(&r, own, methods[i], id, more, JSON "\"result\"~");
            }
            rig_end(&r);
        }
}

/* ---- several instances ----------------------------------------------------------------------- */

static void begin_fleet(void)
{
    rig_tasks = true;
    for (size_t i = 0; i < NODES; i++) {
        assert_int_equal(node_begin_with(&nodes[i], true, &with_views, 0), MCP_OK);
        assert_int_equal(add_items(fixture_server(nodes[i].r.fixture)), MCP_OK);
    }
    n_relayed = 0;
}

static void modern_at(node *n, const char *path, const char *method, const char *name,
                      const char *more, const char *expected)
{
    wire w;
    wire_open(&w, &n->r);
    send_modern(&w, path, method, name, more);
    pump();
    wire_expect(&w, expected);
    wire_end(&w);
    pump();
}

static void list_at(node *n, const char *path, const char *session, const char *expected)
{
    char text[3000];
    snprintf(text, sizeof(text),
             "POST %s HTTP/1.1\n{{std}}" ALICE "Mcp-Session-Id: {{session}}\n"
             "Content-Length: {{len}}\n\n" CALL("tools/list", ""),
             path);
    expect_at(n, session, text, expected);
}

/* The same, but on the way to the other instance the request gets the path of another view. */
static void list_changed_at(node *n, const char *session)
{
    wire w;
    wire_open(&w, &n->r);
    snprintf(n->r.session, sizeof(n->r.session), "%s", session);
    wire_send(&w, "POST /mcp/a HTTP/1.1\n{{std}}" ALICE "Mcp-Session-Id: {{session}}\n"
                  "Content-Length: {{len}}\n\n" CALL("tools/list", ""));
    for (size_t i = 0; i < RELAYS; i++)
        if (relays[i].relay)
            relays[i].text[strlen("POST /mcp/")] = 'b';
    pump();
    wire_expect(&w, "HTTP/1.1 403 Forbidden\n~");
    wire_end(&w);
    pump();
}

static void test_session_elsewhere(void **state)
{
    char session[1100];
    (void)state;
    begin_fleet();
    initialize(&nodes[0].r, "/mcp/a");
    pump();
    snprintf(session, sizeof(session), "%s", nodes[0].r.session);
    list_at(&nodes[1], "/mcp/b", session, GONE);
    list_at(&nodes[1], "/mcp", session, GONE);
    assert_int_equal(n_relayed, 0);
    list_at(&nodes[1], "/mcp/a", session, JSON "\"tools\"~");
    assert_int_equal(n_relayed, 1);
    assert_int_equal(strncmp(last_request, "POST /mcp/a HTTP/1.1\n", 21), 0);
    /* what was forwarded for one view is refused at another, where its sender is somebody else */
    list_changed_at(&nodes[1], session);
    /* the session is made anew in its own view only */
    node_kill(&nodes[0]);
    list_at(&nodes[1], "/mcp/b", session, GONE);
    list_at(&nodes[1], "/mcp", session, GONE);
    list_at(&nodes[1], "/mcp/a", session, JSON "\"tools\"~");
    fleet_end();
}

static void test_state_elsewhere(void **state)
{
    char sealed[TEXT], more[TEXT + 200];
    (void)state;
    begin_fleet();
    take(&nodes[0].r, "/mcp/a", "tools/call", "stay", "\"name\":\"stay\",", "\"requestState\":\"",
         sealed);
    snprintf(more, sizeof(more),
             "\"name\":\"stay\",\"requestState\":\"%s\",\"inputResponses\":{\"k\":{"
             "\"action\":\"accept\",\"content\":{}}},",
             sealed);
    modern_at(&nodes[1], "/mcp/b", "tools/call", "stay", more, JSON "-32602~");
    modern_at(&nodes[1], "/mcp", "tools/call", "stay", more, JSON "-32602~");
    assert_int_equal(n_relayed, 0);
    modern_at(&nodes[1], "/mcp/a", "tools/call", "stay", more, JSON "went on~");
    assert_int_equal(n_relayed, 1);
    fleet_end();
}

static void test_task_elsewhere(void **state)
{
    char id[TEXT], more[TEXT + 60];
    (void)state;
    begin_fleet();
    take(&nodes[0].r, "/mcp/a", "tools/call", "job", "\"name\":\"job\",\"arguments\":{},",
         "\"taskId\":\"", id);
    snprintf(more, sizeof(more), "\"taskId\":\"%s\",", id);
    modern_at(&nodes[1], "/mcp/b", "tasks/get", id, more, JSON "-32602~");
    modern_at(&nodes[1], "/mcp", "tasks/get", id, more, JSON "-32602~");
    assert_int_equal(n_relayed, 0);
    modern_at(&nodes[1], "/mcp/a", "tasks/get", id, more, JSON "\"working\"~");
    assert_int_equal(n_relayed, 1);
    fleet_end();
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Whatever fails, a request for a view is never answered as one without it. */
static void test_memory(void **state)
{
    (void)state;
    bool failed = true;
    for (size_t at = 1; failed; at++) {
        rig r;
        wire w = {0};
        mcp_http_options o = with_views;
        o.authenticate = at % 2 ? login_by_name : NULL;
        o.public_url = "https://example.com";
        rig_tasks = false;
        int rc = rig_begin_with(&r, &o, at);
        if (rc == MCP_OK)
            rc = mcp_server_add_tool(fixture_server(r.fixture),
                                     MCP_OPTIONS(mcp_tool, .name = "who", .call = call_who), NULL,
                                     NULL);
        if (rc == MCP_OK)
            rc = wire_open_from(&w, &r, "peer");
        if (rc == MCP_OK)
            send_modern(&w, "/mcp/a", "tools/call", "who", WHO);
        assert_null(strstr(wire_text(&w), "view none"));
        failed = r.memory.calls >= at;
        if (!failed)
            wire_expect(&w, JSON "view a~");
        if (w.c)
            wire_end(&w);
        rig_end(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_other_paths),
        cmocka_unit_test(test_one_connection),
        cmocka_unit_test(test_url),
        cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_duplex),
        cmocka_unit_test(test_subscriptions),
        cmocka_unit_test(test_cursors),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_session_elsewhere),
        cmocka_unit_test(test_state_elsewhere),
        cmocka_unit_test(test_task_elsewhere),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
