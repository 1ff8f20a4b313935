/* Every allocation of the provider and of SQLite fails in turn: the result is an error, not a
 * crash, and no memory is leaked. */
#define _GNU_SOURCE
#include "database.h"

#include "failalloc.h"

static failalloc ours, theirs;

/* ---- SQLite's memory ------------------------------------------------------------------------- */

/* Returns a block that is preceded by its size. */
static void *sqlite_alloc(int size)
{
    int64_t *block = failalloc_allocate((size_t)size + 8, &theirs);
    return block ? (*block = size, block + 1) : NULL;
}

static void sqlite_release(void *p)
{
    if (p)
        failalloc_release((int64_t *)p - 1, &theirs);
}

static void *sqlite_resize(void *p, int size)
{
    int64_t *block = failalloc_resize(p ? (int64_t *)p - 1 : NULL, (size_t)size + 8, &theirs);
    return block ? (*block = size, block + 1) : NULL;
}

static int sqlite_size(void *p)
{
    return p ? (int)((int64_t *)p)[-1] : 0;
}

static int sqlite_round(int size)
{
    return (size + 7) & ~7;
}

static int sqlite_start(void *user)
{
    (void)user;
    return SQLITE_OK;
}

static void sqlite_stop(void *user)
{
    (void)user;
}

static const sqlite3_mem_methods methods = {
    sqlite_alloc, sqlite_release, sqlite_resize, sqlite_size,
    sqlite_round, sqlite_start,   sqlite_stop,   NULL};

/* ---- the tested requests --------------------------------------------------------------------- */

static const exchange tried[] = {
    {LIST, "", {"/part/rows"}},
    {READ, URI(""), {"part"}},
    {READ, URI("?format=text"), {"CREATE TABLE"}},
    {READ, URI("part"), {"foreignKeys"}},
    {READ, URI("part/rows?a=x&limit=1"), {"next"}},
    {READ, URI("part/row/x/1"), {"photo"}},
    {READ, URI("whole/row/1"), {"twelve"}},
    {READ, URI("whole/cell/t/1"), {"twelve"}},
    {READ, URI("$query/q?k=1"), {"rows"}},
    {CALL, SQL("SELECT * FROM whole ORDER BY t"), {"twelve"}},
    {"completion/complete",
     "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"sqlite://shop/{table}/row{/"
     "key*}{?format}\"},\"argument\":{\"name\":"
     "\"key\",\"value\":\"1\"},\"context\":{\"arguments\":{\"table\":\"whole\"}}",
     {"values"}},
    {"subscriptions/listen",
     "\"notifications\":{\"resourceSubscriptions\":[\"sqlite://shop/whole\"]}",
     {""}},
};

static mcp_json_doc *saved;

static int open_all(peer *p)
{
    mcp_allocator a = failalloc_allocator(&ours);
    mcp_sqlite_options o = {.allocator = &a, .queries = mcp_json_root(saved)};
    return peer_open(p, &o, NULL, &a);
}

static size_t opening; /* number of allocations while the database was last opened */

/* Opens, requests and closes, with failure number `at` in one of the two allocators. Returns true
 * if there were fewer allocations, so none failed. */
static bool try_one(const exchange *e, failalloc *which, size_t at)
{
    static peer p;
    ours = (failalloc){0};
    size_t before = theirs.live;
    theirs.calls = theirs.fail_at = 0;
    which->fail_at = at;
    int rc = open_all(&p);
    opening = which->calls;
    if (rc == MCP_OK)
        ask(&p, e->method, e->params);
    bool late = which->calls < at;
    ours.fail_at = theirs.fail_at = 0;
    if (late)
        for (size_t i = 0; i < 5 && e->has[i]; i++)
            assert_non_null(strstr(p.reply, e->has[i]));
    else if (rc != MCP_OK)
        assert_true(rc == MCP_ENOMEM || p.error.text[0]);
    else if (p.reply[0]) /* the request succeeds when it is repeated */
        check_exchange(&p, e);
    peer_close(&p);
    assert_int_equal(ours.live, 0);
    assert_int_equal(theirs.live, before);
    return late;
}

/* For the first request, all allocations fail in turn. For the others, only those after opening do. */
static void try_all(failalloc *which, size_t step)
{
    for (size_t i = 0; i < sizeof(tried) / sizeof(*tried); i++)
        for (size_t at = i ? opening : 1; !try_one(&tried[i], which, at); at += step)
            ;
}

static void test_ours(void **state)
{
    (void)state;
    try_all(&ours, 1);
}

static void test_theirs(void **state)
{
    (void)state;
    try_all(&theirs, 7);
}

static int setup(void **state)
{
    (void)state;
    make_database(
        "CREATE TABLE part(a TEXT, b INTEGER REFERENCES whole(id), photo BLOB, PRIMARY KEY(a, b)) "
        "WITHOUT ROWID; CREATE INDEX part_b ON part(b);"
        "CREATE TABLE whole(id INTEGER PRIMARY KEY, t TEXT);"
        "INSERT INTO part VALUES ('x', 1, x'00'), ('x', 2, x'01');"
        "INSERT INTO whole VALUES (1, 'twelve'), (12, 'one')");
    static const char json[] = "[{\"name\":\"q\",\"sql\":\"SELECT * FROM part WHERE b = "
                               ":k\",\"parameters\":[{\"name\":\"k\","
                               "\"type\":\"integer\",\"values\":[\"1\"]}]}]";
    return mcp_json_parse(mcp_str_from(json), NULL, NULL, &saved, NULL);
}

static int teardown(void **state)
{
    (void)state;
    mcp_json_free(saved);
    remove_database();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ours), cmocka_unit_test(test_theirs)};
    sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
    return cmocka_run_group_tests(tests, setup, teardown);
}
