/* request.c: what a handler may ask of its request, its life, work elsewhere. */
#include "server/core/build.h"
#include "server/core/method.h"
#include "server/core/request.h"
#include "server/input/input.h"
#include "server/tasks/tasks.h"

const char *mcp_request_revision(const mcp_request *req)
{
    return req->revision->name;
}

const char *mcp_request_method(const mcp_request *req)
{
    return req->method ? req->method->name : "";
}

const mcp_json *mcp_request_params(const mcp_request *req)
{
    return req->in.message.params;
}

const mcp_json *mcp_request_meta(const mcp_request *req)
{
    return mcp_json_get(req->in.message.params, "_meta");
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

/* What a client says of itself: in each request, or once, in `initialize`. */
static const mcp_json *said_by_client(const mcp_request *req, const char *modern,
                                      const char *legacy)
{
    if (req->revision->modern)
        return mcp_json_get(mcp_request_meta(req), modern);
    const mcp__session *session = mcp__request_session(req);
    return session && session->initialize ? mcp_json_get(mcp_json_root(session->initialize), legacy)
                                          : NULL;
}

const mcp_json *mcp_request_client_capabilities(const mcp_request *req)
{
    return said_by_client(req, MCP__META_CAPABILITIES, "capabilities");
}

const mcp_json *mcp_request_client_info(const mcp_request *req)
{
    return said_by_client(req, MCP__META_CLIENT_INFO, "clientInfo");
}

/* An object, however empty; roots.listChanged of legacy revisions is a boolean. */
static bool is_declared(const mcp_json *capability)
{
    return mcp_json_is(capability, MCP_JSON_OBJECT) || mcp_json_bool(capability, false);
}

/* What a revision does not have is not there, whatever a client says. */
static bool exists(const mcp__revision *r, mcp_str group, mcp_str member)
{
    if (mcp_str_eq(group, MCP_STR("elicitation")))
        return r->elicitation && (r->elicitation_modes || !mcp_str_eq(member, MCP_STR("url")));
    if (mcp_str_eq(group, MCP_STR("sampling")) && mcp_str_eq(member, MCP_STR("tools")))
        return r->sampling_tools;
    return true;
}

static bool declares(const mcp_request *req, mcp_str group, mcp_str member)
{
    const mcp_json *found = mcp_json_get_str(mcp_request_client_capabilities(req), group);
    if (!exists(req->revision, group, member))
        return false;
    if (!is_declared(found) || !member.len)
        return is_declared(found);
    /* As clients said it before there were modes (2026-07-28, client/elicitation, "Capabilities"). */
    if (mcp_str_eq(group, MCP_STR("elicitation")) && mcp_str_eq(member, MCP_STR("form")) &&
        (mcp_json_count(found) == 0 || !req->revision->elicitation_modes))
        return true;
    return is_declared(mcp_json_get_str(found, member));
}

/* "elicitation.url": the group, and what is behind the first dot. False: there is no name. */
static bool split_capability(const char *capability, mcp_str *group, mcp_str *member)
{
    *group = mcp_str_from(capability);
    *member = (mcp_str){0};
    const char *dot = group->len ? memchr(group->ptr, '.', group->len) : NULL;
    if (dot) {
        *member = mcp__str_sub(*group, (size_t)(dot - group->ptr) + 1);
        group->len = (size_t)(dot - group->ptr);
    }
    return group->len && (!dot || member->len);
}

bool mcp_request_can(const mcp_request *req, const char *capability)
{
    mcp_str group, member;
    return split_capability(capability, &group, &member) && declares(req, group, member);
}

/* {"requiredCapabilities":{"sampling":{"tools":{}}}} */
static mcp_str required_data(mcp_request *req, mcp_str group, mcp_str member)
{
    mcp__buf b;
    mcp__buf_init(&b, &req->server->allocator, SIZE_MAX);
    mcp__buf_lit(&b, "{\"requiredCapabilities\":{");
    mcp__json_put_str(&b, group);
    mcp__buf_lit(&b, ":{");
    if (member.len) {
        mcp__json_put_str(&b, member);
        mcp__buf_lit(&b, ":{}");
    }
    mcp__buf_lit(&b, "}}}");
    mcp_str data = {0};
    if (!b.failed)
        data = mcp_str_from(mcp_request_strdup(req, mcp__buf_view(&b)));
    mcp__buf_free(&b);
    return data;
}

int mcp_request_require(mcp_request *req, const char *capability)
{
    mcp_str group, member;
    if (!split_capability(capability, &group, &member))
        return MCP_EINVAL;
    if (declares(req, group, member))
        return MCP_OK;
    /* Without its data the error would not be what the specification says that it is. */
    mcp_str data = required_data(req, group, member);
    if (!data.ptr)
        return MCP_ENOMEM;
    if (!exists(req->revision, group, member))
        return mcp_reply_fail_data(
            req, req->revision->undeclared, data.ptr,
            "This needs the capability %s, which revision %s of the protocol "
            "does not have: connect with a later one",
            capability, req->revision->name);
    return mcp_reply_fail_data(req, req->revision->undeclared, data.ptr,
                               "This needs the capability %s, which the client did not declare",
                               capability);
}

const char *mcp_request_principal(const mcp_request *req)
{
    if (req->task)
        return mcp__task_principal(req->task);
    return req->in.channel ? req->in.channel->options.principal : NULL;
}

mcp_str mcp__request_principal_str(const mcp_request *req)
{
    return mcp_str_from(mcp_request_principal(req));
}

bool mcp_request_cancelled(const mcp_request *req)
{
    return req->cancelled;
}

void mcp_request_on_cancel(mcp_request *req, void (*fn)(mcp_request *req, void *user), void *user)
{
    req->on_cancel = fn;
    req->on_cancel_user = user;
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
        if (!req->failed)
            req->failed = MCP_ENOMEM;
        return (mcp_str){0};
    }
    return (mcp_str){copy, s.len};
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

void mcp__request_clear(mcp_request *req)
{
    mcp__deadline_stop(req);
    mcp__usage_end(req);
    mcp__hold_end(req);
    if (req->entry)
        mcp__entry_unref(req->entry);
    mcp_uri_match_free(req->match);
    mcp__build_give(req);
    mcp__input_clear(req);
    if (req->in.channel)
        mcp__channel_give_buf(req->in.channel, &req->out);
    else
        mcp__buf_free(&req->out);
    mcp__buf_free(&req->meta);
    if (req->waiter.prev)
        mcp__list_remove(&req->waiter);
    if (req->task)
        mcp__task_release(req->task);
    req->task = NULL;
    mcp__arena_free(&req->arena);
}

/* ---- work elsewhere ------------------------------------------------------------------------------------- */

typedef struct work {
    mcp_request *req;
    void (*work)(void *user);
    void (*done)(mcp_request *req, void *user);
    void *user;
} work;

static void work_run(void *arg)
{
    work *w = arg;
    w->work(w->user);
}

static void work_done(void *arg)
{
    work *w = arg;
    w->done(w->req, w->user);
}

int mcp_request_work(mcp_request *req, void (*fn)(void *user),
                     void (*done)(mcp_request *req, void *user), void *user)
{
    const mcp_server *server = req->server;
    if (!server->has_host || !server->host.work) {
        fn(user);
        done(req, user);
        return MCP_PENDING;
    }
    work *w = mcp_request_alloc(req, sizeof(*w));
    if (!w)
        return MCP_ENOMEM;
    *w = (work){req, fn, done, user};
    bool is_long = req->method->slow && server->host.work_long;
    int rc = (is_long ? server->host.work_long : server->host.work)(work_run, work_done, w,
                                                                    server->host.user);
    if (rc == MCP_ELIMIT)
        return mcp_reply_fail_data(req, MCP__INTERNAL_ERROR, "{\"retryAfterMs\":1000}",
                                   "Internal error: too much work is waiting: try again later");
    return rc < 0 ? rc : MCP_PENDING;
}

bool mcp__request_stop(mcp_request *req)
{
    bool waits = mcp__hold_waits(req);
    if (!req->on_cancel && !waits)
        return false;
    mcp__request_state state = req->state;
    req->state = MCP__REQUEST_RUNNING; /* what finishes it now has to wait */
    if (req->on_cancel)
        req->on_cancel(req, req->on_cancel_user);
    if (waits)
        mcp__hold_cancel(req);
    req->state = state;
    if (!req->finished || state != MCP__REQUEST_PENDING)
        return false;
    req->finished = false;
    mcp__request_finish(req, req->outcome);
    return true;
}

void mcp_reply_finish(mcp_request *req, int outcome)
{
    if (req->state == MCP__REQUEST_RUNNING) {
        /* Within the handler, which still has to return MCP_PENDING. */
        req->finished = true;
        req->outcome = outcome;
        return;
    }
    req->state = MCP__REQUEST_RUNNING;
    req->deadline.alive = true;
    if (outcome == MCP_OK && !req->cancelled && req->method->resume) {
        mcp__build_take(req);
        outcome = req->method->resume(req);
    }
    mcp__request_finish(req, outcome);
}
