/* log.c: the log on stderr, where hosts and service managers collect the messages of servers.
 *
 * Control characters, which a file name or a request's path may contain, never reach a terminal
 * (mcp_text_escape()).
 * Logging never blocks the server: a line that stderr does not accept at once is dropped and
 * counted. The global variables are the whole state of the log.
 */
#define _GNU_SOURCE
#include "log.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mcp/json.h>

static const char *const levels[] = {"debug", "info", "warning", "error", "none"};
static unsigned least_level = 2;
static bool as_json, with_times, with_requests, has_errors;
static size_t n_dropped, worker; /* worker: its number, or 0 */
static uint64_t n_lost;          /* n_dropped since the start */

static unsigned level_number(const char *name)
{
    unsigned i = 0;
    while (i + 1 < sizeof(levels) / sizeof(*levels) && strcmp(levels[i], name) != 0)
        i++;
    return i;
}

void log_configure(const settings *s)
{
    if (s->log_level)
        least_level = level_number(s->log_level);
    as_json = s->log_format && strcmp(s->log_format, "json") == 0;
    with_times = s->log_format != NULL;
    with_requests = least_level <= 1 || (s->log_format && least_level < 4);
}

void log_set_worker(size_t number)
{
    worker = number;
}

/* Returns "mcpd", or of a worker "mcpd[2]". */
static const char *own_name(void)
{
    static char name[32] = "mcpd";
    if (worker)
        snprintf(name, sizeof(name), "mcpd[%zu]", worker);
    return name;
}

/* ---- lines ----------------------------------------------------------------------------------- */

ssize_t log_write(int fd, const char *line, size_t len)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    if (poll(&p, 1, 0) == 1 && (p.revents & POLLOUT))
        return write(fd, line, len);
    errno = EAGAIN;
    return -1;
}

static bool try_write(const char *line, size_t len)
{
    return log_write(STDERR_FILENO, line, len) == (ssize_t)len;
}

static void put(const char *line, size_t len)
{
    char text[80];
    int saved = errno;
    if (n_dropped) {
        int n = as_json ? snprintf(text, sizeof(text), "{\"level\":\"warning\",\"lost\":%zu}\n",
                                   n_dropped)
                        : snprintf(text, sizeof(text), "%s: warning: %zu lines lost\n", own_name(),
                                   n_dropped);
        if (try_write(text, (size_t)n))
            n_dropped = 0;
    }
    if (n_dropped || !try_write(line, len)) {
        n_dropped++;
        n_lost++;
    }
    errno = saved;
}

/* The text of a second is kept, because many lines have the same. */
void log_time(char to[32])
{
    static char second[32];
    static time_t of = -1;
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec != of) {
        of = now.tv_sec;
        gmtime_r(&of, &utc);
        strftime(second, sizeof(second), "%Y-%m-%dT%H:%M:%S.000Z", &utc);
    }
    memcpy(to, second, sizeof(second));
    long ms = now.tv_nsec / 1000000;
    to[20] = (char)('0' + ms / 100);
    to[21] = (char)('0' + ms / 10 % 10);
    to[22] = (char)('0' + ms % 10);
}

size_t log_number(char to[24], int64_t value)
{
    char digits[20];
    size_t n = 0, at = 0;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    for (; n == 0 || left; left /= 10)
        digits[n++] = (char)('0' + left % 10);
    if (value < 0)
        to[at++] = '-';
    while (n)
        to[at++] = digits[--n];
    to[at] = '\0';
    return at;
}

/* Adds untrusted text. */
static void add_text(mcp_json_writer *w, const char *key, mcp_str text)
{
    char clean[512];
    size_t n = mcp_text_escape(clean, sizeof(clean), text);
    if (n)
        mcp_json_put_str(w, key, (mcp_str){clean, n});
}

static void add_number(mcp_json_writer *w, const char *key, int64_t value)
{
    mcp_json_key(w, key);
    mcp_json_add_int(w, value);
}

static mcp_json_writer *begin_json(const char *level)
{
    char now[32];
    mcp_json_writer *w = mcp_json_writer_new(NULL, PIPE_BUF - 1);
    log_time(now);
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "time", now);
    mcp_json_put_string(w, "level", level);
    if (worker)
        mcp_json_put_uint(w, "worker", worker);
    return w;
}

static void end_json(mcp_json_writer *w)
{
    char line[PIPE_BUF];
    mcp_str text;
    mcp_json_end(w);
    if (mcp_json_writer_finish(w, &text) == MCP_OK && text.len < sizeof(line)) {
        memcpy(line, text.ptr, text.len);
        line[text.len] = '\n';
        put(line, text.len + 1);
    } else {
        n_dropped++;
    }
    mcp_json_writer_free(w);
}

static void say(const char *level, const char *prefix, const char *line)
{
    char text[1024];
    if (as_json) {
        mcp_json_writer *w = begin_json(level);
        add_text(w, "message", mcp_str_from(line));
        end_json(w);
        return;
    }
    char now[32] = "";
    if (with_times)
        log_time(now);
    size_t n = (size_t)snprintf(text, sizeof(text), "%s%s%s: %s", now, with_times ? " " : "",
                                own_name(), prefix);
    n += mcp_text_escape(text + n, sizeof(text) - n - 1, mcp_str_from(line));
    text[n++] = '\n';
    put(text, n);
}

void log_line(const char *level, const char *line, void *user)
{
    char prefix[16];
    (void)user;
    has_errors = has_errors || strcmp(level, "error") == 0;
    if (level_number(level) < least_level)
        return;
    snprintf(prefix, sizeof(prefix), "%s: ", level);
    say(level, prefix, line);
}

uint64_t log_lost(void)
{
    return n_lost;
}

bool log_has_errors(void)
{
    return has_errors;
}

void log_notice(const char *line)
{
    say("info", "", line);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Returns whether this is a health check that found nothing wrong. Monitoring sends one every few seconds, so
 * these requests are logged only at level "debug". */
static bool is_probe(const mcp_http_record *r)
{
    return (r->status == 200 && mcp_str_eq(r->path, MCP_STR("/healthz"))) ||
           mcp_str_eq(r->path, MCP_STR("/readyz"));
}

/* Copies one field of a line; spaces are replaced, so that it stays one field. */
static size_t copy_word(char *to, size_t room, mcp_str text)
{
    size_t n = mcp_text_escape(to, room, text.len ? text : MCP_STR("-"));
    for (size_t i = 0; i < n; i++)
        if (to[i] == ' ')
            to[i] = '?';
    return n;
}

static void request_as_json(const mcp_http_record *r)
{
    mcp_json_writer *w = begin_json(is_probe(r) ? "debug" : "info");
    add_text(w, "peer", mcp_str_from(r->peer));
    add_text(w, "principal", mcp_str_from(r->principal));
    add_text(w, "http_method", r->http_method);
    add_text(w, "path", r->path);
    add_number(w, "status", r->status);
    add_text(w, "method", r->method);
    if (r->code)
        add_number(w, "code", r->code);
    add_number(w, "duration_ms", r->duration_ms);
    add_number(w, "bytes_in", (int64_t)r->bytes_in);
    add_number(w, "bytes_out", (int64_t)r->bytes_out);
    add_text(w, "traceparent", r->traceparent);
    add_text(w, "client", mcp_str_from(r->client));
    add_text(w, "name", r->name);
    end_json(w);
}

/* Writes the fields: time peer principal method path rpc-method status code duration in out
 * traceparent client name. An empty field is "-". */
static void request_as_text(const mcp_http_record *r)
{
    const mcp_str words[] = {mcp_str_from(r->peer), mcp_str_from(r->principal), r->http_method,
                             r->path, r->method};
    char line[PIPE_BUF];
    log_time(line);
    size_t n = strlen(line);
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        line[n++] = ' ';
        n += copy_word(line + n, 512, words[i]);
    }
    n += (size_t)snprintf(line + n, 128, " %d %d %lldms %llu %llu ", r->status, r->code,
                          (long long)r->duration_ms, (unsigned long long)r->bytes_in,
                          (unsigned long long)r->bytes_out);
    n += copy_word(line + n, 128, r->traceparent);
    line[n++] = ' ';
    n += copy_word(line + n, 128, mcp_str_from(r->client));
    line[n++] = ' ';
    n += copy_word(line + n, 300, r->name);
    if (worker)
        n += (size_t)snprintf(line + n, 32, " worker=%zu", worker);
    line[n++] = '\n';
    put(line, n);
}

bool log_wants_requests(void)
{
    return with_requests;
}

void log_request(const mcp_http_record *record, void *user)
{
    (void)user;
    if (!with_requests || (is_probe(record) && least_level > 0))
        return;
    if (as_json)
        request_as_json(record);
    else
        request_as_text(record);
}
