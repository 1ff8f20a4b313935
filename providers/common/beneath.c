/* beneath.c: see beneath.h. */
#define _GNU_SOURCE
#include "beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OPEN_FLAGS (O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* openat2() fails with EAGAIN if a rename interferes. The number of retries is limited, because
 * renames may never stop. */
enum { MAX_TRIES = 16 };

int common_code_of_errno(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ESTALE: return MCP_ENOTFOUND;
    case EACCES:
    case EPERM:
    case EXDEV:
    case ELOOP:
    case ENXIO:
    case ENODEV: return MCP_EACCESS;
    case EMFILE:
    case ENFILE: return MCP_EFILES;
    case ENOMEM: return MCP_ENOMEM;
    default: return MCP_EIO;
    }
}

static int open_beneath(int dir, const char *rel, int flags, uint64_t resolve)
{
    struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC), .resolve = resolve};
    for (int tries = 0;; tries++) {
        long fd = syscall(SYS_openat2, dir, *rel ? rel : ".", &how, sizeof(how));
        if (fd >= 0)
            return (int)fd;
        if ((errno != EINTR && errno != EAGAIN) || tries == MAX_TRIES)
            return -1;
    }
}

static bool plain_component(const char *name, size_t len)
{
    return len > 0 && len <= 255 && !(len == 1 && name[0] == '.') &&
           !(len == 2 && name[0] == '.' && name[1] == '.');
}

/* Opens the folder that contains the last component. If there is only one component,
 * *ret is `dir`. */
static int walk_to_parent(int dir, const char *rel, int *ret, const char **last)
{
    int at = dir;
    for (;;) {
        size_t len = strcspn(rel, "/");
        char name[256];
        int next;
        if (!plain_component(rel, len)) {
            errno = EXDEV;
            break;
        }
        if (rel[len] == '\0') {
            *ret = at;
            *last = rel;
            return 0;
        }
        memcpy(name, rel, len);
        name[len] = '\0';
        next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0)
            break;
        if (at != dir)
            close(at);
        at = next;
        rel += len + 1;
    }
    int error = errno;
    if (at != dir)
        close(at);
    errno = error;
    return -1;
}

static int open_by_walk(int dir, const char *rel, int flags)
{
    int parent;
    const char *last;
    if (*rel == '\0')
        return openat(dir, ".", flags | O_CLOEXEC);
    if (walk_to_parent(dir, rel, &parent, &last) < 0)
        return -1;
    int fd = openat(parent, last, flags | O_NOFOLLOW | O_CLOEXEC);
    int error = errno;
    if (parent != dir)
        close(parent);
    errno = error;
    return fd;
}

static int open_plain(common_beneath at, const char *rel, int flags)
{
    if (at.walk)
        return open_by_walk(at.fd, rel, flags);
    return open_beneath(at.fd, rel, flags, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}

bool common_beneath_needs_walk(int fd)
{
    /* Some sandboxes return EPERM for unknown system calls. */
    int probe = open_beneath(fd, "", O_PATH, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
    if (probe < 0)
        return errno == ENOSYS || errno == EPERM;
    close(probe);
    return false;
}

static int failed(common_beneath at)
{
    return errno == ELOOP && !at.walk ? COMMON_IS_LINK : common_code_of_errno(errno);
}

/* Gets the status of a file beneath the root without following links. O_PATH does not open
 * the file itself. */
static int stat_confined(common_beneath at, const char *rel, struct stat *st)
{
    *st = (struct stat){0};
    int fd = open_plain(at, rel, O_PATH);
    if (fd < 0)
        return failed(at);
    int rc = fstat(fd, st) < 0 ? common_code_of_errno(errno) : MCP_OK;
    close(fd);
    return rc;
}

static bool is_served_kind(const struct stat *st)
{
    return S_ISREG(st->st_mode) || S_ISDIR(st->st_mode);
}

/* Checks what kind of file exists before it is opened. Opening a device can already have an effect
 * (rewind a tape, raise a modem line), and opening a FIFO can unblock its writer.
 *
 * A stat by path takes 0.5 µs. Opening twice (O_PATH, fstat, open again) takes three times as long
 * and leaves the same race, because only /proc/self/fd could reopen exactly the file that was
 * checked. But a stat by path is not confined: it follows a parent folder that has become a link to
 * the outside. So it only decides whether to open the file; opening is confined and followed by
 * fstat. Every other result, in particular "not found", is replaced by the result of the confined
 * lookup; otherwise it would reveal what exists outside. To win the race, an attacker has to be
 * able to create a device node in the tree, and gains only its open() call. */
static int check_first(common_beneath at, const char *rel, int *flags)
{
    struct stat st;
    int rc = MCP_OK;
    if (at.walk || fstatat(at.fd, *rel ? rel : ".", &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
        rc = stat_confined(at, rel, &st);
    else if (S_ISLNK(st.st_mode))
        return COMMON_IS_LINK; /* the caller resolves it beneath the root, or rejects it */
    else if (!is_served_kind(&st))
        rc = stat_confined(at, rel, &st);
    if (rc != MCP_OK)
        return rc;
    if (!is_served_kind(&st))
        return MCP_EACCESS;
    *flags = O_RDONLY | OPEN_FLAGS | (S_ISDIR(st.st_mode) ? O_DIRECTORY : 0);
    return MCP_OK;
}

int common_beneath_open(common_beneath at, const char *rel, int *ret_fd, struct stat *st)
{
    int flags = O_RDONLY;
    int rc = check_first(at, rel, &flags);
    if (rc != MCP_OK)
        return rc;
    int fd = open_plain(at, rel, flags);
    if (fd < 0)
        return failed(at);
    rc = fstat(fd, st) < 0    ? common_code_of_errno(errno)
         : is_served_kind(st) ? MCP_OK
                              : MCP_EACCESS;
    if (rc != MCP_OK) {
        close(fd);
        return rc;
    }
    *ret_fd = fd;
    return MCP_OK;
}

int common_beneath_open_dir(common_beneath at, const char *rel, int *ret_fd)
{
    /* No check is needed before: the kernel rejects anything but a directory without opening it. */
    int fd = open_plain(at, rel, O_RDONLY | OPEN_FLAGS | O_DIRECTORY);
    if (fd < 0)
        return failed(at);
    *ret_fd = fd;
    return MCP_OK;
}

/* Reads the path of a descriptor from the kernel. Returns its length, or -1. */
static ssize_t path_of(int fd, char *path, size_t cap)
{
    char link[40];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, cap - 1);
    if (len <= 0 || (size_t)len >= cap - 1)
        return -1;
    path[len] = '\0';
    return len;
}

/* Computes the path of `fd` relative to `dir`. Both paths are read now, in case the
 * root was moved. */
static int relative_to(int dir, int fd, char real[COMMON_PATH_MAX])
{
    char base[COMMON_PATH_MAX];
    char full[COMMON_PATH_MAX];
    ssize_t base_len = path_of(dir, base, sizeof(base));
    ssize_t full_len = path_of(fd, full, sizeof(full));
    if (base_len < 0 || full_len < 0)
        return MCP_EACCESS;
    if (base_len == 1)
        base_len = 0; /* "/" */
    size_t skip = (size_t)base_len;
    if ((size_t)full_len < skip || memcmp(full, base, skip) != 0)
        return MCP_EACCESS;
    if (full[skip] == '/')
        skip++;
    else if (full[skip] != '\0')
        return MCP_EACCESS;
    memcpy(real, full + skip, (size_t)full_len - skip + 1);
    return MCP_OK;
}

int common_beneath_resolve(common_beneath at, const char *rel, char real[COMMON_PATH_MAX],
                           struct stat *st)
{
    if (at.walk)
        return MCP_EACCESS;
    /* O_PATH does not open the file, so devices are not affected. */
    int fd = open_beneath(at.fd, rel, O_PATH, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
    if (fd < 0)
        return common_code_of_errno(errno);
    int rc = fstat(fd, st) < 0 ? common_code_of_errno(errno) : relative_to(at.fd, fd, real);
    close(fd);
    return rc;
}
