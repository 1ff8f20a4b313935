/* login.c: runs mcpctl login for a server of the command line, which opens the user's browser and
 * stores the tokens where the gateway finds them. It is a process of its own, as for any other
 * command, and prints to the terminal.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <common/sibling.h>
#include <common/text.h>

#include "web.h"

typedef struct login_child {
    web *web;
    web_server *server;
    pid_t pid;
    int fd; /* readable when it has ended */
    mcp_host_poll *poll;
} login_child;

static void release(web *w)
{
    login_child *l = w->login;
    const mcp_host *host = mcp_loop_host(w->loop);
    if (l->poll)
        host->poll_stop(l->poll, host->user);
    if (l->fd >= 0)
        close(l->fd);
    free(l);
    w->login = NULL;
}

static void on_end(void *arg)
{
    login_child *l = arg;
    int status = 0;
    if (waitpid(l->pid, &status, WNOHANG) == 0)
        return;
    l->server->login = WIFEXITED(status) && WEXITSTATUS(status) == 0 ? LOGIN_DONE : LOGIN_FAILED;
    release(l->web);
}

static bool spawn(login_child *l, const char *program)
{
    const mcp_json *line = l->server->login_line;
    const char **argv = calloc(mcp_json_count(line) + 3, sizeof(*argv));
    posix_spawn_file_actions_t files;
    mcp_json_iter it = {0};
    size_t n = 0;
    if (!argv || posix_spawn_file_actions_init(&files) != 0) {
        free(argv);
        return false;
    }
    argv[n++] = "mcpctl";
    argv[n++] = "login";
    for (const mcp_json *v; (v = mcp_json_next(line, &it, NULL)) != NULL;)
        argv[n++] = mcp_json_string(v).ptr;
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, 2, 1);
    int rc = posix_spawn(&l->pid, program, &files, NULL, (char **)(void *)argv, environ);
    posix_spawn_file_actions_destroy(&files);
    free(argv);
    return rc == 0;
}

int login_start(web *w, web_server *s)
{
    char program[PATH_MAX];
    const mcp_host *host = mcp_loop_host(w->loop);
    if (w->login)
        return MCP_ESTATE;
    if (!s->login_line)
        return MCP_EINVAL;
    login_child *l = sibling_find("mcpctl", program) ? calloc(1, sizeof(*l)) : NULL;
    if (!l)
        return MCP_EIO;
    *l = (login_child){.web = w, .server = s, .fd = -1};
    w->login = l;
    if (!spawn(l, program)) {
        release(w);
        return MCP_EIO;
    }
    l->fd = (int)syscall(SYS_pidfd_open, l->pid, 0);
    l->poll = l->fd >= 0 ? host->poll_start(l->fd, on_end, l, host->user) : NULL;
    if (!l->poll) {
        login_stop(w);
        return MCP_EIO;
    }
    s->login = LOGIN_RUNNING;
    return MCP_OK;
}

void login_stop(web *w)
{
    if (!w->login)
        return;
    kill(w->login->pid, SIGTERM);
    while (waitpid(w->login->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    release(w);
}
