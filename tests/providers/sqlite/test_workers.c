/* The SQLite provider on a real loop with workers: concurrent writers, locks, cancellation,
 * watches. */
#define _GNU_SOURCE
#include "database.h"

#include <mcp/io.h>
#include <pthread.h>
#include <stdatomic.h>

static peer p;

static void begin(mcp_sqlite_options *o)
{
    memset(&p, 0, sizeof(p));
    assert_int_equal(mcp_loop_new(NULL, &p.loop, NULL), MCP_OK);
    assert_int_equal(peer_open(&p, o, mcp_loop_host(p.loop), NULL), MCP_OK);
}

static void expect(const char *method, const char *params, const char *has)
{
    const char *reply = ask_and_wait(&p, method, params);
    if (!strstr(reply, has))
        fail_msg("%s lacks %s: %.1000s", params, has, reply);
}

static bool exists(const char *ending)
{
    char name[128];
    snprintf(name, sizeof(name), "%s%s", path, ending);
    return access(name, F_OK) == 0;
}

static sqlite3 *open_writer(const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    return db;
}

/* ---- locks ----------------------------------------------------------------------------------- */

/* While another process has an exclusive lock, the loop continues. The answer arrives when the lock
 * is released. */
static void test_locked(void **state)
{
    mcp_sqlite_options o = {0};
    (void)state;
    begin(&o);
    expect(READ, URI("pair/row/1"), "\\\"a\\\":1");
    sqlite3 *db = open_writer("BEGIN EXCLUSIVE; UPDATE pair SET a = 2, b = 2");
    static const char *const asked[] = {URI("pair/row/1"), URI("pair/rows"), URI("pair"), URI("")};
    for (size_t i = 0; i < 4; i++) {
        int64_t before = now();
        p.len = 0;
        ask(&p, READ, asked[i]);
        assert_true(now() - before < 200); /* the call itself does not block */
        assert_false(run_until(&p, &p.len, 1, 60));
        sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
        assert_true(run_until(&p, &p.len, 1, 5000));
        assert_null(strstr(p.reply, "\"error\""));
        sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL);
    }
    ask(&p, LIST, "");
    p.len = 0;
    sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    assert_true(run_until(&p, &p.len, 1, 5000));
    assert_non_null(strstr(p.reply, "pair/rows"));
    sqlite3_close(db);
    peer_close(&p);
}

static void test_locked_for_long(void **state)
{
    mcp_sqlite_options o = {.timeout_ms = 50};
    (void)state;
    sqlite3 *db = open_writer("BEGIN EXCLUSIVE");
    begin(&o); /* the database can be mounted while it is locked */
    expect(READ, URI("pair/row/1"), "took too long");
    expect(CALL, SQL("SELECT 1 FROM pair"), "isError");
    sqlite3_close(db);
    expect(READ, URI("pair/row/1"), "\\\"a\\\":1");
    peer_close(&p);
}

/* ---- write-ahead log ------------------------------------------------------------------------- */

static atomic_bool stop;

static void *write_pairs(void *user)
{
    sqlite3 *db = user;
    for (int i = 0; !atomic_load(&stop); i++) {
        char sql[200];
        snprintf(sql, sizeof(sql), "BEGIN; UPDATE pair SET a = %d; UPDATE pair SET b = %d; COMMIT",
                 i, i);
        if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
            return NULL;
        if (i % 50 == 0)
            sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    }
    return db;
}

/* A process that writes continually is not blocked, and its transactions are never visible in part. */
static void test_beside_writer(void **state)
{
    mcp_sqlite_options o = {0};
    pthread_t thread;
    void *wrote;
    (void)state;
    sqlite3 *db = open_writer("PRAGMA journal_mode = WAL; UPDATE pair SET a = 0, b = 0");
    begin(&o);
    atomic_store(&stop, false);
    pthread_create(&thread, NULL, write_pairs, db);
    for (int i = 0; i < 150; i++) {
        expect(CALL, SQL("SELECT count(*) FROM pair WHERE a <> b"), "[[0]]");
        expect(READ, URI("pair/row/1"), "\\\"id\\\":1");
        expect(READ, URI("pair/rows?limit=2"), "columns");
    }
    atomic_store(&stop, true);
    pthread_join(thread, &wrote);
    assert_ptr_equal(wrote, db);
    peer_close(&p);
    sqlite3_close(db);
}

/* If no process has the database open, no file is created next to it. Later writes are noticed. */
static void test_closed_log(void **state)
{
    mcp_sqlite_options o = {0};
    (void)state;
    run_sql("PRAGMA journal_mode = WAL; UPDATE pair SET a = 5, b = 5");
    assert_false(exists("-wal"));
    begin(&o);
    expect(READ, URI("pair/row/1"), "\\\"a\\\":5");
    expect(READ, URI("pair/rows"), "[1,5,5]");
    assert_false(exists("-wal") || exists("-shm"));
    sqlite3 *db = open_writer("UPDATE pair SET a = 6, b = 6");
    expect(READ, URI("pair/row/1"), "\\\"a\\\":6");
    expect(READ, URI("pair/rows"), "[1,6,6]");
    sqlite3_exec(db, "UPDATE pair SET a = 7, b = 7", NULL, NULL, NULL);
    expect(READ, URI("pair/row/1"), "\\\"a\\\":7");
    sqlite3_close(db);
    expect(READ, URI("pair/rows"), "[1,7,7]");
    peer_close(&p);
}

/* An empty log counts as missing. Each of many changes within one tick of the clock is noticed. */
static void test_empty_log(void **state)
{
    mcp_sqlite_options o = {0};
    char name[128], sql[100], has[100];
    (void)state;
    run_sql("PRAGMA journal_mode = WAL");
    snprintf(name, sizeof(name), "%s-wal", path);
    fclose(fopen(name, "w"));
    begin(&o);
    expect(READ, URI("pair/row/1"), "\\\"a\\\":1");
    assert_false(exists("-shm"));
    for (int i = 0; i < 20; i++) {
        snprintf(sql, sizeof(sql), "UPDATE pair SET a = %d", i);
        snprintf(has, sizeof(has), "\\\"a\\\":%d,", i);
        run_sql(sql); /* closing the connection checkpoints and removes the log */
        expect(READ, URI("pair/row/1"), has);
        expect(READ, URI("pair/rows"), "columns");
    }
    peer_close(&p);
}

/* The file is replaced by another one. */
static void test_replaced(void **state)
{
    mcp_sqlite_options o = {0};
    char other[128], kept[96];
    (void)state;
    begin(&o);
    expect(READ, URI("pair/row/1"), "\\\"a\\\":1");
    strcpy(kept, path);
    snprintf(other, sizeof(other), "%s.new", kept);
    strcpy(path, other);
    run_sql("CREATE TABLE pair(id INTEGER PRIMARY KEY, z); INSERT INTO pair VALUES (1, 'other')");
    strcpy(path, kept);
    assert_int_equal(rename(other, path), 0);
    expect(READ, URI("pair/row/1"), "\\\"z\\\":\\\"other\\\"");
    expect(READ, URI("pair/rows"), "other");
    unlink(path);
    expect(READ, URI("pair/row/1"), "-32602");
    peer_close(&p);
}

/* ---- cancelling ------------------------------------------------------------------------------ */

static const char endless[] =
    SQL("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n");

static void test_cancelled(void **state)
{
    mcp_sqlite_options o = {.timeout_ms = 60000};
    static const char cancel[] =
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
        "\"requestId\":1,\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
        "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}";
    (void)state;
    begin(&o);
    for (int i = 0; i < 8; i++) { /* more than there are connections and threads */
        int64_t before = now();
        size_t never = 0;
        ask(&p, CALL, endless);
        run_until(&p, &never, 1, 20);
        assert_int_equal(mcp_channel_in_flight(p.channel), 1);
        mcp_channel_receive(p.channel, 0, mcp_str_from(cancel), now());
        while (mcp_channel_in_flight(p.channel) && now() < before + 5000)
            mcp_loop_step(p.loop, 10);
        assert_true(now() - before < 2000);
    }
    ask(&p, CALL, endless); /* this one is cancelled when the peer is closed */
    int64_t before = now();
    peer_close(&p);
    assert_true(now() - before < 2000);
}

/* ---- watching -------------------------------------------------------------------------------- */

static void listen_to(const char *what)
{
    char params[300];
    snprintf(params, sizeof(params), "\"notifications\":{%s}", what);
    ask(&p, "subscriptions/listen", params);
    p.updates = p.changes = 0;
}

static void check_updates(void)
{
    size_t quiet = 0;
    begin(&(mcp_sqlite_options){0});
    listen_to(
        "\"resourceSubscriptions\":[\"sqlite://shop/pair/row/1\"],\"resourcesListChanged\":true");
    run_until(&p, &quiet, 1, 100);
    assert_int_equal(p.updates, 0);
    sqlite3 *db = open_writer("UPDATE pair SET a = 9");
    assert_true(run_until(&p, &p.updates, 1, 3000));
    assert_int_equal(p.changes, 0);
    run_until(&p, &quiet, 1, 200);
    p.updates = 0;
    run_until(&p, &quiet, 1, 200); /* without a change, there is no notification */
    assert_int_equal(p.updates, 0);
    sqlite3_exec(db, "UPDATE pair SET a = 10", NULL, NULL, NULL);
    assert_true(run_until(&p, &p.updates, 1, 3000));
    sqlite3_exec(db, "CREATE TABLE another(x)", NULL, NULL, NULL);
    assert_true(run_until(&p, &p.changes, 1, 3000));
    sqlite3_close(db);
    peer_close(&p);
}

static void test_updates(void **state)
{
    (void)state;
    check_updates();
}

static void test_updates_in_log(void **state)
{
    (void)state;
    run_sql("PRAGMA journal_mode = WAL");
    check_updates();
}

static int setup(void **state)
{
    (void)state;
    make_database("CREATE TABLE pair(id INTEGER PRIMARY KEY, a, b); INSERT INTO pair VALUES (1, 1, "
                  "1), (2, 1, "
                  "1), (3, 1, 1)");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_locked, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_locked_for_long, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_beside_writer, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_closed_log, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_empty_log, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_replaced, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_cancelled, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_updates, setup, teardown_database),
        cmocka_unit_test_setup_teardown(test_updates_in_log, setup, teardown_database),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
