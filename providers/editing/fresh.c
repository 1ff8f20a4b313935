/* fresh.c: see fresh.h. */
#define _GNU_SOURCE
#include "fresh.h"
#include "rename.h"
#include "words.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

static int make_named(const editing_place *place, mode_t mode, editing_fresh *ret, mcp_error *err)
{
    int error = editing_neighbour_name(NULL, NULL, ret->name);
    if (!error) {
        ret->fd =
            openat(place->dir, ret->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        error = ret->fd < 0 ? errno : 0;
    }
    if (!error) {
        flock(ret->fd, LOCK_EX | LOCK_NB);
        return MCP_OK;
    }
    ret->name[0] = '\0';
    return editing_failed(err, place->rel, "making a file beside it", error);
}

int editing_fresh_make(const editing_place *place, mode_t mode, editing_fresh *ret, mcp_error *err)
{
    *ret = (editing_fresh){.fd = -1};
    ret->fd = openat(place->dir, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
    if (ret->fd >= 0)
        return MCP_OK;
    if (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT || errno == EINVAL)
        return make_named(place, mode, ret, err);
    return editing_failed(err, place->rel, "making a file in its folder", errno);
}

int editing_fresh_write(editing_fresh *fresh, const editing_place *place, mcp_str content,
                        mcp_error *err)
{
    size_t done = 0;
    while (done < content.len) {
        ssize_t n = write(fresh->fd, content.ptr + done, content.len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return editing_failed(err, place->rel, "writing its new contents",
                                  n < 0 ? errno : ENOSPC);
        done += (size_t)n;
    }
    return MCP_OK;
}

int editing_fresh_sync(editing_fresh *fresh, const editing_place *place, mcp_error *err)
{
    if (fsync(fresh->fd) < 0)
        return editing_failed(err, place->rel, "storing its new contents", errno);
    if (fstat(fresh->fd, &fresh->st) < 0)
        return editing_failed(err, place->rel, "reading the status of its new contents", errno);
    return MCP_OK;
}

/* Links the file without a name. The first way needs a capability before Linux 6.10, the second one /proc. */
static int link_as(const editing_fresh *fresh, const editing_place *place, const char *name)
{
    char path[40];
    if (linkat(fresh->fd, "", place->dir, name, AT_EMPTY_PATH) == 0)
        return 0;
    if (errno != ENOENT && errno != EPERM)
        return errno;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fresh->fd);
    return linkat(AT_FDCWD, path, place->dir, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/* Moves the neighbour to another name, which is free. */
static int rename_to(editing_fresh *fresh, const editing_place *place, const char *name)
{
    return renameat2(place->dir, fresh->name, place->dir, name, RENAME_NOREPLACE) == 0 ? 0 : errno;
}

static int give(editing_fresh *fresh, const editing_place *place, const char *name)
{
    return fresh->name[0] ? rename_to(fresh, place, name) : link_as(fresh, place, name);
}

/* The descriptor for writing is closed, because nobody gets a lease while there is one (editing_is_quiet). */
static int reopen(editing_fresh *fresh, const editing_place *place)
{
    struct stat st;
    int fd = editing_place_at(place, fresh->name, O_RDONLY);
    if (fd < 0)
        return errno;
    int error = fstat(fd, &st) < 0 ? errno : st.st_ino != fresh->st.st_ino ? ESTALE : 0;
    if (error) {
        close(fd);
        return error;
    }
    close(fresh->fd);
    fresh->fd = fd;
    fresh->st = st;
    flock(fd, LOCK_SH | LOCK_NB);
    return 0;
}

int editing_fresh_name(editing_fresh *fresh, const editing_place *place, const struct stat *was,
                       mcp_error *err)
{
    char name[EDITING_NEIGHBOUR_SIZE];
    int error = editing_neighbour_name(&fresh->st, was, name);
    if (!error)
        error = give(fresh, place, name);
    if (!error) {
        memcpy(fresh->name, name, sizeof(name));
        error = reopen(fresh, place);
    }
    return error ? editing_failed(err, place->rel, "giving its new contents a name", error)
                 : MCP_OK;
}

int editing_fresh_place(editing_fresh *fresh, const editing_place *place, mcp_error *err)
{
    int error = give(fresh, place, place->name);
    if (error)
        return editing_failed(err, place->rel, "making the file", error);
    fresh->name[0] = '\0';
    fresh->st.st_nlink = 1; /* it had none without a name */
    return MCP_OK;
}

void editing_fresh_drop(editing_fresh *fresh, const editing_place *place)
{
    if (fresh->name[0])
        editing_unlink(place->dir, fresh->name);
    fresh->name[0] = '\0';
    if (fresh->fd >= 0)
        close(fresh->fd);
    fresh->fd = -1;
}
