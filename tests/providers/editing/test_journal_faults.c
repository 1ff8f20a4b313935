/* test_journal_faults.c: each system call of the journal fails in turn (the disk is full, ...). The error is said,
 * nothing is appended, and everything before is there. */
#include "diary.h"
#include "steps.h"

#include <signal.h>
#include <sys/wait.h>

static diary d;
static size_t calls_failed;

enum { BEGIN, END, EACH, OLD, PURGE, OPEN, OPERATIONS };

static char first[EDITING_ENTRY_ID_SIZE];
static char old_text[100 * 1024]; /* more than a block */

static int run(int operation)
{
    char id[EDITING_ENTRY_ID_SIZE] = "";
    size_t n;
    editing_journal *j = NULL;
    editing_entry e = entry_of("/b", sizeof(old_text));
    int fd = file_of(old_text, sizeof(old_text));
    common_buffer b;
    int rc = MCP_OK;
    common_buffer_init(&b, NULL);
    all_count = 0;
    hook.steps = 0;
    hook.failed = NULL;
    hook.counts = true;
    switch (operation) {
    case BEGIN: rc = editing_journal_begin(d.j, &e, fd, NOW, &said); break;
    case END: rc = editing_journal_end(d.j, first, true, MCP_STR("v")); break;
    case EACH: rc = editing_journal_each(d.j, see, NULL, NULL); break;
    case OLD: rc = editing_journal_old(d.j, first, &b); break;
    case PURGE: rc = editing_journal_purge(d.j, MCP_STR("/b"), &n); break;
    case OPEN: rc = editing_journal_open(diary_folder(&d), MIB, NULL, &j, &said); break;
    }
    hook.counts = false;
    if (operation == BEGIN || operation == OPEN)
        assert_int_equal(rc == MCP_OK, said.text[0] == '\0');
    if (rc != MCP_OK)
        assert_int_equal(b.len, 0);
    memcpy(id, e.id, sizeof(id));
    editing_journal_close(j);
    common_buffer_free(&b);
    close(fd);
    calls_failed += hook.failed != NULL;
    return rc;
}

/* An entry, and that of "/b", as a new process finds them. */
static void check(int operation, int rc)
{
    diary again = d;
    bool same;
    diary_open(&again, 4 * MIB);
    size_t count = look(&again);
    assert_int_equal(all_damaged, 0);
    assert_int_equal(count, 2 + (operation == BEGIN && rc == MCP_OK));
    assert_int_equal(old_is(&again, first, "first", 5, &same), MCP_OK);
    assert_true(same);
    if (operation == BEGIN && rc == MCP_OK)
        assert_int_equal(old_is(&again, all[0].id, old_text, sizeof(old_text), &same), MCP_OK);
    if (operation == END && rc == MCP_OK)
        assert_true(find(first)->happened);
    if (operation == PURGE && rc == MCP_OK)
        assert_false(is_in_files(&again, "hidden"));
    char id[EDITING_ENTRY_ID_SIZE];
    assert_int_equal(begin_bytes(&again, "/c", "1", 1, NOW, "", id), MCP_OK);
    assert_int_equal(look(&again), count + 1);
    editing_journal_close(again.j);
}

static void once(int operation, int error, unsigned at, bool *failed)
{
    memset(&hook, 0, sizeof(hook));
    diary_make(&d, 4 * MIB);
    strcpy(first, begin_text(&d, "/a", "first", NOW));
    begin_text(&d, "/b", "hidden", NOW);
    hook.fail_at = at;
    hook.error = error;
    int rc = run(operation);
    *failed = hook.failed != NULL;
    hook.fail_at = 0;
    /* Without the others it is done all the same: no hole, a lock that is released at the second try, and the end of the
     * last segment, which is looked for again. */
    bool must = *failed && strcmp(hook.failed, "fallocate") != 0 &&
                strcmp(hook.failed, "flock") != 0 && operation != EACH;
    assert_false(must && rc == MCP_OK);
    assert_false(operation == EACH && rc == MCP_OK && all_count != 2);
    check(operation, rc);
    diary_remove(&d);
}

static void test_each_call_fails(void **state)
{
    static const int errors[] = {ENOSPC, EIO, EROFS, EDQUOT, EMFILE};
    bool failed;
    (void)state;
    for (size_t i = 0; i < sizeof(old_text); i++)
        old_text[i] = (char)('a' + i % 23);
    for (int operation = 0; operation < OPERATIONS; operation++)
        for (size_t e = 0; e < sizeof(errors) / sizeof(errors[0]); e++)
            for (unsigned at = 1;; at++) {
                once(operation, errors[e], at, &failed);
                if (!failed)
                    break;
            }
    print_message("# %zu calls failed\n", calls_failed);
    assert_true(calls_failed > 200);
}

/* ---- the process is killed before each call ---- */

static unsigned kill_at;

static void kill_self(unsigned number)
{
    if (number == kill_at)
        kill(getpid(), SIGKILL);
}

static void test_killed(void **state)
{
    size_t torn = 0;
    (void)state;
    memset(&hook, 0, sizeof(hook));
    for (int operation = BEGIN; operation <= END; operation++)
        for (kill_at = 1;; kill_at++) {
            uint64_t before, after;
            char last[4096];
            int status;
            diary_make(&d, 4 * MIB);
            strcpy(first, begin_text(&d, "/a", "first", NOW));
            begin_text(&d, "/b", "hidden", NOW);
            pid_t child = fork();
            if (child == 0) {
                hook.before = kill_self;
                run(operation);
                _exit(0);
            }
            waitpid(child, &status, 0);
            /* Killed while it waited for the disk: the entry is whole. */
            size_t count = look(&d);
            assert_true(count == 2 || (operation == BEGIN && count == 3));
            assert_int_equal(all_damaged, 0);
            segments(&d, &before, last);
            end_well(&d, first);
            segments(&d, &after, last);
            torn += after < before;
            assert_int_equal(look(&d), count);
            assert_int_equal(all_damaged, 0);
            assert_old(&d, first, "first");
            diary_remove(&d);
            if (!WIFSIGNALED(status))
                break;
        }
    assert_true(torn >= 2);
}

/* What is said when a record cannot be written. */
static void test_errors_are_named(void **state)
{
    static const struct {
        int error, code;
        const char *text;
    } rows[] = {
        {ENOSPC, MCP_ELIMIT, "the disk is full (ENOSPC)"},
        {EDQUOT, MCP_ELIMIT, "quota"},
        {EROFS, MCP_EACCESS, "mounted read-only"},
        {EIO, MCP_EIO, "the device reports an error"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (unsigned at = 1, writes = 0;; at++) {
            memset(&hook, 0, sizeof(hook));
            diary_make(&d, 4 * MIB);
            hook.fail_at = at;
            hook.error = rows[i].error;
            int rc = run(BEGIN);
            bool failed = hook.failed != NULL;
            if (failed &&
                (strcmp(hook.failed, "pwrite") == 0 || strcmp(hook.failed, "fdatasync") == 0)) {
                writes++;
                assert_int_equal(rc, rows[i].code);
                assert_non_null(strstr(said.text, "the journal"));
                assert_non_null(strstr(said.text, rows[i].text));
            }
            diary_remove(&d);
            if (!failed) {
                assert_int_equal(writes, 5); /* head, two blocks, tail, and the wait for the disk */
                break;
            }
        }
}

int main(void)
{
    cmocka_set_test_filter(getenv("ONLY"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_call_fails),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_errors_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
