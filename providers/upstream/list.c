/* list.c: forwards requests for lists. A list has parts of several servers, so none of them may make
 * it wait: if the other server does not answer soon, its last list is sent. Its answer is still
 * awaited, and callers are notified if the list has changed.
 *
 * The parts of a list are written one after another, but all servers are asked at its beginning
 * (mcp_provider.list_begin): an upstream_ask begins early, and waits for the engine.
 */
#include <stdio.h>
#include <string.h>

#include "listing.h"

static upstream_key key_of(const upstream_ask *a)
{
    return (upstream_key){a->session->principal, a->item, a->listing->cursor,
                          a->session->declared & UPSTREAM_SHOWS_APPS};
}

static upstream_key key_for(const upstream *up, const mcp_request *req, mcp_item item,
                            const char *cursor)
{
    return (upstream_key){upstream_principal(up, mcp_request_principal(req)), item, cursor,
                          upstream_declared_by(up, req) & UPSTREAM_SHOWS_APPS};
}

static const mcp_host *host_of(const upstream *up)
{
    return mcp_server_host(up->server);
}

/* ---- finding --------------------------------------------------------------------------------- */

static upstream_ask *find_early(const upstream *up, const mcp_request *req)
{
    for (const upstream_session *s = up->sessions; s; s = s->next) {
        for (upstream_ask *a = s->asks; a; a = a->next) {
            if (a->f.req == req && a->listing && a->listing->early)
                return a;
        }
    }
    return NULL;
}

/* Returns whether a request for a list is for this page. */
static bool is_for(const upstream_ask *a, const upstream_key *key)
{
    const upstream_key own = key_of(a);
    return own.item == key->item && own.apps == key->apps && strcmp(own.cursor, key->cursor) == 0 &&
           upstream_session_is_of(a->session, key->principal);
}

/* Returns whether the other server has not answered an earlier request for this page in time. */
static bool is_overdue(const upstream *up, const upstream_key *key)
{
    for (const upstream_session *s = up->sessions; s; s = s->next) {
        for (const upstream_ask *a = s->asks; a; a = a->next) {
            if (a->listing && a->listing->late && is_for(a, key))
                return true;
        }
    }
    return false;
}

/* ---- the end --------------------------------------------------------------------------------- */

void upstream_list_stop(upstream_ask *a)
{
    const upstream *up = a->session->up;
    if (a->listing->timer)
        host_of(up)->timer_stop(a->listing->timer, host_of(up)->user);
    a->listing->timer = NULL;
}

void upstream_list_free(upstream_ask *a)
{
    const upstream *up = a->session->up;
    if (!a->listing)
        return;
    upstream_list_stop(a);
    common_release(&up->alloc, (void *)(uintptr_t)a->listing->text.ptr);
    common_release(&up->alloc, a->listing->cursor);
    common_release(&up->alloc, a->listing);
    a->listing = NULL;
}

void upstream_list_detach(upstream_ask *a)
{
    if (!a->listing || !a->listing->early)
        return;
    a->f.req = NULL;
    a->f.span = NULL;
    a->listing->early = false;
    if (a->listing->ended)
        upstream_ask_free(a);
}

int upstream_list_without(upstream *up, mcp_request *req, mcp_item item, const char *cursor, int rc,
                          const mcp_error *error)
{
    const upstream_key key = key_for(up, req, item, cursor);
    mcp_str page = upstream_page_find(up, &key);
    char line[300];
    if (rc == MCP_ECANCELLED || rc == MCP_ENOMEM)
        return rc;
    if (!page.ptr) { /* the engine leaves it out and says so, unless there is no other source */
        up->totals.lists[MCP_UPSTREAM_WITHOUT] += !cursor[0];
        if (up->options.transparent)
            upstream_say_rarely(up, &up->lists_quiet_until, upstream_reason(rc, error));
        return upstream_refuse(up, req, rc, error);
    }
    snprintf(line, sizeof(line), "%.200s (lists have its last entries)",
             upstream_reason(rc, error));
    upstream_say_rarely(up, &up->lists_quiet_until, line);
    up->totals.lists[MCP_UPSTREAM_LAST]++;
    rc = upstream_reply_page(up, req, item, page);
    mcp_reply_cache(req, 0, false);
    return rc;
}

static const mcp_error *too_slow(mcp_error *error)
{
    *error = (mcp_error){.code = MCP_ETIMEOUT};
    snprintf(error->text, sizeof(error->text), "it is slow");
    return error;
}

static int reply_late(upstream *up, mcp_request *req, const upstream_key *key)
{
    mcp_error error;
    return upstream_list_without(up, req, key->item, key->cursor, MCP_ETIMEOUT, too_slow(&error));
}

static void on_late(void *arg)
{
    upstream_ask *a = arg;
    upstream *up = a->session->up;
    const upstream_key key = key_of(a);
    a->listing->timer = NULL;
    if (a->cancelled)
        return;
    a->listing->late = true;
    if (a->listing->early) {
        upstream_list_detach(a);
        return;
    }
    mcp_request *req = common_forward_detach(&a->f);
    if (req)
        mcp_reply_finish(req, reply_late(up, req, &key));
}

void upstream_list_time(upstream_ask *a)
{
    upstream *up = a->session->up;
    const mcp_host *host = host_of(up);
    const upstream_key key = key_of(a);
    bool known = upstream_page_find(up, &key).ptr != NULL;
    uint64_t ms = known ? up->options.list_ms : up->options.first_list_ms;
    if (host && host->timer_start && !a->listing->timer && (known || !a->goes_on))
        a->listing->timer = host->timer_start(ms, on_late, a, host->user);
}

/* Stores the outcome until the engine asks for it. */
static void store(upstream_ask *a, int rc, mcp_str text, const mcp_error *error)
{
    upstream_listing *l = a->listing;
    const upstream *up = a->session->up;
    l->ended = true;
    l->rc = rc;
    l->error = error ? *error : (mcp_error){0};
    if (!text.ptr)
        return;
    l->text = (mcp_str){common_copy(&up->alloc, text.ptr, text.len), text.len};
    if (!l->text.ptr)
        l->rc = MCP_ENOMEM;
}

static void announce(const upstream_ask *a)
{
    mcp_item item = a->item == MCP_ITEM_TEMPLATE ? MCP_ITEM_RESOURCE : a->item;
    upstream_list_changed(a->session, item);
}

/* Returns whether an error object says that the other server does not know the method. */
static bool is_unknown_method(const mcp_json *error)
{
    enum { METHOD_NOT_FOUND = -32601 };
    return mcp_json_int(mcp_json_get(error, "code"), 0) == METHOD_NOT_FOUND;
}

static void settle(upstream_ask *a, int rc, const mcp_json *result, mcp_str text,
                   const mcp_error *error)
{
    static const char empty[] = "{}";
    const upstream_key key = key_of(a);
    if (rc == MCP_EREMOTE && is_unknown_method(result)) { /* there is no such list */
        rc = MCP_OK;
        result = NULL;
        text = mcp_str_from(empty);
    }
    bool changed = rc == MCP_OK && upstream_page_put(a->session->up, &key, result, text);
    upstream_list_stop(a);
    if (a->listing->early && !a->session->closing) {
        store(a, rc, text, error);
        return;
    }
    if (!a->f.req && !a->cancelled)
        upstream_count(a, rc);
    if (a->listing->late && changed)
        announce(a);
    if (!a->f.req || a->listing->early)
        upstream_ask_free(a);
    else if (text.ptr == empty)
        common_forward_finish(&a->f, MCP_OK);
    else
        common_forward_finish(&a->f, upstream_ask_outcome(a, rc, result, text, error));
}

void upstream_list_settle(upstream_ask *a, int rc, const mcp_json *result, mcp_str text,
                          const mcp_error *error)
{
    mcp_json_writer *w = NULL;
    if (result && !text.ptr) {
        w = mcp_json_writer_new(&a->session->up->alloc, 0);
        mcp_json_add_value(w, result);
        int written = mcp_json_writer_finish(w, &text);
        rc = written == MCP_OK ? rc : written;
    }
    if (rc == MCP_OK && result)
        upstream_headers_page(a, result);
    settle(a, rc, result, text, error);
    mcp_json_writer_free(w);
}

/* ---- the beginning --------------------------------------------------------------------------- */

/* Sends the request. The cursor is "" or, after "=", that of the other server. */
static int ask_for(upstream *up, mcp_request *req, mcp_item item, const char *cursor, bool early,
                   mcp_error *error)
{
    upstream_ask ask = {.lists = true,
                        .goes_on = cursor[0] != 0,
                        .item = item,
                        .f.method = mcp_request_method(req)};
    const common_forward_change change = {.cursor = mcp_str_from(cursor[0] ? cursor + 1 : NULL)};
    upstream_listing *l = common_alloc(&up->alloc, sizeof(*l));
    if (!l)
        return MCP_ENOMEM;
    *l = (upstream_listing){.early = early};
    l->cursor = common_copy(&up->alloc, cursor, strlen(cursor));
    ask.listing = l;
    int rc = l->cursor ? upstream_ask_params(up, req, &change, &ask) : MCP_ENOMEM;
    if (rc == MCP_OK)
        return upstream_ask_try(up, req, &ask, error);
    common_release(&up->alloc, l->cursor);
    common_release(&up->alloc, l);
    return rc;
}

void upstream_list_begin(mcp_request *req, mcp_item item, void *user)
{
    upstream *up = user;
    mcp_error error = {0};
    const upstream_key key = key_for(up, req, item, "");
    if (!is_overdue(up, &key))
        (void)ask_for(up, req, item, "", true, &error);
}

void upstream_list_end(mcp_request *req, void *user)
{
    upstream_ask *a = find_early(user, req);
    if (a)
        upstream_list_detach(a);
}

/* Continues what upstream_list_begin() has begun. */
static int go_on(upstream_ask *a, mcp_request *req)
{
    upstream_listing *l = a->listing;
    l->early = false;
    if (!l->ended) {
        common_forward_attach(&a->f, req);
        return MCP_PENDING;
    }
    int rc = upstream_ask_outcome(a, l->rc, NULL, l->text, &l->error);
    upstream_ask_free(a);
    return rc;
}

int upstream_list(mcp_request *req, mcp_item item, mcp_str cursor, size_t max, void *user)
{
    upstream *up = user;
    mcp_error error = {0};
    upstream_ask *a = cursor.len ? NULL : find_early(up, req);
    (void)max; /* the pages of the other server are forwarded as they are */
    if (a)
        return go_on(a, req);
    if (cursor.len && cursor.ptr[0] != '=')
        return MCP_EINVAL;
    char *text = mcp_request_strdup(req, cursor.len ? cursor : MCP_STR(""));
    if (!text)
        return MCP_ENOMEM;
    const upstream_key key = key_for(up, req, item, text);
    if (is_overdue(up, &key))
        return reply_late(up, req, &key);
    int rc = ask_for(up, req, item, text, false, &error);
    if (rc == MCP_PENDING)
        return rc;
    up->totals.requests[MCP_UPSTREAM_UNREACHABLE]++;
    return upstream_list_without(up, req, item, text, rc, &error);
}
