/* audit.c: passes a record of each request to the program (mcp_server_set_audit()).
 *
 * The record is made from the message, which exists until the request ends, so a request costs
 * nothing without an audit function. The source is looked up among the current mounts: a request
 * that ends after its source was removed has a record without a source.
 */
#include "server/core/audit.h"
#include "server/core/trace.h"
#include "server/methods/methods.h"

void mcp_server_set_audit(mcp_server *server,
                          void (*ended)(const mcp_audit_record *record, void *user), void *user)
{
    server->audit.ended = ended;
    server->audit.user = user;
}

void mcp_server_require_audit(mcp_server *server, bool (*kept)(void *user))
{
    server->audit.kept = kept;
}

bool mcp__audit_fails(const mcp_server *server, const mcp__method *method)
{
    bool needed = server->audit.kept && !(method && method->handshake);
    return needed && !server->audit.kept(server->audit.user);
}

/* ---- what the transport knows ----------------------------------------------------------------- */

/* Whether a text has the form of https://www.w3.org/TR/trace-context/: version, trace, parent and
 * flags. */
static bool is_traceparent(mcp_str text)
{
    static const char form[] = "xx-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";
    if (text.len != sizeof(form) - 1)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool fits = form[i] == '-' ? c == '-' : (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        if (!fits)
            return false;
    }
    return true;
}

mcp_str mcp__audit_traceparent(const mcp_request *req, mcp_exchange_about *about)
{
    mcp_channel *channel = req->in.channel;
    const mcp_json *meta = mcp_json_get(req->in.message.params, "_meta");
    mcp_str text = mcp_json_string(mcp_json_get(meta, "traceparent"));
    *about = (mcp_exchange_about){.size = sizeof(*about)};
    if (channel && channel->options.describe)
        channel->options.describe(channel, req->in.exchange, about, channel->options.user);
    if (!is_traceparent(text))
        text = mcp_str_from(about->traceparent);
    return is_traceparent(text) ? text : (mcp_str){0};
}

/* Without memory the text is missing. */
static const char *keep(mcp_request *req, mcp_str text)
{
    return text.len ? mcp_request_strdup(req, text) : NULL;
}

void mcp__audit_begin(mcp_request *req)
{
    const mcp_channel_options *o = &req->in.channel->options;
    mcp_exchange_about about;
    mcp_str trace = mcp__audit_traceparent(req, &about);
    req->used.since = mcp__usage_start(req);
    req->used.inner = o->inner;
    req->used.caller = keep(req, mcp_str_from(*about.caller ? about.caller : o->caller));
    req->used.session = keep(req, mcp_str_from(about.session));
    req->used.traceparent = keep(req, trace);
    if (req->server->trace.ended)
        mcp__trace_begin(req);
}

void mcp_request_note_reason(mcp_request *req, mcp_str reason)
{
    enum { MOST = 256 };
    if (!req || !reason.len || req->used.recorded || req->used.reason)
        return;
    reason.len = mcp__utf8_cut(reason.ptr, MCP__MIN(reason.len, (size_t)MOST));
    req->used.reason = mcp_request_strdup(req, reason); /* without memory, there is no reason */
}

/* ---- what handlers say ------------------------------------------------------------------------ */

void mcp_request_note_denied(mcp_request *req)
{
    if (req)
        req->used.refused = true;
}

static mcp_str own(mcp_request *req, mcp_str text)
{
    return mcp_str_from(text.len ? mcp_request_strdup(req, text) : NULL);
}

void mcp_request_note_change(mcp_request *req, const mcp_audit_change *change)
{
    mcp_audit_change given;
    if (!req || MCP__TAKE(&given, change, mcp_audit_change, NULL) != MCP_OK)
        return;
    mcp__change_note(req, &given);
    if (!req->server->audit.ended)
        return;
    mcp_audit_change *copy = mcp_request_alloc(req, sizeof(*copy));
    if (!copy)
        return;
    *copy = given;
    copy->operation = own(req, mcp_str_from(given.operation)).ptr;
    copy->uri = own(req, given.uri);
    copy->to = own(req, given.to);
    copy->was = own(req, mcp_str_from(given.was)).ptr;
    copy->now = own(req, mcp_str_from(given.now)).ptr;
    req->used.change = copy;
}

/* ---- what the request is about --------------------------------------------------------------- */

static mcp_str name_in(const mcp_json *object)
{
    static const char *const members[] = {"uri", "name", "taskId"};
    for (size_t i = 0; i < MCP__COUNT(members); i++) {
        mcp_str text = mcp_json_string(mcp_json_get(object, members[i]));
        if (text.ptr)
            return text;
    }
    return (mcp_str){0};
}

static mcp_str source_of(const mcp_server *server, mcp_item item, mcp_str name)
{
    const mcp__mount *mount = NULL;
    if (item == MCP_ITEM_RESOURCE)
        mount = mcp__mount_find(server, name);
    else if (!mcp__registry_find(server, (mcp__kind)item, name))
        mount = mcp__mount_named(server, (mcp__kind)item, name);
    if (!mount)
        return (mcp_str){0};
    return mcp_str_from(mcp__mount_label(mount));
}

static void set_target(const mcp_request *req, mcp_audit_record *r)
{
    const mcp_json *ref = mcp_json_get(r->params, "ref");
    r->name = name_in(ref ? ref : r->params);
    if (!r->name.ptr)
        return;
    if (ref)
        r->source = source_of(
            req->server, mcp_json_get(ref, "uri") ? MCP_ITEM_RESOURCE : MCP_ITEM_PROMPT, r->name);
    const mcp__method_row *row = mcp__method_of(mcp__method_find(r->method));
    if (!ref && row->target && !(row->traits & MCP__ABOUT_TASK))
        r->source = source_of(req->server, row->item, r->name);
}

/* ---- its outcome ----------------------------------------------------------------------------- */

mcp_audit_outcome mcp__audit_outcome(const mcp_request *req)
{
    static const mcp_audit_outcome outcomes[] = {
        [MCP__USED_GONE] = MCP_AUDIT_CANCELLED,        [MCP__USED_OK] = MCP_AUDIT_OK,
        [MCP__USED_TOOL_ERROR] = MCP_AUDIT_TOOL_ERROR, [MCP__USED_NOT_FOUND] = MCP_AUDIT_NOT_FOUND,
        [MCP__USED_ERROR] = MCP_AUDIT_ERROR,           [MCP__USED_INPUT] = MCP_AUDIT_INPUT,
    };
    mcp__used_outcome used = req->used.outcome;
    if (req->stream)
        return MCP_AUDIT_OK;
    if (used == MCP__USED_ERROR && req->in.scopes)
        return MCP_AUDIT_SCOPES;
    if (used == MCP__USED_ERROR && req->used.limited)
        return MCP_AUDIT_LIMITED;
    if ((used == MCP__USED_ERROR || used == MCP__USED_NOT_FOUND) && req->used.denied)
        return MCP_AUDIT_DENIED;
    if ((used == MCP__USED_ERROR || used == MCP__USED_TOOL_ERROR) && req->used.refused)
        return MCP_AUDIT_DENIED;
    return outcomes[used];
}

/* A request that timed out has no error of its own, because it was answered for its handler. */
static int code_of(const mcp_request *req, mcp_audit_outcome outcome)
{
    static const bool has_code[] = {
        [MCP_AUDIT_NOT_FOUND] = true, [MCP_AUDIT_DENIED] = true,  [MCP_AUDIT_SCOPES] = true,
        [MCP_AUDIT_ERROR] = true,     [MCP_AUDIT_LIMITED] = true,
    };
    if (!has_code[outcome] || req->used.outcome == MCP__USED_TOOL_ERROR)
        return 0;
    return req->error.code ? req->error.code : MCP__INTERNAL_ERROR;
}

void mcp__audit_end(mcp_request *req)
{
    if (req->used.recorded)
        return;
    req->used.recorded = true;
    if (!req->server->audit.ended && !req->trace)
        return; /* of the traces, this one is not recorded */
    mcp_audit_record r = {
        .size = sizeof(r),
        .identity = req->identity,
        .caller = req->used.caller,
        .method = req->in.message.method,
        .outcome = mcp__audit_outcome(req),
        .duration_us = mcp__usage_elapsed(req),
        .inner = req->used.inner,
        .params = req->in.message.params,
        .reason = mcp_str_from(req->used.reason),
        .session = mcp_str_from(req->used.session),
        .traceparent = mcp_str_from(req->used.traceparent),
        .bytes = req->used.answer,
        .change = req->used.change,
    };
    r.code = code_of(req, r.outcome);
    r.scopes = r.outcome == MCP_AUDIT_SCOPES ? req->in.scopes : NULL;
    set_target(req, &r);
    if (req->server->audit.ended)
        req->server->audit.ended(&r, req->server->audit.user);
    if (req->trace)
        mcp__trace_end(req, &r);
}
