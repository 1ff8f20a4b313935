/* limits.c: how much may be in use at the same time: by all callers and by one principal at a server,
 * and at all servers of the program together.
 *
 * What is in use is counted when it is needed, from the open sessions, because they are few and end in
 * many ways.
 */
#include <stdio.h>
#include <string.h>

#include "session.h"

static const struct {
    const char *name, *what; /* what has reached the limit */
} limits[MCP_UPSTREAM_LIMITS] = {
    [MCP_UPSTREAM_MAX_CALLS] = {"max_calls", "requests are in flight"},
    [MCP_UPSTREAM_MAX_CALLS_IN_ALL] = {"max_calls_in_all", "requests are in flight"},
    [MCP_UPSTREAM_MAX_SESSIONS] = {"max_sessions", "sessions are open"},
    [MCP_UPSTREAM_MAX_SESSIONS_EACH] = {"max_sessions_each", "sessions of this caller are open"},
    [MCP_UPSTREAM_GROUP_CALLS] = {"max-upstream-calls",
                                  "requests of this caller are in flight at all servers"},
    [MCP_UPSTREAM_GROUP_SESSIONS] = {"max-upstream-sessions",
                                     "sessions of this caller are open at all servers"},
    [MCP_UPSTREAM_GROUP_BYTES] = {"max-upstream-bytes",
                                  "bytes are in use for this caller at all servers"},
    [MCP_UPSTREAM_GROUP_SESSIONS_IN_ALL] = {"max-upstream-sessions-in-all",
                                            "sessions are open at all servers"},
};

const char *mcp_upstream_limit_name(size_t limit)
{
    return limit < MCP_UPSTREAM_LIMITS ? limits[limit].name : NULL;
}

static int refuse(upstream *up, mcp_upstream_limit limit, mcp_error *error)
{
    up->totals.limited[limit]++;
    snprintf(error->text, sizeof(error->text), "too many %s (%s): try again later",
             limits[limit].what, limits[limit].name);
    return MCP_ELIMIT;
}

/* ---- requests -------------------------------------------------------------------------------- */

typedef struct usage {
    size_t all, calls,
        bytes; /* requests of all callers; those of the principal, and what they hold */
} usage;

static void add_asks(usage *u, const upstream *up, const char *principal)
{
    for (const upstream_session *s = up->sessions; s; s = s->next) {
        u->all += s->n_asks;
        if (!up->options.shared && upstream_session_is_of(s, principal)) {
            u->calls += s->n_asks;
            u->bytes += s->bytes;
        }
        for (const upstream_ask *a = up->options.shared ? s->asks : NULL; a; a = a->next) {
            if (!upstream_is_of(a, principal))
                continue;
            u->calls++;
            u->bytes += a->size + (a->park ? a->park->text.len : 0);
        }
    }
}

static usage usage_of(const mcp_upstream_group *group, const char *principal)
{
    usage u = {0};
    for (const upstream *at = group->first; at; at = at->next)
        add_asks(&u, at, principal);
    return u;
}

static bool exceeds(size_t used, size_t more, size_t most)
{
    return most && (more > most || used > most - more);
}

int upstream_limit_call(upstream *up, const char *principal, size_t size, mcp_error *error)
{
    const mcp_upstream_options *o = &up->options;
    const mcp_upstream_group *group = o->group;
    usage u = {0};
    add_asks(&u, up, principal);
    if (u.calls >= o->max_calls)
        return refuse(up, MCP_UPSTREAM_MAX_CALLS, error);
    if (u.all >= o->max_calls_in_all)
        return refuse(up, MCP_UPSTREAM_MAX_CALLS_IN_ALL, error);
    if (!group || (!group->max_calls && !group->max_bytes))
        return MCP_OK;
    u = usage_of(group, principal);
    if (exceeds(u.calls, 1, group->max_calls))
        return refuse(up, MCP_UPSTREAM_GROUP_CALLS, error);
    if (exceeds(u.bytes, size, group->max_bytes))
        return refuse(up, MCP_UPSTREAM_GROUP_BYTES, error);
    return MCP_OK;
}

bool upstream_limit_bytes(const upstream_ask *a, size_t size)
{
    upstream *up = a->session->up;
    const mcp_upstream_group *group = up->options.group;
    mcp_error error;
    if (!group || !group->max_bytes)
        return true;
    if (!exceeds(usage_of(group, upstream_caller(a)).bytes, size, group->max_bytes))
        return true;
    (void)refuse(up, MCP_UPSTREAM_GROUP_BYTES, &error);
    return false;
}

/* ---- sessions -------------------------------------------------------------------------------- */

/* Whose sessions a limit counts: those of a caller, or of everybody, at a server or at all of its group. A
 * shared session is of its server, and of no caller. */
typedef struct counted {
    const upstream *up;
    const char *principal; /* the caller */
    bool own, group;
} counted;

static const upstream *first_of(const counted *c)
{
    return c->group ? c->up->options.group->first : c->up;
}

static const upstream *next_of(const counted *c, const upstream *at)
{
    return c->group ? at->next : NULL;
}

static bool is_of(const upstream_session *s, const upstream *up, const char *principal)
{
    if (s->up->options.shared || up->options.shared)
        return s->up == up;
    return upstream_session_is_of(s, principal);
}

static size_t count(const counted *c, bool all, const upstream *up, const char *principal)
{
    size_t n = 0;
    for (const upstream *at = first_of(c); at; at = next_of(c, at))
        for (const upstream_session *s = at->sessions; s; s = s->next)
            n += !s->failed && (all || is_of(s, up, principal));
    return n;
}

static bool is_idle(const upstream_session *s)
{
    return !s->failed && !s->asks && !s->n_uris;
}

/* Returns the session that ends for a new one, or NULL. Of the idle ones, it is the one that was not used
 * for longest: of this caller or, if the limit is one for all, of whoever has most, but only if that is
 * still more than this caller will have, or if this caller has none. So callers who open many sessions
 * end their own. */
static upstream_session *loser(const counted *c)
{
    size_t own = count(c, false, c->up, c->principal), most = 0;
    upstream_session *mine = NULL, *first = NULL;
    for (const upstream *at = first_of(c); at; at = next_of(c, at)) {
        for (upstream_session *s = at->sessions; s; s = s->next) {
            if (!is_idle(s))
                continue;
            if (is_of(s, c->up, c->principal) && (!mine || s->last_use < mine->last_use))
                mine = s;
            size_t n = c->own ? 0 : count(c, false, s->up, s->principal);
            if (n < most || !n || (n == most && s->last_use >= first->last_use))
                continue;
            most = n;
            first = s;
        }
    }
    return first && (!own || most > own + 1) ? first : mine;
}

/* Marks idle sessions to be ended until there is room for one more. */
static bool make_room(const counted *c, size_t most)
{
    while (most && count(c, !c->own, c->up, c->principal) >= most) {
        upstream_session *s = loser(c);
        if (!s)
            return false;
        s->failed = true;
    }
    return true;
}

int upstream_limit_session(upstream *up, const char *principal, mcp_error *error)
{
    const mcp_upstream_options *o = &up->options;
    const mcp_upstream_group none = {0}, *group = o->group ? o->group : &none;
    const struct {
        mcp_upstream_limit limit;
        bool own, group;
        size_t most; /* 0 means no limit */
    } all[] = {
        {MCP_UPSTREAM_MAX_SESSIONS_EACH, true, false, o->max_sessions_each},
        {MCP_UPSTREAM_MAX_SESSIONS, false, false, o->max_sessions},
        {MCP_UPSTREAM_GROUP_SESSIONS, true, true, o->shared ? 0 : group->max_sessions},
        {MCP_UPSTREAM_GROUP_SESSIONS_IN_ALL, false, true, group->max_sessions_in_all},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        const counted c = {up, principal, all[i].own, all[i].group};
        if (!make_room(&c, all[i].most))
            return refuse(up, all[i].limit, error);
    }
    return MCP_OK;
}
