/* steps.c: the steps of an authorization, its requests and timers, and its end. */
#include <stdarg.h>
#include <stdio.h>

#include "auth/client/oauth_client.h"

enum {
    MOST_REQUESTS = 40, /* of one authorization, without polls */
    MOST_BODY = 64 << 10,
};

static mcp__oauth_step begin_abort(mcp_oauth_client *c)
{
    (void)c;
    return MCP__STEP_FAILED;
}

static const mcp__oauth_work abort_work = {begin_abort, NULL};

static const mcp__oauth_work *const works[MCP__STEPS] = {
    [MCP__STEP_PROBE] = &mcp__oauth_work_probe,
    [MCP__STEP_RESOURCE] = &mcp__oauth_work_resource,
    [MCP__STEP_ISSUER] = &mcp__oauth_work_issuer,
    [MCP__STEP_DECIDE] = &mcp__oauth_work_decide,
    [MCP__STEP_LOCK] = &mcp__oauth_work_lock,
    [MCP__STEP_REFRESH] = &mcp__oauth_work_refresh,
    [MCP__STEP_REGISTER] = &mcp__oauth_work_registration,
    [MCP__STEP_RECOGNIZE] = &mcp__oauth_work_recognize,
    [MCP__STEP_AUTHORIZE] = &mcp__oauth_work_authorize,
    [MCP__STEP_CODE] = &mcp__oauth_work_code,
    [MCP__STEP_DEVICE] = &mcp__oauth_work_device,
    [MCP__STEP_POLL] = &mcp__oauth_work_poll,
    [MCP__STEP_EXCHANGE] = &mcp__oauth_work_exchange,
    [MCP__STEP_GRANT] = &mcp__oauth_work_grant,
    [MCP__STEP_SAVE] = &mcp__oauth_work_save,
    [MCP__STEP_REVOKE] = &mcp__oauth_work_revoke,
    [MCP__STEP_FORGET] = &mcp__oauth_work_forget,
    [MCP__STEP_LATE] = &mcp__oauth_work_late,
    [MCP__STEP_ABORT] = &abort_work,
};

/* ---- errors ---------------------------------------------------------------------------------- */

mcp__oauth_step mcp__oauth_failed_with(mcp_oauth_client *c, int code, const char *format, ...)
{
    char text[sizeof(c->flow.error.text)];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    mcp__fail(&c->flow.error, code, 0, "%s", text);
    return MCP__STEP_FAILED;
}

mcp__oauth_step mcp__oauth_no_memory(mcp_oauth_client *c)
{
    return mcp__oauth_failed_with(c, MCP_ENOMEM, "out of memory");
}

mcp__oauth_step mcp__oauth_unless(mcp_oauth_client *c, mcp__oauth_fault fault, mcp__oauth_step next)
{
    if (fault == MCP__OAUTH_OK)
        return next;
    c->flow.error.code = mcp__oauth_fault_code(fault);
    return MCP__STEP_FAILED;
}

mcp__oauth_step mcp__oauth_unanswered(mcp_oauth_client *c, const mcp__oauth_answer *answer)
{
    return mcp__oauth_failed_with(c, answer->rc, "%.120s: %.110s", answer->url,
                                  answer->text ? answer->text : mcp_error_text(answer->rc));
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* A logout revokes what it can, and removes the record whatever else fails. */
static bool revokes_others(const mcp_oauth_client *c, mcp__oauth_step next)
{
    return next == MCP__STEP_FAILED && c->flow.why == MCP__WHY_LOGOUT &&
           c->flow.step != MCP__STEP_FORGET && c->flow.step != MCP__STEP_LOCK &&
           c->flow.step != MCP__STEP_ABORT;
}

static void run(mcp_oauth_client *c, mcp__oauth_step next)
{
    while (next < MCP__STEPS) {
        c->flow.step = next;
        next = works[next]->begin(c);
        if (revokes_others(c, next))
            next = mcp__oauth_revoke_next(c);
    }
    if (next == MCP__STEP_FAILED)
        mcp__oauth_end(c, c->flow.error.code ? c->flow.error.code : MCP_EPROTOCOL);
    else if (next == MCP__STEP_DONE)
        mcp__oauth_end(c, MCP_OK);
}

static void stop_timer(mcp_oauth_client *c)
{
    if (c->timer)
        c->host.timer_stop(c->timer, c->host.user);
    c->timer = NULL;
}

static void on_timer(void *arg)
{
    mcp_oauth_client *c = arg;
    mcp__oauth_step step = c->timed;
    stop_timer(c);
    if (c->flow.active)
        run(c, step);
}

int mcp__oauth_later(mcp_oauth_client *c, uint64_t ms, mcp__oauth_step step)
{
    struct mcp_host_timer *timer = c->host.timer_start(ms, on_timer, c, c->host.user);
    if (!timer)
        return MCP_ENOMEM;
    stop_timer(c);
    c->timer = timer;
    c->timed = step;
    return MCP_OK;
}

int mcp__oauth_begin(mcp_oauth_client *c, mcp__oauth_why why, mcp__oauth_step step)
{
    mcp__oauth_flow *f = &c->flow;
    memset(f, 0, sizeof(*f));
    mcp__arena_init(&f->texts, &c->allocator, NULL, 0);
    mcp__buf_init(&f->scope, &c->allocator, MCP__SCOPES_BYTES);
    mcp__buf_init(&f->code, &c->allocator, 0);
    mcp__buf_init(&f->assertion, &c->allocator, 0);
    f->active = true;
    f->why = why;
    f->refused = c->generation;
    mcp__buf_reset(&c->issuer_nonce, 0);
    if (mcp__oauth_later(c, 0, step) == MCP_OK)
        return MCP_OK;
    f->active = false;
    return MCP_ENOMEM;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void take_nonce(mcp_oauth_client *c, mcp_str nonce)
{
    if (!nonce.len)
        return;
    mcp__buf_reset(&c->issuer_nonce, 0);
    mcp__buf_str(&c->issuer_nonce, nonce);
}

static void on_fetched(int rc, const mcp_fetched *fetched, const mcp_error *error, void *user)
{
    mcp_oauth_client *c = user;
    mcp_fetched got = {0};
    if (fetched)
        (void)MCP__TAKE(&got, fetched, mcp_fetched, NULL);
    mcp__oauth_answer answer = {.rc = rc,
                                .status = got.status,
                                .body = got.body,
                                .challenge = got.www_authenticate,
                                .text = error ? error->text : NULL,
                                .url = c->url};
    c->fetch = NULL;
    take_nonce(c, got.dpop_nonce);
    mcp__oauth_trace_answer(c, &answer);
    mcp__oauth_step next = works[c->flow.step]->answered(c, &answer);
    run(c, revokes_others(c, next) ? mcp__oauth_revoke_next(c) : next);
}

mcp__oauth_step mcp__oauth_send(mcp_oauth_client *c, const mcp__oauth_request *request)
{
    mcp_error error;
    mcp_fetch_options o = {.size = sizeof(o),
                           .url = request->url,
                           .accept = request->accept ? request->accept : "application/json",
                           .max_bytes = MOST_BODY,
                           .timeout_ms = c->o.fetch_ms,
                           .allow_private = c->loopback || c->o.allow_private,
                           .same_origin = true, /* of metadata; other requests follow none */
                           .no_redirect = request->stay,
                           .proxy = c->o.proxy,
                           .ca_file = c->o.ca_file,
                           .done = on_fetched,
                           .user = c,
                           .form = request->form,
                           .authorization = request->authorization,
                           .json = request->json,
                           .dpop = request->dpop,
                           .protocol_version = request->revision};
    if (!request->poll && ++c->flow.requests > MOST_REQUESTS)
        return mcp__oauth_failed_with(c, MCP_ELIMIT, "the authorization took more than %d requests",
                                      MOST_REQUESTS);
    mcp__release(&c->allocator, c->url);
    c->url = mcp__strdup(&c->allocator, mcp_str_from(request->url));
    if (!c->url)
        return mcp__oauth_no_memory(c);
    c->what = request->what;
    mcp__oauth_trace_request(c, request);
    int rc = c->host.fetch(&o, &c->fetch, &error, c->host.user);
    return rc == MCP_OK ? MCP__STEP_WAIT
                        : mcp__oauth_failed_with(c, rc, "%.120s: %.110s", request->url, error.text);
}

/* ---- the end --------------------------------------------------------------------------------- */

void mcp__oauth_drop(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    stop_timer(c);
    if (c->fetch)
        c->host.fetch_cancel(c->fetch, c->host.user);
    c->fetch = NULL;
    if (!f->active)
        return;
    mcp__oauth_unlock(c);
    mcp__oauth_visited(c);
    mcp__protected_clear(&f->server);
    mcp__issuer_clear(&f->issuer);
    mcp__registered_clear(&f->registered);
    mcp__jwk_free(f->key);
    mcp__device_answer_clear(&f->device);
    mcp__token_answer_clear(&f->token);
    mcp__buf_free(&f->scope);
    mcp__buf_wipe(&f->code);
    mcp__buf_wipe(&f->assertion);
    mcp__arena_wipe(&f->texts);
    mcp__wipe(f, sizeof(*f));
}

static void move_all(mcp__link *from, mcp__link *to)
{
    while (!mcp__list_empty(from)) {
        mcp__link *one = from->next;
        mcp__list_remove(one);
        mcp__list_append(to, one);
    }
}

/* Calls the functions of a list, to which the functions may add others. */
static void answer_calls(mcp_oauth_client *c, mcp__link *list, int rc, const mcp_error *error)
{
    mcp__link calls;
    mcp__list_init(&calls);
    move_all(list, &calls);
    while (!mcp__list_empty(&calls)) {
        mcp__oauth_call *call = mcp__container(calls.next, mcp__oauth_call, link);
        mcp__list_remove(&call->link);
        call->done(c, rc, error, call->user);
        mcp__release(&c->allocator, call);
    }
}

/* Wakes all transports, each of which may make others leave the list. */
static void wake_transports(mcp_oauth_client *c, int rc, const char *text)
{
    mcp__link sleeping;
    mcp__list_init(&sleeping);
    move_all(&c->transports, &sleeping);
    while (!mcp__list_empty(&sleeping)) {
        mcp__oauth_transport *t = mcp__container(sleeping.next, mcp__oauth_transport, link);
        mcp__list_remove(&t->link);
        mcp__list_append(&c->transports, &t->link);
        t->wake(t->arg, rc, text);
    }
}

/* Ends a logout. Requests that were refused meanwhile fail; logins that were wanted begin. */
static void end_logout(mcp_oauth_client *c, int rc, const mcp_error *error)
{
    mcp_error why;
    if (!mcp__list_empty(&c->logins) && mcp__oauth_begin(c, MCP__WHY_LOGIN, MCP__STEP_PROBE) < 0) {
        mcp__fail(&why, MCP_ENOMEM, 0, "no memory for a login");
        answer_calls(c, &c->logins, MCP_ENOMEM, &why);
    }
    wake_transports(c, MCP_ECANCELLED, "a logout was in progress");
    answer_calls(c, &c->logouts, rc, error);
}

void mcp__oauth_end(mcp_oauth_client *c, int rc)
{
    mcp_error error = c->flow.error;
    bool logout = c->flow.why == MCP__WHY_LOGOUT, ending = c->flow.ending;
    bool step_up = c->flow.why == MCP__WHY_STEP_UP, prompted = c->flow.prompted;
    if (!c->flow.active)
        return;
    error.code = rc;
    if (rc == MCP_OK)
        mcp__no_error(&error);
    else if (!error.text[0])
        mcp__fail(&error, rc, 0, "%s", mcp_error_text(rc));
    mcp__oauth_drop(c);
    if (logout) {
        end_logout(c, rc, &error);
        return;
    }
    if (ending && mcp__oauth_begin_logout(c) < 0)
        answer_calls(c, &c->logouts, MCP_ENOMEM, &error);
    c->failure = error;
    c->in_vain = rc != MCP_OK && (prompted || c->in_vain);
    c->step_ups += rc != MCP_OK && step_up;
    c->failures += rc != MCP_OK && !step_up;
    if (rc != MCP_OK)
        mcp__oauth_trace_text(c, "challenge", NULL, error.text);
    wake_transports(c, rc, error.text);
    answer_calls(c, &c->logins, rc, &error);
}
