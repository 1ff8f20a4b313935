/* endpoint.c: creates, drains and frees an endpoint, and runs its timers. */
#include "http/server/http_session.h"

#include <inttypes.h>
#include <stdio.h>

#include "auth/resource/resource.h"

enum { OUT_AT_FIRST = 4096 };

/* ---- options --------------------------------------------------------------------------------- */

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_http_options, max_header_bytes, 16 << 10, .maximum = 1 << 30),
    MCP_DEFAULT(mcp_http_options, max_headers, 100),
    MCP_DEFAULT(mcp_http_options, max_body, 4 << 20),
    MCP_DEFAULT(mcp_http_options, max_reply, 64 << 20),
    MCP_DEFAULT(mcp_http_options, max_connections, 20000),
    MCP_DEFAULT(mcp_http_options, max_per_address, 1000),
    MCP_DEFAULT(mcp_http_options, max_per_principal, 5000),
    MCP_DEFAULT(mcp_http_options, max_sessions, 10000),
    MCP_DEFAULT(mcp_http_options, max_streams, 16),
    MCP_DEFAULT(mcp_http_options, max_output, 1 << 20),
    MCP_DEFAULT(mcp_http_options, replay_bytes, 256 << 10),
    MCP_DEFAULT(mcp_http_options, header_ms, 10000),
    MCP_DEFAULT(mcp_http_options, body_ms, 30000),
    MCP_DEFAULT(mcp_http_options, idle_ms, 75000),
    MCP_DEFAULT(mcp_http_options, stall_ms, 60000),
    MCP_DEFAULT(mcp_http_options, session_idle_ms, 1800000),
    MCP_DEFAULT(mcp_http_options, heartbeat_ms, 15000),
    MCP_DEFAULT(mcp_http_options, retry_ms, 1000),
    MCP_DEFAULT(mcp_http_options, handshake_ms, 10000),
    MCP_DEFAULT(mcp_http_options, login_ms, 10000),
    MCP_DEFAULT(mcp_http_options, session_life_ms, 24 * 3600 * 1000),
};

static void set_defaults(mcp_http *http)
{
    mcp_http_options *o = &http->options;
    http->spares_local_addresses = !o->max_per_address;
    http->spares_local_principals = !o->max_per_principal;
    MCP_SET_DEFAULTS(o, defaults);
    if (!o->path)
        o->path = "/mcp";
    if (!o->challenge)
        o->challenge = "Bearer";
}

/* Replaces a string of the options, which may be NULL, by a copy. Returns false if out of
 * memory. */
static bool own_text(const mcp_http *http, const char **text)
{
    const char *from = *text;
    *text = from ? mcp__strdup(http->allocator, mcp_str_from(from)) : NULL;
    return *text || !from;
}

static void free_list(const mcp_http *http, const char *const *list, size_t n)
{
    char **texts = (char **)(uintptr_t)list;
    for (size_t i = 0; texts && i < n; i++)
        mcp__release(http->allocator, texts[i]);
    mcp__release(http->allocator, texts);
}

/* Returns MCP_OK or MCP_ENOMEM. The caller frees *list in both cases. */
static int copy_list(const mcp_http *http, const char *const **list, size_t n)
{
    const char *const *from = *list;
    *list = NULL;
    if (n == 0)
        return MCP_OK;
    char **texts = mcp__zalloc(http->allocator, n * sizeof(*texts));
    *list = (const char *const *)texts;
    for (size_t i = 0; texts && i < n; i++) {
        texts[i] = mcp__strdup(http->allocator, mcp_str_from(from[i]));
        if (!texts[i])
            return MCP_ENOMEM;
    }
    return texts ? MCP_OK : MCP_ENOMEM;
}

static int own_options(mcp_http *http)
{
    mcp_http_options *o = &http->options;
    const char **texts[] = {&o->path,       &o->challenge,         &o->sse_path,
                            &o->public_url, &o->resource_metadata, &o->instance_address};
    bool ok = true;
    if (o->resource_server && !o->resource_metadata)
        o->resource_metadata = mcp__rs_metadata_url(o->resource_server, NULL);
    /* Every string is replaced, even after a failure, so that mcp_http_free() releases only
     * copies. */
    for (size_t i = 0; i < MCP__COUNT(texts); i++)
        ok &= own_text(http, texts[i]);
    ok &= copy_list(http, &o->allow_hosts, o->n_allow_hosts) == MCP_OK;
    ok &= copy_list(http, &o->allow_origins, o->n_allow_origins) == MCP_OK;
    ok &= copy_list(http, &o->login_headers, o->n_login_headers) == MCP_OK;
    int proxies = mcp__http_proxies_set(http);
    if (ok && proxies == MCP_OK)
        return mcp__http_urls_set(http);
    return ok ? proxies : MCP_ENOMEM;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int set_store(mcp_http *http)
{
    if (http->options.event_store) {
        int rc = MCP__TAKE(&http->event_store, http->options.event_store, mcp_event_store, NULL);
        return rc == MCP_OK && http->event_store.append && http->event_store.replay ? MCP_OK
                                                                                    : MCP_EINVAL;
    }
    http->store = mcp__http_store_new(http->allocator, http->budget, http->options.replay_bytes,
                                      &http->event_store);
    return http->store ? MCP_OK : MCP_ENOMEM;
}

static int set_budget(mcp_http *http)
{
    const mcp_http_options *o = &http->options;
    http->budget = o->budget;
    if (http->budget)
        return MCP_OK;
    http->own_budget = true;
    return mcp_http_budget_new(MCP_OPTIONS(mcp_http_budget_options, .max_memory = o->max_memory,
                                           .max_share = o->max_share, .allocator = http->allocator),
                               &http->budget, NULL);
}

static int check_options(const mcp_http_options *o, mcp_error *error)
{
    if (o->sse_path &&
        (o->sse_path[0] != '/' ||
         mcp_str_eq(mcp_str_from(o->sse_path), mcp_str_from(o->path ? o->path : "/mcp"))))
        return mcp__fail(error, MCP_EINVAL, 0,
                         "\"sse_path\" must start with \"/\" and differ from \"path\"");
    if (!mcp__http_is_quotable(o->public_url) || !mcp__http_is_quotable(o->resource_metadata))
        return mcp__fail(error, MCP_EINVAL, 0,
                         "\"public_url\" and \"resource_metadata\" must be URLs");
    if (o->instance_address &&
        (!*o->instance_address || strlen(o->instance_address) > MCP__ADDRESS_MAX ||
         !mcp__http_is_quotable(o->instance_address)))
        return mcp__fail(error, MCP_EINVAL, 0, "\"instance_address\" must be an address");
    return mcp__http_proxies_check(o, error);
}

int mcp_http_new(mcp_server *server, const mcp_http_options *options, mcp_http **ret,
                 mcp_error *error)
{
    mcp__no_error(error);
    mcp_http_options given;
    mcp__refer_to_version();
    uint64_t seed[4] = {0};
    int rc = MCP__TAKE(&given, options, mcp_http_options, error);
    if (rc != MCP_OK)
        return rc;
    if (!server || !ret || !given.random)
        return mcp__fail(error, MCP_EINVAL, 0, "an HTTP endpoint needs a server and \"random\"");
    rc = check_options(&given, error);
    if (rc < 0)
        return rc;
    rc = given.random(seed, sizeof(seed), given.user);
    if (rc < 0)
        return mcp__fail(error, rc, 0, "\"random\" failed");
    const mcp_allocator *a = mcp__allocator(given.allocator);
    mcp_http *http = mcp__zalloc(a, sizeof(*http));
    if (!http)
        return mcp__fail(error, MCP_ENOMEM, 0, "no memory for an HTTP endpoint");
    http->own_allocator = *a;
    http->allocator = &http->own_allocator;
    http->server = server;
    http->options = given;
    http->date_user = http->clock_user = http->wall_user = given.user;
    set_defaults(http);
    mcp__list_init(&http->connections);
    mcp__list_init(&http->orphans);
    mcp__map_init(&http->addresses, http->allocator, seed[0], seed[1]);
    mcp__map_init(&http->principals, http->allocator, seed[0], seed[1]);
    mcp__map_init(&http->sessions, http->allocator, seed[2], seed[3]);
    mcp__shares_init(&http->session_shares, http->allocator, seed[0], seed[1]);
    mcp__buf_init(&http->out, http->allocator, 0);
    mcp__list_init(&http->in_budget);
    http->evictions.what = "sessions ended to make room for others";
    rc = own_options(http);
    if (rc == MCP_OK && given.has_view && !(http->nobody = mcp__identity_nobody(http->allocator)))
        rc = MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = set_budget(http);
    if (rc == MCP_OK) {
        mcp__list_append(&http->budget->endpoints, &http->in_budget);
        rc = set_store(http);
    }
    if (rc == MCP_OK && http->options.instance_address)
        rc = mcp__fleet_new(http, seed[2], seed[3]);
    if (rc == MCP_OK && !mcp__buf_reserve(&http->out, OUT_AT_FIRST))
        rc = MCP_ENOMEM;
    if (rc != MCP_OK) {
        mcp_http_free(http);
        return mcp__fail(error, rc, 0, "an HTTP endpoint: %s", mcp_error_text(rc));
    }
    *ret = http;
    return MCP_OK;
}

/* Ends the sessions of a principal, which may be NULL, or of all. */
static void end_sessions(const mcp_http *http, bool all, const char *principal)
{
    size_t at = 0;
    for (mcp__http_session *s; (s = mcp__map_next(&http->sessions, &at)) != NULL;) {
        if (all || mcp__http_same_principal(mcp__channel_principal(s->peer->channel), principal))
            mcp__http_session_free(s);
    }
}

void mcp_http_free(mcp_http *http)
{
    if (!http)
        return;
    mcp_allocator a = http->own_allocator;
    http->wake = NULL;
    mcp__fleet_free(http->fleet); /* first, so that the others can take over the sessions */
    end_sessions(http, true, NULL);
    while (!mcp__list_empty(&http->orphans))
        mcp__http_peer_free(mcp__container(http->orphans.next, mcp__http_peer, link));
    mcp__map_free(&http->sessions);
    mcp__shares_free(&http->session_shares);
    mcp__map_free(&http->addresses);
    mcp__map_free(&http->principals);
    mcp__http_store_free(http->store);
    mcp__list_remove(&http->in_budget);
    if (http->own_budget)
        mcp_http_budget_free(http->budget);
    mcp__buf_free(&http->out);
    if (http->spare.allocator)
        mcp__buf_free(&http->spare);
    mcp_identity_unref(http->nobody);
    mcp__release(http->allocator, http->proxies);
    free_list(http, http->options.allow_hosts, http->options.n_allow_hosts);
    free_list(http, http->options.allow_origins, http->options.n_allow_origins);
    free_list(http, http->options.login_headers, http->options.n_login_headers);
    mcp__http_urls_free(http);
    mcp__release(&a, (char *)(uintptr_t)http->options.path);
    mcp__release(&a, (char *)(uintptr_t)http->options.challenge);
    mcp__release(&a, (char *)(uintptr_t)http->options.sse_path);
    mcp__release(&a, (char *)(uintptr_t)http->options.public_url);
    mcp__release(&a, (char *)(uintptr_t)http->options.resource_metadata);
    mcp__release(&a, (char *)(uintptr_t)http->options.instance_address);
    mcp__release(&a, http);
}

/* ---- the log --------------------------------------------------------------------------------- */

void mcp__http_complain(mcp_http *http, mcp__http_complaint *complaint, mcp_str what)
{
    enum { INTERVAL_MS = 10000 };
    char line[400];
    complaint->count++;
    if (!http->warn || http->now < complaint->again)
        return;
    snprintf(line, sizeof(line), "HTTP: %" PRIu64 " %s: %.*s", complaint->count,
             complaint->what ? complaint->what : "refused", (int)MCP__MIN(what.len, sizeof(line)),
             what.ptr);
    complaint->count = 0;
    complaint->again = http->now + INTERVAL_MS;
    http->warn(line, http->warn_user);
}

void mcp_http_set_log(mcp_http *http, void (*warn)(const char *line, void *user), void *user)
{
    http->warn = warn;
    http->warn_user = user;
}

/* ---- time ------------------------------------------------------------------------------------ */

void mcp_http_set_clock_source(mcp_http *http, mcp_str (*date)(void *user),
                               int64_t (*clock)(void *user), int64_t (*wall)(void *user),
                               void *user)
{
    if (!http->options.date) {
        http->options.date = date;
        http->date_user = user;
    }
    if (!http->options.clock) {
        http->options.clock = clock;
        http->clock_user = user;
    }
    if (!http->options.wall) {
        http->options.wall = wall;
        http->wall_user = user;
    }
}

void mcp_http_on_wake(mcp_http *http, void (*wake)(mcp_http *http, void *user), void *user)
{
    http->wake = wake;
    http->wake_user = user;
}

void mcp__http_wake(mcp_http *http, mcp__http_timer *timer)
{
    mcp__http_timer_hasten(&http->timers, timer, INT64_MIN);
    mcp__http_call_wake(http);
}

void mcp__http_call_wake(mcp_http *http)
{
    /* During a call into the endpoint, no wake-up is needed, because the caller reads the deadline
     * afterwards. */
    if (http->depth || http->woken || !http->wake)
        return;
    http->woken = true;
    http->wake(http, http->wake_user);
}

void mcp_http_tick(mcp_http *http, int64_t now)
{
    mcp__http_enter(http, now);
    http->woken = false;
    /* mcp__http_timer_stop() is called first, because handling a timer may set it again. */
    for (mcp__http_timer *t; (t = http->timers) != NULL && t->due <= now;) {
        mcp__http_timer_stop(&http->timers, t);
        if (t->of_peer)
            mcp__http_peer_due(mcp__container(t, mcp__http_peer, timer));
        else
            mcp__http_connection_due(mcp__container(t, mcp_http_connection, timer));
    }
    mcp__http_leave(http);
}

int64_t mcp_http_deadline(const mcp_http *http)
{
    return http->timers ? http->timers->due : INT64_MAX;
}

/* ---- draining and revoking ------------------------------------------------------------------- */

/* A connection whose answer began before draining was not told that it will be closed: it stays open for as long
 * as one that was idle then. */
int64_t mcp__http_idle_deadline(const mcp_http_connection *c, uint64_t ms)
{
    int64_t due = mcp__http_after(c->since, ms);
    int64_t linger = mcp__http_after(c->since, c->http->linger_ms);
    return c->http->draining ? MCP__MIN(due, MCP__MAX(linger, c->http->linger_end)) : due;
}

static void drain_connection(mcp_http_connection *c)
{
    switch (c->phase) {
    case MCP__HTTP_HANDSHAKE:
    case MCP__HTTP_IDLE:
        if (!mcp__http_has_next(c) && c->http->linger_ms)
            mcp__http_connection_arm(c);
        else if (!mcp__http_has_next(c))
            mcp__http_close(c, MCP_HTTP_CLOSE);
        break;
    case MCP__HTTP_STREAMING:
        if (c->session && c->session->duplex)
            mcp__http_wake(
                c->http,
                &c->session->peer->timer); /* its stream still carries the answers in flight */
        else if (!mcp__list_empty(&c->in_getters) || c->stream_only ||
                 (mcp__relay_of(c) && c->http_method == HTTP_GET))
            mcp__http_end_stream(c);
        break;
    default: break;
    }
}

void mcp_http_set_linger(mcp_http *http, uint64_t ms)
{
    http->linger_ms = ms;
    http->succeeded = ms > 0;
}

void mcp_http_set_idle_linger(mcp_http *http, uint64_t ms)
{
    http->linger_ms = ms;
}

void mcp_http_retire(mcp_http *http)
{
    http->retired = true;
}

void mcp_http_drain(mcp_http *http, int64_t now)
{
    mcp__http_enter(http, now);
    http->draining = true;
    http->linger_end = mcp__http_after(now, http->linger_ms);
    for (mcp__link *l = http->connections.next; l != &http->connections;) {
        mcp_http_connection *c = mcp__container(l, mcp_http_connection, link);
        l = l->next;
        drain_connection(c);
    }
    mcp__http_leave(http);
}

static const mcp__incoming *request_of(const mcp_http_connection *c)
{
    const mcp__http_peer *peer = c->session ? c->session->peer : c->peer;
    if (!peer || !c->exchange)
        return NULL;
    return mcp__channel_request_of(peer->channel, c->exchange);
}

size_t mcp_http_cut(mcp_http *http, int64_t now)
{
    size_t cut = 0;
    mcp__http_enter(http, now);
    http->draining = true;
    for (mcp__link *l = http->connections.next; l != &http->connections;) {
        mcp_http_connection *c = mcp__container(l, mcp_http_connection, link);
        const mcp__incoming *in = request_of(c);
        l = l->next;
        bool is_unanswered =
            c->phase == MCP__HTTP_HELD || (mcp__relay_of(c) && c->phase == MCP__HTTP_WAITING) ||
            (in && (c->phase == MCP__HTTP_WAITING || c->phase == MCP__HTTP_STREAMING));
        if (is_unanswered)
            mcp__http_cut_off(c, in ? mcp__incoming_id(in) : (mcp_str){0});
        cut += is_unanswered + mcp__http_duplex_cut(c);
        mcp__http_close(c, MCP_HTTP_CLOSE);
    }
    mcp__http_leave(http);
    return cut;
}

/* Idle connections stay open, because each request is authenticated. */
void mcp_http_revoke(mcp_http *http, const char *principal, int64_t now)
{
    mcp__http_enter(http, now);
    end_sessions(http, false, principal);
    for (mcp__link *l = http->connections.next, *next; l != &http->connections; l = next) {
        mcp_http_connection *c = mcp__container(l, mcp_http_connection, link);
        next = l->next;
        if (c->phase > MCP__HTTP_ASKING && mcp__http_same_principal(c->principal, principal))
            mcp__http_close(c, MCP_HTTP_CLOSE);
    }
    mcp__http_leave(http);
}

size_t mcp_http_busy(const mcp_http *http)
{
    size_t busy = 0;
    for (mcp__link *l = http->connections.next; l != &http->connections; l = l->next) {
        const mcp_http_connection *c = mcp__container(l, mcp_http_connection, link);
        busy += c->phase != MCP__HTTP_CLOSED || c->pending > 0;
    }
    return busy;
}

static bool may_be_shed(const mcp_http_connection *c, bool strangers)
{
    return c->phase <= MCP__HTTP_HEAD && !c->pending && !(strangers && c->authenticated);
}

size_t mcp_http_shed(mcp_http *http, size_t n, bool strangers, int64_t now)
{
    size_t shed = 0;
    mcp__http_enter(http, now);
    for (mcp__link *l = http->connections.next; l != &http->connections && shed < n;) {
        mcp_http_connection *c = mcp__container(l, mcp_http_connection, link);
        l = l->next;
        if (!may_be_shed(c, strangers))
            continue;
        mcp__http_close(c, MCP_HTTP_CLOSE);
        shed++;
    }
    http->metrics.shed += shed;
    mcp__http_leave(http);
    return shed;
}

void mcp_http_each_session(const mcp_http *http,
                           void (*each)(const mcp_identity *identity, void *user), void *user)
{
    size_t at = 0;
    for (const mcp__http_session *s; (s = mcp__map_next(&http->sessions, &at)) != NULL;)
        each(s->peer->channel->options.identity, user);
}

size_t mcp_http_connections(const mcp_http *http)
{
    return http->n_connections;
}
