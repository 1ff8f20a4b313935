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

/* The open sessions of a principal, or of all. */
typedef struct counting {
    size_t n;
    upstream_session *oldest; /* the least recently used one that is idle */
} counting;

static void add_sessions(counting *c, const upstream *up, bool all, const char *principal)
{
    for (upstream_session *s = up->sessions; s; s = s->next) {
        if (s->failed || (!all && !upstream_session_is_of(s, principal)))
            continue;
        c->n++;
        if (!s->asks && !s->n_uris && (!c->oldest || s->last_use < c->oldest->last_use))
            c->oldest = s;
    }
}

/* Marks an idle session to be ended, if there are too many for one more. */
static bool make_room(counting *c, size_t most)
{
    if (c->n >= most && c->oldest) {
        c->oldest->failed = true;
        c->n--;
    }
    return c->n < most;
}

/* The same for one more session at any server of the group, of this principal or, if `all`, of anybody. */
static bool make_room_in_group(const mcp_upstream_group *group, bool all, const char *principal,
                               size_t most)
{
    counting c = {0};
    for (const upstream *at = group->first; most && at; at = at->next)
        if (all || !at->options.shared)
            add_sessions(&c, at, all, principal);
    return !most || make_room(&c, most);
}

int upstream_limit_session(upstream *up, const char *principal, mcp_error *error)
{
    const mcp_upstream_group *group = up->options.group;
    counting c = {0};
    add_sessions(&c, up, true, NULL);
    if (!make_room(&c, up->options.max_sessions))
        return refuse(up, MCP_UPSTREAM_MAX_SESSIONS, error);
    if (!group)
        return MCP_OK;
    if (!up->options.shared && !make_room_in_group(group, false, principal, group->max_sessions))
        return refuse(up, MCP_UPSTREAM_GROUP_SESSIONS, error);
    if (!make_room_in_group(group, true, NULL, group->max_sessions_in_all))
        return refuse(up, MCP_UPSTREAM_GROUP_SESSIONS_IN_ALL, error);
    return MCP_OK;
}
