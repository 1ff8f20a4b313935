/* oauth_rig.h: an OAuth client with a scripted host: time, timers, answers and a store, without
 * sockets. The client calls `answer` of the test for each request, from the loop of run_rig(). */
#ifndef MCP_TESTS_OAUTH_RIG_H
#define MCP_TESTS_OAUTH_RIG_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auth/client/transport.h"
#include "support/failalloc.h"

#define SERVER   "https://mcp.example/mcp"
#define ISSUER   "https://id.example"
#define REDIRECT "http://127.0.0.1:7/callback"

enum { RIG_TIMERS = 8, RIG_LOG = 16384 };

struct mcp_host_timer {
    bool used;
    int64_t due;
    void (*fn)(void *arg);
    void *arg;
};

/* A request that waits for its answer. */
struct mcp_fetch {
    bool used;
    char url[512], form[4096], json[1024], authorization[1024], dpop[2048];
    mcp_fetch_fn *done;
    void *user;
};

typedef struct rig rig;

/* An answer. If rc is negative, the request failed. */
typedef struct rig_answer {
    int rc, status;
    const char *body, *nonce, *challenge;
} rig_answer;

struct rig {
    failalloc memory;
    bool alone; /* there is no person */
    mcp_oauth_client *client;
    mcp_oauth_client_options options;
    mcp_oauth_store store;
    int64_t now;
    unsigned char random;
    struct mcp_host_timer timers[RIG_TIMERS];
    struct mcp_fetch fetch;
    rig_answer (*answer)(rig *r, const struct mcp_fetch *request);
    void *user; /* of the test */
    char log[RIG_LOG];
    mcp__oauth_transport transport;
    mcp__oauth_sent sent;
    int woken, woken_rc; /* number of calls of `wake`, and the last result */
    char text[256];      /* of the last failure */
    int done, done_rc;   /* of login and logout */
    char state[64];      /* of the last visit */
    int visits, visits_ended;
    int traced;           /* number of steps */
    char record[1 << 16]; /* in the store; empty if none */
    int locked;           /* how often the lock is held: 0 or 1 */
    int lock_rc;          /* what `lock` returns */
    int load_rc, save_rc; /* what they return, if negative */
    int saves;
    char headers[4096]; /* of the last put_rig() */
};

static inline void note(rig *r, const char *format, ...)
{
    size_t len = strlen(r->log);
    va_list args;
    va_start(args, format);
    vsnprintf(r->log + len, sizeof(r->log) - len, format, args);
    va_end(args);
}

/* ---- the host -------------------------------------------------------------------------------- */

static inline int64_t rig_now(void *user)
{
    return ((rig *)user)->now;
}

static inline int64_t rig_wall(void *user)
{
    return ((rig *)user)->now + 1700000000000;
}

static inline int rig_random(void *bytes, size_t len, void *user)
{
    rig *r = user;
    memset(bytes, ++r->random, len);
    return MCP_OK;
}

static inline struct mcp_host_timer *rig_timer_start(uint64_t ms, void (*fn)(void *arg), void *arg,
                                                     void *user)
{
    rig *r = user;
    if (r->memory.fail_at && ++r->memory.calls == r->memory.fail_at)
        return NULL;
    for (size_t i = 0; i < RIG_TIMERS; i++) {
        if (r->timers[i].used)
            continue;
        r->timers[i] = (struct mcp_host_timer){true, r->now + (int64_t)ms, fn, arg};
        return &r->timers[i];
    }
    fail_msg("too many timers");
    return NULL;
}

static inline void rig_timer_stop(struct mcp_host_timer *timer, void *user)
{
    (void)user;
    assert_true(timer->used);
    timer->used = false;
}

static inline void rig_copy(char *to, size_t room, const char *text)
{
    int len = snprintf(to, room, "%s", text ? text : "");
    assert_true(len >= 0 && (size_t)len < room);
}

static inline int rig_fetch(const mcp_fetch_options *o, mcp_fetch **ret, mcp_error *error,
                            void *user)
{
    rig *r = user;
    struct mcp_fetch *f = &r->fetch;
    assert_false(f->used); /* one at a time */
    assert_true(o->same_origin && o->max_bytes && o->timeout_ms);
    bool legacy = r->options.legacy_endpoints && strstr(o->url, "/.well-known/");
    assert_string_equal(o->protocol_version ? o->protocol_version : "", legacy ? "2025-03-26" : "");
    assert_int_equal(o->no_redirect, strstr(o->url, "/authorize?") != NULL);
    if (r->memory.fail_at && ++r->memory.calls == r->memory.fail_at) {
        snprintf(error->text, sizeof(error->text), "no memory");
        return MCP_ENOMEM;
    }
    memset(f, 0, sizeof(*f));
    f->used = true;
    f->done = o->done;
    f->user = o->user;
    rig_copy(f->url, sizeof(f->url), o->url);
    rig_copy(f->form, sizeof(f->form), o->form);
    rig_copy(f->json, sizeof(f->json), o->json);
    rig_copy(f->authorization, sizeof(f->authorization), o->authorization);
    rig_copy(f->dpop, sizeof(f->dpop), o->dpop);
    *ret = f;
    return MCP_OK;
}

static inline void rig_fetch_cancel(mcp_fetch *fetch, void *user)
{
    (void)user;
    assert_true(fetch->used);
    fetch->used = false;
}

/* ---- the store ------------------------------------------------------------------------------- */

static inline int rig_lock(mcp_oauth_client *client, const char *key, void *user)
{
    rig *r = user;
    (void)client;
    assert_string_equal(key, SERVER);
    assert_int_equal(r->locked, 0);
    if (r->lock_rc < 0)
        return r->lock_rc;
    r->locked = 1;
    return r->lock_rc;
}

static inline void rig_unlock(mcp_oauth_client *client, const char *key, void *user)
{
    rig *r = user;
    (void)client, (void)key;
    assert_int_equal(r->locked, 1);
    r->locked = 0;
}

static inline int rig_load(const char *key, void (*give)(void *arg, mcp_str record), void *arg,
                           void *user, mcp_error *error)
{
    rig *r = user;
    (void)key, (void)error;
    if (r->load_rc < 0)
        return r->load_rc;
    if (!r->record[0])
        return MCP_ENOTFOUND;
    give(arg, mcp_str_from(r->record));
    return MCP_OK;
}

static inline int rig_save(const char *key, mcp_str record, void *user, mcp_error *error)
{
    rig *r = user;
    (void)key, (void)error;
    assert_int_equal(r->locked, 1);
    assert_true(record.len < sizeof(r->record));
    if (r->save_rc < 0)
        return r->save_rc;
    r->saves++;
    snprintf(r->record, sizeof(r->record), "%.*s", (int)record.len, record.ptr ? record.ptr : "");
    return MCP_OK;
}

/* ---- the program ----------------------------------------------------------------------------- */

/* Notes the visit. The test answers it. */
static inline int rig_visit(mcp_oauth_client *client, const mcp_oauth_visit *visit, void *user)
{
    rig *r = user;
    const char *state = strstr(visit->url, "&state=");
    (void)client;
    r->visits++;
    snprintf(r->state, sizeof(r->state), "%.43s", state ? state + 7 : "");
    note(r, "visit %s %s\n", visit->user_code ? visit->user_code : visit->issuer, visit->scope);
    return MCP_OK;
}

static inline void rig_visit_end(mcp_oauth_client *client, void *user)
{
    (void)client;
    ((rig *)user)->visits_ended++;
}

static inline void rig_wake(void *arg, int rc, const char *text)
{
    rig *r = arg;
    r->woken++;
    r->woken_rc = rc;
    snprintf(r->text, sizeof(r->text), "%s", text);
}

static inline void rig_done(mcp_oauth_client *client, int rc, const mcp_error *error, void *user)
{
    rig *r = user;
    (void)client;
    r->done++;
    r->done_rc = rc;
    snprintf(r->text, sizeof(r->text), "%s", error->text);
}

/* Returns the code of mcp_oauth_client_new(). */
static inline int open_rig(rig *r, mcp_oauth_client_options o)
{
    mcp_allocator a = failalloc_allocator(&r->memory);
    mcp_auth_host host = {.size = sizeof(host),
                          .user = r,
                          .now = rig_now,
                          .wall = rig_wall,
                          .random = rig_random,
                          .fetch = rig_fetch,
                          .fetch_cancel = rig_fetch_cancel,
                          .timer_start = rig_timer_start,
                          .timer_stop = rig_timer_stop};
    mcp_oauth_store store = {.size = sizeof(store),
                             .user = r,
                             .lock = rig_lock,
                             .unlock = rig_unlock,
                             .load = rig_load,
                             .save = rig_save};
    mcp_error error = {0};
    r->options = o;
    o.size = sizeof(o);
    o.server = o.server ? o.server : SERVER;
    o.redirect_uri = r->alone ? NULL : REDIRECT;
    o.visit = r->alone ? NULL : rig_visit;
    o.visit_end = rig_visit_end;
    o.user = r;
    o.store = &store;
    o.host = &host;
    o.allocator = &a;
    int rc = mcp_oauth_client_new(&o, &r->client, &error);
    snprintf(r->text, sizeof(r->text), "%s", error.text);
    if (rc < 0)
        return rc;
    r->transport = (mcp__oauth_transport){.wake = rig_wake, .arg = r};
    mcp__oauth_join(r->client, &r->transport);
    return MCP_OK;
}

static inline void close_rig(rig *r)
{
    r->memory.fail_at = 0;
    if (r->client)
        mcp__oauth_part(&r->transport);
    mcp_oauth_client_free(r->client);
    assert_int_equal(r->locked, 0);
    assert_false(r->fetch.used);
    for (size_t i = 0; i < RIG_TIMERS; i++)
        assert_false(r->timers[i].used);
    assert_int_equal(r->memory.live, 0);
}

/* ---- time ------------------------------------------------------------------------------------ */

static inline void rig_respond(rig *r)
{
    struct mcp_fetch request = r->fetch;
    rig_answer a = r->answer(r, &request);
    mcp_error error = {.code = a.rc};
    mcp_fetched fetched = {.size = sizeof(fetched),
                           .status = a.status,
                           .media_type = "application/json",
                           .body = mcp_str_from(a.body),
                           .dpop_nonce = mcp_str_from(a.nonce),
                           .www_authenticate = mcp_str_from(a.challenge)};
    snprintf(error.text, sizeof(error.text), "%s", "no connection");
    r->fetch.used = false;
    request.done(a.rc, a.rc < 0 ? NULL : &fetched, &error, request.user);
}

/* Returns the timer that is due first, or NULL. */
static inline struct mcp_host_timer *rig_first(rig *r)
{
    struct mcp_host_timer *first = NULL;
    for (size_t i = 0; i < RIG_TIMERS; i++) {
        if (r->timers[i].used && (!first || r->timers[i].due < first->due))
            first = &r->timers[i];
    }
    return first;
}

/* Answers requests and fires timers that are due within `ms`, until nothing is left. */
static inline void run_rig(rig *r, int64_t ms)
{
    int64_t end = r->now + ms;
    for (;;) {
        struct mcp_host_timer *timer = rig_first(r);
        if (r->fetch.used) {
            rig_respond(r);
        } else if (timer && timer->due <= end) {
            r->now = timer->due > r->now ? timer->due : r->now;
            timer->fn(timer->arg);
        } else {
            r->now = end;
            return;
        }
    }
}

/* ---- the transport --------------------------------------------------------------------------- */

static inline int rig_add(mcp_str name, mcp_str value, void *arg)
{
    rig *r = arg;
    size_t len = strlen(r->headers);
    snprintf(r->headers + len, sizeof(r->headers) - len, "%.*s: %.*s\n", (int)name.len, name.ptr,
             (int)value.len, value.ptr);
    return MCP_OK;
}

/* Writes the headers of a request to r->headers. */
static inline int put_rig(rig *r)
{
    mcp_error error;
    r->headers[0] = 0;
    return mcp__oauth_put(r->client, "POST", SERVER, rig_add, r, &r->sent, &error);
}

/* Reports a refusal of the request that put_rig() made. */
static inline int refuse_rig(rig *r, int status, const char *challenge, const char *nonce)
{
    mcp_error error = {0};
    mcp__oauth_heard(r->client, &r->sent, status, mcp_str_from(nonce));
    int rc = mcp__oauth_refused(r->client, status, mcp_str_from(challenge), mcp_str_from(nonce),
                                &r->sent, &error);
    if (rc < 0)
        snprintf(r->text, sizeof(r->text), "%s", error.text);
    return rc;
}

/* Answers the visit with a code. `more` is appended to the redirect. */
static inline int redirect_rig(rig *r, const char *more)
{
    char url[512];
    snprintf(url, sizeof(url), REDIRECT "?code=the-code&state=%s%s", r->state, more);
    return mcp_oauth_client_redirected(r->client, mcp_str_from(url), NULL);
}

#endif
