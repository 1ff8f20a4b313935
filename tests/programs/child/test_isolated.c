/* test_isolated.c: a source in a separate process, as the peers of its server see it: its items,
 * the behaviour when its process is killed, and the notifications. */
#define _GNU_SOURCE
#include "isolated_fixture.h"

/* ---- the offered items ----------------------------------------------------------------------- */

static void test_offers(void **state)
{
    static const struct {
        const char *method, *params, *part;
    } rows[] = {
        {"resources/read", "\"uri\":\"mortal://m/a\"", "alive"},
        {"resources/read", "\"uri\":\"mortal://m/t/x\"", "alive"},
        {"resources/read", "\"uri\":\"mortal://m/bytes\"", "\"blob\":\"AAH/\""},
        {"resources/read", "\"uri\":\"mortal://m/none\"", "Resource not found"},
        {"resources/read", "\"uri\":\"mortal://m/slow\"", "slow"},
        {"resources/read", "\"uri\":\"mortal://m/who\"", " - tester 2026-07-28 0 1"},
        {"resources/list", "", "mortal://m/c"},
        {"resources/templates/list", "", "mortal://m/t/{what}"},
        {"prompts/list", "", "\"die\""},
        {"prompts/get", "\"name\":\"p\"", "prompted"},
        {"tools/list", "", "\"readOnlyHint\":true"},
        {"tools/call", "\"name\":\"mortal\",\"arguments\":{}", "called"},
        {"tools/call", "\"name\":\"mortal\",\"arguments\":{\"what\":7}", "what"},
        {"completion/complete",
         "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"mortal://m/t/{what}\"},"
         "\"argument\":{\"name\":\"what\",\"value\":\"\"}",
         "\"alive\""},
    };
    fixture f;
    (void)state;
    open_fixture(&f, false, 0);
    for (int i = 0; i < (int)(sizeof(rows) / sizeof(*rows)); i++)
        has(ask(&f, i, rows[i].method, rows[i].params), rows[i].part);
    has(f.notices, "half");
    look(&f);
    assert_int_equal(f.starts, 1);
    assert_false(f.failed);
    close_fixture(&f);
}

static void test_pages(void **state)
{
    fixture f;
    mcp_json_doc *doc = NULL;
    char params[1000];
    (void)state;
    open_fixture(&f, true, 0);
    const char *text = ask(&f, 1, "resources/list", "");
    assert_null(strstr(text, "mortal://m/d"));
    assert_int_equal(mcp_json_parse(mcp_str_from(text), NULL, NULL, &doc, NULL), MCP_OK);
    const mcp_json *result = mcp_json_get(mcp_json_root(doc), "result");
    kill_process(&f); /* a cursor is still valid after the process was restarted */
    snprintf(params, sizeof(params), "\"cursor\":\"%s\"",
             mcp_json_string(mcp_json_get(result, "nextCursor")).ptr);
    text = ask(&f, 2, "resources/list", params);
    has(text, "mortal://m/d");
    assert_null(strstr(text, "secret"));
    assert_null(strstr(text, "mortal://m/c"));
    mcp_json_free(doc);
    close_fixture(&f);
}

/* A peer cannot pose as another principal by sending the members that the parent uses. */
static void test_access(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, true, 0);
    has(ask_uri(&f, 1, "mortal://m/secret"), "Resource not found");
    has(ask_uri(&f, 2, "mortal://m/%73ecret"), "Resource not found");
    has(ask_uri(&f, 3, "mortal://m/who"), " - tester 2026-07-28 1 0");
    mcp_channel_free(f.channel);
    connect_as(&f, "boss");
    has(ask_uri(&f, 4, "mortal://m/who"), " boss tester 2026-07-28 1 1");
    has(ask_uri(&f, 5, "mortal://m/secret"), "alive");
    close_fixture(&f);
}

/* Lists name what lacks a scope. */
static void find_secret(fixture *f, int id)
{
    char params[1000];
    const char *next = strstr(ask(f, id, "resources/list", ""), "\"nextCursor\":\"");
    assert_non_null(next);
    next += strlen("\"nextCursor\":\"");
    snprintf(params, sizeof(params), "\"cursor\":\"%.*s\"", (int)strcspn(next, "\""), next);
    has(ask(f, id + 1, "resources/list", params), "mortal://m/secret");
}

/* The rules get the token with which each request was sent, also in lists that the process makes and
 * for two tokens of one caller at the same time. */
static void test_tokens(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, true, 0);
    mcp_channel *anonymous = f.channel, *deep;
    connect_with(&f, "deep");
    deep = f.channel;
    has(ask_uri(&f, 1, "mortal://m/secret"), "alive");
    connect_with(&f, "flat");
    mcp_channel *flat = f.channel;
    has(ask_uri(&f, 2, "mortal://m/secret"), "this needs \\\"deep\\\"");
    find_secret(&f, 3);
    f.channel = deep;
    say(&f, 5, "resources/read", "\"uri\":\"mortal://m/secret\"");
    f.channel = flat;
    say(&f, 6, "resources/read", "\"uri\":\"mortal://m/secret\"");
    say(&f, 7, "resources/read", "\"uri\":\"mortal://m/a\"");
    has(answer(&f, 5), "alive");
    has(answer(&f, 6), "this needs");
    has(answer(&f, 7), "alive");
    f.channel = anonymous;
    has(ask_uri(&f, 8, "mortal://m/secret"), "Resource not found");
    mcp_channel_free(flat);
    mcp_channel_free(deep);
    close_fixture(&f);
}

/* Asks the process which caller the request comes from. */
static const char *who(fixture *f, int id, const char *meta)
{
    char text[1000];
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\n\"id\":%d,\"method\":\"resources/"
             "read\",\"params\":\r\n{\"uri\"\n:\n"
             "\"mortal://m/who\"%s%s}}",
             id, *meta ? "\n,\"_meta\":" : "", meta);
    assert_int_equal(mcp_channel_receive(f->channel, 0, mcp_str_from(text), mcp_loop_now(f->loop)),
                     MCP_OK);
    return answer(f, id);
}

#define META_OF(client)                                                                   \
    "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\n"                      \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"" client "\",\"version\":\"1\"}," \
    "\"\\u006cibmcp/caller\":{\"principal\":\"boss\",\"restricted\":false},"              \
    "\"a\":\n1,\"io.modelcontextprotocol/clientCapabilities\":{}}"

static void begin_legacy(fixture *f, const char *name)
{
    static int id = 300;
    char text[300];
    snprintf(
        text, sizeof(text),
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"%s\",\"version\":\"1\"}}}",
        id, name);
    mcp_channel_free(f->channel);
    connect_as(f, NULL);
    assert_int_equal(mcp_channel_receive(f->channel, 0, mcp_str_from(text), mcp_loop_now(f->loop)),
                     MCP_OK);
    has(answer(f, id++), "2025-06-18");
}

/* Each caller is described by itself, also if others send the same _meta. */
static void test_same_meta(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, true, 0);
    for (int round = 0; round < 2; round++) {
        int id = 10 * round;
        has(who(&f, id + 1, META_OF("tester")), " - tester 2026-07-28 1 0");
        has(who(&f, id + 2, META_OF("tester")), " - tester 2026-07-28 1 0");
        has(who(&f, id + 3, META_OF("other")), " - other 2026-07-28 1 0");
        mcp_channel_free(f.channel);
        connect_as(&f, "boss");
        has(who(&f, id + 4, META_OF("other")), " boss other 2026-07-28 1 1");
        begin_legacy(&f, "old");
        has(who(&f, id + 5, "{\"a\":1}"), " - old 2025-06-18 1 0");
        has(who(&f, id + 6, ""), " - old 2025-06-18 1 0");
        begin_legacy(&f, "new");
        has(who(&f, id + 7, "{\"a\":1}"), " - new 2025-06-18 1 0");
        has(who(&f, id + 8, ""), " - new 2025-06-18 1 0");
        mcp_channel_free(f.channel);
        connect_as(&f, NULL);
    }
    close_fixture(&f);
}

static void test_mount_fails(void **state)
{
    mcp_error error = {0};
    fixture f;
    (void)state;
    assert_int_equal(open_source(&f, "refuse", false, 0, &error), MCP_EACCESS);
    assert_string_equal(error.text, "mortal: it does not want to");
    close_fixture(&f);
}

/* The longest prefix gets a request, and the process names its prefixes after it has read its
 * source. */
static void test_prefix_of_another(void **state)
{
    static const char *const others[] = {"mortal://", "mortal://m/deep/", "MORTAL://m/deep/"};
    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        mcp_error error = {0};
        fixture f;
        healthy = others[i];
        assert_int_equal(open_source(&f, "m", false, 0, &error), MCP_EEXIST);
        has(error.text, "URIs of another source");
        healthy = NULL;
        close_fixture(&f);
    }
}

/* ---- death ----------------------------------------------------------------------------------- */

/* A process cannot speak for another source. */
static void test_foreign_uris(void **state)
{
    fixture f;
    mcp_error error = {0};
    (void)state;
    if (open_source(&f, "forge", false, 0, &error) != MCP_OK)
        fail_msg("%s", error.text);
    connect_as(&f, NULL);
    const char *page = ask(&f, 1, "resources/list", "");
    has(page, "mortal://m/a");
    has(page, "mortal://m/c");
    assert_null(strstr(page, "git:"));
    has(ask_uri(&f, 2, "mortal://m/forged"), "answered with a URI of another source");
    has(ask_uri(&f, 3, "mortal://m/a"), "alive");
    close_fixture(&f);
}

static void test_killer(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, false, 0);
    has(ask_uri(&f, 1, "mortal://m/a"), "alive");
    has(ask_uri(&f, 2, "mortal://m/die"), "it is refused for ten minutes");
    has(ask_uri(&f, 3, "mortal://m/die"), "it is refused for another");
    has(ask_uri(&f, 4, "mortal://m/a"), "alive");
    has(ask_uri(&f, 5, "mortal://m/exit"), "it is refused for ten minutes");
    look(&f);
    assert_int_equal(f.starts, 2);
    has(ask(&f, 6, "tools/call", "\"name\":\"mortal\",\"arguments\":{\"what\":\"/die\"}"),
        "it is refused for ten minutes");
    has(ask(&f, 7, "tools/call", "\"name\":\"mortal\",\"arguments\":{}"), "called");
    has(ask(&f, 8, "prompts/get", "\"name\":\"p\",\"arguments\":{\"die\":\"\"}"), "ten minutes");
    has(ask(&f, 9, "prompts/get", "\"name\":\"p\""), "prompted");
    close_fixture(&f);
}

/* If several requests were pending when the process ended, each is repeated alone, so only the one
 * that kills the process fails. */
static void test_several(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, false, 0);
    for (int i = 1; i <= 4; i++)
        say(&f, i, "resources/read", "\"uri\":\"mortal://m/slow\"");
    say(&f, 5, "resources/read", "\"uri\":\"mortal://m/die\"");
    say(&f, 6, "resources/read", "\"uri\":\"mortal://m/a\"");
    for (int i = 1; i <= 4; i++)
        has(answer(&f, i), "slow");
    has(answer(&f, 5), "it is refused for ten minutes");
    has(answer(&f, 6), "alive");
    has(ask_uri(&f, 7, "mortal://m/slow"), "slow");
    close_fixture(&f);
}

static void test_set_aside(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, false, 0);
    has(ask_uri(&f, 1, "mortal://m/die/1"), "ten minutes");
    has(ask_uri(&f, 2, "mortal://m/die/2"), "ten minutes");
    has(ask_uri(&f, 3, "mortal://m/a"), "alive"); /* the count of failures is reset */
    has(ask_uri(&f, 4, "mortal://m/die/3"), "ten minutes");
    has(ask_uri(&f, 5, "mortal://m/die/4"), "ten minutes");
    has(ask_uri(&f, 6, "mortal://m/die/5"), "ten minutes");
    has(ask_uri(&f, 7, "mortal://m/a"), "the source is set aside");
    has(ask(&f, 8, "resources/list", ""),
        "\"resources\":[{\"uri\":\"mortal://m/\",\"name\":\"m\",\"description\":");
    close_fixture(&f);
}

/* Equal requests count as one, and only the first of them is repeated alone in a process. */
static void test_equal_ones(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, false, 0);
    has(ask_uri(&f, 1, "mortal://m/a"), "alive");
    for (int i = 2; i <= 6; i++)
        say(&f, i, "resources/read", "\"uri\":\"mortal://m/die\"");
    for (int i = 2; i <= 6; i++)
        has(answer(&f, i), "it is refused for");
    has(ask_uri(&f, 7, "mortal://m/a"), "alive");
    look(&f);
    assert_true(f.starts <= 3);
    close_fixture(&f);
}

static void test_hangs(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, false, 1500);
    say(&f, 1, "resources/read", "\"uri\":\"mortal://m/hang\"");
    step(&f, 10);
    has(answer(&f, 1), "it did not answer in time");
    has(ask_uri(&f, 2, "mortal://m/hang"), "it is refused for another");
    has(ask_uri(&f, 3, "mortal://m/a"), "alive");
    close_fixture(&f);
}

/* A process that was stopped is replaced long before the time of its requests is over. What has side
 * effects is not repeated. */
static void test_stopped(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, false, 0);
    has(ask_uri(&f, 1, "mortal://m/a"), "alive");
    look(&f);
    assert_int_equal(kill((pid_t)f.pid, SIGSTOP), 0);
    say(&f, 2, "tools/call", "\"name\":\"mortal\",\"arguments\":{}");
    has(ask_uri(&f, 3, "mortal://m/a"), "alive");
    has(answer(&f, 2), "no longer answers, not even a ping");
    has(logged, "mortal:m: it no longer answers, not even a ping");
    has(ask_uri(&f, 4, "mortal://m/a"), "alive");
    close_fixture(&f);
}

/* A request whose work takes longer than that disturbs nothing. One that keeps the loop of the process
 * busy is found, and refused after it did so twice. */
static void test_long_and_spinning(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, false, 0);
    has(ask_uri(&f, 1, "mortal://m/long"), "slow");
    look(&f);
    assert_int_equal(f.starts, 1);
    has(ask_uri(&f, 2, "mortal://m/hang"), "it is refused for ten minutes");
    has(ask_uri(&f, 3, "mortal://m/a"), "alive");
    close_fixture(&f);
}

/* A request that waited behind a cancelled one is repeated, and is not refused afterwards. */
static void test_behind_cancelled(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, false, 1500);
    has(ask_uri(&f, 1, "mortal://m/a"), "alive");
    say(&f, 2, "resources/read", "\"uri\":\"mortal://m/hang\"");
    step(&f, 10);
    cancel(&f, 2);
    say(&f, 3, "resources/read", "\"uri\":\"mortal://m/b\"");
    has(answer(&f, 3), "alive");
    has(ask_uri(&f, 4, "mortal://m/b"), "alive");
    has(ask_uri(&f, 5, "mortal://m/hang"), "it did not answer in time");
    close_fixture(&f);
}

/* The same if the cancelled one ran alone, because the process may have ended because of it. */
static void test_behind_cancelled_trial(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, false, 3000);
    has(ask_uri(&f, 1, "mortal://m/a"), "alive");
    say(&f, 2, "resources/read", "\"uri\":\"mortal://m/hang\"");
    say(&f, 3, "resources/read", "\"uri\":\"mortal://m/b\"");
    step(&f, 10);
    kill_process(&f); /* both are repeated alone */
    for (uint64_t starts = f.starts; f.starts == starts; look(&f))
        step(&f, 10);
    for (int i = 0; i < 50; i++) /* until the first of them runs */
        step(&f, 10);
    cancel(&f, 2);
    has(answer(&f, 3), "alive");
    has(ask_uri(&f, 4, "mortal://m/b"), "alive");
    close_fixture(&f);
}

static void test_cancelled(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, false, 0);
    has(ask_uri(&f, 1, "mortal://m/a"), "alive");
    say(&f, 2, "resources/read", "\"uri\":\"mortal://m/slow\"");
    step(&f, 5);
    cancel(&f, 2);
    /* The cancelled request may be the one that kills the process, so request 3 is repeated. */
    say(&f, 3, "resources/read", "\"uri\":\"mortal://m/slow\"");
    step(&f, 5);
    step(&f, 5);
    kill_process(&f);
    has(answer(&f, 3), "slow");
    assert_int_equal(f.answers[2], 0);
    close_fixture(&f);
}

static void test_subscribed(void **state)
{
    fixture f;
    (void)state;
    open_fixture(&f, false, 0);
    say(&f, 1, "subscriptions/listen",
        "\"notifications\":{\"resourcesListChanged\":true,"
        "\"resourceSubscriptions\":[\"mortal://m/a\",\"mortal://m\"]}");
    hear(&f, "acknowledged");
    has(ask_uri(&f, 2, "mortal://m/a"), "alive");
    /* The resource may have changed before the process watched it. */
    hear(&f, "resources/updated");
    hear(&f, "resources/list_changed");
    for (int i = 0; i < 50; i++)
        step(&f, 5);
    f.notices[0] = 0;
    has(ask(&f, 3, "tools/call", "\"name\":\"mortal\",\"arguments\":{\"what\":\"change\"}"),
        "alive");
    hear(&f, "resources/updated");
    hear(&f, "resources/list_changed");
    has(f.notices, "\"mortal://m/a\"");
    assert_null(
        strstr(f.notices, "\"mortal://m\"")); /* a resource that contains it has not changed */
    f.notices[0] = 0;
    kill_process(&f);
    hear(&f, "resources/updated");
    hear(&f, "resources/list_changed");
    close_fixture(&f);
}

/* The process is killed at any moment, whatever the requests: each gets one answer, and nothing is
 * leaked. */
static void test_killed_anywhere(void **state)
{
    static const char *const asked[][2] = {
        {"resources/read", "\"uri\":\"mortal://m/a\""},
        {"resources/read", "\"uri\":\"mortal://m/t/x\""},
        {"resources/list", ""},
        {"resources/templates/list", ""},
        {"prompts/list", ""},
        {"tools/list", ""},
        {"prompts/get", "\"name\":\"p\""},
        {"tools/call", "\"name\":\"mortal\",\"arguments\":{}"},
        {"completion/complete",
         "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"mortal://m/t/{what}\"},"
         "\"argument\":{\"name\":\"what\",\"value\":\"\"}"},
    };
    enum { METHODS = sizeof(asked) / sizeof(*asked), MOMENTS = 12 };
    (void)state;
    for (int method = 0; method < METHODS; method++) {
        fixture f;
        size_t before = count_files();
        open_fixture(&f, false, 0);
        int id = 0;
        for (int moment = 0; moment < MOMENTS; moment++) {
            say(&f, id++, asked[method][0], asked[method][1]);
            say(&f, id++, asked[method][0], asked[method][1]);
            for (int i = 0; i < moment; i++)
                step(&f, (uint64_t)i % 3);
            kill_process(&f);
            say(&f, id++, asked[method][0], asked[method][1]);
            for (int i = id - 3; i < id; i++)
                answer(&f, i);
        }
        for (int i = 0; i < 20; i++)
            step(&f, 1);
        for (int i = 0; i < id; i++)
            assert_int_equal(f.answers[i], 1);
        assert_int_equal(mcp_channel_in_flight(f.channel), 0);
        close_fixture(&f);
        assert_int_equal(count_files(), before);
    }
}

/* ---- no memory ------------------------------------------------------------------------------- */

static int until_failure = -1; /* number of allocations until one fails; less than 0 means never */

static void *allocate(size_t size, void *user)
{
    (void)user;
    return until_failure >= 0 && until_failure-- == 0 ? NULL : malloc(size);
}

static void *resize(void *ptr, size_t size, void *user)
{
    (void)user;
    return until_failure >= 0 && until_failure-- == 0 ? NULL : realloc(ptr, size);
}

static void release(void *ptr, void *user)
{
    (void)user;
    free(ptr);
}

/* A request fails if memory is exhausted. Later ones are not affected. If an answer of the process is
 * lost, the request fails after its time limit. */
static void test_no_memory(void **state)
{
    static const mcp_allocator failing = {
        .allocate = allocate, .resize = resize, .release = release};
    enum { LIMIT_MS = 5000 };
    bool failed = true;
    (void)state;
    memory = &failing;
    for (int n = 0; failed; n++) {
        fixture f;
        open_fixture(&f, false, LIMIT_MS);
        has(ask_uri(&f, 1, "mortal://m/a"), "alive");
        until_failure = n;
        has(ask_uri(&f, 2, "mortal://m/a"), "\"id\":2");
        failed = until_failure < 0;
        until_failure = -1;
        has(ask_uri(&f, 3, "mortal://m/b"), "alive");
        close_fixture(&f);
    }
    memory = NULL;
}

#define EVERY_SOURCE                                                                            \
    cmocka_unit_test(test_offers), cmocka_unit_test(test_pages), cmocka_unit_test(test_access), \
        cmocka_unit_test(test_tokens), cmocka_unit_test(test_same_meta),                        \
        cmocka_unit_test(test_foreign_uris), cmocka_unit_test(test_killer),                     \
        cmocka_unit_test(test_several), cmocka_unit_test(test_set_aside),                       \
        cmocka_unit_test(test_equal_ones), cmocka_unit_test(test_hangs),                        \
        cmocka_unit_test(test_behind_cancelled), cmocka_unit_test(test_behind_cancelled_trial), \
        cmocka_unit_test(test_cancelled), cmocka_unit_test(test_subscribed),                    \
        cmocka_unit_test(test_killed_anywhere)

int main(void)
{
    static const struct CMUnitTest learnt[] = {
        cmocka_unit_test(test_mount_fails),
        cmocka_unit_test(test_prefix_of_another),
        EVERY_SOURCE,
    };
    static const struct CMUnitTest from_description[] = {
        cmocka_unit_test(test_prefix_of_another),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_stopped),
        cmocka_unit_test(test_long_and_spinning),
        EVERY_SOURCE,
    };
    int failed = cmocka_run_group_tests(learnt, NULL, NULL);
    described = true;
    return cmocka_run_group_tests(from_description, NULL, NULL) + failed;
}
