/* callers.c: what the process is told of callers: in the params of each request, and in the answers to
 * its questions about access.
 *
 * The process knows a caller by a number. It stands for the identity with which the request was
 * sent, and is valid while such a request is in flight: scopes and claims never leave this process,
 * and the process cannot ask about callers that have sent it nothing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"

int isolated_caller_get(isolated *r, mcp_identity *identity, isolated_caller **ret)
{
    isolated_caller *c = r->callers;
    *ret = NULL;
    if (!identity || !r->options.may)
        return MCP_OK;
    while (c && c->identity != identity)
        c = c->next;
    if (!c) {
        c = common_alloc(&r->alloc, sizeof(*c));
        if (!c)
            return MCP_ENOMEM;
        *c = (isolated_caller){.next = r->callers,
                               .at = &r->callers,
                               .identity = mcp_identity_ref(identity),
                               .number = ++r->last_caller};
        if (c->next)
            c->next->at = &c->next;
        r->callers = c;
    }
    c->uses++;
    *ret = c;
    return MCP_OK;
}

void isolated_caller_give(isolated *r, isolated_caller *c)
{
    if (!c || --c->uses)
        return;
    *c->at = c->next;
    if (c->next)
        c->next->at = c->at;
    mcp_identity_unref(c->identity);
    common_release(&r->alloc, c);
}

/* ---- params ---------------------------------------------------------------------------------- */

/* Writes an object with the member that describes the caller (mcp_channel_options.trusted_parent). */
static void put_caller(mcp_json_writer *w, const isolated_call *call, size_t page_size)
{
    char number[24];
    mcp_request *req = call->f.req;
    const mcp_json *info = mcp_request_client_info(req);
    const char *principal = mcp_request_principal(req);
    const char *view = mcp_identity_view(mcp_request_identity(req));
    mcp_json_begin_object(w);
    mcp_json_key(w, MCP_META_CALLER);
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "revision", mcp_request_revision(req));
    mcp_json_put_bool(w, "restricted", mcp_request_restricted(req));
    if (principal)
        mcp_json_put_string(w, "principal", principal);
    if (view)
        mcp_json_put_string(w, "view", view);
    if (call->caller) {
        snprintf(number, sizeof(number), "%" PRIu64, call->caller->number);
        mcp_json_put_string(w, "token", number);
    }
    if (info)
        mcp_json_put_value(w, "clientInfo", info);
    if (page_size)
        mcp_json_put_uint(w, "pageSize", page_size);
    mcp_json_end(w);
    mcp_json_end(w);
}

int isolated_params_make(isolated_call *call, mcp_str cursor, size_t page_size)
{
    const mcp_allocator *alloc = &call->owner->alloc;
    mcp_str made;
    mcp_json_writer *w = mcp_json_writer_new(alloc, 0);
    put_caller(w, call, page_size);
    int rc = mcp_json_writer_finish(w, &made);
    if (rc == MCP_OK)
        rc = common_forward_params(
            call->f.req,
            &(common_forward_change){.cursor = cursor, .meta = {made.ptr + 1, made.len - 2}}, alloc,
            &call->f.params);
    mcp_json_writer_free(w);
    return rc;
}

/* ---- questions ------------------------------------------------------------------------------- */

/* Finds the identity that a question is about; NULL stands for an anonymous caller. Returns false if
 * there is none. */
static bool find(const isolated *r, const mcp_json *question, const mcp_identity **ret)
{
    const mcp_json *token = mcp_json_get(question, "token");
    const char *text = mcp_json_string(token).ptr;
    uint64_t number = text ? strtoull(text, NULL, 10) : 0;
    const isolated_caller *c = r->callers;
    *ret = NULL;
    while (token && c && c->number != number)
        c = c->next;
    if (token && c)
        *ret = c->identity;
    return !token || c;
}

/* Writes the scopes that the use of the only name needs. */
static bool answer_scopes(const isolated *r, const mcp_json *question, mcp_item item,
                          isolated_answer *to)
{
    const mcp_json *names = mcp_json_get(question, "names");
    mcp_str name = mcp_json_string(mcp_json_at(names, 0));
    const mcp_identity *identity;
    const char *scopes = NULL;
    if (mcp_json_count(names) != 1 || !name.ptr)
        return false;
    if (r->options.scopes && find(r, question, &identity))
        scopes = r->options.scopes(identity, item, name, r->options.user);
    size_t len = scopes ? strlen(scopes) : 0;
    if (len > MCP_ISOLATED_SCOPES)
        len = 0;
    if (len)
        memcpy(to->text, scopes, len);
    to->len = len;
    to->text[to->len++] = '\n';
    return true;
}

static bool answer_names(const isolated *r, const mcp_json *question, mcp_item item,
                         isolated_answer *to)
{
    const mcp_json *names = mcp_json_get(question, "names"), *v;
    const mcp_identity *identity;
    mcp_json_iter it = {0};
    bool known = find(r, question, &identity);
    if (!mcp_json_count(names) || mcp_json_count(names) > MCP_ISOLATED_NAMES)
        return false;
    to->len = 0;
    while ((v = mcp_json_next(names, &it, NULL)) != NULL) {
        mcp_str name = mcp_json_string(v);
        bool may = name.ptr && (!r->options.may ||
                                (known && r->options.may(identity, item, name, r->options.user)));
        to->text[to->len++] = may ? '1' : '0';
    }
    to->text[to->len++] = '\n';
    return true;
}

bool isolated_answer_question(const isolated *r, const mcp_json *question, isolated_answer *to)
{
    int64_t item = mcp_json_int(mcp_json_get(question, "item"), -1);
    if (item < MCP_ITEM_RESOURCE || item > MCP_ITEM_TOOL)
        return false;
    return mcp_json_bool(mcp_json_get(question, "scopes"), false)
               ? answer_scopes(r, question, (mcp_item)item, to)
               : answer_names(r, question, (mcp_item)item, to);
}
