/* call.c: a call of ours from its making to its outcome: queued until the start is through, sent, taken
 * back, over. What comes back is judged in answer.c.
 *
 * The surprising thing: params are taken apart when the call is made, so that a bad one is refused to
 * the caller, and put together each time it is sent, because only then it is known what _meta has to
 * hold, and because a call may be sent more than once: pages, rounds of questions, a new session.
 */
#include "client/client.h"

/* ---- making ------------------------------------------------------------------------------------------ */

static bool is_ours(mcp_str key)
{
    return mcp_str_eq(key, MCP_STR(MCP__META_REVISION)) ||
           mcp_str_eq(key, MCP_STR(MCP__META_CLIENT_INFO)) ||
           mcp_str_eq(key, MCP_STR(MCP__META_CAPABILITIES));
}

static bool is_ours_or_token(mcp_str key)
{
    return is_ours(key) || mcp_str_eq(key, MCP_STR("progressToken"));
}

static bool is_meta(mcp_str key)
{
    return mcp_str_eq(key, MCP_STR("_meta"));
}

/* The members of an object, one after another, without those that are left out. */
static void put_members(mcp__buf *b, const mcp_json *object, bool (*left_out)(mcp_str key))
{
    size_t start = b->len;
    mcp_json_iter it = {0};
    mcp_str key;
    for (const mcp_json *v; (v = mcp_json_next(object, &it, &key)) != NULL;) {
        if (left_out(key))
            continue;
        if (b->len != start)
            mcp__buf_char(b, ',');
        mcp__json_put_str(b, key);
        mcp__buf_char(b, ':');
        mcp__json_put_value(b, v);
    }
}

static int parse_params(mcp_str params, const mcp_allocator *a, mcp_json_doc **ret)
{
    mcp_json_limits limits = {.size = sizeof(limits), .max_depth = MCP__JSON_DEEPEST};
    mcp_json_doc *doc = NULL;
    int rc = mcp_json_parse(params, &limits, a, &doc, NULL);
    if (rc != MCP_OK)
        return rc;
    const mcp_json *root = mcp_json_root(doc);
    const mcp_json *meta = mcp_json_get(root, "_meta");
    if (!mcp_json_is(root, MCP_JSON_OBJECT) || (meta && !mcp_json_is(meta, MCP_JSON_OBJECT))) {
        mcp_json_free(doc);
        return MCP_EINVAL;
    }
    *ret = doc;
    return MCP_OK;
}

/* The block of a call: the struct, the method and the name. */
static mcp__call *allocate(mcp_client *client, mcp_str method, mcp_str name)
{
    if (name.len > SIZE_MAX / 2 || method.len > SIZE_MAX / 4)
        return NULL;
    mcp__call *call = mcp__zalloc(client->allocator, sizeof(*call) + method.len + name.len + 2);
    if (!call)
        return NULL;
    char *at = (char *)(call + 1);
    call->client = client;
    call->method = (mcp_str){at, method.len};
    call->name = (mcp_str){at + method.len + 1, name.len};
    memcpy(at, method.ptr, method.len);
    if (name.len)
        memcpy(at + method.len + 1, name.ptr, name.len);
    mcp__list_init(&call->link);
    mcp__buf_init(&call->params, client->allocator, 0);
    mcp__buf_init(&call->input, client->allocator, 0);
    return call;
}

static int read_options(mcp__call *call, const mcp_call_options *given)
{
    mcp_call_options *o = &call->options;
    if (given)
        mcp__copy_options(o, sizeof(*o), given);
    if (o->log_level) {
        call->log_level = mcp__client_log_level(o->log_level);
        o->log_level = NULL;
        if (!call->log_level)
            return MCP_EINVAL;
    }
    if (!o->timeout_ms)
        o->timeout_ms = call->client->options.timeout_ms;
    if (!o->max_timeout_ms)
        o->max_timeout_ms = call->client->options.max_timeout_ms;
    if (!o->max_timeout_ms)
        o->max_timeout_ms =
            o->timeout_ms < MCP_NO_TIMEOUT / 10 ? 10 * o->timeout_ms : MCP_NO_TIMEOUT;
    return MCP_OK;
}

static void read_params(mcp__call *call, const mcp_json *root)
{
    put_members(&call->params, root, is_meta);
    call->members = call->params.len;
    const mcp_json *meta = mcp_json_get(root, "_meta");
    put_members(&call->params, meta, call->options.progress ? is_ours_or_token : is_ours);
    call->has_level = mcp_json_get(meta, MCP__META_LOG_LEVEL) != NULL;
    call->no_store = mcp_json_get(root, "inputResponses") || mcp_json_get(root, "requestState");
}

int mcp__call_new(mcp_client *client, mcp_str method, mcp_str params,
                  const mcp_call_options *options, mcp__call **ret)
{
    mcp_json_doc *doc = NULL;
    int rc = params.len ? parse_params(params, client->allocator, &doc) : MCP_OK;
    if (rc != MCP_OK)
        return rc;
    const char *named = mcp__mirror_name(method);
    mcp_str name = mcp_json_string(named ? mcp_json_get(mcp_json_root(doc), named) : NULL);
    mcp__call *call = allocate(client, method, name);
    rc = call ? read_options(call, options) : MCP_ENOMEM;
    if (rc == MCP_OK && doc)
        read_params(call, mcp_json_root(doc));
    if (rc == MCP_OK)
        rc = call->params.failed;
    mcp_json_free(doc);
    if (rc != MCP_OK) {
        mcp__call_free(call);
        return rc;
    }
    call->handle = ++client->last_handle;
    *ret = call;
    return MCP_OK;
}

void mcp__call_free(mcp__call *call)
{
    if (!call)
        return;
    const mcp_allocator *a = call->client->allocator;
    mcp__list_remove(&call->link);
    mcp__buf_free(&call->params);
    mcp__buf_free(&call->input);
    mcp__pages_free(call->pages);
    mcp__release(a, call->reason);
    mcp_json_free(call->outcome);
    mcp__release(a, call->error);
    mcp__release(a, call);
}

/* ---- where it is -------------------------------------------------------------------------------------- */

void mcp__call_move(mcp__call *call, mcp__call_phase phase)
{
    mcp_client *client = call->client;
    mcp__link *const lists[] = {[MCP__CALL_QUEUED] = &client->queue,
                                [MCP__CALL_SENT] = &client->sent,
                                [MCP__CALL_PARKED] = &client->parked,
                                [MCP__CALL_KEPT] = &client->kept};
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
    mcp__call *call = find_in(&client->sent, handle);
    if (!call)
        call = find_in(&client->queue, handle);
    return call ? call : find_in(&client->parked, handle);
}

mcp__call *mcp__call_kept(mcp_client *client, mcp_call_id handle)
{
    return find_in(&client->kept, handle);
}

/* ---- the end ------------------------------------------------------------------------------------------ */

static void keep(mcp__call *call, int rc, const mcp_json *result, const mcp_error *error)
{
    call->rc = rc;
    if (error)
        *call->error = *error;
    if (result && mcp__client_copy(call->client, result, &call->outcome) != MCP_OK)
        call->rc = mcp__fail(call->error, MCP_ENOMEM, 0, "%s", mcp_error_text(MCP_ENOMEM));
    mcp__call_move(call, MCP__CALL_KEPT);
}

void mcp__call_finish(mcp__call *call, int rc, const mcp_json *result, const mcp_error *error)
{
    mcp_client *client = call->client;
    mcp_error cancelled;
    mcp__round_drop(call);
    if (call->cancelled) {
        client->cancelled--;
        call->cancelled = false;
        rc = mcp__fail(&cancelled, MCP_ECANCELLED, 0, "%s",
                       call->reason ? call->reason : mcp_error_text(MCP_ECANCELLED));
        result = NULL;
        error = &cancelled;
    }
    if (call->keep) {
        keep(call, rc, result, rc == MCP_OK ? NULL : error);
        return;
    }
    mcp_result_fn *fn = call->options.done;
    void *user = call->options.user;
    mcp__call_free(call);
    if (fn)
        fn(client, rc, result, rc == MCP_OK ? NULL : error, user);
}

void mcp__call_fail(mcp__call *call, int rc)
{
    mcp_error error;
    mcp__fail(&error, rc, 0, "%s", mcp_error_text(rc));
    mcp__call_finish(call, rc, NULL, &error);
}

/* ---- sending ------------------------------------------------------------------------------------------ */

/* Whether members of ours have to be in _meta, and which. */
typedef enum meta_kind { NO_META, PROGRESS_META, WHOLE_META } meta_kind;

static meta_kind meta_of(const mcp__call *call)
{
    if (call->notification)
        return NO_META;
    if (call->client->revision->modern)
        return WHOLE_META;
    return call->options.progress ? PROGRESS_META : NO_META;
}

static void put_meta(const mcp__call *call, meta_kind kind, mcp_str theirs, mcp__buf *b)
{
    const char *level = call->log_level ? call->log_level : call->client->log_level;
    char separator = '{';
    mcp__buf_lit(b, "\"_meta\":");
    if (kind == WHOLE_META) {
        mcp__buf_char(b, separator), separator = ',';
        mcp__client_put_meta(call->client, call->client->revision, b);
        if (level && !call->has_level) {
            mcp__buf_lit(b, ",\"" MCP__META_LOG_LEVEL "\":");
            mcp__json_put_str(b, mcp_str_from(level));
        }
    }
    if (call->options.progress) {
        mcp__buf_char(b, separator), separator = ',';
        mcp__buf_lit(b, "\"progressToken\":");
        mcp__json_put_uint(b, call->handle);
    }
    if (theirs.len) {
        mcp__buf_char(b, separator);
        mcp__buf_str(b, theirs);
    }
    mcp__buf_char(b, '}');
}

static void put_params(const mcp__call *call, mcp__buf *b)
{
    mcp_str all = mcp__buf_view(&call->params);
    mcp_str theirs = call->members < all.len ? mcp__str_sub(all, call->members) : MCP_STR("");
    const mcp_str members[] = {{all.ptr, call->members}, mcp__buf_view(&call->input)};
    meta_kind kind = meta_of(call);
    char separator = '{';
    for (size_t i = 0; i < MCP__COUNT(members); i++) {
        if (!members[i].ptr || !members[i].len)
            continue;
        mcp__buf_char(b, separator), separator = ',';
        mcp__buf_str(b, members[i]);
    }
    if (kind != NO_META || theirs.len) {
        mcp__buf_char(b, separator), separator = ',';
        put_meta(call, kind, theirs, b);
    }
    if (separator == '{')
        mcp__buf_char(b, separator);
    mcp__buf_char(b, '}');
}

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
    mcp__buf b = mcp__channel_take_buf(client->channel);
    put_params(call, &b);
    int rc = b.failed;
    if (mcp_str_eq(call->method, MCP_STR("tools/call")) && mcp__client_mirrors(client))
        tool = mcp__tools_find(client, call->name);
    const mcp__sending s = {.revision = client->revision,
                            .method = method_of(call),
                            .name = call->name,
                            .mirror = tool ? &tool->mirror : NULL,
                            .timeout_ms = call->options.timeout_ms};
    call->sent_at = mcp__client_now(client);
    call->changes = client->changes;
    if (rc == MCP_OK && call->notification)
        rc = mcp__client_say(client, call->method, mcp__buf_view(&b));
    else if (rc == MCP_OK)
        rc = mcp__client_send(client, &s, mcp__buf_view(&b), mcp__call_answered, call, &call->id);
    mcp__channel_give_buf(client->channel, &b);
    if (rc == MCP_OK && !call->notification)
        mcp__call_move(call, MCP__CALL_SENT);
    return rc;
}

/* Answers it, fails it or sends it. */
static void run(mcp__call *call)
{
    mcp_error error = {0};
    mcp_json_doc *known = mcp__cache_get(call);
    if (known) {
        mcp__call_succeeded(call, mcp_json_root(known));
        mcp_json_free(known);
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

/* Moves all that is in one list to another that is empty. */
static void take_all(mcp__link *from, mcp__link *to)
{
    mcp__list_init(to);
    while (!mcp__list_empty(from))
        mcp__list_append(to, &take_first(from)->link);
}

void mcp__client_flush(mcp_client *client)
{
    /* Only what waits now: what is answered at once from what was kept may lead to more of it. */
    size_t n = 0;
    for (mcp__link *l = client->queue.next; l != &client->queue; l = l->next)
        n++;
    for (; n && !mcp__list_empty(&client->queue); n--) {
        mcp__call *call = mcp__container(client->queue.next, mcp__call, link);
        if (client->state != MCP__CLIENT_READY)
            return;
        if (call->due > mcp__client_now(client) || call->cancelled)
            mcp__call_move(call, MCP__CALL_QUEUED); /* to the end */
        else
            run(call);
    }
}

int64_t mcp__client_calls_due(const mcp_client *client)
{
    int64_t due = INT64_MAX;
    for (mcp__link *l = client->queue.next; l != &client->queue; l = l->next)
        due = MCP__MIN(due, mcp__container(l, mcp__call, link)->due);
    for (mcp__link *l = client->parked.next; l != &client->parked; l = l->next)
        due = MCP__MIN(due, mcp__container(l, mcp__call, link)->due);
    return due;
}

void mcp__client_fail_waiting(mcp_client *client, int rc, const mcp_json *result,
                              const mcp_error *error)
{
    /* Only what waits now: a callback may ask again. */
    mcp__link *const lists[] = {&client->parked, &client->queue};
    for (size_t i = 0; i < MCP__COUNT(lists); i++) {
        mcp__link failing;
        take_all(lists[i], &failing);
        while (!mcp__list_empty(&failing))
            mcp__call_finish(take_first(&failing), rc, result, error);
    }
}

/* ---- taking back ---------------------------------------------------------------------------------------- */

static mcp__call *first_cancelled(mcp_client *client)
{
    mcp__link *const lists[] = {&client->sent, &client->parked, &client->queue};
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
    while (client->cancelled) {
        mcp__call *call = first_cancelled(client);
        if (!call)
            return; /* it is on its way to its outcome */
        if (call->phase == MCP__CALL_SENT && mcp__channel_forget(client->channel, call->id))
            mcp__client_give_up(client, call->id, call->reason);
        mcp__call_finish(call, MCP_ECANCELLED, NULL, NULL);
    }
}

void mcp__client_sweep(mcp_client *client)
{
    end_cancelled(client);
    for (mcp__link *l = client->parked.next; l != &client->parked;) {
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
    mcp__call *call = mcp__call_kept(client, handle);
    if (call) {
        mcp__call_free(call);
        return MCP_OK;
    }
    call = mcp__call_find(client, handle);
    if (!call || call->cancelled)
        return MCP_ENOTFOUND;
    call->cancelled = true;
    client->cancelled++;
    if (reason) /* without memory: no reason */
        call->reason = mcp__strdup(client->allocator, mcp_str_from(reason));
    mcp__client_attend(client);
    return MCP_OK;
}

/* ---- the public side ------------------------------------------------------------------------------------ */

static int can_call(const mcp_client *client)
{
    if (client->state == MCP__CLIENT_LOST)
        return MCP_ECLOSED;
    return client->state == MCP__CLIENT_FAILED ? MCP_ESTATE : MCP_OK;
}

/* Sends it at once where that keeps the order and the time is known, and it may fail to the caller. */
static bool goes_at_once(const mcp__call *call)
{
    const mcp_client *client = call->client;
    return mcp__client_is_ready(client) && client->channel->in_use &&
           mcp__list_empty(&client->queue) && !mcp__cache_has(call) &&
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
    if (rc == MCP_OK && goes_at_once(call))
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
