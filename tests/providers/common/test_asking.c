/* Access checks of a job on a worker, which assumes answers and verifies them later. The pages of
 * visible items are compared with a simple model, the number of rounds is limited, and every
 * allocation fails once. */
#define _GNU_SOURCE
#include "peer.h"

#include "asking.h"
#include "failalloc.h"

enum { THINGS = 30000 };

static struct world {
    peer p;
    bool hidden[THINGS];
    const mcp_allocator *alloc;
    size_t things, limit;
    /* of the last page */
    size_t first, last, shown, turns;
    bool more;
    int rc;
} w;

static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)user, (void)identity;
    return item != MCP_ITEM_RESOURCE || !w.hidden[strtoul(name.ptr + strlen("x:/"), NULL, 10)];
}

/* Runs one round as a job does: finds the first `limit` visible items, and whether there are more. */
static void one_turn(common_asking *a)
{
    char uri[32];
    w.shown = 0;
    w.more = false;
    w.turns++;
    for (size_t i = 0; i < w.things && !w.more; i++) {
        snprintf(uri, sizeof(uri), "x:/%zu", i);
        if (!common_asking_may(a, mcp_str_from(uri)))
            continue;
        w.more = w.shown == w.limit;
        w.first = w.shown ? w.first : i;
        w.last = w.more ? w.last : i;
        w.shown += !w.more;
    }
}

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    common_asking a;
    (void)arguments, (void)user;
    common_asking_init(&a, req, w.alloc);
    a.here = false;
    w.turns = 0;
    do {
        w.rc = MCP_OK;
        one_turn(&a);
    } while (common_asking_again(&a, &w.rc));
    common_asking_free(&a);
    return mcp_reply_text(req, "done");
}

static void open_world(const mcp_allocator *alloc, bool rules)
{
    memset(&w, 0, sizeof(w));
    w.alloc = alloc;
    assert_int_equal(peer_serve(&w.p, NULL, NULL), MCP_OK);
    assert_int_equal(mcp_server_add_tool(
                         w.p.server, MCP_OPTIONS(mcp_tool, .name = "t", .call = call), NULL, NULL),
                     MCP_OK);
    if (rules)
        assert_int_equal(mcp_server_set_access(w.p.server, MCP_OPTIONS(mcp_access, .may = may)),
                         MCP_OK);
    assert_int_equal(peer_connect(&w.p), MCP_OK);
}

static void page(size_t things, size_t limit)
{
    w.things = things;
    w.limit = limit;
    assert_non_null(strstr(ask(&w.p, CALL, "\"name\":\"t\""), "done"));
}

static void check_page(void)
{
    size_t n = 0, first = 0, last = 0;
    bool more = false;
    for (size_t i = 0; i < w.things; i++) {
        if (w.hidden[i])
            continue;
        more = more || n == w.limit;
        first = n ? first : i;
        last = n < w.limit ? i : last;
        n += n < w.limit;
    }
    assert_int_equal(w.rc, MCP_OK);
    assert_int_equal(w.shown, n);
    assert_int_equal(w.more, more);
    if (n)
        assert_true(w.first == first && w.last == last);
}

static void hide(size_t from, size_t to, unsigned every)
{
    memset(w.hidden, 0, sizeof(w.hidden));
    for (size_t i = from; i < to; i++)
        w.hidden[i] = i % every == 0;
}

static void test_pages(void **state)
{
    static const struct {
        size_t things, limit, from, to;
        unsigned every;
        size_t turns; /* the maximum */
    } rows[] = {
        {0, 10, 0, 0, 1, 1},           {5, 10, 0, 0, 1, 1},         {1000, 100, 0, 0, 1, 1},
        {1000, 100, 50, 60, 1, 2},     {1000, 100, 0, 1000, 1, 5},  {1000, 1, 0, 999, 1, 5},
        {1000, 1, 0, 998, 1, 5},       {1000, 10, 0, 1000, 2, 4},   {30000, 1, 0, 29999, 1, 16},
        {30000, 1000, 0, 30000, 7, 4}, {30000, 1, 0, 30000, 1, 16},
    };
    (void)state;
    open_world(NULL, true);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        hide(rows[i].from, rows[i].to, rows[i].every);
        page(rows[i].things, rows[i].limit);
        check_page();
        if (w.turns > rows[i].turns)
            fail_msg("row %zu: %zu turns", i, w.turns);
    }
    srand(1);
    for (int i = 0; i < 300; i++) {
        for (size_t k = 0; k < 3000; k++)
            w.hidden[k] = rand() % 100 < i / 3;
        page((size_t)(rand() % 3000), (size_t)(1 + rand() % 500));
        check_page();
    }
    peer_close(&w.p);
}

static void test_without_rules(void **state)
{
    (void)state;
    open_world(NULL, false);
    page(1000, 10);
    assert_int_equal(w.shown, 10);
    assert_int_equal(w.turns, 1);
    peer_close(&w.p);
}

static void test_no_memory(void **state)
{
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc memory = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&memory);
        open_world(&a, true);
        hide(0, 900, 1);
        page(1000, 10);
        peer_close(&w.p);
        assert_int_equal(memory.live, 0);
        if (memory.calls < n) {
            check_page();
            break;
        }
        assert_int_equal(w.rc, MCP_ENOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_without_rules),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
