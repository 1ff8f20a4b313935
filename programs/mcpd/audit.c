/* audit.c: see audit.h.
 *
 * A line is made in a fixed buffer and written with one call of write() to a descriptor that
 * appends, so that lines of several processes do not mix. Texts of clients are written as ASCII
 * with JSON escapes, and are cut off at the bounds below. The log contains no tokens, and nothing
 * of the arguments and results.
 *
 * Without --audit-required, serving does not depend on the log. A line that cannot be written is dropped, and counted in
 * the line that precedes the next one that can be written. Until then the error log says so at most once a minute. With
 * --audit-required, requests are refused meanwhile; the line about such a refusal is the one that can be written again.
 *
 * Anybody can make a server refuse requests, so lines about them are limited: a client that sends
 * nothing else must not fill the disk.
 */
#define _GNU_SOURCE
#include "audit.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

/* Bytes that the JSON text of a value may need, without quotes. A line fits in PIPE_BUF bytes, so a
 * pipe accepts it whole. */
enum {
    NAME_ROOM = 1400,
    CALLER_ROOM = 800,
    WORD_ROOM = 240,
    METHOD_ROOM = 120,
    URIS_ROOM = 600,
    LEFT = 400, /* room for what follows the texts: numbers, flags and keys */
};

typedef struct line {
    size_t len;
    bool cut; /* a value was cut off */
    char text[PIPE_BUF];
} line;

/* ---- writing --------------------------------------------------------------------------------- */

static bool write_line(audit *a, const char *text, size_t len)
{
    /* an own file does not block: see audit_open() */
    ssize_t n = a->own ? write(a->fd, text, len) : log_write(a->fd, text, len);
    if (n > 0)
        a->unfinished = (size_t)n < len;
    if (n >= 0 && (size_t)n < len)
        errno = ENOSPC;
    return n == (ssize_t)len;
}

/* Ends a line that was written in part, and says how many lines are missing. */
static bool catch_up(audit *a, const char *now)
{
    char text[160];
    int n = snprintf(text, sizeof(text), "%s{\"time\":\"%s\",\"lost\":%" PRIu64 "}\n",
                     a->unfinished ? "\n" : "", now, a->n_lost);
    if (!write_line(a, text, (size_t)n))
        return false;
    a->n_lost = 0;
    return true;
}

static void complain(audit *a)
{
    enum { EVERY_S = 60 };
    struct timespec now;
    char text[200];
    int why = errno;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (a->complained && now.tv_sec - a->complained < EVERY_S)
        return;
    a->complained = now.tv_sec ? now.tv_sec : 1;
    snprintf(text, sizeof(text), "the audit log cannot be written: %s; lines are lost",
             strerror(why));
    log_line("error", text, NULL);
}

static int64_t second_of(const audit *a)
{
    struct timespec now = {0};
    if (a->clock)
        return a->clock();
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Says how many refusals have no line. While they go on, at most once a second. */
static void tell_left_out(audit *a, const char *now)
{
    char text[160];
    int n = snprintf(text, sizeof(text),
                     "{\"time\":\"%s\",\"outcome\":\"refused\",\"left_out\":%" PRIu64 "}\n", now,
                     a->n_left_out);
    if (write_line(a, text, (size_t)n))
        a->n_left_out = 0;
}

static bool may_tell_refusal(audit *a)
{
    enum { MOST = 10 };
    int64_t second = second_of(a);
    if (second != a->second) {
        a->second = second;
        a->n_refusals = 0;
    }
    if (a->n_refusals++ < MOST)
        return true;
    a->n_left_out++;
    a->left_out_in_all++;
    return false;
}

static void put_line(audit *a, const char *now, line *l)
{
    if (a->n_left_out && !a->n_lost && second_of(a) != a->told) {
        a->told = second_of(a);
        tell_left_out(a, now);
    }
    l->text[l->len++] = '}';
    l->text[l->len++] = '\n';
    if ((a->n_lost && !catch_up(a, now)) || !write_line(a, l->text, l->len)) {
        a->n_lost++;
        a->lost_in_all++;
        complain(a);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Every request has a line, so what most lines consist of is copied, not printed. */
static void add_bytes(line *l, const char *text, size_t n)
{
    memcpy(l->text + l->len, text, n);
    l->len += n;
}

/* Returns how many of the first `most` bytes stand for themselves in JSON in ASCII. */
static size_t plain_run(mcp_str text, size_t most)
{
    size_t n = 0;
    most = text.len < most ? text.len : most;
    while (n < most && text.ptr[n] >= 0x20 && text.ptr[n] < 0x7f && text.ptr[n] != '"' &&
           text.ptr[n] != '\\')
        n++;
    return n;
}

/* Writes a character as JSON in ASCII. Returns its length, at most 12. */
static size_t put_char(char to[16], uint32_t c)
{
    if (c == '"' || c == '\\')
        return (size_t)snprintf(to, 16, "\\%c", (int)c);
    if (c >= 0x20 && c < 0x7f)
        return (size_t)snprintf(to, 16, "%c", (int)c);
    if (c < 0x10000)
        return (size_t)snprintf(to, 16, "\\u%04x", (unsigned)c);
    c -= 0x10000;
    return (size_t)snprintf(to, 16, "\\u%04x\\u%04x", 0xd800 + (unsigned)(c >> 10),
                            0xdc00 + (unsigned)(c & 0x3ff));
}

/* Adds a JSON string of at most `room` bytes without its quotes, and fewer if the line is full. */
static void add_string(line *l, mcp_str text, size_t room)
{
    char one[16];
    size_t most = sizeof(l->text) - LEFT, end = l->len + room < most ? l->len + room : most;
    l->text[l->len++] = '"';
    while (text.len) {
        size_t n = plain_run(text, end > l->len ? end - l->len : 0);
        add_bytes(l, text.ptr, n);
        text = (mcp_str){text.ptr + n, text.len - n};
        if (!text.len)
            break;
        mcp_char c = mcp_char_at(text);
        n = put_char(one, c.code);
        if (l->len + n > end) {
            l->cut = true;
            break;
        }
        add_bytes(l, one, n);
        text = (mcp_str){text.ptr + c.size, text.len - c.size};
    }
    l->text[l->len++] = '"';
}

static void add_key(line *l, const char *key)
{
    l->text[l->len++] = ',';
    l->text[l->len++] = '"';
    add_bytes(l, key, strlen(key));
    l->text[l->len++] = '"';
    l->text[l->len++] = ':';
}

/* Adds nothing if the text is empty. */
static void add_text(line *l, const char *key, mcp_str text, size_t room)
{
    if (!text.len)
        return;
    add_key(l, key);
    add_string(l, text, room);
}

static void add_number(line *l, const char *key, int64_t value)
{
    char digits[24];
    add_key(l, key);
    add_bytes(l, digits, log_number(digits, value));
}

static void add_flag(line *l, const char *key, bool value)
{
    if (!value)
        return;
    add_key(l, key);
    add_bytes(l, "true", 4);
}

/* Adds the trace of a text that has the form 00-TRACE-PARENT-FLAGS. */
static void add_trace(line *l, mcp_str parent)
{
    enum { AT = 3, DIGITS = 32 };
    if (parent.len >= AT + DIGITS)
        add_text(l, "trace", (mcp_str){parent.ptr + AT, DIGITS}, WORD_ROOM);
}

/* Adds those of the scopes that the caller does not have. */
static void add_lacking(line *l, const mcp_identity *identity, const char *scopes)
{
    char lacking[WORD_ROOM + 1] = "", one[WORD_ROOM];
    size_t len = 0;
    for (size_t n; scopes && *scopes; scopes += n + (scopes[n] == ' ')) {
        n = strcspn(scopes, " ");
        if (n >= sizeof(one) || len + n + 1 >= sizeof(lacking)) {
            l->cut = true;
            continue;
        }
        memcpy(one, scopes, n);
        one[n] = '\0';
        if (n && !mcp_identity_has_scopes(identity, one))
            len +=
                (size_t)snprintf(lacking + len, sizeof(lacking) - len, "%s%s", len ? " " : "", one);
    }
    add_text(l, "lacks", mcp_str_from(lacking), WORD_ROOM);
}

/* Adds the resources of a subscriptions/listen. */
static void add_uris(line *l, const mcp_json *params)
{
    const mcp_json *uris =
        mcp_json_get(mcp_json_get(params, "notifications"), "resourceSubscriptions");
    size_t end = l->len + URIS_ROOM;
    mcp_json_iter it = {0};
    const mcp_json *u = mcp_json_next(uris, &it, NULL);
    if (!u)
        return;
    add_key(l, "uris");
    char before = '[';
    for (; u && !l->cut; u = mcp_json_next(uris, &it, NULL)) {
        l->cut = l->len + 40 > end;
        if (l->cut)
            break;
        l->text[l->len++] = before;
        before = ',';
        add_string(l, mcp_json_string(u), end - l->len - 8);
    }
    l->text[l->len++] = ']';
}

static void begin(line *l, char now[32])
{
    log_time(now);
    l->text[0] = '{';
    l->len = 1;
    l->cut = false;
    add_bytes(l, "\"time\":\"", 8);
    add_bytes(l, now, strlen(now));
    l->text[l->len++] = '"';
}

/* ---- requests -------------------------------------------------------------------------------- */

static const char *const outcomes[] = {
    [MCP_AUDIT_OK] = "ok",
    [MCP_AUDIT_TOOL_ERROR] = "tool error",
    [MCP_AUDIT_INPUT] = "input required",
    [MCP_AUDIT_NOT_FOUND] = "not found",
    [MCP_AUDIT_DENIED] = "denied",
    [MCP_AUDIT_SCOPES] = "insufficient scope",
    [MCP_AUDIT_CANCELLED] = "cancelled",
    [MCP_AUDIT_ERROR] = "error",
    [MCP_AUDIT_LIMITED] = "limited",
};

const char *audit_outcome(mcp_audit_outcome outcome)
{
    return outcomes[outcome];
}

/* Methods that neither read nor act. */
static bool is_idle(mcp_str method)
{
    static const char *const idle[] = {"ping", "initialize", "server/discover", "logging/setLevel"};
    for (size_t i = 0; i < sizeof(idle) / sizeof(*idle); i++) {
        if (mcp_str_eq(method, mcp_str_from(idle[i])))
            return true;
    }
    return false;
}

static void add_change(line *l, const mcp_audit_change *c)
{
    if (!c)
        return;
    add_text(l, "operation", mcp_str_from(c->operation), WORD_ROOM);
    add_text(l, "uri", c->uri, URIS_ROOM);
    add_text(l, "to", c->to, URIS_ROOM);
    add_text(l, "was", mcp_str_from(c->was), WORD_ROOM);
    add_text(l, "now", mcp_str_from(c->now), WORD_ROOM);
    if (c->bytes)
        add_number(l, "written", (int64_t)c->bytes);
    add_flag(l, "dry_run", c->dry_run);
}

void audit_request(const mcp_audit_record *r, void *user)
{
    audit *a = user;
    line l;
    char now[32];
    if (is_idle(r->method))
        return;
    begin(&l, now);
    const char *principal = mcp_identity_principal(r->identity);
    add_text(&l, "principal", mcp_str_from(principal), CALLER_ROOM);
    add_text(&l, "view", mcp_str_from(mcp_identity_view(r->identity)), WORD_ROOM);
    if (*a->claim)
        add_text(&l, "who",
                 mcp_json_string(mcp_json_get(mcp_identity_claims(r->identity), a->claim)),
                 WORD_ROOM);
    add_text(&l, "client", mcp_str_from(r->caller), WORD_ROOM);
    add_text(&l, "session", r->session, WORD_ROOM);
    add_trace(&l, r->traceparent);
    add_text(&l, "method", r->method, METHOD_ROOM);
    add_text(&l, "name", r->name, NAME_ROOM);
    if (mcp_str_eq(r->method, MCP_STR("subscriptions/listen")))
        add_uris(&l, r->params);
    add_text(&l, "source", r->source, WORD_ROOM);
    add_change(&l, r->change);
    add_text(&l, "outcome", mcp_str_from(audit_outcome(r->outcome)), WORD_ROOM);
    if (r->code)
        add_number(&l, "code", r->code);
    add_lacking(&l, r->identity, r->scopes);
    add_text(&l, "reason", r->reason, WORD_ROOM);
    if (r->bytes)
        add_number(&l, "bytes", (int64_t)r->bytes);
    add_number(&l, "duration_us", (int64_t)r->duration_us);
    add_flag(&l, "inner", r->inner);
    add_flag(&l, "cut", l.cut);
    put_line(a, now, &l);
}

/* NOT_YET becomes "not yet". */
static void add_reason(line *l, mcp_str name)
{
    char text[40];
    size_t n = name.len < sizeof(text) ? name.len : sizeof(text);
    for (size_t i = 0; i < n; i++)
        text[i] = name.ptr[i] == '_' ? ' ' : (char)tolower((unsigned char)name.ptr[i]);
    add_text(l, "reason", (mcp_str){text, n}, WORD_ROOM);
}

void audit_refused(audit *a, const mcp_http_record *r)
{
    line l;
    char now[32];
    if (!audit_is_on(a) || !r->reason.len || !may_tell_refusal(a))
        return;
    begin(&l, now);
    add_text(&l, "principal",
             r->denied_principal.len ? r->denied_principal : mcp_str_from(r->principal),
             CALLER_ROOM);
    add_text(&l, "client", mcp_str_from(r->client), WORD_ROOM);
    add_trace(&l, r->traceparent);
    add_text(&l, "http_method", r->http_method, WORD_ROOM);
    add_text(&l, "path", r->path, WORD_ROOM);
    add_text(&l, "outcome", MCP_STR("refused"), WORD_ROOM);
    add_reason(&l, r->reason);
    add_text(&l, "issuer", r->denied_issuer, CALLER_ROOM);
    add_text(&l, "key", r->denied_key, WORD_ROOM);
    add_number(&l, "status", r->status);
    add_flag(&l, "cut", l.cut);
    put_line(a, now, &l);
}

bool audit_kept(void *user)
{
    return ((const audit *)user)->n_lost == 0;
}

bool audit_serves(audit *a)
{
    char now[32];
    if (!audit_is_on(a) || !a->required || audit_kept(a))
        return true;
    log_time(now);
    return catch_up(a, now);
}

/* ---- the file -------------------------------------------------------------------------------- */

bool audit_is_on(const audit *a)
{
    return a && a->fd >= 0;
}

int audit_open(audit *a, const char *path, mcp_error *error)
{
    int fd = STDERR_FILENO;
    bool own = strcmp(path, "-") != 0;
    if (own) /* O_NONBLOCK concerns named pipes */
        fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
    if (fd < 0) {
        error->code = MCP_EIO;
        snprintf(error->text, sizeof(error->text), "cannot open the audit log %.200s: %s", path,
                 strerror(errno));
        return MCP_EIO;
    }
    audit_close(a);
    a->fd = fd;
    a->own = own;
    a->unfinished = false;
    a->complained = 0;
    return MCP_OK;
}

void audit_show(audit *a, const char *claim)
{
    snprintf(a->claim, sizeof(a->claim), "%s", claim ? claim : "");
}

void audit_reopen(audit *a, const char *path)
{
    mcp_error error = {0};
    if (audit_open(a, path, &error) != MCP_OK)
        log_line("error", error.text, NULL);
}

void audit_close(audit *a)
{
    char now[32];
    if (audit_is_on(a) && a->n_left_out && !a->n_lost) {
        log_time(now);
        tell_left_out(a, now);
    }
    if (a->own)
        close(a->fd);
    a->fd = -1;
    a->own = false;
}
