/* call.c: forwards a request to the process, and its answer to the peer.
 *
 * A request ends when its answer arrives, when the peer cancels it, or when the process ends
 * (crash.c). After a cancellation the call remains until the client has reported its end.
 */
#include <mcp/sys/client.h>
#include <mcp/sys/forward.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "provider.h"
#include "text.h"

enum { MOST_KEY = 8192, MOST_STALE = 3 };

static isolated_call *call_of(common_forward *f)
{
    return (isolated_call *)f;
}

/* If the call ran alone, sends others. */
static void call_free(common_forward *f)
{
    isolated_call *c = call_of(f);
    isolated *r = c->owner;
    bool trial = c->trial;
    if (c->prev)
        c->prev->next = c->next;
    else
        r->first = c->next;
    if (c->next)
        c->next->prev = c->prev;
    else
        r->last = c->prev;
    mcp_service_done(f->service, &f->use);
    isolated_caller_give(r, c->caller);
    common_release(&r->alloc, f->params.members);
    common_release(&r->alloc, c->key);
    common_release(&r->alloc, c);
    if (!trial)
        return;
    r->trials--;
    isolated_calls_go_on(r);
}

static void finish(isolated_call *c, int outcome)
{
    common_forward_finish(&c->f, outcome);
}

static int refuse(mcp_request *req, const char *text)
{
    return mcp_reply_fail(req, MCP_CODE_INTERNAL, "%s", text);
}

static bool exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* Does the same with the reason why the source could not be mounted or, if there is none, with
 * `text`. A source that does not exist has no resources. */
static int refuse_unmounted(const isolated *r, mcp_request *req, bool lists, const char *text)
{
    static const char hidden[] = "the log of this server has the reason";
    const char *name = r->options.name, *why = common_text_without_path(r->failure.text, hidden);
    char said[700];
    bool gone = r->options.paths && r->options.paths[0] && !exists(r->options.paths[0]);
    if (r->failure.code == MCP_ENOTFOUND && gone && !lists)
        return MCP_ENOTFOUND;
    bool same = strcmp(text, r->failure.text) == 0;
    text = common_text_without_path(text, hidden);
    if (!r->failure.code)
        return refuse(req, text);
    if (same)
        snprintf(said, sizeof(said), "%.80s cannot be read now: %.300s", name, why);
    else
        snprintf(said, sizeof(said), "%.80s cannot be read now: %.250s (%.250s)", name, why, text);
    return refuse(req, said);
}

void isolated_call_fail(isolated_call *c, const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    finish(c, c->f.req ? refuse(c->f.req, text) : MCP_ECANCELLED);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int reply_entries(const isolated_call *c, const mcp_json *result)
{
    mcp_str next = mcp_json_string(mcp_json_get(result, "nextCursor"));
    const mcp_json *list = mcp_json_get(result, "resources"), *v;
    mcp_json_iter it = {0};
    int rc = mcp_json_count(list) > c->max ? MCP_ELIMIT : MCP_OK;
    mcp_entry_memory *memory = NULL;
    while (rc == MCP_OK && (v = mcp_json_next(list, &it, NULL)) != NULL) {
        mcp_resource r = {.size = sizeof(r)};
        if (!isolated_owns(c->owner, mcp_json_string(mcp_json_get(v, "uri"))))
            continue;
        rc = mcp_entry_read(MCP_ITEM_RESOURCE, v, &r, &c->owner->alloc, &memory);
        if (rc == MCP_OK)
            rc = mcp_reply_resource(c->f.req, &r);
        rc = rc == MCP_EINVAL ? MCP_OK : rc; /* omit this entry */
    }
    mcp_entry_memory_free(memory);
    if (rc == MCP_ELIMIT)
        return mcp_reply_fail(c->f.req, MCP_CODE_INTERNAL, "%s: its page is too long",
                              c->owner->options.name);
    return rc == MCP_OK && next.len ? mcp_reply_next(c->f.req, next) : rc;
}

/* Returns whether the URI of each content belongs to this source or is exactly the requested
 * one. */
static bool owns_contents(const isolated_call *c, const mcp_json *result)
{
    mcp_str wanted = mcp_json_string(mcp_json_get(mcp_request_params(c->f.req), "uri"));
    const mcp_json *list = mcp_json_get(result, "contents"), *v;
    mcp_json_iter it = {0};
    while ((v = mcp_json_next(list, &it, NULL)) != NULL) {
        mcp_str uri = mcp_json_string(mcp_json_get(v, "uri"));
        if (!uri.ptr || (!mcp_str_eq(uri, wanted) && !isolated_owns(c->owner, uri)))
            return false;
    }
    return true;
}

static int reply(const isolated_call *c, int rc, const mcp_json *result)
{
    const mcp_raw raw = {.size = sizeof(raw),
                         .json = mcp_client_result_text(c->owner->link.client),
                         .value = result,
                         .values_checked = true}; /* by the process */
    if (rc == MCP_OK && c->list)
        return reply_entries(c, result);
    if (rc == MCP_OK && strcmp(c->f.method, "resources/read") == 0 && !owns_contents(c, result))
        return mcp_reply_fail(c->f.req, MCP_CODE_INTERNAL,
                              "%s: its process answered with a URI of another source",
                              c->owner->options.name);
    if (!raw.json.ptr)
        return MCP_EPROTOCOL;
    return rc == MCP_OK ? mcp_reply_raw(c->f.req, &raw) : mcp_reply_raw_error(c->f.req, &raw);
}

/* Returns whether the request may have failed only because a file of the source was replaced, and
 * the sandbox of the process does not allow the new file. */
static bool is_stale(const isolated_call *c, int rc)
{
    return rc == MCP_EREMOTE && c->repeats && c->tries < MOST_STALE && !c->trial &&
           !isolated_is_current(c->owner);
}

static void done(common_forward *f, int rc, const mcp_json *result, const mcp_error *error)
{
    isolated_call *c = call_of(f);
    isolated *r = c->owner;
    if (rc == MCP_OK || rc == MCP_EREMOTE)
        isolated_flood_answer(&r->link);
    mcp_service_done(f->service, &f->use);
    if (!f->req || r->closing) {
        finish(c, MCP_ECANCELLED);
    } else if (rc == MCP_OK || (rc == MCP_EREMOTE && !is_stale(c, rc))) {
        isolated_succeeded(r);
        finish(c, reply(c, rc, result));
    } else if (rc == MCP_EREMOTE) {
        c->tries++;
        isolated_link_replace(r);
        isolated_call_again(c);
    } else if (rc == MCP_ECLOSED || rc == MCP_ETIMEOUT || rc == MCP_EIO || rc == MCP_ESTATE) {
        c->state = ISOLATED_LOST;
        if (rc == MCP_ETIMEOUT)
            isolated_late(c);
    } else {
        isolated_call_fail(c, "%s: %s", r->options.name, error->text);
    }
}

/* ---- sending --------------------------------------------------------------------------------- */

/* While a call runs alone, the others wait. */
static bool has_to_wait(const isolated_call *c)
{
    return c->owner->trials && !c->trial;
}

static int send(common_forward *f)
{
    isolated_call *c = call_of(f);
    mcp_call_options o = common_forward_options(f);
    if (has_to_wait(c)) {
        mcp_service_done(f->service, &f->use);
        c->state = ISOLATED_QUEUED;
        return MCP_OK;
    }
    o.timeout_ms = c->owner->options.timeout_ms;
    int rc = common_forward_call(f, &o);
    if (rc == MCP_OK) {
        c->state = ISOLATED_SENT;
        isolated_pulse_begin(c->owner);
    }
    return rc;
}

static void fail_to_start(isolated_call *c, const char *text)
{
    finish(c, c->f.req ? refuse_unmounted(c->owner, c->f.req, c->list, text) : MCP_ECANCELLED);
}

static void failed(common_forward *f, int rc, const mcp_error *error)
{
    isolated *r = call_of(f)->owner;
    isolated_link_read(&r->link);
    fail_to_start(call_of(f), r->failure.code ? r->failure.text
                              : error         ? error->text
                                              : mcp_error_text(rc));
}

/* Returns MCP_OK if the call was sent or is waiting for the process. */
static int start(isolated_call *c, mcp_error *error)
{
    c->state = ISOLATED_QUEUED;
    if (has_to_wait(c))
        return MCP_OK;
    if (!isolated_may_start(c->owner, error))
        return error->code;
    c->state = ISOLATED_WAITING;
    return common_forward_start(&c->f, error);
}

void isolated_call_again(isolated_call *c)
{
    char why[600];
    mcp_error error = {0};
    if (isolated_is_refused(c->owner, c->key, why, sizeof(why))) {
        isolated_call_fail(c, "%s", why);
        return;
    }
    int rc = start(c, &error);
    if (rc != MCP_OK)
        fail_to_start(c, error.text[0] ? error.text : mcp_error_text(rc));
}

/* Sending a call may free this call and others, so the search starts from the beginning after each
 * call. If a call ends during the search, no second search begins. */
void isolated_calls_go_on(isolated *r)
{
    isolated_call *c = r->searching ? NULL : r->first;
    bool outer = !r->searching;
    r->searching = true;
    while (c && !r->closing) {
        if (c->state == ISOLATED_QUEUED && (c->trial || !r->trials)) {
            isolated_call_again(c);
            c = r->first;
        } else if (c->trial) {
            break; /* this call is running alone */
        } else {
            c = c->next;
        }
    }
    r->searching = !outer;
}

static void cancelled(common_forward *f)
{
    isolated *r = call_of(f)->owner;
    if (f->call)
        r->cancelled = isolated_now(r);
    common_forward_cancel(f, "the client cancelled the request");
}

static char *make_key(const isolated *r, mcp_request *req)
{
    mcp_str uri = mcp_json_string(mcp_json_get(mcp_request_params(req), "uri"));
    mcp_str params = uri.ptr ? uri : mcp_request_params_text(req);
    const char *method = mcp_request_method(req);
    common_buffer b;
    if (params.len > MOST_KEY || (params.len && memchr(params.ptr, 0, params.len)))
        return NULL;
    common_buffer_init(&b, &r->alloc);
    bool ok = common_buffer_reserve(&b, strlen(method) + params.len + 2) == MCP_OK &&
              common_put(&b, method) && common_put(&b, " ") &&
              common_buffer_append(&b, params.ptr, params.len) == MCP_OK &&
              common_buffer_append(&b, "", 1) == MCP_OK;
    if (ok)
        return b.ptr;
    common_buffer_free(&b);
    return NULL;
}

static const common_forward_kind kind = {
    .send = send, .failed = failed, .done = done, .cancelled = cancelled, .free = call_free};

static isolated_call *call_new(isolated *r, mcp_request *req)
{
    isolated_call *c = common_alloc(&r->alloc, sizeof(*c));
    if (!c)
        return NULL;
    *c = (isolated_call){.f = {.kind = &kind,
                               .client = r->link.client,
                               .service = r->link.service,
                               .method = mcp_request_method(req),
                               .req = req},
                         .owner = r};
    c->repeats = strcmp(c->f.method, "tools/call") != 0;
    c->prev = r->last;
    *(r->last ? &r->last->next : &r->first) = c;
    r->last = c;
    return c;
}

int isolated_call_begin(isolated *r, mcp_request *req, mcp_str cursor, size_t max)
{
    char why[600];
    mcp_error error = {0};
    bool goes_on = cursor.len > 0;
    isolated_call *c = call_new(r, req);
    if (!c)
        return MCP_ENOMEM;
    c->list = max > 0;
    c->max = max;
    c->key = make_key(r, req);
    if (isolated_is_refused(r, c->key, why, sizeof(why))) {
        call_free(&c->f);
        return refuse(req, why);
    }
    int rc = isolated_caller_get(r, mcp_request_identity(req), &c->caller);
    if (rc == MCP_OK)
        rc = isolated_params_make(c, cursor, max);
    if (c->list && !goes_on)
        isolated_prestart(r);
    if (!c->repeats || !isolated_link_was_current(r))
        isolated_link_refresh(r);
    common_forward_attach(&c->f, req);
    if (rc == MCP_OK)
        rc = start(c, &error);
    if (rc == MCP_OK)
        return MCP_PENDING;
    common_forward_detach(&c->f);
    call_free(&c->f);
    return error.text[0] ? refuse_unmounted(r, req, max > 0, error.text) : rc;
}

void isolated_calls_free(isolated *r)
{
    while (r->first)
        finish(r->first, MCP_ECANCELLED);
}
