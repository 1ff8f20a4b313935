/* test_cache.c: a cached file is used only while a new read would give the same result.
 *
 * Compiled with include/, providers/files, providers/editing and tests/support on the include path, linked to the
 * files provider and cmocka. */
#define _GNU_SOURCE
#include <time.h>

#include "buffer.h"
#include "cache.h"
#include "failalloc.h"
#include "root.h"
#include "tree.h"

typedef struct fixture {
    tree t;
    files_roots roots;
    files_cache *cache;
} fixture;

static void wait_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static int setup(void **state)
{
    static fixture f;
    mcp_allocator alloc = common_allocator(NULL);
    tree_make(&f.t);
    tree_bytes(&f.t, "dir/a.txt", "first", 5);
    tree_bytes(&f.t, "outside.txt", "other", 5);
    const char *paths[] = {f.t.path};
    assert_int_equal(files_roots_open(paths, 1, NULL, NULL, &f.roots, NULL), MCP_OK);
    f.cache = files_cache_new(&alloc);
    wait_ms(80); /* the files are then old enough to be cached */
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    files_cache_free(f->cache);
    files_roots_close(&f->roots);
    tree_remove(&f->t);
    return 0;
}

/* Reads the file and caches it. */
static void keep(fixture *f, const char *rel)
{
    char bytes[64 << 10];
    struct stat st;
    int fd;
    assert_int_equal(files_root_open(&f->roots.items[0], rel, &fd, &st), MCP_OK);
    ssize_t n = read(fd, bytes, sizeof(bytes));
    assert_true(n >= 0);
    files_cached c = {.bytes = {bytes, (size_t)n}, .text = true, .type = "text/plain"};
    editing_version_make(&st, &c.bytes, &c.version);
    files_cache_put(f->cache, mcp_str_from(rel), fd, &st, &c);
    close(fd);
}

static bool kept(fixture *f, const char *rel, const char *expected)
{
    files_cached c;
    if (!files_cache_get(f->cache, mcp_str_from(rel), &c))
        return false;
    assert_int_equal(c.bytes.len, strlen(expected));
    assert_memory_equal(c.bytes.ptr, expected, c.bytes.len);
    assert_true(c.text);
    assert_string_equal(c.type, "text/plain");
    assert_true(strlen(c.version.text) > 20);
    return true;
}

static void unchanged_is_kept(void **state)
{
    fixture *f = *state;
    assert_false(kept(f, "dir/a.txt", ""));
    keep(f, "dir/a.txt");
    assert_true(kept(f, "dir/a.txt", "first"));
    assert_false(kept(f, "outside.txt", ""));
    assert_false(kept(f, "dir", ""));
}

static void written(fixture *f)
{
    tree_bytes(&f->t, "dir/a.txt", "FIRST", 5);
}
static void replaced(fixture *f)
{
    tree_bytes(&f->t, "dir/b.txt", "FIRST", 5);
    char to[256];
    snprintf(to, sizeof(to), "%s", tree_at(&f->t, "dir/a.txt"));
    assert_int_equal(rename(tree_at(&f->t, "dir/b.txt"), to), 0);
}
static void removed(fixture *f)
{
    assert_int_equal(unlink(tree_at(&f->t, "dir/a.txt")), 0);
}
static void linked(fixture *f)
{
    removed(f);
    assert_int_equal(symlink("../outside.txt", tree_at(&f->t, "dir/a.txt")), 0);
}
static void forbidden(fixture *f)
{
    assert_int_equal(chmod(tree_at(&f->t, "dir/a.txt"), 0), 0);
}
static void renamed(fixture *f)
{
    char to[256];
    snprintf(to, sizeof(to), "%s", tree_at(&f->t, "dir/c.txt"));
    assert_int_equal(rename(tree_at(&f->t, "dir/a.txt"), to), 0);
}
static void aged(fixture *f)
{
    (void)f;
    wait_ms(FILES_CACHE_MS + 30);
}
/* The path now leads outside, to the same inode; this is detected when the entry expires. */
static void moved_out(fixture *f)
{
    char outside[256];
    snprintf(outside, sizeof(outside), "%s-outside", f->t.path);
    assert_int_equal(rename(tree_at(&f->t, "dir"), outside), 0);
    assert_int_equal(symlink(outside, tree_at(&f->t, "dir")), 0);
    aged(f);
    int fd;
    struct stat st;
    assert_int_not_equal(files_root_open(&f->roots.items[0], "dir/a.txt", &fd, &st), MCP_OK);
    unlink(tree_at(&f->t, "dir"));
    assert_int_equal(rename(outside, tree_at(&f->t, "dir")), 0);
}

static void changed_is_not(void **state)
{
    static void (*const changes[])(fixture * f) = {written, replaced,  renamed, removed,
                                                   linked,  forbidden, aged,    moved_out};
    for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
        fixture *f = *state;
        keep(f, "dir/a.txt");
        assert_true(kept(f, "dir/a.txt", "first"));
        changes[i](f);
        assert_false(kept(f, "dir/a.txt", ""));
        teardown(state);
        setup(state);
    }
}

static void not_all_is_kept(void **state)
{
    fixture *f = *state;
    static char large[FILES_CACHE_FILE + 1];
    tree_bytes(&f->t, "large", large, sizeof(large));
    tree_bytes(&f->t, "new", "new", 3);
    keep(f, "new"); /* could be changed again within the same tick */
    assert_false(kept(f, "new", ""));
    wait_ms(80);
    keep(f, "new");
    assert_true(kept(f, "new", "new"));
    keep(f, "large");
    assert_false(kept(f, "large", ""));
}

static void without_memory(void **state)
{
    fixture *f = *state;
    for (size_t n = 1;; n++) {
        failalloc fails = {.fail_at = n};
        mcp_allocator alloc = failalloc_allocator(&fails);
        files_cache *own = f->cache;
        f->cache = files_cache_new(&alloc);
        if (f->cache) {
            keep(f, "dir/a.txt");
            bool is_kept = kept(f, "dir/a.txt", "first");
            assert_int_equal(is_kept, fails.calls < n);
            files_cache_free(f->cache);
        }
        f->cache = own;
        assert_int_equal(fails.live, 0);
        if (fails.calls < n)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(unchanged_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(changed_is_not, setup, teardown),
        cmocka_unit_test_setup_teardown(not_all_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(without_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
