/* request.c: the path of a request from its message to its end. Finds the revision and the method
 * of the request, runs the method, and acts on its outcome. The last part has the functions with
 * which handlers examine a request.
 *
 * The _meta of a modern request describes it completely. A legacy request has the revision that
 * `initialize` negotiated. One channel serves both kinds at the same time.
 */
#include <stdio.h>

#include "server/core/audit.h"
#include "server/core/build.h"
#include "server/core/mirror.h"
#include "server/core/request.h"
#include "server/input/input.h"
#include "server/methods/methods.h"
#include "server/tasks/tasks.h"

/* ---- the revision --------------------------------------------------------------------------- */

int mcp__request_check_info(mcp_request *req, const mcp_json *info, const char *where)
{
    static const mcp_str members[] = {{"name", 4}, {"version", 7}};
    if (!mcp_json_is(info, MCP_JSON_OBJECT))
        return mcp_reply_fail(req, MCP__INVALID_PARAMS, "Invalid params: %s must be an object",
                              where);
    for (size_t i = 0; i < MCP__COUNT(members); i++) {
        if (!mcp_json_is(mcp_json_get_str(info, members[i]), MCP_JSON_STRING))
            return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                                  "Invalid params: %s needs \"%s\", a string", where,
                                  members[i].ptr);
    }
    return MCP_OK;
}

static int check_token(mcp_request *req, const mcp_json *token)
{
    if (!token || mcp__is_id(token))
        return MCP_OK;
    return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                          "Invalid params: _meta \"progressToken\" must be a string or an integer");
}

/* The members of a modern _meta that are checked; NULL if missing. */
typedef struct meta_members {
    const mcp_json *version, *capabilities, *info, *token, *level;
} meta_members;

static meta_members read_meta(const mcp_json *meta)
{
    static const struct {
        mcp_str key;
        size_t member;
    } known[] = {
        {{MCP__META_REVISION, sizeof(MCP__META_REVISION) - 1}, offsetof(meta_members, version)},
        {{MCP__META_CLIENT_INFO, sizeof(MCP__META_CLIENT_INFO) - 1}, offsetof(meta_members, info)},
        {{MCP__META_CAPABILITIES, sizeof(MCP__META_CAPABILITIES) - 1},
         offsetof(meta_members, capabilities)},
        {{"progressToken", 13}, offsetof(meta_members, token)},
        {{MCP__META_LOG_LEVEL, sizeof(MCP__META_LOG_LEVEL) - 1}, offsetof(meta_members, level)},
    };
    meta_members m = {0};
    mcp_json_iter it = {0};
    mcp_str key = {0}; /* stays empty if meta is an array */
    for (const mcp_json *v; (v = mcp_json_next(meta, &it, &key)) != NULL;) {
        for (size_t i = 0; i < MCP__COUNT(known); i++) {
            if (mcp_str_eq(key, known[i].key)) {
                *(const mcp_json **)(void *)((char *)&m + known[i].member) = v;
                break;
            }
        }
    }
    return m;
}

/* Checks the _meta of a modern request. Returns its revision, or NULL after setting an error. */
static const mcp__revision *modern_revision(mcp_request *req, const mcp_json *meta)
{
    const meta_members m = read_meta(meta);
    bool has_headers = req->in.channel->options.header != NULL;
    req->revision = mcp__revision_newest(true);
    if (has_headers && mcp__mirror_check_revision(req) != MCP_OK)
        return NULL;
    if (!mcp_json_is(m.version, MCP_JSON_STRING)) {
        mcp_reply_fail(req, MCP__INVALID_PARAMS,
                       "Invalid params: _meta \"" MCP__META_REVISION "\" must be a string");
        return NULL;
    }
    mcp_str name = mcp_json_string(m.version);
    const mcp__revision *r = mcp__revision_find(name);
    if (!r || !r->modern) {
        mcp__buf data;
        mcp__buf_init(&data, &req->server->allocator, SIZE_MAX);
        mcp__buf_lit(&data, "{\"supported\":");
        mcp__put_modern_revisions(&data);
        mcp__buf_lit(&data, ",\"requested\":");
        mcp__json_put_str(&data, name);
        mcp__buf_add(&data, "}", 2);
        mcp_reply_fail_data(req, MCP__UNSUPPORTED_REVISION, data.failed ? NULL : data.ptr,
                            "Unsupported protocol version");
        mcp__buf_free(&data);
        return NULL;
    }
    if (!mcp_json_is(m.capabilities, MCP_JSON_OBJECT)) {
        mcp_reply_fail(req, MCP__INVALID_PARAMS,
                       "Invalid params: _meta \"" MCP__META_CAPABILITIES
                       "\" must be an object; every request of revision %s must have it",
                       r->name);
        return NULL;
    }
    if (m.info &&
        mcp__request_check_info(req, m.info, "_meta \"" MCP__META_CLIENT_INFO "\"") != MCP_OK)
        return NULL;
    if (check_token(req, m.token) != MCP_OK)
        return NULL;
    if (m.level && mcp__log_level(mcp_json_string(m.level)) < 0) {
        mcp_reply_fail(req, MCP__INVALID_PARAMS,
                       "Invalid params: _meta \"" MCP__META_LOG_LEVEL "\" is not a log level");
        return NULL;
    }
    return !has_headers || mcp__mirror_check_method(req) == MCP_OK ? r : NULL;
}

/* Returns the revision of a request that names no revision and arrives before a session has begun.
 * Sets an error and returns NULL if the method is not allowed before a session. */
static const mcp__revision *early_revision(mcp_request *req)
{
    mcp_str method = req->in.message.method;
    req->revision = mcp__revision_newest(false);
    if (mcp_str_eq(method, MCP_STR("initialize")) || mcp_str_eq(method, MCP_STR("ping")))
        return req->revision;
    mcp__buf supported;
    mcp__buf_init(&supported, &req->server->allocator, SIZE_MAX);
    for (size_t i = 0; i < MCP__REVISIONS; i++)
        mcp__buf_printf(&supported, "%s%s", i ? ", " : "", mcp__revisions[i].name);
    mcp_reply_fail(req, MCP__INVALID_PARAMS,
                   "Invalid params: the request has no _meta with \"" MCP__META_REVISION
                   "\" and \"" MCP__META_CAPABILITIES
                   "\", and initialize was not received; the server supports %.*s",
                   supported.failed ? 0 : (int)supported.len, supported.ptr);
    mcp__buf_free(&supported);
    return NULL;
}

static const mcp__revision *legacy_revision(mcp_request *req, const mcp_json *meta)
{
    const mcp__session *session = req->in.channel->state;
    req->revision = session->revision ? session->revision : mcp__revision_newest(true);
    if (meta && !mcp_json_is(meta, MCP_JSON_OBJECT)) {
        mcp_reply_fail(req, MCP__INVALID_PARAMS, "Invalid params: \"_meta\" must be an object");
        return NULL;
    }
    if (!session->revision)
        return early_revision(req);
    return check_token(req, mcp__json_member(meta, "progressToken")) == MCP_OK ? session->revision
                                                                               : NULL;
}

/* Returns the revision of a request, or NULL after setting an error. req->revision is set in both
 * cases, because it determines the form of the error. */
static const mcp__revision *find_revision(mcp_request *req)
{
    const mcp_json *params = req->in.message.params;
    const mcp_json *meta = mcp__json_member(params, "_meta");
    if (!req->in.modern)
        return legacy_revision(req, meta);
    if (req->in.batch) {
        req->revision = mcp__revision_newest(true);
        mcp_reply_fail(req, MCP__INVALID_REQUEST, "Invalid request: revision %s has no batches",
                       req->revision->name);
        return NULL;
    }
    return modern_revision(req, meta);
}

/* ---- the method ----------------------------------------------------------------------------- */

static const mcp__method *find_method(mcp_str name)
{
    for (size_t i = 0; i < mcp__methods_count; i++) {
        if (mcp_str_eq(name, mcp_str_from(mcp__methods[i].name)))
            return &mcp__methods[i];
    }
    return NULL;
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

static void run_method(mcp_request *req)
{
    mcp_str name = req->in.message.method;
    const mcp__method *method = find_method(name);
    int outcome;
    if (method && (method->revisions & mcp__revision_bit(req->revision)) &&
        is_offered(req->server, method)) {
        req->method = method;
        if (!method->long_lived)
            mcp__build_take(req);
        outcome = method->limited ? mcp__rate_take(req, method->rate) : MCP_OK;
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
    if (req->server->audit.ended)
        mcp__audit_begin(req);
    const mcp__revision *revision = find_revision(req);
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
    if (req->server->audit.ended)
        mcp__audit_end(req);
    if (req->used.meter)
        mcp__usage_end(req);
    if (req->hold)
        mcp__hold_end(req);
    if (req->page.begun)
        mcp__end_list(req);
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
    mcp__request_clear(req);
    if (rc == MCP_OK)
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
    if (req->method == &mcp__method_other)
        return req->in.message.method.ptr;
    return req->method ? req->method->name : "";
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
    if (req->task)
        return mcp__task_principal(req->task);
    return req->identity ? mcp_identity_principal(req->identity) : NULL;
}

mcp_identity *mcp_request_identity(const mcp_request *req)
{
    return req->identity;
}

mcp_str mcp__request_principal_str(const mcp_request *req)
{
    return mcp_str_from(mcp_request_principal(req));
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
