/* complete.c: completion/complete (2026-07-28, server/utilities/completion). */
#include "server/core/access.h"
#include "server/core/decide.h"
#include "server/methods/methods.h"

enum { MAX_VALUES = 100 };

static bool has_argument(const mcp__entry *entry, mcp_str name)
{
    if (entry->kind == MCP__TEMPLATES) {
        size_t n = mcp_uri_template_variable_count(entry->tmpl);
        for (size_t i = 0; i < n; i++) {
            if (mcp_str_eq(mcp_uri_template_variable(entry->tmpl, i), name))
                return true;
        }
    }
    for (size_t i = 0; i < entry->n_arguments; i++) {
        if (mcp_str_eq(mcp_str_from(entry->arguments[i]), name))
            return true;
    }
    return false;
}

/* What `ref` refers to: an entry, or an item of a mount. Both pointers are NULL for a plain
 * resource, which has nothing to complete. */
typedef struct reference {
    mcp__entry *entry;
    const mcp__mount *mount;
    mcp_item item;
    mcp_str name;
} reference;

static int find_ref(mcp_request *req, reference *to)
{
    const mcp_json *ref = mcp_json_get(req->in.message.params, "ref");
    mcp_str type = mcp_json_string(mcp_json_get(ref, "type"));
    bool prompt = mcp_str_eq(type, MCP_STR("ref/prompt"));
    bool resource = mcp_str_eq(type, MCP_STR("ref/resource"));
    mcp_str key = mcp_json_string(mcp_json_get(ref, prompt ? "name" : "uri"));
    if ((!prompt && !resource) || !key.ptr)
        return mcp_reply_fail(
            req, MCP__INVALID_PARAMS,
            "Invalid params: \"ref\" must be {\"type\":\"ref/prompt\",\"name\":…} or "
            "{\"type\":\"ref/resource\",\"uri\":…}");
    const mcp_identity *identity = mcp_request_identity(req);
    mcp__entry *found =
        mcp__registry_find(req->server, prompt ? MCP__PROMPTS : MCP__TEMPLATES, key);
    to->item = prompt ? MCP_ITEM_PROMPT : MCP_ITEM_TEMPLATE;
    to->name = key;
    bool plain = !found && resource;
    if (plain)
        found = mcp__registry_find(req->server, MCP__RESOURCES, key);
    if (found && mcp__may_see(req->server, identity, found)) {
        to->entry = plain ? NULL : found;
        return MCP_OK;
    }
    to->mount = found ? NULL : mcp__mount_completes(req, prompt, key);
    if (to->mount)
        return MCP_OK;
    int rc =
        found ? mcp__access_refuse(req, plain ? MCP_ITEM_RESOURCE : to->item, key) : MCP_ENOTFOUND;
    if (rc != MCP_ENOTFOUND)
        return rc;
    return mcp_reply_fail(req, MCP__INVALID_PARAMS, "Invalid params: unknown %s: %.*s",
                          prompt ? "prompt" : "resource template", mcp__shown(key), key.ptr);
}

static bool are_strings(const mcp_json *object)
{
    mcp_json_iter it = {0};
    const mcp_json *v = NULL;
    while (mcp_json_is(object, MCP_JSON_OBJECT) && (v = mcp_json_next(object, &it, NULL)) != NULL) {
        if (!mcp_json_is(v, MCP_JSON_STRING))
            return false;
    }
    return mcp_json_is(object, MCP_JSON_OBJECT);
}

int mcp__run_complete(mcp_request *req)
{
    reference to = {0};
    int rc = find_ref(req, &to);
    if (rc != MCP_OK)
        return rc;
    const mcp_json *argument = mcp_json_get(req->in.message.params, "argument");
    const mcp_json *name = mcp_json_get(argument, "name"), *value = mcp_json_get(argument, "value");
    if (!mcp_json_is(name, MCP_JSON_STRING) || !mcp_json_is(value, MCP_JSON_STRING))
        return mcp_reply_fail(
            req, MCP__INVALID_PARAMS,
            "Invalid params: \"argument\" must be {\"name\":string,\"value\":string}");
    const mcp_json *context = mcp_json_get(req->in.message.params, "context");
    const mcp_json *known = mcp_json_get(context, "arguments");
    if ((context && !mcp_json_is(context, MCP_JSON_OBJECT)) || (known && !are_strings(known)))
        return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                              "Invalid params: \"context.arguments\" must be an object whose "
                              "values are strings");
    mcp__entry *entry = to.entry;
    if (entry || to.mount)
        rc = mcp__decide(req, MCP_OPERATION_READ, to.item, to.name);
    if (rc != MCP_OK)
        return rc;
    if (to.mount)
        return to.mount->provider.complete(req, to.item, to.name, to.mount->user);
    if (!entry)
        return MCP_OK;
    mcp_str which = mcp_json_string(name);
    if (!has_argument(entry, which))
        return mcp_reply_fail(req, MCP__INVALID_PARAMS,
                              "Invalid params: %s has no argument \"%.*s\"", entry->key.ptr,
                              mcp__shown(which), which.ptr);
    req->target.entry = mcp__entry_ref(entry);
    if (!entry->complete)
        return MCP_OK;
    return entry->complete(req, which, mcp_json_string(value), known, entry->user);
}

static int put_value(mcp_request *req, mcp_str value, mcp_str uri)
{
    if (req->reply.failed || req->error.code)
        return req->reply.failed ? req->reply.failed : MCP_ESTATE;
    if (!req->method || req->method->form != MCP__FORM_VALUES)
        return req->reply.failed = MCP_ESTATE;
    const mcp_uri_template *tmpl = req->target.entry ? req->target.entry->tmpl : NULL;
    if (req->cancelled || !mcp__may_complete(req, tmpl, value, uri))
        return MCP_OK;
    mcp__reply_begin(req);
    if (req->reply.count++ >= MAX_VALUES)
        return MCP_OK;
    if (req->reply.count > 1)
        mcp__buf_char(&req->reply.out, ',');
    mcp__json_put_str(&req->reply.out, value);
    return req->reply.failed = req->reply.out.failed;
}

int mcp_reply_completion(mcp_request *req, mcp_str value)
{
    return put_value(req, value, (mcp_str){NULL, 0});
}

int mcp_reply_completion_for(mcp_request *req, mcp_str value, mcp_str uri)
{
    return put_value(req, value, uri);
}

void mcp_reply_completion_total(mcp_request *req, uint64_t total)
{
    req->has_total = true;
    req->total = total;
}

void mcp__complete_tail(mcp_request *req, mcp__buf *b)
{
    /* The handler's total may include values that this caller may not see. */
    bool has_total = req->has_total && !req->server->access.may;
    uint64_t total = has_total ? MCP__MAX(req->total, req->reply.count) : req->reply.count;
    mcp__buf_lit(b, ",\"total\":");
    mcp__json_put_uint(b, total);
    if (total > MCP__MIN(req->reply.count, (size_t)MAX_VALUES))
        mcp__buf_lit(b, ",\"hasMore\":true}");
    else
        mcp__buf_lit(b, ",\"hasMore\":false}");
}
