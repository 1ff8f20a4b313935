/* filter.c: runs another program with an input, and gets its output. */
#define _GNU_SOURCE
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1 << 20, PAUSE_US = 5000, STOP_MS = 50 };

typedef struct filter {
    pid_t pid;
    int in, out;   /* -1: closed */
    mcp_str input; /* what has to be written */
    bool partly;   /* it need not be read */
    int64_t until;
    const atomic_bool *stop;
    char *text;
    size_t len;
} filter;

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- starting -------------------------------------------------------------------------------- */

/* The program gets the usual action of SIGPIPE, which the programs ignore: a program that nobody reads
 * ends then, and does not complain about its output. Returns 0, or an errno. */
static int set_signals(posix_spawnattr_t *attributes)
{
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    int rc = posix_spawnattr_setsigdefault(attributes, &defaults);
    return rc != 0 ? rc : posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF);
}

/* Returns 0, or an errno. */
static int set_files(posix_spawn_file_actions_t *files, const filter_call *call, int in, int out)
{
    int rc = posix_spawn_file_actions_adddup2(files, in, 0);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(files, out, 1);
    if (rc == 0 && call->errors)
        rc = posix_spawn_file_actions_adddup2(files, out, 2);
    return rc;
}

/* Returns 0, or an errno. */
static int start(const filter_call *call, const int in[2], const int out[2], pid_t *pid)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    int rc = posix_spawnattr_init(&attributes);
    if (rc != 0)
        return rc;
    rc = posix_spawn_file_actions_init(&files);
    if (rc == 0) {
        rc = set_signals(&attributes);
        if (rc == 0)
            rc = set_files(&files, call, in[0], out[1]);
        if (rc == 0)
            rc = posix_spawnp(pid, call->argv[0], &files, &attributes,
                              (char *const *)(uintptr_t)call->argv, environ);
        posix_spawn_file_actions_destroy(&files);
    }
    posix_spawnattr_destroy(&attributes);
    return rc;
}

static int open_filter(const filter_call *call, filter *f)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    if (pipe2(in, O_CLOEXEC) != 0)
        return errno;
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]), close(in[1]);
        return EMFILE;
    }
    int rc = start(call, in, out, &f->pid);
    close(in[0]), close(out[1]);
    f->in = in[1], f->out = out[0];
    if (rc != 0)
        close_end(&f->in), close_end(&f->out);
    return rc;
}

/* ---- input and output ------------------------------------------------------------------------ */

static bool put_piece(filter *f)
{
    ssize_t n = write(f->in, f->input.ptr, f->input.len);
    if (n < 0 && errno == EPIPE && f->partly)
        close_end(&f->in);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR || f->in < 0;
    f->input = (mcp_str){f->input.ptr + n, f->input.len - (size_t)n};
    if (!f->input.len)
        close_end(&f->in);
    return true;
}

static bool get_piece(filter *f)
{
    ssize_t n = f->len < MOST ? read(f->out, f->text + f->len, MOST - f->len) : -1;
    if (n < 0)
        return f->len < MOST && errno == EINTR;
    f->len += (size_t)n;
    if (n == 0)
        close_end(&f->out);
    return true;
}

static bool is_over(const filter *f)
{
    return now() >= f->until || (f->stop && atomic_load(f->stop));
}

/* Returns false after a failure, also if the program did not read what it has to. */
static bool exchange(filter *f)
{
    fcntl(f->in, F_SETFL, O_NONBLOCK);
    if (!f->input.len)
        close_end(&f->in);
    while (f->out >= 0) {
        struct pollfd p[] = {{.fd = f->out, .events = POLLIN}, {.fd = f->in, .events = POLLOUT}};
        int64_t left = f->until - now();
        left = f->stop && left > STOP_MS ? STOP_MS : left;
        int n = is_over(f) ? -1 : poll(p, 2, (int)left);
        if ((n < 0 && errno == EINTR && !is_over(f)) || n == 0)
            continue;
        if (n < 0 || (p[1].revents && !put_piece(f)) || (p[0].revents && !get_piece(f)))
            return false;
    }
    f->text[f->len] = '\0';
    return !f->input.len || f->partly;
}

/* Returns the status of waitpid(), or -1 if the program had to be killed. */
static int end(const filter *f, bool ok)
{
    int status = -1;
    pid_t got = 0;
    while (ok && (got = waitpid(f->pid, &status, WNOHANG)) == 0 && !is_over(f))
        usleep(PAUSE_US);
    if (got == f->pid)
        return status;
    kill(f->pid, SIGKILL);
    while (waitpid(f->pid, &status, 0) < 0 && errno == EINTR) {
    }
    return -1;
}

int filter_run(const filter_call *call, char **ret)
{
    filter f = {.in = -1,
                .out = -1,
                .input = call->input,
                .partly = call->partly,
                .until = now() + call->ms,
                .stop = call->stop};
    *ret = NULL;
    int rc = open_filter(call, &f);
    if (rc != 0)
        return rc == ENOENT || rc == EACCES ? FILTER_NO_PROGRAM : -1;
    f.text = malloc(MOST + 1);
    bool ok = f.text && exchange(&f);
    close_end(&f.in), close_end(&f.out);
    int status = end(&f, ok);
    if (ok && status != -1 && WIFEXITED(status)) {
        *ret = f.text;
        return WEXITSTATUS(status);
    }
    free(f.text);
    return -1;
}
