/* pulse.c: notices that a process no longer answers, long before the time of its requests is
 * over: it was stopped, or its loop is not.
 *
 * The loop of the process answers a ping while worker threads work on requests, however long they
 * take. So a process that does not answer one, nor sends anything else, is ended. The requests that
 * it had are repeated or fail as after any other end (crash.c). No request is blamed for the first
 * one: whoever stopped the process may have been somebody else.
 */
#include "pulse.h"

#include "provider.h"

void isolated_pulse_send(isolated_pulse *p, int64_t now)
{
    if (!p->looked)
        p->heard = p->looked = now;
}

void isolated_pulse_hear(isolated_pulse *p, int64_t now)
{
    p->heard = now;
    p->pinged = 0;
}

isolated_sign isolated_pulse_look(isolated_pulse *p, bool waits, int64_t now)
{
    bool is_late = now - p->looked > ISOLATED_LOOK_MS + ISOLATED_LATE_MS;
    p->looked = waits || p->pinged ? now : 0;
    if (p->pinged && is_late)
        p->pinged = now; /* its answer may be there, unread */
    if (p->pinged)
        return now - p->pinged < ISOLATED_PONG_MS ? ISOLATED_ALIVE : ISOLATED_HUNG;
    if (!waits || now - p->heard < ISOLATED_QUIET_MS)
        return ISOLATED_ALIVE;
    p->pinged = now;
    return ISOLATED_ASK;
}

/* ---- the process ----------------------------------------------------------------------------- */

static bool waits(const isolated *r)
{
    const isolated_call *c = r->first;
    while (c && c->state != ISOLATED_SENT)
        c = c->next;
    return c != NULL;
}

/* isolated_flood_message() has counted the answer as a message. */
static void on_pong(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                    void *user)
{
    (void)client, (void)rc, (void)result, (void)error, (void)user;
}

static void ask(isolated *r)
{
    mcp_client_ping(r->link.client,
                    MCP_OPTIONS(mcp_call_options, .done = on_pong, .user = r,
                                .timeout_ms = r->options.timeout_ms, .once = true),
                    NULL);
}

static void on_time(void *arg)
{
    isolated *r = arg;
    const mcp_host *host = mcp_server_host(r->server);
    isolated_sign sign = isolated_pulse_look(&r->link.pulse, waits(r), isolated_now(r));
    isolated_pulse_stop(r);
    if (sign == ISOLATED_HUNG) {
        r->link.pulse = (isolated_pulse){0};
        mcp_service_abort(r->link.service, "it no longer answers, not even a ping");
        return;
    }
    if (sign == ISOLATED_ASK)
        ask(r);
    if (r->link.pulse.looked)
        r->pulse_timer = host->timer_start(ISOLATED_LOOK_MS, on_time, r, host->user);
}

void isolated_pulse_begin(isolated *r)
{
    const mcp_host *host = mcp_server_host(r->server);
    isolated_pulse_send(&r->link.pulse, isolated_now(r));
    if (!r->pulse_timer)
        r->pulse_timer = host->timer_start(ISOLATED_LOOK_MS, on_time, r, host->user);
}

void isolated_pulse_stop(isolated *r)
{
    const mcp_host *host = mcp_server_host(r->server);
    if (r->pulse_timer)
        host->timer_stop(r->pulse_timer, host->user);
    r->pulse_timer = NULL;
}
