/* Compares shares.c with a slow model, and checks what its rules promise. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/shares.h"
#include "support/dice.h"
#include "support/failalloc.h"

enum { OWNERS = 6, ENTRIES = 40 };

typedef struct entry {
    mcp__owned owned; /* the first member */
    size_t owner;
    bool exists, idle;
    unsigned since; /* when it became idle */
} entry;

static entry entries[ENTRIES];
static unsigned moved[OWNERS]; /* when the owner was last put at the end of its rank */
static unsigned steps;

static mcp_str name_of(size_t owner)
{
    static const char names[] = "abcdef";
    return (mcp_str){names, owner}; /* the first one is empty */
}

static size_t count_of(size_t owner, bool idle)
{
    size_t n = 0;
    for (size_t i = 0; i < ENTRIES; i++)
        n += entries[i].exists && entries[i].owner == owner && (!idle || entries[i].idle);
    return n;
}

/* ---- the model ------------------------------------------------------------------------------- */

static entry *oldest_of(size_t owner)
{
    entry *oldest = NULL;
    for (size_t i = 0; i < ENTRIES; i++) {
        entry *e = &entries[i];
        if (e->exists && e->idle && e->owner == owner && (!oldest || e->since < oldest->since))
            oldest = e;
    }
    return oldest;
}

static entry *model(size_t owner, bool own)
{
    size_t loser = owner, most = 0;
    for (size_t o = 0; o < OWNERS; o++) {
        size_t n = count_of(o, true) ? count_of(o, false) : 0;
        if (n > most || (n && n == most && moved[o] < moved[loser])) {
            most = n;
            loser = o;
        }
    }
    size_t has = count_of(owner, false);
    if (own || (has && most <= has + 1))
        loser = owner;
    return oldest_of(loser);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void add(mcp__shares *s, size_t owner)
{
    entry *e = entries;
    while (e < entries + ENTRIES && e->exists)
        e++;
    if (e == entries + ENTRIES || mcp__shares_add(s, &e->owned, name_of(owner)) != MCP_OK)
        return;
    e->owner = owner;
    e->exists = true;
    e->idle = false;
    moved[owner] = steps;
}

static void drop(mcp__shares *s, entry *e)
{
    mcp__shares_remove(s, &e->owned);
    e->exists = false;
    moved[e->owner] = steps;
}

static void turn(mcp__shares *s, entry *e)
{
    e->idle = !e->idle;
    e->since = steps;
    if (e->idle)
        mcp__shares_release(s, &e->owned);
    else
        mcp__shares_hold(s, &e->owned);
    if (e->idle)
        moved[e->owner] = steps;
}

static void check(mcp__shares *s)
{
    size_t largest = 0, all = 0;
    for (size_t o = 0; o < OWNERS; o++) {
        size_t n = count_of(o, false);
        assert_int_equal(mcp__shares_of(s, name_of(o)), n);
        largest = MCP__MAX(largest, n);
        all += n;
        for (int own = 0; own < 2; own++) {
            const entry *goes = (const entry *)(const void *)mcp__shares_loser(s, name_of(o), own);
            assert_ptr_equal(goes, model(o, own));
            if (goes &&
                goes->owner != o) /* it is another's, who still has more, or this one had none */
                assert_true(!own && (!n || count_of(goes->owner, false) > n + 1));
        }
    }
    assert_int_equal(mcp__shares_largest(s), largest);
    assert_int_equal(s->count, all);
}

static void run(mcp_allocator *allocator)
{
    mcp__shares s;
    mcp__shares_init(&s, allocator, 1, 2);
    unsigned until = steps + 400, bias = 1 + dice(4);
    while (++steps < until) {
        entry *e = &entries[dice(ENTRIES)];
        if (dice(bias + 2) < 2)
            add(&s, dice(2) ? dice(OWNERS) : 0);
        else if (e->exists && dice(4) == 0)
            drop(&s, e);
        else if (e->exists)
            turn(&s, e);
        check(&s);
    }
    for (size_t i = 0; i < ENTRIES; i++)
        if (entries[i].exists)
            drop(&s, &entries[i]);
    assert_int_equal(s.owners.count, 0);
    mcp__shares_free(&s);
}

static void test_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < 30; i++)
        run(NULL);
}

/* Without memory nothing changes. */
static void test_memory(void **state)
{
    (void)state;
    for (size_t fail_at = 1; fail_at < 20; fail_at++) {
        failalloc f = {.fail_at = fail_at};
        mcp_allocator allocator = failalloc_allocator(&f);
        run(&allocator);
        assert_int_equal(f.live, 0);
    }
}

/* One owner fills a table in which others have few entries: they keep them. */
static void test_flood(void **state)
{
    (void)state;
    mcp__shares s;
    mcp__shares_init(&s, NULL, 1, 2);
    for (size_t o = 1; o < 4; o++)
        for (size_t i = 0; i < o; i++)
            add(&s, o);
    for (size_t i = 0; i < ENTRIES; i++)
        if (entries[i].exists)
            turn(&s, &entries[i]);
    for (steps = 1; steps < 1000; steps++) {
        entry *loser =
            s.count < 30 ? NULL : (entry *)(void *)mcp__shares_loser(&s, name_of(0), false);
        if (loser)
            drop(&s, loser);
        add(&s, 0);
        for (size_t i = 0; i < ENTRIES; i++)
            if (entries[i].exists && !entries[i].idle)
                turn(&s, &entries[i]);
        for (size_t o = 1; o < 4; o++)
            assert_int_equal(mcp__shares_of(&s, name_of(o)), o);
    }
    assert_int_equal(mcp__shares_of(&s, name_of(0)), 24);
    for (size_t i = 0; i < ENTRIES; i++)
        if (entries[i].exists)
            drop(&s, &entries[i]);
    mcp__shares_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_flood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
