/* The records of requests: exactly one for each, with its caller, its target, the mount that answers
 * it and its outcome.
 */
#include "rig.h"

static rig r;
static mcp_channel *peer;
static char told[4096]; /* one line for each record since the last TOLD() */
static uint64_t bytes;  /* of the last record */

static void ended(const mcp_audit_record *record, void *user)
{
    static const char *const outcomes[] = {"ok",     "tool error", "input",     "not found",
                                           "denied", "scopes",     "cancelled", "error"};
    const char *principal = mcp_identity_principal(record->identity);
    size_t len = strlen(told);
    assert_ptr_equal(user, &r);
    assert_int_equal(record->size, sizeof(*record));
    len += (size_t)snprintf(told + len, sizeof(told) - len, "%s%s%s %.*s '%.*s'%s%.*s %s",
                            record->caller ? record->caller : "",
                            record->caller && principal ? " " : "",
                            principal        ? principal
                            : record->caller ? ""
                                             : "-",
                            (int)record->method.len, record->method.ptr, (int)record->name.len,
                            record->name.ptr, record->source.len ? " of " : "",
                            (int)record->source.len, record->source.ptr, outcomes[record->outcome]);
    if (record->code)
        len += (size_t)snprintf(told + len, sizeof(told) - len, " %d", record->code);
    if (record->duration_us)
        len += (size_t)snprintf(told + len, sizeof(told) - len, " %ums",
                                (unsigned)(record->duration_us / 1000));
    if (record->reason.len)
        len += (size_t)snprintf(told + len, sizeof(told) - len, " because %.*s",
                                (int)record->reason.len, record->reason.ptr);
    if (record->session.len)
        len += (size_t)snprintf(told + len, sizeof(told) - len, " in %.*s",
                                (int)record->session.len, record->session.ptr);
    if (record->traceparent.len)
        len += (size_t)snprintf(told + len, sizeof(told) - len, " trace %.*s",
                                (int)record->traceparent.len, record->traceparent.ptr);
    if (record->scopes)
        len += (size_t)snprintf(told + len, sizeof(told) - len, " needs %s", record->scopes);
    bytes = record->bytes;
    const mcp_audit_change *c = record->change;
    if (c)
        len += (size_t)snprintf(told + len, sizeof(told) - len, " (%s %.*s%s%.*s %s %s %u)",
                                c->operation, (int)c->uri.len, c->uri.ptr, c->to.len ? " to " : "",
                                (int)c->to.len, c->to.ptr, c->was ? c->was : "-",
                                c->now ? c->now : "-", (unsigned)c->bytes);
    snprintf(told + len, sizeof(told) - len, "%s;", record->inner ? " inner" : "");
}

#define TOLD(expected)                       \
    do {                                     \
        assert_string_equal(told, expected); \
        told[0] = 0;                         \
    } while (0)

static int read_rig(mcp_request *req, mcp_str uri, void *user)
{
    (void)uri;
    return ((rig *)user)->handler(user, req);
}

static int run_rig(mcp_request *req, mcp_item item, mcp_str name, void *user)
{
    (void)item, (void)name;
    return ((rig *)user)->handler(user, req);
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
    return MCP_OK;
}

static void unwatch(const char *canonical, void *user)
{
    (void)canonical, (void)user;
}

static void begin(const char *principal, const char *caller)
{
    static const mcp_provider plain = {.size = sizeof(plain),
                                       .name = "rig",
                                       .read = read_rig,
                                       .resolve = resolve,
                                       .watch = watch,
                                       .unwatch = unwatch};
    static const mcp_provider other = {.size = sizeof(other),
                                       .name = "other",
                                       .run = run_rig,
                                       .items = 1u << MCP_ITEM_TOOL | 1u << MCP_ITEM_PROMPT,
                                       .names = "far_"};
    r = (rig){.local = true};
    told[0] = 0;
    assert_int_equal(rig_open(&r, &(mcp_server_options){.handler_timeout_ms = 5000}, rig_ok),
                     MCP_OK);
    assert_int_equal(mcp_server_mount(r.server, "db:one/", &plain, &r, NULL), MCP_OK);
    assert_int_equal(mcp_server_mount(r.server, "mcp:far/", &other, &r, NULL), MCP_OK);
    mcp_server_set_audit(r.server, ended, &r);
    assert_int_equal(rig_connect(&r, principal, caller, &peer), MCP_OK);
}

static void end(void)
{
    mcp_channel_free(peer);
    rig_close(&r);
}

static void ask(const char *method, const char *params)
{
    char message[512];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s%s" RIG_META "}}",
             method, params, *params ? "," : "");
    rig_say(&r, peer, message);
    rig_sent(&r);
}

static void call_as(rig_handler *handler, const char *name)
{
    r.handler = handler;
    rig_call_tool(&r, peer, 1, name);
    rig_sent(&r);
}

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

static int lacks(rig *at, mcp_request *req)
{
    (void)at;
    return mcp_request_need_scopes(req, "deep");
}

static int refused_change(rig *at, mcp_request *req)
{
    static bool again;
    (void)at;
    char uri[] = "a", now[] = "2"; /* which are gone when the request ends */
    mcp_request_note_change(
        req, MCP_OPTIONS(mcp_audit_change, .operation = "change", .uri = MCP_STR("x")));
    mcp_request_note_change(req,
                            MCP_OPTIONS(mcp_audit_change, .operation = "move", .bytes = 3,
                                        .uri = mcp_str_from(uri), .to = MCP_STR("b"), .now = now));
    mcp_request_note_change(req, &(mcp_audit_change){0}); /* invalid: without a size */
    mcp_request_note_denied(req);
    memset(uri, '?', 1);
    memset(now, '?', 1);
    again = !again;
    return again ? mcp_reply_tool_error(req, "no") : mcp_reply_fail(req, -32000, "no");
}

static int noted_success(rig *at, mcp_request *req)
{
    (void)at;
    mcp_request_note_denied(req); /* which the answer contradicts */
    return mcp_reply_text(req, "ok");
}

/* ---- targets and outcomes -------------------------------------------------------------------- */

static void test_outcomes(void **state)
{
    (void)state;
    begin("p", NULL);
    call_as(rig_ok, "t");
    TOLD("p tools/call 't' ok;");
    call_as(tool_error, "t");
    TOLD("p tools/call 't' tool error;");
    call_as(error, "t");
    TOLD("p tools/call 't' error -32000;");
    call_as(lacks, "t");
    TOLD("p tools/call 't' scopes -32600 needs deep;");
    call_as(rig_ok, "nobody");
    TOLD("p tools/call 'nobody' error -32602;");
    ask("tools/call", "\"name\":7");
    TOLD("p tools/call '' error -32602;");
    ask("no/such", "");
    TOLD("p no/such '' error -32601;");
    rig_say(&r, peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
    TOLD("p tools/list '' error -32602;");
    end();
}

static void test_targets(void **state)
{
    (void)state;
    begin(NULL, "1.2.3.4");
    r.handler = rig_ok;
    ask("resources/read", "\"uri\":\"db:one/a\"");
    TOLD("1.2.3.4 resources/read 'db:one/a' of db:one/ ok;");
    r.handler = not_found;
    ask("resources/read", "\"uri\":\"db:one/b\"");
    TOLD("1.2.3.4 resources/read 'db:one/b' of db:one/ not found -32602;");
    ask("resources/read", "\"uri\":\"db:two/b\"");
    TOLD("1.2.3.4 resources/read 'db:two/b' not found -32602;");
    r.handler = rig_ok;
    ask("tools/call", "\"name\":\"far_x\"");
    TOLD("1.2.3.4 tools/call 'far_x' of mcp:far/ ok;");
    ask("prompts/get", "\"name\":\"far_x\"");
    TOLD("1.2.3.4 prompts/get 'far_x' of mcp:far/ ok;");
    ask("prompts/get", "\"name\":\"p\"");
    TOLD("1.2.3.4 prompts/get 'p' ok;");
    ask("completion/complete", "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},"
                               "\"argument\":{\"name\":\"a\",\"value\":\"\"}");
    TOLD("1.2.3.4 completion/complete 'p' ok;");
    ask("tools/list", "");
    TOLD("1.2.3.4 tools/list '' ok;");
    end();
}

/* An identity without a name of its own has the address; a subscription is recorded when it is
 * open, and not when it ends. */
static void test_listen(void **state)
{
    (void)state;
    begin(NULL, NULL);
    ask("subscriptions/listen", "\"notifications\":{\"resourceSubscriptions\":[\"db:one/a\"]}");
    TOLD("- subscriptions/listen '' ok;");
    mcp_channel_close(peer, r.now);
    TOLD("");
    end();
    begin(NULL, NULL);
    ask("subscriptions/listen", "\"notifications\":7");
    TOLD("- subscriptions/listen '' error -32602;");
    end();
}

static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)item, (void)user;
    return !strstr(name.ptr, "secret");
}

static const char *scopes_for(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)item, (void)user;
    return strstr(name.ptr, "scoped") ? "deep" : NULL;
}

static void test_denied(void **state)
{
    (void)state;
    begin("p", NULL);
    assert_int_equal(
        mcp_server_set_access(r.server, MCP_OPTIONS(mcp_access, .may = may, .scopes = scopes_for)),
        MCP_OK);
    assert_int_equal(rig_add_tool(&r, "secret", 0), MCP_OK);
    ask("resources/read", "\"uri\":\"db:one/secret\"");
    TOLD("p resources/read 'db:one/secret' of db:one/ denied -32602;");
    ask("resources/read", "\"uri\":\"db:one/secret-scoped\"");
    TOLD("p resources/read 'db:one/secret-scoped' of db:one/ scopes -32600 needs deep;");
    ask("tools/call", "\"name\":\"secret\"");
    TOLD("p tools/call 'secret' denied -32602;");
    ask("tools/call", "\"name\":\"far_secret\"");
    TOLD("p tools/call 'far_secret' of mcp:far/ denied -32602;");
    ask("tools/call", "\"name\":\"nobody\"");
    TOLD("p tools/call 'nobody' error -32602;");
    end();
}

/* ---- the end --------------------------------------------------------------------------------- */

static void test_later(void **state)
{
    (void)state;
    begin("p", NULL);
    r.handler = rig_keep;
    for (int id = 1; id <= 4; id++)
        rig_call_tool(&r, peer, id, "t");
    TOLD("");
    mcp_channel_tick(peer, r.now += 11);
    mcp_reply_finish(r.kept[0], MCP_OK);
    TOLD("p tools/call 't' ok 11ms;");
    rig_say(&r, peer,
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
            "\"requestId\":2,\"reason\":\"had enough\"}}");
    mcp_reply_finish(r.kept[1], MCP_OK);
    TOLD("p tools/call 't' cancelled 11ms because had enough;");
    mcp_channel_tick(peer, r.now += 5000);
    TOLD(""); /* the handler is still running */
    mcp_reply_finish(r.kept[2], MCP_OK);
    TOLD("p tools/call 't' error -32603 5011ms;");
    mcp_channel_free(peer);
    mcp_reply_finish(r.kept[3], MCP_OK);
    assert_non_null(strstr(told, "p tools/call 't'"));
    rig_close(&r);
}

/* The record of an anonymous call says who called, also if the handler finishes after the caller has gone. */
static void test_gone(void **state)
{
    (void)state;
    begin(NULL, "192.0.2.7");
    r.handler = rig_keep;
    rig_call_tool(&r, peer, 1, "t");
    rig_call_tool(&r, peer, 2, "t");
    rig_say(&r, peer,
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
            "\"requestId\":2,\"reason\":\"left\"}}");
    mcp_channel_free(peer);
    TOLD("");
    mcp_reply_finish(r.kept[0], MCP_OK);
    TOLD("192.0.2.7 tools/call 't' cancelled;");
    mcp_reply_finish(r.kept[1], MCP_OK);
    TOLD("192.0.2.7 tools/call 't' cancelled because left;");
    rig_close(&r);
}

#define TRACE  "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
#define HEADER "00-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbb-00"

static void describe(mcp_channel *channel, mcp_exchange exchange, mcp_exchange_about *to,
                     void *user)
{
    assert_ptr_equal(user, &r);
    assert_ptr_equal(channel, peer);
    snprintf(to->caller, sizeof(to->caller), "192.0.2.%d", (int)exchange);
    snprintf(to->session, sizeof(to->session), "abcd");
    snprintf(to->traceparent, sizeof(to->traceparent), HEADER);
}

static void say_in(mcp_exchange exchange, const char *meta)
{
    char message[512];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"t\","
             "\"_meta\":{%s\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
             (int)exchange, meta);
    mcp_channel_receive(peer, exchange, mcp_str_from(message), r.now);
}

/* What the transport knows about the exchange is kept until the handler finishes. A trace in _meta is
 * preferred to that of the transport; one without the right form is ignored. */
static void test_described(void **state)
{
    (void)state;
    begin("p", NULL);
    mcp_channel_free(peer);
    mcp_channel *made = NULL;
    assert_int_equal(mcp_server_connect(r.server,
                                        MCP_OPTIONS(mcp_channel_options, .send = rig_send,
                                                    .user = &r, .principal = "p",
                                                    .caller = "192.0.2.100", .describe = describe),
                                        &made, NULL),
                     MCP_OK);
    peer = made;
    r.handler = rig_ok;
    say_in(1, "");
    TOLD("192.0.2.1 p tools/call 't' ok in abcd trace " HEADER ";");
    assert_int_equal(bytes, r.len - 1);
    rig_sent(&r);
    say_in(2, "\"traceparent\":\"" TRACE "\",");
    TOLD("192.0.2.2 p tools/call 't' ok in abcd trace " TRACE ";");
    say_in(3, "\"traceparent\":\"00-4BF92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\",");
    TOLD("192.0.2.3 p tools/call 't' ok in abcd trace " HEADER ";");
    r.handler = rig_keep;
    say_in(4, "");
    say_in(5, "");
    mcp_reply_finish(r.kept[0], MCP_OK);
    mcp_channel_free(peer);
    mcp_reply_finish(r.kept[1], MCP_OK);
    TOLD("192.0.2.4 p tools/call 't' ok in abcd trace " HEADER
         ";192.0.2.5 p tools/call 't' cancelled in abcd trace " HEADER ";");
    assert_int_equal(bytes, 0);
    rig_close(&r);
}

static void test_changes(void **state)
{
    (void)state;
    begin("p", NULL);
    call_as(refused_change, "t");
    TOLD("p tools/call 't' denied (move a to b - 2 3);");
    call_as(refused_change, "t");
    TOLD("p tools/call 't' denied -32000 (move a to b - 2 3);");
    call_as(noted_success, "t");
    TOLD("p tools/call 't' ok;");
    end();
}

/* ---- counts ---------------------------------------------------------------------------------- */

/* Notes the change that the test has set, and answers with `answer`. */
static mcp_audit_change noted;
static rig_handler *answer;

static int note_and_answer(rig *at, mcp_request *req)
{
    mcp_request_note_change(req, &noted);
    return answer(at, req);
}

static void change(rig_handler *how, const char *operation, bool dry_run)
{
    noted = (mcp_audit_change){.size = sizeof(noted), .operation = operation, .dry_run = dry_run};
    answer = how;
    call_as(note_and_answer, "t");
}

static int denied_error(rig *at, mcp_request *req)
{
    mcp_request_note_denied(req);
    return error(at, req);
}

static void add_count(const mcp_change_count *count, void *user)
{
    size_t len = strlen(user);
    assert_int_equal(count->size, sizeof(*count));
    snprintf((char *)user + len, 400 - len, "%s %s %u;", count->operation, count->result,
             (unsigned)count->count);
}

/* Changes are counted with and without an audit function. Operations that a handler makes up have one row, and a change
 * that was only tried is not one that was made. */
static void count_changes(bool audit)
{
    char counts[400] = "";
    begin("p", NULL);
    if (!audit)
        mcp_server_set_audit(r.server, NULL, NULL);
    mcp_server_change_counts(r.server, add_count, counts);
    assert_string_equal(counts, "");
    call_as(rig_ok, "t"); /* changes nothing */
    change(rig_ok, "create", false);
    change(rig_ok, "create", false);
    change(rig_ok, "change", true);
    change(tool_error, "change", true);
    change(denied_error, "delete", false);
    change(error, "commit", false);
    change(rig_ok, "paint", false);
    change(rig_ok, NULL, false);
    mcp_server_change_counts(r.server, add_count, counts);
    assert_string_equal(counts, "create ok 2;change tool_error 1;change dry_run 1;delete denied 1;"
                                "commit error 1;other ok 2;");
    end();
}

static void test_counts(void **state)
{
    (void)state;
    count_changes(true);
    count_changes(false);
}

static unsigned n_kept,
    n_ran; /* how often the record is kept when it is asked for; how often the tool ran */

static bool is_kept(void *user)
{
    assert_ptr_equal(user, &r);
    return n_kept && n_kept--;
}

static int count_run(rig *at, mcp_request *req)
{
    n_ran++;
    return rig_ok(at, req);
}

/* Nothing runs while records are missing, and nothing is answered without its record. */
static void test_required(void **state)
{
    static const char refusal[] = "audit log cannot be written\",\"data\":{\"retryAfterMs\":1000}";
    static const struct {
        unsigned kept;
        unsigned ran;
        const char *told, *sent;
    } table[] = {
        {2, 1, "p tools/call 't' ok;", "\"result\""},
        {0, 0, "p tools/call 't' error -32603;", refusal},
        {1, 1, "p tools/call 't' ok;", refusal},
    };
    (void)state;
    begin("p", NULL);
    mcp_server_require_audit(r.server, is_kept);
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        n_kept = table[i].kept;
        n_ran = 0;
        r.handler = count_run;
        rig_call_tool(&r, peer, 1, "t");
        const char *sent = rig_sent(&r);
        if (!strstr(sent, table[i].sent) || n_ran != table[i].ran || n_kept)
            fail_msg("row %zu: %s", i, sent);
        TOLD(table[i].told);
    }
    told[0] = 0;
    rig_say(&r, peer,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" RIG_META
            "}}");
    assert_non_null(strstr(rig_sent(&r), "\"result\""));
    mcp_server_require_audit(r.server, NULL);
    ask("tools/list", "");
    end();
}

static void test_inner(void **state)
{
    (void)state;
    begin(NULL, NULL);
    mcp_channel_free(peer);
    assert_int_equal(mcp_server_connect(r.server,
                                        MCP_OPTIONS(mcp_channel_options, .send = rig_send,
                                                    .user = &r, .inner = true),
                                        &peer, NULL),
                     MCP_OK);
    ask("tools/list", "");
    TOLD("- tools/list '' ok inner;");
    mcp_server_set_audit(r.server, NULL, NULL);
    ask("tools/list", "");
    TOLD("");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcomes), cmocka_unit_test(test_targets),
        cmocka_unit_test(test_listen),   cmocka_unit_test(test_denied),
        cmocka_unit_test(test_later),    cmocka_unit_test(test_inner),
        cmocka_unit_test(test_gone),     cmocka_unit_test(test_described),
        cmocka_unit_test(test_changes),  cmocka_unit_test(test_counts),
        cmocka_unit_test(test_required),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
