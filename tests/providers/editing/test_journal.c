/* test_journal.c: the journal of changes: what is appended is read, nothing young gives way, what is purged is gone, and
 * a folder that others can read is refused. */
#include "diary.h"
#include "failalloc.h"

#include <pthread.h>
#include <sys/wait.h>

static diary d;

static int set_up(void **state)
{
    (void)state;
    umask(022);
    diary_make(&d, 16 * MIB);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    diary_remove(&d);
    return 0;
}

/* ---- entries ---- */

static bool check_all_members(const editing_entry *e, void *user)
{
    (void)user;
    assert_true(mcp_str_eq(e->who, MCP_STR("anna")));
    assert_true(mcp_str_eq(e->call, MCP_STR("write_file 7")));
    assert_true(mcp_str_eq(e->operation, MCP_STR("move")));
    assert_true(mcp_str_eq(e->path, MCP_STR("/a/\xff\0b")));
    assert_true(mcp_str_eq(e->to, MCP_STR("/c")));
    assert_true(mcp_str_eq(e->undoes, MCP_STR("that one")));
    assert_true(mcp_str_eq(e->was, MCP_STR("1-2-3")));
    assert_int_equal(e->was_ino, UINT64_MAX);
    assert_int_equal(e->fresh_ino, 6);
    assert_int_equal(e->mode, 0644);
    assert_int_equal(e->size, 3);
    assert_int_equal(e->time, NOW);
    assert_false(e->ended || e->happened || e->purged || e->undone);
    return true;
}

static void test_members(void **state)
{
    editing_entry e = entry_of("", 3);
    int fd = file_of("oldest", 6);
    (void)state;
    e.operation = MCP_STR("move");
    e.path = MCP_STR("/a/\xff\0b"); /* any bytes */
    e.to = MCP_STR("/c");
    e.undoes = MCP_STR("that one");
    e.was_ino = UINT64_MAX;
    assert_int_equal(editing_journal_begin(d.j, &e, fd, NOW, &said), MCP_OK);
    close(fd);
    assert_int_equal(e.time, NOW);
    assert_int_equal(editing_journal_each(d.j, check_all_members, NULL, NULL), MCP_OK);
    assert_old(&d, e.id, "old");
}

/* Of changes without old contents, and of empty ones. */
static void test_no_contents(void **state)
{
    editing_entry e = entry_of("/new", 77);
    (void)state;
    assert_int_equal(editing_journal_begin(d.j, &e, -1, NOW, &said), MCP_OK);
    assert_int_equal(old_code(&d, e.id), MCP_ENOTFOUND);
    assert_old(&d, begin_text(&d, "/empty", "", NOW), "");
    assert_int_equal(look(&d), 2);
    assert_int_equal(all[1].size, 0);
}

static void test_ends(void **state)
{
    (void)state;
    const char *a = begin_text(&d, "/a", "1", NOW);
    const char *b = begin_text(&d, "/b", "2", NOW);
    const char *c = begin_text(&d, "/c", "3", NOW);
    end_well(&d, c);
    assert_int_equal(editing_journal_end(d.j, a, false, MCP_STR("")), MCP_OK);
    assert_int_equal(look(&d), 3);
    assert_string_equal(all[0].id, c);
    assert_true(all[0].ended && all[0].happened);
    assert_string_equal(all[0].now, "4-5-6");
    assert_string_equal(all[1].id, b);
    assert_false(all[1].ended);
    assert_true(all[2].ended && !all[2].happened);
    assert_int_equal(all_damaged, 0);
    assert_int_equal(editing_journal_end(d.j, a, true, MCP_STR("7")), MCP_OK); /* the last counts */
    look(&d);
    assert_true(find(a)->happened);
    assert_string_equal(find(a)->now, "7");
    assert_int_equal(editing_journal_end(d.j, "x", true, MCP_STR("")), MCP_EINVAL);
    char longer[EDITING_VERSION_SIZE];
    memset(longer, '1', sizeof(longer));
    assert_int_equal(editing_journal_end(d.j, a, true, (mcp_str){longer, sizeof(longer)}),
                     MCP_EINVAL);
}

static void undo_of(const char *what, char id[EDITING_ENTRY_ID_SIZE])
{
    assert_int_equal(begin_bytes(&d, "/a", "u", 1, NOW, what, id), MCP_OK);
}

static void test_undone(void **state)
{
    char a[EDITING_ENTRY_ID_SIZE], undo[EDITING_ENTRY_ID_SIZE], redo[EDITING_ENTRY_ID_SIZE];
    (void)state;
    undo_of("", a);
    end_well(&d, a);
    undo_of(a, undo);
    look(&d);
    assert_false(find(a)->undone); /* it is not known whether that happened */
    editing_journal_end(d.j, undo, false, MCP_STR(""));
    look(&d);
    assert_false(find(a)->undone);
    undo_of(a, undo);
    end_well(&d, undo);
    look(&d);
    assert_true(find(a)->undone);
    undo_of(undo, redo); /* and back again */
    end_well(&d, redo);
    look(&d);
    assert_false(find(a)->undone);
    assert_true(find(undo)->undone);
}

static bool stop(const editing_entry *e, void *user)
{
    (void)e;
    return --*(int *)user > 0;
}

static void test_stops(void **state)
{
    int left = 2;
    (void)state;
    for (int i = 0; i < 5; i++)
        begin_text(&d, "/a", "1", NOW);
    assert_int_equal(editing_journal_each(d.j, stop, &left, NULL), MCP_OK);
    assert_int_equal(left, 0);
}

/* The functions may be called while entries are shown. */
static bool append_one(const editing_entry *e, void *user)
{
    ++*(int *)user;
    assert_old(&d, e->id, "1");
    end_well(&d, begin_text(&d, "/b", "1", NOW));
    return true;
}

static void test_calls_inside(void **state)
{
    int shown = 0;
    (void)state;
    begin_text(&d, "/a", "1", NOW);
    begin_text(&d, "/a", "1", NOW);
    assert_int_equal(editing_journal_each(d.j, append_one, &shown, NULL), MCP_OK);
    assert_int_equal(shown, 2);
    assert_int_equal(look(&d), 4);
}

/* Ids grow, whatever the clock does, also after the journal was opened again and by two objects. */
static void test_ids(void **state)
{
    static const int64_t times[] = {NOW, NOW, NOW - 99999, 0, -5, INT64_MAX, INT64_MIN, NOW, 17};
    char last[EDITING_ENTRY_ID_SIZE] = "";
    diary other = d;
    (void)state;
    diary_open(&other, 3000); /* each of its entries begins a segment */
    for (int round = 0; round < 200; round++) {
        char id[EDITING_ENTRY_ID_SIZE];
        const diary *by = round % 3 ? &d : &other;
        int rc = begin_bytes(by, "/a", "1", 1, times[(size_t)round % 9], "", id);
        if (rc != MCP_OK) {
            assert_ptr_equal(by, &other);
            assert_int_equal(rc, MCP_ELIMIT);
            continue;
        }
        assert_true(strcmp(id, last) > 0);
        assert_int_equal(strspn(id, "0123456789abcdef-"), strlen(id));
        memcpy(last, id, sizeof(last));
    }
    editing_journal_close(other.j);
}

static void test_old_by_false_ids(void **state)
{
    (void)state;
    char id[EDITING_ENTRY_ID_SIZE];
    strcpy(id, begin_text(&d, "/a", "text", NOW));
    end_well(&d, id);
    assert_int_equal(old_code(&d, ""), MCP_ENOTFOUND);
    assert_int_equal(old_code(&d, "000000000z-0000000000"), MCP_ENOTFOUND);
    for (unsigned at = 1; at < 1000; at++) { /* within it, at its end, behind all */
        snprintf(id + 11, sizeof(id) - 11, "%010x", at);
        assert_int_equal(old_code(&d, id), MCP_ENOTFOUND);
    }
    assert_int_equal(old_code(&d, "0000000001-0000000000"), MCP_ENOTFOUND);
}

/* Memory does not grow with the file. */
static void test_large(void **state)
{
    size_t len = 5 * MIB + 12345;
    char *bytes = malloc(len);
    char id[EDITING_ENTRY_ID_SIZE];
    bool same;
    (void)state;
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(i * 7 + i / 4096);
    assert_int_equal(begin_bytes(&d, "/large", bytes, len, NOW, "", id), MCP_OK);
    assert_int_equal(old_is(&d, id, bytes, len, &same), MCP_OK);
    assert_true(same);
    free(bytes);
    assert_int_equal(look(&d), 1);
}

/* ---- limits ---- */

static void fill(int64_t now)
{
    char id[EDITING_ENTRY_ID_SIZE];
    char old[1000];
    memset(old, 'o', sizeof(old));
    for (int i = 0; i < 10000; i++)
        if (begin_bytes(&d, "/in/x", old, sizeof(old), now, "", id) != MCP_OK)
            break;
    assert_int_equal(said.code, MCP_ELIMIT);
}

static void reopen(uint64_t most)
{
    editing_journal_close(d.j);
    diary_open(&d, most);
}

static void test_full(void **state)
{
    uint64_t bytes;
    char last[4096];
    char id[EDITING_ENTRY_ID_SIZE];
    (void)state;
    reopen(64 * 1024);
    fill(NOW);
    assert_non_null(strstr(said.text, "full"));
    assert_non_null(strstr(said.text, "mcpctl undo --purge"));
    assert_non_null(strstr(said.text, "--journal-size"));
    size_t young = look(&d);
    segments(&d, &bytes, last);
    assert_true(bytes <= 64 * 1024 && bytes > 60 * 1024);
    /* Not with a second less than a day, nor after the clock went back. */
    fill(NOW + EDITING_JOURNAL_KEEP_S - 1);
    fill(NOW - 1);
    fill(INT64_MIN);
    assert_int_equal(look(&d), young);
    end_well(&d, all[0].id); /* ends always fit */
    assert_int_equal(look(&d), young);
    assert_true(all[0].happened);
    /* After a day the oldest segment gives way, but only that. */
    static char old[1000];
    assert_int_equal(
        begin_bytes(&d, "/new", old, sizeof(old), NOW + EDITING_JOURNAL_KEEP_S, "", id), MCP_OK);
    size_t left = look(&d);
    assert_true(left < young && left > young / 2);
    assert_string_equal(all[0].id, id);
    segments(&d, &bytes, last);
    assert_true(bytes <= 64 * 1024);
}

/* A segment with one young entry stays, and so does everything after it. */
static void test_one_young(void **state)
{
    char id[EDITING_ENTRY_ID_SIZE];
    (void)state;
    reopen(64 * 1024);
    begin_text(&d, "/first", "1", NOW + 1000);
    fill(NOW);
    size_t before = look(&d);
    static char old[1000];
    assert_int_equal(begin_bytes(&d, "/b", old, sizeof(old), NOW + EDITING_JOURNAL_KEEP_S, "", id),
                     MCP_ELIMIT);
    assert_int_equal(look(&d), before);
    assert_int_equal(
        begin_bytes(&d, "/b", old, sizeof(old), NOW + 1000 + EDITING_JOURNAL_KEEP_S, "", id),
        MCP_OK);
    assert_true(look(&d) < before);
}

static void test_too_large(void **state)
{
    char id[EDITING_ENTRY_ID_SIZE];
    static char old[70 * 1024];
    editing_entry e = entry_of("/a", INT64_MAX);
    int fd = file_of("1", 1);
    (void)state;
    reopen(64 * 1024);
    assert_int_equal(begin_bytes(&d, "/a", old, sizeof(old), NOW, "", id), MCP_ELIMIT);
    assert_non_null(strstr(said.text, "may have only 65536"));
    assert_int_equal(editing_journal_begin(d.j, &e, fd, NOW, &said), MCP_ELIMIT);
    e.size = UINT64_MAX;
    assert_int_equal(editing_journal_begin(d.j, &e, fd, NOW, &said), MCP_ELIMIT);
    e.size = 1;
    e.call = (mcp_str){old, 61 * 1024};
    assert_int_equal(editing_journal_begin(d.j, &e, fd, NOW, &said), MCP_ELIMIT);
    e.call.len = 60 * 1000;
    assert_int_equal(editing_journal_begin(d.j, &e, fd, NOW, &said), MCP_OK);
    assert_int_equal(look(&d), 1);
    e.call.len = 1;
    e.size = 2;
    assert_int_equal(editing_journal_begin(d.j, &e, fd, NOW, &said), MCP_ESTATE);
    assert_non_null(strstr(said.text, "shorter"));
    assert_int_equal(look(&d), 1);
    assert_int_equal(all_damaged, 0);
    close(fd);
}

/* ---- purge ---- */

static void test_purge(void **state)
{
    size_t n = 0;
    (void)state;
    const char *a = begin_text(&d, "/in/a", "secret-1", NOW);
    const char *b = begin_text(&d, "/in/a/b", "secret-2", NOW);
    const char *c = begin_text(&d, "/in/ab", "kept-3", NOW);
    assert_true(is_in_files(&d, "secret-1") && is_in_files(&d, "secret-2"));
    assert_int_equal(editing_journal_purge(d.j, MCP_STR(""), &n), MCP_EINVAL);
    assert_int_equal(editing_journal_purge(d.j, MCP_STR("/in/a/"), &n), MCP_OK);
    assert_int_equal(n, 2);
    assert_false(is_in_files(&d, "secret"));
    assert_true(is_in_files(&d, "kept-3"));
    assert_int_equal(old_code(&d, a), MCP_ENOTFOUND);
    assert_int_equal(old_code(&d, b), MCP_ENOTFOUND);
    assert_old(&d, c, "kept-3");
    end_well(&d, a);
    assert_int_equal(look(&d), 3);
    assert_true(find(a)->purged && find(a)->happened && find(b)->purged && !find(c)->purged);
    assert_int_equal(all_damaged, 0);
    assert_int_equal(editing_journal_purge(d.j, MCP_STR("/in/a"), &n), MCP_OK);
    assert_int_equal(n, 0);
    assert_int_equal(editing_journal_purge(d.j, MCP_STR("/"), &n), MCP_OK);
    assert_int_equal(n, 1);
    assert_false(is_in_files(&d, "kept-3"));
}

/* Also what a killed process left behind the last record. */
static void test_purge_torn(void **state)
{
    uint64_t bytes;
    char last[4096];
    size_t n;
    (void)state;
    begin_text(&d, "/a", "kept", NOW);
    begin_text(&d, "/b", "secret", NOW);
    segments(&d, &bytes, last);
    assert_int_equal(truncate(last, (off_t)bytes - 3), 0);
    assert_true(is_in_files(&d, "secret"));
    assert_int_equal(editing_journal_purge(d.j, MCP_STR("/c"), &n), MCP_OK);
    assert_false(is_in_files(&d, "secret"));
    assert_int_equal(look(&d), 1);
    assert_old(&d, all[0].id, "kept");
}

static void test_purge_makes_room(void **state)
{
    char id[EDITING_ENTRY_ID_SIZE];
    size_t n = 0;
    (void)state;
    reopen(64 * 1024);
    fill(NOW);
    size_t before = look(&d);
    assert_int_equal(editing_journal_purge(d.j, MCP_STR("/in"), &n), MCP_OK);
    assert_int_equal(n, before);
    assert_int_equal(begin_bytes(&d, "/new", "1", 1, NOW, "", id), MCP_OK);
    assert_int_equal(look(&d), before + 1);
    fill(NOW); /* and a limit there is again */
    assert_true(look(&d) < 3 * before);
}

/* ---- the folder ---- */

static int open_at(const char *folder)
{
    editing_journal *j = NULL;
    int rc = editing_journal_open(folder, MIB, NULL, &j, &said);
    editing_journal_close(j);
    assert_int_equal(rc == MCP_OK, said.text[0] == '\0');
    return rc;
}

static void test_modes(void **state)
{
    struct stat st;
    uint64_t bytes;
    char last[4096];
    (void)state;
    umask(0);
    reopen(MIB);
    begin_text(&d, "/a", "1", NOW);
    segments(&d, &bytes, last);
    assert_int_equal(stat(last, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(stat(tree_at(&d.t, "state/journal/lock"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(open_at(tree_at(&d.t, "x/y/z/")), MCP_OK);
    for (const char *const *p = (const char *const[]){"x", "x/y", "x/y/z", "state/journal", NULL};
         *p; p++) {
        assert_int_equal(stat(tree_at(&d.t, *p), &st), 0);
        assert_int_equal(st.st_mode & 07777, 0700);
    }
    umask(022);
}

static void test_refused_folders(void **state)
{
    static const mode_t modes[] = {0740, 0720, 0710, 0704, 0702, 0701, 0777};
    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        assert_int_equal(chmod(diary_folder(&d), modes[i]), 0);
        assert_int_equal(open_at(diary_folder(&d)), MCP_EACCESS);
        assert_non_null(strstr(said.text, "chmod 700"));
    }
    chmod(diary_folder(&d), 0700);
    assert_int_equal(open_at(diary_folder(&d)), MCP_OK);
    tree_link(&d.t, "link", "state/journal");
    assert_int_equal(open_at(tree_at(&d.t, "link")), MCP_EACCESS);
    assert_non_null(strstr(said.text, "link"));
    assert_int_equal(open_at(tree_at(&d.t, "link/")), MCP_EACCESS);
    tree_file(&d.t, "file", "");
    assert_int_equal(open_at(tree_at(&d.t, "file")), MCP_EACCESS);
    assert_int_equal(open_at(tree_at(&d.t, "file/below")), MCP_ENOTFOUND);
    tree_dir(&d.t, "linked");
    chmod(tree_at(&d.t, "linked"), 0700);
    tree_link(&d.t, "linked/lock", tree_at(&d.t, "file"));
    assert_int_not_equal(open_at(tree_at(&d.t, "linked")), MCP_OK);
}

static void test_another_owner(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(diary_folder(&d), 12345, (gid_t)-1), 0);
    assert_int_equal(open_at(diary_folder(&d)), MCP_EACCESS);
    assert_non_null(strstr(said.text, "another user (12345)"));
}

/* A segment that is a link is neither read nor written. */
static void test_linked_segment(void **state)
{
    uint64_t bytes;
    char last[4096];
    char id[EDITING_ENTRY_ID_SIZE];
    size_t n;
    (void)state;
    begin_text(&d, "/a", "1", NOW);
    segments(&d, &bytes, last);
    assert_int_equal(rename(last, tree_at(&d.t, "moved")), 0);
    assert_int_equal(symlink(tree_at(&d.t, "moved"), last), 0);
    assert_int_equal(begin_bytes(&d, "/a", "1", 1, NOW, "", id), MCP_EACCESS);
    assert_int_equal(look(&d), 0);
    assert_int_equal(all_damaged, 1);
    assert_int_equal(editing_journal_purge(d.j, MCP_STR("/a"), &n), MCP_EIO);
}

/* ---- allocations fail ---- */

static int use(const mcp_allocator *a, char id[EDITING_ENTRY_ID_SIZE])
{
    editing_journal *j = NULL;
    size_t n;
    bool done = false;
    int fd = file_of("old", 3);
    editing_entry e = entry_of("/a", 3);
    common_buffer b;
    common_buffer_init(&b, a);
    int rc = editing_journal_open(diary_folder(&d), MIB, a, &j, &said);
    if (rc == MCP_OK)
        rc = editing_journal_begin(j, &e, fd, NOW, &said);
    if (rc == MCP_OK) {
        done = true;
        memcpy(id, e.id, sizeof(e.id));
        rc = editing_journal_end(j, e.id, true, MCP_STR("v"));
    }
    all_count = 0;
    if (rc == MCP_OK)
        rc = editing_journal_each(j, see, NULL, NULL);
    if (rc == MCP_OK)
        rc = editing_journal_old(j, id, &b);
    if (rc == MCP_OK)
        rc = editing_journal_purge(j, MCP_STR("/b"), &n);
    if (!done)
        id[0] = '\0';
    close(fd);
    common_buffer_free(&b);
    editing_journal_close(j);
    return rc;
}

static void test_allocations(void **state)
{
    size_t kept = 0;
    (void)state;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        char id[EDITING_ENTRY_ID_SIZE];
        int rc = use(&a, id);
        assert_int_equal(rc, f.calls < n ? MCP_OK : MCP_ENOMEM);
        assert_int_equal(f.live, 0);
        kept += id[0] != '\0';
        assert_int_equal(look(&d), kept);
        assert_int_equal(all_damaged, 0);
        if (id[0])
            assert_old(&d, id, "old");
        if (f.calls < n)
            break;
    }
    assert_true(kept > 3);
}

/* ---- threads ---- */

enum { THREADS = 4, TURNS = 60 };

static void *work(void *user)
{
    char path[16];
    snprintf(path, sizeof(path), "/%d", *(const int *)user);
    for (int i = 0; i < TURNS; i++) {
        char id[EDITING_ENTRY_ID_SIZE];
        common_buffer b;
        size_t n = 1;
        editing_entry e = entry_of(path, 5);
        int fd = file_of("12345", 5);
        common_buffer_init(&b, NULL);
        if (editing_journal_begin(d.j, &e, fd, NOW, NULL) != MCP_OK)
            return user;
        memcpy(id, e.id, sizeof(id));
        int left = 3;
        if (editing_journal_end(d.j, id, true, MCP_STR("v")) != MCP_OK ||
            editing_journal_old(d.j, id, &b) != MCP_OK || b.len != 5 ||
            editing_journal_each(d.j, stop, &left, NULL) != MCP_OK ||
            editing_journal_purge(d.j, text_of(path), &n) != MCP_OK || n != 1)
            return user;
        common_buffer_free(&b);
        close(fd);
    }
    return NULL;
}

static void test_threads(void **state)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    (void)state;
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(look(&d), THREADS * TURNS);
    for (size_t i = 0; i < all_count; i++)
        assert_true(all[i].happened && all[i].purged);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    cmocka_set_test_filter(getenv("ONLY"));
    const struct CMUnitTest tests[] = {
        TEST(test_members),
        TEST(test_no_contents),
        TEST(test_ends),
        TEST(test_undone),
        TEST(test_stops),
        TEST(test_calls_inside),
        TEST(test_ids),
        TEST(test_old_by_false_ids),
        TEST(test_large),
        TEST(test_full),
        TEST(test_one_young),
        TEST(test_too_large),
        TEST(test_purge),
        TEST(test_purge_torn),
        TEST(test_purge_makes_room),
        TEST(test_modes),
        TEST(test_refused_folders),
        TEST(test_another_owner),
        TEST(test_linked_segment),
        TEST(test_allocations),
        TEST(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
