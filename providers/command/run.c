/* run.c: one call of a tool: starts the program, collects its output, reports progress, and replies
 * when the program has ended.
 *
 * All events come from the host: its descriptors (both pipes and the pidfd) and one timer.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "beneath.h"
#include "child.h"
#include "text.h"
#include "tool.h"
#include "words.h"

enum {
    TICK_MS = 1000,   /* interval of progress reports */
    LOOK_MS = 50,     /* polling interval if the system cannot report the end of a program */
    PIECE = 64 << 10, /* bytes of one read */
    MOST = 1 << 20,   /* bytes of a pipe, which a program may have enlarged */
    MAX_ERRORS = 8 << 10,
    QUIET_MS = 60000, /* between two lines of the log about failures of a tool */
};

typedef enum reason { ENDED = 0, CANCELLED, TOO_LONG, TOO_MUCH, NO_MEMORY } reason;

struct command_run {
    command_run *next;
    command_tool *tool;
    mcp_request *req;
    command_child child;
    const mcp_host *host;
    mcp_host_poll *poll_out, *poll_err, *poll_end;
    mcp_host_timer *timer;
    int64_t started, reported, kill_at; /* kill_at is 0 until SIGTERM is sent */
    reason why;
    common_buffer output, errors;
};

static int64_t now(const command_run *r)
{
    return r->host->now(r->host->user);
}

static void unpoll(command_run *r, mcp_host_poll **poll)
{
    if (*poll)
        r->host->poll_stop(*poll, r->host->user);
    *poll = NULL;
}

static void stop_timer(command_run *r)
{
    if (r->timer)
        r->host->timer_stop(r->timer, r->host->user);
    r->timer = NULL;
}

/* ---- reply ----------------------------------------------------------------------------------- */

/* Replaces invalid UTF-8 by "?" and removes trailing line ends. */
static mcp_str printable(common_buffer *b)
{
    for (size_t i = 0; i < b->len && !common_text_check((mcp_str){b->ptr, b->len}); i++)
        if ((unsigned char)b->ptr[i] >= 0x80 || b->ptr[i] == 0)
            b->ptr[i] = '?';
    while (b->len && (b->ptr[b->len - 1] == '\n' || b->ptr[b->len - 1] == '\r'))
        b->len--;
    return (mcp_str){b->ptr, b->len};
}

static void log_failure(command_tool *t, const char *what, const char *why)
{
    const mcp_host *h = mcp_server_host(t->server);
    char line[300];
    if (!h->log || h->now(h->user) < t->quiet_until)
        return;
    t->quiet_until = h->now(h->user) + QUIET_MS;
    snprintf(line, sizeof(line), "tool %.80s: it %s%s", t->o.name, what, why);
    h->log("warning", line, h->user);
}

static int reply_failure(command_run *r, const char *what)
{
    log_failure(r->tool, what, "");
    mcp_str errors = printable(&r->errors);
    int rc = mcp_reply_tool_error(r->req, "%s %s%s%.*s", r->tool->o.name, what,
                                  errors.len ? ":\n" : "", (int)errors.len, errors.ptr);
    if (rc == MCP_OK && r->output.len && common_text_check((mcp_str){r->output.ptr, r->output.len}))
        rc = mcp_reply_str(r->req, (mcp_str){r->output.ptr, r->output.len}, NULL);
    return rc;
}

static bool begins(const char *text, const char *with)
{
    return text && strncmp(text, with, strlen(with)) == 0;
}

static int reply_bytes(command_run *r, const char *mime, bool text)
{
    char uri[160];
    snprintf(uri, sizeof(uri), "command:%s", r->tool->o.name);
    mcp_content c = {.size = sizeof(c), .mime_type = mime, .uri = uri};
    c.kind = begins(mime, "image/")   ? MCP_CONTENT_IMAGE
             : begins(mime, "audio/") ? MCP_CONTENT_AUDIO
                                      : MCP_CONTENT_RESOURCE;
    if (text && c.kind == MCP_CONTENT_RESOURCE)
        c.text = (mcp_str){r->output.ptr ? r->output.ptr : "", r->output.len};
    else
        c.bytes = r->output.ptr ? r->output.ptr : "", c.bytes_len = r->output.len;
    return mcp_reply_content(r->req, &c);
}

static int reply_output(command_run *r)
{
    const char *mime = r->tool->o.mime_type;
    mcp_str output = {r->output.ptr ? r->output.ptr : "", r->output.len};
    bool text = common_text_check(output);
    if (text && (!mime || begins(mime, "text/plain") || output.len == 0))
        return mcp_reply_str(r->req, output, NULL);
    if (!text && (!mime || begins(mime, "text/")))
        mime = "application/octet-stream";
    if (text && begins(mime, "application/json"))
        return mcp_reply_str(r->req, output, NULL);
    return reply_bytes(r, mime, text);
}

static int reply(command_run *r, int status)
{
    char what[128];
    const mcp_command *o = &r->tool->o;
    switch (r->why) {
    case CANCELLED: return MCP_ECANCELLED;
    case NO_MEMORY: return MCP_ENOMEM;
    case TOO_LONG:
        snprintf(what, sizeof(what), "took longer than %llu ms and was terminated",
                 (unsigned long long)o->timeout_ms);
        return reply_failure(r, what);
    case TOO_MUCH:
        snprintf(what, sizeof(what), "wrote more than %zu bytes and was terminated", o->max_output);
        r->output.len = 0;
        return reply_failure(r, what);
    case ENDED: break;
    }
    if (WIFSIGNALED(status))
        snprintf(what, sizeof(what), "was ended by signal %d", WTERMSIG(status));
    else
        snprintf(what, sizeof(what), "ended with status %d", WEXITSTATUS(status));
    return status == 0 ? reply_output(r) : reply_failure(r, what);
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void forget(command_run *r)
{
    command_tool *t = r->tool;
    command_run **at = &t->runs;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    t->n_runs--;
    common_buffer_free(&r->output);
    common_buffer_free(&r->errors);
    common_release(&t->alloc, r);
}

static void finish(command_run *r, int status)
{
    mcp_request *req = r->req;
    unpoll(r, &r->poll_out);
    unpoll(r, &r->poll_err);
    unpoll(r, &r->poll_end);
    stop_timer(r);
    command_child_close(&r->child);
    mcp_request_on_cancel(req, NULL, NULL);
    int outcome = reply(r, status);
    forget(r);
    mcp_reply_finish(req, outcome);
}

static void end(command_run *r, reason why)
{
    if (r->why == ENDED)
        r->why = why;
    if (r->kill_at)
        return;
    r->kill_at = now(r) + (int64_t)r->tool->o.kill_ms;
    command_child_signal(&r->child, SIGTERM);
}

/* ---- output ---------------------------------------------------------------------------------- */

static void keep_output(command_run *r, const char *bytes, size_t len)
{
    size_t room = r->tool->o.max_output - r->output.len;
    if (r->why != ENDED)
        return;
    if (common_buffer_append(&r->output, bytes, len < room ? len : room) != MCP_OK)
        end(r, NO_MEMORY);
    else if (len > room)
        end(r, TOO_MUCH);
}

/* Keeps only the end of stderr, which usually explains a failure. */
static void keep_errors(command_run *r, const char *bytes, size_t len)
{
    if (len > MAX_ERRORS)
        bytes += len - MAX_ERRORS, len = MAX_ERRORS;
    if (r->errors.len + len > MAX_ERRORS) {
        size_t excess = r->errors.len + len - MAX_ERRORS;
        memmove(r->errors.ptr, r->errors.ptr + excess, r->errors.len - excess);
        r->errors.len -= excess;
    }
    common_buffer_append(&r->errors, bytes, len);
}

/* Reads up to `most` bytes of the output, in whole pieces. Returns false at the end of the output. */
static bool read_output(command_run *r, int fd, size_t most)
{
    char bytes[PIECE];
    for (size_t i = 0; i < most; i += PIECE) {
        ssize_t n = read(fd, bytes, sizeof(bytes));
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        if (n < 0)
            return true;
        if (fd == r->child.out)
            keep_output(r, bytes, (size_t)n);
        else
            keep_errors(r, bytes, (size_t)n);
    }
    return true;
}

static void on_output(void *arg)
{
    command_run *r = arg;
    if (!read_output(r, r->child.out, PIECE))
        unpoll(r, &r->poll_out);
}

static void on_errors(void *arg)
{
    command_run *r = arg;
    if (!read_output(r, r->child.err, PIECE))
        unpoll(r, &r->poll_err);
}

static void on_end(void *arg)
{
    command_run *r = arg;
    int status = command_child_reap(&r->child);
    if (status < 0)
        return;
    if (r->poll_out)
        read_output(r, r->child.out, MOST);
    if (r->poll_err)
        read_output(r, r->child.err, MOST);
    finish(r, status);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void tell(command_run *r, int64_t t)
{
    char text[96]; /* the elapsed time is the progress value */
    double seconds = (double)(t - r->started) / 1000;
    if (t - r->reported < TICK_MS)
        return;
    r->reported = t;
    snprintf(text, sizeof(text), "%s: %zu bytes so far", r->tool->o.name, r->output.len);
    mcp_request_progress(r->req, seconds, 0, text);
}

static void arm(command_run *r);

static void on_timer(void *arg)
{
    command_run *r = arg;
    int64_t t = now(r);
    stop_timer(r);
    if (t - r->started >= (int64_t)r->tool->o.timeout_ms)
        end(r, TOO_LONG);
    if (r->kill_at && t >= r->kill_at)
        command_child_signal(&r->child, SIGKILL);
    tell(r, t);
    arm(r);
    if (r->child.end < 0)
        on_end(r); /* may free r */
}

/* If there is no memory for the timer, there is no progress and no time limit, but the end of the
 * program is still noticed. */
static void arm(command_run *r)
{
    int64_t t = now(r), due = r->reported + TICK_MS;
    int64_t deadline = r->started + (int64_t)r->tool->o.timeout_ms;
    if (r->why == ENDED && deadline < due)
        due = deadline;
    if (r->kill_at && r->kill_at < due)
        due = r->kill_at;
    if (r->child.end < 0 && t + LOOK_MS < due)
        due = t + LOOK_MS;
    stop_timer(r);
    r->timer = r->host->timer_start(due > t ? (uint64_t)(due - t) : 1, on_timer, r, r->host->user);
}

static void on_cancel(mcp_request *req, void *user)
{
    command_run *r = user;
    (void)req;
    end(r, CANCELLED);
    arm(r);
}

/* ---- starting -------------------------------------------------------------------------------- */

/* The words of one call, each NUL-terminated. */
typedef struct call {
    common_buffer text;
    char **argv, **env;
    size_t n;
} call;

static void call_clear(command_tool *t, call *c)
{
    common_buffer_free(&c->text);
    common_release(&t->alloc, c->argv);
    common_release(&t->alloc, c->env);
}

static int fill_words(command_tool *t, command_fill *f, call *c, size_t *at)
{
    for (size_t i = 0; i < t->o.n_words; i++) {
        const char *word = t->o.words[i];
        size_t begin = c->text.len;
        int rc = command_word(f, word, &c->text);
        if (rc == MCP_OK)
            at[c->n++] = begin;
        else if (rc != MCP_PENDING)
            return rc;
        if (strcmp(word, "--") == 0)
            f->dash = false;
    }
    return MCP_OK;
}

static int fill(command_tool *t, command_fill *f, call *c)
{
    size_t *at = common_alloc(&t->alloc, t->o.n_words * sizeof(*at));
    c->argv = common_alloc(&t->alloc, (t->o.n_words + 1) * sizeof(*c->argv));
    c->env = common_alloc(&t->alloc, (t->o.n_environment + 1) * sizeof(*c->env));
    int rc = at && c->argv && c->env ? fill_words(t, f, c, at) : MCP_ENOMEM;
    for (size_t i = 0; rc == MCP_OK && i < c->n; i++)
        c->argv[i] = c->text.ptr + at[i];
    if (rc == MCP_OK)
        c->argv[c->n] = NULL;
    for (size_t i = 0; rc == MCP_OK && i < t->o.n_environment; i++)
        c->env[i] = (char *)(uintptr_t)t->o.environment[i];
    if (rc == MCP_OK)
        c->env[t->o.n_environment] = NULL;
    common_release(&t->alloc, at);
    return rc;
}

/* Creates the program's stdin; *fd is -1 if it is empty. Returns the errors of command_word(). */
static int fill_input(command_tool *t, command_fill *f, int *fd)
{
    common_buffer text;
    *fd = -1;
    if (!t->o.input)
        return MCP_OK;
    common_buffer_init(&text, &t->alloc);
    f->dash = false;
    int rc = command_word(f, t->o.input, &text);
    if (rc == MCP_OK) {
        *fd = command_input(text.ptr, text.len - 1);
        rc = *fd < 0 ? common_code_of_errno(errno) : MCP_OK;
    }
    common_buffer_free(&text);
    return rc == MCP_PENDING ? MCP_OK : rc;
}

static int watch(command_run *r)
{
    const mcp_host *h = r->host;
    r->poll_out = h->poll_start(r->child.out, on_output, r, h->user);
    r->poll_err = h->poll_start(r->child.err, on_errors, r, h->user);
    if (r->child.end >= 0)
        r->poll_end = h->poll_start(r->child.end, on_end, r, h->user);
    r->started = r->reported = now(r);
    arm(r);
    bool all = r->poll_out && r->poll_err && (r->poll_end || r->child.end < 0) && r->timer;
    return all ? MCP_OK : MCP_ENOMEM;
}

/* Starts handling the events of a running program. */
static int attend(command_tool *t, mcp_request *req, const command_child *child)
{
    command_run *r = common_alloc(&t->alloc, sizeof(*r));
    command_child c = *child;
    if (!r) {
        command_child_signal(&c, SIGKILL);
        command_child_wait(&c, 1000);
        command_child_close(&c);
        return MCP_ENOMEM;
    }
    *r = (command_run){.tool = t, .req = req, .child = c, .host = mcp_server_host(t->server)};
    common_buffer_init(&r->output, &t->alloc);
    common_buffer_init(&r->errors, &t->alloc);
    r->next = t->runs;
    t->runs = r;
    t->n_runs++;
    mcp_request_on_cancel(req, on_cancel, r);
    if (watch(r) == MCP_OK)
        return MCP_PENDING;
    r->why = NO_MEMORY;
    command_child_signal(&r->child, SIGKILL);
    finish(r, command_child_wait(&r->child, 1000));
    return MCP_PENDING;
}

static int start(command_tool *t, mcp_request *req, const call *c, int input)
{
    command_child child;
    int rc = command_child_start(c->argv, c->env, t->o.folder, input, &child);
    if (rc == 0)
        return attend(t, req, &child);
    if (common_code_of_errno(rc) == MCP_EFILES)
        return MCP_EFILES;
    log_failure(t, "cannot be started: ", strerror(rc));
    return mcp_reply_tool_error(req, "%s cannot be started: %s", t->o.name, strerror(rc));
}

static bool can_run(const mcp_host *h)
{
    return h && h->now && h->timer_start && h->timer_stop && h->poll_start && h->poll_stop;
}

int command_call(mcp_request *req, const mcp_json *arguments, void *user)
{
    command_tool *t = user;
    command_fill f = {.arguments = arguments,
                      .allow = t->o.allow_dash,
                      .n_allow = t->o.n_allow_dash,
                      .dash = true};
    call c = {0};
    int input = -1;
    if (!can_run(mcp_server_host(t->server)))
        return mcp_reply_fail(req, MCP_CODE_INTERNAL, "This server cannot run programs");
    if (t->n_runs >= t->o.concurrency)
        return mcp_reply_tool_error(req, "%s is already running %zu times: try again later",
                                    t->o.name, t->n_runs);
    common_buffer_init(&c.text, &t->alloc);
    int rc = fill(t, &f, &c);
    if (rc == MCP_OK)
        rc = fill_input(t, &f, &input);
    if (rc == MCP_OK)
        rc = start(t, req, &c, input);
    else if (rc == MCP_EINVAL)
        rc = mcp_reply_tool_error(req, "the argument \"%.*s\" %s", (int)f.which.len, f.which.ptr,
                                  f.why);
    if (input >= 0)
        close(input);
    call_clear(t, &c);
    return rc;
}

void command_end_all(command_tool *t)
{
    enum { MOST_MS = 500 };
    for (command_run *r = t->runs; r; r = r->next)
        command_child_signal(&r->child, SIGTERM);
    while (t->runs) {
        command_run *r = t->runs;
        int status = command_child_wait(&r->child, MOST_MS);
        if (status < 0) {
            command_child_signal(&r->child, SIGKILL);
            status = command_child_wait(&r->child, MOST_MS);
        }
        r->why = r->why == ENDED ? CANCELLED : r->why;
        finish(r, status);
    }
}
