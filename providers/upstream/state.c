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

/* ---- the mounts of one server ---------------------------------------------------------------- */

#define AT(member)   offsetof(mcp_upstream_state, member)
#define SIZE(member) sizeof(((mcp_upstream_state *)NULL)->member)
/* From one member to another one, with both. */
#define COUNTERS(first, last)                                             \
    {                                                                     \
        AT(first), (AT(last) + SIZE(last) - AT(first)) / sizeof(uint64_t) \
    }

/* The counters of a state: two rows of members that are uint64_t, or arrays of it. */
static const struct {
    size_t at, count;
} counters[] = {COUNTERS(opened, malformed), COUNTERS(starts, hung)};

static void add_counters(mcp_upstream_state *to, const mcp_upstream_state *from)
{
    for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
        uint64_t *sums = (uint64_t *)(void *)((char *)to + counters[i].at);
        const uint64_t *more =
            (const uint64_t *)(const void *)((const char *)from + counters[i].at);
        for (size_t k = 0; k < counters[i].count; k++)
            sums[k] += more[k];
    }
}

void upstream_pass_totals(const upstream *up, upstream *heir)
{
    add_counters(&heir->totals, &up->totals);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void add_sessions(mcp_upstream_state *to, const upstream *up)
{
    for (const upstream_session *s = up->sessions; s; s = s->next) {
        to->sessions += !s->failed;
        to->subscriptions += s->n_uris;
        for (const upstream_ask *a = s->asks; a; a = a->next)
            to->in_flight += a->f.req != NULL;
        if (s->service)
            add_process(to, s->service, true);
    }
}

/* Earlier mounts of the same server, whose last requests have not ended, belong to it. */
static mcp_upstream_state state_of(upstream *up)
{
    mcp_upstream_state state = up->totals;
    state.size = sizeof(state);
    state.name = up->options.name;
    state.prefix = *up->prefix ? up->prefix : up->options.name;
    state.program = up->options.argv != NULL;
    state.definitions = upstream_definitions_cost(up);
    add_sessions(&state, up);
    for (const upstream *from = upstream_older(up, up); from; from = upstream_older(up, from)) {
        add_counters(&state, &from->totals);
        add_sessions(&state, from);
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
    for (upstream *up = group->first; up; up = up->next) {
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
