/* test_walk.c: the pages give the whole set in order, with bounded cost, even if the tree changes
 * between them.
 *
 * Compiled with include/, providers/files and tests/support on the include path, linked to the
 * files provider and cmocka. */
#define _GNU_SOURCE
#include "failalloc.h"
#include "fileuri.h"
#include "tree.h"
#include "walk.h"

#include <sys/resource.h>

/* The listed entries: "root:path", with a slash for folders. */
typedef struct list {
    char **items;
    size_t count, cap;
} list;

static void list_add(list *l, const char *text)
{
    if (l->count == l->cap)
        l->items = realloc(l->items, (l->cap = 2 * l->cap + 16) * sizeof(*l->items));
    l->items[l->count++] = strdup(text);
}

static void list_free(list *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->items[i]);
    free(l->items);
    *l = (list){0};
}

static int collect(const files_entry *e, void *user)
{
    char text[COMMON_PATH_MAX + 32];
    snprintf(text, sizeof(text), "%zu:%s%s", e->root, e->rel.ptr, e->is_dir ? "/" : "");
    list_add(user, text);
    return MCP_OK;
}

static files_roots open_paths(const char *const *paths, size_t count,
                              const files_ignore_options *options)
{
    files_roots roots;
    assert_int_equal(files_roots_open(paths, count, options, NULL, &roots, NULL), MCP_OK);
    return roots;
}

static files_roots open_tree(const tree *t, const files_ignore_options *options)
{
    const char *path = t->path;
    return open_paths(&path, 1, options);
}

/* Reads all pages and checks the limits of each. */
static size_t all_pages(const files_roots *roots, size_t max, size_t budget, list *l)
{
    static files_cursor at;
    files_walk_result result = {.more = true};
    const files_walk_options options = {.max = max, .budget = budget};
    size_t pages = 0;
    memset(&at, 0, sizeof(at));
    while (result.more) {
        size_t before = l->count;
        assert_int_equal(files_walk_page(roots, &at, &options, collect, l, &at, &result), MCP_OK);
        assert_int_equal(l->count - before, result.given);
        assert_true(result.given <= max);
        assert_true(++pages < 100000);
    }
    return pages;
}

static void assert_list(const list *l, const char *const *expected, size_t count)
{
    for (size_t i = 0; i < count && i < l->count; i++)
        assert_string_equal(l->items[i], expected[i]);
    assert_int_equal(l->count, count);
}

/* ---- order and content ----------------------------------------------------------------------- */

static void test_order(void **state)
{
    static const char *const expected[] = {
        "0:/",     "0:B",  "0:a/",     "0:a/b/",    "0:a/b/c", "0:a/z",    "0:a-b",
        "0:a.txt", "0:ab", "0:empty/", "0:link-in", "0:z/",    "0:z/\xff", "0:\xc3\xa9",
    };
    tree t;
    (void)state;
    tree_make(&t);
    tree_file(&t, "a/b/c", "");
    tree_file(&t, "a/z", "");
    tree_file(&t, "a-b", "");
    tree_file(&t, "a.txt", "");
    tree_file(&t, "ab", "");
    tree_file(&t, "B", "");
    tree_file(&t, "z/\xff", "");
    tree_file(&t, "\xc3\xa9", "");
    tree_dir(&t, "empty");
    tree_file(&t, ".hidden", "");
    tree_file(&t, ".git/config", "");
    tree_file(&t, "skip/x", "");
    tree_file(&t, ".gitignore", "skip\n");
    tree_link(&t, "link-in", "a/z");
    tree_link(&t, "link-dir", "a");
    tree_link(&t, "link-out", "/etc/passwd");
    tree_link(&t, "link-dangling", "nothing");
    tree_link(&t, "link-hidden", ".hidden");
    tree_link(&t, "link-skipped", "skip/x");
    assert_int_equal(mkfifo(tree_at(&t, "fifo"), 0666), 0);
    files_roots roots = open_tree(&t, NULL);
    size_t count = sizeof(expected) / sizeof(expected[0]);
    for (size_t max = 1; max < 20; max++) {
        for (size_t budget = 1; budget < 2000; budget *= 5) {
            list l = {0};
            size_t pages = all_pages(&roots, max, budget, &l);
            assert_list(&l, expected, count);
            if (budget > 1000)
                assert_int_equal(pages, (count + max - 1) / max); /* never an empty last page */
            list_free(&l);
        }
    }
    files_roots_close(&roots);
    tree_remove(&t);
}

static int check_fields(const files_entry *e, void *user)
{
    (void)user;
    if (mcp_str_eq(e->rel, MCP_STR("a/b"))) {
        assert_true(mcp_str_eq(e->name, MCP_STR("b")));
        assert_false(e->is_dir);
        assert_int_equal(e->size, 5);
        assert_int_equal(e->mtime.tv_sec, 1000);
        assert_int_equal(e->mtime.tv_nsec, 7);
        assert_int_equal(e->depth, 2);
    } else if (e->rel.len == 0) {
        assert_true(e->is_dir);
        assert_int_equal(e->depth, 0);
        assert_memory_equal(e->name.ptr, "mcp-files-", 10);
    }
    return MCP_OK;
}

static int refuse(const files_entry *e, void *user)
{
    (void)e, (void)user;
    return MCP_ECLOSED;
}

static bool stop(void *user)
{
    (void)user;
    return true;
}

static void test_fields(void **state)
{
    const struct timespec times[2] = {{1000, 7}, {1000, 7}};
    static files_cursor at, bad;
    files_walk_result result;
    tree t;
    (void)state;
    tree_make(&t);
    tree_file(&t, "a/b", "12345");
    assert_int_equal(utimensat(AT_FDCWD, tree_at(&t, "a/b"), times, 0), 0);
    files_roots roots = open_tree(&t, NULL);
    memset(&at, 0, sizeof(at));
    assert_int_equal(files_walk_page(&roots, &at, NULL, check_fields, NULL, &at, &result), 0);
    assert_int_equal(result.given, 3);
    assert_false(result.more);
    assert_int_equal(files_walk_page(&roots, &bad, NULL, refuse, NULL, &at, &result), MCP_ECLOSED);
    const files_walk_options stopping = {.stop = stop};
    assert_int_equal(files_walk_page(&roots, &bad, &stopping, check_fields, NULL, &at, &result),
                     MCP_ECANCELLED);
    /* Forged cursors. */
    static const struct {
        size_t root;
        int place;
        const char *path;
    } forged[] = {
        {1, FILES_AFTER_ENTRY, ""},     {0, FILES_BEFORE_ROOT, "a"},   {0, 3, "a"},
        {0, FILES_AFTER_ENTRY, "../x"}, {0, FILES_AFTER_TREE, "a//b"}, {0, FILES_AFTER_ENTRY, "/"},
    };
    for (size_t i = 0; i < sizeof(forged) / sizeof(forged[0]); i++) {
        bad = (files_cursor){.root = forged[i].root, .place = (files_place)forged[i].place};
        bad.len = strlen(strcpy(bad.path, forged[i].path));
        assert_int_equal(files_walk_page(&roots, &bad, NULL, check_fields, NULL, &at, &result),
                         MCP_EINVAL);
    }
    files_roots_close(&roots);
    tree_remove(&t);
}

/* ---- several roots --------------------------------------------------------------------------- */

static void test_roots(void **state)
{
    static const char *const expected[] = {
        "0:/", "0:one", "0:sub/", "0:sub/x", "1:", "2:/", "2:deep/", "2:deep/y", "3:/", "3:z"};
    tree t;
    char paths[4][100];
    const char *list_of[4];
    (void)state;
    tree_make(&t);
    tree_file(&t, "b/one", "");
    tree_file(&t, "b/sub/x", "");
    tree_file(&t, "b/sub/nested/deep/y", "");
    tree_file(&t, "b/sub/nested2", "");
    tree_file(&t, "a/z", "");
    tree_file(&t, "single", "");
    assert_int_equal(unlink(tree_at(&t, "b/sub/nested2")), 0);
    snprintf(paths[0], 100, "%s/b", t.path);
    snprintf(paths[1], 100, "%s/single", t.path);
    snprintf(paths[2], 100, "%s/b/sub/nested", t.path);
    snprintf(paths[3], 100, "%s/a", t.path);
    for (int i = 0; i < 4; i++)
        list_of[i] = paths[i];
    files_roots roots = open_paths(list_of, 4, NULL);
    for (size_t max = 1; max < 12; max++) {
        list l = {0};
        all_pages(&roots, max, 0, &l);
        assert_list(&l, expected, sizeof(expected) / sizeof(expected[0]));
        list_free(&l);
    }
    assert_int_equal(files_roots_owner(&roots, 0, "sub/nested/x", 12), 2);
    assert_int_equal(files_roots_owner(&roots, 0, "sub/nested2", 11), 0);
    /* A root that no longer exists is skipped. */
    list l = {0};
    assert_int_equal(unlink(tree_at(&t, "single")), 0);
    all_pages(&roots, 3, 0, &l);
    assert_int_equal(l.count, 9);
    list_free(&l);
    files_roots_close(&roots);
    tree_remove(&t);
}

/* ---- every URI reads back -------------------------------------------------------------------- */

typedef struct reading {
    const files_roots *roots;
    size_t count;
} reading;

static int read_back(const files_entry *e, void *user)
{
    reading *r = user;
    static files_target target;
    common_buffer uri;
    struct stat st;
    int fd;
    common_buffer_init(&uri, NULL);
    assert_int_equal(files_uri_write(&r->roots->items[e->root], e->rel, &uri), MCP_OK);
    assert_int_equal(files_uri_parse(r->roots, (mcp_str){uri.ptr, uri.len}, &target), MCP_OK);
    assert_int_equal(target.root, e->root);
    assert_string_equal(target.rel, e->rel.ptr);
    assert_int_equal(files_root_open(&r->roots->items[target.root], target.rel, &fd, &st), MCP_OK);
    assert_int_equal(S_ISDIR(st.st_mode), e->is_dir);
    close(fd);
    common_buffer_free(&uri);
    r->count++;
    return MCP_OK;
}

static void test_uris(void **state)
{
    static const char *const names[] = {"with space", "100%",        "%41",      "a#b",
                                        "a?b",        "new\nline",   "\xc3\xa9", "\xff\xfe",
                                        "\"quoted\"", "back\\slash", "{brace}",  "tab\t",
                                        "-dash",      "~tilde",      "a:b",      "\x7f"};
    static files_cursor at;
    files_walk_result result;
    tree t;
    (void)state;
    tree_make(&t);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[64];
        tree_file(&t, names[i], "x");
        snprintf(path, sizeof(path), "dir/%s.d/%s", names[i], names[i]);
        tree_file(&t, path, "x");
    }
    files_roots roots = open_tree(&t, NULL);
    reading r = {.roots = &roots};
    assert_int_equal(files_walk_page(&roots, &at, NULL, read_back, &r, &at, &result), MCP_OK);
    assert_int_equal(r.count, 2 + 3 * (sizeof(names) / sizeof(names[0])));
    files_roots_close(&roots);
    tree_remove(&t);
}

/* ---- while the tree changes ------------------------------------------------------------------ */

enum { STABLE = 120 };

static void random_path(uint32_t *seed, char *path, size_t size, const char *kind)
{
    static const char *const folders[] = {"", "a/", "a/b/", "c/", "c-d/", "c/d/e/"};
    snprintf(path, size, "%s%s%u", folders[tree_random(seed) % 6], kind, tree_random(seed) % 500);
}

static size_t count_of(const list *l, const char *rel)
{
    size_t n = 0;
    for (size_t i = 0; i < l->count; i++)
        n += strcmp(l->items[i] + 2, rel) == 0;
    return n;
}

/* Files that stay are listed exactly once, even if others come and go between pages. */
static void test_changes(void **state)
{
    static char stable[STABLE][64];
    static files_cursor at;
    uint32_t seed = 7;
    (void)state;
    for (int round = 0; round < 6; round++) {
        files_walk_result result = {.more = true};
        list l = {0};
        tree t;
        tree_make(&t);
        for (int i = 0; i < STABLE; i++) {
            random_path(&seed, stable[i], sizeof(stable[i]), "stable");
            tree_file(&t, stable[i], "");
        }
        files_roots roots = open_tree(&t, NULL);
        memset(&at, 0, sizeof(at));
        while (result.more) {
            const files_walk_options options = {.max = 1 + tree_random(&seed) % 9,
                                                .budget = 1 + tree_random(&seed) % 100};
            char path[64];
            assert_int_equal(files_walk_page(&roots, &at, &options, collect, &l, &at, &result), 0);
            for (int i = 0; i < 6; i++) {
                random_path(&seed, path, sizeof(path), "moving");
                if (tree_random(&seed) % 2)
                    tree_file(&t, path, "");
                else
                    unlink(tree_at(&t, path));
            }
            /* The entry that the cursor names is removed, or replaced by a folder. */
            if (strstr(at.path, "moving") && unlink(tree_at(&t, at.path)) == 0 &&
                tree_random(&seed) % 2)
                tree_dir(&t, at.path);
        }
        for (int i = 0; i < STABLE; i++)
            assert_int_equal(count_of(&l, stable[i]), 1);
        for (size_t i = 1; i < l.count; i++) {
            if (count_of(&l, l.items[i] + 2) != 1)
                fail_msg("%s came twice", l.items[i]);
        }
        list_free(&l);
        files_roots_close(&roots);
        tree_remove(&t);
    }
}

/* A whole folder on the way to the position vanishes, or is ignored from now on. */
static void test_lost_folder(void **state)
{
    static files_cursor at, copy;
    const files_ignore_options fresh = {.fresh_ns = -1};
    const files_walk_options options = {.max = 4};
    files_walk_result result;
    list l = {0};
    tree t;
    (void)state;
    tree_make(&t);
    tree_file(&t, "a/b/1", "");
    tree_file(&t, "a/b/2", "");
    tree_file(&t, "a/c", "");
    tree_file(&t, "d", "");
    files_roots roots = open_tree(&t, &fresh);
    memset(&at, 0, sizeof(at));
    assert_int_equal(files_walk_page(&roots, &at, &options, collect, &l, &at, &result), MCP_OK);
    assert_string_equal(at.path, "a/b/1");
    copy = at;
    tree_file(&t, ".gitignore", "b\n");
    list_free(&l);
    assert_int_equal(files_walk_page(&roots, &at, &options, collect, &l, &at, &result), MCP_OK);
    assert_list(&l, (const char *const[]){"0:a/c", "0:d"}, 2);
    unlink(tree_at(&t, ".gitignore"));
    assert_int_equal(rename(tree_at(&t, "a"), tree_at(&t, "A")), 0);
    list_free(&l);
    assert_int_equal(files_walk_page(&roots, &copy, &options, collect, &l, &at, &result), MCP_OK);
    assert_list(&l, (const char *const[]){"0:d"}, 1);
    /* A folder that is replaced by a link to the outside is not entered. */
    tree_link(&t, "a", "/etc");
    list_free(&l);
    assert_int_equal(files_walk_page(&roots, &copy, &options, collect, &l, &at, &result), MCP_OK);
    assert_list(&l, (const char *const[]){"0:d"}, 1);
    list_free(&l);
    files_roots_close(&roots);
    tree_remove(&t);
}

/* ---- cost ------------------------------------------------------------------------------------ */

static int count_entry(const files_entry *e, void *user)
{
    (void)e;
    ++*(size_t *)user;
    return MCP_OK;
}

static void test_cost(void **state)
{
    static files_cursor at;
    const files_walk_options options = {.max = 10};
    files_walk_result result = {.more = true};
    size_t total = 0;
    tree t;
    (void)state;
    tree_make(&t);
    for (int d = 0; d < 30; d++) {
        for (int f = 0; f < 30; f++) {
            char path[64];
            snprintf(path, sizeof(path), "d%02d/f%02d", d, f);
            tree_file(&t, path, "");
        }
    }
    files_roots roots = open_tree(&t, NULL);
    memset(&at, 0, sizeof(at));
    while (result.more) {
        assert_int_equal(files_walk_page(&roots, &at, &options, count_entry, &total, &at, &result),
                         MCP_OK);
        /* At most the top folder and two folders below it, at any position in the tree. */
        assert_true(result.scans <= 3);
        assert_true(result.examined <= 90);
    }
    assert_int_equal(total, 1 + 30 + 900);
    files_roots_close(&roots);
    tree_remove(&t);
}

/* Nothing matches: each page ends when its budget is used up, and the listing ends. */
static void test_budget(void **state)
{
    static const char *const include[] = {"*.none"};
    static files_cursor at;
    const files_ignore_options ignoring = {.include = include, .include_count = 1};
    const files_walk_options options = {.max = 1000, .budget = 100};
    files_walk_result result = {.more = true};
    size_t pages = 0;
    list l = {0};
    tree t;
    (void)state;
    tree_make(&t);
    for (int d = 0; d < 20; d++) {
        for (int f = 0; f < 50; f++) {
            char path[64];
            snprintf(path, sizeof(path), "d%02d/f%02d", d, f);
            tree_file(&t, path, "");
        }
    }
    files_roots roots = open_tree(&t, &ignoring);
    memset(&at, 0, sizeof(at));
    while (result.more) {
        assert_int_equal(files_walk_page(&roots, &at, &options, collect, &l, &at, &result), MCP_OK);
        assert_true(result.examined <= 100 + 50);
        pages++;
    }
    assert_true(pages >= 7);
    assert_int_equal(l.count, 21);
    list_free(&l);
    files_roots_close(&roots);
    tree_remove(&t);
}

/* The tree is deeper than the number of levels that the walk keeps open, and each level has names
 * after the subfolder. */
static void test_deep(void **state)
{
    char path[400] = "";
    size_t depth = 40;
    tree t;
    (void)state;
    tree_make(&t);
    for (size_t i = 0; i < depth; i++) {
        char file[420];
        strcat(path, i ? "/m" : "m");
        tree_dir(&t, path);
        snprintf(file, sizeof(file), "%.*sa", (int)strlen(path) - 1, path);
        tree_file(&t, file, "");
        file[strlen(file) - 1] = 'z';
        tree_file(&t, file, "");
    }
    files_roots roots = open_tree(&t, NULL);
    for (size_t max = 1; max < 200; max += 33) {
        list l = {0};
        all_pages(&roots, max, 0, &l);
        assert_int_equal(l.count, 1 + 3 * depth);
        assert_string_equal(l.items[0], "0:/");
        assert_string_equal(l.items[1], "0:a");
        assert_string_equal(l.items[l.count - 1], "0:z");
        assert_string_equal(l.items[l.count - 2], "0:m/z");
        list_free(&l);
    }
    files_roots_close(&roots);
    tree_remove(&t);
}

/* There are more names than fit on a page, most of them dangling links, so the folder is read again
 * for each page. */
static void test_dead_links(void **state)
{
    tree t;
    (void)state;
    tree_make(&t);
    for (int i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof(name), "l%02d", i);
        tree_link(&t, name, i % 25 == 24 ? "zfile" : "nowhere");
    }
    tree_file(&t, "zfile", "");
    files_roots roots = open_tree(&t, NULL);
    for (size_t max = 1; max < 8; max++) {
        list l = {0};
        all_pages(&roots, max, 200, &l);
        assert_list(&l, (const char *const[]){"0:/", "0:l24", "0:l49", "0:l74", "0:l99", "0:zfile"},
                    6);
        list_free(&l);
    }
    files_roots_close(&roots);
    tree_remove(&t);
}

/* ---- one folder ------------------------------------------------------------------------------ */

static void test_dir_page(void **state)
{
    files_walk_result result;
    list l = {0};
    tree t;
    (void)state;
    tree_make(&t);
    tree_file(&t, "x/a/b/c", "");
    tree_file(&t, "x/a/d", "");
    tree_file(&t, "x/e", "");
    tree_file(&t, "y", "");
    tree_link(&t, "link", "x/a");
    tree_link(&t, "out", "/etc");
    files_roots roots = open_tree(&t, NULL);
    assert_int_equal(files_dir_page(&roots, 0, "x", 0, NULL, collect, &l, &result), MCP_OK);
    assert_list(&l, (const char *const[]){"0:x/a/", "0:x/e"}, 2);
    assert_false(result.more);
    list_free(&l);
    assert_int_equal(files_dir_page(&roots, 0, "x", 2, NULL, collect, &l, &result), MCP_OK);
    assert_list(&l, (const char *const[]){"0:x/a/", "0:x/a/b/", "0:x/a/d", "0:x/e"}, 4);
    list_free(&l);
    const files_walk_options three = {.max = 3};
    assert_int_equal(files_dir_page(&roots, 0, "x", 9, &three, collect, &l, &result), MCP_OK);
    assert_list(&l, (const char *const[]){"0:x/a/", "0:x/a/b/", "0:x/a/b/c"}, 3);
    assert_true(result.more);
    list_free(&l);
    assert_int_equal(files_dir_page(&roots, 0, "", 1, NULL, collect, &l, &result), MCP_OK);
    assert_list(&l, (const char *const[]){"0:x/", "0:y"}, 2);
    list_free(&l);
    if (!roots.items[0].at.walk) {
        assert_int_equal(files_dir_page(&roots, 0, "link", 1, NULL, collect, &l, &result), MCP_OK);
        assert_list(&l, (const char *const[]){"0:x/a/b/", "0:x/a/d"}, 2);
        list_free(&l);
    }
    assert_int_equal(files_dir_page(&roots, 0, "out", 1, NULL, collect, &l, &result), MCP_EACCESS);
    assert_int_equal(files_dir_page(&roots, 0, "y", 1, NULL, collect, &l, &result), MCP_ENOTFOUND);
    assert_int_equal(files_dir_page(&roots, 0, "no", 1, NULL, collect, &l, &result), MCP_ENOTFOUND);
    assert_int_equal(files_dir_page(&roots, 0, "..", 1, NULL, collect, &l, &result), MCP_EINVAL);
    assert_int_equal(l.count, 0);
    files_roots_close(&roots);
    tree_remove(&t);
}

/* ---- without memory -------------------------------------------------------------------------- */

static void test_no_memory(void **state)
{
    static files_cursor at, start;
    tree t;
    (void)state;
    tree_make(&t);
    tree_file(&t, "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r", "");
    for (int i = 0; i < 70; i++) {
        char name[32];
        snprintf(name, sizeof(name), "a/b/f%02d", i);
        tree_file(&t, name, "");
    }
    files_roots roots = open_tree(&t, NULL);
    const char *path = t.path;
    for (size_t n = 1;; n++) {
        failalloc f = {.fail_at = n};
        mcp_allocator a = failalloc_allocator(&f);
        const files_walk_options options = {.alloc = &a};
        files_walk_result result;
        files_roots own;
        size_t count = 0;
        int rc = files_roots_open(&path, 1, NULL, &a, &own, NULL);
        if (rc == MCP_OK) {
            rc = files_walk_page(&own, &start, &options, count_entry, &count, &at, &result);
            if (rc == MCP_OK)
                assert_int_equal(count, 19 + 70);
            files_roots_close(&own);
        }
        assert_int_equal(f.live, 0);
        if (f.calls < n) {
            assert_int_equal(rc, MCP_OK);
            break;
        }
        assert_int_equal(rc, MCP_ENOMEM);
    }
    files_roots_close(&roots);
    tree_remove(&t);
}

/* Without descriptors no entry is silently skipped: the page fails with an error that names the
 * cause. */
static void test_no_descriptors(void **state)
{
    struct rlimit before, none;
    files_walk_result result;
    files_cursor at = {0};
    list l = {0};
    tree t;
    int fd = -1;
    struct stat st;
    (void)state;
    tree_make(&t);
    tree_file(&t, "x/a", "");
    files_roots roots = open_tree(&t, NULL);
    const files_walk_options options = {.max = 10};
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int page = files_walk_page(&roots, &at, &options, collect, &l, &at, &result);
    int read = files_root_open(&roots.items[0], "x/a", &fd, &st);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(page, MCP_EFILES);
    assert_int_equal(read, MCP_EFILES);
    list_free(&l);
    files_roots_close(&roots);
    tree_remove(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),          cmocka_unit_test(test_fields),
        cmocka_unit_test(test_roots),          cmocka_unit_test(test_uris),
        cmocka_unit_test(test_changes),        cmocka_unit_test(test_lost_folder),
        cmocka_unit_test(test_cost),           cmocka_unit_test(test_budget),
        cmocka_unit_test(test_deep),           cmocka_unit_test(test_dead_links),
        cmocka_unit_test(test_dir_page),       cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_no_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
