/* broker.c: changes modes, owners and times of files for a program in the sandbox.
 *
 * Landlock does not limit these changes, so the filter sends the calls to this process, which stays
 * outside. It opens the file itself and changes it only if it is below a folder that the program may
 * write. It never lets the kernel continue a call, because the program could change the arguments
 * meanwhile; everything is done with copies.
 *
 * The broker is the parent of the program, so that it may read the program's memory where only
 * ancestors may (Yama). It has the rights that the program had at its start, one thread, and answers
 * one call after the other, so a slow file system delays nobody but the program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/children/broker.h"

enum {
    FCHMODAT2 = 452, /* the same on all architectures; Linux 6.6 */
    SET_ID = S_ISUID | S_ISGID,
    NOTHING = -1, /* no such argument */
};

typedef struct broker {
    int *roots; /* the paths that the program may write, opened before it runs; -1 at the end */
    int listener, signals;
    pid_t program;
} broker;

/* The calls, and where their arguments are. */
typedef struct carried {
    int number;
    enum { MODE, OWNER, TIMES } change;
    int folder, path, value, flags;
    int always; /* flags that the call has by its name */
} carried;

static const carried rows[] = {
    {SYS_fchmod, MODE, 0, NOTHING, 1, NOTHING, 0},
    {SYS_fchmodat, MODE, 0, 1, 2, NOTHING, 0},
    {SYS_fchown, OWNER, 0, NOTHING, 1, NOTHING, 0},
    {SYS_fchownat, OWNER, 0, 1, 2, 4, 0},
    {SYS_utimensat, TIMES, 0, 1, 2, 3, 0},
#ifdef SYS_chmod
    {SYS_chmod, MODE, NOTHING, 0, 1, NOTHING, 0},
    {SYS_chown, OWNER, NOTHING, 0, 1, NOTHING, 0},
    {SYS_lchown, OWNER, NOTHING, 0, 1, NOTHING, AT_SYMLINK_NOFOLLOW},
#endif
};

/* ---- the file ---------------------------------------------------------------------------------- */

static int open_below(int folder, const char *path, uint64_t flags, uint64_t resolve)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC | flags, .resolve = resolve};

    return (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
}

static bool name_of(int fd, char name[PATH_MAX])
{
    char link[40];

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, name, PATH_MAX);
    if (n <= 0 || n == PATH_MAX || name[0] != '/')
        return false;
    name[n] = '\0';
    return true;
}

static bool same_file(int a, int b)
{
    struct stat x, y;

    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Opens the file with this name, if `root` has it below or is it. */
static int open_in(int root, const char *name)
{
    char top[PATH_MAX];

    if (!name_of(root, top))
        return -1;
    size_t len = strcmp(top, "/") == 0 ? 0 : strlen(top);
    if (strncmp(name, top, len) != 0)
        return -1;
    if (!name[len])
        return fcntl(root, F_DUPFD_CLOEXEC, 0);
    return name[len] == '/'
               ? open_below(root, name + len + 1, O_NOFOLLOW, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS)
               : -1;
}

/* Opens a file again, below one of the paths that the program may write. Returns a negative errno if
 * it is not there. */
static int open_writable(const broker *b, int file)
{
    char name[PATH_MAX];

    if (!name_of(file, name))
        return -EPERM;
    for (const int *root = b->roots; *root >= 0; root++) {
        int found = open_in(*root, name);
        if (found >= 0 && same_file(found, file))
            return found;
        if (found >= 0)
            close(found);
    }
    return -EPERM;
}

/* ---- the process that called --------------------------------------------------------------------- */

typedef struct caller {
    const struct seccomp_notif *n;
    int memory, folder;
    char path[PATH_MAX];
} caller;

static uint64_t argument(const caller *c, int i)
{
    return c->n->data.args[i];
}

static int open_of(const caller *c, const char *what, int number, int flags)
{
    char path[64];

    if (number >= 0)
        snprintf(path, sizeof(path), "/proc/%u/%s/%d", c->n->pid, what, number);
    else
        snprintf(path, sizeof(path), "/proc/%u/%s", c->n->pid, what);
    return open(path, flags | O_CLOEXEC);
}

/* Opens the file of a descriptor of the caller, or its folder (AT_FDCWD). */
static int open_descriptor(const caller *c, int fd)
{
    if (fd < 0 && fd != AT_FDCWD)
        return -EBADF;
    int found = fd < 0 ? open_of(c, "cwd", -1, O_PATH) : open_of(c, "fd", fd, O_PATH);
    return found >= 0 ? found : errno == ENOENT ? -EBADF : -EPERM;
}

/* Copies a path from the caller's memory. */
static int read_path(caller *c, uint64_t address)
{
    ssize_t n = pread(c->memory, c->path, sizeof(c->path), (off_t)address);

    if (n <= 0)
        return -EFAULT;
    return memchr(c->path, 0, (size_t)n) ? 0 : n == PATH_MAX ? -ENAMETOOLONG : -EFAULT;
}

/* The C library spells a change of the file of a descriptor so if the kernel has no call for it. */
static bool names_descriptor(const char *path, int *ret)
{
    static const char folder[] = "/proc/self/fd/";
    const char *digits = path + sizeof(folder) - 1;
    char *end;

    if (strncmp(path, folder, sizeof(folder) - 1) != 0 || *digits < '0' || *digits > '9')
        return false;
    long number = strtol(digits, &end, 10);
    if (*end || number > INT_MAX)
        return false;
    *ret = (int)number;
    return true;
}

/* Opens the file that a call is about. Returns a negative errno after a failure. */
static int open_file(caller *c, const carried *row, int flags)
{
    int number = row->folder == NOTHING ? AT_FDCWD : (int)argument(c, row->folder);
    uint64_t address = row->path == NOTHING ? 0 : argument(c, row->path);

    if (row->path != NOTHING && !address && row->change != TIMES)
        return -EFAULT;
    int rc = address ? read_path(c, address) : 0;
    if (rc < 0)
        return rc;
    if (address && !c->path[0] && !(flags & AT_EMPTY_PATH))
        return -ENOENT;
    if (!address || !c->path[0] || names_descriptor(c->path, &number))
        return open_descriptor(c, number);
    int folder = c->path[0] == '/' ? AT_FDCWD : open_descriptor(c, number);
    if (folder < 0 && folder != AT_FDCWD)
        return folder;
    int found = open_below(folder, c->path, flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0,
                           RESOLVE_NO_MAGICLINKS);
    int why = errno;
    if (folder >= 0)
        close(folder);
    return found >= 0 ? found : -why;
}

/* ---- calls --------------------------------------------------------------------------------------- */

static int change_mode(int file, mode_t mode)
{
    if (mode & SET_ID)
        return -EPERM; /* whoever runs such a file leaves the sandbox */
    return syscall(FCHMODAT2, file, "", mode & ~(mode_t)S_IFMT, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

static int change_times(const caller *c, int file, uint64_t address)
{
    struct timespec times[2];

    if (address && pread(c->memory, times, sizeof(times), (off_t)address) != sizeof(times))
        return -EFAULT;
    return utimensat(file, "", address ? times : NULL, AT_EMPTY_PATH) < 0 ? -errno : 0;
}

static int change(const caller *c, const carried *row, int file)
{
    uint64_t value = argument(c, row->value);

    switch (row->change) {
    case MODE: return change_mode(file, (mode_t)value);
    case OWNER:
        return fchownat(file, "", (uid_t)value, (gid_t)argument(c, row->value + 1), AT_EMPTY_PATH) <
                       0
                   ? -errno
                   : 0;
    case TIMES: return change_times(c, file, value);
    }
    return -ENOSYS;
}

static int carry_out(const broker *b, caller *c, const carried *row)
{
    int flags = row->always | (row->flags == NOTHING ? 0 : (int)argument(c, row->flags));

    if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
        return -EINVAL;
    int named = open_file(c, row, flags);
    /* The numbers in /proc may have been those of another process since the call was interrupted. */
    if (named >= 0 && ioctl(b->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &c->n->id) < 0)
        return close(named), -EPERM;
    if (named < 0)
        return named;
    int file = open_writable(b, named), rc = file < 0 ? file : change(c, row, file);
    if (file >= 0)
        close(file);
    close(named);
    return rc;
}

static int answer_of(const broker *b, const struct seccomp_notif *n)
{
    caller c = {.n = n};

    for (size_t i = 0; i < MCP__COUNT(rows); i++) {
        if (rows[i].number != n->data.nr)
            continue;
        c.memory = open_of(&c, "mem", -1, O_RDONLY);
        if (c.memory < 0)
            return -EPERM;
        int rc = carry_out(b, &c, &rows[i]);
        close(c.memory);
        return rc;
    }
    return -ENOSYS;
}

static void serve_call(const broker *b)
{
    union {
        struct seccomp_notif n;
        char room[256]; /* a newer kernel may write more */
    } in = {0};
    union {
        struct seccomp_notif_resp r;
        char room[256];
    } out = {0};

    if (ioctl(b->listener, SECCOMP_IOCTL_NOTIF_RECV, &in.n) < 0)
        return;
    out.r.id = in.n.id;
    out.r.error = answer_of(b, &in.n);
    (void)ioctl(b->listener, SECCOMP_IOCTL_NOTIF_SEND, &out.r);
}

/* ---- the process ----------------------------------------------------------------------------------- */

/* Orphans become children of this process, so that it remains their ancestor. */
static void reap(const broker *b)
{
    struct signalfd_siginfo info;
    int status;

    (void)!read(b->signals, &info, sizeof(info));
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid == b->program)
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
}

static int receive(int channel)
{
    char byte, control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {&byte, 1};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof(control)};
    int fd = -1;

    if (recvmsg(channel, &m, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&m))
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
    close(channel);
    return fd;
}

/* The program alone holds the ends of its pipes, so that their other ends see it end. */
static void leave_pipes(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = 0; fd <= 2; fd++)
        null >= 0 ? dup2(null, fd) : close(fd);
}

static _Noreturn void run(broker *b, int channel, const sigset_t *children)
{
    leave_pipes();
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    b->signals = signalfd(-1, children, SFD_CLOEXEC | SFD_NONBLOCK);
    b->listener = receive(channel);
    struct pollfd fds[] = {{b->signals, POLLIN, 0}, {b->listener, POLLIN, 0}};
    if (b->signals < 0)
        _exit(126);
    for (;;) {
        if (poll(fds, MCP__COUNT(fds), -1) < 0)
            continue; /* EINTR, when it was stopped */
        if (fds[0].revents)
            reap(b);
        if (fds[1].revents & POLLIN)
            serve_call(b);
        else if (fds[1].revents)
            fds[1].fd = -1; /* no process uses the filter any longer */
    }
}

/* Paths that do not exist are left out, as in Landlock's rules. */
static int open_roots(broker *b, const char *const *write)
{
    size_t n = 0, opened = 0;

    while (write[n])
        n++;
    b->roots = malloc((n + 1) * sizeof(*b->roots));
    if (!b->roots)
        return -1;
    for (size_t i = 0; i < n; i++) {
        int fd = open(write[i], O_PATH | O_CLOEXEC);
        if (fd >= 0)
            b->roots[opened++] = fd;
    }
    b->roots[opened] = -1;
    return 0;
}

static void close_roots(broker *b)
{
    for (const int *root = b->roots; root && *root >= 0; root++)
        close(*root);
    free(b->roots);
}

/* Returns 0 in the new process, or -1. */
static int start(broker *b, const int *ends)
{
    sigset_t all, before, children;
    pid_t parent = getpid();

    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    signal(SIGCHLD, SIG_DFL);
    b->program = fork();
    if (b->program > 0) {
        close(ends[1]);
        run(b, ends[0], &children);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    /* Whoever kills the broker means the program. */
    return b->program < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent
               ? -1
               : 0;
}

int mcp__broker_start(const char *const *write, int *ret, mcp_error *error)
{
    int ends[2] = {-1, -1}, rc = MCP_OK;
    broker b = {.program = -1};

    if (open_roots(&b, write) < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0 ||
        start(&b, ends) < 0)
        rc = mcp__fail(error, MCP_EIO, 0, "a process beside the program: %s", strerror(errno));
    close_roots(&b);
    if (ends[0] >= 0)
        close(ends[0]);
    if (rc == MCP_OK)
        *ret = ends[1];
    else if (ends[1] >= 0)
        close(ends[1]);
    return rc;
}

int mcp__broker_connect(int channel, int listener, mcp_error *error)
{
    char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = control,
                       .msg_controllen = sizeof(control)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &listener, sizeof(listener));
    ssize_t n = sendmsg(channel, &m, MSG_NOSIGNAL);
    int why = errno;
    close(channel);
    close(listener);
    return n == 1 ? MCP_OK : mcp__fail(error, MCP_EIO, 0, "the broker: %s", strerror(why));
}
