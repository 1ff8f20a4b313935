/* params.c: creates a call. The params are parsed at once, so that an error can be returned to the
 * caller. They are written again each time the call is sent, because the contents of _meta are
 * known only then.
 */
#include "client/client.h"

#include <mcp/sys/json.h>

/* ---- creating ------------------------------------------------------------------------------- */

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

/* Appends the members of an object, except those for which left_out() returns true. `text` is the
 * JSON text of the object. Values are copied from it, so that numbers keep all their digits. */
static void put_members(mcp__buf *b, const mcp_json *object, mcp_str text,
                        bool (*left_out)(mcp_str key))
{
    size_t start = b->len;
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    mcp_str key, value;
    while (mcp_json_next(object, &it, &key) && mcp_json_text_next(text, &texts, NULL, &value)) {
        if (left_out(key))
            continue;
        if (b->len != start)
            mcp__buf_char(b, ',');
        mcp__json_put_str(b, key);
        mcp__buf_char(b, ':');
        mcp__json_put_text(b, value);
    }
}

/* Returns the JSON text of the member `_meta`, even if its key is written with escapes. */
static mcp_str meta_text(const mcp_json *object, mcp_str text)
{
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    mcp_str key, value;
    while (mcp_json_next(object, &it, &key) && mcp_json_text_next(text, &texts, NULL, &value)) {
        if (is_meta(key))
            return value;
    }
    return (mcp_str){NULL, 0};
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

/* Allocates the block of a call: the struct, the method and the name. */
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
    mcp__buf_init(&call->capabilities, client->allocator, 0);
    return call;
}

static int read_options(mcp__call *call, const mcp_call_options *given)
{
    mcp_call_options *o = &call->options;
    if (MCP__TAKE_OPTIONAL(o, given, mcp_call_options, NULL) != MCP_OK)
        return MCP_EINVAL;
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
    if (!o->capabilities)
        return MCP_OK;
    mcp_str text = mcp_str_from(o->capabilities);
    o->capabilities = NULL; /* only borrowed until the call is created */
    call->no_store = true;
    return mcp__json_put_checked(&call->capabilities, text, MCP_JSON_OBJECT, NULL);
}

static void read_params(mcp__call *call, const mcp_json *root, mcp_str text)
{
    put_members(&call->params, root, text, is_meta);
    call->members = call->params.len;
    const mcp_json *meta = mcp_json_get(root, "_meta");
    put_members(&call->params, meta, meta_text(root, text),
                call->options.progress ? is_ours_or_token : is_ours);
    call->own_task = mcp_json_get(root, "task") != NULL;
    call->has_level = mcp_json_get(meta, MCP__META_LOG_LEVEL) != NULL;
    if (mcp_json_get(root, "inputResponses") || mcp_json_get(root, "requestState"))
        call->no_store = true;
}

/* Returns whether the params have to be parsed, and contain _meta. */
static bool is_whole(const mcp_call_options *options)
{
    return !options || options->size < offsetof(mcp_call_options, meta) + sizeof(options->meta) ||
           !options->meta;
}

/* Creates a call from members of params and of _meta that have been checked already. */
static int call_of_parts(mcp_client *client, mcp_str method, mcp_str params,
                         const mcp_call_options *options, mcp__call **ret)
{
    bool named = options->size >= offsetof(mcp_call_options, name) + sizeof(options->name);
    mcp_str name = mcp_str_from(named ? options->name : NULL);
    if (!name.ptr && mcp__client_mirrors(client) && mcp__mirror_name(method))
        return MCP_EINVAL; /* a header has the name */
    mcp__call *call = allocate(client, method, name);
    int rc = call ? read_options(call, options) : MCP_ENOMEM;
    if (rc == MCP_OK) {
        mcp__buf_str(&call->params, params);
        call->members = call->params.len;
        mcp__buf_str(&call->params, mcp_str_from(options->meta));
        call->options.meta = call->options.name =
            NULL; /* only borrowed until the call is created */
        call->no_store = true;
        rc = call->params.failed;
    }
    if (rc != MCP_OK) {
        mcp__call_free(call);
        return rc;
    }
    call->handle = ++client->calls.last_handle;
    *ret = call;
    return MCP_OK;
}

int mcp__call_new(mcp_client *client, mcp_str method, mcp_str params,
                  const mcp_call_options *options, mcp__call **ret)
{
    if (!is_whole(options))
        return call_of_parts(client, method, params, options, ret);
    mcp_json_doc *doc = NULL;
    int rc = params.len ? parse_params(params, client->allocator, &doc) : MCP_OK;
    if (rc != MCP_OK)
        return rc;
    const char *name_member = mcp__mirror_name(method);
    mcp_str name =
        mcp_json_string(name_member ? mcp_json_get(mcp_json_root(doc), name_member) : NULL);
    mcp__call *call = allocate(client, method, name);
    rc = call ? read_options(call, options) : MCP_ENOMEM;
    if (rc == MCP_OK && doc)
        read_params(call, mcp_json_root(doc), params);
    if (rc == MCP_OK)
        rc = call->params.failed;
    mcp_json_free(doc);
    if (rc != MCP_OK) {
        mcp__call_free(call);
        return rc;
    }
    call->handle = ++client->calls.last_handle;
    *ret = call;
    return MCP_OK;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* The members that the client itself adds to _meta. */
typedef enum meta_kind { NO_META, PROGRESS_META, WHOLE_META } meta_kind;

/* Returns whether a request carries a progress token. The requests of a task do not, because the
 * token of the original call stays valid. */
static bool sends_progress_token(const mcp__call *call)
{
    return call->options.progress && !call->task;
}

static meta_kind meta_of(const mcp__call *call)
{
    if (call->notification)
        return NO_META;
    if (call->client->revision->modern)
        return WHOLE_META;
    return sends_progress_token(call) ? PROGRESS_META : NO_META;
}

static void put_meta(const mcp__call *call, meta_kind kind, mcp_str caller_meta, mcp__buf *b)
{
    const char *level = call->log_level ? call->log_level : call->client->self.log_level;
    mcp__json_list meta = mcp__json_begin_object(b);
    if (kind == WHOLE_META) {
        mcp__json_next(&meta);
        bool tasks = call->options.task_mode < MCP_CALL_TASK_LAST_RESORT;
        mcp__client_put_meta_with(call->client, call->client->revision,
                                  mcp__buf_view(&call->capabilities), tasks, b);
        if (level && !call->has_level) {
            mcp__json_name(&meta, MCP__META_LOG_LEVEL);
            mcp__json_put_str(b, mcp_str_from(level));
        }
    }
    if (sends_progress_token(call)) {
        mcp__json_name(&meta, "progressToken");
        mcp__json_put_uint(b, call->handle);
    }
    if (caller_meta.len) {
        mcp__json_next(&meta);
        mcp__buf_str(b, caller_meta);
    }
    mcp__json_end(&meta);
}

static void put_task(const mcp__call *call, mcp__buf *b)
{
    mcp__buf_char(b, '{');
    if (call->options.task_ttl_ms) {
        mcp__buf_lit(b, "\"ttl\":");
        mcp__json_put_uint(b, call->options.task_ttl_ms);
    }
    mcp__buf_char(b, '}');
}

void mcp__call_put_params(const mcp__call *call, mcp__buf *b)
{
    mcp_str all = mcp__buf_view(&call->params);
    mcp_str caller_meta = call->members < all.len ? mcp__str_sub(all, call->members) : MCP_STR("");
    const mcp_str members[] = {{all.ptr, call->members}, mcp__buf_view(&call->input)};
    meta_kind kind = meta_of(call);
    mcp__json_list params = mcp__json_begin_object(b);
    for (size_t i = 0; i < MCP__COUNT(members); i++) {
        if (!members[i].ptr || !members[i].len)
            continue;
        mcp__json_next(&params);
        mcp__buf_str(b, members[i]);
    }
    if (call->as_task) {
        mcp__json_name(&params, "task");
        put_task(call, b);
    }
    if (kind != NO_META || caller_meta.len) {
        mcp__json_name(&params, "_meta");
        put_meta(call, kind, caller_meta, b);
    }
    mcp__json_end(&params);
}
