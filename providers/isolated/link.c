/* link.c: the process, its descriptor 4, and the files that it may open.
 *
 * The process is not trusted. It is ended if it sends a line that is too long or malformed, or if
 * it does not read the answers to its questions. Answering never blocks.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "provider.h"

enum {
    MAX_FILES = 1024,     /* open descriptors of a process */
    MAX_VALUES = 1 << 18, /* JSON values in a message of the process; each needs 16 bytes */
    CURRENT_MS = 10,      /* for which the files are assumed to be those that were found */
};

/* ---- descriptor 4 ---------------------------------------------------------------------------- */

static void hang_up(isolated_link *l)
{
    if (l->poll)
        l->host->poll_stop(l->poll, l->host->user);
    if (l->fd >= 0)
        close(l->fd);
    l->poll = NULL;
    l->fd = -1;
    l->in.len = 0;
}

void isolated_link_refuse(isolated_link *l, const char *why)
{
    hang_up(l);
    isolated_say(l->owner, "error", why);
    mcp_service_abort(l->service, why);
}

/* Logs a line of the process. Returns false if it is not a log line. Only a few lines per second
 * are logged. */
static bool take_log(isolated_link *l, const mcp_json *line)
{
    enum { A_SECOND = 20 };
    static const char *const levels[] = {"debug", "info", "warning", "error"};
    mcp_str level = mcp_json_string(mcp_json_get(line, "log"));
    mcp_str text = mcp_json_string(mcp_json_get(line, "text"));
    int64_t second = isolated_now(l->owner) / 1000;
    if (!level.ptr || !text.ptr)
        return false;
    l->lines = second == l->second ? l->lines + 1 : 1;
    l->second = second;
    for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
        if (l->lines <= A_SECOND && mcp_str_eq(level, mcp_str_from(levels[i])))
            isolated_say(l->owner, levels[i], text.ptr);
    }
    return true;
}

/* Handles the first line of a process, which says whether the process has mounted the source. The
 * same failure is logged once. */
static void take_report(isolated_link *l)
{
    isolated *r = l->owner;
    const mcp_json *mounted = mcp_json_get(mcp_json_root(l->report), "mounted");
    mcp_error failure = {0};
    isolated_link_failure(l, &failure);
    if (failure.code && strcmp(failure.text, r->failure.text) != 0)
        isolated_say(r, failure.code == MCP_ENOTFOUND ? "warning" : "error", failure.text);
    r->failure = failure;
    r->failure_state = failure.code ? isolated_files_state(r) : 0;
    if (mounted && r->described && !isolated_is_as_described(r, mounted))
        isolated_link_refuse(l, "its process mounts something else than its module describes");
}

static void on_line(isolated_link *l, mcp_str line)
{
    isolated_answer to;
    mcp_json_doc *doc = NULL;
    int rc = mcp_json_parse(line, NULL, &l->owner->alloc, &doc, NULL);
    if (rc == MCP_OK && take_log(l, mcp_json_root(doc))) {
        mcp_json_free(doc);
        if (!isolated_flood_line(l, 0))
            isolated_link_refuse(l, "its process logs too much");
        return;
    }
    if (rc == MCP_OK && !l->report) {
        l->report = doc;
        if (l == &l->owner->link)
            take_report(l);
        return;
    }
    size_t names = mcp_json_count(mcp_json_get(mcp_json_root(doc), "names"));
    bool questioned = rc == MCP_OK && isolated_answer_question(l->owner, mcp_json_root(doc), &to);
    mcp_json_free(doc);
    if (l->questioned || !isolated_flood_line(l, names)) {
        isolated_link_refuse(l, "its process asks without waiting for answers");
        return;
    }
    l->questioned = true;
    if (!questioned)
        isolated_link_refuse(l, "its process asks for something that is no question");
    else if (send(l->fd, to.text, to.len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)to.len)
        isolated_link_refuse(l, "its process does not take answers");
}

static void cut_lines(isolated_link *l)
{
    size_t from = 0;
    for (;;) {
        const char *end =
            l->in.len > from ? memchr(l->in.ptr + from, '\n', l->in.len - from) : NULL;
        if (!end)
            break;
        mcp_str line = {l->in.ptr + from, (size_t)(end - l->in.ptr) - from};
        from += line.len + 1;
        on_line(l, line);
        if (l->fd < 0)
            return;
    }
    memmove(l->in.ptr, l->in.ptr + from, l->in.len - from);
    l->in.len -= from;
    if (l->in.len >= MCP_ISOLATED_LINE)
        isolated_link_refuse(l, "its process asks too much at once");
}

static void read_pieces(isolated_link *l, int n_pieces)
{
    enum { PIECE = 16384 };
    for (int i = 0; i < n_pieces && l->fd >= 0; i++) {
        if (common_buffer_reserve(&l->in, PIECE) != MCP_OK) {
            isolated_link_refuse(l, "out of memory");
            return;
        }
        ssize_t n = recv(l->fd, l->in.ptr + l->in.len, PIECE, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            hang_up(l);
            return;
        }
        l->in.len += (size_t)n;
        l->questioned = false;
        cut_lines(l);
    }
}

void isolated_link_read(isolated_link *l)
{
    enum { MOST = 8 };
    read_pieces(l, MOST);
}

/* Reads little at a time, because each line may be a question that takes time. */
static void on_readable(void *arg)
{
    read_pieces(arg, 1);
}

int isolated_link_failure(const isolated_link *l, mcp_error *error)
{
    const mcp_json *report = mcp_json_root(l->report);
    mcp_str text = mcp_json_string(mcp_json_get(report, "text"));
    int64_t code = mcp_json_int(mcp_json_get(report, "failed"), 0);
    if (!code)
        return MCP_OK;
    error->code = code < 0 && code > -1000 ? (int)code : MCP_EIO;
    error->offset = 0;
    snprintf(error->text, sizeof(error->text), "%.*s", (int)(text.len < 250 ? text.len : 250),
             text.ptr ? text.ptr : "");
    return error->code;
}

/* ---- files of the source --------------------------------------------------------------------- */

bool isolated_path(const isolated *r, size_t i, char path[ISOLATED_PATH_MAX])
{
    struct stat st;
    const char *given = r->options.paths[i < r->n_paths ? i : 0];
    char *real = i < r->n_paths ? NULL : realpath(given, NULL);
    bool found = i < r->n_paths || (real && stat(real, &st) == 0 && S_ISREG(st.st_mode));
    int len = found ? snprintf(path, ISOLATED_PATH_MAX, "%s%s", real ? real : given,
                               real ? r->options.beside[i - r->n_paths] : "")
                    : -1;
    free(real);
    return len >= 0 && len < ISOLATED_PATH_MAX;
}

static isolated_stamp stamp_of(const isolated *r, size_t i)
{
    char path[ISOLATED_PATH_MAX];
    struct stat st;
    return isolated_path(r, i, path) && stat(path, &st) == 0
               ? (isolated_stamp){(uint64_t)st.st_dev, (uint64_t)st.st_ino}
               : (isolated_stamp){0, 0};
}

/* Whether a path leads through a link, as far as this can be said. */
static bool is_linked(const char *path)
{
    char *real = realpath(path, NULL), *here = *path == '/' ? NULL : realpath(".", NULL);
    size_t len = here ? strlen(here) : 0;
    bool plain = real && (here ? strncmp(real, here, len) == 0 && real[len] == '/' &&
                                     strcmp(real + len + 1, path) == 0
                               : strcmp(real, path) == 0);
    free(real);
    free(here);
    return !plain;
}

static void stamp(isolated *r)
{
    r->linked = false;
    for (size_t i = 0; i < r->n_paths + r->n_beside; i++)
        r->stamps[i] = stamp_of(r, i);
    for (size_t i = 0; i < r->n_paths; i++)
        r->linked = r->linked || is_linked(r->options.paths[i]);
    r->stamped = true;
    r->checked = isolated_now(r);
}

static bool are_current(const isolated *r, size_t n)
{
    for (size_t i = 0; r->stamped && i < n; i++) {
        isolated_stamp now = stamp_of(r, i);
        if (now.dev != r->stamps[i].dev || now.ino != r->stamps[i].ino)
            return false;
    }
    return true;
}

bool isolated_is_current(const isolated *r)
{
    return are_current(r, r->n_paths + r->n_beside);
}

static bool source_is_current(const isolated *r)
{
    return are_current(r, r->n_paths);
}

bool isolated_link_was_current(const isolated *r)
{
    return r->stamped && !r->linked && !r->failure.code &&
           isolated_now(r) - r->checked < CURRENT_MS;
}

void isolated_link_refresh(isolated *r)
{
    r->checked = isolated_now(r);
    bool repaired = r->failure.code && r->failure_state != isolated_files_state(r);
    if (source_is_current(r) && !repaired)
        return;
    isolated_link_replace(r);
}

void isolated_link_replace(isolated *r)
{
    r->stamped = false;
    r->failure.code = 0;
    mcp_service_stop(r->link.service);
}

/* ---- the process ----------------------------------------------------------------------------- */

/* Creates a pair of sockets and returns the end for the new process. The other end replaces the one
 * for the previous process. */
static int fourth(void *user)
{
    isolated_link *l = user;
    int pair[2];
    hang_up(l);
    mcp_json_free(l->report);
    l->report = NULL;
    l->messages = l->questions = (isolated_bucket){0};
    l->pulse = (isolated_pulse){0};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    l->fd = pair[0];
    l->poll = l->host->poll_start(l->fd, on_readable, l, l->host->user);
    if (!l->poll) {
        hang_up(l);
        close(pair[1]);
        return -1;
    }
    if (l == &l->owner->link) {
        stamp(l->owner);
        l->owner->failure.code = 0; /* the text remains, so that it is logged once */
    }
    return pair[1];
}

static void on_end(const mcp_service_end *end, void *user)
{
    isolated_link *l = user;
    l->ended = true;
    if (l->on_end)
        l->on_end(end, l->owner);
}

/* Discards the line about the end of a process that has reported a failed mount, because callers
 * that need the process get the reason. */
static void on_log(const char *level, const char *line, void *user)
{
    isolated_link *l = user;
    const mcp_host *host = mcp_server_host(l->owner->server);
    mcp_error why = {0};
    isolated_link_read(l);
    if (isolated_link_failure(l, &why) == MCP_OK && host && host->log)
        host->log(level, line, host->user);
}

static int open_service(isolated_link *l, mcp_loop *loop, mcp_error *error)
{
    static const char *const nothing[] = {NULL};
    const mcp_isolated_options *o = &l->owner->options;
    return mcp_service_new(
        loop,
        MCP_OPTIONS(mcp_service_options, .name = o->name, .argv = o->argv, .env = nothing,
                    .client = l->client, .own_pipes = true, .first_line = o->line, .fourth = fourth,
                    .max_data = o->max_data, .max_files = MAX_FILES, .low_priority = true,
                    .with_parent = true, .idle_ms = o->idle_ms, .on_end = on_end, .log = on_log,
                    .user = l),
        &l->service, error);
}

int isolated_link_open(isolated_link *l, isolated *r, mcp_loop *loop, const mcp_host *host,
                       mcp_error *error)
{
    *l = (isolated_link){.owner = r, .host = host, .fd = -1};
    common_buffer_init(&l->in, &r->alloc);
    int rc = mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "mcpd",
                                        .version = MCP_VERSION_STRING, .revision = "2026-07-28",
                                        .no_cache = true, .max_values = MAX_VALUES, .retry_ms = 50,
                                        .max_retry_ms = 1000, .allocator = &r->alloc,
                                        .trace = isolated_flood_message, .user = l),
                            &l->client, error);
    return rc == MCP_OK ? open_service(l, loop, error) : rc;
}

void isolated_link_close(isolated_link *l)
{
    l->on_end = NULL;
    mcp_service_free(l->service);
    mcp_client_free(l->client);
    if (l->owner)
        hang_up(l);
    mcp_json_free(l->report);
    common_buffer_free(&l->in);
    *l = (isolated_link){.fd = -1};
}
