/* Random folders with links, volumes as Kubernetes makes them of ConfigMaps, hidden files and loops:
 * what is opened and listed is what a model allows that only compares names and real paths. */
#define _GNU_SOURCE
#include "dice.h"
#include "root.h"
#include "rounds.h"
#include "tree.h"
#include "walk.h"

#include <limits.h>

enum { TREES = 60, LINKS = 14 };

static const char *const folders[] = {"",          "sub/",      "..v1/",       "..v2/",
                                      "..v1/sub/", ".dot/",     "sub/..v1/",   "..v1/k/",
                                      "..v2/k/m/", "..v1/k/m/", "..v1/k/..v3/"};
static const char *const files[] = {"a", "b.txt", ".env", "..odd"};

static void make(const tree *t)
{
    static const char *const names[] = {"a",        "b.txt",        "c", "d", "e", ".f", "k",
                                        "..v1/k/c", "..v1/k/..data"};
    static const char *const targets[] = {"..data/k",
                                          "..data/k",
                                          "..data/k",
                                          "..v3",
                                          "m",
                                          "../..",
                                          "a",
                                          "b.txt",
                                          ".env",
                                          "c",
                                          "d",
                                          "sub",
                                          "sub/a",
                                          "..data/a",
                                          "..data/b.txt",
                                          "..data/.env",
                                          "..v1/a",
                                          "..v2/b.txt",
                                          ".dot/a",
                                          "..data/sub/a",
                                          "../a",
                                          "/etc/passwd",
                                          "../../..",
                                          "..data",
                                          "..odd",
                                          "e"};
    char path[200];
    for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
        for (size_t k = 0; k < 4; k++)
            if (dice(2)) {
                snprintf(path, sizeof(path), "%s%s", folders[i], files[k]);
                tree_file(t, path, path);
            }
    for (size_t i = 0; i < LINKS; i++) {
        snprintf(path, sizeof(path), "%s/%s%s", t->path, dice(3) ? "" : "sub/", names[dice(9)]);
        if (symlink(targets[dice(sizeof(targets) / sizeof(*targets))], path) != 0)
            continue; /* it exists, or there is no such folder */
    }
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s..data", t->path, i ? "sub/" : "");
        if (dice(4) && symlink(dice(2) ? "..v1" : "..v2", path) != 0)
            continue; /* there is no such folder */
    }
}

/* ---- the model ------------------------------------------------------------------------------- */

static bool has_hidden(const char *rel)
{
    return *rel == '.' || strstr(rel, "/.") != NULL;
}

/* Removes the version of the first volume in the path. */
static void remove_version(const char *root, char *rel)
{
    char link[PATH_MAX], target[PATH_MAX];
    for (char *at = rel; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL) {
        char *end = strchr(at, '/');
        if (!end || strncmp(at, "..", 2) != 0)
            continue;
        snprintf(link, sizeof(link), "%s/%.*s..data", root, (int)(at - rel), rel);
        ssize_t n = readlink(link, target, sizeof(target));
        if (n == end - at && memcmp(target, at, (size_t)n) == 0) {
            memmove(at, end + 1, strlen(end));
            return;
        }
    }
}

static bool may_open(const char *root, const char *rel)
{
    char path[PATH_MAX], real[PATH_MAX];
    struct stat st;
    snprintf(path, sizeof(path), "%s/%s", root, rel);
    size_t len = strlen(root);
    if (has_hidden(rel) || !realpath(path, real) || strncmp(real, root, len) != 0 ||
        real[len] != '/' || stat(real, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    if (strcmp(real + len + 1, rel) != 0)
        remove_version(root, real + len + 1);
    return !has_hidden(real + len + 1);
}

/* Returns whether the folder is in the tree: its links, if there are any, only lead to the version of a
 * volume in which it has the same name. */
static bool is_walked(const char *root, const char *rel)
{
    char path[PATH_MAX], real[PATH_MAX];
    struct stat st;
    size_t len = strlen(root);
    snprintf(path, sizeof(path), "%s%s%s", root, *rel ? "/" : "", rel);
    if (!realpath(path, real) || strncmp(real, root, len) != 0 || stat(real, &st) != 0)
        return false;
    if (real[len] && strcmp(real + len + 1, rel) != 0)
        remove_version(root, real + len + 1);
    return S_ISDIR(st.st_mode) && strcmp(real[len] ? real + len + 1 : "", rel) == 0 &&
           !has_hidden(rel);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static char listed[200][100];
static size_t n_listed, n_checked;

static int note(const files_entry *e, void *user)
{
    (void)user;
    if (!e->is_dir)
        snprintf(listed[n_listed++], 100, "%s", e->rel.ptr);
    return MCP_OK;
}

static bool is_listed(const char *rel)
{
    for (size_t i = 0; i < n_listed; i++)
        if (strcmp(listed[i], rel) == 0)
            return true;
    return false;
}

static void check(const files_roots *roots, const char *rel)
{
    struct stat st;
    const char *root = roots->items[0].path;
    bool may = may_open(root, rel);
    bool is = files_root_stat(&roots->items[0], rel, &st) == MCP_OK && S_ISREG(st.st_mode);
    if (may != is)
        fail_msg("%s/%s is %sopened", root, rel, is ? "" : "not ");
    /* through other links to folders nothing is listed: they may be loops */
    char folder[200];
    const char *slash = strrchr(rel, '/');
    snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - rel) : 0, rel);
    if (is_listed(rel) != (may && is_walked(root, folder)))
        fail_msg("%s/%s is %slisted", root, rel, is_listed(rel) ? "" : "not ");
    n_checked++;
}

static int note_inside(const files_entry *e, void *user)
{
    const char *folder = user;
    assert_int_equal(strncmp(e->rel.ptr, folder, strlen(folder)), 0);
    return MCP_OK;
}

/* A folder of a volume is read under its own name, never that of the version. */
static void check_folder(const files_roots *roots, char *rel)
{
    files_walk_result result;
    struct stat st;
    bool walked = is_walked(roots->items[0].path, rel);
    int rc = files_root_stat(&roots->items[0], rel, &st);
    if (walked && (rc != MCP_OK || !S_ISDIR(st.st_mode)))
        fail_msg("%s/%s is not found", roots->items[0].path, rel);
    if (walked)
        assert_int_equal(files_dir_page(roots, 0, rel, 9, NULL, note_inside, rel, &result), MCP_OK);
}

static void check_tree(const tree *t)
{
    static const char *const names[] = {"a", "b.txt", "c", "d", "e", ".f", ".env", "..odd"};
    static const char *const before[] = {"",   "sub/", "..data/", "..v1/", "c/",     "d/",
                                         "k/", "k/m/", "k/c/",    "c/m/",  "k/..v3/"};
    files_roots roots;
    files_cursor at = {0};
    files_walk_result result;
    char rel[200];
    const char *path = t->path;
    assert_int_equal(files_roots_open(&path, 1, NULL, NULL, &roots, NULL), MCP_OK);
    n_listed = 0;
    assert_int_equal(files_walk_page(&roots, &at, NULL, note, NULL, &at, &result), MCP_OK);
    for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
        snprintf(rel, sizeof(rel), "%.*s", *before[i] ? (int)strlen(before[i]) - 1 : 0, before[i]);
        check_folder(&roots, rel);
        for (size_t k = 0; k < 8; k++) {
            snprintf(rel, sizeof(rel), "%s%s", before[i], names[k]);
            check(&roots, rel);
        }
    }
    files_roots_close(&roots);
}

static void test_links(void **state)
{
    (void)state;
    for (unsigned i = 0; i < rounds(TREES); i++) {
        tree t;
        tree_make(&t);
        make(&t);
        check_tree(&t);
        tree_remove(&t);
    }
    print_message("# %zu names\n", n_checked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_links)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
