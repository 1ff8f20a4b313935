/* stdio.c: runs a server on a pair of descriptors, usually stdin and stdout. stdio_setup.c starts
 * and ends it.
 *
 * Each turn waits, reads available input, handles its lines, and writes all output with one call.
 * Further work (a tick, a flush, the next phase) is done by turn(), for which `wake` and other
 * callbacks only set flags.
 *
 * While more than max_output bytes are pending, no message is handled, not even one that has been
 * read already.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>

#include "io/loop/pump.h"
#include "io/stdio/stdio_server.h"

enum {
    TURN_BYTES = 256 * 1024, /* limit of bytes read per turn, so that other handles get a turn */
    FLUSH_AT = 8 * 1024,     /* pending bytes that are written before the turn ends */
    CLOSING_MS = 200,        /* time-out for writing the last messages */
};

/* ---- ending ---------------------------------------------------------------------------------- */

static void finish(mcp__stdio *s, int code, int sys, const char *what)
{
    if (s->phase == MCP__STDIO_DONE)
        return;
    s->phase = MCP__STDIO_DONE;
    if (code == MCP_OK)
        return;
    s->result =
        mcp__fail(s->error, code, 0, "%s: %s", what, sys ? strerror(sys) : mcp_error_text(code));
}

/* Ends the server if the output has failed. A peer that has closed its end is not an error. */
static void check_output(mcp__stdio *s)
{
    if (s->output.failed == MCP_ECLOSED)
        finish(s, MCP_OK, 0, NULL);
    else if (s->output.failed)
        finish(s, s->output.failed, s->output.sys, "output failed");
}

static void flush(mcp__stdio *s)
{
    mcp__output_flush(&s->output);
    check_output(s);
}

static void begin_closing(mcp__stdio *s, int64_t until)
{
    int64_t now = mcp__loop_now(s->loop);

    s->phase = MCP__STDIO_CLOSING;
    s->until = MCP__MAX(until, now + CLOSING_MS);
    mcp_channel_close(s->channel, now);
    flush(s);
}

/* ---- calls from the channel ------------------------------------------------------------------ */

void mcp__stdio_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    mcp__stdio *s = user;

    (void)channel;
    (void)exchange;
    mcp__output_line(&s->output, message);
}

void mcp__stdio_wake(mcp_channel *channel, void *user)
{
    mcp__stdio *s = user;

    (void)channel;
    s->woken = true;
}

/* ---- input ----------------------------------------------------------------------------------- */

static void set_congested(mcp__stdio *s, bool congested)
{
    if (s->congested == congested)
        return;
    s->congested = congested;
    mcp_channel_set_writable(s->channel, !congested, mcp__loop_now(s->loop));
}

static void check_congestion(mcp__stdio *s)
{
    size_t pending = mcp__output_pending(&s->output);

    if (pending > s->options.max_output)
        set_congested(s, true);
    else if (pending <= s->options.max_output / 2)
        set_congested(s, false);
}

/* Passes a message to the channel. If memory runs out, the message is lost, and the channel
 * continues. */
static void hand_over(mcp__stdio *s, int kind, mcp_str line)
{
    int64_t now = mcp__loop_now(s->loop);

    if (MCP__LIKELY(kind == MCP__LINE_WHOLE))
        (void)mcp_channel_receive(s->channel, 0, line, now);
    else
        (void)mcp_channel_receive_oversized(s->channel, 0, line, (mcp_str){0}, now);
    size_t pending = mcp__output_pending(&s->output);
    if (MCP__UNLIKELY(pending >= FLUSH_AT && !s->output.blocked))
        flush(s);
    if (MCP__UNLIKELY(s->output.failed))
        check_output(s);
    if (MCP__UNLIKELY(pending > s->options.max_output))
        check_congestion(s);
}

/* Handles the lines read so far and, at the end of the input, a last line without a newline. */
static void process(mcp__stdio *s)
{
    mcp_str line;
    int kind;

    while (s->phase == MCP__STDIO_RUNNING && !s->congested) {
        kind = mcp__lines_next(&s->lines, &line);
        if (kind == MCP__LINE_NONE && s->eof)
            kind = mcp__lines_rest(&s->lines, &line);
        if (kind == MCP__LINE_NONE)
            break;
        hand_over(s, kind, line);
    }
    if (s->phase == MCP__STDIO_RUNNING && !s->congested && s->eof)
        s->phase = MCP__STDIO_DRAINING;
}

static bool may_read(const mcp__stdio *s)
{
    return s->phase == MCP__STDIO_RUNNING && !s->eof && !s->congested;
}

/* Sets the deadline for the peer to read its answers, because no input will follow. */
static void hang_up(mcp__stdio *s)
{
    if (s->hung_up)
        return;
    s->hung_up = true;
    s->until = mcp__loop_now(s->loop) + (int64_t)s->options.drain_ms;
}

static void end_of_input(mcp__stdio *s)
{
    s->eof = true;
    hang_up(s);
}

static void read_failed(mcp__stdio *s, int sys)
{
    if (sys == EAGAIN || sys == EWOULDBLOCK)
        return;
    /* EIO means that the terminal hung up; ECONNRESET, that the peer of a socket ended. */
    if (sys == EIO || sys == ECONNRESET)
        end_of_input(s);
    else
        finish(s, MCP_EIO, sys, "input failed");
}

/* Calls read() once and handles the lines. Returns whether more input may be available already. */
static bool read_some(mcp__stdio *s, size_t *budget)
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

static void read_turn(mcp__stdio *s)
{
    size_t budget = TURN_BYTES;

    while (budget && may_read(s) && read_some(s, &budget))
        ;
    if (s->phase != MCP__STDIO_DONE)
        flush(s);
}

/* ---- callbacks of the loop ------------------------------------------------------------------- */

static void on_input(uv_poll_t *poll, int status, int events)
{
    mcp__stdio *s = poll->data;

    if (status < 0)
        s->in_watched = 0; /* libuv has stopped watching; the read returns the error */
    if (events & UV_DISCONNECT)
        hang_up(s);
    read_turn(s);
}

void mcp__stdio_on_output(uv_poll_t *poll, int status, int events)
{
    mcp__stdio *s = poll->data;

    (void)events;
    if (status < 0) { /* EPOLLERR: the pipe has no reader, and libuv has stopped watching */
        finish(s, MCP_OK, 0, NULL);
        return;
    }
    flush(s);
}

void mcp__stdio_on_signal(uv_signal_t *signal, int number)
{
    mcp__stdio *s = signal->data;

    (void)number;
    if (s->phase == MCP__STDIO_CLOSING)
        s->phase = MCP__STDIO_DONE; /* a second signal skips the last messages */
    s->ending = true;
}

/* The parent has ended. Other processes may still hold the pipes, but they are not the client. */
void mcp__stdio_on_parent(uv_poll_t *poll, int status, int events)
{
    mcp__stdio *s = poll->data;

    (void)status, (void)events;
    uv_poll_stop(poll);
    hang_up(s);
}

static void on_timer(uv_timer_t *timer)
{
    mcp__stdio *s = timer->data;

    s->armed = INT64_MAX;
}

static int wanted_input(const mcp__stdio *s)
{
    if (s->in_always)
        return 0;
    if (may_read(s))
        return UV_READABLE;
    return s->phase == MCP__STDIO_RUNNING && !s->hung_up ? UV_DISCONNECT : 0;
}

/* Watches the input. While nothing is read because the peer is slow, a hang-up is still detected,
 * because the peer may have ended. */
static void watch_input(mcp__stdio *s)
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

/* Watches the output. A pipe is watched even if there is nothing to write, because the kernel
 * always reports the end of its reader. A socket is not, because a half-closed one would be
 * reported again and again. */
static void watch_output(mcp__stdio *s)
{
    bool want = s->output.blocked;

    if (want == s->out_watched || s->out_always)
        return;
    s->out_watched = want;
    if (want)
        uv_poll_start(&s->out_poll, UV_WRITABLE, mcp__stdio_on_output);
    else if (s->out.fifo)
        uv_poll_start(&s->out_poll, UV_DISCONNECT, mcp__stdio_on_output);
    else
        uv_poll_stop(&s->out_poll);
}

static int64_t next_due(const mcp__stdio *s)
{
    int64_t due = s->phase < MCP__STDIO_CLOSING ? mcp_channel_deadline(s->channel) : s->until;

    return s->hung_up ? MCP__MIN(due, s->until) : due;
}

/* Sets the timer. Returns whether the deadline has passed already. */
static bool arm(mcp__stdio *s)
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

static void next_phase(mcp__stdio *s)
{
    int64_t now = mcp__loop_now(s->loop);
    bool late = s->hung_up && now >= s->until;

    if (s->phase < MCP__STDIO_CLOSING && s->ending)
        begin_closing(s, now);
    else if (s->phase == MCP__STDIO_DRAINING && (late || mcp_channel_in_flight(s->channel) == 0))
        begin_closing(s, s->until);
    else if (s->phase == MCP__STDIO_RUNNING && late)
        begin_closing(s, s->until);
    if (s->phase == MCP__STDIO_CLOSING && (mcp__output_pending(&s->output) == 0 || now >= s->until))
        s->phase = MCP__STDIO_DONE;
}

/* Does the work for which the callbacks of a turn have set flags. */
static void turn(mcp__stdio *s)
{
    mcp__pumps_settle(s->loop);
    int64_t now = mcp__loop_now(s->loop);

    if (mcp__loop_stopped(s->loop))
        s->ending = true;
    if (s->phase < MCP__STDIO_CLOSING && (s->woken || now >= mcp_channel_deadline(s->channel))) {
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

void mcp__stdio_run(mcp__stdio *s)
{
    for (turn(s); s->phase != MCP__STDIO_DONE; turn(s)) {
        /* The last flush may have ended the congestion. No event would then wake up the loop to
         * handle the lines that have been read. */
        bool relieved = s->congested && !s->output.blocked;
        bool busy = arm(s) || relieved || s->woken || (s->in_always && may_read(s));
        watch_input(s);
        watch_output(s);
        if (busy)
            uv_run(&s->loop->uv, UV_RUN_NOWAIT);
        else
            mcp__loop_turn(s->loop);
    }
}
