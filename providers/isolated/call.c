/* call.c: forwards a request to the process, and its answer to the peer.
 *
 * A request ends when its answer arrives, when the peer cancels it, or when the process ends
 * (fate.c). After a cancellation the call remains until the client has reported its end.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "provider.h"

enum { MOST_KEY = 8192, MOST_STALE = 3 };

static void call_free(isolated_call *c)
{
    isolated *r = c->owner;
    if (c->prev)
        c->prev->next = c->next;
    else
        r->first = c->next;
    if (c->next)
        c->next->prev = c->prev;
    else
        r->last = c->prev;
    mcp_service_done(r->link.service, &c->use);
    isolated_caller_give(r, c->caller);
    common_release(&r->alloc, c->params.members);
    common_release(&r->alloc, c->key);
    common_release(&r->alloc, c);
}

static void finish(isolated_call *c, int outcome)
{
    isolated *r = c->owner;
    mcp_request *req = c->req;
    bool trial = c->trial;
    c->req = NULL;
    if (req)
        mcp_request_on_cancel(req, NULL, NULL);
    call_free(c);
    if (req)
        mcp_reply_finish(req, outcome);
    if (trial) {
        r->trials--;
        isolated_calls_go_on(r);
    }
}

/* Returns an error or, for the first page of a list, an empty page, so that the list continues with
 * the other sources. */
static int refuse(const isolated *r, mcp_request *req, bool leaves_out, const char *text)
{
    if (!leaves_out)
        return mcp_reply_fail(req, MCP_CODE_INTERNAL, "%s", text);
    if (strcmp(text, r->failure.text) != 0) /* that text was logged already */
        isolated_say(r, "warning", text);
    return MCP_OK;
}

static bool exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* Does the same with the reason why the source could not be mounted or, if there is none, with
 * `text`. A source that does not exist has no resources. `leaves_out` is that of refuse(). */
static int refuse_unmounted(const isolated *r, mcp_request *req, bool lists, bool leaves_out,
                            const char *text)
{
    char both[700];
    bool gone = r->options.paths && r->options.paths[0] && !exists(r->options.paths[0]);
    if (r->failure.code == MCP_ENOTFOUND && gone && !lists)
        return MCP_ENOTFOUND;
    if (!r->failure.code || strcmp(text, r->failure.text) == 0)
        return refuse(r, req, leaves_out, text);
    snprintf(both, sizeof(both), "%.300s (%.300s)", r->failure.text, text);
    return refuse(r, req, leaves_out, both);
}

void isolated_call_fail(isolated_call *c, const char *format, ...)
{
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    finish(c, c->req ? refuse(c->owner, c->req, c->list && !c->goes_on, text) : MCP_ECANCELLED);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int reply_entries(const isolated_call *c, const mcp_json *result)
{
    mcp_str next = mcp_json_string(mcp_json_get(result, "nextCursor"));
    const mcp_json *list = mcp_json_get(result, "resources"), *v;
    mcp_json_iter it = {0};
    int rc = mcp_json_count(list) > c->max ? MCP_ELIMIT : MCP_OK;
    while (rc == MCP_OK && (v = mcp_json_next(list, &it, NULL)) != NULL) {
        isolated_entry e;
        if (!isolated_owns(c->owner, mcp_json_string(mcp_json_get(v, "uri"))))
            continue;
        isolated_entry_read(&e, v, &c->owner->alloc);
        rc = mcp_reply_resource(c->req, &e.resource);
        rc = rc == MCP_EINVAL ? MCP_OK : rc; /* omit this entry */
        isolated_entry_free(&e);
    }
    if (rc == MCP_ELIMIT)
        return mcp_reply_fail(c->req, MCP_CODE_INTERNAL, "%s: its page is too long",
                              c->owner->options.name);
    return rc == MCP_OK && next.len ? mcp_reply_next(c->req, next) : rc;
}

/* Returns whether the URI of each content belongs to this source or is exactly the requested
 * one. */
static bool owns_contents(const isolated_call *c, const mcp_json *result)
{
    mcp_str wanted = mcp_json_string(mcp_json_get(mcp_request_params(c->req), "uri"));
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
                         .value = result};
    if (rc == MCP_OK && c->list)
        return reply_entries(c, result);
    if (rc == MCP_OK && strcmp(c->method, "resources/read") == 0 && !owns_contents(c, result))
        return mcp_reply_fail(c->req, MCP_CODE_INTERNAL,
                              "%s: its process answered with a URI of another source",
                              c->owner->options.name);
    if (!raw.json.ptr)
        return MCP_EPROTOCOL;
    return rc == MCP_OK ? mcp_reply_raw(c->req, &raw) : mcp_reply_raw_error(c->req, &raw);
}

/* Returns whether the request may have failed only because a file of the source was replaced, and
 * the sandbox of the process does not allow the new file. */
static bool is_stale(const isolated_call *c, int rc)
{
    return rc == MCP_EREMOTE && c->repeats && c->tries < MOST_STALE && !c->trial &&
           !isolated_is_current(c->owner);
}

static void on_done(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                    void *user)
{
    isolated_call *c = user;
    isolated *r = c->owner;
    (void)client;
    c->call = 0;
    if (rc == MCP_OK || rc == MCP_EREMOTE)
        isolated_flood_answer(&r->link);
    mcp_service_done(r->link.service, &c->use);
    if (!c->req || r->closing) {
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

static void on_progress(mcp_client *client, mcp_call_id call, const mcp_progress *progress,
                        void *user)
{
    const isolated_call *c = user;
    (void)client, (void)call;
    if (!c->req)
        return;
    /* Nothing is copied to the request's memory, because the process may send any number of
     * notifications. */
    mcp_request_progress(c->req, progress->progress, progress->has_total ? progress->total : 0,
                         progress->message.len ? progress->message.ptr : NULL);
}

/* ---- sending --------------------------------------------------------------------------------- */

static int send(isolated_call *c)
{
    const isolated *r = c->owner;
    const mcp_call_options o = {
        .size = sizeof(o),
        .done = on_done,
        .progress = on_progress,
        .user = c,
        .timeout_ms = r->options.timeout_ms,
        .meta = c->params.meta,
    };
    int rc = mcp_client_request(r->link.client, c->method, c->params.members, &o, &c->call);
    if (rc == MCP_OK)
        c->state = ISOLATED_SENT;
    return rc;
}

/* While a call runs alone, the others wait. */
static bool has_to_wait(const isolated_call *c)
{
    return c->owner->trials && !c->trial;
}

static void fail_to_start(isolated_call *c, const char *text)
{
    finish(c, c->req ? refuse_unmounted(c->owner, c->req, c->list, c->list && !c->goes_on, text)
                     : MCP_ECANCELLED);
}

static void on_ready(int rc, const mcp_error *error, void *user)
{
    isolated_call *c = user;
    isolated *r = c->owner;
    if (rc == MCP_OK && has_to_wait(c)) {
        mcp_service_done(r->link.service, &c->use);
        c->state = ISOLATED_QUEUED;
        return;
    }
    if (rc == MCP_OK && (rc = send(c)) == MCP_OK)
        return;
    isolated_link_read(&r->link);
    const char *text = r->failure.code ? r->failure.text : error ? error->text : mcp_error_text(rc);
    finish(c, c->req ? refuse_unmounted(r, c->req, c->list, c->list && !c->goes_on, text)
                     : MCP_ECANCELLED);
}

/* Returns MCP_OK if the call was sent or is waiting for the process. */
static int start(isolated_call *c, mcp_error *error)
{
    isolated *r = c->owner;
    c->state = ISOLATED_QUEUED;
    if (has_to_wait(c))
        return MCP_OK;
    if (!isolated_may_start(r, error))
        return error->code;
    c->use.ready = on_ready;
    c->use.user = c;
    int rc = mcp_service_begin(r->link.service, &c->use, error);
    if (rc == MCP_PENDING)
        c->state = ISOLATED_WAITING;
    return rc == MCP_PENDING ? MCP_OK : rc == MCP_OK ? send(c) : rc;
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

static void on_cancel(mcp_request *req, void *user)
{
    isolated_call *c = user;
    isolated *r = c->owner;
    c->req = NULL;
    if (c->call) {
        r->cancelled = isolated_now(r);
        mcp_client_cancel(r->link.client, c->call, "the client cancelled the request");
    } else {
        finish(c, MCP_ECANCELLED);
    }
    mcp_reply_finish(req, MCP_ECANCELLED);
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

static isolated_call *call_new(isolated *r, mcp_request *req)
{
    isolated_call *c = common_alloc(&r->alloc, sizeof(*c));
    if (!c)
        return NULL;
    *c = (isolated_call){.owner = r, .req = req, .method = mcp_request_method(req)};
    c->repeats = strcmp(c->method, "tools/call") != 0;
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
    c->goes_on = goes_on;
    c->key = make_key(r, req);
    if (isolated_is_refused(r, c->key, why, sizeof(why))) {
        call_free(c);
        return refuse(r, req, max && !goes_on, why);
    }
    int rc = isolated_caller_get(r, mcp_request_identity(req), &c->caller);
    if (rc == MCP_OK)
        rc = isolated_params_make(c, cursor, max);
    if (c->list && !goes_on)
        isolated_start_ahead(r);
    if (!c->repeats || !isolated_link_was_current(r))
        isolated_link_refresh(r);
    mcp_request_on_cancel(req, on_cancel, c);
    if (rc == MCP_OK)
        rc = start(c, &error);
    if (rc == MCP_OK)
        return MCP_PENDING;
    mcp_request_on_cancel(req, NULL, NULL);
    call_free(c);
    return error.text[0] ? refuse_unmounted(r, req, max > 0, max && !goes_on, error.text) : rc;
}

void isolated_calls_free(isolated *r)
{
    while (r->first)
        finish(r->first, MCP_ECANCELLED);
}
