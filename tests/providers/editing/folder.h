/* folder.h: a temporary folder with files to change, and what is in it afterwards. */
#ifndef EDITING_TESTS_FOLDER_H
#define EDITING_TESTS_FOLDER_H

#define _GNU_SOURCE
#include "providers/files/tree.h"
#include "put.h"

#include <dirent.h>

/* The folder that is served, "in" of the tree, and its files. */
typedef struct folder {
    tree t;
    common_beneath at;
} folder;

static inline void folder_make(folder *f)
{
    tree_make(&f->t);
    tree_dir(&f->t, "in");
    f->at = (common_beneath){.fd = open(tree_at(&f->t, "in"), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    assert_true(f->at.fd >= 0);
}

static inline void folder_remove(folder *f)
{
    close(f->at.fd);
    tree_remove(&f->t);
}

static inline mcp_str text_of(const char *text)
{
    return (mcp_str){text, strlen(text)};
}

/* Returns the contents of a file in static storage, or NULL. */
static inline const char *contents(const folder *f, const char *rel)
{
    static char bytes[1 << 20];
    char path[4096];
    snprintf(path, sizeof(path), "%s/in/%s", f->t.path, rel);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    ssize_t n = read(fd, bytes, sizeof(bytes) - 1);
    close(fd);
    assert_true(n >= 0);
    bytes[n] = '\0';
    return bytes;
}

/* Counts the names in a folder that begin with `prefix`. */
static inline size_t count_names(const folder *f, const char *rel, const char *prefix)
{
    size_t n = 0;
    DIR *dir = opendir(tree_at(&f->t, rel));
    struct dirent *entry;
    assert_non_null(dir);
    while ((entry = readdir(dir)))
        n += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    closedir(dir);
    return n;
}

static inline size_t temporaries(const folder *f, const char *rel)
{
    return count_names(f, rel, ".mcpd-");
}

/* The outcome and error of the last call. */
static editing_outcome last;
static mcp_error said;

static inline int put_new(const folder *f, const char *rel, const char *text)
{
    editing_change change = {.at = f->at, .rel = rel, .content = text_of(text)};
    return editing_create(&change, &last, &said);
}

/* The version may be that of the last outcome, which the call overwrites. */
static inline mcp_str kept(const char *version)
{
    static editing_version copy;
    snprintf(copy.text, sizeof(copy.text), "%s", version);
    return text_of(copy.text);
}

static inline int put_over(const folder *f, const char *rel, const char *text, const char *if_match)
{
    editing_change change = {
        .at = f->at, .rel = rel, .content = text_of(text), .if_match = kept(if_match)};
    return editing_replace(&change, &last, &said);
}

static inline int put_away(const folder *f, const char *rel, const char *if_match)
{
    editing_change change = {.at = f->at, .rel = rel, .if_match = kept(if_match)};
    return editing_remove(&change, &last, &said);
}

static inline int put_to(const folder *f, const char *rel, const char *to, const char *if_match)
{
    editing_change change = {
        .at = f->at, .rel = rel, .to = f->at, .to_rel = to, .if_match = kept(if_match)};
    return editing_move(&change, &last, &said);
}

/* Returns the version of a file in static storage. */
static inline const char *version_of(const folder *f, const char *rel)
{
    static editing_version version;
    struct stat st;
    int fd = -1;
    assert_int_equal(common_beneath_open(f->at, rel, &fd, &st), MCP_OK);
    assert_int_equal(editing_version_of(fd, &st, &version), MCP_OK);
    close(fd);
    return version.text;
}

#endif
