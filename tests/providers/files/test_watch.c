/* Watching: the reports for each change, with inotify, with an exhausted watch budget, and without
 * inotify. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "buffer.h"
#include "dirs.h"
#include "failalloc.h"
#include "fakehost.h"
#include "watch.h"

enum { POLL_MS = 10, SETTLE_MS = 8, QUIET_MS = 15, SOON_MS = 3 };

static char top[64]; /* a new folder per test, and the current one */

static int setup(void **state)
{
    (void)state;
    strcpy(top, "/tmp/mcp-watch-XXXXXX");
    return mkdtemp(top) && chdir(top) == 0 ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int teardown(void **state)
{
    (void)state;
    return chdir("/") == 0 ? nftw(top, remove_entry, 16, FTW_DEPTH | FTW_PHYS) : -1;
}

static void put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void make_folder(const char *path)
{
    assert_int_equal(mkdir(path, 0755), 0);
}

/* ---- a watch over the folder ----------------------------------------------------------------- */

typedef struct bench {
    fakehost host;
    files_roots roots;
    files_watch *watch;
    const char *expected; /* path that `updated` counts */
    size_t updated, other, lists;
} bench;

static void on_updated(const char *path, void *user)
{
    bench *b = user;
    if (b->expected && strcmp(path, b->expected) == 0)
        b->updated++;
    else
        b->other++;
}

static void on_list(const char *path, void *user)
{
    (void)path;
    ((bench *)user)->lists++;
}

static files_watch_options options_of(bench *b, size_t budget, const mcp_allocator *alloc)
{
    return (files_watch_options){.roots = &b->roots,
                                 .host = &b->host.host,
                                 .alloc = alloc,
                                 .budget = budget,
                                 .rules = true,
                                 .poll_ms = POLL_MS,
                                 .updated = on_updated,
                                 .list_changed = on_list,
                                 .user = b};
}

static void bench_open(bench *b, const char *source, size_t budget, bool deaf)
{
    *b = (bench){0};
    fakehost_init(&b->host);
    b->host.deaf = deaf;
    /* The cached .gitignore files are checked each time, because the tests change them quickly. */
    files_ignore_options ignore = {.fresh_ns = -1};
    assert_int_equal(files_roots_open(&source, 1, &ignore, NULL, &b->roots, NULL), MCP_OK);
    files_watch_options o = options_of(b, budget, NULL);
    assert_int_equal(files_watch_new(&o, &b->watch), MCP_OK);
}

static void bench_close(bench *b)
{
    files_watch_free(b->watch);
    files_roots_close(&b->roots);
    assert_null(b->host.timers);
    assert_null(b->host.poll);
}

/* ---- the reports for each change ------------------------------------------------------------- */

static void nothing(void)
{
}
static void put_a(void)
{
    put("a.txt", "changed");
}
static void put_b(void)
{
    put("b.txt", "changed");
}
static void replace_a(void)
{
    put("a.new", "replaced");
    assert_int_equal(rename("a.new", "a.txt"), 0);
}
static void delete_a(void)
{
    assert_int_equal(unlink("a.txt"), 0);
}
static void chmod_a(void)
{
    assert_int_equal(chmod("a.txt", 0600), 0);
}
static void create_c(void)
{
    put("c.txt", "new");
}
static void create_hidden(void)
{
    put("d/.hidden", "new");
}
static void create_ignored(void)
{
    put("d/x.log", "new");
}
static void put_rules(void)
{
    put(".gitignore", "*.txt\n");
}
static void make_way(void)
{
    make_folder("new");
    make_folder("new/deep");
    put("new/deep/x.txt", "new");
}
static void move_folder(void)
{
    assert_int_equal(rename("d", "e"), 0);
}
static void create_in_d(void)
{
    put("d/new.txt", "new");
}
static void put_in_d(void)
{
    put("d/x.txt", "changed");
}
static void remove_d(void)
{
    assert_int_equal(unlink("d/x.txt"), 0);
    assert_int_equal(rmdir("d"), 0);
}
/* As an update of a ConfigMap. */
static void swap_data(void)
{
    make_folder("..v2"), make_folder("..v2/kd");
    put("..v2/key", "of the second version");
    put("..v2/kd/key", "of the second version, below");
    assert_int_equal(symlink("..v2", "..tmp"), 0);
    assert_int_equal(rename("..tmp", "..data"), 0);
}
static void swap_d(void)
{
    assert_int_equal(rename("d", "gone"), 0);
    make_folder("d");
    put("d/x.txt", "another file");
}

enum { NO, YES, EITHER };

static const struct change {
    const char *name;
    const char *sub; /* relative to the top; NULL: only lists */
    void (*act)(void);
    int updated, lists;
    /* Polling reports that the folder changed, but not which file, so an additional report is
     * allowed. */
    bool blurred;
} changes[] = {
    {"nothing happens", "a.txt", nothing, NO, NO, false},
    {"a file is written", "a.txt", put_a, YES, NO, false},
    {"its neighbour is written", "a.txt", put_b, NO, NO, false},
    {"a file is replaced by rename", "a.txt", replace_a, YES, YES, false},
    {"a file is deleted", "a.txt", delete_a, YES, YES, false},
    {"permissions change", "a.txt", chmod_a, YES, NO, false},
    {"a file is created", "c.txt", create_c, YES, YES, false},
    {"with the folders on its way", "new/deep/x.txt", make_way, YES, YES, false},
    {"its folder is moved away", "d/x.txt", move_folder, YES, YES, false},
    {"its folder is removed", "d/x.txt", remove_d, YES, YES, false},
    {"its folder is swapped", "d/x.txt", swap_d, YES, YES, false},
    {"a link's target is written", "link", put_a, YES, NO, false},
    {"a volume gets another version", "key", swap_data, YES, YES, false},
    {"a key in a folder gets another version", "kd/key", swap_data, YES, YES, false},
    {"a folder gets an entry", "d", create_in_d, YES, YES, false},
    {"an entry of a folder is written", "d", put_in_d, NO, NO, false},
    {"a folder gets a hidden entry", "d", create_hidden, NO, NO, true},
    {"a folder gets an ignored entry", "d", create_ignored, NO, NO, true},
    {"a folder is removed", "d", remove_d, YES, YES, false},
    {"the top folder gets an entry", "", create_c, YES, YES, false},
    {"the rules change", NULL, put_rules, NO, YES, false},
};

static const struct mode {
    const char *name;
    size_t budget;
    bool deaf, polls;
} modes[] = {
    {"inotify", 0, false, false},
    {"a budget of one", 1, false, true},
    {"polling", 0, true, true},
};

static void check(const char *what, const struct change *c, const struct mode *m, int expected,
                  size_t seen)
{
    bool blurred = m->polls && c->blurred;
    if ((expected == YES && !seen) || (expected == NO && seen && !blurred))
        fail_msg("%s, by %s: %s reported %zu times", c->name, m->name, what, seen);
}

/* Runs until all folders are found. */
static void settle(bench *b)
{
    do
        fakehost_run(&b->host, SETTLE_MS);
    while (files_watch_count(b->watch).scanning);
}

/* Runs until the expected reports have arrived, then a little longer to catch unexpected ones. */
static void wait_for(bench *b, const struct change *c, int64_t quiet)
{
    for (int64_t end = fakehost_now(NULL) + 2000; fakehost_now(NULL) < end;) {
        if ((c->updated != YES || b->updated) && (c->lists != YES || b->lists))
            break;
        fakehost_run(&b->host, 2);
    }
    if (c->updated == NO || c->lists == NO)
        fakehost_run(&b->host, quiet);
}

static void run_change(const struct change *c, const struct mode *m)
{
    bench b;
    char path[128] = "";
    put(".gitignore", "*.log\n");
    put("a.txt", "a"), put("b.txt", "b");
    make_folder("d");
    put("d/x.txt", "x");
    assert_int_equal(symlink("a.txt", "link"), 0);
    make_folder("..v1"), make_folder("..v1/kd");
    put("..v1/key", "key"), put("..v1/kd/key", "key");
    assert_int_equal(symlink("..v1", "..data") | symlink("..data/key", "key"), 0);
    assert_int_equal(symlink("..data/kd", "kd"), 0);
    bench_open(&b, ".", m->budget, m->deaf);
    if (c->sub) {
        snprintf(path, sizeof(path), "%s%s%s", top, *c->sub ? "/" : "", c->sub);
        b.expected = path;
        assert_int_equal(files_watch_add(b.watch, path), MCP_OK);
    }
    assert_int_equal(files_watch_list_start(b.watch), MCP_OK);
    settle(&b);
    assert_int_equal(b.updated + b.other + b.lists, 0);
    c->act();
    wait_for(&b, c, m->polls ? QUIET_MS : SOON_MS);
    check("updated", c, m, c->updated, b.updated);
    check("list_changed", c, m, c->lists, b.lists);
    assert_int_equal(b.other, 0);
    bench_close(&b);
}

static void test_changes(void **state)
{
    for (size_t m = 0; m < sizeof(modes) / sizeof(*modes); m++) {
        for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
            run_change(&changes[i], &modes[m]);
            assert_int_equal(teardown(state), 0);
            assert_int_equal(setup(state), 0);
        }
    }
}

/* A file that is repeatedly created, replaced and removed remains watched. */
static void test_again_and_again(void **state)
{
    bench b;
    char path[128];
    (void)state;
    snprintf(path, sizeof(path), "%s/f", top);
    bench_open(&b, top, 0, false);
    b.expected = path;
    assert_int_equal(files_watch_add(b.watch, path), MCP_OK);
    for (int i = 0; i < 3; i++) {
        size_t before = b.updated;
        put("f", "there");
        fakehost_run(&b.host, 4);
        assert_true(b.updated > before);
        before = b.updated;
        put("f.new", "another one");
        assert_int_equal(rename("f.new", "f"), 0);
        fakehost_run(&b.host, 4);
        assert_true(b.updated > before);
        before = b.updated;
        assert_int_equal(unlink("f"), 0);
        fakehost_run(&b.host, 4);
        assert_true(b.updated > before);
    }
    assert_int_equal(b.lists, 0); /* there is no watch on the list */
    files_watch_remove(b.watch, path);
    put("f", "there");
    size_t before = b.updated;
    fakehost_run(&b.host, 4);
    assert_int_equal(b.updated, before);
    bench_close(&b);
}

/* Only the folders on the paths of subscribed files are watched, each once. */
static void test_only_what_is_subscribed(void **state)
{
    static const char *const subs[] = {"f07/x", "f07/y", "f07", "f07/not/yet"};
    enum { N = sizeof(subs) / sizeof(*subs) };
    char path[N][128], name[32];
    bench b;
    (void)state;
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof(name), "f%02d", i);
        make_folder(name);
    }
    bench_open(&b, top, 0, false);
    assert_int_equal(files_watch_count(b.watch).watched, 0);
    for (int i = 0; i < N; i++) {
        snprintf(path[i], sizeof(path[i]), "%s/%s", top, subs[i]);
        assert_int_equal(files_watch_add(b.watch, path[i]), MCP_OK);
        settle(&b);
        assert_int_equal(files_watch_count(b.watch).watched, 2);
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(files_watch_count(b.watch).watched, 2);
        files_watch_remove(b.watch, path[i]);
    }
    assert_int_equal(files_watch_count(b.watch).watched, 0);
    bench_close(&b);
}

static void test_new_folders_are_watched(void **state)
{
    bench b;
    (void)state;
    bench_open(&b, top, 0, false);
    assert_int_equal(files_watch_list_start(b.watch), MCP_OK);
    fakehost_run(&b.host, 4);
    make_folder("n");
    make_folder("n/m"); /* n is not watched yet */
    settle(&b);
    assert_true(b.lists > 0);
    assert_int_equal(files_watch_count(b.watch).watched, 3);
    b.lists = 0;
    put("n/m/f", "x");
    fakehost_run(&b.host, 4);
    assert_int_equal(b.lists, 1);
    files_watch_list_stop(b.watch);
    assert_int_equal(files_watch_count(b.watch).watched, 0);
    bench_close(&b);
}

/* A folder that is moved in was created unwatched, with all its contents. */
static void test_moved_folders_are_watched(void **state)
{
    bench b;
    (void)state;
    make_folder("served"), make_folder("outside"), make_folder("outside/deep");
    bench_open(&b, "served", 0, false);
    assert_int_equal(files_watch_list_start(b.watch), MCP_OK);
    settle(&b);
    assert_int_equal(files_watch_count(b.watch).watched, 1);
    assert_int_equal(rename("outside", "served/in"), 0);
    settle(&b);
    assert_true(b.lists > 0);
    assert_int_equal(files_watch_count(b.watch).watched, 3);
    b.lists = 0;
    put("served/in/deep/f", "x");
    fakehost_run(&b.host, 4);
    assert_int_equal(b.lists, 1);
    bench_close(&b);
}

static void test_a_single_file_is_a_root(void **state)
{
    bench b;
    char path[128];
    (void)state;
    put("only", "x"), put("other", "x");
    snprintf(path, sizeof(path), "%s/only", top);
    bench_open(&b, path, 0, false);
    b.expected = path;
    assert_int_equal(files_watch_add(b.watch, path), MCP_OK);
    assert_int_equal(files_watch_list_start(b.watch), MCP_OK);
    put("other", "y"), put("third", "z");
    fakehost_run(&b.host, 4);
    assert_int_equal(b.updated + b.other + b.lists, 0);
    put("new", "y");
    assert_int_equal(rename("new", "only"), 0);
    fakehost_run(&b.host, 4);
    assert_true(b.updated > 0 && b.lists > 0);
    assert_int_equal(files_watch_add(b.watch, "/etc/passwd"), MCP_ENOTFOUND);
    bench_close(&b);
}

/* ---- the budget ------------------------------------------------------------------------------ */

static void test_budget(void **state)
{
    enum { FOLDERS = 30, BUDGET = 5 };
    bench b;
    char name[32];
    (void)state;
    for (int i = 0; i < FOLDERS; i++) {
        snprintf(name, sizeof(name), "f%02d", i);
        make_folder(name);
    }
    bench_open(&b, top, BUDGET, false);
    assert_int_equal(files_watch_list_start(b.watch), MCP_OK);
    files_watch_counts n = {.scanning = true};
    for (int64_t end = fakehost_now(NULL) + 5000; n.scanning && fakehost_now(NULL) < end;) {
        fakehost_run(&b.host, SETTLE_MS);
        n = files_watch_count(b.watch);
    }
    assert_int_equal(n.watched, BUDGET);
    assert_int_equal(n.polled, FOLDERS + 1 - BUDGET);
    assert_false(n.scanning);
    /* changes are noticed in polled folders as well as in watched ones */
    for (int i = 0; i < FOLDERS; i++) {
        b.lists = 0;
        snprintf(name, sizeof(name), "f%02d/x", i);
        put(name, "x");
        for (int64_t end = fakehost_now(NULL) + 500; !b.lists && fakehost_now(NULL) < end;)
            fakehost_run(&b.host, 2);
        assert_true(b.lists > 0);
    }
    assert_int_equal(b.host.warnings, 1);
    bench_close(&b);
}

static int open_by_path(const char *path, int *ret_fd, void *user)
{
    (void)user;
    *ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *ret_fd < 0 ? MCP_ENOTFOUND : MCP_OK;
}

static files_dir *add(files_dirs *dirs, const char *path, files_dir_use use)
{
    files_dir *d;
    assert_int_equal(files_dirs_add(dirs, path, strlen(path), use, &d), MCP_OK);
    return d;
}

/* The least recently used watch is removed; pinned watches are kept. */
static void test_least_recently_used(void **state)
{
    files_dirs dirs;
    mcp_allocator alloc = common_allocator(NULL);
    (void)state;
    make_folder("a"), make_folder("b"), make_folder("c");
    files_dirs_init(&dirs, &alloc, 2, open_by_path, NULL);
    assert_true(files_dirs_open(&dirs));
    files_dir *a = add(&dirs, "a", FILES_DIR_FOUND), *b = add(&dirs, "b", FILES_DIR_FOUND);
    files_dir *c = add(&dirs, "c", FILES_DIR_FOUND);
    assert_true(a->wd >= 0 && b->wd >= 0 && c->wd < 0);
    add(&dirs, "c", FILES_DIR_LISTED);
    assert_true(a->wd < 0 && b->wd >= 0 && c->wd >= 0);
    add(&dirs, "b", FILES_DIR_LISTED);
    add(&dirs, "a", FILES_DIR_PINNED);
    assert_true(a->wd >= 0 && b->wd >= 0 && c->wd < 0);
    add(&dirs, "c", FILES_DIR_LISTED);
    assert_true(a->wd >= 0 && b->wd < 0 && c->wd >= 0);
    files_dir_unpin(&dirs, a);
    files_dirs_close(&dirs, NULL);
}

static void test_queue_overflow(void **state)
{
    bench b;
    char path[128];
    (void)state;
    put("a.txt", "x");
    snprintf(path, sizeof(path), "%s/a.txt", top);
    bench_open(&b, top, 0, false);
    b.expected = path;
    assert_int_equal(files_watch_add(b.watch, path), MCP_OK);
    for (int i = 0; i < 7000; i++) { /* three events each; the queue takes 16,384 */
        put(i % 2 ? "x" : "y", "");
        unlink(i % 2 ? "x" : "y");
    }
    for (int64_t end = fakehost_now(NULL) + 2000; !b.updated && fakehost_now(NULL) < end;)
        fakehost_run(&b.host, 10);
    assert_int_equal(b.updated, 1);
    put("a.txt", "y");
    fakehost_run(&b.host, SETTLE_MS);
    assert_true(b.updated > 1);
    bench_close(&b);
}

/* ---- without inotify ------------------------------------------------------------------------- */

static void test_no_memory(void **state)
{
    char path[128];
    (void)state;
    make_folder("d"), make_folder("d/e");
    put("d/e/f", "x");
    snprintf(path, sizeof(path), "%s/d/e/f", top);
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator alloc = failalloc_allocator(&f);
        bench b = {0};
        fakehost_init(&b.host);
        const char *source = top;
        assert_int_equal(files_roots_open(&source, 1, NULL, NULL, &b.roots, NULL), MCP_OK);
        files_watch_options o = options_of(&b, 2, &alloc);
        int rc = files_watch_new(&o, &b.watch);
        if (rc == MCP_OK) {
            rc = files_watch_add(b.watch, path);
            files_watch_list_start(b.watch);
            fakehost_run(&b.host, 4);
            put("d/e/f", "y");
            make_folder("d/g");
            fakehost_run(&b.host, 4);
            assert_int_equal(rmdir("d/g"), 0);
            fakehost_run(&b.host, 4);
        }
        assert_true(rc == MCP_OK || rc == MCP_ENOMEM);
        bench_close(&b);
        assert_int_equal(f.live, 0);
        if (f.calls < n)
            break;
    }
}

static void test_no_host(void **state)
{
    bench b = {0};
    files_watch_options o = options_of(&b, 0, NULL);
    (void)state;
    o.host = NULL;
    assert_int_equal(files_watch_new(&o, &b.watch), MCP_EUNSUPPORTED);
    mcp_host empty = {.size = sizeof(empty)};
    o.host = &empty;
    assert_int_equal(files_watch_new(&o, &b.watch), MCP_EUNSUPPORTED);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    static const struct CMUnitTest tests[] = {
        TEST(test_changes),
        TEST(test_again_and_again),
        TEST(test_only_what_is_subscribed),
        TEST(test_new_folders_are_watched),
        TEST(test_moved_folders_are_watched),
        TEST(test_a_single_file_is_a_root),
        TEST(test_budget),
        TEST(test_least_recently_used),
        TEST(test_queue_overflow),
        TEST(test_no_memory),
        TEST(test_no_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
