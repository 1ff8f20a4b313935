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
#include <unistd.h>

typedef struct filter {
    pid_t pid;
    int in, out;
} filter;

/* Returns 0, or an errno. */
static int start(const char *const argv[], const int in[2], const int out[2], pid_t *pid)
{
    posix_spawn_file_actions_t files;
    int rc = posix_spawn_file_actions_init(&files);
    if (rc != 0)
        return rc;
    posix_spawn_file_actions_adddup2(&files, in[0], 0);
    posix_spawn_file_actions_adddup2(&files, out[1], 1);
    rc = posix_spawnp(pid, argv[0], &files, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

static int open_filter(const char *const argv[], filter *f)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    if (pipe2(in, O_CLOEXEC) != 0)
        return errno;
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]), close(in[1]);
        return EMFILE;
    }
    int rc = start(argv, in, out, &f->pid);
    close(in[0]), close(out[1]);
    f->in = in[1], f->out = out[0];
    if (rc != 0)
        close(f->in), close(f->out);
    return rc;
}

/* A program that does not read its input gets as much as fits its pipe. SIGPIPE is ignored. */
static void put_input(const filter *f, mcp_str text)
{
    fcntl(f->in, F_SETFL, O_NONBLOCK);
    fcntl(f->in, F_SETPIPE_SZ, 1 << 20);
    while (text.len) {
        ssize_t n = write(f->in, text.ptr, text.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        text = (mcp_str){text.ptr + n, text.len - (size_t)n};
    }
    close(f->in);
}

/* Returns NULL if there is too much, or nothing for too long. */
static char *get_output(const filter *f)
{
    enum { MOST = 1 << 20, MS = 60000 };
    char *text = malloc(MOST + 1);
    size_t len = 0;
    while (text) {
        struct pollfd p = {.fd = f->out, .events = POLLIN};
        bool ready = len < MOST && poll(&p, 1, MS) == 1;
        ssize_t n = ready ? read(f->out, text + len, MOST - len) : -1;
        if (n == 0)
            break;
        if (n > 0) {
            len += (size_t)n;
            continue;
        }
        free(text);
        text = NULL;
    }
    if (text)
        text[len] = '\0';
    return text;
}

int filter_run(const char *const argv[], mcp_str input, char **ret)
{
    filter f = {.in = -1, .out = -1};
    int status = -1, rc = open_filter(argv, &f);
    *ret = NULL;
    if (rc != 0)
        return rc == ENOENT || rc == EACCES ? FILTER_NO_PROGRAM : -1;
    put_input(&f, input);
    *ret = get_output(&f);
    close(f.out);
    if (!*ret)
        kill(f.pid, SIGTERM);
    while (waitpid(f.pid, &status, 0) < 0 && errno == EINTR) {
    }
    return *ret && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
