/* The question whether a change may be made, in both eras: what a person is shown, and that a consent
 * is good for nothing but what was shown, once, for five minutes. Attackers: a model that a file told
 * what to do, which wants another change to be confirmed, one to be repeated, or a person to tire;
 * another principal; content that looks like another question.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/mcp.h>
#include <mcp/sys/server.h>

#include "confirm.h"
#include "failalloc.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MINUTE       (60 * 1000)

static struct world {
    mcp_server *server;
    common_confirms *memory;
    int64_t now;
    common_change what;
    size_t done; /* changes */
    int rc;      /* of the last question */
    char sent[64 << 10];
    /* of the last question */
    char state[32 << 10], key[256], message[16 << 10];
} w;

/* ---- the tool -------------------------------------------------------------------------------- */

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    w.rc = common_confirm(req, w.memory, &w.what, w.now);
    if (w.rc == MCP_EREMOTE)
        return MCP_OK;
    if (w.rc != MCP_OK)
        return w.rc;
    w.done++;
    return mcp_reply_text(req, "done");
}

static const common_change plain = {.operation = "change",
                                    .uri = {"file:///n/a.md", 14},
                                    .is_text = true,
                                    .plus = 3,
                                    .minus = 1,
                                    .content = {"-old\n+new", 9},
                                    .binding = {"v1", 2}};

static void open_with(const mcp_allocator *alloc)
{
    static const unsigned char key[32] = "a key that two processes share";
    w = (struct world){.now = 1000, .what = plain};
    assert_int_equal(common_confirms_new(alloc, &w.memory), MCP_OK);
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1"),
                                    &w.server, NULL),
                     MCP_OK);
    assert_int_equal(
        mcp_server_add_tool(w.server, MCP_OPTIONS(mcp_tool, .name = "t", .call = call), NULL, NULL),
        MCP_OK);
    assert_int_equal(
        mcp_server_set_seal(
            w.server, MCP_OPTIONS(mcp_seal_options, .key = key, .key_len = sizeof(key)), NULL),
        MCP_OK);
}

static int open_world(void **state)
{
    (void)state;
    open_with(NULL);
    return 0;
}

static int close_world(void **state)
{
    (void)state;
    mcp_server_free(w.server);
    common_confirms_free(w.memory);
    common_confirms_free(NULL);
    return 0;
}

/* Another process with the same key, or the same one after a restart. */
static void restart(void)
{
    common_confirms_free(w.memory);
    assert_int_equal(common_confirms_new(NULL, &w.memory), MCP_OK);
}

/* ---- a modern client ------------------------------------------------------------------------- */

static void keep(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    (void)channel, (void)exchange, (void)user;
    assert_true(message.len < sizeof(w.sent));
    memcpy(w.sent, message.ptr, message.len);
    w.sent[message.len] = 0;
}

/* Stores the question of an InputRequiredResult. */
static void keep_question(void)
{
    mcp_json_doc *doc = NULL;
    mcp_str key;
    mcp_json_iter it = {0};
    assert_int_equal(mcp_json_parse(mcp_str_from(w.sent), NULL, NULL, &doc, NULL), MCP_OK);
    const mcp_json *result = mcp_json_get(mcp_json_root(doc), "result");
    const mcp_json *all = mcp_json_get(result, "inputRequests");
    if (mcp_json_count(all) != 1)
        fail_msg("%s", w.sent);
    const mcp_json *one = mcp_json_next(all, &it, &key);
    mcp_str message = mcp_json_string(mcp_json_get(mcp_json_get(one, "params"), "message"));
    mcp_str sealed = mcp_json_string(mcp_json_get(result, "requestState"));
    snprintf(w.key, sizeof(w.key), "%.*s", (int)key.len, key.ptr);
    snprintf(w.message, sizeof(w.message), "%.*s", (int)message.len, message.ptr);
    snprintf(w.state, sizeof(w.state), "%.*s", (int)sealed.len, sealed.ptr);
    mcp_json_free(doc);
}

/* Sends a call. `more` are further params. */
static const char *send_as(const char *principal, const char *arguments, const char *capabilities,
                           const char *more)
{
    static char text[48 << 10];
    mcp_channel *channel;
    assert_int_equal(
        mcp_server_connect(w.server,
                           MCP_OPTIONS(mcp_channel_options, .send = keep, .principal = principal),
                           &channel, NULL),
        MCP_OK);
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\","
             "\"arguments\":{%s}%s,\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
             "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{%s}}}}",
             arguments, more, capabilities);
    w.sent[0] = 0;
    assert_int_equal(mcp_channel_receive(channel, 1, mcp_str_from(text), w.now), MCP_OK);
    mcp_channel_free(channel);
    return w.sent;
}

#define CAN  "\"elicitation\":{}"
#define DO   "{\"action\":\"accept\",\"content\":{\"decision\":\"do it\"}}"
#define DONT "{\"action\":\"accept\",\"content\":{\"decision\":\"do not\"}}"

/* Calls the tool, and stores the question. */
static void begin_as(const char *principal)
{
    send_as(principal, "\"n\":1", CAN, "");
    keep_question();
}

static void begin(void)
{
    begin_as("ann");
}

static const char *answer_as(const char *principal, const char *arguments, const char *answer)
{
    static char more[40 << 10];
    snprintf(more, sizeof(more), ",\"inputResponses\":{\"%s\":%s},\"requestState\":\"%s\"", w.key,
             answer, w.state);
    return send_as(principal, arguments, CAN, more);
}

static const char *answer(const char *text)
{
    return answer_as("ann", "\"n\":1", text);
}

static void expect(const char *sent, const char *text)
{
    if (!strstr(sent, text))
        fail_msg("no \"%s\" in %s", text, sent);
}

/* Nothing is done, and the tool's error says why. */
static void expect_denied(const char *sent, const char *why)
{
    expect(sent, "\"isError\":true");
    expect(sent, "Nothing was done: ");
    expect(sent, why);
    assert_int_equal(w.rc, MCP_EREMOTE);
    assert_int_equal(w.done, 0);
}

/* ---- what is shown --------------------------------------------------------------------------- */

static void what_is_shown(void **state)
{
    static const struct {
        common_change what;
        const char *message;
    } table[] = {
        {{.operation = "change",
          .uri = {"file:///a", 9},
          .is_text = true,
          .plus = 3,
          .minus = 1,
          .content = {"-x\n+y\n", 6}},
         "change file:///a, +3 \xe2\x88\x92"
         "1 lines\n| -x\n| +y"},
        {{.operation = "move", .uri = {"file:///a", 9}, .to = {"file:///b", 9}},
         "move file:///a to file:///b"},
        {{.operation = "create", .uri = {"file:///a", 9}, .is_text = true},
         "create file:///a, +0 \xe2\x88\x92"
         "0 lines"},
        {{.operation = "commit", .uri = {"write_shop_pay", 14}, .content = {"UPDATE", 6}},
         "commit write_shop_pay\n| UPDATE"},
        /* What could hide, move or end something is shown as what it is. */
        {{.operation = "create",
          .uri = {"file:///\xe2\x80\xae\n", 12},
          .content = {"a\x1b[2Jb\xe2\x80\xae\xe2\x80\x8b\r\t.\0\xff\n\nchange file:///c", 35}},
         "create file:///\\u202e\\x0a\n| a\\x1b[2Jb\\u202e\\u200b\\x0d\xe2\x86\x92 .\\x00\\xff\n| "
         "\n| change "
         "file:///c"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        w.what = table[i].what;
        begin();
        assert_string_equal(w.message, table[i].message);
    }
    /* A required choice without a default. */
    expect(w.sent, "\"enum\":[\"do it\",\"do not\"]");
    expect(w.sent, "\"required\":[\"decision\"]");
    assert_null(strstr(w.sent, "default"));
}

static void long_content(void **state)
{
    static char content[20000];
    (void)state;
    for (size_t i = 0; i < sizeof(content); i += 2)
        memcpy(content + i, "\xc3\xa9", 2);
    for (size_t lines = 0; lines < 2; lines++) {
        w.what.content = (mcp_str){content, sizeof(content)};
        w.what.rest = lines ? "in file:///n/a.md" : NULL;
        begin();
        const char *shown = strchr(w.message, '\n'), *end = strstr(shown, "\n(");
        assert_non_null(end);
        size_t len = (size_t)(end - shown);
        assert_true(len <= 4096 && len > 4080);
        assert_int_equal((unsigned char)end[-1], lines ? ' ' : 0xa9); /* between characters */
        size_t left = strtoul(end + 2, NULL, 10);
        assert_true(left > 10000 && left < sizeof(content) && (lines || left % 2 == 0));
        expect(end, lines ? "more bytes are not shown; all of it is in file:///n/a.md)"
                          : "more bytes are not shown; all of it is in the arguments of the call)");
        memset(content, '\n', sizeof(content));
    }
    /* A URI is shown whole, or nothing is asked. */
    memset(content, 'a', sizeof(content));
    w.what.content.len = 0;
    w.what.uri = (mcp_str){content, 1024};
    begin();
    w.what.uri.len = 1025;
    expect_denied(send_as("ann", "", CAN, ""), "the URI is too long");
    w.what.uri.len = 1;
    w.what.to = (mcp_str){content, 1025};
    expect_denied(send_as("ann", "", CAN, ""), "the URI is too long");
    w.what.to.len = 0;
    w.what.binding = (mcp_str){content, 513};
    send_as("ann", "", CAN, "");
    assert_int_equal(w.rc, MCP_ELIMIT);
}

/* Everything as long as it may be. */
static void longest_question(void **state)
{
    static char text[5000], who[1001];
    (void)state;
    memset(text, 'a', sizeof(text));
    memset(who, 'p', 1000);
    w.what = (common_change){.operation = "change",
                             .uri = {text, 1024},
                             .to = {text, 1024},
                             .is_text = true,
                             .content = {text, sizeof(text)},
                             .binding = {text, 512}};
    begin_as(who);
    expect(answer_as(who, "\"n\":1", DO), "done");
}

/* ---- answers --------------------------------------------------------------------------------- */

static void answers(void **state)
{
    static const struct {
        const char *answer, *why;
    } table[] = {
        {DONT, "the person at the client refused; do not try it in another way"},
        {"{\"action\":\"decline\"}", "the person at the client refused"},
        {"{\"action\":\"cancel\"}", "the person at the client refused"},
        /* An accept without the choice is no consent. */
        {"{\"action\":\"accept\"}", "without the decision"},
        {"{\"action\":\"accept\",\"content\":{}}", "without the decision"},
        {"{\"action\":\"accept\",\"content\":{\"decision\":\"yes\"}}", "without the decision"},
        {"{\"action\":\"accept\",\"content\":{\"decision\":true}}", "without the decision"},
        {"{\"action\":\"decline\",\"content\":{\"decision\":\"do it\"}}", "refused"},
        {"7", "without the decision"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        w.now += 60 * MINUTE;
        begin();
        expect_denied(answer(table[i].answer), table[i].why);
        /* A refusal stands: the same question cannot be answered again. */
        expect_denied(answer(DO), "an answer is good once");
    }
    w.now += 60 * MINUTE;
    begin();
    expect(answer(DO), "\"text\":\"done\"");
    assert_int_equal(w.done, 1);
}

static void good_once(void **state)
{
    (void)state;
    begin();
    expect(answer(DO), "done");
    w.done = 0;
    expect_denied(answer(DO), "an answer is good once");
    w.now += 5 * MINUTE; /* as long as the question could be answered */
    expect_denied(answer(DO), "an answer is good once");
    w.now += 1;
    expect_denied(answer(DO), "more than five minutes");
}

static void five_minutes(void **state)
{
    (void)state;
    begin();
    w.now += 5 * MINUTE;
    expect(answer(DO), "done");
    begin();
    w.done = 0;
    w.now += 5 * MINUTE + 1;
    expect_denied(answer(DO), "more than five minutes");
    expect_denied(answer(DO), "an answer is good once");
}

/* The question is asked again if anything of it is another. */
static void only_for_what_was_shown(void **state)
{
    static const common_change others[] = {
        {"delete", {"file:///n/a.md", 14}, {0}, true, 3, 1, {"-old\n+new", 9}, NULL, {"v1", 2}},
        {"change", {"file:///n/b.md", 14}, {0}, true, 3, 1, {"-old\n+new", 9}, NULL, {"v1", 2}},
        {"change",
         {"file:///n/a.md", 14},
         {"x", 1},
         true,
         3,
         1,
         {"-old\n+new", 9},
         NULL,
         {"v1", 2}},
        {"change", {"file:///n/a.md", 14}, {0}, true, 4, 1, {"-old\n+new", 9}, NULL, {"v1", 2}},
        {"change", {"file:///n/a.md", 14}, {0}, true, 3, 0, {"-old\n+new", 9}, NULL, {"v1", 2}},
        {"change", {"file:///n/a.md", 14}, {0}, true, 3, 1, {"-old\n+bad", 9}, NULL, {"v1", 2}},
        {"change", {"file:///n/a.md", 14}, {0}, true, 3, 1, {"-old\n+new", 9}, NULL, {"v2", 2}},
        {"change", {"file:///n/a.md", 14}, {0}, true, 3, 1, {"-old\n+new", 9}, NULL, {"v1", 1}},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(others); i++) {
        char first[sizeof(w.key)];
        w.what = plain;
        begin();
        strcpy(first, w.key);
        w.what = others[i];
        answer(DO);
        assert_int_equal(w.rc, MCP_INPUT_REQUIRED);
        keep_question();
        assert_string_not_equal(w.key, first);
        assert_int_equal(w.done, 0);
        /* The answer to the first question is none to this one, which is as good as the first. */
        expect(answer(DO), "done");
        w.done = 0;
    }
}

/* A thing that changes each time is given up. */
static void changes_each_time(void **state)
{
    char version[2] = "0";
    (void)state;
    w.what.binding = (mcp_str){version, 1};
    begin();
    for (; *version < '2'; keep_question()) {
        version[0]++;
        answer(DO);
        assert_int_equal(w.rc, MCP_INPUT_REQUIRED);
    }
    version[0]++;
    expect_denied(answer(DO), "it changed again each time");
    expect_denied(answer(DO), "an answer is good once");
}

/* Not for other arguments, another caller, or a request that was never asked about. */
static void only_for_the_request(void **state)
{
    char key[sizeof(w.key)], more[512];
    (void)state;
    begin();
    expect(answer_as("ann", "\"n\":2", DO), "it was not issued by this server for this request");
    expect(answer_as("bob", "\"n\":1", DO), "it was not issued by this server for this request");
    expect(answer_as(NULL, "\"n\":1", DO), "it was not issued by this server for this request");
    assert_int_equal(w.done, 0);
    /* The key of one request in another, with and without its own state. */
    strcpy(key, w.key);
    snprintf(more, sizeof(more), ",\"inputResponses\":{\"%s\":" DO "}", key);
    send_as("ann", "\"n\":1", CAN, more);
    assert_int_equal(w.rc, MCP_INPUT_REQUIRED);
    keep_question();
    assert_string_not_equal(w.key, key);
    strcpy(w.key, key);
    expect_denied(answer(DO), "without the decision");
}

/* What one process was answered is asked again by another one. */
static void only_in_the_process(void **state)
{
    char first[sizeof(w.key)];
    (void)state;
    begin();
    strcpy(first, w.key);
    restart();
    answer(DO);
    assert_int_equal(w.rc, MCP_INPUT_REQUIRED);
    keep_question();
    assert_string_not_equal(w.key, first);
    assert_int_equal(w.done, 0);
    expect(answer(DO), "done");
}

/* ---- wearing a person out -------------------------------------------------------------------- */

static void three_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        begin();
        expect_denied(answer(i ? DONT : "{\"action\":\"cancel\"}"), "refused");
        w.now += MINUTE;
    }
    expect_denied(send_as("ann", "\"n\":1", CAN, ""),
                  "refused 3 times within ten minutes, and is not asked again for 7 min");
    assert_null(strstr(w.sent, "inputRequests"));
    /* Somebody else is asked. */
    begin_as("bob");
    expect(answer_as("bob", "\"n\":1", DO), "done");
    w.done = 0;
    w.now += 7 * MINUTE - 1;
    expect_denied(send_as("ann", "\"n\":1", CAN, ""), "not asked again for 1 min");
    w.now += 1;
    begin();
    expect_denied(answer(DONT), "refused"); /* the third one within ten minutes again */
    expect_denied(send_as("ann", "\"n\":1", CAN, ""), "not asked again for 1 min");
}

/* A consent in between does not hide refusals, and a question that was open counts for nothing after
 * the third. */
static void refusals_with_open_questions(void **state)
{
    char key[sizeof(w.key)];
    static char sealed[sizeof(w.state)];
    (void)state;
    begin();
    strcpy(key, w.key), strcpy(sealed, w.state);
    for (size_t i = 0; i < 3; i++) {
        begin();
        answer(DO);
        w.done = 0;
        begin();
        expect_denied(answer(DONT), "refused");
    }
    strcpy(w.key, key), strcpy(w.state, sealed);
    expect_denied(answer(DO), "is not asked again for 10 min");
}

static void shares(void **state)
{
    char who[16];
    (void)state;
    for (size_t i = 0; i < 64; i++) {
        begin();
        expect(answer(DO), "done");
    }
    w.done = 0;
    expect_denied(
        send_as("ann", "\"n\":1", CAN, ""),
        "64 changes were asked about within five minutes, which is the limit; try again in "
        "5 min");
    begin_as("bob");
    w.now += 5 * MINUTE + 1;
    begin();
    expect(answer(DO), "done");
    w.done = 0;
    /* Many callers: a bound for all, which time lifts. */
    w.now += 60 * MINUTE;
    for (size_t i = 0; i < 256; i++) {
        snprintf(who, sizeof(who), "c%zu", i);
        begin_as(who);
        expect_denied(answer_as(who, "\"n\":1", DONT), "refused");
    }
    expect_denied(send_as("ann", "\"n\":1", CAN, ""), "too many callers");
    w.now += 10 * MINUTE;
    begin();
    expect(answer(DO), "done");
}

/* ---- clients --------------------------------------------------------------------------------- */

static void clients_that_cannot_ask(void **state)
{
    static const char *const capabilities[] = {"", "\"sampling\":{}",
                                               "\"elicitation\":{\"url\":{}}"};
    (void)state;
    for (size_t i = 0; i < COUNT(capabilities); i++)
        expect_denied(
            send_as("ann", "\"n\":1", capabilities[i], ""),
            "this client cannot ask one (it does not declare elicitation with forms). Use "
            "a client that can");
}

static mcp_channel *old;

static void say(const char *format, ...)
{
    char text[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    w.sent[0] = 0;
    assert_int_equal(mcp_channel_receive(old, 0, mcp_str_from(text), w.now), MCP_OK);
}

static void connect_old(const char *revision, const char *capabilities)
{
    assert_int_equal(
        mcp_server_connect(w.server,
                           MCP_OPTIONS(mcp_channel_options, .send = keep, .principal = "ann"), &old,
                           NULL),
        MCP_OK);
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"%s\",\"capabilities\":{%s},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}",
        revision, capabilities);
    say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

static long ask_old(void)
{
    static int id = 1;
    say("{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}",
        ++id);
    const char *at = strstr(w.sent, "\"id\":");
    return at && strstr(w.sent, "elicitation/create") ? strtol(at + 5, NULL, 10) : 0;
}

static void legacy(void **state)
{
    static const char *const revisions[] = {"2025-06-18", "2025-11-25"};
    (void)state;
    for (size_t i = 0; i < COUNT(revisions); i++) {
        connect_old(revisions[i], CAN);
        long id = ask_old();
        assert_true(id != 0);
        expect(w.sent, "change file:///n/a.md, +3 ");
        expect(w.sent, "\"enum\":[\"do it\",\"do not\"]");
        say("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":" DO "}", id);
        expect(w.sent, "\"text\":\"done\"");
        assert_int_equal(w.done, 1);
        w.done = 0;
        static const char *const refusals[] = {("\"result\":" DONT),
                                               "\"result\":{\"action\":\"accept\",\"content\":{}}",
                                               "\"error\":{\"code\":-1,\"message\":\"no\"}"};
        static const char *const why[] = {"refused", "without the decision",
                                          "did not ask the person"};
        for (size_t k = 0; k < COUNT(refusals); k++) {
            id = ask_old();
            assert_true(id != 0);
            say("{\"jsonrpc\":\"2.0\",\"id\":%ld,%s}", id, refusals[k]);
            expect_denied(w.sent, why[k]);
        }
        assert_int_equal(ask_old(), 0);
        expect_denied(w.sent, "not asked again for 10 min");
        w.now += 60 * MINUTE;
        /* A thing that has changed meanwhile is asked about again; late answers are none. */
        id = ask_old();
        w.what.binding = MCP_STR("v2");
        say("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":" DO "}", id);
        assert_int_equal(w.rc, MCP_INPUT_REQUIRED);
        id = strtol(strstr(w.sent, "\"id\":") + 5, NULL, 10);
        w.now += 5 * MINUTE + 1;
        say("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":" DO "}", id);
        expect_denied(w.sent, "more than five minutes");
        w.what = plain;
        mcp_channel_free(old);
    }
    connect_old("2025-03-26", "");
    assert_int_equal(ask_old(), 0);
    expect_denied(w.sent, "this client cannot ask one");
    mcp_channel_free(old);
}

/* Without memory nothing is done. */
static void without_memory(void **state)
{
    failalloc memory = {0};
    mcp_allocator alloc = failalloc_allocator(&memory);
    bool asked = false, consented = false;
    (void)state;
    open_with(&alloc);
    for (size_t at = 1; !asked && at < 50; at++) {
        memory.fail_at = memory.calls + at;
        send_as("ann", "\"n\":1", CAN, "");
        asked = w.rc == MCP_INPUT_REQUIRED;
        assert_true(asked || w.rc == MCP_ENOMEM);
    }
    assert_true(asked);
    memory.fail_at = 0;
    begin();
    for (size_t at = 1; !consented && at < 50; at++) {
        memory.fail_at = memory.calls + at;
        answer(DO);
        consented = w.rc == MCP_OK;
        assert_true(consented || w.rc == MCP_ENOMEM);
        assert_int_equal(w.done, consented);
    }
    assert_true(consented);
    memory.fail_at = memory.calls + 1;
    common_confirms *none = NULL;
    assert_int_equal(common_confirms_new(&alloc, &none), MCP_ENOMEM);
    close_world(NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
    const struct CMUnitTest tests[] = {
        TEST(what_is_shown),
        TEST(long_content),
        TEST(longest_question),
        TEST(answers),
        TEST(good_once),
        TEST(five_minutes),
        TEST(only_for_what_was_shown),
        TEST(changes_each_time),
        TEST(only_for_the_request),
        TEST(only_in_the_process),
        TEST(three_refusals),
        TEST(refusals_with_open_questions),
        TEST(shares),
        TEST(clients_that_cannot_ask),
        TEST(legacy),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests_name("common: confirm", tests, NULL, NULL);
}
