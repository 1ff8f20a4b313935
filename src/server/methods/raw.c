/* raw.c: passes requests on to providers, and passes on the results and errors of another server as
 * JSON text (protocol/pass.c). The members that each server writes itself come from reply.c.
 */
#include "server/methods/raw.h"

#include "server/core/access.h"
#include "server/core/build.h"
#include "server/core/decide.h"
#include "server/core/trace.h"
#include "server/input/input.h"

#include <mcp/sys/json.h>

_Static_assert((int)MCP_ITEM_RESOURCE == MCP__PASS_NAME_URI &&
                   (int)MCP_ITEM_TEMPLATE == MCP__PASS_NAME_TEMPLATE &&
                   (int)MCP_ITEM_PROMPT == MCP__PASS_NAME_PROMPT &&
                   (int)MCP_ITEM_TOOL == MCP__PASS_NAME_TOOL,
               "the kinds of names are the items of access rules");

/* ---- the request --------------------------------------------------------------------------- */

mcp_str mcp_request_params_text(mcp_request *req)
{
    const mcp_json *params = req->in.message.params;
    bool is_first =
        !req->input || !req->input->again; /* the message is still that of the request */
    if (!params)
        return (mcp_str){NULL, 0};
    if (req->in.channel && req->state == MCP__REQUEST_RUNNING && is_first && !req->waited) {
        mcp_str text = mcp__channel_text_of(req->in.channel, MCP_STR("\"params\""));
        if (text.ptr)
            return text;
    }
    mcp__buf b;
    mcp__buf_init(&b, &req->server->allocator, SIZE_MAX);
    mcp__json_put_value(&b, params);
    mcp_str copy = {0};
    if (!b.failed)
        copy = (mcp_str){mcp_request_strdup(req, mcp__buf_view(&b)), b.len};
    mcp__buf_free(&b);
    return copy.ptr ? copy : (mcp_str){NULL, 0};
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool may(const mcp_request *req, mcp__pass_name kind, mcp_str name)
{
    return !mcp_request_restricted(req) || mcp_request_may(req, (mcp_item)kind, name);
}

/* Whether a name may be in the result. */
static bool may_show(const mcp_request *req, mcp__pass_name kind, mcp_str name)
{
    return may(req, kind, name) ||
           (req->method->form == MCP__FORM_ENTRIES && mcp__access_list(req, (mcp_item)kind, name));
}

static bool put_name(void *user, mcp__pass_name kind, mcp_str name, mcp__buf *b)
{
    const mcp__raw *p = user;
    bool uri = kind == MCP__PASS_NAME_URI || kind == MCP__PASS_NAME_TEMPLATE;
    char mapped[MCP_NAME_ROOM];
    if (uri && p->raw.shows && !p->raw.shows((mcp_item)kind, name, p->raw.user))
        return false;
    if (uri && p->raw.ui_prefix && name.len >= 5 && memcmp(name.ptr, "ui://", 5) == 0) {
        mcp__buf_str(b, mcp_str_from(p->raw.ui_prefix));
        name = mcp__str_sub(name, 5);
    } else if (uri && p->raw.uri_prefix) {
        mcp__buf_str(b, mcp_str_from(p->raw.uri_prefix));
    }
    if (!uri && p->raw.name) {
        if (p->raw.name((mcp_item)kind, name, mapped, p->raw.user) != MCP_OK)
            return false;
        mcp__buf_str(b, mcp_str_from(mapped));
    } else {
        mcp__buf_str(b, name);
    }
    return b->failed || may_show(p->req, kind, mcp__buf_view(b));
}

static void put_words(void *user, mcp__pass_name kind, mcp_str name, mcp__pass_titles *to)
{
    const mcp__raw *p = user;
    mcp_raw_titles words = {.size = sizeof(words)};
    p->raw.words((mcp_item)kind, name, &words, p->raw.user);
    *to = (mcp__pass_titles){words.title, words.description};
}

static bool show_value(void *user, mcp_str value)
{
    const mcp__raw *p = user;
    return mcp__may_complete(p->req, p->tmpl, value, (mcp_str){NULL, 0});
}

static void take_meta(void *user, mcp_str key, mcp_str text)
{
    mcp__raw *p = user;
    mcp__reply_meta_text(p->req, key, text);
}

mcp__pass mcp__raw_pass(mcp__raw *p)
{
    return (mcp__pass){.to = p->req->revision,
                       .name = put_name,
                       .value = p->tmpl ? show_value : NULL,
                       .words = p->raw.words ? put_words : NULL,
                       .same_names = !p->raw.uri_prefix && !p->raw.name && !p->raw.shows &&
                                     !mcp_request_restricted(p->req),
                       .asker = p->raw.asker,
                       .tasks = p->raw.tasks,
                       .meta = take_meta,
                       .user = p};
}

/* ---- the text -------------------------------------------------------------------------------- */

int mcp__raw_begin(mcp__raw *p, mcp_request *req, const mcp_raw *raw)
{
    *p = (mcp__raw){.req = req};
    int rc = MCP__TAKE(&p->raw, raw, mcp_raw, NULL);
    if (rc == MCP_OK && !p->raw.json.ptr)
        rc = MCP_EINVAL;
    if (rc != MCP_OK || p->raw.value)
        return rc;
    mcp_json_limits limits = {.size = sizeof(limits), .max_depth = MCP__JSON_DEEPEST};
    rc = mcp_json_parse(p->raw.json, &limits, &req->server->allocator, &p->doc, NULL);
    p->raw.value = mcp_json_root(p->doc);
    return rc;
}

void mcp__raw_end(mcp__raw *p)
{
    mcp_json_free(p->doc);
    mcp_uri_template_free(p->tmpl);
}

static int remember(mcp_request *req, int rc)
{
    if (rc < 0 && !req->reply.failed)
        req->reply.failed = rc;
    return rc;
}

/* Limits the caching of the reply to what the other server allows. A result without ttlMs is not
 * cached. */
static void merge_caching(mcp_request *req, const mcp_json *result)
{
    int64_t ttl = mcp_json_int(mcp_json_get(result, "ttlMs"), 0);
    bool is_public =
        mcp_str_eq(mcp_json_string(mcp_json_get(result, "cacheScope")), MCP_STR("public"));
    uint64_t ms = ttl > 0 ? (uint64_t)ttl : 0;
    if (req->reply.cache.set) {
        ms = MCP__MIN(ms, req->reply.cache.ttl_ms);
        is_public = is_public && req->reply.cache.is_public;
    }
    mcp_reply_cache(req, ms, is_public);
}

/* ---- a whole result -------------------------------------------------------------------------- */

static mcp__pass_shape shape_of(const mcp_request *req)
{
    switch (req->method->form) {
    case MCP__FORM_CONTENTS: return MCP__PASS_READ;
    case MCP__FORM_BLOCKS: return MCP__PASS_CALL;
    case MCP__FORM_MESSAGES: return MCP__PASS_GET;
    case MCP__FORM_VALUES: return MCP__PASS_COMPLETE;
    default: return MCP__PASS_OTHER;
    }
}

/* Parses the template of a completion if there are access rules. A proposed value is then checked
 * by the URI to which the template expands. */
static int take_template(mcp__raw *p)
{
    const mcp_json *ref = mcp_json_get(p->req->in.message.params, "ref");
    mcp_str uri = mcp_json_string(mcp_json_get(ref, "uri"));
    if (p->req->method->form != MCP__FORM_VALUES || !mcp_request_restricted(p->req) || !uri.ptr ||
        p->raw.values_checked)
        return MCP_OK;
    return mcp_uri_template_parse(uri, &p->req->server->allocator, &p->tmpl, NULL);
}

/* Counts the bytes of the contents that were read. */
static void count_bytes(mcp_request *req, const mcp_json *result)
{
    const mcp_json *list = mcp_json_get(result, "contents"), *content;
    mcp_json_iter it = {0};
    while ((content = mcp_json_next(list, &it, NULL)) != NULL) {
        mcp_str text = mcp_json_string(mcp_json_get(content, "text"));
        mcp_str blob = mcp_json_string(mcp_json_get(content, "blob"));
        req->used.bytes += text.len + blob.len / 4 * 3;
        while (blob.len && blob.ptr[blob.len - 1] == '=' && req->used.bytes) {
            blob.len--;
            req->used.bytes--;
        }
    }
}

static int put_result(mcp__raw *p)
{
    mcp_request *req = p->req;
    if (!mcp_json_is(p->raw.value, MCP_JSON_OBJECT))
        return MCP_EPROTOCOL;
    int rc = take_template(p);
    if (rc != MCP_OK)
        return rc;
    const mcp__pass pass = mcp__raw_pass(p);
    req->reply.raw = true;
    mcp__buf *b = mcp__reply_begin(req);
    if (!mcp__pass_members(&pass, b, shape_of(req), p->raw.value, p->raw.json))
        return MCP_ENOTFOUND;
    if (req->revision->caching && mcp__method_row_of(req->method)->traits & MCP__CACHEABLE)
        merge_caching(req, p->raw.value);
    if (shape_of(req) == MCP__PASS_READ)
        count_bytes(req, p->raw.value);
    req->tool.is_error = mcp_json_bool(mcp_json_get(p->raw.value, "isError"), false);
    req->tool.has_structured = true; /* the other server validates its own results */
    return b->failed;
}

static int may_reply(const mcp_request *req)
{
    if (req->reply.failed)
        return req->reply.failed;
    return req->error.code || req->reply.begun ? MCP_ESTATE : MCP_OK;
}

int mcp_reply_raw(mcp_request *req, const mcp_raw *result)
{
    mcp__raw p;
    int rc = may_reply(req);
    if (rc != MCP_OK)
        return remember(req, rc);
    if (req->cancelled || (!req->in.channel && !req->task))
        return MCP_OK;
    if (req->method->form == MCP__FORM_ENTRIES)
        return remember(req, MCP_ESTATE);
    rc = mcp__raw_begin(&p, req, result);
    if (rc == MCP_OK)
        rc = put_result(&p);
    mcp__raw_end(&p);
    return remember(req, rc);
}

/* ---- a page of a list ------------------------------------------------------------------------ */

static mcp__pass_shape entry_of(const mcp_request *req)
{
    static const mcp__pass_shape shapes[MCP__KINDS] = {[MCP__RESOURCES] = MCP__PASS_RESOURCE,
                                                       [MCP__TEMPLATES] = MCP__PASS_TEMPLATE,
                                                       [MCP__PROMPTS] = MCP__PASS_PROMPT,
                                                       [MCP__TOOLS] = MCP__PASS_TOOL};
    return shapes[req->method->lists];
}

/* Calls of this tool will be counted by its name. All tools of a page are of one mount. */
static void note_tool(mcp__raw *p, mcp_str name)
{
    if (!p->mount)
        p->mount = mcp__mount_named(p->req->server, MCP__TOOLS, name);
    if (p->mount)
        mcp__meter_listed(p->mount->meter, name);
}

/* Returns whether an entry is left out of the list: its name is invalid, or is registered on this
 * server, where the registered item takes precedence. */
static bool is_hidden(mcp__raw *p, const mcp_json *entry)
{
    mcp__kind kind = p->req->method->lists;
    const char *member = kind == MCP__RESOURCES   ? "uri"
                         : kind == MCP__TEMPLATES ? "uriTemplate"
                                                  : "name";
    mcp_str name = mcp_json_string(mcp_json_get(entry, member));
    mcp__buf b;
    if (!name.ptr)
        return true;
    mcp__buf_init(&b, &p->req->server->allocator, SIZE_MAX);
    static const mcp__pass_name names[MCP__KINDS] = {MCP__PASS_NAME_URI, MCP__PASS_NAME_TEMPLATE,
                                                     MCP__PASS_NAME_PROMPT, MCP__PASS_NAME_TOOL};
    bool there = put_name(p, names[kind], name, &b) && !b.failed;
    bool hidden = !there || mcp__registry_find(p->req->server, kind, mcp__buf_view(&b));
    if (!hidden && kind == MCP__TOOLS)
        note_tool(p, mcp__buf_view(&b));
    mcp__buf_free(&b);
    return hidden;
}

static int put_entry(mcp__raw *p, mcp__buf *b, const mcp_json *entry, mcp_str text)
{
    mcp_request *req = p->req;
    const mcp__pass pass = mcp__raw_pass(p);
    size_t mark = b->len;
    if (!mcp_json_is(entry, MCP_JSON_OBJECT) || is_hidden(p, entry))
        return b->failed;
    if (req->reply.count)
        mcp__buf_char(b, ',');
    if (mcp__pass_object(&pass, b, entry_of(req), entry, text)) {
        req->reply.count++;
        req->page.room -= req->page.room > 0;
    } else if (!b->failed) {
        b->len = mark;
    }
    return b->failed;
}

static int put_page(mcp__raw *p, const mcp_json *array, mcp_str text)
{
    mcp__buf *b = mcp__reply_begin(p->req);
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    const mcp_json *entry;
    mcp_str entry_text;
    while ((entry = mcp_json_next(array, &it, NULL)) != NULL &&
           mcp_json_text_next(text, &texts, NULL, &entry_text)) {
        int rc = put_entry(p, b, entry, entry_text);
        if (rc != MCP_OK)
            return rc;
    }
    return b->failed;
}

/* Continues the list at the other server's cursor. The first byte makes even an empty cursor
 * valid. */
static int put_next(mcp_request *req, const mcp_json *cursor)
{
    mcp_str next = mcp_json_string(cursor);
    if (!next.ptr)
        return MCP_OK;
    char *marked = mcp_request_alloc(req, next.len + 1);
    if (!marked)
        return MCP_ENOMEM;
    marked[0] = '=';
    memcpy(marked + 1, next.ptr, next.len);
    return mcp_reply_next(req, (mcp_str){marked, next.len + 1});
}

/* If several sources add pages to a list, each member has the value of the first page that has
 * it. */
static void put_page_member(mcp__raw *p, mcp_str key, const mcp_json *value, mcp_str text)
{
    const mcp__pass pass = mcp__raw_pass(p);
    if (mcp__pass_page_member(&pass, key, value, text))
        mcp__reply_extra_text(p->req, key, text);
}

static int put_entries(mcp__raw *p)
{
    mcp_request *req = p->req;
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    const mcp_json *v;
    mcp_str key, text;
    int rc = MCP_OK;
    if (!mcp_json_is(p->raw.value, MCP_JSON_OBJECT))
        return MCP_EPROTOCOL;
    if (req->revision->caching)
        merge_caching(req, p->raw.value);
    while (rc == MCP_OK && (v = mcp_json_next(p->raw.value, &it, &key)) != NULL &&
           mcp_json_text_next(p->raw.json, &texts, NULL, &text)) {
        if (!mcp_str_eq(key, mcp_str_from(req->method->array)))
            put_page_member(p, key, v, text);
        else if (mcp_json_is(v, MCP_JSON_ARRAY))
            rc = put_page(p, v, text);
    }
    rc = rc == MCP_OK ? req->reply.failed : rc;
    return rc == MCP_OK ? put_next(req, mcp_json_get(p->raw.value, "nextCursor")) : rc;
}

int mcp_reply_raw_page(mcp_request *req, const mcp_raw *page)
{
    mcp__raw p;
    if (req->reply.failed || req->error.code)
        return req->reply.failed ? req->reply.failed : MCP_ESTATE;
    if (req->method->form != MCP__FORM_ENTRIES)
        return remember(req, MCP_ESTATE);
    if (req->cancelled || !req->in.channel)
        return MCP_OK;
    int rc = mcp__raw_begin(&p, req, page);
    if (rc == MCP_OK)
        rc = put_entries(&p);
    mcp__raw_end(&p);
    return remember(req, rc);
}

/* ---- providers that answer ------------------------------------------------------------------- */

int mcp__run_mounted(mcp_request *req, const mcp__mount *mount, mcp_item item, mcp_str name)
{
    const mcp_json *arguments = mcp_json_get(req->in.message.params, "arguments");
    if (arguments && !mcp_json_is(arguments, MCP_JSON_OBJECT))
        return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                              "Invalid params: \"arguments\" must be an object");
    if (item == MCP_ITEM_TOOL)
        mcp__usage_begin_mounted(req, mount->meter, name);
    req->target.takes_task = mount->provider.tasks && item == MCP_ITEM_TOOL;
    if (mount->provider.run && !may(req, (mcp__pass_name)item, name))
        return mcp__refuse_named(req, item, name, true);
    int rc = mcp__decide(req, item == MCP_ITEM_TOOL ? MCP_OPERATION_CALL : MCP_OPERATION_READ, item,
                         name);
    if (rc != MCP_OK)
        return rc;
    mcp__trace_source(req, mount);
    rc = mount->provider.run ? mount->provider.run(req, item, name, mount->user) : MCP_ENOTFOUND;
    return rc == MCP_ENOTFOUND ? mcp__refuse_named(req, item, name, false) : rc;
}

int mcp__refuse_named(mcp_request *req, mcp_item item, mcp_str name, bool exists)
{
    int rc = exists ? mcp__access_refuse(req, item, name) : MCP_ENOTFOUND;
    if (rc != MCP_ENOTFOUND)
        return rc;
    return mcp_reply_fail(req, MCP__INVALID_PARAMS, "Unknown %s: %.*s",
                          item == MCP_ITEM_TOOL ? "tool" : "prompt", mcp__shown(name), name.ptr);
}

const mcp__mount *mcp__mount_completes(const mcp_request *req, bool prompt, mcp_str name)
{
    const mcp__mount *mount = prompt ? mcp__mount_named(req->server, MCP__PROMPTS, name)
                                     : mcp__mount_find(req->server, name);
    mcp__pass_name kind = prompt ? MCP__PASS_NAME_PROMPT : MCP__PASS_NAME_TEMPLATE;
    return mount && mount->provider.complete && may(req, kind, name) ? mount : NULL;
}

int mcp__run_other(mcp_request *req)
{
    bool asked = false;
    for (size_t i = 0; i < req->server->n_mounts; i++) {
        const mcp__mount *mount = req->server->mounts[i];
        if (!mount->provider.other)
            continue;
        req->method = &mcp__methods[MCP__METHOD_OTHER];
        mcp__build_take(req);
        int rc = asked ? MCP_OK : mcp__decide_other(req, MCP_OPERATION_CALL);
        asked = true;
        if (rc == MCP_OK)
            rc = mount->provider.other(req, mount->user);
        if (rc != MCP_ENOTFOUND)
            return rc;
    }
    req->method = NULL;
    return MCP_ENOTFOUND;
}
