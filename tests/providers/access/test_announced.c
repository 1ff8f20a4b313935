/* What is subscribed to in another spelling, with the sources in the server and in processes of their
 * own, by subscriptions/listen and by resources/subscribe: what is denied is neither accepted nor
 * announced, and what is allowed is.
 */
#define _GNU_SOURCE
#include "world.h"

static peer p;

static const char script[] =
    "mkdir -p docs prompts; echo x >docs/plan.key; echo x >docs/open.md; git init -q -b main app; "
    "cd app; for f in plan.txt open.md; do echo x >$f; done; git add .; git commit -q -m first; cd "
    "..; " SHOP_SCRIPT;

static const rule these[] = {{DENY, "git://app/*/plan.txt"},
                             {DENY, "git://app/-/log/**"},
                             {DENY, "sqlite://shop/sale"},
                             {DENY, "sqlite://shop/sale/**"},
                             {DENY, "**/*.key"}};

/* Spellings of resources, which all change, except that QUIET does not exist yet. */
static const struct {
    const char *uri;
    enum { DENIED, ALLOWED, NOTHING, QUIET } is;
} spellings[] = {
    {"git://app/main/plan.txt", DENIED},
    {"Git://app/main/plan.txt", DENIED},
    {"gIt://app/HEAD/plan.txt", DENIED},
    {"git://app/HEAD/plan.txt/", DENIED},
    {"git://app/main/plan%2Etxt", DENIED},
    {"git://app/%6dain/plan.txt?line=1", NOTHING},
    {"git://app/%6dain/plan.txt?offset=1", DENIED},
    {"git://app/main//plan.txt", NOTHING},
    {"git://app/main/plan.txt#x", NOTHING},
    {"git://app/main/x/../plan.txt", NOTHING},
    {"git://app/-/log/main/", DENIED},
    {"GIT://app/-/log/HEAD/open.md?limit=1", DENIED},
    {"git://app/main/open.md", ALLOWED},
    {"Git://app/main/open.md", ALLOWED},
    {"git://app/HEAD/open.md/", ALLOWED},
    {"git://app/%48EAD/open%2emd?offset=1", ALLOWED},
    {"git://app/main/open.md#x", NOTHING},
    {"sqlite://shop/sale/rows", DENIED},
    {"Sqlite://shop/sale/rows", DENIED},
    {"sqlite://shop/%73ale/row/1", DENIED},
    {"sqlite://shop/sale/rows?limit=1", DENIED},
    {"sQLITE://shop/sale/cell/word/1", DENIED},
    {"sqlite://shop/customer/rows", ALLOWED},
    {"sqlite://shop/SALE/rows", QUIET},
    {"sqlite://shop/Customer/row/1", QUIET},
    {"Sqlite://shop/customer/rows?limit=1", ALLOWED},
    {"sqlite://shop/%63ustomer/row/1", ALLOWED},
    {"file://$T/docs/plan.key", DENIED},
    {"File://$T/docs/plan.key/", DENIED},
    {"file://$T/docs/plan%2Ekey", DENIED},
    {"file://$T/docs/open.md", ALLOWED},
    {"FILE://$T/docs/%6Fpen.md", ALLOWED},
};

static char uris[COUNT(spellings)][200];
static bool announced[COUNT(spellings)];

static void spell_all(void)
{
    for (size_t i = 0; i < COUNT(spellings); i++) {
        const char *t = strstr(spellings[i].uri, "$T");
        int before = t ? (int)(t - spellings[i].uri) : 0;
        snprintf(uris[i], sizeof(uris[i]), "%.*s%s%s", before, spellings[i].uri, t ? top : "",
                 t ? t + 2 : spellings[i].uri);
    }
}

static void on_updated(mcp_str message)
{
    char quoted[220];
    for (size_t i = 0; i < COUNT(spellings); i++) {
        snprintf(quoted, sizeof(quoted), "\"uri\":\"%.199s\"", uris[i]);
        announced[i] |= memmem(message.ptr, message.len, quoted, strlen(quoted)) != NULL;
    }
}

static void say(const char *message)
{
    assert_int_equal(mcp_channel_receive(p.channel, 0, mcp_str_from(message), now()), MCP_OK);
}

static bool subscribe_legacy(const char *uri)
{
    char message[8000];
    size_t before = p.replies;
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"resources/subscribe\",\"params\":{\"uri\":"
             "\"%s\"}}",
             uri);
    say(message);
    assert_int_equal(p.replies, before + 1); /* it does not wait for a process */
    return strstr(p.reply, "\"result\":{}") != NULL;
}

static void greet(void)
{
    say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
    say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

static bool listen_to(size_t i)
{
    char params[8000];
    p.reply[0] = 0;
    snprintf(params, sizeof(params), "\"notifications\":{\"resourceSubscriptions\":[\"%s\"]}",
             uris[i]);
    peer_send(&p, 100 + (int)i, "subscriptions/listen", params);
    check_reply(uris[i], p.reply, (const char *const[5]){"acknowledged"});
    return strstr(p.reply, uris[i]) != NULL;
}

static void change_all(void)
{
    char command[700];
    snprintf(
        command, sizeof(command),
        "cd %s; for f in plan.txt open.md; do echo y >>app/$f; done; git -C app commit -qam m; "
        "sqlite3 shop.db \"UPDATE sale SET word = word || 'x'; UPDATE customer SET word = word "
        "|| 'x'\"; echo y >>docs/plan.key; echo y >>docs/open.md",
        top);
    assert_int_equal(system(command), 0);
}

/* Waits until all that is expected was announced, and a moment for what is not. */
static void wait_for(const bool *expected)
{
    size_t never = 0;
    bool all = false;
    for (int64_t until = now() + 60000; !all && now() < until;) {
        run_until(&p, &never, 1, 20);
        all = true;
        for (size_t i = 0; i < COUNT(spellings); i++)
            all = all && (announced[i] || !expected[i]);
    }
    run_until(&p, &never, 1, 100);
}

static void change_and_wait(const bool *expected)
{
    memset(announced, 0, sizeof(announced));
    change_all();
    wait_for(expected);
}

static void check_announced(const bool *expected)
{
    change_and_wait(expected);
    for (size_t i = 0; i < COUNT(spellings); i++)
        if (announced[i] != expected[i])
            fail_msg("%s is %sannounced", uris[i], announced[i] ? "" : "not ");
}

static void check(bool legacy)
{
    static const rule none[] = {{ALLOW, "**"}}, all[] = {{DENY, "**"}};
    bool expected[COUNT(spellings)], silence[COUNT(spellings)] = {false};
    spell_all();
    p.updated = on_updated;
    if (legacy)
        greet();
    set_rules(&p, these, COUNT(these));
    for (size_t i = 0; i < COUNT(spellings); i++) {
        expected[i] = spellings[i].is == ALLOWED || spellings[i].is == QUIET;
        if ((legacy ? subscribe_legacy(uris[i]) : listen_to(i)) != expected[i])
            fail_msg("%s is %saccepted: %s", uris[i], expected[i] ? "not " : "", p.reply);
    }
    for (size_t i = 0; i < COUNT(spellings); i++)
        expected[i] = spellings[i].is == ALLOWED;
    /* A process that has just started announces all that may have changed before, which includes
     * what does not exist. After these changes were announced, it watches. */
    change_and_wait(expected);
    check_announced(expected);
    /* Rules are asked again at each announcement. */
    set_rules(&p, all, COUNT(all));
    check_announced(silence);
    set_rules(&p, none, COUNT(none));
    check_announced(expected);
}

static void test_here(void **state)
{
    (void)state;
    for (int legacy = 0; legacy < 2; legacy++) {
        open_world(&p, new_loop());
        check(legacy);
        close_world(&p);
    }
}

static void test_apart(void **state)
{
    (void)state;
    for (int legacy = 0; legacy < 2; legacy++) {
        if (!open_world_apart(&p))
            skip();
        check(legacy);
        close_world(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_here),
        cmocka_unit_test(test_apart),
    };
    return run_in_world(tests, .script = script);
}
