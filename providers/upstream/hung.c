/* hung.c: ends programs that no longer answer, so that their next request starts them again.
 *
 * Many servers answer nothing else during a call, not even pings. So nothing is asked of a program
 * until a request is beyond its time. Then it gets pings, and it is ended when one of them is not
 * answered for ping_ms, unless a request that was sent before that one is still within its time: the
 * program may be busy with it. Callers often give up before the time is over, and try again. So a
 * request that was cancelled counts as one in flight until its time is over or the program answers
 * anything, and requests that were sent later change nothing.
 *
 * An endpoint of HTTP is not started by this server, so only the call ends there.
 */
#include <math.h>
#include <mcp/sys/client.h>
#include <stdio.h>

#include "policy.h"
#include "session.h"

enum {
    LATE_MS = 1000
}; /* if a time-out is noticed later than this, the delay was in this program */

/* ---- the time of a request --------------------------------------------------------------------- */

uint64_t upstream_time(const upstream_ask *a)
{
    const mcp_upstream_options *o = &a->session->up->options;
    const mcp_upstream_change *c = NULL;
    if (a->item != MCP_ITEM_TOOL || a->lists || a->learns)
        return o->timeout_ms;
    if (a->f.params.name)
        c = upstream_change_of(o, MCP_ITEM_TOOL, mcp_str_from(a->f.params.name));
    return c && c->call_ms ? c->call_ms : o->call_ms;
}

void upstream_time_begin(upstream_ask *a)
{
    a->due = upstream_now(a->session->up) + (int64_t)upstream_time(a);
}

void upstream_time_keep(const upstream_session *s)
{
    for (const upstream_ask *a = s->asks; a; a = a->next) {
        if (a->f.call && a->f.req && !a->lists) /* lists have times of their own */
            mcp_request_progress(a->f.req, NAN, 0, NULL);
    }
}

/* ---- pings ------------------------------------------------------------------------------------ */

static bool is_busy(const upstream_session *s)
{
    const upstream_ask *a = s->asks;
    while (a && !(a->f.call && a->order < s->doubt.order))
        a = a->next;
    return a != NULL;
}

static void end_program(upstream_session *s)
{
    upstream *up = s->up;
    unsigned long long ms = up->options.ping_ms;
    char text[400], why[200];
    snprintf(text, sizeof(text),
             "it has answered neither %s in time nor a ping within %llu.%03llu s, so it is ended; "
             "the next request starts it again",
             s->doubt.what, ms / 1000, ms % 1000);
    upstream_say(up, "warning", text);
    /* This text is for all callers of the session, so it does not say what another one has asked. */
    snprintf(
        why, sizeof(why),
        "it answered neither a request in time nor a ping within %llu.%03llu s, so it was ended. "
        "Your request may have had an effect and was not repeated; the next one starts the "
        "server",
        ms / 1000, ms % 1000);
    up->totals.hung++;
    upstream_doubt_end(s);
    if (s->service) {
        mcp_service_abort(s->service, why);
        return;
    }
    s->hung = true; /* the timer ends it */
    upstream_session_lost(s);
}

static void ping(upstream_session *s);

static void on_pong(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                    void *user)
{
    upstream_session *s = user;
    upstream_doubt *d = &s->doubt;
    int64_t now = upstream_now(s->up);
    bool is_old = d->is_old;
    (void)client, (void)result, (void)error;
    d->pinging = d->is_old = false;
    if (rc == MCP_OK || rc == MCP_EREMOTE)
        upstream_doubt_end(s);
    if (rc != MCP_ETIMEOUT || !d->order || d->due > now || s->closing)
        return;
    bool is_late = now - d->pinged_at > (int64_t)s->up->options.ping_ms + LATE_MS;
    if (is_old || is_late || is_busy(s))
        ping(s);
    else
        end_program(s);
}

static void ping(upstream_session *s)
{
    s->doubt.pinged_at = upstream_now(s->up);
    s->doubt.pinging =
        mcp_client_ping(s->client,
                        MCP_OPTIONS(mcp_call_options, .done = on_pong, .user = s,
                                    .timeout_ms = s->up->options.ping_ms, .once = true),
                        NULL) == MCP_OK;
}

/* ---- doubts ----------------------------------------------------------------------------------- */

void upstream_doubt_tick(upstream_session *s)
{
    const upstream_doubt *d = &s->doubt;
    if (d->order && !d->pinging && !s->failed && d->due <= upstream_now(s->up))
        ping(s);
}

void upstream_doubt_begin(upstream_ask *a, bool in_time)
{
    upstream_session *s = a->session;
    upstream_doubt *d = &s->doubt;
    int64_t now = upstream_now(s->up);
    const char *name = a->f.params.name;
    if ((!s->service && !s->link) || s->closing || (d->order && d->order < a->order))
        return;
    d->order = a->order;
    /* While its caller was asked, the time of the request did not run. */
    d->due = !in_time ? now : a->park ? now + (int64_t)upstream_time(a) : a->due;
    d->is_old = d->pinging;
    snprintf(d->what, sizeof(d->what), "%.40s%s%.100s", a->f.method, name ? " of " : "",
             name ? name : "");
    upstream_doubt_tick(s);
}

void upstream_doubt_end(upstream_session *s)
{
    s->doubt.order = 0;
}
