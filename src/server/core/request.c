/* request.c: the path of a request from its message to its end. Finds the method of the request, runs
 * it, and acts on its outcome. The last part has the functions with which handlers examine a request.
 * era.c finds the revision.
 */
#include <stdio.h>

#include "server/core/audit.h"
#include "server/core/build.h"
#include "server/core/request.h"
#include "server/input/input.h"
#include "server/methods/left_out.h"
#include "server/tasks/tasks.h"

/* ---- the method ----------------------------------------------------------------------------- */

static const mcp__method *find_method(mcp_str name)
{
    const mcp__method *method = &mcp__methods[mcp__method_find(name)];
    return method->run ? method : NULL;
}

static bool is_offered(const mcp_server *server, const mcp__method *method)
{
    switch (method->needs) {
    case MCP__NEEDS_NOTHING: return true;
    case MCP__NEEDS_SUBSCRIBE:
        return mcp__server_offers(server, MCP__RESOURCES) && !server->options.no_subscribe;
    case MCP__NEEDS_LOGGING: return mcp__server_logs(server);
    case MCP__NEEDS_TASKS: return server->tasks != NULL;
    case MCP__NEEDS_COMPLETION: return mcp__server_completes(server);
    default: return mcp__server_offers(server, (mcp__kind)method->needs);
    }
}

/* Returns whether the request carries answers to input requests. */
static bool has_input(const mcp_request *req)
{
    const mcp_json *params = req->in.message.params;
    return req->method->again && req->revision->input_results &&
           (mcp__json_member(params, "inputResponses") || mcp__json_member(params, "requestState"));
}

static const char no_audit[] = "The server cannot answer now: its audit log cannot be written";
#define NO_AUDIT_DATA "{\"retryAfterMs\":1000}"

static void run_method(mcp_request *req)
{
    mcp_str name = req->in.message.method;
    const mcp__method *method = find_method(name);
    int outcome;
    if (mcp__audit_fails(req->server, method)) {
        outcome = mcp_reply_fail_data(req, MCP__INTERNAL_ERROR, NO_AUDIT_DATA, "%s", no_audit);
    } else if (method && (method->revisions & mcp__revision_bit(req->revision)) &&
               is_offered(req->server, method)) {
        req->method = method;
        if (!method->long_lived)
            mcp__build_take(req);
        outcome = method->limited ? mcp__rate_take(req, method->rate) : MCP_OK;
        if (outcome == MCP_OK && req->server->rates_hook)
            outcome = mcp__rate_ask(req);
        if (outcome == MCP_OK && has_input(req))
            outcome = mcp__input_open(req);
        if (outcome == MCP_OK)
            outcome = method->run(req);
    } else if (method || (outcome = mcp__run_other(req)) == MCP_ENOTFOUND) {
        outcome =
            mcp_reply_fail(req, MCP__METHOD_NOT_FOUND,
                           "Method not found: %.*s is not offered by this server in revision %s",
                           mcp__shown(name), name.ptr, req->revision->name);
    }
    mcp__request_finish(req, outcome);
}

void mcp__request_receive(mcp__incoming *in)
{
    mcp_request *req = mcp__container(in, mcp_request, in);
    mcp__session *session = in->channel->state;
    req->server = session->server;
    req->identity = in->channel->options.identity;
    if (req->identity)
        mcp_identity_ref(req->identity);
    if (session->initialized && session->legacy.identity != req->identity)
        mcp__stream_adopt(&session->legacy);
    mcp__arena_init(&req->arena, in->allocator, NULL, 0);
    mcp__buf_init(&req->reply.out, in->allocator, 0);
    if (mcp__audit_wanted(req->server))
        mcp__audit_begin(req);
    const mcp__revision *revision = mcp__request_find_revision(req);
    if (!revision) {
        req->in.malformed = true;
        mcp__request_finish(req, MCP_EINVAL);
        return;
    }
    req->revision = revision;
    int rc = in->channel->options.trusted_parent ? mcp__request_take_caller(req) : MCP_OK;
    if (rc == MCP_OK)
        run_method(req);
    else
        mcp__request_finish(req, rc);
}

/* ---- the end of a request ------------------------------------------------------------------- */

void mcp__request_clear(mcp_request *req)
{
    mcp_request_set_data(req, NULL, NULL);
    if (req->deadline.session)
        mcp__deadline_stop(req);
    if (req->repeat)
        mcp__repeat_stop(req);
    if (mcp__audit_wanted(req->server))
        mcp__audit_end(req);
    if (req->used.operation)
        mcp__change_count(req);
    if (req->used.meter)
        mcp__usage_end(req);
    if (req->hold)
        mcp__hold_end(req);
    if (req->page.begun)
        mcp__end_list(req);
    if (req->page.given_up)
        mcp__left_out_ended(req);
    if (req->target.entry)
        mcp__entry_unref(req->target.entry);
    mcp_uri_match_free(req->target.match);
    mcp__build_give(req);
    if (req->input)
        mcp__input_clear(req);
    if (req->in.channel)
        mcp__channel_give_buf(req->in.channel, &req->reply.out);
    else
        mcp__buf_free(&req->reply.out);
    mcp__buf_free(&req->reply.meta.text);
    mcp__buf_free(&req->reply.extra.text);
    if (req->waiter.prev)
        mcp__list_remove(&req->waiter);
    if (req->task)
        mcp__task_release(req->task);
    req->task = NULL;
    if (req->identity)
        mcp_identity_unref(req->identity);
    req->identity = NULL;
    mcp__arena_free(&req->arena);
}

void mcp__request_send(mcp_request *req, mcp__buf *message)
{
    mcp__incoming *in = &req->in;
    mcp_channel *channel = in->channel;
    mcp__buf out = *message;
    int rc = out.failed;
    const mcp_server *server = req->server;
    const mcp__method *method = req->method;
    req->used.answer = rc == MCP_OK ? out.len : 0;
    mcp__request_clear(req);
    if (mcp__audit_fails(server, method))
        mcp__incoming_error(in, MCP__INTERNAL_ERROR, mcp_str_from(no_audit),
                            MCP_STR(NO_AUDIT_DATA));
    else if (rc == MCP_OK)
        mcp__incoming_reply(in, mcp__buf_view(&out), 0);
    else
        mcp__incoming_error(in, MCP__INTERNAL_ERROR, mcp_str_from(mcp_error_text(rc)),
                            (mcp_str){0});
    mcp__channel_give_buf(channel, &out);
}

static void drop(mcp_request *req)
{
    mcp__request_clear(req);
    mcp__incoming_drop(&req->in);
}

void mcp__request_finish(mcp_request *req, int outcome)
{
    if (outcome == MCP_PENDING && req->finish.called) {
        req->finish.called = false;
        outcome = req->finish.outcome;
    }
    if (outcome == MCP_PENDING) {
        req->state = req->stream        ? MCP__REQUEST_LISTENING
                     : req->waiter.prev ? MCP__REQUEST_WAITING
                                        : MCP__REQUEST_PENDING;
        if (req->stream)
            mcp__listen_shrink(req);
        else if (!req->waiter.prev)
            mcp__deadline_start(req);
        return;
    }
    if (req->repeat)
        mcp__repeat_stop(req);
    bool is_disconnected = !req->task && (!req->in.channel || req->in.channel->closed);
    if (req->cancelled || is_disconnected) {
        drop(req);
        return;
    }
    if (outcome == MCP_INPUT_REQUIRED && !req->error.code && !req->reply.failed) {
        mcp__hold_end(req);
        mcp__input_deliver(req);
        return;
    }
    if (outcome >= 0 && req->reply.failed)
        outcome = req->reply.failed;
    if (outcome >= 0 && !req->error.code && req->method->check)
        outcome = req->method->check(req);
    if (outcome < 0 || req->error.code) {
        mcp__reply_send_error(req, outcome);
    } else {
        mcp__reply_send_result(req);
    }
}

bool mcp__request_stop(mcp_request *req)
{
    bool waits = mcp__hold_waits(req), repeats = mcp__repeat_stop(req);
    if (!req->on_cancel.fn && !waits && !repeats)
        return false;
    mcp__request_state state = req->state;
    /* Defers mcp_reply_finish() until the calls below have returned. */
    req->state = MCP__REQUEST_RUNNING;
    if (req->on_cancel.fn)
        req->on_cancel.fn(req, req->on_cancel.user);
    if (waits)
        mcp__hold_cancel(req);
    if (repeats && !req->finish.called)
        mcp_reply_finish(req, MCP_ECANCELLED);
    req->state = state;
    if (!req->finish.called || state != MCP__REQUEST_PENDING)
        return false;
    req->finish.called = false;
    mcp__request_finish(req, req->finish.outcome);
    return true;
}

/* ---- what handlers may read ----------------------------------------------------------------- */

const char *mcp_request_revision(const mcp_request *req)
{
    return req->revision->name;
}

bool mcp_request_is_modern(const mcp_request *req)
{
    return req->revision->modern;
}

const char *mcp_request_method(const mcp_request *req)
{
    if (req->method == &mcp__methods[MCP__METHOD_OTHER])
        return req->in.message.method.ptr;
    return req->method ? mcp__method_row_of(req->method)->name.ptr : "";
}

const mcp_json *mcp_request_params(const mcp_request *req)
{
    return req->in.message.params;
}

const mcp_json *mcp_request_meta(const mcp_request *req)
{
    return req->in.message.meta;
}

mcp__session *mcp__request_session(const mcp_request *req)
{
    if (req->task)
        return mcp__task_session(req->task);
    return req->in.channel ? req->in.channel->state : NULL;
}

mcp_channel *mcp__request_channel(const mcp_request *req)
{
    const mcp__session *session = mcp__request_session(req);
    return session && !session->channel->closed ? session->channel : NULL;
}

const char *mcp_request_principal(const mcp_request *req)
{
    return mcp_identity_principal(req->identity);
}

const char *mcp_request_binding(const mcp_request *req)
{
    return mcp_identity_binding(req->identity);
}

mcp_identity *mcp_request_identity(const mcp_request *req)
{
    return req->identity;
}

mcp_str mcp__request_binding(const mcp_request *req)
{
    return mcp_str_from(mcp_request_binding(req));
}

bool mcp_request_restricted(const mcp_request *req)
{
    return req->server->access.may != NULL &&
           (!req->caller || mcp_json_bool(mcp_json_get(req->caller, "restricted"), true));
}

bool mcp_request_cancelled(const mcp_request *req)
{
    return req->cancelled;
}

void mcp_request_on_cancel(mcp_request *req, void (*fn)(mcp_request *req, void *user), void *user)
{
    req->on_cancel.fn = fn;
    req->on_cancel.user = user;
}

void mcp_request_set_data(mcp_request *req, void *data, void (*release)(void *data))
{
    void *before = req->own.data;
    void (*fn)(void *data) = req->own.release;
    req->own.data = data;
    req->own.release = release;
    if (fn)
        fn(before);
}

void *mcp_request_data(const mcp_request *req)
{
    return req->own.data;
}

void *mcp_request_alloc(mcp_request *req, size_t size)
{
    return mcp__arena_alloc(&req->arena, size);
}

char *mcp_request_strdup(mcp_request *req, mcp_str s)
{
    return mcp__arena_strdup(&req->arena, s);
}

mcp_str mcp__request_copy(mcp_request *req, mcp_str s)
{
    char *copy = mcp__arena_strdup(&req->arena, s);
    if (!copy) {
        if (!req->reply.failed)
            req->reply.failed = MCP_ENOMEM;
        return (mcp_str){0};
    }
    return (mcp_str){copy, s.len};
}

mcp_str mcp__request_format(mcp_request *req, const char *format, va_list args)
{
    char small[512];
    va_list args_copy;
    va_copy(args_copy, args);
    int len = vsnprintf(small, sizeof(small), format, args);
    mcp_str text = {0};
    if (len >= 0 && (size_t)len < sizeof(small)) {
        text = mcp__request_copy(req, (mcp_str){small, (size_t)len});
    } else if (len >= 0) {
        char *to = mcp_request_alloc(req, (size_t)len + 1);
        if (to) {
            vsnprintf(to, (size_t)len + 1, format, args_copy);
            text = (mcp_str){to, (size_t)len};
        }
    }
    va_end(args_copy);
    if (!text.ptr && !req->reply.failed)
        req->reply.failed = MCP_ENOMEM;
    return text;
}

mcp_str mcp__param_string(mcp_request *req, const char *name)
{
    const mcp_json *value = mcp_json_get(req->in.message.params, name);
    if (mcp_json_is(value, MCP_JSON_STRING))
        return mcp_json_string(value);
    mcp_reply_fail(req, MCP__INVALID_PARAMS, "Invalid params: \"%s\" must be a string%s", name,
                   value ? "" : ", and is missing");
    return (mcp_str){0};
}
