/* place.c: see place.h. */
#define _GNU_SOURCE
#include "place.h"
#include "rename.h"
#include "words.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PREFIX  ".mcpd-"
#define SUFFIX  ".tmp"
#define RESCUED "mcpd-saved-"

/* openat2() fails with EAGAIN if a rename interferes. */
enum { MAX_TRIES = 64 };

/* ---- folders ------------------------------------------------------------------------------------------------- */

static int open_beneath(int dir, const char *rel, int flags)
{
    struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC),
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
                                      RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV};
    for (int tries = 0;; tries++) {
        long fd = syscall(SYS_openat2, dir, *rel ? rel : ".", &how, sizeof(how));
        if (fd >= 0)
            return (int)fd;
        if ((errno != EINTR && errno != EAGAIN) || tries == MAX_TRIES)
            return -1;
    }
}

int editing_open_folder(common_beneath at, const char *rel)
{
    return open_beneath(at.fd, rel, O_RDONLY | O_DIRECTORY);
}

int editing_place_at(const editing_place *place, const char *name, int flags)
{
    int more = flags & O_PATH
                   ? 0
                   : O_NONBLOCK | O_NOCTTY; /* openat2() is strict about what goes together */
    return open_beneath(place->dir, name, flags | more | O_NOFOLLOW);
}

int editing_place_stat(const editing_place *place, const char *name, struct stat *ret)
{
    return fstatat(place->dir, name, ret, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0 ? errno : 0;
}

static bool is_component(const char *name, size_t len)
{
    return len > 0 && len < EDITING_NAME_SIZE && !(len == 1 && name[0] == '.') &&
           !(len == 2 && name[0] == '.' && name[1] == '.');
}

static bool is_plain_path(const char *rel)
{
    for (;;) {
        size_t len = strcspn(rel, "/");
        if (!is_component(rel, len))
            return false;
        if (rel[len] == '\0')
            return true;
        rel += len + 1;
    }
}

/* Copies the path of the folder of `rel`. */
static bool folder_of(const char *rel, const char *name, char ret[COMMON_PATH_MAX])
{
    size_t len = (size_t)(name - rel);
    if (len > COMMON_PATH_MAX)
        return false;
    memcpy(ret, rel, len);
    ret[len ? len - 1 : 0] = '\0';
    return true;
}

/* File systems that store each name as it is, unless the folder has FS_CASEFOLD_FL. */
static const long exact_types[] = {
    EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,       BTRFS_SUPER_MAGIC,
    TMPFS_MAGIC,      OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
};

static bool folder_folds(int dir)
{
    struct statfs fs;
    int flags = 0;
    if (ioctl(dir, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_CASEFOLD_FL))
        return true;
    if (fstatfs(dir, &fs) < 0)
        return true;
    for (size_t i = 0; i < sizeof(exact_types) / sizeof(exact_types[0]); i++)
        if ((long)fs.f_type == exact_types[i])
            return false;
    return true;
}

int editing_place_open(common_beneath at, const char *rel, editing_place *ret, mcp_error *err)
{
    char folder[COMMON_PATH_MAX];
    *ret = (editing_place){.at = at, .rel = rel, .dir = -1};
    if (at.walk)
        return editing_refuse(err, MCP_EUNSUPPORTED, rel,
                              "nothing is written without openat2(); use Linux 5.6 or later, and "
                              "let the sandbox allow it");
    if (!is_plain_path(rel))
        return editing_refuse(err, MCP_EACCESS, rel,
                              "not the path of a file in the folder; use the path of a list");
    const char *slash = strrchr(rel, '/');
    ret->name = slash ? slash + 1 : rel;
    if (editing_is_neighbour(ret->name))
        return editing_refuse(
            err, MCP_EACCESS, rel,
            "names of this form are kept for unfinished changes; use another one");
    if (!folder_of(rel, ret->name, folder))
        return editing_failed(err, rel, "opening its folder", ENAMETOOLONG);
    ret->dir = editing_open_folder(at, folder);
    if (ret->dir < 0)
        return editing_failed(err, rel, "opening its folder", errno);
    if (fstat(ret->dir, &ret->st) < 0) {
        int error = errno;
        editing_place_close(ret);
        return editing_failed(err, rel, "opening its folder", error);
    }
    ret->folds = folder_folds(ret->dir);
    return MCP_OK;
}

void editing_place_close(editing_place *place)
{
    if (place->dir >= 0)
        close(place->dir);
    place->dir = -1;
}

/* Returns whether an open that failed says that something else is at the path. */
static bool is_elsewhere(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EXDEV;
}

bool editing_place_holds(const editing_place *place)
{
    char folder[COMMON_PATH_MAX];
    struct stat st = {0};
    errno = 0;
    if (!folder_of(place->rel, place->name, folder))
        return false;
    int fd = open_beneath(place->at.fd, folder, O_PATH | O_DIRECTORY);
    int error = fd < 0 || fstat(fd, &st) < 0 ? errno : 0;
    bool holds = !error && st.st_ino == place->st.st_ino && st.st_dev == place->st.st_dev;
    if (fd >= 0)
        close(fd);
    errno = is_elsewhere(error) ? 0 : error;
    return holds;
}

bool editing_place_spelled(const editing_place *place, ino_t ino)
{
    bool found = false;
    struct dirent *entry;
    if (!place->folds)
        return true;
    int fd = open_beneath(place->dir, "", O_RDONLY | O_DIRECTORY);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    while (!found && (entry = readdir(dir)))
        found = entry->d_ino == ino && strcmp(entry->d_name, place->name) == 0;
    closedir(dir);
    return found;
}

/* ---- neighbours ---------------------------------------------------------------------------------------------- */

bool editing_is_neighbour(const char *name)
{
    size_t len = strlen(name);
    size_t least = strlen(PREFIX) + 16 + strlen(SUFFIX);
    return len >= least && len < EDITING_NEIGHBOUR_SIZE &&
           strncmp(name, PREFIX, strlen(PREFIX)) == 0 &&
           strcmp(name + len - strlen(SUFFIX), SUFFIX) == 0;
}

/* A short form of what editing_same() compares. */
static uint64_t mark_of(const struct stat *st)
{
    uint64_t parts[] = {(uint64_t)st->st_ino, (uint64_t)st->st_mtim.tv_sec,
                        (uint64_t)st->st_mtim.tv_nsec, (uint64_t)st->st_size};
    return editing_hash((mcp_str){(const char *)parts, sizeof(parts)});
}

bool editing_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_mode == b->st_mode && a->st_uid == b->st_uid && a->st_gid == b->st_gid &&
           a->st_nlink == b->st_nlink;
}

static int random_number(uint64_t *ret)
{
    ssize_t n = getrandom(ret, sizeof(*ret), 0);
    return n == (ssize_t)sizeof(*ret) ? 0 : n < 0 ? errno : EIO;
}

int editing_neighbour_name(const struct stat *fresh, const struct stat *was,
                           char ret[EDITING_NEIGHBOUR_SIZE])
{
    uint64_t number;
    int error = random_number(&number);
    if (error)
        return error;
    int len = snprintf(ret, EDITING_NEIGHBOUR_SIZE, PREFIX "%016" PRIx64, number);
    if (fresh || was)
        len += snprintf(ret + len, EDITING_NEIGHBOUR_SIZE - (size_t)len, "-%" PRIx64 "-%016" PRIx64,
                        fresh ? (uint64_t)fresh->st_ino : 0, was ? mark_of(was) : 0);
    snprintf(ret + len, EDITING_NEIGHBOUR_SIZE - (size_t)len, SUFFIX);
    return 0;
}

/* Reads "-" and a number, and moves on. */
static bool read_number(const char **at, uint64_t *ret)
{
    char *end;
    if (**at != '-')
        return false;
    *ret = strtoull(*at + 1, &end, 16);
    bool any = end != *at + 1;
    *at = end;
    return any;
}

editing_holds editing_neighbour_holds(const char *name, const struct stat *st)
{
    uint64_t ours = 0;
    uint64_t mark = 0;
    const char *numbers = name + strlen(PREFIX) + 16;
    if (strcmp(numbers, SUFFIX) == 0)
        return EDITING_HOLDS_OURS;
    if (!read_number(&numbers, &ours) || !read_number(&numbers, &mark))
        return EDITING_HOLDS_OTHER;
    if (ours && ours == (uint64_t)st->st_ino)
        return EDITING_HOLDS_OURS;
    return mark == mark_of(st) ? EDITING_HOLDS_EXPECTED : EDITING_HOLDS_OTHER;
}

/* A lease for reading is only given if nobody has the file open for writing. Who opens it meanwhile waits until it is
 * given back, which is at once. The signal about that would be SIGIO, which ends a process; SIGURG is ignored. */
bool editing_is_quiet(int fd)
{
    fcntl(fd, F_SETSIG, SIGURG);
    if (fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
        return errno != EAGAIN;
    fcntl(fd, F_SETLEASE, F_UNLCK);
    return true;
}

void editing_rescue(int dir, const char *neighbour, char ret[EDITING_NAME_SIZE])
{
    uint64_t number;
    if (random_number(&number) == 0) {
        snprintf(ret, EDITING_NAME_SIZE, RESCUED "%016" PRIx64, number);
        if (renameat2(dir, neighbour, dir, ret, RENAME_NOREPLACE) == 0)
            return;
    }
    snprintf(ret, EDITING_NAME_SIZE, "%s", neighbour);
}

int editing_unlink(int dir, const char *name)
{
    if (unlinkat(dir, name, 0) == 0 || unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return 0;
    return errno;
}
