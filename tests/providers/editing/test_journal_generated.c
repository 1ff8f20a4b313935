/* test_journal_generated.c: random calls, compared with a list of entries in memory. */
#include "diary.h"
#include "dice.h"

enum { STEPS = 3000, KEPT = STEPS, MOST = 48 * 1024 };

typedef struct kept {
    char id[EDITING_ENTRY_ID_SIZE];
    char path[16];
    char undoes[EDITING_ENTRY_ID_SIZE];
    unsigned seed, len;
    int64_t time;
    bool ended, happened, purged;
} kept;

static diary d;
static kept list[KEPT];
static size_t count; /* oldest first */
static int64_t now;
static size_t full, dropped;

static const char *text_for(const kept *k)
{
    static char text[8192];
    for (unsigned i = 0; i < k->len; i++)
        text[i] = (char)('a' + (k->seed + i) % 26);
    return text;
}

static bool is_old(const kept *k)
{
    return k->time <= now && now - k->time >= EDITING_JOURNAL_KEEP_S;
}

/* The journal may have dropped the oldest entries, all of them old. */
static void forget_dropped(void)
{
    size_t gone = 0;
    assert_true(all_count <= count);
    while (gone + all_count < count)
        assert_true(is_old(&list[gone++]));
    dropped += gone;
    memmove(list, list + gone, (count - gone) * sizeof(list[0]));
    count -= gone;
}

static bool is_undone(size_t at)
{
    for (size_t i = at + 1; i < count; i++)
        if (list[i].happened && strcmp(list[i].undoes, list[at].id) == 0 && !is_undone(i))
            return true;
    return false;
}

static void compare(void)
{
    look(&d);
    assert_int_equal(all_damaged, 0);
    assert_int_equal(all_count, count);
    for (size_t i = 0; i < count; i++) {
        const seen *s = &all[count - 1 - i];
        const kept *k = &list[i];
        assert_string_equal(s->id, k->id);
        assert_string_equal(s->path, k->path);
        assert_true(s->time == k->time && s->size == k->len && s->ended == k->ended &&
                    s->happened == k->happened);
        assert_int_equal(s->purged, k->purged);
        assert_int_equal(s->undone, is_undone(i));
    }
}

static void begin(void)
{
    kept k = {.seed = dice(26), .len = dice(10) ? dice(400) : dice(8192), .time = now};
    snprintf(k.path, sizeof(k.path), "/%c/%c", 'a' + (char)dice(3), 'a' + (char)dice(3));
    if (count && dice(3) == 0)
        strcpy(k.undoes, list[dice((unsigned)count)].id);
    int rc = begin_bytes(&d, k.path, text_for(&k), k.len, now, k.undoes, k.id);
    look(&d);
    if (rc != MCP_OK) {
        assert_int_equal(rc, MCP_ELIMIT);
        assert_int_equal(all_count, count);
        full++;
        return;
    }
    list[count++] = k;
    forget_dropped();
}

static void end(void)
{
    kept *k = &list[dice((unsigned)count)];
    bool happened = dice(4) > 0;
    assert_int_equal(editing_journal_end(d.j, k->id, happened, MCP_STR("v")), MCP_OK);
    k->ended = true;
    k->happened = happened;
}

static void purge(void)
{
    char path[16];
    size_t n = 0;
    size_t expected = 0;
    snprintf(path, sizeof(path), "/%c%s", 'a' + (char)dice(3), dice(2) ? "/a" : "");
    for (size_t i = 0; i < count; i++)
        if (strncmp(list[i].path, path, strlen(path)) == 0 && list[i].len && !list[i].purged) {
            list[i].purged = true;
            expected++;
        }
    assert_int_equal(editing_journal_purge(d.j, text_of(path), &n), MCP_OK);
    assert_int_equal(n, expected);
}

static void read_one(void)
{
    const kept *k = &list[dice((unsigned)count)];
    bool same;
    int rc = old_is(&d, k->id, text_for(k), k->len, &same);
    assert_int_equal(rc, k->purged ? MCP_ENOTFOUND : MCP_OK);
    assert_true(same == !k->purged);
}

static void pass_time(void)
{
    static const int64_t steps[] = {1, 60, 3600, 40000, EDITING_JOURNAL_KEEP_S, -1, -5000};
    now += steps[dice(sizeof(steps) / sizeof(steps[0]))];
}

static void test_generated(void **state)
{
    (void)state;
    now = NOW;
    diary_make(&d, MOST);
    for (int i = 0; i < STEPS; i++) {
        unsigned what = dice(100);
        if (what < 45 || count == 0)
            begin();
        else if (what < 75)
            end();
        else if (what < 77)
            purge();
        else if (what < 90)
            read_one();
        else if (what < 97)
            pass_time();
        else {
            editing_journal_close(d.j);
            diary_open(&d, MOST);
        }
        if (i % 7 == 0)
            compare();
    }
    compare();
    print_message("# %zu entries, %zu dropped, %zu times full\n", count, dropped, full);
    assert_true(dropped > 100 && full > 10);
    diary_remove(&d);
}

int main(void)
{
    cmocka_set_test_filter(getenv("ONLY"));
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_generated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
