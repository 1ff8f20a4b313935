/* device.c: the device authorization grant (RFC 8628): a person enters a code in a browser, on any
 * machine, while the client asks for the token again and again. */
#include "auth/client/oauth_client.h"
#include "uri/uri.h"

enum { SLOWER_MS = 5000, LONGEST_PAUSE_MS = 60000 };

static mcp__oauth_step begin_device(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    mcp__buf form, authorization;
    if (f->self.method != MCP__METHOD_NONE &&
        !mcp__url_same_origin(f->issuer.token, f->issuer.device))
        return mcp__oauth_failed_with(c, MCP_EACCESS,
                                      "%.*s gets no secret of the client, because it is not on the "
                                      "host of the token endpoint",
                                      MCP__SHOWN(f->issuer.device, 100));
    mcp__oauth_step pinned = mcp__oauth_pin(c, MCP__STEP_DEVICE);
    if (pinned != MCP__STEP_DEVICE)
        return pinned;
    mcp__buf_init(&form, &c->allocator, 0);
    mcp__buf_init(&authorization, &c->allocator, 0);
    mcp__form_device(&form, mcp__buf_view(&f->scope), mcp__oauth_resource(c));
    mcp_str url = mcp__oauth_keep(c, f->issuer.device);
    int rc = mcp__oauth_authenticate(c, &form, &authorization);
    mcp__buf_char(&form, '\0');
    if (authorization.len)
        mcp__buf_char(&authorization, '\0');
    if (rc == MCP_OK && (form.failed || authorization.failed || !url.len))
        rc = MCP_ENOMEM;
    mcp__oauth_step next =
        rc < 0 ? mcp__oauth_failed_with(c, rc, "the device request: %s", mcp_error_text(rc))
               : mcp__oauth_send(c, &(mcp__oauth_request){.what = "device",
                                                          .url = url.ptr,
                                                          .form = form.ptr,
                                                          .authorization = authorization.len
                                                                               ? authorization.ptr
                                                                               : NULL});
    mcp__buf_wipe(&form);
    mcp__buf_wipe(&authorization);
    return next;
}

static const char *text_of(mcp_oauth_client *c, mcp_str text)
{
    mcp_str copy = mcp__oauth_keep(c, text);
    return copy.len ? copy.ptr : "";
}

/* Shows the code, and polls from now on. */
static mcp__oauth_step show(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    mcp_oauth_visit visit = {.size = sizeof(visit),
                             .url = text_of(c, f->device.url),
                             .user_code = text_of(c, f->device.user_code),
                             .issuer = text_of(c, f->issuer.issuer),
                             .scope = text_of(c, mcp__buf_view(&f->scope)),
                             .valid_ms = (uint64_t)f->device.expires_in * 1000};
    if (f->device.complete_url.len)
        visit.complete_url = text_of(c, f->device.complete_url);
    f->interval = f->device.interval * 1000;
    f->expires = c->host.now(c->host.user) + f->device.expires_in * 1000;
    if (mcp__oauth_visit_page(c, &visit, MCP__STEP_NONE) == MCP__STEP_FAILED)
        return MCP__STEP_FAILED;
    if (f->declined) /* at once */
        return MCP__STEP_FAILED;
    return mcp__oauth_later(c, (uint64_t)f->interval, MCP__STEP_POLL) < 0 ? mcp__oauth_no_memory(c)
                                                                          : MCP__STEP_WAIT;
}

static mcp__oauth_step answered_device(mcp_oauth_client *c, const mcp__oauth_answer *answer)
{
    mcp__oauth_flow *f = &c->flow;
    if (answer->rc < 0)
        return mcp__oauth_unanswered(c, answer);
    mcp__device_answer_clear(&f->device);
    memset(&f->device, 0, sizeof(f->device));
    mcp__oauth_fault fault =
        mcp__device_answer_read(&f->device, answer->status, answer->body, mcp_str_from(answer->url),
                                c->loopback, &c->allocator, &f->error);
    if (fault == MCP__OAUTH_OK)
        return show(c);
    if (fault == MCP__OAUTH_INVALID_CLIENT && f->self.registered && !f->forgot) {
        f->forgot = true;
        f->self.known = false;
        return mcp__oauth_save(c, MCP__SAVE_NO_CLIENT, MCP__STEP_REGISTER);
    }
    return mcp__oauth_unless(c, fault, MCP__STEP_FAILED);
}

const mcp__oauth_work mcp__oauth_work_device = {begin_device, answered_device};

/* ---- POLL ------------------------------------------------------------------------------------ */

static mcp__oauth_step begin_poll(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    mcp__buf form;
    if (c->host.now(c->host.user) >= f->expires)
        return mcp__oauth_failed_with(c, MCP_ETIMEOUT, "the code was not entered in time");
    mcp__buf_init(&form, &c->allocator, 0);
    mcp__form_device_token(&form, f->device.device_code, mcp__oauth_resource(c));
    return mcp__oauth_ask_token(c, &form, "token", true);
}

static mcp__oauth_step poll_again(mcp_oauth_client *c, int64_t longer)
{
    mcp__oauth_flow *f = &c->flow;
    f->interval += longer;
    f->nonces = 0;
    mcp__no_error(&f->error);
    return mcp__oauth_later(c, (uint64_t)f->interval, MCP__STEP_POLL) < 0 ? mcp__oauth_no_memory(c)
                                                                          : MCP__STEP_WAIT;
}

static mcp__oauth_step answered_poll(mcp_oauth_client *c, const mcp__oauth_answer *answer)
{
    mcp__oauth_flow *f = &c->flow;
    if (f->declined) /* meanwhile */
        return MCP__STEP_FAILED;
    /* After a time-out, polls become rarer (RFC 8628 section 3.5). */
    if (answer->rc < 0)
        return answer->rc == MCP_ENOMEM || answer->rc == MCP_EACCESS
                   ? mcp__oauth_unanswered(c, answer)
                   : poll_again(c, MCP__MIN(f->interval, (int64_t)LONGEST_PAUSE_MS));
    mcp__oauth_fault fault = mcp__oauth_read_token(c, answer);
    switch (fault) {
    case MCP__OAUTH_PENDING: return poll_again(c, 0);
    case MCP__OAUTH_SLOW_DOWN: return poll_again(c, SLOWER_MS);
    case MCP__OAUTH_USE_NONCE: return MCP__STEP_POLL;
    case MCP__OAUTH_OK: mcp__oauth_visited(c); return mcp__oauth_got_token(c);
    default: return mcp__oauth_unless(c, fault, MCP__STEP_FAILED);
    }
}

const mcp__oauth_work mcp__oauth_work_poll = {begin_poll, answered_poll};
