/* ask.c: forwards a request to the other server and returns its answer.
 *
 * A request ends in one of three ways: the answer arrives, the peer cancels the request, or the
 * session ends. After a cancellation the upstream_ask remains until the client has reported the end
 * of the call. It also remains while its caller answers a question of the other server (park.c).
 */
#include <mcp/sys/client.h>
#include <stdio.h>
#include <string.h>

#include "approval.h"
#include "listing.h"
#include "policy.h"
#include "text.h"
#include "uris.h"

static upstream_ask *ask_of(common_forward *f)
{
    return (upstream_ask *)f;
}

static upstream *up_of(const upstream_ask *a)
{
    return a->session->up;
}

static void count(upstream *up, mcp_upstream_outcome outcome)
{
    up->totals.requests[outcome]++;
}

void upstream_ask_free(upstream_ask *a)
{
    upstream *up = a->session->up;
    upstream_park_free(a);
    upstream_list_free(a);
    upstream_ask **at = &a->session->asks;
    while (*at && *at != a)
        at = &(*at)->next;
    if (*at) {
        *at = a->next;
        a->session->n_asks--;
        a->session->bytes -= a->size;
    }
    mcp_service_done(a->f.service, &a->f.use);
    common_release(&up->alloc, a->verdicts.of);
    common_release(&up->alloc, a->f.params.members);
    common_release(&up->alloc, a->caller);
    common_release(&up->alloc, a->name);
    common_release(&up->alloc, a);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Logs the first URIs of lists that are not in normal form. */
static void tell_odd(upstream *up, mcp_str uri)
{
    enum { MOST = sizeof(up->odd) / sizeof(up->odd[0]) };
    char line[300];
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < uri.len; i++)
        hash = (hash ^ (unsigned char)uri.ptr[i]) * 0x100000001b3u;
    for (size_t i = 0; i < up->n_odd; i++)
        if (up->odd[i] == hash)
            return;
    if (up->n_odd == MOST)
        return;
    up->odd[up->n_odd++] = hash;
    snprintf(line, sizeof(line),
             "\"%.*s\" is not offered, because it is not a URI in normal form%s",
             (int)(uri.len < 160 ? uri.len : 160), uri.ptr,
             up->n_odd == MOST ? "; further ones are not logged" : "");
    upstream_say(up, "warning", line);
}

static bool shows(mcp_item item, mcp_str original, void *user)
{
    return upstream_offers(user, item, original);
}

static bool lists(mcp_item item, mcp_str original, void *user)
{
    upstream *up = user;
    if (!upstream_uri_exists(item, original, &up->alloc))
        tell_odd(up, original);
    return shows(item, original, user);
}

static void put_words(mcp_item item, mcp_str original, mcp_raw_titles *to, void *user)
{
    const upstream *up = user;
    const mcp_upstream_change *c = upstream_change_of(&up->options, item, original);
    if (!c)
        return;
    to->title = c->title;
    to->description = c->description;
}

static int name_here(mcp_item item, mcp_str name, char to[MCP_NAME_ROOM], void *user)
{
    upstream *up = user;
    if (!upstream_offers(up, item, name) || (item == MCP_ITEM_TOOL && upstream_withholds(up, name)))
        return MCP_ENOTFOUND;
    return upstream_names_give(&up->names, item, name, to);
}

/* Replies with the JSON text of `value`. If `text` is NULL, it is made from `value`. `how` is
 * mcp_reply_raw() or a variant of it. */
static int reply(upstream *up, mcp_request *req, const mcp_json *value, mcp_str text,
                 int (*how)(mcp_request *req, const mcp_raw *raw))
{
    mcp_raw raw = {.size = sizeof(raw),
                   .json = text,
                   .value = value,
                   .uri_prefix = up->prefix,
                   .ui_prefix = *up->ui_prefix ? up->ui_prefix : NULL,
                   .name = name_here,
                   .user = up,
                   .asker = up->options.name,
                   .tasks = true,
                   .words = up->options.n_changes ? put_words : NULL};
    if (how == mcp_reply_raw_page)
        raw.shows = lists;
    else if (up->options.only_resources || up->options.hide_resources)
        raw.shows = shows;
    if (raw.json.ptr)
        return how(req, &raw);
    mcp_json_writer *w = mcp_json_writer_new(&up->alloc, 0);
    mcp_json_add_value(w, value);
    int rc = mcp_json_writer_finish(w, &raw.json);
    rc = rc == MCP_OK ? how(req, &raw) : rc;
    mcp_json_writer_free(w);
    return rc;
}

/* `verdicts` are those of the session, or NULL. */
static int reply_page(upstream *up, mcp_request *req, mcp_item item, upstream_verdicts *verdicts,
                      const mcp_json *page, mcp_str text)
{
    if (item == MCP_ITEM_TOOL)
        upstream_approval_page(up, verdicts, page, text);
    int rc = reply(up, req, page, text, mcp_reply_raw_page);
    upstream_approval_end_page(up);
    return rc;
}

int upstream_reply_page(upstream *up, mcp_request *req, mcp_item item, mcp_str text)
{
    return reply_page(up, req, item, NULL, NULL, text);
}

const char *upstream_reason(int rc, const mcp_error *error)
{
    return error && error->text[0] ? error->text : mcp_error_text(rc);
}

static bool has_path(const char *text, const char *path)
{
    return path && strchr(path, '/') && strstr(text, path);
}

/* Returns the reason without the path of the program or of its folder. */
static const char *reason_for_callers(const upstream *up, int rc, const mcp_error *error)
{
    const mcp_upstream_options *o = &up->options;
    const char *text = upstream_reason(rc, error);
    return (o->argv && has_path(text, o->argv[0])) || has_path(text, o->cwd)
               ? common_text_without_path(text, "its program cannot be started")
               : text;
}

int upstream_refuse(upstream *up, mcp_request *req, int rc, const mcp_error *error)
{
    if (rc == MCP_ECANCELLED || rc == MCP_ENOMEM)
        return rc;
    char advice[400];
    return mcp_reply_fail(req, MCP_CODE_INTERNAL, "The server %s does not answer: %s%s",
                          up->options.name, reason_for_callers(up, rc, error),
                          rc == MCP_EACCESS ? upstream_login_advice(up, mcp_request_principal(req),
                                                                    advice, sizeof(advice))
                                            : "");
}

/* Logs why a request failed that is not for a list, whose failures are logged where it is made. */
static int refuse_aloud(upstream *up, mcp_request *req, int rc, const mcp_error *error)
{
    char line[350];
    if (rc != MCP_ECANCELLED && rc != MCP_ENOMEM) {
        snprintf(line, sizeof(line), "a request failed: %.300s", upstream_reason(rc, error));
        upstream_say_rarely(up, &up->quiet_until, line);
    }
    return upstream_refuse(up, req, rc, error);
}

/* Returns the time in microseconds. */
static int64_t now_us(const upstream *up)
{
    const mcp_host *host = mcp_server_host(up->server);
    return host && host->now_us ? host->now_us(host->user) : upstream_now(up) * 1000;
}

/* Counts how long the other server took. */
static void count_time(const upstream_ask *a, int rc)
{
    mcp_upstream_state *totals = &up_of(a)->totals;
    const uint64_t *bounds = mcp_usage_bounds();
    size_t i = 0;
    bool answered = rc == MCP_OK || rc == MCP_EREMOTE || rc == MCP_ETIMEOUT;
    if (!a->sent_us || a->park || !answered)
        return;
    int64_t since = now_us(up_of(a)) - a->sent_us;
    uint64_t us = since > 0 ? (uint64_t)since : 0;
    while (i < MCP_USAGE_BUCKETS && us > bounds[i])
        i++;
    totals->buckets[i]++;
    totals->duration_us += us;
}

void upstream_count(const upstream_ask *a, int rc)
{
    if (rc == MCP_OK || rc == MCP_EREMOTE)
        count(up_of(a), rc == MCP_OK ? MCP_UPSTREAM_ANSWERED : MCP_UPSTREAM_ERROR);
    else if (rc != MCP_ECANCELLED && rc != MCP_ENOMEM)
        count(up_of(a), MCP_UPSTREAM_UNREACHABLE);
}

/* An error of one server must not fail a list that has parts of others. */
static bool is_left_out(const upstream_ask *a)
{
    return !a->goes_on && mcp_server_mount_prefix(up_of(a)->server, 1) != NULL;
}

int upstream_ask_outcome(const upstream_ask *a, int rc, const mcp_json *result, mcp_str text,
                         const mcp_error *error)
{
    upstream *up = up_of(a);
    bool withdrawn = rc == MCP_ECANCELLED && error && error->text[0];
    if (!withdrawn)
        upstream_count(a, rc);
    if (rc == MCP_OK && a->lists)
        return reply_page(up, a->f.req, a->item, &a->session->verdicts, result, text);
    if (rc == MCP_OK)
        return reply(up, a->f.req, result, text, mcp_reply_raw);
    if (rc == MCP_EREMOTE && !(a->lists && is_left_out(a)))
        return reply(up, a->f.req, result, text, mcp_reply_raw_error);
    if (withdrawn) /* a modern server gets no such answer */
        return mcp_reply_fail(a->f.req, MCP_CODE_INTERNAL, "%s of the server %s failed: %s",
                              a->is_task ? "The task" : "A question", up->options.name,
                              error->text);
    if (a->listing)
        return upstream_list_without(up, a->f.req, a->item, a->listing->cursor, rc, error);
    return refuse_aloud(up, a->f.req, rc, error);
}

int upstream_ask_answer_stored(upstream_ask *a, mcp_request *req)
{
    a->f.req = req;
    int rc = upstream_ask_outcome(a, a->park->rc, NULL, a->park->text, &a->park->error);
    upstream_ask_free(a);
    return rc;
}

/* ---- sending --------------------------------------------------------------------------------- */

static bool learn(mcp_client *client, const mcp_json *result, void *user)
{
    static const char *const arrays[] = {[MCP_ITEM_PROMPT] = "prompts", [MCP_ITEM_TOOL] = "tools"};
    upstream_ask *a = user;
    char made[MCP_NAME_ROOM];
    mcp_json_iter it = {0};
    (void)client;
    const mcp_json *list = mcp_json_get(result, arrays[a->item]);
    if (a->item == MCP_ITEM_TOOL)
        upstream_approval_page(a->session->up, &a->verdicts, result, (mcp_str){NULL, 0});
    upstream_approval_end_page(a->session->up);
    if (a->compares)
        upstream_headers_learn(a->session, result);
    for (const mcp_json *e; (e = mcp_json_next(list, &it, NULL)) != NULL;)
        upstream_names_give(&a->session->up->names, a->item,
                            mcp_json_string(mcp_json_get(e, "name")), made);
    return a->f.req != NULL;
}

/* Returns whether a call may be sent, as far as its definition has to be the approved one. */
static bool is_allowed(const upstream_ask *a, mcp_str original)
{
    return a->item != MCP_ITEM_TOOL || !upstream_approval_checks(up_of(a)) ||
           upstream_approval_allows(a->session, original);
}

int upstream_ask_params(upstream *up, mcp_request *req, const common_forward_change *change,
                        upstream_ask *a)
{
    common_forward_change with = *change;
    with.span = a->f.span = mcp_request_span_begin(req, MCP_SPAN_CALL, up->options.name);
    return common_forward_params(req, &with, &up->alloc, &a->f.params);
}

/* Makes the params of the request itself, once the original names have been read, unless they were made
 * before. */
static int make_params(upstream_ask *a)
{
    upstream *up = a->session->up;
    mcp_str original = upstream_names_find(&up->names, a->item, mcp_str_from(a->name));
    if (!original.ptr || !upstream_offers(up, a->item, original))
        return MCP_ENOTFOUND;
    if (!is_allowed(a, original))
        return upstream_approval_refuse(up, a->f.req);
    int rc = a->compares ? upstream_headers_check(up, a->f.req, original) : MCP_OK;
    if (rc != MCP_OK && rc != MCP_ENOTFOUND)
        return rc;
    const common_forward_change change = {.name = original};
    if (a->f.params.members)
        return MCP_OK;
    rc = upstream_take_rates(up, a->f.req, a->item, original);
    return rc == MCP_OK ? upstream_ask_params(up, a->f.req, &change, a) : rc;
}

static int send_now(upstream_ask *a)
{
    const upstream *up = up_of(a);
    if (a->learns && a->f.params.members && !a->compares &&
        is_allowed(a, upstream_names_find(&up->names, a->item, mcp_str_from(a->name))))
        a->learns = false;
    bool tool = a->item == MCP_ITEM_TOOL && !a->lists && !a->learns;
    const mcp_request *req = a->f.req; /* NULL if a list was answered without waiting for it */
    bool wants = req && (mcp_request_task_id(req) ||
                         mcp_json_get(mcp_request_meta(req), "progressToken") != NULL);
    mcp_call_options o = common_forward_options(&a->f);
    o.timeout_ms = upstream_time(a);
    o.max_timeout_ms = tool ? MCP_NO_TIMEOUT : 0;
    o.once = tool;
    o.log_level = req ? upstream_log_name(mcp_request_log_level(req)) : NULL;
    o.no_cache = true;
    if (!wants || a->learns)
        o.progress = NULL;
    a->order = ++a->session->n_sent;
    upstream_time_begin(a);
    if (req)
        upstream_logs_raise(a->session, req);
    if (tool)
        upstream_task_options(a, &o);
    if (!a->learns) {
        a->sent_us = now_us(up);
        return common_forward_call(&a->f, &o);
    }
    o.meta = o.name = NULL;
    return mcp_client_list_all(a->f.client,
                               a->item == MCP_ITEM_TOOL ? "tools/list" : "prompts/list", learn, &o,
                               &a->f.call);
}

/* Returns MCP_OK if the request is sent or queued in the client. A failed start is retried. */
static int send(common_forward *f)
{
    upstream_ask *a = ask_of(f);
    int rc = send_now(a);
    if (rc == MCP_ESTATE && mcp_client_start(f->client, NULL, NULL) == MCP_OK)
        rc = send_now(a);
    if (rc == MCP_ECLOSED && !f->service)
        upstream_session_lost(a->session);
    return rc;
}

/* Ends a request that was not sent. */
static void failed(common_forward *f, int rc, const mcp_error *error)
{
    upstream_ask *a = ask_of(f);
    if (a->listing) {
        upstream_list_settle(a, rc, NULL, (mcp_str){NULL, 0}, error);
        return;
    }
    upstream_count(a, rc);
    common_forward_finish(f, refuse_aloud(up_of(a), f->req, rc, error));
}

void upstream_asks_fail(upstream_session *s, int rc, const mcp_error *error)
{
    for (upstream_ask *a = s->asks; a;) {
        upstream_ask *next = a->next;
        if (!a->f.call && a->f.req && !(a->listing && a->listing->ended))
            failed(&a->f, rc, error);
        else if (!a->f.call)
            upstream_ask_free(a);
        a = next;
    }
}

void upstream_ask_cancel(upstream_ask *a, const char *why)
{
    count(up_of(a), MCP_UPSTREAM_CANCELLED);
    a->cancelled = true;
    upstream_waiting_end(a);
    upstream_questions_drop(a);
    if (a->f.call && upstream_may_ask(a))
        a->session->cancelled = true;
    if (a->f.call)
        upstream_doubt_begin(a, true);
    common_forward_cancel(&a->f, why);
}

static void cancelled(common_forward *f)
{
    upstream_ask_cancel(ask_of(f), "the client cancelled the request");
}

/* ---- the end of a call ----------------------------------------------------------------------- */

static void learnt(upstream_ask *a, int rc, const mcp_json *result, const mcp_error *error)
{
    a->learns = false;
    if (rc == MCP_OK)
        upstream_approval_adopt(a->session, &a->verdicts);
    if (!a->f.req) {
        upstream_ask_free(a);
        return;
    }
    a->session->knows_tools |= rc == MCP_OK && a->compares;
    rc = rc == MCP_OK || rc == MCP_EREMOTE
             ? make_params(a)
             : upstream_ask_outcome(a, rc, result, mcp_client_result_text(a->f.client), error);
    if (rc == MCP_OK)
        rc = send(&a->f);
    if (rc == MCP_ENOTFOUND)
        rc = mcp_reply_fail(a->f.req, MCP_CODE_INVALID_PARAMS, "Unknown %s: %s",
                            a->item == MCP_ITEM_TOOL ? "tool" : "prompt", a->name);
    if (rc != MCP_OK)
        common_forward_finish(&a->f, rc);
}

/* Says what to do if a call of a tool is beyond its time. */
static const mcp_error *explain_time(const upstream_ask *a, mcp_error *room)
{
    uint64_t ms = upstream_time(a);
    *room = (mcp_error){.code = MCP_ETIMEOUT};
    snprintf(
        room->text, sizeof(room->text),
        "neither an answer nor progress of %.60s within %llu.%03u s, so the call was cancelled; "
        "it may have had an effect. If the tool needs more time, raise call_ms of this source or "
        "tool",
        a->f.params.name ? a->f.params.name : a->f.method, (unsigned long long)(ms / 1000),
        (unsigned)(ms % 1000));
    return room;
}

/* Says what to do if the answer exceeds a limit. */
static const mcp_error *explain(const upstream_ask *a, int rc, const mcp_error *error,
                                mcp_error *room)
{
    const char *list = a->item == MCP_ITEM_TOOL ? "tools/list" : "prompts/list";
    const char *to = a->learns          ? list
                     : a->f.params.name ? a->f.params.name
                     : a->name          ? a->name
                                        : a->f.method;
    if (rc == MCP_ETIMEOUT && a->item == MCP_ITEM_TOOL && !a->lists && !a->learns)
        return explain_time(a, room);
    if (rc != MCP_ELIMIT || !error)
        return error;
    *room = (mcp_error){.code = rc};
    if (strstr(error->text, "(max_message)")) /* the client's word for max_answer */
        snprintf(room->text, sizeof(room->text),
                 "its answer to %.60s is longer than %zu bytes. Ask for less, or raise max_answer "
                 "of this source",
                 to, up_of(a)->options.max_answer);
    else
        snprintf(room->text, sizeof(room->text),
                 "its answer to %.60s is too large: %.80s. Ask for less, or raise max_answer, "
                 "max_values or max_entries of this source",
                 to, error->text);
    return room;
}

static void done(common_forward *f, int rc, const mcp_json *result, const mcp_error *error)
{
    upstream_ask *a = ask_of(f);
    mcp_error room;
    error = explain(a, rc, error, &room);
    if (rc == MCP_ETIMEOUT)
        upstream_doubt_begin(a, false);
    else if (rc != MCP_ECANCELLED && rc != MCP_ECLOSED && rc != MCP_ENOMEM)
        upstream_doubt_end(a->session);
    if (a->learns) {
        learnt(a, rc, result, error);
        return;
    }
    const mcp_str text = mcp_client_result_text(f->client);
    count_time(a, rc);
    mcp_request_span_end(f->req, f->span, rc != MCP_OK);
    upstream_snapshot_note(a->session);
    if (rc == MCP_ETIMEOUT && upstream_may_ask(a))
        a->session->cancelled = true;
    upstream_logs_tell(a->session);
    if (a->listing)
        upstream_list_settle(a, rc, result, text, error);
    else if (f->req)
        common_forward_finish(f, upstream_ask_outcome(a, rc, result, text, error));
    else if (a->cancelled || a->session->closing)
        upstream_ask_free(a);
    else
        upstream_park_outcome(a, rc, result, error);
}

static void ask_free(common_forward *f)
{
    upstream_ask_free(ask_of(f));
}

static void progressed(common_forward *f)
{
    upstream_time_begin(ask_of(f));
}

static const common_forward_kind kind = {.send = send,
                                         .failed = failed,
                                         .done = done,
                                         .cancelled = cancelled,
                                         .free = ask_free,
                                         .progressed = progressed};

/* ---- the beginning --------------------------------------------------------------------------- */

static void release(const upstream *up, const upstream_ask *like)
{
    if (like->listing)
        common_release(&up->alloc, like->listing->cursor);
    common_release(&up->alloc, like->listing);
    common_release(&up->alloc, like->f.params.members);
    common_release(&up->alloc, like->name);
}

/* Takes everything that the request needs to be sent again. */
static upstream_ask take(upstream_ask *a)
{
    upstream_ask same = {.f = {.method = a->f.method, .params = a->f.params},
                         .lists = a->lists,
                         .goes_on = a->goes_on,
                         .learns = a->learns,
                         .compares = a->compares,
                         .item = a->item,
                         .name = a->name,
                         .listing = a->listing};
    if (a->listing)
        upstream_list_stop(a);
    a->f.params = (common_params){.members = NULL};
    a->name = NULL;
    a->listing = NULL;
    return same;
}

/* `again` is true for the second attempt, which uses a new session because the old one has
 * ended. */
static int begin(upstream *up, mcp_request *req, const upstream_ask *like, bool again,
                 mcp_error *error)
{
    upstream_session *s = NULL;
    bool early = like->listing && like->listing->early;
    upstream_ask *a = common_alloc(&up->alloc, sizeof(*a));
    const char *caller = mcp_request_principal(req);
    const upstream_wanted wanted = {.principal = upstream_principal(up, caller),
                                    .declared = upstream_declared_by(up, req),
                                    .matters = upstream_may_ask(like) ? ~0u : UPSTREAM_SHOWS_APPS};
    char *name =
        up->options.shared && caller ? common_copy(&up->alloc, caller, strlen(caller)) : NULL;
    bool fails = !a || (up->options.shared && caller && !name);
    int rc = fails ? MCP_ENOMEM : upstream_limit_call(up, caller, like->f.params.len, error);
    if (rc == MCP_OK)
        rc = upstream_session_get(up, &wanted, &s, error);
    if (rc != MCP_OK) {
        common_release(&up->alloc, name);
        common_release(&up->alloc, a);
        release(up, like);
        return rc;
    }
    *a = *like;
    a->f.kind = &kind;
    a->f.client = s->client;
    a->f.service = s->service;
    a->size = like->f.params.len;
    a->caller = name;
    a->session = s;
    a->next = s->asks;
    s->asks = a;
    s->n_asks++;
    s->bytes += a->size;
    if (early)
        a->f.req = req;
    else
        common_forward_attach(&a->f, req);
    if (a->listing)
        upstream_list_time(a);
    rc = common_forward_start(&a->f, error);
    if (rc == MCP_OK)
        return MCP_PENDING;
    if (!early)
        common_forward_detach(&a->f);
    bool repeats = s->failed && !again;
    const upstream_ask same = repeats ? take(a) : (upstream_ask){0};
    upstream_ask_free(a);
    return repeats ? begin(up, req, &same, true, error) : rc;
}

int upstream_ask_try(upstream *up, mcp_request *req, const upstream_ask *like, mcp_error *error)
{
    return begin(up, req, like, false, error);
}

int upstream_ask_begin(upstream *up, mcp_request *req, const upstream_ask *like)
{
    mcp_error error = {0};
    int rc = begin(up, req, like, false, &error);
    if (rc == MCP_PENDING)
        return rc;
    if (rc != MCP_ECANCELLED && rc != MCP_ENOMEM)
        count(up, MCP_UPSTREAM_UNREACHABLE);
    return refuse_aloud(up, req, rc, &error);
}
