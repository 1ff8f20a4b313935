/* stdio_setup.c: starts and ends a server on a pair of descriptors: options, descriptors, and
 * handles of the loop. At the end, it restores the flags of the descriptors and the action of SIGPIPE.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <unistd.h>

#include <mcp/sys/server.h>
#include <mcp/task.h>

#include "io/stdio/stdio_server.h"

enum { WAITING_LIMIT = 256 << 20 }; /* pending bytes above max_output at which the output fails */

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_stdio_options, max_output, 1 << 20),
    MCP_DEFAULT(mcp_stdio_options, drain_ms, 2000),
};

static const int end_signals[MCP__STDIO_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};

/* ---- starting -------------------------------------------------------------------------------- */

static int take_options(mcp__stdio *s, const mcp_stdio_options *options)
{
    int rc = MCP__TAKE_OPTIONAL(&s->options, options, mcp_stdio_options, s->error);
    if (rc != MCP_OK)
        return rc;
    if (!s->options.input && !s->options.output)
        s->options.output = STDOUT_FILENO;
    MCP_SET_DEFAULTS(&s->options, defaults);
    if (s->options.input < 0 || s->options.output < 0 || s->options.drain_ms > INT32_MAX)
        return mcp__fail(s->error, MCP_EINVAL, 0, "an option is out of range");
    return MCP_OK;
}

static int open_descriptors(mcp__stdio *s)
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

/* Prepares to watch a descriptor. UV_EPERM means that it is a file, which is always ready. */
static int poll_init(mcp__stdio *s, uv_poll_t *poll, int fd, bool *always)
{
    int status = uv_poll_init(&s->loop->uv, poll, fd);

    *always = status == UV_EPERM;
    if (status < 0 && !*always)
        return mcp__uv_fail(s->error, status, "a descriptor cannot be watched");
    poll->data = s;
    s->handles += status == 0;
    return MCP_OK;
}

static void catch_signals(mcp__stdio *s)
{
    for (size_t i = 0; i < MCP__COUNT(end_signals); i++) {
        struct sigaction before;
        if (s->options.no_signals || sigaction(end_signals[i], NULL, &before) < 0 ||
            before.sa_handler == SIG_IGN || uv_signal_init(&s->loop->uv, &s->signals[i]) < 0)
            continue;
        s->signals[i].data = s;
        s->handles++;
        uv_signal_start(&s->signals[i], mcp__stdio_on_signal, end_signals[i]);
    }
}

static void watch_parent(mcp__stdio *s)
{
    s->parent = s->options.no_signals ? -1 : mcp__parent_open();
    if (s->parent < 0 || uv_poll_init(&s->loop->uv, &s->parent_poll, s->parent) < 0)
        return;
    s->parent_poll.data = s;
    s->handles++;
    uv_poll_start(&s->parent_poll, UV_READABLE, mcp__stdio_on_parent);
}

static int open_handles(mcp__stdio *s)
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
        uv_poll_start(&s->out_poll, UV_DISCONNECT, mcp__stdio_on_output);
    catch_signals(s);
    watch_parent(s);
    return MCP_OK;
}

static int connect_channel(mcp__stdio *s, mcp_server *server)
{
    if (!mcp_server_host(server))
        mcp_server_set_host(server, mcp_loop_host(s->loop));
    return mcp_server_connect(
        server,
        MCP_OPTIONS(mcp_channel_options, .send = mcp__stdio_send, .wake = mcp__stdio_wake,
                    .user = s, .principal = s->options.principal, .identity = s->options.identity,
                    .shared_stream = true, .local = true, .max_message = s->options.max_message,
                    .trusted_parent = s->options.trusted_parent),
        &s->channel, s->error);
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void handle_closed(uv_handle_t *handle)
{
    mcp__stdio *s = handle->data;

    s->handles--;
}

/* Closes a handle, if it was opened. The others are zeroed. */
static void close_handle(mcp__stdio *s, uv_handle_t *handle)
{
    if (handle->data == s && handle->loop)
        uv_close(handle, handle_closed);
}

/* Waits for work in progress, which uses the server although its result is no longer needed.
 * Does nothing if the loop has or had listeners, because their requests may still need the work.
 * The program then calls mcp_loop_drain() after it has closed the listeners. */
static void finish_work(mcp__stdio *s)
{
    if (!s->channel || s->loop->net)
        return;
    mcp_server_cancel_tasks(s->server);
    if (mcp_loop_drain(s->loop, s->options.drain_ms) == MCP_OK)
        return;
    s->result = mcp__fail(s->error, MCP_ETIMEOUT, 0, "work on a worker thread does not end");
}

static void tear_down(mcp__stdio *s)
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
    /* The order is reversed, because both may be the same file. */
    mcp__descriptor_release(&s->out);
    mcp__descriptor_release(&s->in);
    if (s->pipe_ignored)
        sigaction(SIGPIPE, &s->pipe_before, NULL);
    mcp__lines_free(&s->lines);
    mcp__output_free(&s->output);
}

/* ---- serving --------------------------------------------------------------------------------- */

static int set_up(mcp__stdio *s, mcp_server *server, const mcp_stdio_options *options)
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
    mcp__stdio s = {.loop = loop,
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
        mcp__stdio_run(&s);
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
    if (rc == MCP_ETIMEOUT) /* work still uses the loop, so it cannot be freed */
        return rc;
    if (lent)
        mcp_server_set_host(server, NULL);
    mcp_loop_free(loop);
    return rc;
}
