/* steps.h: the linker redirects the system calls of providers/editing to this file (--wrap), which counts them as steps.
 * Before a chosen step something may happen, or the step fails with an errno.
 *
 * The calls of a test itself are not counted while no operation runs. */
#ifndef EDITING_TESTS_STEPS_H
#define EDITING_TESTS_STEPS_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

static struct {
    bool counts;        /* an operation runs */
    unsigned steps;     /* system calls of it so far */
    unsigned fail_at;   /* the number of the step that fails, from 1; 0: none */
    int error;          /* with this errno */
    const char *failed; /* the name of the call that failed */
    const char *name;   /* of the step that comes now, for before() */
    void (*before)(unsigned step);
    bool no_tmpfile;  /* simulates a file system without O_TMPFILE */
    bool no_sync;     /* a test of many changes need not wait for the disk */
    bool no_exchange; /* the same without RENAME_EXCHANGE */
    bool folds;       /* one that stores names in small letters */
} hook;

/* The name that a file system that folds names would use. */
static const char *folded(const char *path)
{
    static char names[2][4096];
    static unsigned turn;
    if (!hook.counts || !hook.folds)
        return path;
    char *name = names[turn++ % 2];
    size_t i = 0;
    for (; path[i] && i < sizeof(names[0]) - 1; i++)
        name[i] = path[i] >= 'A' && path[i] <= 'Z' ? (char)(path[i] | 0x20) : path[i];
    name[i] = '\0';
    return name;
}

/* Returns whether the call fails. */
static bool step(const char *name)
{
    if (!hook.counts)
        return false;
    hook.steps++;
    hook.name = name;
    if (hook.before) {
        hook.counts = false;
        hook.before(hook.steps);
        hook.counts = true;
    }
    if (hook.steps != hook.fail_at)
        return false;
    hook.failed = name;
    errno = hook.error;
    return true;
}

/* WRAP(type, name, parameters, arguments): the call fails with -1. */
#define WRAP(type, name, parameters, arguments)            \
    type __real_##name parameters;                         \
    type __wrap_##name parameters;                         \
    type __wrap_##name parameters                          \
    {                                                      \
        return step(#name) ? -1 : __real_##name arguments; \
    }

WRAP(int, fstatat, (int dir, const char *path, struct stat *st, int flags),
     (dir, folded(path), st, flags))
WRAP(int, fstat, (int fd, struct stat *st), (fd, st))
WRAP(ssize_t, write, (int fd, const void *from, size_t len), (fd, from, len))
WRAP(ssize_t, pread, (int fd, void *to, size_t len, off_t at), (fd, to, len, at))
WRAP(ssize_t, pwrite, (int fd, const void *from, size_t len, off_t at), (fd, from, len, at))
WRAP(int, fdatasync, (int fd), (fd))
WRAP(int, ftruncate, (int fd, off_t size), (fd, size))
WRAP(int, fallocate, (int fd, int mode, off_t from, off_t len), (fd, mode, from, len))
WRAP(int, unlinkat, (int dir, const char *path, int flags), (dir, path, flags))
WRAP(int, linkat, (int from, const char *path, int to, const char *name, int flags),
     (from, path, to, folded(name), flags))
WRAP(int, flock, (int fd, int operation), (fd, operation))
WRAP(ssize_t, getrandom, (void *to, size_t len, unsigned flags), (to, len, flags))
WRAP(ssize_t, fgetxattr, (int fd, const char *name, void *to, size_t len), (fd, name, to, len))
WRAP(int, fsetxattr, (int fd, const char *name, const void *from, size_t len, int flags),
     (fd, name, from, len, flags))
WRAP(ssize_t, flistxattr, (int fd, char *to, size_t len), (fd, to, len))
WRAP(int, fremovexattr, (int fd, const char *name), (fd, name))
WRAP(int, fchown, (int fd, uid_t user, gid_t group), (fd, user, group))
WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode))

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    if (step("fsync"))
        return -1;
    return hook.counts && hook.no_sync ? 0 : __real_fsync(fd);
}

int __real_fstatfs(int fd, struct statfs *to);
int __wrap_fstatfs(int fd, struct statfs *to);
int __wrap_fstatfs(int fd, struct statfs *to)
{
    if (step("fstatfs"))
        return -1;
    int rc = __real_fstatfs(fd, to);
    if (hook.counts && hook.folds)
        to->f_type = 0x4d44; /* vfat */
    return rc;
}

int __real_renameat2(int from, const char *a, int to, const char *b, unsigned flags);
int __wrap_renameat2(int from, const char *a, int to, const char *b, unsigned flags);
int __wrap_renameat2(int from, const char *a, int to, const char *b, unsigned flags)
{
    if (step("renameat2"))
        return -1;
    if (hook.counts && hook.no_exchange && (flags & RENAME_EXCHANGE)) {
        errno = EINVAL;
        return -1;
    }
    return __real_renameat2(from, folded(a), to, folded(b), flags);
}

/* With more arguments than are declared. */
#define NEXT(type)                   \
    va_list args;                    \
    va_start(args, before);          \
    type value = va_arg(args, type); \
    va_end(args)

int __real_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int before, ...);
int __wrap_openat(int dir, const char *path, int before, ...)
{
    mode_t mode = 0;
    if (before & (O_CREAT | __O_TMPFILE)) {
        NEXT(mode_t);
        mode = value;
    }
    if (step("openat"))
        return -1;
    if (hook.counts && hook.no_tmpfile && (before & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return __real_openat(dir, folded(path), before, mode);
}

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long before, ...);
int __wrap_ioctl(int fd, unsigned long before, ...)
{
    NEXT(void *);
    return step("ioctl") ? -1 : __real_ioctl(fd, before, value);
}

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int before, ...);
int __wrap_fcntl(int fd, int before, ...)
{
    NEXT(long);
    return step("fcntl") ? -1 : __real_fcntl(fd, before, value);
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    va_list args;
    long a[4];
    va_start(args, number);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    return step("openat2") ? -1
                           : __real_syscall(number, a[0], folded((const char *)a[1]), a[2], a[3]);
}

#endif
