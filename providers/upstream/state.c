/* state.c: the state of mounted servers, for metrics. */
#include <string.h>

#include "session.h"

void upstream_group_add(upstream *up)
{
    mcp_upstream_group *group = up->options.group;
    if (!group)
        return;
    up->at = &group->first;
    while (*up->at) /* in the order of mounting */
        up->at = &(*up->at)->next;
    *up->at = up;
}

void upstream_group_remove(upstream *up)
{
    if (!up->at)
        return;
    *up->at = up->next;
    if (up->next)
        up->next->at = up->at;
    up->at = NULL;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void add_process(mcp_upstream_state *to, const mcp_service *service, bool is_open)
{
    mcp_service_state s = {.size = sizeof(s)};
    mcp_service_get_state(service, &s);
    to->starts += s.starts;
    to->failures += s.ends[MCP_SERVICE_EXITED] + s.ends[MCP_SERVICE_KILLED] +
                    s.ends[MCP_SERVICE_REFUSED] + s.ends[MCP_SERVICE_ABORTED];
    to->processes += is_open && s.up;
    to->memory += is_open ? s.memory : 0;
}

void upstream_count_process(upstream *up, const mcp_service *service)
{
    add_process(&up->totals, service, false);
}

/* ---- all ------------------------------------------------------------------------------------- */

static mcp_upstream_state state_of(const upstream *up)
{
    mcp_upstream_state state = up->totals;
    state.size = sizeof(state);
    state.name = up->options.name;
    state.prefix = *up->prefix ? up->prefix : up->options.name;
    state.program = up->options.argv != NULL;
    for (const upstream_session *s = up->sessions; s; s = s->next) {
        state.sessions += !s->failed;
        state.subscriptions += s->n_uris;
        for (const upstream_ask *a = s->asks; a; a = a->next)
            state.in_flight += a->f.req != NULL;
        if (s->service)
            add_process(&state, s->service, true);
    }
    return state;
}

bool upstream_is_replaced(const upstream *up)
{
    const upstream *later = up->next;
    while (later && strcmp(later->options.name, up->options.name) != 0)
        later = later->next;
    return later != NULL;
}

void mcp_upstream_each(const mcp_upstream_group *group,
                       void (*each)(const mcp_upstream_state *state, void *user), void *user)
{
    for (const upstream *up = group->first; up; up = up->next) {
        if (upstream_is_replaced(up))
            continue;
        const mcp_upstream_state state = state_of(up);
        each(&state, user);
    }
}

const char *mcp_upstream_end_name(size_t end)
{
    static const char *const names[MCP_UPSTREAM_ENDS] = {[MCP_UPSTREAM_IDLE] = "idle",
                                                         [MCP_UPSTREAM_LOST] = "lost",
                                                         [MCP_UPSTREAM_CLOSED] = "closed"};
    return end < MCP_UPSTREAM_ENDS ? names[end] : NULL;
}

const char *mcp_upstream_outcome_name(size_t outcome)
{
    static const char *const names[MCP_UPSTREAM_OUTCOMES] = {[MCP_UPSTREAM_ANSWERED] = "answered",
                                                             [MCP_UPSTREAM_ERROR] = "error",
                                                             [MCP_UPSTREAM_UNREACHABLE] =
                                                                 "unreachable",
                                                             [MCP_UPSTREAM_CANCELLED] = "cancelled",
                                                             [MCP_UPSTREAM_LIMITED] = "limited"};
    return outcome < MCP_UPSTREAM_OUTCOMES ? names[outcome] : NULL;
}

const char *mcp_upstream_list_name(size_t list)
{
    static const char *const names[MCP_UPSTREAM_LISTS] = {
        [MCP_UPSTREAM_LAST] = "last", [MCP_UPSTREAM_WITHOUT] = "without"};
    return list < MCP_UPSTREAM_LISTS ? names[list] : NULL;
}
