/* child.c: starts programs with posix_spawn() and observes them through a pidfd.
 *
 * The program reads its input from a file in memory instead of a pipe, so the server never has to
 * wait while the program reads.
 */
#define _GNU_SOURCE
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- starting -------------------------------------------------------------------------------- */

int command_input(const void *bytes, size_t len)
{
    const char *at = bytes;
    int fd = memfd_create("mcp-input", MFD_CLOEXEC);
    while (fd >= 0 && len) {
        ssize_t n = write(fd, at, len);
        if (n < 0 && errno != EINTR) {
            int saved = errno;
            close(fd);
            errno = saved;
            return -1;
        }
        at += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

/* Starts the program with no blocked or ignored signals and without a terminal. */
static int set_attributes(posix_spawnattr_t *attr)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int rc = posix_spawnattr_setsigmask(attr, &none);
    if (rc == 0)
        rc = posix_spawnattr_setsigdefault(attr, &all);
    if (rc == 0)
        rc = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                POSIX_SPAWN_SETSID);
    return rc;
}

static int set_actions(posix_spawn_file_actions_t *to, const char *folder, int input, int out,
                       int err)
{
    int rc = input < 0 ? posix_spawn_file_actions_addopen(to, 0, "/dev/null", O_RDONLY, 0)
                       : posix_spawn_file_actions_adddup2(to, input, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(to, out, 1);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(to, err, 2);
    if (rc == 0 && folder)
        rc = posix_spawn_file_actions_addchdir_np(to, folder);
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34)
    if (rc == 0)
        rc = posix_spawn_file_actions_addclosefrom_np(to, 3);
#endif
#endif
    return rc;
}

static int spawn(char *const *argv, char *const *env, const char *folder, int input, int out,
                 int err, pid_t *pid)
{
    posix_spawnattr_t attr;
    posix_spawn_file_actions_t actions;
    int rc = posix_spawnattr_init(&attr);
    if (rc)
        return rc;
    rc = posix_spawn_file_actions_init(&actions);
    if (rc == 0) {
        rc = set_attributes(&attr);
        if (rc == 0)
            rc = set_actions(&actions, folder, input, out, err);
        if (rc == 0)
            rc = posix_spawnp(pid, argv[0], &actions, &attr, argv, env);
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attr);
    return rc;
}

/* Creates a pipe whose read end does not block. */
static int make_pipe(int fds[2])
{
    if (pipe2(fds, O_CLOEXEC) < 0)
        return errno;
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    return 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int command_child_start(char *const *argv, char *const *env, const char *folder, int input,
                        command_child *ret)
{
    int out[2] = {-1, -1}, err[2] = {-1, -1};
    command_child c = {.end = -1};
    int rc = make_pipe(out);
    if (rc == 0)
        rc = make_pipe(err);
    if (rc == 0)
        rc = spawn(argv, env, folder, input, out[1], err[1], &c.pid);
    close_fd(&out[1]);
    close_fd(&err[1]);
    if (rc != 0) {
        close_fd(&out[0]);
        close_fd(&err[0]);
        return rc;
    }
    c.out = out[0];
    c.err = err[0];
    c.end = (int)syscall(SYS_pidfd_open, c.pid, 0);
    *ret = c;
    return 0;
}

/* ---- ending ---------------------------------------------------------------------------------- */

void command_child_signal(const command_child *c, int number)
{
    if (c->pid > 0)
        kill(-c->pid, number);
}

/* Kills the process group before reaping its leader, because the group's number may be
 * reused afterwards. */
int command_child_reap(command_child *c)
{
    siginfo_t info = {0};
    int status = 0;
    if (c->pid <= 0)
        return 0;
    if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0)
        return -1;
    kill(-c->pid, SIGKILL);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        ;
    c->pid = 0;
    return status;
}

int command_child_wait(command_child *c, int ms)
{
    int status = command_child_reap(c);
    for (int waited = 0; status < 0 && waited < ms; waited += 5) {
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        status = command_child_reap(c);
    }
    return status;
}

void command_child_close(command_child *c)
{
    close_fd(&c->out);
    close_fd(&c->err);
    close_fd(&c->end);
}
