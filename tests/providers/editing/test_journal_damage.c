/* test_journal_damage.c: a journal that ends at any byte, and one in which bytes have changed. All entries but those
 * that were hit are shown and read, and appending goes on. */
#include "diary.h"
#include "dice.h"

enum { COUNT = 5 };

static diary d;
static char ids[COUNT][EDITING_ENTRY_ID_SIZE];
static char texts[COUNT][40];
static uint64_t starts[COUNT + 1];
static char segment[4096];
static char bytes[8192];

static int set_up(void **state)
{
    uint64_t size = 0;
    (void)state;
    diary_make(&d, 16 * MIB);
    for (int i = 0; i < COUNT; i++) {
        starts[i] = size;
        snprintf(texts[i], sizeof(texts[i]), "text %d", i);
        strcpy(ids[i], begin_text(&d, "/a", texts[i], NOW));
        segments(&d, &size, segment);
    }
    starts[COUNT] = size;
    assert_true(size <= sizeof(bytes));
    int fd = open(segment, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, bytes, sizeof(bytes)), size);
    close(fd);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    diary_remove(&d);
    return 0;
}

static void write_segment(size_t len)
{
    int fd = open(segment, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_int_equal(write(fd, bytes, len), len);
    close(fd);
}

static void test_torn(void **state)
{
    (void)state;
    for (size_t len = 0; len <= starts[COUNT]; len++) {
        size_t whole = 0;
        write_segment(len);
        while (whole < COUNT && starts[whole + 1] <= len)
            whole++;
        assert_int_equal(look(&d), whole);
        assert_int_equal(all_damaged, 0);
        const char *id = begin_text(&d, "/new", "new", NOW);
        assert_int_equal(look(&d), whole + 1);
        assert_int_equal(all_damaged, 0);
        assert_old(&d, id, "new");
        for (size_t i = 0; i < whole; i++)
            assert_old(&d, ids[i], texts[i]);
    }
}

/* Only the entry of the byte that changed is missing or cannot be read, and no other text is given for it. */
static void check_hit(size_t at)
{
    for (size_t i = 0; i < COUNT; i++) {
        bool same;
        bool hit = at >= starts[i] && at < starts[i + 1];
        int rc = old_is(&d, ids[i], texts[i], strlen(texts[i]), &same);
        assert_true(hit ? rc != MCP_OK || same : rc == MCP_OK && same);
        assert_true(hit || find(ids[i]));
    }
}

static void test_each_byte_changes(void **state)
{
    size_t missed = 0;
    (void)state;
    for (size_t at = 0; at < starts[COUNT]; at++) {
        char kept = bytes[at];
        bytes[at] = (char)(kept ^ (1 << dice(8)));
        write_segment(starts[COUNT]);
        size_t found = look(&d);
        assert_true(found >= COUNT - 1);
        missed += found < COUNT;
        check_hit(at);
        begin_text(&d, "/new", "new", NOW);
        size_t after = look(&d);
        assert_int_equal(after, found + 1);
        /* A whole record is not cut off: it may be only its head that is damaged. */
        bool in_last_tail = at >= starts[COUNT] - 24;
        assert_true(in_last_tail || all_damaged == (found < COUNT));
        bytes[at] = kept;
    }
    assert_true(missed > starts[COUNT] / 2);
}

/* Anything in any order: it ends, and what is shown was written. */
static void test_much_changes(void **state)
{
    char kept[sizeof(bytes)];
    (void)state;
    memcpy(kept, bytes, sizeof(bytes));
    for (int round = 0; round < 500; round++) {
        size_t len = starts[COUNT];
        for (unsigned n = 1 + dice(4); n > 0; n--) {
            size_t from = dice((unsigned)len);
            size_t to = dice((unsigned)len);
            size_t run = 1 + dice(200);
            size_t most = len - (from > to ? from : to);
            memmove(bytes + to, bytes + from, run < most ? run : most);
        }
        write_segment(dice(4) ? len : dice((unsigned)len));
        size_t found = look(&d);
        for (size_t i = 0; i < found; i++) {
            size_t which = 0;
            while (which < COUNT && strcmp(all[i].id, ids[which]) != 0)
                which++;
            assert_true(which < COUNT);
            bool same;
            assert_true(old_is(&d, ids[which], texts[which], strlen(texts[which]), &same) !=
                            MCP_OK ||
                        same);
        }
        size_t n;
        if (dice(4) == 0)
            assert_int_equal(editing_journal_purge(d.j, MCP_STR("/a"), &n), MCP_OK);
        const char *id = begin_text(&d, "/new", "new", NOW);
        assert_int_equal(look(&d), found + 1);
        assert_string_equal(all[0].id, id);
        memcpy(bytes, kept, sizeof(bytes));
    }
}

/* The contents of a file are no records, even if they are a copy of the journal itself. */
static void test_contents_are_no_records(void **state)
{
    char id[EDITING_ENTRY_ID_SIZE];
    uint64_t size;
    (void)state;
    assert_int_equal(begin_bytes(&d, "/copy", bytes, starts[COUNT], NOW, "", id), MCP_OK);
    segments(&d, &size, segment);
    assert_int_equal(truncate(segment, (off_t)size - 1), 0);
    assert_int_equal(look(&d), COUNT);
    begin_text(&d, "/new", "new", NOW);
    assert_true(look(&d) >= COUNT + 1);
    for (size_t i = 0; i < COUNT; i++)
        assert_old(&d, ids[i], texts[i]);
}

int main(void)
{
    cmocka_set_test_filter(getenv("ONLY"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_torn, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_each_byte_changes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_much_changes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_contents_are_no_records, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
