/* prestart.c: opens sessions before their first requests, which then need not wait for the connection.
 */
#include <stdio.h>

#include "session.h"

/* A request that waits for the session says itself why there is none. */
static void settle(upstream_session *s, int rc, const mcp_error *error)
{
    char line[300];
    if (s->closing)
        return;
    if (rc == MCP_OK) {
        upstream_snapshot_note(s);
    } else if (!s->asks) {
        snprintf(line, sizeof(line), "%.250s", upstream_reason(rc, error));
        upstream_say(s->up, "warning", line);
    }
}

static void on_started(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                       void *user)
{
    (void)client, (void)result;
    settle(user, rc, error);
}

static void on_ready(int rc, const mcp_error *error, void *user)
{
    upstream_session *s = user;
    settle(s, rc, error);
    mcp_service_done(s->service, &s->prestart);
}

static int start(upstream_session *s, mcp_error *error)
{
    if (!s->service)
        return mcp_client_start(s->client, on_started, s);
    s->prestart.ready = on_ready;
    s->prestart.user = s;
    return mcp_service_begin(s->service, &s->prestart, error);
}

static void begin(upstream *up, const char *principal, const char *const *can)
{
    mcp_error error = {0};
    upstream_session *s = NULL;
    const upstream_wanted wanted = {.principal = upstream_principal(up, principal),
                                    .declared = upstream_declared_as(up, principal, can),
                                    .matters = ~0u};
    if (upstream_session_find(up, &wanted) || upstream_take_session(up, &wanted))
        return;
    int rc = upstream_session_get(up, &wanted, &s, &error);
    if (rc == MCP_OK)
        rc = start(s, &error);
    if (rc != MCP_OK && rc != MCP_PENDING &&
        rc != MCP_ESTATE) /* it may have been started already */
        upstream_say(up, "warning", upstream_reason(rc, &error));
}

void mcp_upstream_begin(const mcp_upstream_group *group, const char *principal,
                        const char *const *can)
{
    for (upstream *up = group->first; up; up = up->next) {
        if (!upstream_is_replaced(up))
            begin(up, principal, can);
    }
}
