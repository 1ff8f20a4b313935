/* group.c: the sources of a program, and the limit on the number of their processes. */
#include <stdio.h>

#include "provider.h"

void isolated_group_enter(isolated *r)
{
    mcp_isolated_group *group = r->options.group;
    if (!group)
        return;
    r->next = group->first;
    r->at = &group->first;
    if (r->next)
        r->next->at = &r->next;
    group->first = r;
}

void isolated_group_leave(isolated *r)
{
    if (!r->at)
        return;
    *r->at = r->next;
    if (r->next)
        r->next->at = r->at;
    r->at = NULL;
}

/* ---- the limit ------------------------------------------------------------------------------- */

/* Whether the source has a process, or waits for the start of one. A call that has not begun to wait is
 * not counted, because there may be no room for its process. */
static bool has_process(const isolated *r)
{
    bool has = r->stamped || r->watch.state || r->prestart.state;
    for (const isolated_call *c = r->first; c && !has; c = c->next)
        has = c->f.use.state != 0;
    return has;
}

static size_t count_processes(const mcp_isolated_group *group)
{
    size_t n = 0;
    for (const isolated *r = group->first; r; r = r->next)
        n += has_process(r);
    return n;
}

/* Returns the source whose process was not used for the longest time, among those whose process has no
 * request and, unless `watching`, watches nothing. Returns NULL if there is none. */
static isolated *find_idle(const mcp_isolated_group *group, bool watching)
{
    isolated *found = NULL;
    for (isolated *r = group->first; r; r = r->next) {
        if (has_process(r) && !r->first && (watching || !isolated_watches(r)) &&
            (!found || r->checked < found->checked))
            found = r;
    }
    return found;
}

static bool has_room(const isolated *r)
{
    const mcp_isolated_group *group = r->options.group;
    return has_process(r) || !group || !group->max || count_processes(group) < group->max;
}

static bool make_room(isolated *idle)
{
    if (idle && idle->stamped)
        isolated_link_replace(idle);
    else if (idle) { /* it waits for its start, and no request does */
        mcp_service_done(idle->link.service, &idle->watch);
        mcp_service_done(idle->link.service, &idle->prestart);
    }
    return idle != NULL;
}

bool isolated_may_watch(isolated *r)
{
    return has_room(r) || make_room(find_idle(r->options.group, false));
}

bool isolated_may_start(isolated *r, mcp_error *error)
{
    const mcp_isolated_group *group = r->options.group;
    if (isolated_may_watch(r) || make_room(find_idle(group, true)))
        return true;
    r->crowded++;
    error->code = MCP_ELIMIT;
    error->offset = 0;
    snprintf(
        error->text, sizeof(error->text),
        "%.80s: all processes of sources are busy, and there can be no more than %zu (%s): try "
        "again later",
        r->options.name, group->max, group->max_name ? group->max_name : "max");
    return false;
}

/* ---- starting before the first request -------------------------------------------------------------------------- */

static void on_prestarted(int rc, const mcp_error *error, void *user)
{
    isolated *r = user;
    (void)error;
    if (rc == MCP_OK)
        mcp_service_done(r->link.service, &r->prestart);
}

static void prestart(isolated *r)
{
    mcp_error error;
    if (!r->lists || r->failure.code || r->aside || r->prestart.state || has_process(r) ||
        !has_room(r))
        return;
    r->prestart.ready = on_prestarted;
    r->prestart.user = r;
    if (mcp_service_begin(r->link.service, &r->prestart, &error) == MCP_OK)
        mcp_service_done(r->link.service, &r->prestart);
}

void isolated_prestart(isolated *r)
{
    enum { AHEAD = 4 };
    size_t before = 0;
    isolated *other = r->options.group ? r->options.group->first : r;
    for (const isolated *at = other; at != r; at = at->next)
        before++;
    for (; other != r; other = other->next, before--) {
        if (before <= AHEAD)
            prestart(other);
    }
}

/* ---- state ----------------------------------------------------------------------------------- */

void mcp_isolated_each(const mcp_isolated_group *group,
                       void (*each)(const mcp_isolated_state *state, void *user), void *user)
{
    for (const isolated *r = group->first; r; r = r->next) {
        mcp_isolated_state state = {.prefix = r->n_prefixes ? r->prefixes[0].text : r->options.name,
                                    .process.size = sizeof(state.process),
                                    .refused = r->n_kills,
                                    .failed =
                                        r->failure.text[0] != 0, /* also while it is tried again */
                                    .crowded = r->crowded};
        mcp_service_get_state(r->link.service, &state.process);
        each(&state, user);
    }
}
