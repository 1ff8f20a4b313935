/* http.c: mcpd's listeners: converts options to mcp_listen_options, and informs the user.
 *
 * Each --http is an endpoint of its own: sessions, limits and metrics are counted per address. With
 * --instance-address, and in a worker, all addresses belong to one endpoint, because the other instances
 * reach sessions at one address. All endpoints share one budget for the memory of requests and of unread answers.
 */
#define _GNU_SOURCE
#include "http.h"

#include <stdlib.h>
#include <string.h>

#include <mcp/bus.h>
#include <mcp/sys/http.h>
#include <mcp/sys/io.h>

#include "about.h"
#include "bus.h"
#include "capacity.h"
#include "certificate.h"
#include "decisions.h"
#include "group_sessions.h"
#include "isolate.h"
#include "log.h"
#include "process.h"
#include "reload.h"
#include "scrape.h"
#include "secret.h"
#include "supervisor/line.h"
#include "supervisor/start.h"
#include "traces.h"
#include "upstreams.h"
#include "web_page.h"

/* The arguments of the endpoint's callbacks. */
typedef struct endpoint {
    const http_logins *logins;
    mcp_files *const *watching; /* *watching is NULL if no files are served */
    const offer *offer;         /* NULL if nothing is served */
    mcp_http_budget *budget;    /* shared by all addresses */
    mcp_server *server;
    const http_life *life; /* NULL if nothing is served */
    const listeners *at;
} endpoint;

static const char sse_path[] = "/sse";
static const char *const page_request_headers[] = {"If-None-Match"};

static void authenticate(mcp_http_login *login, void *user)
{
    const endpoint *e = user;
    mcp_str authorization = {0};
    mcp_identity *identity = NULL;
    const tokens *known = *e->logins->known;
    if (known && mcp_http_login_header(login, "Authorization", &authorization))
        identity = tokens_check(known, authorization);
    if (identity)
        mcp_http_login_accept(login, identity);
    else if (e->logins->oauth)
        mcp_resource_server_authenticate(login, e->logins->oauth);
    else
        mcp_http_login_refuse(login, MCP_OPTIONS(mcp_http_denial, .reason = authorization.len
                                                                                ? "UNKNOWN_TOKEN"
                                                                                : "NO_TOKEN"));
}

static void on_request(const mcp_http_record *record, void *user)
{
    const endpoint *e = user;
    log_request(record, NULL);
    audit_refused(e->logins->audit, record);
}

/* Messages about sessions, for the other instances. One that cannot be kept is reported as a loss. */
static void share(mcp_str message, void *user)
{
    const endpoint *e = user;
    if (e->life->line)
        line_tell(e->life->line, message);
    else
        (void)mcp_server_share_send(e->server, MCP_STR(HTTP_TOPIC), message);
}

static bool sharing(void *user)
{
    const endpoint *e = user;
    mcp_share_usage usage = {.size = sizeof(usage)};
    if (e->life->line)
        return line_is_complete(e->life->line);
    return mcp_server_get_share(e->server, &usage) && usage.state == MCP_BUS_CONNECTED;
}

typedef struct figure {
    const char *name, *type, *help;
    uint64_t value;
} figure;

static void add_figure(const figure *f, void (*add)(mcp_str text, void *arg), void *arg)
{
    char text[400];
    int n = snprintf(text, sizeof(text), "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", f->name, f->help,
                     f->name, f->type, f->name, (unsigned long long)f->value);
    if (n > 0 && (size_t)n < sizeof(text))
        add((mcp_str){text, (size_t)n}, arg);
}

static void add_figures(const figure *list, size_t n, void (*add)(mcp_str text, void *arg),
                        void *arg)
{
    for (size_t i = 0; i < n; i++)
        add_figure(&list[i], add, arg);
}

static void add_audit(const audit *a, void (*add)(mcp_str text, void *arg), void *arg)
{
    const figure figures[] = {
        {"mcp_audit_lines_lost_total", "counter",
         "Lines of the audit log that could not be written.", a->lost_in_all},
        {"mcp_audit_refusals_left_out_total", "counter",
         "Refusals without a line in the audit log, because there were too many.",
         a->left_out_in_all},
    };
    add_figures(figures, sizeof(figures) / sizeof(*figures), add, arg);
}

static void add_traces(const traces *t, void (*add)(mcp_str text, void *arg), void *arg)
{
    traces_counts n = traces_count(t);
    const figure figures[] = {
        {"mcp_trace_spans_sent_total", "counter", "Parts of requests that the collector got.",
         n.sent},
        {"mcp_trace_spans_lost_total", "counter",
         "Parts of requests that the collector did not get or accept.", n.lost},
    };
    add_figures(figures, sizeof(figures) / sizeof(*figures), add, arg);
}

static void add_decisions(const decisions *d, void (*add)(mcp_str text, void *arg), void *arg)
{
    decisions_counts n = decisions_count(d);
    const figure figures[] = {
        {"mcp_decisions_allowed_total", "counter", "Requests that the policy server allowed.",
         n.allowed},
        {"mcp_decisions_asked_total", "counter",
         "Requests for which the policy server wanted the consent of a person.", n.asked},
        {"mcp_decisions_denied_total", "counter", "Requests that the policy server denied.",
         n.denied},
        {"mcp_decisions_failed_total", "counter",
         "Requests that were denied because there was no decision.", n.failed},
        {"mcp_decisions_cached_total", "counter", "Decisions that were used again within ttl_ms.",
         n.cached},
        {"mcp_decisions_waiting", "gauge", "Requests that wait for a decision.", n.waiting},
    };
    add_figures(figures, sizeof(figures) / sizeof(*figures), add, arg);
}

/* What may be missing in the logs, and how old the configuration is. */
static void add_operation(const endpoint *e, void (*add)(mcp_str text, void *arg), void *arg)
{
    const audit *a = e->logins->audit;
    reload_counts r = reload_count();
    const figure figures[] = {
        {"mcp_log_lines_lost_total", "counter", "Lines of the log that stderr did not accept.",
         log_lost()},
        {"mcp_reloads_total", "counter", "Configurations that were reloaded.", r.succeeded},
        {"mcp_reload_failures_total", "counter",
         "Configurations that were not reloaded because of a mistake.", r.failed},
        {"mcp_configuration_timestamp_seconds", "gauge",
         "When the configuration in force was read, since 1970.", (uint64_t)r.read_at},
    };
    const figure expiry = {"mcp_certificate_expiry_timestamp_seconds", "gauge",
                           "When the certificate of HTTPS expires, since 1970.", 0};
    int64_t expires = e->at && e->at->count ? mcp_listener_tls_expiry(e->at->items[0]) : 0;
    if (expires > 0)
        add_figure(&(figure){expiry.name, expiry.type, expiry.help, (uint64_t)expires}, add, arg);
    add_figures(figures, sizeof(figures) / sizeof(*figures), add, arg);
    if (audit_is_on(a))
        add_audit(a, add, arg);
    if (e->logins->traces)
        add_traces(e->logins->traces, add, arg);
    if (e->logins->decisions)
        add_decisions(e->logins->decisions, add, arg);
}

static void metrics(void (*add)(mcp_str text, void *arg), void *arg, void *user)
{
    const endpoint *e = user;
    process_metrics(add, arg);
    add_operation(e, add, arg);
    bus_metrics(e->server, add, arg);
    if (e->offer) {
        group_sessions_metrics(e->offer->rules, e->at, add, arg);
        isolate_metrics(e->offer, add, arg);
        upstreams_metrics(add, arg);
    }
    if (!*e->watching)
        return;
    mcp_files_counts c = mcp_files_watching(*e->watching);
    const figure figures[] = {
        {"mcp_watched_folders", "gauge", "Folders watched with inotify.", c.watched},
        {"mcp_watch_budget", "gauge", "Folders that may be watched; 0 before the first.", c.budget},
        {"mcp_polled", "gauge", "Folders and files that are polled every two seconds instead.",
         c.polled},
        {"mcp_watched_resources", "gauge", "Resources with subscribers.", c.subscriptions},
    };
    for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
        add_figure(&figures[i], add, arg);
}

static void merge_metrics(mcp_http *http, const mcp_identity *identity, mcp_str text,
                          void (*add)(mcp_str text, void *arg), void *arg, void *user)
{
    const endpoint *e = user;
    scrape_answer(&(scrape){identity, e->offer->rules, e->life->board, e->at, http}, text, add,
                  arg);
}

static bool may_see_metrics(const mcp_identity *identity, void *user)
{
    const endpoint *e = user;
    return !e->offer || access_may_see_metrics(identity, e->offer->rules);
}

static void tell(const settings *s, const mcp_listener *listener)
{
    const char *address = mcp_listener_address(listener);
    char line[512], where[300];
    if (strncmp(address, "unix:", 5) == 0)
        snprintf(where, sizeof(where), "%s, path /mcp", address);
    else
        snprintf(where, sizeof(where), "%s://%s/mcp", s->tls_cert ? "https" : "http", address);
    char *what = about_first(s);
    snprintf(line, sizeof(line), "serving %.180s at %s", what ? what : "", where);
    free(what);
    log_notice(line);
    where[strlen(where) - strlen("/mcp")] = 0;
    if (s->http_sse) {
        snprintf(line, sizeof(line), "serving HTTP+SSE of 2024-11-05 at %s%s", where, sse_path);
        log_notice(line);
    }
    if (s->page && strncmp(address, "unix:", 5) != 0) {
        snprintf(line, sizeof(line), "its web page is %s/", where);
        log_notice(line);
    }
}

static const char *not_ready(void *user)
{
    const endpoint *e = user;
    return audit_serves(e->logins->audit) ? NULL : "unaudited";
}

static bool has_view(mcp_str name, void *user)
{
    const endpoint *e = user;
    return e->offer && views_find(access_views(e->offer->rules), name);
}

/* `first` is the listener whose endpoint is used, or NULL for an endpoint of its own. */
static int listen_at(const settings *s, const char *address, endpoint *e, mcp_loop *loop,
                     mcp_server *server, mcp_listener *first, mcp_listener **ret, mcp_error *error)
{
    start *inherited = e->life ? e->life->start : NULL;
    bool is_worker = inherited && inherited->role == START_WORKER;
    int fd = inherited ? start_take(inherited, address) : 0;
    mcp_http_options http = {
        .size = sizeof(http),
        .allow_hosts = s->allow_host.items,
        .n_allow_hosts = s->allow_host.count,
        .allow_origins = s->allow_origin.items,
        .n_allow_origins = s->allow_origin.count,
        .trusted_proxies = s->trusted_proxy.items,
        .n_trusted_proxies = s->trusted_proxy.count,
        .proxy_header = s->proxy_header,
        .cors = s->allow_origin.count > 0,
        .authenticate = *e->logins->known || e->logins->oauth ? authenticate : NULL,
        .resource_server = e->logins->oauth,
        .public_url = e->logins->public_url,
        .metrics = metrics,
        .merge_metrics = e->offer ? merge_metrics : NULL,
        .may_see_metrics = may_see_metrics,
        .log = log_wants_requests() || audit_is_on(e->logins->audit) ? on_request : NULL,
        .user = e,
        .option_name = options_of_member,
        .sse_path = s->http_sse ? sse_path : NULL,
        .max_connections = (size_t)s->max_connections,
        .max_per_address = (size_t)s->max_per_address,
        .max_per_principal = (size_t)s->max_per_principal,
        .max_sessions = (size_t)s->max_sessions,
        .max_sessions_each = (size_t)s->max_sessions_each,
        .budget = e->budget,
        .max_body = (size_t)s->max_body,
        .heartbeat_ms = s->heartbeat * 1000,
        .page = s->page ? web_page_answer : NULL,
        .login_headers = s->page ? page_request_headers : NULL,
        .n_login_headers = s->page ? 1 : 0,
        .instance_address = s->instance_address,
        .share = share,
        .sharing = sharing,
        .has_view = has_view,
        .not_ready = not_ready,
    };
    if (s->page && !web_page_open(e->logins->config))
        return MCP_ENOMEM;
    return mcp_loop_listen(
        loop, server,
        MCP_OPTIONS(mcp_listen_options, .address = address, .tls_cert = s->tls_cert,
                    .tls_key = s->tls_key, .http = &http, .keep_files = (size_t)s->keep_files,
                    .endpoint = first, .instance_ca = s->instance_ca_file, .socket = fd,
                    .keep_file = is_worker || (inherited && inherited->activated)),
        ret, error);
}

/* The line that is printed when the loop is running. It is not printed earlier, because its reader
 * may send a signal, and from then on a signal must end the program properly. */
typedef struct news {
    const settings *s;
    const listeners *at;
    const http_life *life;
} news;

static void tell_all(void *arg)
{
    const news *n = arg;
    const start *own = n->life->start;
    bool is_first = own->role != START_WORKER || (own->number == 1 && !own->is_restart);
    for (size_t i = 0; is_first && i < n->at->count; i++)
        tell(n->s, n->at->items[i]);
    n->life->ready(n->life->user);
}

int http_serve_stdio(const settings *s, mcp_loop *loop, mcp_server *server, mcp_error *error)
{
    mcp_identity *identity = NULL;
    int rc = mcp_identity_new(
        MCP_OPTIONS(mcp_identity_options, .principal = "stdio", .view = s->view), &identity, error);
    if (rc == MCP_OK)
        rc = mcp_loop_serve_stdio(loop, server,
                                  MCP_OPTIONS(mcp_stdio_options, .identity = identity), error);
    mcp_identity_unref(identity);
    return rc;
}

static int serve(const settings *s, mcp_loop *loop, mcp_server *server, const http_life *life,
                 mcp_error *error)
{
    uint64_t drain_ms = s->drain_time * 1000;
    /* The supervisor of a worker waits, because it may have to keep its sockets open. */
    uint64_t linger_ms = s->drain_delay * 1000;
    uint64_t delay_ms = life->start->role == START_WORKER ? 0 : linger_ms;
    if (!s->stdio)
        return mcp_loop_serve_http(loop,
                                   MCP_OPTIONS(mcp_serve_options, .drain_ms = drain_ms,
                                               .delay_ms = delay_ms, .linger_ms = linger_ms,
                                               .draining = life->draining, .user = life->user),
                                   error);
    int rc = http_serve_stdio(s, loop, server, error);
    int drained =
        mcp_loop_serve_http(loop,
                            MCP_OPTIONS(mcp_serve_options, .drain_now = true, .drain_ms = drain_ms,
                                        .delay_ms = delay_ms, .linger_ms = linger_ms),
                            rc == MCP_OK ? error : NULL);
    return rc == MCP_OK ? drained : rc;
}

/* Returns the address at which to listen for other instances, or NULL if one of --http is that
 * address. */
static const char *listens_at(const settings *s)
{
    const char *where = s->instance_address;
    if (strncmp(where, "unix:", 5) != 0)
        where = strstr(where, "//") + 2;
    for (size_t i = 0; i < s->http.count; i++) {
        if (strcmp(where, s->http.items[i]) == 0)
            return NULL;
    }
    return where;
}

static int open_instance(const settings *s, mcp_loop *loop, mcp_server *server, endpoint *e,
                         listeners *at, mcp_error *error)
{
    const char *where = s->instance_address ? listens_at(s) : NULL;
    settings own = *s;
    if (!where)
        return MCP_OK;
    if (strncmp(s->instance_address, "https:", 6) != 0)
        own.tls_cert = own.tls_key = NULL;
    return listen_at(&own, where, e, loop, server, at->items[0], &at->instance, error);
}

static int open_all(const settings *s, mcp_loop *loop, mcp_server *server, endpoint *e,
                    listeners *at, mcp_error *error)
{
    int rc = s->tls_key ? secret_look(s->tls_key, error) : MCP_OK;
    at->items = calloc(s->http.count, sizeof(*at->items));
    if (!at->items)
        return MCP_ENOMEM;
    for (size_t i = 0; rc == MCP_OK && i < s->http.count; i++) {
        mcp_listener *first = i && s->instance_address ? at->items[0] : NULL;
        rc = listen_at(s, s->http.items[i], e, loop, server, first, &at->items[i], error);
        at->count += rc == MCP_OK;
        at->failed = i;
    }
    if (rc == MCP_OK)
        rc = open_instance(s, loop, server, e, at, error);
    if (rc == MCP_OK && start_close_rest(e->life->start) && e->life->start->activated) {
        snprintf(error->text, sizeof(error->text),
                 "a socket that was passed listens at an address that no --http names");
        rc = error->code = MCP_EINVAL;
    }
    return rc;
}

static void close_all(listeners *at)
{
    mcp_listener_close(at->instance);
    for (size_t i = at->count; i > 0; i--) /* the first one may have the endpoint of all */
        mcp_listener_close(at->items[i - 1]);
    free(at->items);
    *at = (listeners){.failed = at->failed};
}

int http_try(const settings *s, size_t index, mcp_loop *loop, mcp_server *server,
             const http_logins *logins, int64_t *expires, mcp_error *error)
{
    mcp_files *const none = NULL;
    endpoint e = {.logins = logins, .watching = &none, .server = server};
    mcp_listener *listener = NULL;
    int rc = s->tls_key && index == 0 ? secret_look(s->tls_key, error) : MCP_OK;
    if (rc == MCP_OK)
        rc = listen_at(s, s->http.items[index], &e, loop, server, NULL, &listener, error);
    if (expires)
        *expires = mcp_listener_tls_expiry(listener);
    mcp_listener_close(listener);
    web_page_close();
    return rc;
}

void http_shared(const listeners *at, mcp_str message, bool lost, int64_t now)
{
    if (!at->count)
        return;
    if (lost)
        mcp_http_share_lost(mcp_listener_http(at->items[0]));
    else
        mcp_http_shared(mcp_listener_http(at->items[0]), message, now);
}

void http_revoke(void *user, const mcp_identity *identity, bool last)
{
    const listeners *at = user;
    for (size_t i = 0; i < at->count; i++) {
        if (last)
            mcp_listener_revoke(at->items[i], mcp_identity_principal(identity));
        else
            mcp_listener_end_token(at->items[i], mcp_identity_token(identity));
    }
}

void http_reload_tls(const listeners *at, const settings *s)
{
    char line[400];
    mcp_error error = {0};
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < at->count; i++)
        rc = mcp_listener_reload_tls(at->items[i], &error);
    if (rc == MCP_OK && at->instance)
        rc = mcp_listener_reload_tls(at->instance, &error);
    if (rc == MCP_OK)
        snprintf(line, sizeof(line), "the certificate %.300s was reloaded", s->tls_cert);
    else
        snprintf(line, sizeof(line), "%.300s; the old certificate stays in use", error.text);
    if (rc == MCP_OK)
        log_notice(line);
    else
        log_line("error", line, NULL);
    certificate_warn(s, at);
}

int http_serve(const settings *s, mcp_loop *loop, mcp_server *server, const http_logins *logins,
               const offer *o, const http_life *life, listeners *at, mcp_error *error)
{
    const mcp_host *host = mcp_loop_host(loop);
    endpoint e = {.logins = logins,
                  .watching = &o->watching,
                  .offer = o,
                  .server = server,
                  .life = life,
                  .at = at};
    trimming t = {.host = host};
    int rc = mcp_http_budget_new(
        MCP_OPTIONS(mcp_http_budget_options, .max_memory = (size_t)s->max_memory,
                    .max_share = (size_t)s->max_share, .released = capacity_released, .user = &t),
        &e.budget, error);
    if (rc == MCP_OK)
        rc = open_all(s, loop, server, &e, at, error);
    if (rc == MCP_OK && life->line)
        rc = line_begin(life->line);
    news n = {.s = s, .at = at, .life = life};
    certificate_watch watch = {.s = s, .at = at, .host = host};
    if (rc == MCP_OK)
        certificate_watch_start(&watch);
    mcp_host_timer *timer = rc == MCP_OK ? host->timer_start(0, tell_all, &n, host->user) : NULL;
    if (rc == MCP_OK)
        rc = serve(s, loop, server, life, error);
    if (timer)
        host->timer_stop(timer, host->user);
    certificate_watch_stop(&watch);
    close_all(at);
    mcp_http_budget_free(e.budget);
    web_page_close();
    capacity_trim_stop(&t);
    return rc;
}
