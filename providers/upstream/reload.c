/* reload.c: keeps the sessions with a server, and its counters, when it is mounted again with the same options, so
 * that a program that reads its configuration again disturbs neither its processes nor the calls
 * that wait for their callers.
 *
 * The old mount stays until its last request has ended. A session moves to the new mount when a
 * request needs it there, or at the latest when the old mount is released.
 */
#include <string.h>

#include "listing.h"

/* ---- the same server ------------------------------------------------------------------------- */

static bool same_texts(const char *const *a, const char *const *b)
{
    if (!a || !b)
        return a == b;
    for (; *a && *b; a++, b++) {
        if (strcmp(*a, *b) != 0)
            return false;
    }
    return *a == *b;
}

static bool same_allocator(const mcp_allocator *a, const mcp_allocator *b)
{
    return a->allocate == b->allocate && a->resize == b->resize && a->release == b->release &&
           a->user == b->user;
}

/* Returns whether a session of one mount may be used by the other. */
static bool is_same(upstream *a, upstream *b)
{
    const mcp_upstream_options *x = &a->options, *y = &b->options;
    for (size_t i = 0; i < UPSTREAM_TEXTS; i++)
        if (!upstream_is_same(*upstream_text(&a->options, i), *upstream_text(&b->options, i)))
            return false;
    return a->server == b->server && same_allocator(&a->alloc, &b->alloc) &&
           same_texts(x->argv, y->argv) && x->connect == y->connect &&
           x->disconnect == y->disconnect && x->user == y->user && same_texts(x->env, y->env) &&
           same_texts(x->env_add, y->env_add) && same_texts(x->headers, y->headers) &&
           x->transparent == y->transparent && x->shared == y->shared &&
           x->no_questions == y->no_questions;
}

/* ---- moving ---------------------------------------------------------------------------------- */

static void move(upstream_session *s, upstream *to)
{
    upstream *from = s->up;
    upstream_session **at = &from->sessions;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    s->next = to->sessions;
    to->sessions = s;
    s->up = to;
    from->n_sessions--;
    to->n_sessions++;
    for (upstream_ask *a = s->asks, *next; a; a = next) {
        next = a->next;
        upstream_list_detach(a); /* its request belongs to the old mount */
    }
    for (const upstream_ask *a = s->asks; a; a = a->next) {
        from->stored -= a->park ? a->park->text.len : 0;
        to->stored += a->park ? a->park->text.len : 0;
    }
    upstream_watch_clear(s); /* the new mount is told what to watch */
    upstream_watch_begin(s);
    upstream_session_timer(to);
    if (s->asks || s->left)
        upstream_soon(to);
}

upstream *upstream_older(upstream *up, const upstream *than)
{
    upstream *found = NULL;
    const mcp_upstream_group *group = up->options.group;
    for (upstream *at = group ? group->first : NULL; at && at != than; at = at->next)
        found = is_same(at, up) ? at : found;
    return found;
}

bool upstream_take_session(upstream *up, const upstream_wanted *wanted)
{
    for (upstream *from = upstream_older(up, up); from; from = upstream_older(up, from)) {
        upstream_session *s = upstream_session_find(from, wanted);
        if (!s)
            continue;
        move(s, up);
        return true;
    }
    return false;
}

void upstream_take_snapshots(upstream *up)
{
    for (upstream *from = upstream_older(up, up); from; from = upstream_older(up, from))
        upstream_snapshots_adopt(up, from);
}

upstream_ask *upstream_take_parked(upstream *up, const char *principal, const char *id)
{
    for (upstream *from = upstream_older(up, up); from; from = upstream_older(up, from)) {
        upstream_ask *a = upstream_parked_find(from, principal, id);
        if (!a)
            continue;
        move(a->session, up);
        return a;
    }
    return NULL;
}

void upstream_hand_over(upstream *up)
{
    upstream *heir = up->next;
    while (heir && !is_same(heir, up))
        heir = heir->next;
    if (!up->at || !heir)
        return;
    while (up->sessions)
        move(up->sessions, heir);
    upstream_pass_totals(up, heir);
}
