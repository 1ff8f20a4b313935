/* spawn.c: starts processes with vfork() and exec, because posix_spawn() cannot set limits.
 *
 * Between vfork() and exec, the child uses the memory of this process, whose calling thread is
 * suspended. Everything that allocates memory or takes long is therefore done before vfork(). The
 * child reports a failure through a pipe. It cannot use the shared memory for this, because the
 * thread sanitizer replaces vfork() by fork().
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/child/spawn.h"

enum {
    ABOVE = 16,       /* the child's descriptors are first moved to numbers from here on */
    ON_EXEC = 1 << 2, /* CLOSE_RANGE_CLOEXEC */
    MANY = 4096,      /* descriptors to close one by one on a kernel before 5.11 */
};

/* What the child needs, prepared before vfork(). */
typedef struct plan {
    const mcp__spawn *s;
    const char *path; /* the program to execute */
    int cwd;          /* descriptor of the working directory; -1 leaves it unchanged */
    int report_fd;    /* pipe that the child writes errno to on failure; exec closes it */
    pid_t parent;
} plan;

/* ---- in the child ------------------------------------------------------------------------------ */

/* These functions do only what is safe after vfork(): they make system calls, allocate nothing, and
 * change nothing that the parent uses. */

static int move_above(int fd)
{
    return fd < 0 || fd >= ABOVE ? fd : fcntl(fd, F_DUPFD_CLOEXEC, ABOVE);
}

static bool place_descriptors(const mcp__spawn *s)
{
    int from[MCP__SPAWN_FDS];

    for (int i = 0; i < s->n_fds; i++) {
        from[i] = move_above(s->fds[i]);
        if (from[i] < 0)
            return false;
    }
    for (int i = 0; i < s->n_fds; i++) {
        if (dup2(from[i], i) < 0)
            return false;
    }
    return true;
}

static void close_others(int first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first, ~0U, (unsigned)ON_EXEC) == 0)
        return;
#endif
    for (int fd = first; fd < MANY; fd++)
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

static bool set_limit(int what, uint64_t most)
{
    struct rlimit now; /* glibc's functions take an enum that other C libraries do not have */

    if (syscall(SYS_prlimit64, 0, what, NULL, &now) < 0)
        return false;
    if (now.rlim_max == RLIM_INFINITY || now.rlim_max > most)
        now.rlim_max = (rlim_t)most;
    now.rlim_cur = now.rlim_max;
    return syscall(SYS_prlimit64, 0, what, &now, NULL) == 0;
}

static bool set_limits(const mcp__spawn *s)
{
    return (!s->max_data || set_limit(RLIMIT_DATA, s->max_data)) &&
           (!s->max_files || set_limit(RLIMIT_NOFILE, s->max_files)) &&
           (!s->no_core || set_limit(RLIMIT_CORE, 0));
}

static void reset_signals(void)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int i = 1; i < NSIG; i++)
        (void)sigaction(i, &standard,
                        NULL); /* fails for SIGKILL and for signals of the C library */
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool bind_to_parent(const plan *p)
{
    if (!p->s->with_parent)
        return true;
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == p->parent;
}

/* Removes const: exec() declares the arrays as writable, but does not write to them. */
static char *const *without_const(const char *const *texts)
{
    union {
        const char *const *in;
        char *const *out;
    } u = {texts};
    return u.out;
}

static void run(const plan *p)
{
    int report_fd = move_above(p->report_fd);
    const mcp__spawn *s = p->s;

    if (setsid() >= 0 && bind_to_parent(p) && (p->cwd < 0 || fchdir(p->cwd) == 0) &&
        place_descriptors(s) && set_limits(s)) {
        close_others(s->n_fds);
        reset_signals();
        execvpe(p->path, without_const(s->argv), s->env ? without_const(s->env) : environ);
    }
    int why = errno ? errno : ESRCH;
    while (write(report_fd, &why, sizeof(why)) < 0 && errno == EINTR)
        ;
    _exit(127);
}

/* ---- in the parent -------------------------------------------------------------------------- */

static const char *search_path(const mcp__spawn *s)
{
    const char *path = s->env ? NULL : getenv("PATH");

    for (const char *const *at = s->env; at && *at; at++) {
        if (strncmp(*at, "PATH=", 5) == 0)
            path = *at + 5;
    }
    return path ? path : "/bin:/usr/bin";
}

/* Finds a program in PATH, whose relative entries are relative to cwd. Returns 0 or an errno. */
static int find_program(const mcp__spawn *s, int cwd, char *to, size_t room)
{
    int why = ENOENT;

    for (const char *at = search_path(s);; at++) {
        size_t n = strcspn(at, ":");
        int len =
            snprintf(to, room, "%.*s/%s", n ? (int)MCP__MIN(n, room) : 1, n ? at : ".", s->argv[0]);
        struct stat st;
        if (len > 0 && (size_t)len < room && fstatat(cwd, to, &st, 0) == 0 && S_ISREG(st.st_mode)) {
            if (faccessat(cwd, to, X_OK, 0) == 0)
                return 0;
            why = EACCES;
        }
        at += n;
        if (!*at)
            return why;
    }
}

static pid_t start(const plan *p)
{
    sigset_t all, before;
    pid_t pid;

    sigfillset(&all); /* no handler of the parent may run in the child */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = vfork();
    if (pid == 0)
        run(p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

/* Waits for exec in the child. Returns 0, or the errno of a failure, in which case the child has
 * been reaped. */
static int outcome(pid_t pid, int from)
{
    int why = 0;
    ssize_t n;

    do
        n = read(from, &why, sizeof(why));
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(why))
        return 0;
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return why;
}

/* Lowers the priority of a process. This is done after exec, because the calling thread is
 * suspended until then. A process that leads a session may be in a scheduling group of its own
 * ("autogroup"). Then the priority of the group applies, not that of the process. Failures are
 * ignored. SCHED_IDLE would be too low, because such a process may not even start while the machine
 * is busy. */
static void lower_priority(pid_t pid)
{
    enum { MORE = 5, MOST = 19 };
    static const char nice[] = "5";
    const struct sched_param none = {0};
    char path[40];

    (void)sched_setscheduler(pid, SCHED_BATCH, &none);
    (void)setpriority(PRIO_PROCESS, (id_t)pid,
                      MCP__MIN(getpriority(PRIO_PROCESS, 0) + MORE, (int)MOST));
    snprintf(path, sizeof(path), "/proc/%d/autogroup", (int)pid);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = write(fd, nice, sizeof(nice) - 1);
    (void)n;
    close(fd);
}

static int start_plan(plan *p, pid_t *ret)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return errno;
    p->report_fd = ends[1];
    p->parent = getpid();
    pid_t pid = start(p);
    int why = pid < 0 ? errno : 0;
    close(ends[1]);
    if (pid >= 0)
        why = outcome(pid, ends[0]);
    close(ends[0]);
    if (why != 0)
        return why;
    *ret = pid;
    if (p->s->yields)
        lower_priority(pid);
    return 0;
}

static int failure(mcp_error *error, int why, const char *what)
{
    int code = why == ENOENT ? MCP_ENOTFOUND : why == EACCES ? MCP_EACCESS : MCP_EIO;

    return mcp__fail(error, code, 0, "%s: %s", what, strerror(why));
}

int mcp__spawn_process(const mcp__spawn *s, pid_t *ret, mcp_error *error)
{
    plan p = {.s = s, .path = s->argv[0], .cwd = -1};
    char path[PATH_MAX];
    int why = 0;

    if (s->cwd) {
        p.cwd = open(s->cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (p.cwd < 0)
            return failure(error, errno, s->cwd);
    }
    if (!strchr(s->argv[0], '/')) {
        why = find_program(s, p.cwd < 0 ? AT_FDCWD : p.cwd, path, sizeof(path));
        p.path = path;
    }
    if (why == 0)
        why = start_plan(&p, ret);
    if (p.cwd >= 0)
        close(p.cwd);
    return why ? failure(error, why, s->argv[0]) : MCP_OK;
}
