/* peer.c: one server: its connection and its lists. */
#define _GNU_SOURCE
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <common/text.h>

const pages_kind list_kinds[LISTS] = {
    [LIST_RESOURCES] = {"resources/list", "resources", "uri", false},
    [LIST_TEMPLATES] = {"resources/templates/list", "resourceTemplates", "uriTemplate", true},
    [LIST_PROMPTS] = {"prompts/list", "prompts", "name", true},
    [LIST_TOOLS] = {"tools/list", "tools", "name", true},
};

static void changed(peer *p)
{
    p->events.changed(p, p->events.user);
}

static void say_why(peer *p, const char *format, ...) MCP_PRINTF(2, 3);
static void say_why(peer *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(p->why, sizeof(p->why), format, args);
    va_end(args);
    changed(p);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void request_page(peer_list *l);
static void begin_again(peer_list *l);

bool peer_cursor_refused(int rc, const mcp_json *answer)
{
    return rc == MCP_EREMOTE && mcp_json_int(mcp_json_get(answer, "code"), 0) == -32602;
}

static void on_page(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                    void *user)
{
    peer_list *l = user;
    (void)client;
    l->is_pending = false;
    if (l->question != l->generation) {
        /* an answer from before the list changed */
    } else if (!l->was_refused && pages_cursor(&l->pages, l->page) &&
               peer_cursor_refused(rc, result)) {
        l->was_refused = true;
        begin_again(l);
    } else if (rc != MCP_OK) {
        pages_break(&l->pages, error ? error->text : mcp_error_text(rc));
    } else if (!pages_take(&l->pages, l->page, result)) {
        pages_break(&l->pages, "out of memory");
    }
    if (l->pages.is_complete)
        l->was_refused = false;
    request_page(l);
    changed(l->peer);
}

/* Returns the params with a cursor, which the caller frees; NULL for the first page. */
static char *cursor_params(const char *cursor, bool *ok)
{
    mcp_str text;
    char *params = NULL;
    if (!cursor)
        return NULL;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    mcp_json_put_str(w, "cursor", mcp_str_from(cursor));
    mcp_json_end(w);
    if (mcp_json_writer_finish(w, &text) == MCP_OK)
        params = text_dup(text);
    mcp_json_writer_free(w);
    *ok = params != NULL;
    return params;
}

static void request_page(peer_list *l)
{
    peer *p = l->peer;
    if (p->state != PEER_READY || l->is_pending || !l->is_offered)
        return;
    size_t wanted = pages_wanted(&l->pages, l->from, l->to_end ? SIZE_MAX : l->to);
    if (wanted == SIZE_MAX)
        return;
    bool ok = true;
    char *params = cursor_params(pages_cursor(&l->pages, wanted), &ok);
    l->page = wanted;
    l->question = l->generation;
    l->is_pending = true;
    int rc =
        ok ? mcp_client_call(p->client, l->pages.kind->method, params, on_page, l) : MCP_ENOMEM;
    free(params);
    if (rc == MCP_OK)
        return;
    l->is_pending = false;
    pages_break(&l->pages, mcp_error_text(rc));
}

int peer_request_list(peer *p, list_kind kind, mcp_result_fn *done, void *user, mcp_call_id *ret)
{
    if (p->state != PEER_READY)
        return MCP_ECLOSED;
    return mcp_client_list_all(p->client, list_kinds[kind].method, NULL,
                               MCP_OPTIONS(mcp_call_options, .done = done, .user = user), ret);
}

int peer_request_page(peer *p, list_kind kind, size_t page_index, mcp_result_fn *done, void *user,
                      mcp_call_id *ret)
{
    const pages *list = &p->lists[kind].pages;
    bool ok = true;
    if (p->state != PEER_READY)
        return MCP_ECLOSED;
    /* after the list has changed, the page may have been dropped: its first page is the best guess */
    const char *cursor = page_index < list->count ? pages_cursor(list, page_index) : NULL;
    char *params = cursor_params(cursor, &ok);
    int rc = ok ? mcp_client_request(p->client, list->kind->method, params,
                                     MCP_OPTIONS(mcp_call_options, .done = done, .user = user), ret)
                : MCP_ENOMEM;
    free(params);
    return rc;
}

void peer_look(peer *p, list_kind kind, size_t from, size_t to)
{
    peer_list *l = &p->lists[kind];
    l->from = from;
    l->to = to;
    request_page(l);
}

static void begin_again(peer_list *l)
{
    l->generation++;
    pages_reset(&l->pages);
}

void peer_reload(peer *p, list_kind kind)
{
    peer_list *l = &p->lists[kind];
    l->was_refused = false;
    begin_again(l);
    request_page(l);
    changed(p);
}

/* ---- changes --------------------------------------------------------------------------------- */

static void on_change(mcp_client *client, mcp_subscription *subscription, mcp_change change,
                      mcp_str uri, void *user)
{
    peer *p = user;
    (void)client, (void)subscription, (void)uri;
    switch (change) {
    case MCP_CHANGE_RESOURCE:
        p->updates++;
        changed(p);
        break;
    case MCP_CHANGE_RESOURCES:
        peer_reload(p, LIST_RESOURCES);
        peer_reload(p, LIST_TEMPLATES);
        break;
    case MCP_CHANGE_PROMPTS: peer_reload(p, LIST_PROMPTS); break;
    case MCP_CHANGE_TOOLS: peer_reload(p, LIST_TOOLS); break;
    }
}

static void subscribe(peer *p)
{
    mcp_client_subscribe(
        p->client,
        MCP_OPTIONS(mcp_subscription_options, .resources = p->lists[LIST_RESOURCES].is_offered,
                    .prompts = p->lists[LIST_PROMPTS].is_offered,
                    .tools = p->lists[LIST_TOOLS].is_offered, .changed = on_change, .user = p),
        &p->changes);
}

void peer_watch(peer *p, const char *uri)
{
    const mcp_json *resources =
        mcp_json_get(p->client ? mcp_client_server_capabilities(p->client) : NULL, "resources");
    bool can = mcp_json_bool(mcp_json_get(resources, "subscribe"), false);
    if (!p->changes || !can || (uri && p->watched && strcmp(uri, p->watched) == 0))
        return;
    free(p->watched);
    p->watched = uri ? strdup(uri) : NULL;
    p->updates = 0;
    mcp_subscription_set_uris(p->changes, &uri, uri ? 1 : 0);
}

static void on_question(mcp_client *client, mcp_question *question, void *user)
{
    peer *p = user;
    (void)client;
    p->events.question(p, question, p->events.user);
}

/* ---- the connection -------------------------------------------------------------------------- */

static void on_start(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                     void *user)
{
    peer *p = user;
    (void)result;
    if (rc != MCP_OK) {
        p->state = PEER_ENDED;
        p->wants_login = rc == MCP_EACCESS && p->account;
        say_why(p, "%s",
                p->wants_login ? "The server requires a login."
                : error        ? error->text
                               : mcp_error_text(rc));
        return;
    }
    const mcp_json *offers = mcp_client_server_capabilities(client);
    p->state = PEER_READY;
    p->lists[LIST_RESOURCES].is_offered = p->lists[LIST_TEMPLATES].is_offered =
        mcp_json_get(offers, "resources") != NULL;
    p->lists[LIST_PROMPTS].is_offered = mcp_json_get(offers, "prompts") != NULL;
    p->lists[LIST_TOOLS].is_offered = mcp_json_get(offers, "tools") != NULL;
    for (size_t i = 0; i < LISTS; i++)
        request_page(&p->lists[i]);
    subscribe(p);
    changed(p);
}

static void on_exit_status(int status, void *user)
{
    peer *p = user;
    p->state = PEER_ENDED;
    if (!*p->why)
        say_why(p, "the server ended with status %d", status);
}

static void on_http_end(const char *why, void *user)
{
    peer *p = user;
    p->state = PEER_ENDED;
    say_why(p, "%s", why);
}

static void on_stderr(mcp_str bytes, void *user)
{
    peer *p = user;
    while (bytes.len) {
        const char *newline = memchr(bytes.ptr, '\n', bytes.len);
        size_t len = newline ? (size_t)(newline - bytes.ptr) : bytes.len;
        if (len)
            p->events.logged(p, LOOK_DIM, "stderr: ", (mcp_str){bytes.ptr, len}, p->events.user);
        len += newline != NULL;
        bytes = (mcp_str){bytes.ptr + len, bytes.len - len};
    }
}

static void on_log(mcp_client *client, mcp_str level, mcp_str logger, const mcp_json *data,
                   void *user)
{
    static const char *const bad[] = {"error", "critical", "alert", "emergency"};
    peer *p = user;
    look l = mcp_str_eq(level, MCP_STR("warning")) ? LOOK_WARN : LOOK_PLAIN;
    char before[64];
    (void)client, (void)logger;
    for (size_t i = 0; i < 4; i++)
        l = mcp_str_eq(level, mcp_str_from(bad[i])) ? LOOK_BAD : l;
    snprintf(before, sizeof(before), "%.*s: ", (int)(level.len < 20 ? level.len : 20), level.ptr);
    mcp_str text = mcp_json_string(data);
    mcp_json_writer *w = text.ptr ? NULL : mcp_json_writer_new(NULL, 0);
    mcp_json_add_value(w, data);
    if (w && mcp_json_writer_finish(w, &text) != MCP_OK)
        text = (mcp_str){0};
    p->events.logged(p, l, before, text, p->events.user);
    mcp_json_writer_free(w);
}

static void on_trace(mcp_client *client, bool sent, uint64_t exchange, mcp_str message, void *user)
{
    peer *p = user;
    (void)client, (void)exchange;
    p->events.traced(p, sent, message, p->events.user);
}

static int connect_to(peer *p, mcp_error *error)
{
    if (p->argv)
        return mcp_child_spawn(p->loop, p->client,
                               MCP_OPTIONS(mcp_child_options, .argv = p->argv,
                                           .on_exit = on_exit_status, .on_stderr = on_stderr,
                                           .user = p),
                               &p->child, error);
    int rc = account_open(p->loop, p->url, p->headers, &p->account, error);
    if (rc != MCP_OK)
        return rc;
    return mcp_http_client_connect(
        p->loop, p->client,
        MCP_OPTIONS(mcp_http_client_options, .url = p->url, .headers = p->headers,
                    .oauth = account_client(p->account), .ca_file = getenv("SSL_CERT_FILE"),
                    .on_end = on_http_end, .user = p),
        &p->http, error);
}

void peer_open(peer *p, mcp_loop *loop, const peer_events *events)
{
    mcp_error error = {0};
    p->loop = loop;
    p->events = *events;
    p->state = PEER_STARTING;
    *p->why = 0;
    p->wants_login = false;
    for (size_t i = 0; i < LISTS; i++) {
        p->lists[i] = (peer_list){.peer = p};
        pages_init(&p->lists[i].pages, &list_kinds[i]);
    }
    int rc = mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "mcpctl-browse",
                                        .version = MCP_VERSION_STRING, .title = "mcpctl browse",
                                        .no_cache = true, .tasks = true, .user = p,
                                        .elicit_form = on_question, .elicit_url = on_question,
                                        .sample = on_question, .log = on_log, .trace = on_trace),
                            &p->client, &error);
    if (rc == MCP_OK)
        rc = connect_to(p, &error);
    if (rc == MCP_OK)
        mcp_client_set_log_level(p->client, "info");
    if (rc == MCP_OK)
        rc = mcp_client_start(p->client, on_start, p);
    if (rc == MCP_OK)
        return;
    p->state = PEER_ENDED;
    say_why(p, "%s", *error.text ? error.text : mcp_error_text(rc));
}

void peer_close(peer *p)
{
    p->state = PEER_ENDED;
    if (p->client)
        mcp_subscription_end(p->changes);
    mcp_child_close(p->child);
    mcp_http_client_close(p->http);
    account_close(p->account);
    mcp_client_free(p->client);
    for (size_t i = 0; i < LISTS; i++)
        pages_reset(&p->lists[i].pages);
    free(p->watched);
    p->watched = NULL;
    p->changes = NULL;
    p->child = NULL;
    p->http = NULL;
    p->account = NULL;
    p->client = NULL;
}

void peer_reopen(peer *p)
{
    peer_events events = p->events;
    peer_close(p);
    peer_open(p, p->loop, &events);
}
