/* session.c: opens a session on the first request of a principal and ends it when it is idle.
 *
 * Only the host's timer ends sessions. All other code may run in callbacks of the client, which is
 * freed together with the session.
 */
#include "session.h"

#include <mcp/sys/channel.h>
#include <stdio.h>
#include <string.h>

enum {
    MOST_WAIT_MS = 5000,
    LEAST_WAIT_MS = 20,
    PINGS = 5, /* pings within idle_ms, which show that a legacy endpoint lost the session */
    MOST_REFUSED = 16, /* the most warnings of one kind about what a session receives */
    /* in a minute, in a session of many callers; otherwise the client's default */
    SHARED_QUESTIONS = 1200,
};

int64_t upstream_now(const upstream *up)
{
    const mcp_host *host = mcp_server_host(up->server);
    return host && host->now ? host->now(host->user) : 0;
}

void upstream_say(const upstream *up, const char *level, const char *text)
{
    const mcp_host *host = mcp_server_host(up->server);
    char line[400];
    snprintf(line, sizeof(line), "mcp:%s: %s", up->options.name, text);
    if (host && host->log)
        host->log(level, line, host->user);
}

void upstream_say_rarely(const upstream *up, int64_t *quiet_until, const char *text)
{
    enum { QUIET_MS = 60000 };
    int64_t now = upstream_now(up);
    if (now < *quiet_until)
        return;
    *quiet_until = now + QUIET_MS;
    upstream_say(up, "warning", text);
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void session_free(upstream_session *s)
{
    upstream *up = s->up;
    mcp_error error = {.code = MCP_ECLOSED, .text = "the session is ended"};
    s->closing = true;
    upstream_questions_forget(s);
    upstream_asks_fail(s, MCP_ECLOSED, &error);
    upstream_watch_free(s);
    mcp_service_done(s->service, &s->prestart);
    upstream_link_close(s);
    upstream_login_close(s);
    upstream_snapshot_take(s);
    mcp_client_free(s->client);
    while (s->n_uris)
        common_release(&up->alloc, s->uris[--s->n_uris]);
    common_release(&up->alloc, s->uris);
    common_release(&up->alloc, s->watchers);
    upstream_headers_clear(s);
    common_release(&up->alloc, s->verdicts.of);
    common_release(&up->alloc, s->principal);
    common_release(&up->alloc, s);
}

static void session_end(upstream_session *s, mcp_upstream_end why)
{
    s->up->n_sessions--;
    s->up->totals.ends[why]++;
    if (why != MCP_UPSTREAM_CLOSED)
        upstream_past_add(s);
    session_free(s);
}

void upstream_session_lost(upstream_session *s)
{
    s->failed = s->lost = true;
}

static void stop_timer(upstream *up)
{
    const mcp_host *host = mcp_server_host(up->server);
    if (up->timer && host)
        host->timer_stop(up->timer, host->user);
    up->timer = NULL;
}

void upstream_sessions_close(upstream *up)
{
    stop_timer(up);
    upstream_soon_stop(up);
    while (up->sessions) {
        upstream_session *s = up->sessions;
        up->sessions = s->next;
        session_end(s, MCP_UPSTREAM_CLOSED);
    }
    upstream_past_clear(up);
}

static bool is_idle(const upstream_session *s, int64_t now)
{
    if (s->hung)
        return true;
    if (s->asks || s->n_uris)
        return false;
    return s->failed || now - s->last_use >= (int64_t)s->up->options.idle_ms;
}

static void on_time(void *arg);

static void start_timer(upstream *up)
{
    const mcp_host *host = mcp_server_host(up->server);
    uint64_t ms = up->options.idle_ms / 4;
    stop_timer(up);
    if (!up->sessions || !host || !host->timer_start)
        return;
    ms = ms > MOST_WAIT_MS ? MOST_WAIT_MS : ms < LEAST_WAIT_MS ? LEAST_WAIT_MS : ms;
    up->timer = host->timer_start(ms, on_time, up, host->user);
}

void upstream_session_timer(upstream *up)
{
    if (!up->timer)
        start_timer(up);
}

/* Opens a new session for each one that was lost while it watched resources. */
static void reopen(upstream *up)
{
    mcp_error error;
    for (upstream_session *s = up->sessions; s; s = s->next) {
        upstream_session *made;
        if (!s->n_uris || s->service)
            continue;
        if (!s->failed && mcp_client_start(s->client, NULL, NULL) == MCP_ECLOSED)
            upstream_session_lost(s);
        if (s->failed)
            (void)upstream_session_get(up, &(upstream_wanted){s->principal, s->declared, ~0u},
                                       &made, &error);
    }
}

static void on_time(void *arg)
{
    upstream *up = arg;
    int64_t now = upstream_now(up);
    reopen(up);
    upstream_parked_expire(up, now);
    for (upstream_session **at = &up->sessions; *at;) {
        upstream_session *s = *at;
        if (is_idle(s, now)) {
            *at = s->next;
            session_end(s, s->lost ? MCP_UPSTREAM_LOST : MCP_UPSTREAM_IDLE);
        } else {
            upstream_watch_keep(s);
            upstream_logs_tick(s);
            upstream_doubt_tick(s);
            upstream_time_keep(s);
            at = &s->next;
        }
    }
    start_timer(up);
}

/* ---- opening --------------------------------------------------------------------------------- */

const char *upstream_principal(const upstream *up, const char *of_caller)
{
    return up->options.shared ? NULL : of_caller;
}

void upstream_list_changed(const upstream_session *s, mcp_item item)
{
    if (s->up->options.shared)
        mcp_server_list_changed(s->up->server, item);
    else
        mcp_server_list_changed_for(s->up->server, item, s->principal);
}

bool upstream_is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool upstream_session_is_of(const upstream_session *s, const char *principal)
{
    return upstream_is_same(s->principal, principal);
}

const char *upstream_caller(const upstream_ask *a)
{
    return a->session->up->options.shared ? a->caller : a->session->principal;
}

bool upstream_is_of(const upstream_ask *a, const char *principal)
{
    return upstream_is_same(upstream_caller(a), principal);
}

static bool suits(const upstream_session *s, const upstream_wanted *wanted)
{
    return !s->failed && upstream_session_is_of(s, wanted->principal) &&
           ((s->declared ^ wanted->declared) & wanted->matters) == 0;
}

upstream_session *upstream_session_find(const upstream *up, const upstream_wanted *wanted)
{
    upstream_session *s = up->sessions;
    while (s && !suits(s, wanted))
        s = s->next;
    return s;
}

static void on_refused(mcp_client *client, mcp_str name, const char *why, void *user)
{
    upstream_session *s = user;
    char text[300];
    (void)client;
    if (s->n_refused++ >= MOST_REFUSED)
        return;
    snprintf(text, sizeof(text), "the tool \"%.*s\" is left out: %.150s",
             (int)(name.len < 64 ? name.len : 64), name.ptr, why);
    upstream_say(s->up, "warning", text);
}

/* Malformed entries of lists, malformed notifications, and the like. */
static void on_misbehaved(mcp_client *client, const char *what, void *user)
{
    upstream_session *s = user;
    (void)client;
    s->up->totals.malformed++;
    if (s->n_misbehaved++ < MOST_REFUSED)
        upstream_say(s->up, "warning", what);
}

static void on_trace(mcp_client *client, bool sent, mcp_exchange exchange, mcp_str message,
                     void *user)
{
    const upstream_session *s = user;
    const mcp_upstream_options *o = &s->up->options;
    (void)client, (void)exchange;
    o->trace(o->name, sent ? MCP_UPSTREAM_SENT : MCP_UPSTREAM_RECEIVED, message, o->user);
}

static const char *client_name(const upstream *up)
{
    return up->options.client_name ? up->options.client_name : "mcpd";
}

/* A program may print anything, so only the first message of a session is in the log. */
static void on_unreadable(mcp_client *client, const char *why, void *user)
{
    upstream_session *s = user;
    char line[400];
    (void)client;
    snprintf(line, sizeof(line), "a message cannot be read: %.300s", why);
    if (!s->unreadable)
        upstream_say(s->up, "warning", line);
    s->unreadable = true;
    s->up->totals.unreadable++;
}

static int open_session(upstream_session *s, mcp_error *error)
{
    static const char apps[] =
        "{\"io.modelcontextprotocol/ui\":{\"mimeTypes\":[\"text/html;profile=mcp-app\"]}}";
    const upstream *up = s->up;
    mcp_question_fn *const ask = upstream_on_question;
    int rc = mcp_client_new(
        MCP_OPTIONS(
            mcp_client_options, .name = client_name(up), .version = MCP_VERSION_STRING,
            .questions_per_minute = up->options.shared ? SHARED_QUESTIONS : 0, .no_cache = true,
            .tasks = true, .revision = up->options.revision, .timeout_ms = up->options.timeout_ms,
            .max_message = up->options.max_answer, .max_values = up->options.max_values,
            .max_entries = up->options.max_entries, .tool_refused = on_refused,
            .unreadable = on_unreadable, .misbehaved = on_misbehaved,
            .ping_ms = up->options.url ? up->options.idle_ms / PINGS : 0,
            .elicit_form = s->declared & UPSTREAM_ASKS_FORM ? ask : NULL,
            .elicit_url = s->declared & UPSTREAM_ASKS_URL ? ask : NULL,
            .roots = s->declared & UPSTREAM_ASKS_ROOTS ? ask : NULL,
            .sample = s->declared & UPSTREAM_ASKS_SAMPLE ? ask : NULL,
            .sample_tools = s->declared & UPSTREAM_ASKS_TOOLS,
            .extensions = s->declared & UPSTREAM_SHOWS_APPS ? apps : NULL,
            .notification = upstream_on_notification, .elicitation_complete = upstream_on_complete,
            .trace = up->options.trace ? on_trace : NULL, .allocator = &up->alloc, .user = s),
        &s->client, error);
    return rc == MCP_OK ? upstream_link_open(s, error) : rc;
}

static int session_new(upstream *up, const upstream_wanted *wanted, upstream_session **ret,
                       mcp_error *error)
{
    const char *principal = wanted->principal;
    upstream_session *s = common_alloc(&up->alloc, sizeof(*s));
    if (!s)
        return MCP_ENOMEM;
    *s = (upstream_session){.up = up, .declared = wanted->declared};
    s->principal = principal ? common_copy(&up->alloc, principal, strlen(principal)) : NULL;
    int rc = principal && !s->principal ? MCP_ENOMEM : open_session(s, error);
    if (rc != MCP_OK) {
        session_free(s);
        return rc;
    }
    s->next = up->sessions;
    up->sessions = s;
    up->n_sessions++;
    up->totals.opened++;
    s->missed = upstream_past_take(up, principal);
    upstream_watch_adopt(s);
    upstream_watch_begin(s);
    *ret = s;
    return MCP_OK;
}

/* Returns whether the next call needs another session, because the questions of this one have to be
 * refused (likely_ask() in question.c). It ends when its calls have ended. */
static bool is_doubtful(const upstream_session *s)
{
    const upstream *up = s->up;
    return s->cancelled && s->unattributed &&
           (!s->asks || up->n_sessions < up->options.max_sessions);
}

int upstream_session_get(upstream *up, const upstream_wanted *wanted, upstream_session **ret,
                         mcp_error *error)
{
    upstream_session *s = upstream_session_find(up, wanted);
    if (s && wanted->matters == ~0u && is_doubtful(s)) {
        s->failed = true;
        s = NULL;
    }
    if (!s && upstream_take_session(up, wanted))
        s = upstream_session_find(up, wanted);
    int rc = s ? MCP_OK : upstream_limit_session(up, wanted->principal, error);
    if (rc == MCP_OK && !s)
        rc = session_new(up, wanted, &s, error);
    else if (rc == MCP_ELIMIT)
        up->totals.refused++;
    if (rc != MCP_OK)
        return rc;
    s->last_use = upstream_now(up);
    upstream_session_timer(up);
    *ret = s;
    return MCP_OK;
}
