/* tree.h: creates a temporary folder and files in it. Any failure ends the test. */
#ifndef FILES_TESTS_TREE_H
#define FILES_TESTS_TREE_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <mcp/base.h>

typedef struct tree {
    char path[64];
} tree;

static inline int tree_remove_one(const char *path, const struct stat *st, int type,
                                  struct FTW *where)
{
    (void)st, (void)type, (void)where;
    return remove(path);
}

static inline void tree_make(tree *t)
{
    strcpy(t->path, "/tmp/mcp-files-XXXXXX");
    assert_non_null(mkdtemp(t->path));
}

static inline void tree_remove(tree *t)
{
    nftw(t->path, tree_remove_one, 32, FTW_DEPTH | FTW_PHYS);
}

/* Returns the absolute path in static storage, which is reused by every second call. */
static inline const char *tree_at(const tree *t, const char *rel)
{
    static char paths[2][8192];
    static unsigned turn;
    char *path = paths[turn++ % 2];
    snprintf(path, sizeof(paths[0]), "%s%s%s", t->path, *rel ? "/" : "", rel);
    return path;
}

static inline void tree_dirs(const tree *t, const char *rel, size_t len)
{
    char path[8192];
    for (size_t i = 1; i <= len; i++) {
        if (i < len && rel[i] != '/')
            continue;
        snprintf(path, sizeof(path), "%s/%.*s", t->path, (int)i, rel);
        if (mkdir(path, 0777) < 0)
            assert_int_equal(errno, EEXIST);
    }
}

static inline void tree_dir(const tree *t, const char *rel)
{
    tree_dirs(t, rel, strlen(rel));
}

/* Writes a file and creates the folders above it. */
static inline void tree_bytes(const tree *t, const char *rel, const void *bytes, size_t len)
{
    const char *slash = strrchr(rel, '/');
    if (slash)
        tree_dirs(t, rel, (size_t)(slash - rel));
    int fd = open(tree_at(t, rel), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), len);
    close(fd);
}

static inline void tree_file(const tree *t, const char *rel, const char *text)
{
    tree_bytes(t, rel, text, strlen(text));
}

static inline void tree_link(const tree *t, const char *rel, const char *target)
{
    assert_int_equal(symlink(target, tree_at(t, rel)), 0);
}

/* A generator that returns the same numbers in every run. */
static inline uint32_t tree_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

#endif
