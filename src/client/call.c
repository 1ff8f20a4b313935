/* call.c: the life cycle of a call: it is queued until the client has started, sent, and finished
 * or cancelled. params.c creates a call, and answer.c handles its answer.
 *
 * A call may be sent more than once: for the pages of a list, for rounds of questions, or in a new
 * session. It is always in exactly one of the client's lists.
 */
#include "client/client.h"

void mcp__call_free(mcp__call *call)
{
    if (!call)
        return;
    const mcp_allocator *a = call->client->allocator;
    mcp__list_remove(&call->link);
    mcp__buf_free(&call->params);
    mcp__buf_free(&call->input);
    mcp__buf_free(&call->capabilities);
    mcp__pages_free(call->pages);
    mcp__call_task_free(call);
    mcp__release(a, call->reason);
    mcp_json_free(call->outcome);
    mcp__release(a, call->error);
    mcp__release(a, call);
}

/* ---- phases --------------------------------------------------------------------------------- */

void mcp__call_move(mcp__call *call, mcp__call_phase phase)
{
    mcp_client *client = call->client;
    mcp__link *const lists[] = {[MCP__CALL_QUEUED] = &client->calls.queue,
                                [MCP__CALL_SENT] = &client->calls.sent,
                                [MCP__CALL_PARKED] = &client->calls.parked,
                                [MCP__CALL_FINISHED] = &client->calls.finished};
    mcp__list_remove(&call->link);
    mcp__list_append(lists[phase], &call->link);
    call->phase = phase;
}

static mcp__call *find_in(mcp__link *list, mcp_call_id handle)
{
    for (mcp__link *l = list->next; l != list; l = l->next) {
        mcp__call *call = mcp__container(l, mcp__call, link);
        if (call->handle == handle && !call->notification)
            return call;
    }
    return NULL;
}

mcp__call *mcp__call_find(mcp_client *client, mcp_call_id handle)
{
    mcp__call *call = find_in(&client->calls.sent, handle);
    if (!call)
        call = find_in(&client->calls.queue, handle);
    return call ? call : find_in(&client->calls.parked, handle);
}

mcp__call *mcp__call_finished(mcp_client *client, mcp_call_id handle)
{
    return find_in(&client->calls.finished, handle);
}

/* ---- finishing ------------------------------------------------------------------------------ */

static void keep(mcp__call *call, int rc, const mcp_json *result, const mcp_error *error)
{
    call->rc = rc;
    if (error)
        *call->error = *error;
    if (result && mcp__client_copy(call->client, result, &call->outcome) != MCP_OK)
        call->rc = mcp__fail(call->error, MCP_ENOMEM, 0, "%s", mcp_error_text(MCP_ENOMEM));
    mcp__call_move(call, MCP__CALL_FINISHED);
}

void mcp__call_finish(mcp__call *call, int rc, const mcp_json *result, const mcp_error *error)
{
    mcp_client *client = call->client;
    mcp_error why = {0}; /* a copy, because `error` may be part of the call */
    mcp__round_drop(call);
    if (call->cancelled) {
        client->calls.cancelled--;
        call->cancelled = false;
        rc = mcp__fail(&why, MCP_ECANCELLED, 0, "%s",
                       call->reason ? call->reason : mcp_error_text(MCP_ECANCELLED));
        result = NULL;
    } else if (rc < 0 && error) {
        why = *error;
    } else if (rc < 0) {
        mcp__fail(&why, rc, 0, "%s", mcp_error_text(rc));
    }
    if (call->task && mcp__call_task_end(call, &rc, &why))
        return;
    error = rc >= 0 ? NULL : &why;
    if (call->keep) {
        keep(call, rc, result, error);
        return;
    }
    mcp_result_fn *fn = call->options.done;
    void *user = call->options.user;
    mcp__call_free(call);
    if (fn)
        fn(client, rc, result, error, user);
}

void mcp__call_fail(mcp__call *call, int rc)
{
    mcp_error error;
    mcp__fail(&error, rc, 0, "%s", mcp_error_text(rc));
    mcp__call_finish(call, rc, NULL, &error);
}

/* ---- sending --------------------------------------------------------------------------------- */

static mcp_str method_of(const mcp__call *call)
{
    if (call->ping && call->client->revision->modern)
        return MCP_STR("server/discover");
    return call->method;
}

static int send(mcp__call *call)
{
    mcp_client *client = call->client;
    const mcp__tool *tool = NULL;
    call->as_task = mcp__call_task_is_wanted(call);
    mcp__buf b = mcp__channel_take_buf(client->channel);
    mcp__call_put_params(call, &b);
    int rc = b.failed;
    if (mcp_str_eq(call->method, MCP_STR("tools/call")) && mcp__client_mirrors(client))
        tool = mcp__tools_find(client, call->name);
    const mcp__sending s = {.revision = client->revision,
                            .method = method_of(call),
                            .name = call->name,
                            .mirror = tool ? &tool->mirror : NULL,
                            .once = call->options.once,
                            .timeout_ms = mcp__call_time(call)};
    call->sent_at = mcp__client_now(client);
    if (mcp__list_empty(&client->calls.sent))
        client->connection.malformed =
            (mcp_error){0}; /* earlier output, such as a banner, is unrelated to this call */
    if (!call->repeats) {
        call->began_at = call->sent_at;
        call->deadline = 0;
    }
    call->changes = client->learnt.changes;
    if (rc == MCP_OK && call->notification)
        rc = mcp__client_notify(client, call->method, mcp__buf_view(&b));
    else if (rc == MCP_OK)
        rc = mcp__client_send(client, &s, mcp__buf_view(&b), mcp__call_answered, call, &call->id);
    mcp__channel_give_buf(client->channel, &b);
    if (rc == MCP_OK && !call->notification)
        mcp__call_move(call, MCP__CALL_SENT);
    return rc;
}

/* Answers the call from the cache, or sends it, or fails it. */
static void run(mcp__call *call)
{
    mcp_error error = {0};
    mcp_json_doc *cached = mcp__cache_get(call);
    if (cached) {
        mcp__channel_forget_text(call->client->channel); /* the text belongs to another answer */
        mcp__call_succeeded(call, mcp_json_root(cached));
        mcp_json_free(cached);
        return;
    }
    int rc = mcp__tools_check(call, &error);
    if (rc == MCP_OK)
        rc = send(call);
    if (rc != MCP_OK && !error.code)
        mcp__fail(&error, rc, 0, "%s", mcp_error_text(rc));
    if (rc != MCP_OK)
        mcp__call_finish(call, rc, NULL, &error);
    else if (call->notification)
        mcp__call_free(call);
}

static mcp__call *take_first(mcp__link *list)
{
    mcp__call *call = mcp__container(list->next, mcp__call, link);
    mcp__list_remove(&call->link);
    return call;
}

/* Initializes the list `to` and moves all calls of `from` to it. */
static void move_all(mcp__link *from, mcp__link *to)
{
    mcp__list_init(to);
    while (!mcp__list_empty(from))
        mcp__list_append(to, &take_first(from)->link);
}

void mcp__client_flush(mcp_client *client)
{
    /* Sends only the calls that are queued now, because an answer from the cache may queue more
     * calls. */
    size_t n = 0;
    for (mcp__link *l = client->calls.queue.next; l != &client->calls.queue; l = l->next)
        n++;
    for (; n && !mcp__list_empty(&client->calls.queue); n--) {
        mcp__call *call = mcp__container(client->calls.queue.next, mcp__call, link);
        if (client->state != MCP__CLIENT_READY)
            return;
        if (call->due > mcp__client_now(client) || call->cancelled)
            mcp__call_move(call, MCP__CALL_QUEUED); /* to the end of the queue */
        else
            run(call);
    }
}

int64_t mcp__client_calls_due(const mcp_client *client)
{
    int64_t due = INT64_MAX;
    for (mcp__link *l = client->calls.queue.next; l != &client->calls.queue; l = l->next)
        due = MCP__MIN(due, mcp__container(l, mcp__call, link)->due);
    for (mcp__link *l = client->calls.parked.next; l != &client->calls.parked; l = l->next)
        due = MCP__MIN(due, mcp__container(l, mcp__call, link)->due);
    return due;
}

void mcp__client_fail_waiting(mcp_client *client, int rc, const mcp_json *result,
                              const mcp_error *error)
{
    /* Fails only the calls that wait now, because a callback may create new calls. */
    mcp__link *const lists[] = {&client->calls.parked, &client->calls.queue};
    for (size_t i = 0; i < MCP__COUNT(lists); i++) {
        mcp__link failing;
        move_all(lists[i], &failing);
        while (!mcp__list_empty(&failing))
            mcp__call_finish(take_first(&failing), rc, result, error);
    }
}

/* ---- cancelling ----------------------------------------------------------------------------- */

static mcp__call *first_cancelled(mcp_client *client)
{
    mcp__link *const lists[] = {&client->calls.sent, &client->calls.parked, &client->calls.queue};
    for (size_t i = 0; i < MCP__COUNT(lists); i++) {
        for (mcp__link *l = lists[i]->next; l != lists[i]; l = l->next) {
            mcp__call *call = mcp__container(l, mcp__call, link);
            if (call->cancelled)
                return call;
        }
    }
    return NULL;
}

static void end_cancelled(mcp_client *client)
{
    while (client->calls.cancelled) {
        mcp__call *call = first_cancelled(client);
        if (!call)
            return; /* the cancelled call is being finished */
        if (call->phase == MCP__CALL_SENT && mcp__channel_forget(client->channel, call->id))
            mcp__client_give_up(client, call->id, call->reason);
        mcp__call_finish(call, MCP_ECANCELLED, NULL, NULL);
    }
}

void mcp__client_sweep(mcp_client *client)
{
    end_cancelled(client);
    for (mcp__link *l = client->calls.parked.next; l != &client->calls.parked;) {
        mcp__call *call = mcp__container(l, mcp__call, link);
        l = l->next;
        if (call->due <= mcp__client_now(client))
            mcp__round_overdue(call);
    }
}

void mcp__call_again(mcp__call *call, int64_t due)
{
    call->due = due;
    call->progressed = false;
    mcp__call_move(call, MCP__CALL_QUEUED);
    mcp__client_attend(call->client);
}

int mcp_client_cancel(mcp_client *client, mcp_call_id handle, const char *reason)
{
    if (!client || !handle)
        return MCP_EINVAL;
    mcp__call *call = mcp__call_finished(client, handle);
    if (call) {
        mcp__call_free(call);
        return MCP_OK;
    }
    call = mcp__call_find(client, handle);
    if (!call || call->cancelled)
        return MCP_ENOTFOUND;
    call->cancelled = true;
    client->calls.cancelled++;
    if (reason) /* if out of memory, no reason is sent */
        call->reason = mcp__strdup(client->allocator, mcp_str_from(reason));
    mcp__client_attend(client);
    return MCP_OK;
}

/* ---- public calls --------------------------------------------------------------------------- */

static int can_call(const mcp_client *client)
{
    if (client->state == MCP__CLIENT_LOST)
        return MCP_ECLOSED;
    return client->state == MCP__CLIENT_FAILED ? MCP_ESTATE : MCP_OK;
}

/* Returns whether a call can be sent at once: the client is ready, the current time is known, and
 * no other call is queued before this one. A failure to send is then returned to the caller. */
static bool can_send_now(const mcp__call *call)
{
    const mcp_client *client = call->client;
    return mcp__client_is_ready(client) && client->channel->in_use &&
           mcp__list_empty(&client->calls.queue) && !mcp__cache_has(call) &&
           !(call->name.len && mcp__client_mirrors(client));
}

int mcp__call_begin(mcp__call *call, mcp_call_id *ret)
{
    mcp_client *client = call->client;
    mcp_call_id handle = call->handle;
    int rc = can_call(client);
    if (rc == MCP_OK && ret && !call->options.done) {
        call->keep = true;
        call->error = mcp__zalloc(client->allocator, sizeof(*call->error));
        rc = call->error ? MCP_OK : MCP_ENOMEM;
    }
    if (rc == MCP_OK && can_send_now(call))
        rc = send(call);
    else if (rc == MCP_OK)
        mcp__call_again(call, 0);
    if (rc != MCP_OK)
        mcp__call_free(call);
    else if (ret)
        *ret = handle;
    return rc;
}

int mcp_client_request(mcp_client *client, const char *method, const char *params,
                       const mcp_call_options *options, mcp_call_id *ret)
{
    mcp__call *call = NULL;
    if (!client || !method || !*method)
        return MCP_EINVAL;
    int rc = can_call(client);
    if (rc == MCP_OK)
        rc = mcp__call_new(client, mcp_str_from(method), mcp_str_from(params), options, &call);
    return rc == MCP_OK ? mcp__call_begin(call, ret) : rc;
}

int mcp_client_call(mcp_client *client, const char *method, const char *params, mcp_result_fn *fn,
                    void *user)
{
    return mcp_client_request(client, method, params,
                              MCP_OPTIONS(mcp_call_options, .done = fn, .user = user), NULL);
}

int mcp_client_notify(mcp_client *client, const char *method, const char *params)
{
    mcp__call *call = NULL;
    if (!client || !method || !*method)
        return MCP_EINVAL;
    if (client->state != MCP__CLIENT_READY && client->state != MCP__CLIENT_STARTING)
        return MCP_ESTATE;
    int rc = mcp__call_new(client, mcp_str_from(method), mcp_str_from(params), NULL, &call);
    if (rc != MCP_OK)
        return rc;
    call->notification = true;
    mcp__call_again(call, 0);
    return MCP_OK;
}
