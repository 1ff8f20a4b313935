/* trace.c: records every message as a line of JSON: of mcpctl's own session (--trace), or of a
 * session between a host and its server (`mcpctl trace FILE -- SERVER`).
 *
 * Between a host and a server it forwards bytes unchanged, without parsing them, so that the record
 * is exact. A line that is not JSON is recorded as text.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "session.h"

/* ---- lines ----------------------------------------------------------------------------------- */

FILE *trace_open(const char *path)
{
    if (strcmp(path, "-") == 0)
        return stderr;
    FILE *f = fopen(path, "ae");
    if (!f)
        say("cannot write the trace to %s: %s", path, strerror(errno));
    return f;
}

static void format_now(char to[40])
{
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(to, 40, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(to + n, 40 - n, ".%06ldZ", now.tv_nsec / 1000);
}

/* Writes JSON text with escapes for a terminal. */
static void put_json(FILE *to, mcp_str json)
{
    if (to == stderr && isatty(STDERR_FILENO))
        text_put_json(to, json);
    else
        text_put_raw(to, json);
}

static void put_member(FILE *to, const char *name, mcp_str text)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str json = {0};
    mcp_json_add_str(w, text);
    if (mcp_json_writer_finish(w, &json) != MCP_OK) /* not even UTF-8 */
        json = MCP_STR("null");
    fprintf(to, "\"%s\":", name);
    put_json(to, json);
    mcp_json_writer_free(w);
}

static void put_line(FILE *to, bool sent, const char *name, mcp_str text, bool is_json)
{
    char now[40];
    format_now(now);
    fprintf(to, "{\"time\":\"%s\",\"from\":\"%s\",", now, sent ? "client" : "server");
    if (is_json) {
        fprintf(to, "\"%s\":", name);
        put_json(to, text);
    } else {
        put_member(to, name, text);
    }
    fputs("}\n", to);
    fflush(to);
}

/* Writes text that should be a message but may be anything. */
static void put_heard(FILE *to, bool sent, mcp_str text)
{
    mcp_json_doc *doc = NULL;
    bool is_json = mcp_json_parse(text, NULL, NULL, &doc, NULL) == MCP_OK;
    mcp_json_free(doc);
    put_line(to, sent, is_json ? "message" : "text", text, is_json);
}

void trace_message(FILE *to, bool sent, mcp_str message)
{
    if (sent)
        put_line(to, sent, "message", message, true);
    else
        put_heard(to, sent, message);
}

static void put_step_text(mcp_json_writer *w, const char *key, const char *text)
{
    if (text && *text)
        mcp_json_put_string(w, key, text);
}

void trace_step(FILE *to, const mcp_oauth_step *step)
{
    char now[40];
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str text;
    format_now(now);
    mcp_json_begin_object(w);
    put_step_text(w, "time", now);
    mcp_json_put_object(w, "oauth");
    put_step_text(w, "what", step->what);
    put_step_text(w, "method", step->method);
    put_step_text(w, "url", step->url);
    if (step->status)
        mcp_json_put_int(w, "status", step->status);
    put_step_text(w, "text", step->text);
    mcp_json_end(w), mcp_json_end(w);
    if (mcp_json_writer_finish(w, &text) == MCP_OK) {
        put_json(to, text);
        fputc('\n', to);
        fflush(to);
    }
    mcp_json_writer_free(w);
}

/* ---- between host and server ----------------------------------------------------------------- */

typedef struct stream {
    int from, to;
    bool sent, is_stderr, open;
    char *line; /* the incomplete line */
    size_t len, room;
} stream;

static void put_whole_line(FILE *trace, const stream *s)
{
    mcp_str text = {s->line, s->len};
    if (text.len && text.ptr[text.len - 1] == '\r')
        text.len--;
    if (s->is_stderr)
        put_line(trace, false, "stderr", text, false);
    else if (text.len)
        put_heard(trace, s->sent, text);
}

/* Records bytes by lines. A line longer than 64 MiB is recorded in pieces. */
static void record(FILE *trace, stream *s, const char *bytes, size_t len)
{
    enum { LONGEST = 64 << 20 };
    for (size_t i = 0; i < len; i++) {
        if (s->len == s->room && s->room < LONGEST) {
            size_t room = s->room ? s->room * 2 : 4096;
            char *grown = realloc(s->line, room);
            if (grown)
                s->line = grown, s->room = room;
        }
        if (bytes[i] != '\n' && s->len < s->room)
            s->line[s->len++] = bytes[i];
        if (bytes[i] == '\n' || s->len == s->room) {
            if (bytes[i] == '\n' || s->room >= LONGEST) {
                put_whole_line(trace, s);
                s->len = 0;
            }
        }
    }
}

static bool write_all(int to, const char *bytes, size_t len)
{
    while (len) {
        ssize_t n = write(to, bytes, len);
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0)
            bytes += n, len -= (size_t)n;
    }
    return true;
}

static void pass_on(FILE *trace, stream *s)
{
    static char bytes[1 << 16];
    ssize_t n = read(s->from, bytes, sizeof(bytes));
    if (n < 0 && errno == EINTR)
        return;
    if (n <= 0 || !write_all(s->to, bytes, (size_t)n)) {
        s->open = false;
        if (s->sent)
            close(s->to); /* the server then reads the end of its input */
    }
    if (n > 0)
        record(trace, s, bytes, (size_t)n);
}

static void pump(FILE *trace, stream streams[3])
{
    while (streams[1].open || streams[2].open) {
        struct pollfd p[3];
        for (size_t i = 0; i < 3; i++)
            p[i] = (struct pollfd){.fd = streams[i].open ? streams[i].from : -1, .events = POLLIN};
        if (poll(p, 3, -1) < 0 && errno != EINTR)
            break;
        for (size_t i = 0; i < 3; i++)
            if (p[i].revents)
                pass_on(trace, &streams[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        if (streams[i].len)
            put_whole_line(trace, &streams[i]);
        free(streams[i].line);
    }
}

/* ---- signals --------------------------------------------------------------------------------- */

static volatile sig_atomic_t the_server, the_end; /* the server's process; the signal that ends
                                                   * both */

/* Signals from the terminal reach all its processes, including the server. Signals that are sent to
 * mcpctl alone are forwarded. mcpctl ends when the server ends, or at a second signal. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code != SI_KERNEL && the_server > 0)
        kill((pid_t)the_server, number);
    if (number != SIGHUP)
        the_end = number;
}

static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
        if (numbers[i] != SIGHUP) /* SIGHUP may come repeatedly: mcpd reloads its configuration */
            action.sa_flags |= (int)SA_RESETHAND;
        sigaction(numbers[i], &action, NULL);
    }
}

static pid_t start(const ctl *c, const int in[2], const int out[2], const int err[2],
                   const sigset_t *mask)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    pid_t pid = fork();
    if (pid)
        return pid;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        signal(numbers[i], SIG_DFL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    dup2(in[0], 0), dup2(out[1], 1), dup2(err[1], 2);
    execvp(c->server[0], (char *const *)(uintptr_t)c->server);
    dprintf(2, "mcpctl: cannot start %s: %s\n", c->server[0], strerror(errno));
    _exit(127);
}

int run_trace(ctl *c)
{
    int in[2], out[2], err[2], status = 0;
    if (!c->server || !c->server[0]) {
        say("trace needs the server's command after --");
        hint("to record a session of mcpctl itself use --trace FILE with its command");
        return EXIT_USAGE;
    }
    FILE *trace = trace_open(c->args[0]);
    if (!trace || pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
        return EXIT_LOCAL;
    signal(SIGPIPE, SIG_IGN);
    sigset_t caught, before;
    sigemptyset(&caught);
    sigaddset(&caught, SIGINT), sigaddset(&caught, SIGTERM), sigaddset(&caught, SIGHUP);
    sigprocmask(SIG_BLOCK, &caught, &before); /* until the signals can be forwarded */
    pid_t pid = start(c, in, out, err, &before);
    the_server = pid;
    catch_signals();
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(in[0]), close(out[1]), close(err[1]);
    stream streams[3] = {{.from = 0, .to = in[1], .sent = true, .open = pid > 0},
                         {.from = out[0], .to = 1, .open = pid > 0},
                         {.from = err[0], .to = 2, .is_stderr = true, .open = pid > 0}};
    pump(trace, streams);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (trace != stderr)
        fclose(trace);
    if (pid < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
        return EXIT_CONNECT;
    return the_end ? 128 + (int)the_end : EXIT_OK;
}
