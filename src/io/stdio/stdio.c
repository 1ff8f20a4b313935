/* stdio.c: one peer on a pair of descriptors, usually stdin and stdout.
 *
 * Turns: wait; read what is there; hand over its lines; write all that was said meanwhile with one
 * call. What a turn leaves to do (a tick, a flush, the next phase) is done in one place, turn(), and the
 * channel's wake and everything else only leave a note. What may surprise: while more than max_output
 * bytes wait for the reader, lines that were read already are not looked at either.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <mcp/task.h>

#include "io/loop/loop.h"
#include "io/stdio/stdio.h"

enum {
    TURN_BYTES = 256 * 1024, /* read in one turn, so that others get theirs */
    FLUSH_AT = 8 * 1024,     /* the peer can work on these answers while we make the next */
    CLOSING_MS = 200,        /* for the last words after a signal */
    MAX_OUTPUT = 1024 * 1024,
    DRAIN_MS = 2000,
    WAITING_LIMIT = 256 * 1024 * 1024, /* late answers to a peer who does not read */
};

typedef enum phase {
    RUNNING,
    DRAINING, /* the input ended and all of it was handed over: answers may still come */
    CLOSING,  /* the channel is closed: the last words are on their way */
    DONE,
} phase;

static const int end_signals[] = {SIGTERM, SIGINT, SIGHUP};

typedef struct stdio {
    mcp_loop *loop;
    mcp_server *server;
    mcp_channel *channel;
    mcp_stdio_options options;
    mcp__descriptor in, out;
    mcp__lines lines;
    mcp__output output;

    phase phase;
    int result;
    mcp_error *error;
    bool eof;
    bool hung_up; /* nobody writes to us any more; there may be more to read before the end */
    bool congested, asked_to_end;
    bool woken;                 /* the channel wants a tick */
    bool in_always, out_always; /* cannot be polled: a file, /dev/null */
    int in_watched;             /* events */
    bool out_watched;
    int64_t until; /* when the phase, or the input that ended, ends at the latest */
    int64_t armed; /* what the timer is set to; INT64_MAX: nothing */

    uv_timer_t timer;
    uv_poll_t in_poll, out_poll, parent_poll;
    int parent; /* tells of its end; -1: nobody's */
    uv_signal_t signals[MCP__COUNT(end_signals)];
    size_t handles; /* that are open */
    struct sigaction pipe_before;
    bool pipe_ignored;
} stdio;

/* ---- the end ------------------------------------------------------------------------------------- */

static void finish(stdio *s, int code, int sys, const char *what)
{
    if (s->phase == DONE)
        return;
    s->phase = DONE;
    if (code == MCP_OK)
        return;
    s->result =
        mcp__fail(s->error, code, 0, "%s: %s", what, sys ? strerror(sys) : mcp_error_text(code));
}

/* The peer who is gone is told nothing, and is not our failure. */
static void check_output(stdio *s)
{
    if (s->output.failed == MCP_ECLOSED)
        finish(s, MCP_OK, 0, NULL);
    else if (s->output.failed)
        finish(s, s->output.failed, s->output.sys, "output failed");
}

static void flush(stdio *s)
{
    mcp__output_flush(&s->output);
    check_output(s);
}

static void begin_closing(stdio *s, int64_t until)
{
    int64_t now = mcp__loop_now(s->loop);

    s->phase = CLOSING;
    s->until = MCP__MAX(until, now + CLOSING_MS);
    mcp_channel_close(s->channel, now);
    flush(s);
}

/* ---- the channel's side --------------------------------------------------------------------------- */

static void send_line(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    stdio *s = user;

    (void)channel;
    (void)exchange;
    mcp__output_line(&s->output, message);
}

static void wake(mcp_channel *channel, void *user)
{
    stdio *s = user;

    (void)channel;
    s->woken = true;
}

/* ---- input ----------------------------------------------------------------------------------------- */

static void set_congested(stdio *s, bool congested)
{
    if (s->congested == congested)
        return;
    s->congested = congested;
    mcp_channel_set_writable(s->channel, !congested, mcp__loop_now(s->loop));
}

static void check_congestion(stdio *s)
{
    size_t pending = mcp__output_pending(&s->output);

    if (pending > s->options.max_output)
        set_congested(s, true);
    else if (pending <= s->options.max_output / 2)
        set_congested(s, false);
}

/* What cannot be answered for want of memory is lost; the channel can go on. */
static void hand_over(stdio *s, int kind, mcp_str line)
{
    int64_t now = mcp__loop_now(s->loop);

    if (MCP__LIKELY(kind == MCP__LINE_WHOLE))
        (void)mcp_channel_receive(s->channel, 0, line, now);
    else
        (void)mcp_channel_receive_oversized(s->channel, 0, line, s->lines.tail, now);
    size_t pending = mcp__output_pending(&s->output);
    if (MCP__UNLIKELY(pending >= FLUSH_AT && !s->output.blocked))
        flush(s);
    if (MCP__UNLIKELY(s->output.failed))
        check_output(s);
    if (MCP__UNLIKELY(pending > s->options.max_output))
        check_congestion(s);
}

/* Hands over the lines that are here; at the end of input also the last one without a newline. */
static void process(stdio *s)
{
    mcp_str line;
    int kind;

    while (s->phase == RUNNING && !s->congested) {
        kind = mcp__lines_next(&s->lines, &line);
        if (kind == MCP__LINE_NONE && s->eof)
            kind = mcp__lines_rest(&s->lines, &line);
        if (kind == MCP__LINE_NONE)
            break;
        hand_over(s, kind, line);
    }
    if (s->phase == RUNNING && !s->congested && s->eof)
        s->phase = DRAINING;
}

static bool may_read(const stdio *s)
{
    return s->phase == RUNNING && !s->eof && !s->congested;
}

/* From here on the peer's time runs. */
static void hang_up(stdio *s)
{
    if (s->hung_up)
        return;
    s->hung_up = true;
    s->until = mcp__loop_now(s->loop) + (int64_t)s->options.drain_ms;
}

static void end_of_input(stdio *s)
{
    s->eof = true;
    hang_up(s);
}

static void read_failed(stdio *s, int sys)
{
    if (sys == EAGAIN || sys == EWOULDBLOCK)
        return;
    /* A terminal that hung up, a socket whose peer crashed. */
    if (sys == EIO || sys == ECONNRESET)
        end_of_input(s);
    else
        finish(s, MCP_EIO, sys, "input failed");
}

/* Reads once and hands over; returns whether there may be more at once. */
static bool read_some(stdio *s, size_t *budget)
{
    size_t room;
    char *to = mcp__lines_room(&s->lines, &room);
    ssize_t n;

    if (!to) {
        finish(s, MCP_ENOMEM, 0, "no memory for the input");
        return false;
    }
    do
        n = read(s->in.fd, to, room);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        read_failed(s, errno);
        return false;
    }
    if (n == 0)
        end_of_input(s);
    mcp__lines_added(&s->lines, (size_t)n);
    process(s);
    *budget -= MCP__MIN(*budget, (size_t)n);
    return (size_t)n == room;
}

static void read_turn(stdio *s)
{
    size_t budget = TURN_BYTES;

    while (budget && may_read(s) && read_some(s, &budget))
        ;
    if (s->phase != DONE)
        flush(s);
}

/* ---- the loop's side ------------------------------------------------------------------------------- */

static void on_input(uv_poll_t *poll, int status, int events)
{
    stdio *s = poll->data;

    if (status < 0)
        s->in_watched = 0; /* libuv stopped it; the read shows why */
    if (events & UV_DISCONNECT)
        hang_up(s);
    read_turn(s);
}

static void on_output(uv_poll_t *poll, int status, int events)
{
    stdio *s = poll->data;

    (void)events;
    if (status < 0) { /* EPOLLERR: nobody reads the pipe any more; libuv stopped watching */
        finish(s, MCP_OK, 0, NULL);
        return;
    }
    flush(s);
}

static void on_signal(uv_signal_t *signal, int number)
{
    stdio *s = signal->data;

    (void)number;
    if (s->phase == CLOSING)
        s->phase = DONE; /* once more: no last words */
    s->asked_to_end = true;
}

/* Whoever has the other ends of our pipes by now did not start us. */
static void on_parent(uv_poll_t *poll, int status, int events)
{
    stdio *s = poll->data;

    (void)status, (void)events;
    uv_poll_stop(poll);
    hang_up(s);
}

static void on_timer(uv_timer_t *timer)
{
    stdio *s = timer->data;

    s->armed = INT64_MAX;
}

static int wanted_input(const stdio *s)
{
    if (s->in_always)
        return 0;
    if (may_read(s))
        return UV_READABLE;
    return s->phase == RUNNING && !s->hung_up ? UV_DISCONNECT : 0;
}

/* Also while we do not read: the peer may be gone for good, and then does not read either. */
static void watch_input(stdio *s)
{
    int want = wanted_input(s);

    if (want == s->in_watched)
        return;
    s->in_watched = want;
    if (want)
        uv_poll_start(&s->in_poll, want, on_input);
    else
        uv_poll_stop(&s->in_poll);
}

/* A pipe's broken end is told whatever is asked for: that is how we learn of a peer who is gone while
 * there is nothing to write. (A socket's would also tell that it was half closed, over and over.) */
static void watch_output(stdio *s)
{
    bool want = s->output.blocked;

    if (want == s->out_watched || s->out_always)
        return;
    s->out_watched = want;
    if (want)
        uv_poll_start(&s->out_poll, UV_WRITABLE, on_output);
    else if (s->out.fifo)
        uv_poll_start(&s->out_poll, UV_DISCONNECT, on_output);
    else
        uv_poll_stop(&s->out_poll);
}

static int64_t next_due(const stdio *s)
{
    int64_t due = s->phase < CLOSING ? mcp_channel_deadline(s->channel) : s->until;

    return s->hung_up ? MCP__MIN(due, s->until) : due;
}

/* Sets the timer; returns whether something is due already. */
static bool arm(stdio *s)
{
    int64_t due = next_due(s);
    int64_t now = mcp__loop_now(s->loop);

    if (due == s->armed)
        return false;
    s->armed = due;
    if (due == INT64_MAX) {
        uv_timer_stop(&s->timer);
        return false;
    }
    uv_timer_start(&s->timer, on_timer, due > now ? (uint64_t)(due - now) : 0, 0);
    return due <= now;
}

static void next_phase(stdio *s)
{
    int64_t now = mcp__loop_now(s->loop);
    bool late = s->hung_up && now >= s->until;

    if (s->phase < CLOSING && s->asked_to_end)
        begin_closing(s, now);
    else if (s->phase == DRAINING && (late || mcp_channel_in_flight(s->channel) == 0))
        begin_closing(s, s->until);
    else if (s->phase == RUNNING && late)
        begin_closing(s, s->until);
    if (s->phase == CLOSING && (mcp__output_pending(&s->output) == 0 || now >= s->until))
        s->phase = DONE;
}

/* Everything that the callbacks of a turn left to do. */
static void turn(stdio *s)
{
    int64_t now = mcp__loop_now(s->loop);

    if (mcp__loop_stopped(s->loop))
        s->asked_to_end = true;
    if (s->phase < CLOSING && (s->woken || now >= mcp_channel_deadline(s->channel))) {
        s->woken = false;
        mcp_channel_tick(s->channel, now);
    }
    if (!s->output.blocked)
        flush(s);
    check_congestion(s);
    if (s->in_always && may_read(s))
        read_turn(s);
    else
        process(s);
    if (!s->output.blocked && mcp__output_pending(&s->output))
        flush(s);
    check_output(s);
    next_phase(s);
}

static void run(stdio *s)
{
    for (turn(s); s->phase != DONE; turn(s)) {
        /* The last flush may have ended a congestion: then nobody would wake us for what was read. */
        bool relieved = s->congested && !s->output.blocked;
        bool busy = arm(s) || relieved || s->woken || (s->in_always && may_read(s));
        watch_input(s);
        watch_output(s);
        uv_run(&s->loop->uv, busy ? UV_RUN_NOWAIT : UV_RUN_ONCE);
    }
}

/* ---- beginning and end ------------------------------------------------------------------------------ */

static int take_options(stdio *s, const mcp_stdio_options *options)
{
    int rc = MCP__TAKE_OPTIONAL(&s->options, options, mcp_stdio_options, s->error);
    if (rc != MCP_OK)
        return rc;
    if (!s->options.input && !s->options.output)
        s->options.output = STDOUT_FILENO;
    if (!s->options.max_output)
        s->options.max_output = MAX_OUTPUT;
    if (!s->options.drain_ms)
        s->options.drain_ms = DRAIN_MS;
    if (s->options.input < 0 || s->options.output < 0 || s->options.drain_ms > INT32_MAX)
        return mcp__fail(s->error, MCP_EINVAL, 0, "an option is out of range");
    return MCP_OK;
}

static int open_descriptors(stdio *s)
{
    bool take = s->options.output == STDOUT_FILENO && !s->options.keep_stdout;
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    if (mcp__descriptor_input(&s->in, s->options.input) < 0)
        return mcp__fail(s->error, MCP_EIO, 0, "input: %s", strerror(errno));
    if (mcp__descriptor_output(&s->out, s->options.output, take) < 0)
        return mcp__fail(s->error, MCP_EIO, 0, "output: %s", strerror(errno));
    s->pipe_ignored = sigaction(SIGPIPE, &ignore, &s->pipe_before) == 0;
    return MCP_OK;
}

/* UV_EPERM: a kind of file that is always ready. */
static int poll_init(stdio *s, uv_poll_t *poll, int fd, bool *always)
{
    int status = uv_poll_init(&s->loop->uv, poll, fd);

    *always = status == UV_EPERM;
    if (status < 0 && !*always)
        return mcp__uv_fail(s->error, status, "a descriptor cannot be watched");
    poll->data = s;
    s->handles += status == 0;
    return MCP_OK;
}

static void catch_signals(stdio *s)
{
    for (size_t i = 0; i < MCP__COUNT(end_signals); i++) {
        struct sigaction before;
        if (s->options.no_signals || sigaction(end_signals[i], NULL, &before) < 0 ||
            before.sa_handler == SIG_IGN || uv_signal_init(&s->loop->uv, &s->signals[i]) < 0)
            continue;
        s->signals[i].data = s;
        s->handles++;
        uv_signal_start(&s->signals[i], on_signal, end_signals[i]);
    }
}

static void watch_parent(stdio *s)
{
    s->parent = s->options.no_signals ? -1 : mcp__parent_open();
    if (s->parent < 0 || uv_poll_init(&s->loop->uv, &s->parent_poll, s->parent) < 0)
        return;
    s->parent_poll.data = s;
    s->handles++;
    uv_poll_start(&s->parent_poll, UV_READABLE, on_parent);
}

static int open_handles(stdio *s)
{
    uv_timer_init(&s->loop->uv, &s->timer);
    s->timer.data = s;
    s->handles++;
    int rc = poll_init(s, &s->in_poll, s->in.fd, &s->in_always);
    if (rc == MCP_OK)
        rc = poll_init(s, &s->out_poll, s->out.fd, &s->out_always);
    if (rc < 0)
        return rc;
    if (s->out.fifo && !s->out_always)
        uv_poll_start(&s->out_poll, UV_DISCONNECT, on_output);
    catch_signals(s);
    watch_parent(s);
    return MCP_OK;
}

static int connect_channel(stdio *s, mcp_server *server)
{
    if (!mcp_server_host(server))
        mcp_server_set_host(server, mcp_loop_host(s->loop));
    return mcp_server_connect(server,
                              MCP_OPTIONS(mcp_channel_options, .send = send_line, .wake = wake,
                                          .user = s, .principal = s->options.principal,
                                          .shared_stream = true, .local = true,
                                          .max_message = s->options.max_message),
                              &s->channel, s->error);
}

static void handle_closed(uv_handle_t *handle)
{
    stdio *s = handle->data;

    s->handles--;
}

/* Handles that were never opened are all zero. */
static void close_handle(stdio *s, uv_handle_t *handle)
{
    if (handle->data == s && handle->loop)
        uv_close(handle, handle_closed);
}

/* Nobody waits for it any more, but it holds on to the server. With listeners on the same loop others
 * may wait, and who closes those sees to it. */
static void finish_work(stdio *s)
{
    if (!s->channel || s->loop->net)
        return;
    mcp_server_cancel_tasks(s->server);
    if (mcp_loop_drain(s->loop, s->options.drain_ms) == MCP_OK)
        return;
    s->result = mcp__fail(s->error, MCP_ETIMEOUT, 0, "work on a worker thread does not end");
}

static void tear_down(stdio *s)
{
    mcp_channel_free(s->channel);
    close_handle(s, (uv_handle_t *)&s->timer);
    if (!s->in_always)
        close_handle(s, (uv_handle_t *)&s->in_poll);
    if (!s->out_always)
        close_handle(s, (uv_handle_t *)&s->out_poll);
    close_handle(s, (uv_handle_t *)&s->parent_poll);
    for (size_t i = 0; i < MCP__COUNT(end_signals); i++)
        close_handle(s, (uv_handle_t *)&s->signals[i]);
    while (s->handles)
        uv_run(&s->loop->uv, UV_RUN_NOWAIT);
    if (s->parent >= 0)
        close(s->parent);
    finish_work(s);
    /* The last one given back is the first one looked at, in case both are the same file. */
    mcp__descriptor_release(&s->out);
    mcp__descriptor_release(&s->in);
    if (s->pipe_ignored)
        sigaction(SIGPIPE, &s->pipe_before, NULL);
    mcp__lines_free(&s->lines);
    mcp__output_free(&s->output);
}

static int set_up(stdio *s, mcp_server *server, const mcp_stdio_options *options)
{
    int rc = take_options(s, options);

    if (rc == MCP_OK)
        rc = open_descriptors(s);
    if (rc == MCP_OK)
        rc = open_handles(s);
    if (rc == MCP_OK)
        rc = connect_channel(s, server);
    if (rc < 0)
        return rc;
    const mcp_allocator *allocator = &s->loop->allocator;
    mcp__lines_init(&s->lines, allocator, mcp_channel_max_message(s->channel));
    mcp__output_init(&s->output, allocator, s->out.fd, s->options.max_output + WAITING_LIMIT);
    return MCP_OK;
}

int mcp_loop_serve_stdio(mcp_loop *loop, mcp_server *server, const mcp_stdio_options *options,
                         mcp_error *error)
{
    mcp__no_error(error);
    stdio s = {.loop = loop,
               .server = server,
               .error = error,
               .in = {.fd = -1},
               .out = {.fd = -1},
               .parent = -1,
               .armed = INT64_MAX};

    if (!loop || !server)
        return mcp__fail(error, MCP_EINVAL, 0, "a loop and a server are needed");
    s.lines.allocator = s.output.allocator = &loop->allocator;
    uv_update_time(&loop->uv);
    int rc = set_up(&s, server, options);
    if (rc == MCP_OK)
        run(&s);
    tear_down(&s);
    return rc < 0 ? rc : s.result;
}

int mcp_serve_stdio(mcp_server *server, mcp_error *error)
{
    mcp__no_error(error);
    mcp_loop *loop;
    int rc = mcp_loop_new(NULL, &loop, error);

    if (rc < 0)
        return rc;
    bool lent = server && !mcp_server_host(server);
    rc = mcp_loop_serve_stdio(loop, server, NULL, error);
    if (rc == MCP_ETIMEOUT) /* the work needs all of it */
        return rc;
    if (lent)
        mcp_server_set_host(server, NULL);
    mcp_loop_free(loop);
    return rc;
}
