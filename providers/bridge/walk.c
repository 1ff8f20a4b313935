/* walk.c: iterates over all resources; see walk.h. */
#define _GNU_SOURCE
#include "walk.h"

#include <stdio.h>

#include "entry.h"
#include "filter.h"

enum {
    PAGE = 1000,     /* entries of a list page whose names are matched */
    READ_PAGE = 50,  /* entries of a list page whose contents are read */
    TEMPLATES = 100, /* templates listed together with entries */
};

static const int64_t slice_ns = 20 * 1000000LL; /* ns on the server's thread before other requests
                                                 * get a turn */

static bool is_enough(const bridge_walk *w)
{
    return search_is_full(&w->results, &w->query);
}

/* Returns whether the call was cancelled or takes too long. Time is not checked before the first
 * entry, so that each call makes progress. */
static bool is_late(const bridge_walk *w)
{
    return mcp_request_cancelled(w->req) || (w->seen && search_now() - w->began > SEARCH_CALL_NS);
}

/* ---- stopping -------------------------------------------------------------------------------- */

/* Writes the cursor "WHICH:POSITION". WHICH is the index of a source, the number of sources
 * (meaning the lists), or "t" for templates. */
static int stop_at(bridge_walk *w, const char *which, mcp_str position)
{
    w->step = BRIDGE_AT_END;
    w->cursor.len = 0;
    int rc = common_buffer_append(&w->cursor, which, strlen(which));
    if (rc == MCP_OK)
        rc = common_buffer_append(&w->cursor, ":", 1);
    return rc == MCP_OK && position.len
               ? common_buffer_append(&w->cursor, position.ptr, position.len)
               : rc;
}

static int stop_in_source(bridge_walk *w, size_t source, mcp_str position)
{
    char which[24];
    snprintf(which, sizeof(which), "%zu", source);
    return stop_at(w, which, position);
}

static int stop_in_list(bridge_walk *w, mcp_str token)
{
    return stop_in_source(w, w->all->n, token);
}

/* Continues with the templates, or ends. */
static void end_entries(bridge_walk *w)
{
    bool wanted = w->tool == BRIDGE_LIST ? w->first && !w->query.glob.len
                                         : (w->query.kinds & SEARCH_OTHERS) != 0;
    w->has_token = false;
    w->step = wanted ? BRIDGE_AT_TEMPLATES : BRIDGE_AT_END;
}

/* Stops with more entries left. The first call still includes the first page of templates. */
static int stop_listing(bridge_walk *w, mcp_str token)
{
    int rc = stop_in_list(w, token);
    if (w->tool == BRIDGE_LIST)
        end_entries(w);
    return rc;
}

/* ---- sources --------------------------------------------------------------------------------- */

/* Returns whether a mount at the prefix may contain anything below `under`. */
static bool may_hold(const bridge_walk *w, const char *prefix)
{
    size_t len = strlen(prefix), most = len < w->query.under.len ? len : w->query.under.len;
    return memcmp(prefix, w->query.under.ptr ? w->query.under.ptr : "", most) == 0;
}

static int begin_turn(bridge_walk *w)
{
    const search_source *s = &w->all->sources[w->source];
    w->turn.req = w->req;
    w->turn.query = &w->query;
    w->turn.results = &w->results;
    w->turn.began = w->began;
    w->turn.seen = w->seen;
    w->turn.later = bridge_walk_later;
    w->turn.user = w;
    w->turn.rc = MCP_OK;
    w->turn.more = false;
    w->turn.next.len = 0;
    if (!may_hold(w, s->prefix))
        return MCP_OK;
    return s->run(&w->turn, s->user);
}

static void to_lists(bridge_walk *w)
{
    w->has_token = false;
    w->step = is_enough(w) ? BRIDGE_AT_REST : BRIDGE_AT_PAGE;
}

static int take_turn(bridge_walk *w)
{
    search_turn *t = &w->turn;
    w->seen = t->seen;
    t->from = (mcp_str){0};
    if (t->rc != MCP_OK)
        return t->rc;
    if (t->more)
        return stop_in_source(w, w->source, (mcp_str){t->next.ptr, t->next.len});
    w->source++;
    if (w->source == w->all->n)
        to_lists(w);
    else if (is_enough(w) || is_late(w))
        return stop_in_source(w, w->source, (mcp_str){0});
    return MCP_OK;
}

/* ---- list pages ------------------------------------------------------------------------------ */

/* Returns whether this mount has to be listed because no source has searched it. */
static bool list_mount(const char *prefix, void *user)
{
    const bridge_walk *w = user;
    if (!may_hold(w, prefix))
        return false;
    for (size_t i = 0; w->by_sources && i < w->all->n; i++)
        if (strcmp(prefix, w->all->sources[i].prefix) == 0)
            return false;
    return true;
}

static mcp_str token_of(const bridge_walk *w)
{
    return w->has_token ? (mcp_str){w->token.ptr, w->token.len} : (mcp_str){0};
}

static void put_token(mcp_json_writer *w, const void *user)
{
    const bridge_walk *way = user;
    if (way->has_token)
        mcp_json_put_str(w, "cursor", token_of(way));
}

static int ask_page(bridge_walk *w, common_ask *ask, const char *method, size_t size)
{
    *ask = (common_ask){.req = w->req,
                        .method = method,
                        .put = put_token,
                        .later = bridge_walk_later,
                        .user = w,
                        .page_size = size,
                        .list_mount = list_mount,
                        .mounts_user = w};
    return common_loopback_ask(w->all->bridge->loopback, ask);
}

/* Returns whether entries are returned unfiltered. A page of the tool then equals a page of the
 * list. */
static bool takes_all(const bridge_walk *w)
{
    return w->tool == BRIDGE_LIST && !w->by_sources;
}

static size_t page_size(const bridge_walk *w)
{
    if (takes_all(w))
        return w->query.limit - w->results.count;
    return w->tool == BRIDGE_SEARCH && !w->barren ? READ_PAGE : PAGE;
}

/* Checks the answer of a list. Returns MCP_EINVAL if the cursor is invalid. */
static int check_list(const bridge_walk *w, const common_ask *ask)
{
    if (ask->rc != MCP_OK || ask->result)
        return ask->rc;
    int64_t code = mcp_json_int(mcp_json_get(ask->error, "code"), 0);
    return w->has_token && code == MCP_CODE_INVALID_PARAMS ? MCP_EINVAL : MCP_EREMOTE;
}

static int keep_token(bridge_walk *w, const mcp_json *result)
{
    mcp_str next = mcp_json_string(mcp_json_get(result, "nextCursor"));
    w->has_token = next.len != 0;
    w->token.len = 0;
    return next.len ? common_buffer_append(&w->token, next.ptr, next.len) : MCP_OK;
}

/* Continues after the last entry of a page. */
static int end_page(bridge_walk *w)
{
    char text[60];
    int rc = keep_token(w, w->page.result);
    common_ask_clear(&w->page);
    if (rc != MCP_OK)
        return rc;
    snprintf(text, sizeof(text), "%zu resources searched", w->seen);
    mcp_request_progress(w->req, (double)w->seen, 0, text);
    w->step = BRIDGE_AT_PAGE;
    if (!w->has_token)
        end_entries(w);
    else if (is_enough(w) || is_late(w))
        return stop_listing(w, token_of(w));
    return MCP_OK;
}

/* Stops within the page, before the current entry. */
static int stop_here(bridge_walk *w)
{
    if (w->at == 0) {
        common_ask_clear(&w->page);
        return stop_listing(w, token_of(w));
    }
    w->step = BRIDGE_AT_PLACE;
    return MCP_OK;
}

static int take_place(bridge_walk *w)
{
    int rc = check_list(w, &w->one);
    if (rc == MCP_OK)
        rc = keep_token(w, w->one.result);
    common_ask_clear(&w->one);
    common_ask_clear(&w->page);
    if (rc != MCP_OK)
        return rc;
    if (w->has_token)
        return stop_listing(w, token_of(w));
    end_entries(w); /* the rest of the list no longer exists */
    return MCP_OK;
}

static int take_rest(bridge_walk *w)
{
    int rc = check_list(w, &w->one);
    bool any = mcp_json_count(mcp_json_get(w->one.result, "resources")) ||
               mcp_json_get(w->one.result, "nextCursor");
    common_ask_clear(&w->one);
    if (rc == MCP_OK && any)
        return stop_in_list(w, (mcp_str){0});
    w->step = BRIDGE_AT_END;
    return rc;
}

/* ---- entries of a page ----------------------------------------------------------------------- */

/* Processes the entries up to the first one that has to be read. */
static int go_through(bridge_walk *w)
{
    const mcp_json *list = mcp_json_get(w->page.result, "resources");
    w->step = BRIDGE_AT_PAGE;
    while ((w->entry = mcp_json_next(list, &w->entries, NULL)) != NULL) {
        bool wanted = bridge_wants(w, w->entry);
        w->barren = w->barren && !wanted;
        if ((wanted && is_enough(w)) || (w->at && w->tool == BRIDGE_SEARCH && is_late(w)))
            return stop_here(w);
        if (wanted && w->tool == BRIDGE_SEARCH) {
            w->step = bridge_needs_filters(w) ? BRIDGE_AT_FILTERS : BRIDGE_AT_ENTRY;
            return MCP_OK;
        }
        int rc = wanted ? bridge_put_entry(w, w->entry) : MCP_OK;
        if (rc != MCP_OK)
            return rc;
        if (bridge_may_have_names(w)) {
            w->step = w->filters_known ? BRIDGE_AT_NAMES : BRIDGE_AT_FILTERS;
            return MCP_OK;
        }
        w->at++;
        w->seen++;
    }
    return end_page(w);
}

static int go_on(bridge_walk *w)
{
    bridge_next_entry(w);
    return go_through(w);
}

static int take_page(bridge_walk *w)
{
    int rc = check_list(w, &w->page);
    if (rc == MCP_OK)
        rc = bridge_take_left_out(w, w->page.result);
    if (rc != MCP_OK)
        return rc;
    w->entries = (mcp_json_iter){0};
    w->at = 0;
    w->barren = true;
    return go_through(w);
}

/* ---- templates ------------------------------------------------------------------------------- */

/* Templates listed with entries are limited to TEMPLATES; listed alone, to the requested number. */
static bool take_template(bridge_walk *w, const mcp_json *tmpl, int *rc)
{
    if (!bridge_wants_template(w, tmpl))
        return true;
    if (!w->only_templates && (w->n_templates >= TEMPLATES || w->results.bytes > w->query.most)) {
        w->more_templates = true;
        return false;
    }
    w->n_templates++;
    *rc = bridge_put_template(w, tmpl);
    return *rc == MCP_OK;
}

static int take_templates(bridge_walk *w)
{
    int rc = check_list(w, &w->one);
    mcp_json_iter it = {0};
    bool room = true;
    const mcp_json *list = mcp_json_get(w->one.result, "resourceTemplates");
    for (const mcp_json *t; rc == MCP_OK && room && (t = mcp_json_next(list, &it, NULL)) != NULL;)
        room = take_template(w, t, &rc);
    if (rc == MCP_OK)
        rc = keep_token(w, w->one.result);
    common_ask_clear(&w->one);
    if (rc != MCP_OK)
        return rc;
    w->step = w->has_token && room ? BRIDGE_AT_TEMPLATES : BRIDGE_AT_END;
    if (w->only_templates && w->has_token && w->n_templates >= w->query.limit)
        return stop_at(w, "t", token_of(w));
    return MCP_OK;
}

static size_t templates_size(const bridge_walk *w)
{
    return w->only_templates && !w->query.under.len ? w->query.limit - w->n_templates : 0;
}

/* ---- other threads and requests -------------------------------------------------------------- */

static void resume(bridge_walk *w);

static void on_worked(mcp_request *req, void *user)
{
    (void)req;
    bridge_walk_later(user);
}

static bool has_workers(const bridge_walk *w)
{
    const mcp_host *host = mcp_server_host(w->all->bridge->server);
    return host && host->work;
}

/* Without workers, the work runs synchronously within this call. */
static int work(bridge_walk *w, void (*fn)(void *user))
{
    if (has_workers(w)) {
        w->found = MCP_ECANCELLED; /* in case the work never starts */
        return mcp_request_work(w->req, fn, on_worked, w);
    }
    fn(w);
    return MCP_OK;
}

static void nothing(void *user)
{
    (void)user;
}

static void after_yield(mcp_request *req, void *user)
{
    (void)req;
    resume(user);
}

/* Returns whether this call pauses to let other requests run on the server's thread. */
static bool yields(bridge_walk *w)
{
    int64_t now = search_now();
    if (now - w->slice < slice_ns || !has_workers(w))
        return false;
    w->slice = now;
    return mcp_request_work(w->req, nothing, after_yield, w) == MCP_PENDING;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int begin_step(bridge_walk *w)
{
    switch (w->step) {
    case BRIDGE_AT_SOURCE: return begin_turn(w);
    case BRIDGE_AT_PAGE: return ask_page(w, &w->page, "resources/list", page_size(w));
    case BRIDGE_AT_FILTERS: return bridge_ask_filters(w);
    case BRIDGE_AT_ENTRY:
    case BRIDGE_AT_AGAIN: return bridge_ask_entry(w);
    case BRIDGE_AT_NAMES: return bridge_ask_names(w);
    case BRIDGE_AT_LINES: return work(w, bridge_search_lines);
    case BRIDGE_AT_PLACE: return ask_page(w, &w->one, "resources/list", w->at);
    case BRIDGE_AT_REST: return ask_page(w, &w->one, "resources/list", 1);
    case BRIDGE_AT_TEMPLATES:
        return ask_page(w, &w->one, "resources/templates/list", templates_size(w));
    case BRIDGE_AT_END: break;
    }
    return MCP_OK;
}

static int take_step(bridge_walk *w)
{
    int rc;
    switch (w->step) {
    case BRIDGE_AT_SOURCE: return take_turn(w);
    case BRIDGE_AT_PAGE: return take_page(w);
    case BRIDGE_AT_FILTERS:
        rc = bridge_take_filters(w);
        if (w->filters_known)
            w->step = w->tool == BRIDGE_FIND ? BRIDGE_AT_NAMES : BRIDGE_AT_ENTRY;
        return rc;
    case BRIDGE_AT_NAMES: rc = bridge_take_names(w); return rc == MCP_OK ? go_on(w) : rc;
    case BRIDGE_AT_ENTRY:
    case BRIDGE_AT_AGAIN:
        w->step = BRIDGE_AT_ENTRY;
        rc = bridge_take_entry(w);
        return rc == MCP_OK && w->step == BRIDGE_AT_ENTRY ? go_on(w) : rc;
    case BRIDGE_AT_LINES:
        rc = bridge_take_lines(w, is_enough(w) || is_late(w));
        return rc == MCP_OK && w->step == BRIDGE_AT_LINES ? go_on(w) : rc;
    case BRIDGE_AT_PLACE: return take_place(w);
    case BRIDGE_AT_REST: return take_rest(w);
    case BRIDGE_AT_TEMPLATES: return take_templates(w);
    case BRIDGE_AT_END: break;
    }
    return MCP_OK;
}

static int finish(bridge_walk *w)
{
    int rc = bridge_walk_reply(w);
    common_ask_clear(&w->page);
    common_ask_clear(&w->one);
    common_buffer *buffers[] = {&w->turn.next, &w->cursor, &w->templates, &w->searches, &w->token,
                                &w->scratch,   &w->part,   &w->after,     &w->left_out, &w->notes,
                                &w->twin,      &w->lines,  &w->filter,    &w->why,      &w->names};
    for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
        common_buffer_free(buffers[i]);
    bridge_free_filters(w);
    search_results_free(&w->results);
    search_needle_free(w->query.needle);
    return rc;
}

/* Runs steps until one has to wait. */
static int advance(bridge_walk *w)
{
    while (w->rc == MCP_OK && w->step != BRIDGE_AT_END) {
        bool cancelled = mcp_request_cancelled(w->req);
        if (!cancelled && yields(w))
            return MCP_PENDING;
        int rc = cancelled ? MCP_ECANCELLED : begin_step(w);
        if (rc == MCP_PENDING)
            return rc;
        w->rc = rc == MCP_OK ? take_step(w) : rc;
    }
    return finish(w);
}

static void resume(bridge_walk *w)
{
    mcp_request *req = w->req;
    int rc = advance(w);
    if (rc != MCP_PENDING)
        mcp_reply_finish(req, rc);
}

void bridge_walk_later(void *user)
{
    bridge_walk *w = user;
    w->rc = take_step(w);
    resume(w);
}

int bridge_walk_run(bridge_walk *w)
{
    const mcp_allocator *alloc = &w->all->alloc;
    common_buffer *buffers[] = {&w->turn.next, &w->cursor, &w->templates, &w->searches, &w->scratch,
                                &w->part,      &w->after,  &w->left_out,  &w->notes,    &w->twin,
                                &w->lines,     &w->filter, &w->why,       &w->names};
    for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
        common_buffer_init(buffers[i], alloc);
    w->began = w->slice = search_now();
    w->rc = search_results_init(&w->results, alloc);
    w->results.structured = w->structured;
    mcp_json_begin_object(w->results.json);
    mcp_json_key(w->results.json, w->tool == BRIDGE_SEARCH ? "files" : "entries");
    mcp_json_begin_array(w->results.json);
    return advance(w);
}
