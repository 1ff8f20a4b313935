/* logs.c: forwards the log messages of the other server to its callers.
 *
 * Over HTTP a message that arrives on the event stream of a call belongs to that call. On stdio, and
 * on the stream of a legacy session, a message does not say which call caused it. It then goes to the
 * callers whose requests are in flight, and to the legacy sessions of the principal. All of them
 * belong to the principal of the session. Anonymous callers may be different people who share a
 * session, so they get only messages of their own calls.
 *
 * A legacy server logs at one level for the whole session: the lowest one that a caller has set. The
 * engine then compares each message with the level of each caller.
 */
#include <mcp/sys/client.h>
#include <stdio.h>
#include <string.h>

#include "session.h"

enum {
    MOST_PER_SECOND = 100,
    MOST_BYTES = 64 << 10,             /* of one message */
    MOST_BYTES_PER_SECOND = 512 << 10, /* of one session */
    MOST_REQUESTS = 64,                /* that one message is compared with */
    WINDOW_MS = 1000,
};

static const char *const level_names[] = {"debug", "info",     "notice", "warning",
                                          "error", "critical", "alert",  "emergency"};

const char *upstream_log_name(int level)
{
    return level >= 0 ? level_names[level] : NULL;
}

/* ---- whom a message concerns ----------------------------------------------------------------- */

typedef struct concerned {
    mcp_request *requests[MOST_REQUESTS];
    size_t n;
    bool sessions;
} concerned;

/* Collects the requests in flight, oldest first. */
static void collect(const upstream_session *s, concerned *to)
{
    size_t all = 0, skip, i = 0;
    for (const upstream_ask *a = s->asks; a; a = a->next) /* the newest one is the first */
        all += a->f.req != NULL;
    skip = all > MOST_REQUESTS ? all - MOST_REQUESTS : 0;
    to->n = all - skip;
    for (const upstream_ask *a = s->asks; a; a = a->next) {
        if (a->f.req && i++ >= skip)
            to->requests[all - i] = a->f.req;
    }
}

static const upstream_ask *ask_of(const upstream_session *s, mcp_call_id call)
{
    const upstream_ask *a = s->asks;
    while (a && a->f.call != call)
        a = a->next;
    return a;
}

static void find_concerned(const upstream_session *s, mcp_call_id call, concerned *to)
{
    const upstream_ask *a = call ? ask_of(s, call) : NULL;
    to->n = 0;
    to->sessions = s->principal != NULL;
    if (a && a->f.req) {
        to->requests[to->n++] = a->f.req;
        to->sessions = false;
    } else if (s->principal) {
        collect(s, to);
    }
}

/* ---- forwarding ------------------------------------------------------------------------------ */

static int forward(upstream_session *s, const concerned *to, const mcp_json *params, mcp_str text)
{
    const mcp_raw raw = {.size = sizeof(raw),
                         .json = text,
                         .value = params,
                         .asker = s->up->options.transparent ? NULL : s->up->options.name};
    const mcp_raw_log log = {.size = sizeof(log),
                             .params = &raw,
                             .requests = to->requests,
                             .n_requests = to->n,
                             .sessions = to->sessions,
                             .principal = s->principal,
                             .prefix = *s->up->prefix ? s->up->prefix : NULL};
    return mcp_server_log_raw(s->up->server, &log);
}

/* Counts a message that is left out, and notes the most severe level of such messages. */
static void drop(upstream_session *s, const mcp_json *params)
{
    mcp_str name = mcp_json_string(mcp_json_get(params, "level"));
    for (int i = s->logs.worst + 1; i <= MCP_LOG_EMERGENCY; i++) {
        if (mcp_str_eq(name, mcp_str_from(level_names[i])))
            s->logs.worst = i;
    }
    s->logs.dropped++;
    s->up->totals.logs_dropped++;
}

void upstream_logs_tell(upstream_session *s)
{
    char text[300];
    concerned to;
    int64_t now = upstream_now(s->up);
    if (!s->logs.dropped || (s->logs.told && now - s->logs.told < WINDOW_MS))
        return;
    collect(s, &to);
    to.sessions = s->principal != NULL;
    snprintf(text, sizeof(text),
             "{\"level\":\"%s\",\"data\":\"%llu log messages of this server were left out: at most "
             "%d per second, %d KiB per second and %d KiB in one message are forwarded\"}",
             level_names[s->logs.worst > MCP_LOG_WARNING ? s->logs.worst : MCP_LOG_WARNING],
             (unsigned long long)s->logs.dropped, MOST_PER_SECOND, MOST_BYTES_PER_SECOND >> 10,
             MOST_BYTES >> 10);
    if (forward(s, &to, NULL, (mcp_str){text, strlen(text)}) != MCP_OK)
        return;
    s->logs.dropped = 0;
    s->logs.worst = 0;
    s->logs.told = now;
}

/* Returns whether a message of this length may still be forwarded in this second. */
static bool take(upstream_session *s, size_t len)
{
    int64_t now = upstream_now(s->up);
    if (!s->logs.count || now - s->logs.since >= WINDOW_MS) {
        s->logs.since = now;
        s->logs.count = 0;
        s->logs.bytes = 0;
        upstream_logs_tell(s);
    }
    if (len > MOST_BYTES || s->logs.count >= MOST_PER_SECOND ||
        s->logs.bytes + len > MOST_BYTES_PER_SECOND)
        return false;
    s->logs.count++;
    s->logs.bytes += len;
    return true;
}

void upstream_on_notification(mcp_client *client, mcp_str method, const mcp_json *params,
                              void *user)
{
    static const char message[] = "notifications/message";
    upstream_session *s = user;
    concerned to;
    if (method.len != sizeof(message) - 1 || memcmp(method.ptr, message, method.len) != 0)
        return;
    mcp_str text = mcp_client_notification_text(client);
    if (!text.ptr || s->closing)
        return;
    find_concerned(s, mcp_client_notification_call(client), &to);
    if (!to.n && !to.sessions)
        return;
    if (!take(s, text.len) || forward(s, &to, params, text) != MCP_OK)
        drop(s, params);
    else
        s->up->totals.logs++;
}

/* ---- levels ---------------------------------------------------------------------------------- */

static void set_level(upstream_session *s, int level)
{
    s->logs.is_set = true;
    s->logs.level = level;
    /* a modern server gets the level with each call */
    (void)mcp_client_set_log_level(s->client,
                                   mcp_client_is_modern(s->client) ? NULL : level_names[level]);
}

void upstream_logs_raise(upstream_session *s, const mcp_request *req)
{
    int level = mcp_request_log_level(req);
    if (level >= 0 && (!s->logs.is_set || level < s->logs.level))
        set_level(s, level);
    else if (s->logs.is_set &&
             mcp_client_is_modern(s->client)) /* it was set before the revision was known */
        (void)mcp_client_set_log_level(s->client, NULL);
}

void upstream_logs_tick(upstream_session *s)
{
    int level = mcp_server_log_level_for(s->up->server, s->principal);
    upstream_logs_tell(s);
    for (const upstream_ask *a = s->asks; a; a = a->next) {
        int wanted = a->f.req ? mcp_request_log_level(a->f.req) : MCP_ENOTFOUND;
        if (wanted >= 0 && (level < 0 || wanted < level))
            level = wanted;
    }
    if (level < 0 && s->logs.is_set)
        level = MCP_LOG_INFO; /* what legacy callers get that have not set a level */
    if (level >= 0 && (!s->logs.is_set || level != s->logs.level))
        set_level(s, level);
}
