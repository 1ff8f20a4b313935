/* pipes.c: reads and writes the pipes of a child process: messages to its stdin and from its
 * stdout, one per line, and its stderr.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "io/child/child.h"

enum {
    TURN_BYTES = 256 * 1024,    /* limit of bytes read per turn of the loop */
    TURN_LINES = 256,           /* limit of lines passed on per turn of the loop */
    REST_TURNS = 16,            /* limit of turns in which an ended process's output is read */
    MAX_OUTPUT = 1024 * 1024,   /* pending bytes above which the channel is congested */
    LARGEST_PIPE = 1024 * 1024, /* largest capacity of a pipe without privileges */
};

static void close_pipe(mcp_child *c, int *fd, uv_poll_t *poll)
{
    mcp__child_close_handle(c, (uv_handle_t *)poll);
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void mcp__child_close_input(mcp_child *c)
{
    if (c->in < 0)
        return;
    mcp__output_flush(&c->output);
    mcp__output_free(&c->output);
    close_pipe(c, &c->in, &c->in_poll);
}

/* ---- to the child ----------------------------------------------------------------------------------- */

static void on_writable(uv_poll_t *poll, int status, int events);

void mcp__child_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    mcp_child *c = user;

    (void)channel;
    (void)exchange;
    if (c->in < 0)
        return;
    mcp__output_line(&c->output, message);
    mcp__pump_note(&c->pump);
}

static void check_congestion(mcp_child *c)
{
    size_t pending = mcp__output_pending(&c->output);
    bool congested = c->congested ? pending > MAX_OUTPUT / 2 : pending > MAX_OUTPUT;

    if (congested == c->congested || !c->pump.channel)
        return;
    c->congested = congested;
    mcp_channel_set_writable(c->pump.channel, !congested, mcp__loop_now(c->pump.loop));
}

static void watch_input(mcp_child *c)
{
    if (c->in_watched == c->output.blocked)
        return;
    c->in_watched = c->output.blocked;
    if (c->in_watched)
        uv_poll_start(&c->in_poll, UV_WRITABLE, on_writable);
    else
        uv_poll_stop(&c->in_poll);
}

void mcp__child_flush(void *child)
{
    mcp_child *c = child;

    if (c->in < 0)
        return;
    mcp__output_flush(&c->output);
    if (c->output.failed) {
        mcp__child_end(c); /* the child has closed its stdin, or does not read */
        return;
    }
    check_congestion(c);
    watch_input(c);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    mcp_child *c = poll->data;

    (void)events;
    if (status < 0)
        c->in_watched = false; /* libuv has stopped watching; the write returns the error */
    mcp__child_flush(c);
}

/* ---- from the child ---------------------------------------------------------------------------------- */

static void on_output(uv_poll_t *poll, int status, int events);

static bool is_paused(const mcp_child *c)
{
    return c->held || c->parse;
}

static void resume(mcp_child *c)
{
    if (is_paused(c) || c->out < 0 || c->deaf)
        return;
    uv_poll_start(&c->out_poll, UV_READABLE, on_output);
    if (c->more)
        mcp__pump_note(&c->pump);
}

static void on_parsed(mcp__parse_job *job, void *child)
{
    mcp_child *c = child;

    c->parse = NULL;
    if (c->pump.channel && !c->deaf)
        mcp__parse_receive(job, c->pump.channel, 0);
    c->more = true;
    resume(c);
    mcp__pump_turn(&c->pump);
    mcp__child_flush(c);
}

/* Receives a message, or lets another thread parse it first. */
static void pass_on(mcp_child *c, mcp_str line)
{
    if (mcp__child_is_running(c))
        c->parse = mcp__parse_elsewhere(c->pump.loop, c->pump.channel, line, NULL, on_parsed, c);
    if (!c->parse)
        (void)mcp_channel_receive(c->pump.channel, 0, line, mcp__loop_now(c->pump.loop));
    else if (c->out >= 0)
        uv_poll_stop(&c->out_poll);
}

/* A process that sends very many short lines must not delay the other work of the loop, so the
 * number of lines per turn is limited. */
static void hand_over(mcp_child *c)
{
    int64_t now = mcp__loop_now(c->pump.loop);
    mcp_str line;
    int kind;

    while (c->turn && !c->deaf && !c->parse && c->pump.channel &&
           (kind = mcp__lines_next(&c->lines, &line)) != MCP__LINE_NONE) {
        c->turn--;
        if (kind == MCP__LINE_WHOLE)
            pass_on(c, line);
        else
            (void)mcp_channel_receive_oversized(c->pump.channel, 0, line, (mcp_str){0}, now);
    }
}

/* Passes a last line without a newline to the channel. A line that does not end as a message does was
 * cut by the end of the process, which is what the callers should hear about. */
static void hand_over_rest(mcp_child *c)
{
    mcp_str line;

    if (c->pump.channel && !c->deaf && mcp__lines_rest(&c->lines, &line) == MCP__LINE_WHOLE &&
        line.len && strchr("}]", line.ptr[line.len - 1]) != NULL)
        (void)mcp_channel_receive(c->pump.channel, 0, line, mcp__loop_now(c->pump.loop));
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

static void on_hold_over(uv_timer_t *timer)
{
    mcp_child *c = timer->data;

    c->held = false;
    resume(c);
}

/* Lets the process wait if it has sent too much. */
static void slow_down(mcp_child *c, size_t bytes)
{
    size_t lines = TURN_LINES - c->turn;
    uint64_t ms = mcp__flow_take(&c->flow, mcp__loop_now(c->pump.loop), bytes, lines);

    if (!ms || c->out < 0 || c->deaf || !mcp__child_is_running(c))
        return;
    c->held = true;
    uv_poll_stop(&c->out_poll);
    uv_timer_start(&c->hold, on_hold_over, ms, 0);
}

/* Reads up to `budget` bytes. A read that does not fill the buffer has emptied the pipe; the loop
 * then reports further data or the end of the pipe. If `to_end` is set, continues reading until the
 * pipe is empty or at its end. */
static void read_output(mcp_child *c, size_t budget, bool to_end)
{
    bool more = true;
    size_t most = budget;

    c->turn = TURN_LINES;
    hand_over(c);
    while (more && budget && c->turn && !c->deaf && !c->parse && c->out >= 0) {
        size_t room;
        char *to = mcp__lines_room(&c->lines, &room);
        if (!to)
            return;
        ssize_t n = read_retry(c->out, to, room);
        more = n == (ssize_t)room || (to_end && n > 0);
        if (n > 0) {
            mcp__lines_added(&c->lines, (size_t)n);
            budget -= MCP__MIN(budget, (size_t)n);
            hand_over(c);
            if (c->lines.discarding && c->on_too_long && !c->deaf)
                c->on_too_long(c->options.user);
        } else if (is_over(n)) {
            hand_over_rest(c);
            close_pipe(c, &c->out, &c->out_poll);
            mcp__child_end(c);
        }
    }
    c->more = !c->turn && !c->deaf;
    slow_down(c, most - budget);
    if (c->more && !is_paused(c))
        mcp__pump_note(&c->pump);
}

static void on_output(uv_poll_t *poll, int status, int events)
{
    mcp_child *c = poll->data;

    (void)status;
    (void)events;
    if (c->deaf)
        uv_poll_stop(poll);
    if (c->more || is_paused(c))
        return; /* mcp__child_settle() or resume() continues */
    read_output(c, TURN_BYTES, false);
    mcp__pump_turn(&c->pump);
    mcp__child_flush(c);
}

void mcp__child_settle(void *child)
{
    mcp_child *c = child;

    if (c->more && !is_paused(c)) {
        read_output(c, TURN_BYTES, false);
        mcp__pump_turn(&c->pump);
    }
    mcp__child_flush(c);
}

static void keep_last(mcp_child *c, const char *bytes, size_t n)
{
    if (n > MCP__CHILD_STDERR - c->last_len) {
        size_t keep = MCP__MIN(c->last_len, (size_t)MCP__CHILD_LAST);
        memmove(c->last, c->last + c->last_len - keep, keep);
        c->last_len = keep;
    }
    memcpy(c->last + c->last_len, bytes, n);
    c->last_len += n;
}

/* Calls read() once. Returns whether more may be available. */
static bool read_stderr(mcp_child *c)
{
    char bytes[MCP__CHILD_STDERR - MCP__CHILD_LAST];
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

void mcp__child_read_rest(mcp_child *c)
{
    size_t rounds = LARGEST_PIPE / (MCP__CHILD_STDERR - MCP__CHILD_LAST) + 1, turns = REST_TURNS;

    mcp__parse_leave(c->parse, c->deaf ? NULL : c->pump.channel, 0);
    c->parse = NULL;
    do
        read_output(c, LARGEST_PIPE, true);
    while (c->more && --turns);
    while (rounds-- && c->err >= 0 && read_stderr(c))
        ;
}

/* ---- life -------------------------------------------------------------------------------------------- */

int mcp__child_open_pipes(mcp_child *c, int theirs[MCP__CHILD_PIPES], mcp_error *error)
{
    int *const ours[MCP__CHILD_PIPES] = {&c->in, &c->out, &c->err};

    for (int i = 0; i < MCP__CHILD_PIPES; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) < 0)
            return mcp__fail(error, MCP_EIO, 0, "a pipe cannot be made: %s", strerror(errno));
        *ours[i] = i == 0 ? ends[1] : ends[0];
        theirs[i] = i == 0 ? ends[0] : ends[1];
        if (c->own_pipes && i < 2)
            (void)fcntl(ends[0], F_SETPIPE_SZ, TURN_BYTES); /* for fewer context switches */
    }
    return MCP_OK;
}

static int watch_pipe(mcp_child *c, uv_poll_t *poll, int fd, uv_poll_cb fn, mcp_error *error)
{
    int status = uv_poll_init(&c->pump.loop->uv, poll, fd);

    if (status < 0)
        return mcp__uv_fail(error, status, "a pipe cannot be watched");
    poll->data = c;
    c->handles++;
    status = fn ? uv_poll_start(poll, UV_READABLE, fn) : 0;
    return status < 0 ? mcp__uv_fail(error, status, "a pipe cannot be watched") : MCP_OK;
}

int mcp__child_watch_pipes(mcp_child *c, mcp_error *error)
{
    int rc = watch_pipe(c, &c->in_poll, c->in, NULL, error);

    if (rc == MCP_OK)
        rc = watch_pipe(c, &c->out_poll, c->out, on_output, error);
    if (rc == MCP_OK)
        rc = watch_pipe(c, &c->err_poll, c->err, on_stderr, error);
    return rc;
}

void mcp__child_close_pipes(mcp_child *c)
{
    mcp__child_close_input(c);
    close_pipe(c, &c->out, &c->out_poll);
    close_pipe(c, &c->err, &c->err_poll);
}
