/* folder.c: where the file of records is: its folder, who may use it, and the file of locks beside
 * it.
 */
#define _GNU_SOURCE
#include "io/oauth_store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* ---- errors ---------------------------------------------------------------------------------- */

/* Says what is wrong with the file. Of a long path only the end is shown. */
int mcp__records_refuse(const mcp__records *r, mcp_error *error, int rc, const char *what)
{
    enum { SHOWN = 140 };
    size_t len = strlen(r->path);

    return mcp__fail(error, rc, 0, "%s%s %s", len > SHOWN ? "…" : "",
                     r->path + (len > SHOWN ? len - SHOWN : 0), what);
}

int mcp__records_fail(const mcp__records *r, mcp_error *error, const char *what)
{
    char text[128];
    int rc = errno == ENOMEM                      ? MCP_ENOMEM
             : errno == EACCES || errno == EPERM  ? MCP_EACCESS
             : errno == EMFILE || errno == ENFILE ? MCP_EFILES
                                                  : MCP_EIO;

    snprintf(text, sizeof(text), "cannot be %s: %s", what, strerror(errno));
    return mcp__records_refuse(r, error, rc, text);
}

/* ---- the path -------------------------------------------------------------------------------- */

/* The path of the file itself, if the path is a link that this user made. */
static int follow_link(const mcp__records *r, const char *path, char **ret, mcp_error *error)
{
    struct stat s;

    if (lstat(path, &s) != 0 || !S_ISLNK(s.st_mode)) {
        *ret = mcp__strdup(r->allocator, mcp_str_from(path));
        return *ret ? MCP_OK : MCP_ENOMEM;
    }
    if (s.st_uid != geteuid())
        return mcp__records_refuse(r, error, MCP_EACCESS, "is a link of another user");
    char *target = realpath(path, NULL);
    if (!target)
        return mcp__records_fail(r, error, "found");
    *ret = mcp__strdup(r->allocator, mcp_str_from(target));
    free(target);
    return *ret ? MCP_OK : MCP_ENOMEM;
}

/* Splits the path at its last slash: "a/b" into "a" and "b", "b" into "." and "b". */
static int split(mcp__records *r, const char *path, mcp_error *error)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t len = slash ? (size_t)(slash - path) : 0;

    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return mcp__records_refuse(r, error, MCP_EINVAL, "is not the path of a file");
    r->folder = mcp__zalloc(r->allocator, MCP__MAX(len, 1) + strlen(name) + 2);
    if (!r->folder)
        return MCP_ENOMEM;
    memcpy(r->folder, slash ? path : ".", MCP__MAX(len, 1)); /* "/b": the slash itself */
    char *to = r->folder + strlen(r->folder) + 1;
    memcpy(to, name, strlen(name));
    r->name = to;
    return MCP_OK;
}

int mcp__records_init(mcp__records *r, const mcp_allocator *allocator, const char *path,
                      mcp_error *error)
{
    char *file = NULL;

    *r = (mcp__records){.allocator = allocator};
    if (!path)
        return mcp__fail(error, MCP_EINVAL, 0, "there is no path");
    r->path = mcp__strdup(allocator, mcp_str_from(path));
    int rc = r->path ? follow_link(r, path, &file, error) : MCP_ENOMEM;
    if (rc == MCP_OK && file)
        rc = split(r, file, error);
    mcp__release(allocator, file);
    return rc == MCP_ENOMEM ? mcp__fail(error, rc, 0, "%s", mcp_error_text(rc)) : rc;
}

void mcp__records_free(mcp__records *r)
{
    if (!r->allocator)
        return;
    mcp__release(r->allocator, r->path);
    mcp__release(r->allocator, r->folder);
    *r = (mcp__records){0};
}

/* ---- the folder ------------------------------------------------------------------------------ */

/* Makes the folder and those above it. A failure shows when the folder is opened. */
static void make_folders(const mcp__records *r)
{
    char *slash = r->folder;

    while ((slash = strchr(slash + 1, '/')) != NULL) {
        *slash = '\0';
        mkdir(r->folder, 0700);
        *slash = '/';
    }
    mkdir(r->folder, 0700);
}

/* Opens the folder. If others may write there, they could replace the file. */
int mcp__records_open_folder(const mcp__records *r, bool make, int *ret, mcp_error *error)
{
    enum { FLAGS = O_RDONLY | O_DIRECTORY | O_CLOEXEC };
    struct stat s;
    int fd = open(r->folder, FLAGS);

    if (fd < 0 && errno == ENOENT && make) {
        make_folders(r);
        fd = open(r->folder, FLAGS);
    }
    if (fd < 0)
        return errno == ENOENT && !make ? MCP_ENOTFOUND : mcp__records_fail(r, error, "opened");
    int rc = MCP_OK;
    if (fstat(fd, &s) != 0)
        rc = mcp__records_fail(r, error, "opened");
    else if (s.st_uid != geteuid())
        rc = mcp__records_refuse(r, error, MCP_EACCESS, "is in a folder of another user");
    else if (s.st_mode & (S_IWGRP | S_IWOTH))
        rc = mcp__records_refuse(
            r, error, MCP_EACCESS,
            "is in a folder that others may write to: chmod 700 of the folder mends this");
    if (rc == MCP_OK)
        *ret = fd;
    else
        close(fd);
    return rc;
}

/* A file that others can read has given the tokens away already, and one of another user is a
 * trap. */
int mcp__records_check(const mcp__records *r, int fd, struct stat *s, mcp_error *error)
{
    if (fstat(fd, s) != 0)
        return mcp__records_fail(r, error, "read");
    if (!S_ISREG(s->st_mode))
        return mcp__records_refuse(r, error, MCP_EACCESS, "is not a regular file");
    if (s->st_uid != geteuid())
        return mcp__records_refuse(r, error, MCP_EACCESS, "belongs to another user");
    if (s->st_mode & (S_IRWXG | S_IRWXO))
        return mcp__records_refuse(
            r, error, MCP_EACCESS,
            "can be used by others: log out everywhere, or chmod 600 if nobody did");
    return MCP_OK;
}

/* ---- locks ----------------------------------------------------------------------------------- */

int mcp__records_open_lock(const mcp__records *r, int *ret, mcp_error *error)
{
    char name[NAME_MAX + 1];
    struct stat s;
    int folder = -1;

    if (snprintf(name, sizeof(name), "%s.lock", r->name) >= (int)sizeof(name))
        return mcp__records_refuse(r, error, MCP_EINVAL, "has a name that is too long");
    int rc = mcp__records_open_folder(r, true, &folder, error);
    if (rc != MCP_OK)
        return rc;
    int fd = openat(folder, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    rc = fd < 0 ? mcp__records_fail(r, error, "locked") : mcp__records_check(r, fd, &s, error);
    close(folder);
    if (rc == MCP_OK)
        *ret = fd;
    else if (fd >= 0)
        close(fd);
    return rc;
}

int mcp__records_try(const mcp__records *r, int fd, int64_t byte, mcp_error *error)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    struct stat s;
    int rc;

    while ((rc = fcntl(fd, F_OFD_SETLK, &lock)) != 0 && errno == EINTR) {
    }
    if (rc != 0 && (errno == EAGAIN || errno == EACCES))
        return MCP_PENDING;
    if (rc != 0 || fstat(fd, &s) != 0)
        return mcp__records_fail(r, error, "locked");
    return s.st_nlink ? MCP_OK : MCP_ESTATE;
}

/* Locks the file for its replacement. The others hold this lock for the time of a write, so this
 * waits for them. */
int mcp__records_lock(const mcp__records *r, int *ret, mcp_error *error)
{
    struct timespec pause = {.tv_nsec = 2000000};
    int fd = -1, rc = MCP_ESTATE;

    for (int waited = 0; waited < MCP__RECORDS_REPLACE_MS; waited += 2) {
        if (fd < 0)
            rc = mcp__records_open_lock(r, &fd, error);
        if (fd >= 0)
            rc = mcp__records_try(r, fd, 0, error);
        if (rc == MCP_OK)
            *ret = fd;
        if (rc == MCP_OK || (rc < 0 && rc != MCP_ESTATE))
            break;
        if (rc == MCP_ESTATE) {
            close(fd);
            fd = -1;
        }
        nanosleep(&pause, NULL);
    }
    if (rc != MCP_OK && fd >= 0)
        close(fd);
    return rc == MCP_PENDING || rc == MCP_ESTATE
               ? mcp__records_refuse(r, error, MCP_ETIMEOUT,
                                     "is locked by another process for too long")
               : rc;
}
