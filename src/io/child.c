/* child.c: a server as a child process, and the client that talks to it.
 *
 * The child gets three pipes and a session of its own, so that its whole process group can be ended. Its
 * stderr is always drained. What may surprise: the client learns of the end when the process is reaped,
 * not when its output ends, because only then the exit status is known; an output that ends begins the
 * same escalation as mcp_child_close(). And when the process is gone, what is left of its group is ended
 * at once, because later its number may belong to somebody else.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "io/io.h"

enum {
    KILL_MS = 2000,
    LAST_STDERR = 4096, /* what mcp_child_stderr() shows */
    STDERR_ROOM = 4 * LAST_STDERR,
    TURN_BYTES = 256 * 1024,
    MAX_OUTPUT = 1024 * 1024,         /* congested above this */
    WAITING_LIMIT = 64 * 1024 * 1024, /* a server that does not read is given up */
    LARGEST_PIPE = 1024 * 1024,       /* what can be left in one (without privileges) */
    ALL_PIPES = 3,
};

typedef enum ending {
    ALIVE,
    CLOSED,     /* its stdin is closed: it should end by itself */
    TERMINATED, /* SIGTERM was sent to its group */
    KILLED,
    EXITED,
} ending;

struct mcp_child {
    mcp_loop *loop;
    mcp_client *client;
    mcp_channel *channel;      /* the client's; NULL after mcp_client_disconnected() */
    mcp_child_options options; /* argv, env and cwd only while spawning */
    ending ending;
    int status;
    bool disconnected, congested;
    bool woken; /* the channel wants a tick */

    int in, out, err; /* our ends; -1: closed */
    mcp__lines lines;
    mcp__output output;
    char last[STDERR_ROOM]; /* the end of stderr */
    size_t last_len;

    uv_process_t process;
    uv_poll_t in_poll, out_poll, err_poll;
    uv_prepare_t prepare; /* runs before the loop waits when something is to be written or ticked */
    uv_timer_t deadline, kill;
    size_t handles;
};

/* ---- the end of it -------------------------------------------------------------------------------- */

static void handle_closed(uv_handle_t *handle)
{
    mcp_child *c = handle->data;

    c->handles--;
}

static void close_handle(mcp_child *c, uv_handle_t *handle)
{
    if (handle->data == c && !uv_is_closing(handle))
        uv_close(handle, handle_closed);
}

static void close_pipe(mcp_child *c, int *fd, uv_poll_t *poll)
{
    close_handle(c, (uv_handle_t *)poll);
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_input(mcp_child *c)
{
    if (c->in < 0)
        return;
    mcp__output_flush(&c->output);
    mcp__output_free(&c->output);
    close_pipe(c, &c->in, &c->in_poll);
}

/* The last line that is not empty. */
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

    if (c->disconnected)
        return;
    c->disconnected = true;
    c->channel = NULL;
    close_handle(c, (uv_handle_t *)&c->deadline);
    close_handle(c, (uv_handle_t *)&c->prepare);
    mcp__log_escape(line, sizeof(line), last_stderr_line(c));
    snprintf(why, sizeof(why), "%s%s%s", how, line[0] ? "; its last words: " : "", line);
    mcp_client_disconnected(c->client, why);
}

static void signal_group(const mcp_child *c, int number)
{
    if (c->ending < EXITED)
        kill(-c->process.pid, number);
}

static void escalate(uv_timer_t *timer);

/* Idempotent: closes stdin, then waits. */
static void begin_ending(mcp_child *c)
{
    if (c->ending != ALIVE)
        return;
    c->ending = CLOSED;
    close_input(c);
    uv_update_time(&c->loop->uv);
    uv_timer_start(&c->kill, escalate, c->options.kill_ms, 0);
}

static void escalate(uv_timer_t *timer)
{
    mcp_child *c = timer->data;

    if (c->ending == CLOSED) {
        c->ending = TERMINATED;
        signal_group(c, SIGTERM);
        uv_timer_start(&c->kill, escalate, c->options.kill_ms, 0);
    } else if (c->ending == TERMINATED) {
        c->ending = KILLED;
        signal_group(c, SIGKILL);
    }
}

/* ---- to the child ----------------------------------------------------------------------------------- */

static void before_waiting(uv_prepare_t *prepare);
static void on_writable(uv_poll_t *poll, int status, int events);

static void leave_note(mcp_child *c)
{
    if (!c->disconnected)
        uv_prepare_start(&c->prepare, before_waiting);
}

static void send_line(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    mcp_child *c = user;

    (void)channel;
    (void)exchange;
    if (c->in < 0)
        return;
    mcp__output_line(&c->output, message);
    leave_note(c);
}

static void wake(mcp_channel *channel, void *user)
{
    mcp_child *c = user;

    (void)channel;
    c->woken = true;
    leave_note(c);
}

static void check_congestion(mcp_child *c)
{
    size_t pending = mcp__output_pending(&c->output);
    bool congested = c->congested ? pending > MAX_OUTPUT / 2 : pending > MAX_OUTPUT;

    if (congested == c->congested || !c->channel)
        return;
    c->congested = congested;
    mcp_channel_set_writable(c->channel, !congested, mcp__loop_now(c->loop));
}

static void flush(mcp_child *c)
{
    if (c->in < 0)
        return;
    mcp__output_flush(&c->output);
    if (c->output.failed) {
        begin_ending(c); /* it reads no more */
        return;
    }
    check_congestion(c);
    if (c->output.blocked)
        uv_poll_start(&c->in_poll, UV_WRITABLE, on_writable);
    else
        uv_poll_stop(&c->in_poll);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    (void)status; /* the write shows it */
    (void)events;
    flush(poll->data);
}

static void on_deadline(uv_timer_t *timer);

static void arm(mcp_child *c)
{
    if (!c->channel)
        return;
    int64_t due = mcp_channel_deadline(c->channel);
    int64_t now = mcp__loop_now(c->loop);
    if (due == INT64_MAX)
        uv_timer_stop(&c->deadline);
    else
        uv_timer_start(&c->deadline, on_deadline, due > now ? (uint64_t)(due - now) : 0, 0);
}

static void tick(mcp_child *c)
{
    c->woken = false;
    if (c->channel)
        mcp_channel_tick(c->channel, mcp__loop_now(c->loop));
    arm(c);
}

static void on_deadline(uv_timer_t *timer)
{
    tick(timer->data);
}

static void before_waiting(uv_prepare_t *prepare)
{
    mcp_child *c = prepare->data;

    uv_prepare_stop(prepare);
    if (c->woken)
        tick(c);
    flush(c);
}

/* ---- from the child ---------------------------------------------------------------------------------- */

static void hand_over(mcp_child *c)
{
    int64_t now = mcp__loop_now(c->loop);
    mcp_str line;
    int kind;

    while (c->channel && (kind = mcp__lines_next(&c->lines, &line)) != MCP__LINE_NONE) {
        if (kind == MCP__LINE_WHOLE)
            (void)mcp_channel_receive(c->channel, 0, line, now);
        else
            (void)mcp_channel_receive_oversized(c->channel, 0, line, now);
    }
}

/* A last line without a newline. */
static void hand_over_rest(mcp_child *c)
{
    mcp_str line;

    if (c->channel && mcp__lines_rest(&c->lines, &line) == MCP__LINE_WHOLE)
        (void)mcp_channel_receive(c->channel, 0, line, mcp__loop_now(c->loop));
}

static ssize_t read_retry(int fd, void *to, size_t room)
{
    ssize_t n;

    do
        n = read(fd, to, room);
    while (n < 0 && errno == EINTR);
    return n;
}

static bool is_over(ssize_t n)
{
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
}

static void read_output(mcp_child *c, size_t budget)
{
    ssize_t n = 1;

    while (n > 0 && budget && c->out >= 0) {
        size_t room;
        char *to = mcp__lines_room(&c->lines, &room);
        if (!to)
            return;
        n = read_retry(c->out, to, room);
        if (n > 0) {
            mcp__lines_added(&c->lines, (size_t)n);
            budget -= MCP__MIN(budget, (size_t)n);
            hand_over(c);
        } else if (is_over(n)) {
            hand_over_rest(c);
            close_pipe(c, &c->out, &c->out_poll);
            begin_ending(c);
        }
    }
}

static void on_output(uv_poll_t *poll, int status, int events)
{
    mcp_child *c = poll->data;

    (void)status;
    (void)events;
    read_output(c, TURN_BYTES);
    if (c->woken)
        tick(c);
    else
        arm(c);
    flush(c);
}

static void keep_last(mcp_child *c, const char *bytes, size_t n)
{
    if (n > STDERR_ROOM - c->last_len) {
        size_t keep = MCP__MIN(c->last_len, (size_t)LAST_STDERR);
        memmove(c->last, c->last + c->last_len - keep, keep);
        c->last_len = keep;
    }
    memcpy(c->last + c->last_len, bytes, n);
    c->last_len += n;
}

/* Returns whether there may be more. */
static bool read_stderr(mcp_child *c)
{
    char bytes[STDERR_ROOM - LAST_STDERR];
    ssize_t n = read_retry(c->err, bytes, sizeof(bytes));

    if (is_over(n))
        close_pipe(c, &c->err, &c->err_poll);
    if (n <= 0)
        return false;
    keep_last(c, bytes, (size_t)n);
    if (c->options.on_stderr)
        c->options.on_stderr((mcp_str){bytes, (size_t)n}, c->options.user);
    return true;
}

static void on_stderr(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    (void)read_stderr(poll->data);
}

/* What the process left in its pipes; a survivor of its group cannot keep us here. */
static void read_what_is_left(mcp_child *c)
{
    size_t rounds = LARGEST_PIPE / (STDERR_ROOM - LAST_STDERR) + 1;

    read_output(c, LARGEST_PIPE);
    while (rounds-- && c->err >= 0 && read_stderr(c))
        ;
}

static void on_exit_status(uv_process_t *process, int64_t status, int number)
{
    mcp_child *c = process->data;
    char how[80];

    kill(-process->pid, SIGKILL); /* what is left of its group */
    c->ending = EXITED;
    c->status = number ? 128 + number : (int)status;
    uv_timer_stop(&c->kill);
    read_what_is_left(c);
    close_input(c);
    close_pipe(c, &c->out, &c->out_poll);
    close_pipe(c, &c->err, &c->err_poll);
    if (number)
        snprintf(how, sizeof(how), "the server was ended by signal %d (%s)", number,
                 strsignal(number));
    else
        snprintf(how, sizeof(how), "the server ended with exit status %d", c->status);
    disconnect(c, how);
    if (c->options.on_exit)
        c->options.on_exit(c->status, c->options.user);
}

/* ---- the beginning ----------------------------------------------------------------------------------- */

static int open_pipes(mcp_child *c, int theirs[ALL_PIPES], mcp_error *error)
{
    int *const ours[ALL_PIPES] = {&c->in, &c->out, &c->err};

    for (int i = 0; i < ALL_PIPES; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
            return mcp__fail(error, MCP_EIO, 0, "a pipe cannot be made: %s", strerror(errno));
        *ours[i] = i == 0 ? ends[1] : ends[0];
        theirs[i] = i == 0 ? ends[0] : ends[1];
    }
    return MCP_OK;
}

/* exec() has the wrong type: it writes to neither. */
static char **argv_of(const char *const *argv)
{
    union {
        const char *const *in;
        char **out;
    } u = {argv};
    return u.out;
}

static int start_process(mcp_child *c, const int theirs[ALL_PIPES], mcp_error *error)
{
    uv_stdio_container_t pipes[ALL_PIPES];
    uv_process_options_t o = {.exit_cb = on_exit_status,
                              .file = c->options.argv[0],
                              .args = argv_of(c->options.argv),
                              .env = argv_of(c->options.env),
                              .cwd = c->options.cwd,
                              .flags = UV_PROCESS_DETACHED, /* setsid(): a group of its own */
                              .stdio_count = ALL_PIPES,
                              .stdio = pipes};

    for (int i = 0; i < ALL_PIPES; i++)
        pipes[i] = (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = theirs[i]};
    int status = uv_spawn(&c->loop->uv, &c->process, &o);
    c->process.data = c; /* also a process that did not start is a handle to close */
    c->handles++;
    if (status == 0)
        return MCP_OK;
    c->ending = EXITED;
    int code = status == UV_ENOENT ? MCP_ENOTFOUND : status == UV_EACCES ? MCP_EACCESS : MCP_EIO;
    return mcp__fail(error, code, 0, "%s: %s", o.file, uv_strerror(status));
}

static int watch_pipe(mcp_child *c, uv_poll_t *poll, int fd, uv_poll_cb fn, mcp_error *error)
{
    int status = uv_poll_init(&c->loop->uv, poll, fd);

    if (status < 0)
        return mcp__uv_fail(error, status, "a pipe cannot be watched");
    poll->data = c;
    c->handles++;
    status = fn ? uv_poll_start(poll, UV_READABLE, fn) : 0;
    return status < 0 ? mcp__uv_fail(error, status, "a pipe cannot be watched") : MCP_OK;
}

static int open_handles(mcp_child *c, mcp_error *error)
{
    uv_prepare_init(&c->loop->uv, &c->prepare);
    uv_timer_init(&c->loop->uv, &c->deadline);
    uv_timer_init(&c->loop->uv, &c->kill);
    c->prepare.data = c->deadline.data = c->kill.data = c;
    c->handles += 3;
    int rc = watch_pipe(c, &c->in_poll, c->in, NULL, error);
    if (rc == MCP_OK)
        rc = watch_pipe(c, &c->out_poll, c->out, on_output, error);
    if (rc == MCP_OK)
        rc = watch_pipe(c, &c->err_poll, c->err, on_stderr, error);
    return rc;
}

static int connect_client(mcp_child *c, mcp_error *error)
{
    int rc = mcp_client_connect(c->client,
                                MCP_OPTIONS(mcp_channel_options, .send = send_line, .wake = wake,
                                            .user = c, .shared_stream = true),
                                &c->channel, error);
    if (rc < 0)
        return rc;
    c->disconnected = false;
    c->lines.max_line = mcp_channel_max_message(c->channel);
    arm(c);
    leave_note(c);
    return MCP_OK;
}

static int start(mcp_child *c, mcp_error *error)
{
    int theirs[ALL_PIPES] = {-1, -1, -1};
    int rc = open_pipes(c, theirs, error);

    mcp__output_init(&c->output, &c->loop->allocator, c->in, WAITING_LIMIT);
    if (rc == MCP_OK)
        rc = open_handles(c, error);
    if (rc == MCP_OK)
        rc = start_process(c, theirs, error);
    for (int i = 0; i < ALL_PIPES; i++) {
        if (theirs[i] >= 0)
            close(theirs[i]);
    }
    return rc == MCP_OK ? connect_client(c, error) : rc;
}

/* Its process is gone or was never there. */
static int child_free(mcp_child *c)
{
    mcp_loop *loop = c->loop;
    int status = c->status;

    close_input(c);
    close_pipe(c, &c->out, &c->out_poll);
    close_pipe(c, &c->err, &c->err_poll);
    close_handle(c, (uv_handle_t *)&c->prepare);
    close_handle(c, (uv_handle_t *)&c->deadline);
    close_handle(c, (uv_handle_t *)&c->kill);
    close_handle(c, (uv_handle_t *)&c->process);
    while (c->handles)
        uv_run(&loop->uv, UV_RUN_NOWAIT);
    mcp__lines_free(&c->lines);
    mcp__output_free(&c->output);
    mcp__release(&loop->allocator, c);
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

/* A write to a child that is gone must not end us. */
static void ignore_sigpipe(void)
{
    struct sigaction now, ignore = {.sa_handler = SIG_IGN};

    if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        sigaction(SIGPIPE, &ignore, NULL);
}

int mcp_child_spawn(mcp_loop *loop, mcp_client *client, const mcp_child_options *options,
                    mcp_child **ret, mcp_error *error)
{
    if (!loop || !client || !options || !ret)
        return mcp__fail(error, MCP_EINVAL, 0, "a loop, a client and options are needed");
    mcp_child *c = mcp__zalloc(&loop->allocator, sizeof(*c));
    if (!c)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for a child");
    c->loop = loop;
    c->client = client;
    c->in = c->out = c->err = -1;
    c->disconnected = true;
    mcp__lines_init(&c->lines, &loop->allocator, 0);
    mcp__output_init(&c->output, &loop->allocator, -1, WAITING_LIMIT);
    mcp__copy_options(&c->options, sizeof(c->options), options);
    if (!c->options.kill_ms)
        c->options.kill_ms = KILL_MS;
    ignore_sigpipe();
    int rc = check_options(&c->options, error);
    if (rc == MCP_OK)
        rc = start(c, error);
    if (rc < 0) {
        c->options.on_exit = NULL;
        c->options.kill_ms = 1;
        mcp_child_close(c);
        return rc;
    }
    c->options.argv = c->options.env = NULL;
    c->options.cwd = NULL;
    *ret = c;
    return MCP_OK;
}

mcp_str mcp_child_stderr(const mcp_child *child)
{
    if (!child)
        return (mcp_str){NULL, 0};
    size_t n = MCP__MIN(child->last_len, (size_t)LAST_STDERR);
    return (mcp_str){child->last + child->last_len - n, n};
}

static bool is_running(const mcp_child *c)
{
    return c->process.data && c->ending < EXITED;
}

int mcp_child_close(mcp_child *child)
{
    if (!child)
        return MCP_OK;
    if (is_running(child))
        begin_ending(child);
    while (is_running(child))
        uv_run(&child->loop->uv, UV_RUN_ONCE);
    return child_free(child);
}
