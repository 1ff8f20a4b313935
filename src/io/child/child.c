/* child.c: starts and ends a server as a child process, and connects a client to it.
 *
 * The child gets three pipes, and a session of its own so that its whole process group can be
 * ended. Its stderr is always read, so that it never blocks.
 *
 * When the output of the child ends, the process is ended in the same way as by mcp_child_close().
 * The client is disconnected only when the process has been reaped, because the exit status is
 * known only then. The rest of the process group is killed at that time, because another group
 * could have the same number later.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/child/child.h"

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_child_options, kill_ms, 2000),
};

/* ---- ending the process --------------------------------------------------------------------- */

static void handle_closed(uv_handle_t *handle)
{
    mcp_child *c = handle->data;

    c->handles--;
}

void mcp__child_close_handle(mcp_child *c, uv_handle_t *handle)
{
    if (handle->data == c && !uv_is_closing(handle))
        uv_close(handle, handle_closed);
}

/* Returns the last line of stderr that is not empty. */
static mcp_str last_stderr_line(const mcp_child *c)
{
    mcp_str all = mcp_child_stderr(c);

    while (all.len && (all.ptr[all.len - 1] == '\n' || all.ptr[all.len - 1] == '\r'))
        all.len--;
    const char *nl = all.len ? memrchr(all.ptr, '\n', all.len) : NULL;
    return nl ? mcp__str_sub(all, (size_t)(nl - all.ptr) + 1) : all;
}

static void disconnect(mcp_child *c, const char *how)
{
    char line[160], why[288];

    line[0] = '\0';
    if (!c->why)
        mcp_text_escape(line, sizeof(line), last_stderr_line(c));
    snprintf(why, sizeof(why), "%s%s%s", how, line[0] ? "; the last line on its stderr: " : "",
             line);
    mcp__pump_end(&c->pump, why);
}

static void signal_group(const mcp_child *c, int number)
{
    if (mcp__child_is_running(c))
        kill(-c->pid, number);
}

void mcp__child_kill(mcp_child *c)
{
    if (!mcp__child_is_running(c))
        return;
    c->deaf = true;
    c->ending = MCP__CHILD_KILLED;
    signal_group(c, SIGKILL);
}

static void escalate(uv_timer_t *timer);

void mcp__child_end(mcp_child *c)
{
    if (c->ending != MCP__CHILD_ALIVE)
        return;
    c->ending = MCP__CHILD_CLOSED;
    mcp__child_close_input(c);
    uv_update_time(&c->pump.loop->uv);
    uv_timer_start(&c->kill, escalate, c->options.kill_ms, 0);
}

static void escalate(uv_timer_t *timer)
{
    mcp_child *c = timer->data;

    if (c->ending == MCP__CHILD_CLOSED) {
        c->ending = MCP__CHILD_TERMINATED;
        signal_group(c, SIGTERM);
        uv_timer_start(&c->kill, escalate, c->options.kill_ms, 0);
    } else if (c->ending == MCP__CHILD_TERMINATED) {
        c->ending = MCP__CHILD_KILLED;
        signal_group(c, SIGKILL);
    }
}

/* Handles a process that has been reaped. `number` is the signal that ended it, or 0. */
static void process_ended(mcp_child *c, int number)
{
    char how[80];

    kill(-c->pid, SIGKILL); /* the rest of its group */
    c->ending = MCP__CHILD_EXITED;
    uv_timer_stop(&c->kill);
    uv_signal_stop(&c->signal);
    if (c->on_gone)
        c->on_gone(c->status, c->options.user);
    mcp__child_read_rest(c);
    mcp__child_close_pipes(c);
    if (number)
        snprintf(how, sizeof(how), "the server was ended by signal %d (%s)", number,
                 strsignal(number));
    else
        snprintf(how, sizeof(how), "the server ended with exit status %d", c->status);
    disconnect(c, c->why ? c->why : how);
    if (c->options.on_exit)
        c->options.on_exit(c->status, c->options.user);
}

/* SIGCHLD is sent for any child of this process. If other code reaps all children, waitpid() fails
 * with ECHILD, and the exit status is reported as 0. */
static void on_child_signal(uv_signal_t *signal, int signal_number)
{
    mcp_child *c = signal->data;
    int status = 0;

    (void)signal_number;
    if (!mcp__child_is_running(c))
        return;
    pid_t pid = waitpid(c->pid, &status, WNOHANG);
    if (pid == 0 || (pid < 0 && errno != ECHILD))
        return;
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    c->status = number ? 128 + number : WEXITSTATUS(status);
    process_ended(c, number);
}

/* ---- starting ------------------------------------------------------------------------------- */

/* Sets the descriptors of the process. The pipes become 0, 1 and 2 or, if `null` is open, 3, 5
 * and 2. */
static void place(mcp__spawn *s, const int theirs[MCP__CHILD_PIPES], int null, int fourth)
{
    if (null < 0) {
        s->n_fds = MCP__CHILD_PIPES;
        memcpy(s->fds, theirs, MCP__CHILD_PIPES * sizeof(int));
        return;
    }
    const int fds[MCP__SPAWN_FDS] = {
        null, theirs[2], theirs[2], theirs[0], fourth > 0 ? fourth : null, theirs[1]};
    memcpy(s->fds, fds, sizeof(fds));
    s->n_fds = MCP__SPAWN_FDS;
}

static int start_process(mcp_child *c, const int theirs[MCP__CHILD_PIPES],
                         const mcp__child_extra *extra, mcp_error *error)
{
    mcp__spawn s = extra->limits;
    int null = -1;

    if (c->own_pipes && (null = open("/dev/null", O_RDWR | O_CLOEXEC)) < 0)
        return mcp__fail(error, MCP_EIO, 0, "/dev/null cannot be opened: %s", strerror(errno));
    s.argv = c->options.argv;
    s.env = c->options.env;
    s.cwd = c->options.cwd;
    place(&s, theirs, null, extra->fourth);
    int status = uv_signal_start(&c->signal, on_child_signal, SIGCHLD);
    int rc = status < 0 ? mcp__uv_fail(error, status, "SIGCHLD cannot be watched")
                        : mcp__spawn_process(&s, &c->pid, error);
    if (null >= 0)
        close(null);
    return rc;
}

static void wake(mcp_channel *channel, void *user)
{
    mcp_child *c = user;

    (void)channel;
    mcp__pump_wake(&c->pump);
}

static int step(uint64_t ms, void *user)
{
    mcp_child *c = user;

    return mcp__pump_step(&c->pump, ms);
}

static int connect_client(mcp_child *c, mcp_error *error)
{
    int rc = mcp__pump_connect(&c->pump,
                               MCP_OPTIONS(mcp_channel_options, .send = mcp__child_send,
                                           .wake = wake, .user = c, .shared_stream = true),
                               MCP_OPTIONS(mcp_transport_options, .step = step), error);

    if (rc == MCP_OK)
        c->lines.max_line = mcp_channel_max_message(c->pump.channel);
    return rc;
}

static int start(mcp_child *c, const mcp__child_extra *extra, mcp_error *error)
{
    int theirs[MCP__CHILD_PIPES] = {-1, -1, -1};
    int rc = mcp__child_open_pipes(c, theirs, error);

    mcp__output_init(&c->output, &c->pump.loop->allocator, c->in, MCP__CHILD_WAITING);
    if (rc == MCP_OK)
        rc = mcp__child_watch_pipes(c, error);
    if (rc == MCP_OK)
        rc = start_process(c, theirs, extra, error);
    for (int i = 0; i < MCP__CHILD_PIPES; i++) {
        if (theirs[i] >= 0)
            close(theirs[i]);
    }
    if (rc == MCP_OK && extra->first_line.len)
        mcp__output_line(&c->output, extra->first_line);
    return rc == MCP_OK ? connect_client(c, error) : rc;
}

bool mcp__child_release(mcp_child *c)
{
    mcp_loop *loop = c->pump.loop;

    mcp__parse_leave(c->parse, NULL, 0);
    c->parse = NULL;
    mcp__child_close_pipes(c);
    mcp__child_close_handle(c, (uv_handle_t *)&c->kill);
    mcp__child_close_handle(c, (uv_handle_t *)&c->hold);
    mcp__child_close_handle(c, (uv_handle_t *)&c->signal);
    mcp__pump_close(&c->pump);
    if (c->handles || c->pump.handles)
        return false;
    mcp__lines_free(&c->lines);
    mcp__output_free(&c->output);
    mcp__release(&loop->allocator, c);
    return true;
}

static int child_free(mcp_child *c)
{
    mcp_loop *loop = c->pump.loop;
    int status = c->status;

    while (!mcp__child_release(c))
        uv_run(&loop->uv, UV_RUN_NOWAIT);
    return status;
}

static int check_options(const mcp_child_options *o, mcp_error *error)
{
    if (!o->argv || !o->argv[0] || !o->argv[0][0])
        return mcp__fail(error, MCP_EINVAL, 0, "no program was named");
    if (o->kill_ms > INT32_MAX)
        return mcp__fail(error, MCP_EINVAL, 0, "kill_ms is out of range");
    return MCP_OK;
}

static mcp_child *child_new(mcp_loop *loop, mcp_client *client, const mcp_child_options *options)
{
    mcp_child *c = mcp__zalloc(&loop->allocator, sizeof(*c));

    if (!c)
        return NULL;
    mcp__pump_init(&c->pump, loop, client, mcp__child_settle, c);
    uv_timer_init(&loop->uv, &c->kill);
    uv_timer_init(&loop->uv, &c->hold);
    uv_signal_init(&loop->uv, &c->signal);
    c->kill.data = c->hold.data = c->signal.data = c;
    c->handles = 3;
    c->in = c->out = c->err = -1;
    mcp__lines_init(&c->lines, &loop->allocator, 0);
    mcp__output_init(&c->output, &loop->allocator, -1, MCP__CHILD_WAITING);
    c->options = *options;
    MCP_SET_DEFAULTS(&c->options, defaults);
    return c;
}

int mcp__child_start(mcp_loop *loop, mcp_client *client, const mcp_child_options *options,
                     const mcp__child_extra *extra, mcp_child **ret, mcp_error *error)
{
    mcp_child *c = child_new(loop, client, options);

    if (!c)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a child");
    c->own_pipes = extra->own_pipes;
    c->on_gone = extra->on_gone;
    c->on_too_long = extra->on_too_long;
    c->flow =
        (mcp__flow){.per_second = MCP__MIN(extra->messages_per_second, (size_t)MCP__FLOW_MOST),
                    .slowed = extra->slowed,
                    .user = options->user};
    mcp__ignore_sigpipe();
    int rc = check_options(&c->options, error);
    if (rc == MCP_OK)
        rc = start(c, extra, error);
    c->options.argv = c->options.env = NULL;
    c->options.cwd = NULL;
    *ret = c;
    return rc;
}

int mcp_child_spawn(mcp_loop *loop, mcp_client *client, const mcp_child_options *options,
                    mcp_child **ret, mcp_error *error)
{
    mcp__no_error(error);
    mcp_child_options given;
    mcp_child *c = NULL;
    if (!loop || !client || !ret)
        return mcp__fail(error, MCP_EINVAL, 0, "a loop, a client and ret are needed");
    int rc = MCP__TAKE(&given, options, mcp_child_options, error);
    if (rc != MCP_OK)
        return rc;
    rc = mcp__child_start(loop, client, &given, &(mcp__child_extra){0}, &c, error);
    if (rc == MCP_OK) {
        *ret = c;
    } else if (c) {
        c->options.on_exit = NULL;
        c->options.kill_ms = 1;
        mcp_child_close(c);
    }
    return rc;
}

mcp_str mcp_child_stderr(const mcp_child *child)
{
    if (!child)
        return (mcp_str){NULL, 0};
    size_t n = MCP__MIN(child->last_len, (size_t)MCP__CHILD_LAST);
    return (mcp_str){child->last + child->last_len - n, n};
}

int mcp_child_close(mcp_child *child)
{
    if (!child)
        return MCP_OK;
    if (mcp__child_is_running(child))
        mcp__child_end(child);
    while (mcp__child_is_running(child))
        mcp__loop_turn(child->pump.loop);
    return child_free(child);
}
