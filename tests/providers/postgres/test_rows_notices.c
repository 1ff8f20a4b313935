/* Notices of changes with roles of callers (the option run_as): a caller is told exactly of what its
 * role sees, in both eras; the cost depends on the number of roles; nothing is told after the end of
 * a token.
 */
#define _GNU_SOURCE
#include "callers.h"

#include <sys/stat.h>

/* A peer that keeps all notifications. */
typedef struct ear {
    peer p;
    char heard[256 << 10];
    size_t len;
} ear;

static peer shop;
static ear ada, bob, more[20];
static char gate[160];

static const char setup[] =
    "CREATE ROLE gate LOGIN NOINHERIT; CREATE ROLE ada; CREATE ROLE bob; GRANT ada, bob TO gate;"
    "CREATE TABLE note(id integer PRIMARY KEY, owner text, body text, secret text);"
    "ALTER TABLE note ENABLE ROW LEVEL SECURITY;"
    "CREATE POLICY own ON note USING (owner = current_user OR owner = "
    "current_setting('app.tenant', true));"
    "INSERT INTO note VALUES (1, 'ada', 'a', ''), (2, 'bob', 'b', ''), (3, 'gate', 'g', ''),"
    "(4, 't4', 't', '');"
    "CREATE TABLE fence(id integer PRIMARY KEY, n integer); INSERT INTO fence VALUES (1, 0);"
    "CREATE TABLE of_bob(id integer PRIMARY KEY); GRANT SELECT ON of_bob TO bob;"
    "GRANT SELECT (id, owner, body) ON note TO ada; GRANT SELECT ON note TO bob;"
    "GRANT SELECT ON fence TO ada, bob";

static const char run_as[] =
    "{\"claim\":\"dbrole\",\"issuer\":\"" ISSUER "\",\"roles\":{\"a\":\"ada\",\"b\":\"bob\"},"
    "\"settings\":{\"app.tenant\":\"tenant\"}}";
static const char queries[] = "[{\"name\":\"all\",\"sql\":\"SELECT body FROM note ORDER BY id;\"},"
                              "{\"name\":\"some\",\"sql\":\"SELECT body FROM note WHERE id > $1\","
                              "\"parameters\":[{\"name\":\"from\",\"default\":0}]}]";

#define LISTED  "resources/list_changed"
#define NOTE(u) "postgres://shop/public/note/" u "\""
#define ALL     "postgres://shop/$query/all\""
#define FENCE   "postgres://shop/public/fence/row/1\""

#define URIS                                                                                    \
    "\"" NOTE("row/01") ",\"" NOTE("row/1") ",\"" NOTE("row/2") ",\"" NOTE("row/3") ",\"" NOTE( \
        "cell/body/1") ",\"" NOTE("rows") ",\"" ALL ",\"postgres://shop/public/note\",\"" FENCE

static void hear(mcp_channel *channel, mcp_exchange at, mcp_str message, void *user)
{
    ear *e = user;
    keep(channel, at, message, &e->p);
    if (!memmem(message.ptr, message.len, "\"method\":\"notifications/", 24))
        return;
    assert_true(e->len + message.len + 1 < sizeof(e->heard));
    memcpy(e->heard + e->len, message.ptr, message.len);
    e->heard[e->len += message.len] = 0;
}

static void forget(ear *e)
{
    e->heard[e->len = 0] = 0;
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)) != NULL; text++)
        n++;
    return n;
}

static mcp_identity *identity_of(const char *claims, int64_t expires_ms)
{
    mcp_identity *made = NULL;
    assert_int_equal(
        mcp_identity_new(MCP_OPTIONS(mcp_identity_options, .principal = "p", .issuer = ISSUER,
                                     .claims = claims, .expires_ms = expires_ms),
                         &made, NULL),
        MCP_OK);
    return made;
}

static void open_ear(ear *e, mcp_identity *identity)
{
    memset(e, 0, sizeof(*e));
    e->p.server = shop.server;
    e->p.loop = loop;
    assert_int_equal(mcp_server_connect(shop.server,
                                        MCP_OPTIONS(mcp_channel_options, .send = hear, .user = e,
                                                    .shared_stream = true, .identity = identity),
                                        &e->p.channel, NULL),
                     MCP_OK);
    mcp_identity_unref(identity);
}

static void listen_to(ear *e, const char *uris)
{
    static char params[4096];
    snprintf(params, sizeof(params),
             "\"notifications\":{\"resourcesListChanged\":true,\"resourceSubscriptions\":[%s]}",
             uris);
    peer_send(&e->p, 100, "subscriptions/listen", params);
}

static void say(ear *e, const char *message)
{
    mcp_channel_receive(e->p.channel, 0, mcp_str_from(message), now());
}

static void listen_legacy(ear *e, const char *uris)
{
    char text[1000];
    say(e,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\""
        ":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}");
    say(e, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    for (const char *at = uris; (at = strchr(at, '"')) != NULL; at = strchr(at + 1, '"') + 1) {
        int len = (int)(strchr(at + 1, '"') - at) + 1;
        snprintf(text, sizeof(text),
                 "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/subscribe\",\"params\":{"
                 "\"uri\":%.*s}}",
                 len, at);
        say(e, text);
    }
}

static void step(void)
{
    mcp_loop_step(loop, 10);
    mcp_channel_tick(ada.p.channel, now());
    mcp_channel_tick(bob.p.channel, now());
    for (size_t i = 0; i < 20; i++)
        if (more[i].p.channel)
            mcp_channel_tick(more[i].p.channel, now());
}

/* Runs the loop until the ear has heard `part`. Returns false after `ms` milliseconds. */
static bool hears(const ear *e, const char *part, int64_t ms)
{
    for (int64_t until = now() + ms; !strstr(e->heard, part); step())
        if (now() > until)
            return false;
    return true;
}

static void wait_for(const ear *e, const char *part)
{
    if (!hears(e, part, 60000))
        fail_msg("nothing was heard of %s in %s", part, e->heard);
}

/* Changes a row that everybody sees and waits for its notices, so that everything before them has
 * been told too: the statements run in the order of the changes. It is repeated, because the server
 * may not be connected yet. */
static void await_fence(void)
{
    for (int64_t until = now() + 60000; now() < until;) {
        run_sql("UPDATE fence SET n = n + 1; SELECT pg_notify('mcp_changes', "
                "'{\"schema\":\"public\",\"table\":\"fence\",\"key\":[\"1\"]}')");
        if (hears(&ada, FENCE, 2000) && hears(&bob, FENCE, 2000))
            return;
    }
    fail_msg("no fence: %s; %s", ada.heard, bob.heard);
}

static void fence(void)
{
    forget(&ada);
    forget(&bob);
    await_fence();
}

static void open_shop(void)
{
    mcp_postgres_options o = {.conninfo = gate, .poll_ms = 50};
    if (shop_open(&shop, run_as, queries, o) != MCP_OK)
        fail_msg("%s", shop.error.text);
}

static void open_both(bool legacy)
{
    open_shop();
    open_ear(&ada, identity_of("{\"dbrole\":\"a\",\"tenant\":\"x\"}", 0));
    open_ear(&bob, identity_of("{\"dbrole\":\"b\",\"tenant\":\"t4\"}", 0));
    (legacy ? listen_legacy : listen_to)(&ada, URIS);
    (legacy ? listen_legacy : listen_to)(&bob, URIS);
    fence();
    fence();
}

static void close_both(void)
{
    mcp_channel_free(ada.p.channel);
    mcp_channel_free(bob.p.channel);
    ada.p.channel = bob.p.channel = NULL;
    peer_close(&shop);
}

#define TELL(key) \
    "SELECT pg_notify('mcp_changes', '{\"schema\":\"public\",\"table\":\"note\"" key "}');"
#define KEY(k) ",\"key\":[\"" k "\"]"

/* What each change of the table lets Ada and Bob hear. */
static const struct {
    const char *sql;
    const char *ada[5], *bob[5];
} changes[] = {
    {"UPDATE note SET body = body || '.' WHERE id = 1;" TELL(KEY("1")),
     {NOTE("row/1"), NOTE("cell/body/1"), NOTE("rows"), ALL},
     {NULL}},
    {"UPDATE note SET body = body || '.' WHERE id = 2;" TELL(KEY("2")),
     {NULL},
     {NOTE("row/2"), NOTE("rows"), ALL}},
    /* a row disappears for a role that saw it, and comes again */
    {"DELETE FROM note WHERE id = 1;" TELL(KEY("1")),
     {NOTE("row/1"), NOTE("cell/body/1"), NOTE("rows"), ALL},
     {NULL}},
    {"INSERT INTO note VALUES (1, 'ada', 'a3', '');" TELL(""),
     {NOTE("row/1"), NOTE("cell/body/1"), NOTE("rows"), ALL},
     {NULL}},
    {"UPDATE note SET owner = 'bob' WHERE id = 1;" TELL(KEY("1")),
     {NOTE("row/1"), NOTE("cell/body/1"), NOTE("rows"), ALL},
     {NOTE("row/1"), NOTE("cell/body/1"), NOTE("rows"), ALL}},
    {"UPDATE note SET owner = 'ada' WHERE id = 1;" TELL(KEY("1")),
     {NOTE("row/1"), NOTE("cell/body/1"), NOTE("rows"), ALL},
     {NOTE("row/1"), NOTE("cell/body/1"), NOTE("rows"), ALL}},
    /* nothing of it is visible: a row of nobody, a column, and notices without a change */
    {"UPDATE note SET body = body || '.' WHERE id = 3;" TELL(KEY("3")), {NULL}, {NULL}},
    {"UPDATE note SET secret = secret || '.' WHERE id = 1;" TELL(KEY("1")), {NULL}, {NULL}},
    {TELL(KEY("1")) TELL(KEY("2")) TELL(KEY("3")), {NULL}, {NULL}},
    {TELL("") "SELECT pg_notify('mcp_changes', 'anything')", {NULL}, {NULL}},
    /* rows of the tenant of a setting */
    {"UPDATE note SET body = body || '.' WHERE id = 4;" TELL(KEY("4")),
     {NULL},
     {NOTE("rows"), ALL}},
    {"UPDATE note SET body = body || '.' WHERE id = 2; SELECT pg_notify('mcp_changes', 'anything')",
     {NULL},
     {NOTE("row/2"), NOTE("rows"), ALL}},
};

static void check_heard(const ear *e, const char *const parts[5], size_t i, const char *who)
{
    size_t n = 0;
    for (; n < 5 && parts[n]; n++)
        if (count(e->heard, parts[n]) != 1)
            fail_msg("change %zu: %s did not hear of %s once: %s", i, who, parts[n], e->heard);
    if (count(e->heard, "resources/updated") != n + count(e->heard, FENCE))
        fail_msg("change %zu: %s heard of something else: %s", i, who, e->heard);
}

static void test_changes(void **state)
{
    (void)state;
    for (int legacy = 0; legacy < 2; legacy++) {
        open_both(legacy);
        for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
            forget(&ada);
            forget(&bob);
            run_sql(changes[i].sql);
            await_fence();
            check_heard(&ada, changes[i].ada, i, "ada");
            check_heard(&bob, changes[i].bob, i, "bob");
        }
        close_both();
    }
}

/* The list, descriptions, and rows that become visible by a privilege or a policy. */
static void test_privileges(void **state)
{
    (void)state;
    open_both(false);
    run_sql("CREATE TABLE unseen(id integer PRIMARY KEY)");
    run_sql("GRANT SELECT ON of_bob TO ada");
    wait_for(&ada, LISTED);
    fence();
    assert_null(strstr(bob.heard, LISTED));
    run_sql("REVOKE SELECT ON of_bob FROM ada");
    wait_for(&ada, LISTED);
    wait_for(&ada, "postgres://shop/public/note\"");
    fence();
    forget(&ada);
    run_sql("CREATE POLICY more ON note TO ada USING (id = 3)");
    wait_for(&ada, NOTE("row/3"));
    wait_for(&ada, NOTE("rows"));
    fence();
    assert_null(strstr(bob.heard, NOTE("rows")));
    run_sql("DROP POLICY more ON note; DROP TABLE unseen");
    close_both();
}

/* Who cannot subscribe, and what cannot be watched. */
static void test_refused(void **state)
{
    (void)state;
    open_both(false);
    open_ear(&more[0], identity_of("{\"dbrole\":\"other\",\"tenant\":\"x\"}", 0));
    listen_to(&more[0], URIS);
    assert_non_null(strstr(more[0].heard, "\"resourceSubscriptions\":[]"));
    open_ear(&more[1], identity_of("{\"dbrole\":\"a\",\"tenant\":\"x\"}", 0));
    listen_to(&more[1], "\"postgres://shop/$query/some\",\"postgres://shop/public/no/row/1\"");
    assert_non_null(
        strstr(more[1].heard, "\"resourceSubscriptions\":[\"postgres://shop/public/no/row/1\"]"));
    run_sql("GRANT SELECT ON of_bob TO ada");
    wait_for(&ada, LISTED);
    fence();
    assert_null(strstr(more[0].heard, LISTED));
    run_sql("REVOKE SELECT ON of_bob FROM ada");
    for (size_t i = 0; i < 2; i++) {
        mcp_channel_free(more[i].p.channel);
        more[i].p.channel = NULL;
    }
    close_both();
}

/* Returns how often the database's log has a text. */
static size_t logged(const char *part)
{
    char path[100];
    struct stat st;
    snprintf(path, sizeof(path), "%s/log", top);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    char *text = calloc(1, (size_t)st.st_size + 1);
    assert_non_null(text);
    (void)!fread(text, 1, (size_t)st.st_size, f);
    fclose(f);
    size_t n = count(text, part);
    free(text);
    return n;
}

/* Subscribers with the same role and settings cost one statement for each change, whatever their
 * number is. Many changes in a short time cost few statements. */
static void test_cost(void **state)
{
    static const char part[] = "FROM (SELECT \"id\", \"owner\", \"body\" FROM \"public\".\"note\" "
                               "WHERE \"id\"";
    (void)state;
    open_shop();
    open_ear(&bob, identity_of("{\"dbrole\":\"b\",\"tenant\":\"t4\"}", 0));
    open_ear(&ada, identity_of("{\"dbrole\":\"a\",\"tenant\":\"x\"}", 0));
    for (size_t i = 0; i < 20; i++) {
        open_ear(&more[i], identity_of("{\"tenant\":\"x\",\"dbrole\":\"a\"}", 0));
        listen_to(&more[i], "\"" NOTE("row/1") ",\"" FENCE);
    }
    listen_to(&ada, "\"" FENCE);
    listen_to(&bob, "\"" FENCE);
    fence();
    run_sql("ALTER SYSTEM SET log_statement = 'all'");
    run_sql("SELECT pg_reload_conf()");
    while (!logged("SELECT 'is logged'"))
        run_sql("SELECT 'is logged'");
    fence();
    fence();
    size_t before = logged(part);
    for (size_t i = 0; i < 20; i++)
        forget(&more[i]);
    run_sql("UPDATE note SET body = body || '.' WHERE id = 1;" TELL(KEY("1")));
    for (size_t i = 0; i < 20; i++)
        wait_for(&more[i], NOTE("row/1"));
    assert_int_equal(logged(part) - before, 1);
    for (size_t i = 0; i < 20; i++)
        forget(&more[i]);
    for (int i = 0; i < 200; i++)
        run_sql("UPDATE note SET body = body || '.' WHERE id = 1;" TELL(KEY("1")));
    for (size_t i = 0; i < 20; i++)
        wait_for(&more[i], NOTE("row/1"));
    fence();
    size_t n = logged(part) - before;
    if (n < 2 || n > 100)
        fail_msg("200 changes cost %zu statements", n);
    run_sql("ALTER SYSTEM RESET log_statement");
    run_sql("SELECT pg_reload_conf()");
    for (size_t i = 0; i < 20; i++) {
        mcp_channel_free(more[i].p.channel);
        more[i].p.channel = NULL;
    }
    close_both();
}

static int64_t wall(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Subscribes with a token that lives for `ms`, and waits until it has expired. Returns false if it
 * had expired before the subscription was accepted. */
static bool subscribe_for(int64_t ms)
{
    int64_t end = wall() + ms;
    open_ear(&more[0], identity_of("{\"dbrole\":\"a\",\"tenant\":\"x\"}", end));
    listen_to(&more[0], URIS);
    bool accepted = strstr(more[0].heard, "/acknowledged") && strstr(more[0].heard, NOTE("row/1"));
    while (accepted && wall() <= end)
        mcp_loop_step(loop, 10);
    if (!accepted)
        mcp_channel_free(more[0].p.channel);
    return accepted;
}

/* Nothing is told to a caller whose token has expired, also if others have the same role. */
static void test_expired(void **state)
{
    (void)state;
    open_both(false);
    assert_true(subscribe_for(500) || subscribe_for(20000));
    fence();
    forget(&more[0]);
    run_sql("UPDATE note SET body = 'late' WHERE id = 1;" TELL(KEY("1")));
    wait_for(&ada, NOTE("row/1"));
    run_sql("GRANT SELECT ON of_bob TO ada");
    wait_for(&ada, LISTED);
    fence();
    assert_int_equal(more[0].len, 0);
    run_sql("REVOKE SELECT ON of_bob FROM ada");
    mcp_channel_free(more[0].p.channel);
    more[0].p.channel = NULL;
    close_both();
}

/* Subscribers that leave while their rows are selected, and a database that restarts: what was
 * missed is told, and nothing else. */
static void test_gone(void **state)
{
    (void)state;
    open_both(false);
    for (size_t i = 0; i < 20; i++) {
        open_ear(&more[i], identity_of("{\"dbrole\":\"b\",\"tenant\":\"new\"}", 0));
        listen_to(&more[i], URIS);
        for (int64_t until = now() + (int64_t)i; now() < until;)
            mcp_loop_step(loop, 1);
        mcp_channel_free(more[i].p.channel);
        more[i].p.channel = NULL;
    }
    fence();
    server("stop");
    server("start");
    forget(&ada);
    forget(&bob);
    run_sql("UPDATE note SET body = 'missed' WHERE id = 1");
    wait_for(&ada, NOTE("row/1"));
    for (size_t i = 0; i < 2; i++)
        fence();
    assert_null(strstr(bob.heard, NOTE("row/1")));
    close_both();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes), cmocka_unit_test(test_privileges),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_cost),
        cmocka_unit_test(test_expired), cmocka_unit_test(test_gone),
    };
    int rc = make_database();
    if (rc == 0) {
        run_sql(setup);
        snprintf(gate, sizeof(gate), "host=%s user=gate dbname=shop" PATIENT, top);
        rc = cmocka_run_group_tests(tests, NULL, NULL);
    }
    server("remove");
    return rc;
}
