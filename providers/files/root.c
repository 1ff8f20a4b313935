/* root.c: see root.h. */
#define _GNU_SOURCE
#include "root.h"

#include "buffer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int fail(mcp_error *error, int code, const char *path)
{
    if (error) {
        error->code = code;
        error->offset = 0;
        snprintf(error->text, sizeof(error->text), "%.200s: cannot be served", path);
    }
    return code;
}

static void close_root(const mcp_allocator *alloc, files_root *root)
{
    files_ignore_free(root->ignore);
    if (root->at.fd >= 0)
        close(root->at.fd);
    common_release(alloc, root->path);
}

size_t files_root_folder(const files_root *root, char folder[COMMON_PATH_MAX])
{
    size_t len = root->only ? (size_t)(root->only - root->path) - 1 : root->path_len;
    memcpy(folder, root->path, len);
    folder[len] = '\0';
    return len;
}

/* Opens the folder of the root: the root itself, or the folder that contains a single file. */
static int open_folder(files_root *root, const struct stat *st)
{
    char folder[COMMON_PATH_MAX];
    struct stat opened;
    if (S_ISREG(st->st_mode))
        root->only = strrchr(root->path, '/') + 1;
    else if (!S_ISDIR(st->st_mode))
        return MCP_EACCESS;
    size_t len = files_root_folder(root, folder);
    root->at.fd = open(len ? folder : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root->at.fd < 0 || fstat(root->at.fd, &opened) < 0)
        return common_code_of_errno(errno);
    root->dev = opened.st_dev;
    root->ino = opened.st_ino;
    root->at.walk = common_beneath_needs_walk(root->at.fd);
    return MCP_OK;
}

static int open_root(const char *path, const files_ignore_options *options,
                     const mcp_allocator *alloc, files_root *root)
{
    char real[COMMON_PATH_MAX]; /* at least PATH_MAX bytes, as realpath() requires */
    struct stat st;
    *root = (files_root){.at.fd = -1};
    if (*path == '\0')
        return MCP_EINVAL;
    if (!realpath(path, real) || stat(real, &st) < 0)
        return common_code_of_errno(errno);
    root->path_len = strcmp(real, "/") == 0 ? 0 : strlen(real);
    root->path = common_copy(alloc, real, root->path_len);
    if (!root->path)
        return MCP_ENOMEM;
    int rc = open_folder(root, &st);
    if (rc == MCP_OK && !root->only)
        rc = files_ignore_new(root->at, root->path, options, alloc, &root->ignore);
    return rc;
}

/* Returns whether a contains b or equals it. */
static bool holds(const files_root *a, const files_root *b)
{
    return b->path_len >= a->path_len && memcmp(a->path, b->path, a->path_len) == 0 &&
           (b->path[a->path_len] == '/' || b->path[a->path_len] == '\0');
}

static bool known(const files_roots *roots, const files_root *root)
{
    assert(root->path);
    for (size_t i = 0; i < roots->count; i++) {
        if (strcmp(roots->items[i].path, root->path) == 0)
            return true;
    }
    return false;
}

static void mark_nested(files_roots *roots)
{
    for (size_t i = 0; i < roots->count; i++) {
        for (size_t j = 0; j < roots->count; j++) {
            if (i != j && holds(&roots->items[i], &roots->items[j]))
                roots->items[i].nested = true;
        }
    }
}

int files_roots_open(const char *const *paths, size_t count, const files_ignore_options *options,
                     const mcp_allocator *alloc, files_roots *ret, mcp_error *error)
{
    files_roots roots = {.alloc = common_allocator(alloc)};
    if (count > SIZE_MAX / sizeof(*roots.items))
        return fail(error, MCP_ENOMEM, "");
    if (count) {
        roots.items = common_alloc(&roots.alloc, count * sizeof(*roots.items));
        if (!roots.items)
            return fail(error, MCP_ENOMEM, "");
    }
    for (size_t i = 0; i < count; i++) {
        files_root *root = &roots.items[roots.count];
        int rc = open_root(paths[i], options, &roots.alloc, root);
        if (rc != MCP_OK) {
            close_root(&roots.alloc, root);
            files_roots_close(&roots);
            return fail(error, rc, paths[i]);
        }
        if (known(&roots, root))
            close_root(&roots.alloc, root);
        else
            roots.count++;
    }
    mark_nested(&roots);
    *ret = roots;
    return MCP_OK;
}

void files_roots_close(files_roots *roots)
{
    for (size_t i = 0; i < roots->count; i++)
        close_root(&roots->alloc, &roots->items[i]);
    if (roots->items)
        common_release(&roots->alloc, roots->items);
    roots->items = NULL;
    roots->count = 0;
}

/* ---- opening a root again -------------------------------------------------------------------- */

static bool is_opened(const files_root *root, const struct stat *st)
{
    return !root->gone && st->st_dev == root->dev && st->st_ino == root->ino;
}

/* Opens the folder that is at the path now. The path was a real path, so it must not have links. */
static int open_again(const files_root *root, const char *folder, int *ret_fd, struct stat *st)
{
    common_beneath top = {.fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), .walk = root->at.walk};
    if (top.fd < 0)
        return common_code_of_errno(errno);
    int rc = common_beneath_open_dir(top, *folder ? folder + 1 : "", ret_fd);
    close(top.fd);
    if (rc != MCP_OK)
        return rc == COMMON_IS_LINK ? MCP_EACCESS : rc;
    if (fstat(*ret_fd, st) < 0 || faccessat(*ret_fd, ".", R_OK | X_OK, AT_EACCESS) < 0)
        rc = common_code_of_errno(errno);
    if (rc == MCP_OK && root->ignore && !is_opened(root, st))
        rc = files_ignore_renew(root->ignore, root->path);
    if (rc != MCP_OK)
        close(*ret_fd);
    return rc;
}

/* Lets the descriptor of the root refer to what `fd` does. Other threads may use it at this moment,
 * and see either the one or the other. Closes `fd`. */
static bool replace(const files_root *root, int fd)
{
    bool done = fd >= 0 && dup3(fd, root->at.fd, O_CLOEXEC) >= 0;
    if (fd >= 0)
        close(fd);
    if (root->ignore)
        files_ignore_recheck(root->ignore);
    return done;
}

bool files_root_renew(files_root *root)
{
    char folder[COMMON_PATH_MAX];
    struct stat st = {0};
    int fd = -1, was = root->gone;
    size_t len = files_root_folder(root, folder);
    if (!was && stat(len ? folder : "/", &st) == 0 && is_opened(root, &st))
        return false;
    int rc = open_again(root, folder, &fd, &st);
    if (rc == MCP_OK && is_opened(root, &st))
        return close(fd), false;
    if (rc == MCP_ENOMEM || rc == MCP_EFILES || (rc == was && rc != MCP_OK))
        return false;
    if (rc != MCP_OK)
        fd = eventfd(0, EFD_CLOEXEC); /* nothing is beneath it */
    if (!replace(root, fd))
        return false;
    root->dev = st.st_dev;
    root->ino = st.st_ino;
    root->gone = rc;
    return true;
}

const char *files_root_why(const files_root *root)
{
    int code = root->gone;
    switch (code) {
    case MCP_ENOTFOUND: return "there is no folder at its path";
    case MCP_EACCESS: return "what is at its path may not be read, or a link leads to it";
    default: return mcp_error_text(code);
    }
}

static int check_visible(const files_root *root, const char *rel, bool is_dir)
{
    bool visible = true;
    int rc = root->ignore ? files_ignore_visible(root->ignore, rel, strlen(rel), is_dir, &visible)
                          : MCP_OK;
    return rc == MCP_OK && !visible ? MCP_ENOTFOUND : rc;
}

/* Returns whether the component real[begin, end) is the current version of a volume that Kubernetes
 * made of a ConfigMap or a Secret: its folder has a link "..data" that leads to it. */
static bool is_version(const files_root *root, const char *real, size_t begin, size_t end)
{
    char folder[COMMON_PATH_MAX], target[NAME_MAX + 2];
    int fd;
    if (end - begin < 3 || memcmp(real + begin, "..", 2) != 0)
        return false;
    memcpy(folder, real, begin);
    folder[begin ? begin - 1 : 0] = '\0';
    if (common_beneath_open_dir(root->at, folder, &fd) != MCP_OK)
        return false;
    ssize_t len = readlinkat(fd, "..data", target, sizeof(target));
    close(fd);
    return len > 0 && (size_t)len == end - begin && memcmp(target, real + begin, end - begin) == 0;
}

/* Writes the name under which a file or folder would be served: a version of a volume counts as little
 * as if its contents were in the volume's own folder, because its hidden name changes with each
 * update. */
static void put_served_name(const files_root *root, const char *real, char name[COMMON_PATH_MAX])
{
    size_t len = strlen(real), begin = 0;
    memcpy(name, real, len + 1);
    for (size_t end; begin < len; begin = end + 1) {
        end = begin + strcspn(real + begin, "/");
        if (real[end] != '/' || !is_version(root, real, begin, end))
            continue;
        memmove(name + begin, real + end + 1, len - end);
        return;
    }
}

bool files_root_in_volume(const files_root *root, const char *rel, const char *real)
{
    char name[COMMON_PATH_MAX];
    put_served_name(root, real, name);
    return strcmp(name, rel) == 0;
}

/* Checks the rules for what the link `rel` leads to, under the name by which it would be served. */
static int check_target(const files_root *root, const char *rel, const char *real, bool is_dir)
{
    char name[COMMON_PATH_MAX];
    if (is_dir && !files_root_in_volume(root, rel, real))
        return check_visible(root, real, true);
    put_served_name(root, real, name);
    return check_visible(root, name, is_dir);
}

int files_root_resolve(const files_root *root, const char *rel, char real[COMMON_PATH_MAX],
                       struct stat *st)
{
    if (root->only)
        return MCP_EACCESS; /* the link may lead to another file in the folder */
    int rc = common_beneath_resolve(root->at, rel, real, st);
    if (rc == MCP_OK && !S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
        rc = MCP_EACCESS;
    if (rc == MCP_OK)
        rc = check_visible(root, rel, S_ISDIR(st->st_mode));
    return rc == MCP_OK ? check_target(root, rel, real, S_ISDIR(st->st_mode)) : rc;
}

int files_root_open_folder(const files_root *root, const char *rel, int *ret_fd)
{
    char real[COMMON_PATH_MAX];
    struct stat st;
    int rc = common_beneath_open_dir(root->at, rel, ret_fd);
    if (rc != COMMON_IS_LINK)
        return rc;
    rc = files_root_resolve(root, rel, real, &st);
    if (rc == MCP_OK && (!S_ISDIR(st.st_mode) || !files_root_in_volume(root, rel, real)))
        return MCP_ENOTFOUND;
    if (rc == MCP_OK)
        rc = common_beneath_open_dir(root->at, real, ret_fd);
    return rc == COMMON_IS_LINK ? MCP_ENOTFOUND : rc;
}

/* Returns the path relative to the opened folder. */
static const char *inner(const files_root *root, const char *rel)
{
    return root->only && *rel == '\0' ? root->only : rel;
}

int files_root_open(const files_root *root, const char *rel, int *ret_fd, struct stat *st)
{
    char real[COMMON_PATH_MAX];
    int fd;
    if (root->only && *rel)
        return MCP_ENOTFOUND;
    int rc = common_beneath_open(root->at, inner(root, rel), &fd, st);
    bool linked = rc == COMMON_IS_LINK;
    if (linked) {
        rc = files_root_resolve(root, rel, real, st);
        if (rc != MCP_OK)
            return rc;
        /* If it is replaced by a link before it is opened, opening it fails. */
        rc = common_beneath_open(root->at, real, &fd, st);
        if (rc == COMMON_IS_LINK)
            rc = MCP_EACCESS;
    }
    if (rc != MCP_OK)
        return rc;
    if (root->only && !S_ISREG(st->st_mode))
        rc = MCP_EACCESS;
    else
        rc = linked ? check_target(root, rel, real, S_ISDIR(st->st_mode))
                    : check_visible(root, rel, S_ISDIR(st->st_mode));
    if (rc != MCP_OK) {
        close(fd);
        return rc;
    }
    *ret_fd = fd;
    return MCP_OK;
}

int files_root_stat(const files_root *root, const char *rel, struct stat *st)
{
    int fd;
    int rc = files_root_open(root, rel, &fd, st);
    if (rc == MCP_OK)
        close(fd);
    return rc;
}

/* Returns whether the path exists, which means that it is excluded, because files_root_stat()
 * failed. That function also fails for links to excluded files. */
static bool is_left_out(const files_root *root, const char *rel)
{
    char real[COMMON_PATH_MAX];
    struct stat st;
    return common_beneath_resolve(root->at, rel, real, &st) == MCP_OK;
}

int files_root_awaits(const files_root *root, const char *rel)
{
    char path[COMMON_PATH_MAX];
    struct stat st;
    size_t len = strlen(rel);
    if (root->only)
        return *rel ? MCP_ENOTFOUND : MCP_OK;
    int rc = check_visible(root, rel, false);
    if (rc == MCP_OK)
        rc = check_visible(root, rel, true);
    for (size_t end = 0; rc == MCP_OK && end < len; end++) {
        end += strcspn(rel + end, "/");
        memcpy(path, rel, end);
        path[end] = '\0';
        rc = files_root_stat(root, path, &st);
        if (rc == MCP_ENOTFOUND)
            return is_left_out(root, path) ? MCP_ENOTFOUND : MCP_OK;
    }
    return rc;
}

size_t files_roots_owner(const files_roots *roots, size_t i, const char *rel, size_t len)
{
    const files_root *root = &roots->items[i];
    size_t best = i;
    if (!root->nested || len == 0)
        return i;
    for (size_t j = 0; j < roots->count; j++) {
        const files_root *other = &roots->items[j];
        if (j == i || other->path_len <= roots->items[best].path_len || !holds(root, other))
            continue;
        size_t tail = other->path_len - root->path_len - 1;
        if (tail <= len && memcmp(other->path + root->path_len + 1, rel, tail) == 0 &&
            (tail == len || rel[tail] == '/'))
            best = j;
    }
    return best;
}
