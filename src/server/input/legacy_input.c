/* legacy_input.c: input requests to a client of a legacy revision. They are sent as requests of the
 * server. The client's request waits for the answers, and then its handler runs again.
 */
#include <stdio.h>

#include "server/input/input.h"

void mcp__input_notify_abandoned(mcp_channel *channel, mcp_exchange exchange, int64_t id)
{
    char params[96];
    int len = snprintf(params, sizeof(params),
                       "{\"requestId\":%lld,\"reason\":\"The answer is no longer needed\"}",
                       (long long)id);
    mcp__channel_notify(channel, exchange, MCP_STR("notifications/cancelled"),
                        (mcp_str){params, (size_t)len});
}

void mcp__input_abandon(mcp_request *req)
{
    struct mcp__input *input = req->input;
    mcp_channel *channel = req->in.channel;
    if (!input)
        return;
    for (mcp__link *l = input->questions.next; l != &input->questions; l = l->next) {
        mcp__question *q = mcp__container(l, mcp__question, link);
        if (q->id && channel && mcp__channel_forget(channel, q->id))
            mcp__input_notify_abandoned(channel, req->in.exchange, q->id);
        q->id = 0;
    }
    input->n_sent = 0;
}

void mcp__input_give_up(mcp_request *req, int rc)
{
    mcp__input_abandon(req);
    req->state = MCP__REQUEST_RUNNING;
    mcp__request_finish(req, rc);
}

void mcp__input_withdraw(mcp_request *req, mcp__question *q)
{
    struct mcp__input *input = req->input;
    mcp_channel *channel = req->in.channel;
    mcp__list_remove(&q->link);
    input->n_questions--;
    if (q->id) {
        if (channel && mcp__channel_forget(channel, q->id))
            mcp__input_notify_abandoned(channel, req->in.exchange, q->id);
        q->id = 0;
        input->n_sent--;
    }
    if (req->state == MCP__REQUEST_WAITING && !req->cancelled && input->n_questions == 0)
        mcp__input_rerun(req);
}

static int no_answer(mcp_request *req, const mcp__question *q, int rc)
{
    if (rc != MCP_ETIMEOUT)
        return rc;
    return mcp_reply_fail(req, MCP__INTERNAL_ERROR, "The client did not answer %.*s within %llu ms",
                          (int)q->method.len, q->method.ptr,
                          (unsigned long long)req->server->options.input_timeout_ms);
}

mcp_str mcp__input_text(const mcp_channel *channel, bool refused)
{
    return mcp__channel_text_of(channel, refused ? MCP_STR("\"error\"") : MCP_STR("\"result\""));
}

static void take_answer(mcp_channel *channel, int rc, const mcp_json *result, void *user)
{
    mcp__question *q = user;
    mcp_request *req = q->req;
    int64_t id = q->id;
    q->id = 0;
    req->input->n_sent--;
    if (rc == MCP_ETIMEOUT)
        mcp__input_notify_abandoned(channel, req->in.exchange, id);
    if (rc == MCP_OK || rc == MCP_EREMOTE)
        rc = mcp__input_give(req, q->key, result, mcp__input_text(channel, rc == MCP_EREMOTE),
                             rc == MCP_EREMOTE);
    else
        rc = no_answer(req, q, rc);
    if (rc != MCP_OK)
        mcp__input_give_up(req, rc);
    else if (req->input->n_sent == 0)
        mcp__input_rerun(req);
}

void mcp__input_send_legacy(mcp_request *req)
{
    struct mcp__input *input = req->input;
    mcp_channel *channel = req->in.channel;
    const mcp__session *session = channel->state;
    req->state = MCP__REQUEST_WAITING;
    input->held = !session->initialized;
    if (input->held) {
        mcp__deadline_start(req);
        return;
    }
    for (mcp__link *l = input->questions.next; l != &input->questions; l = l->next) {
        mcp__question *q = mcp__container(l, mcp__question, link);
        int rc =
            mcp__channel_request(channel, req->in.exchange, q->method, q->params,
                                 req->server->options.input_timeout_ms, take_answer, q, &q->id);
        if (rc != MCP_OK) {
            mcp__input_give_up(req, rc);
            return;
        }
        input->n_sent++;
    }
}

/* Before notifications/initialized, a server should send no requests except pings (2025-11-25,
 * basic/lifecycle). */
void mcp__input_send_held(mcp__session *session)
{
    mcp_channel *channel = session->channel;
    for (mcp__link *l = channel->in_flight.next; l != &channel->in_flight;) {
        mcp__incoming *in = mcp__container(l, mcp__incoming, link);
        mcp_request *req = mcp__container(in, mcp_request, in);
        l = l->next;
        if (mcp__input_is_held(req))
            mcp__input_send_legacy(req);
    }
}
