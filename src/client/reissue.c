/* reissue.c: repeats a call whose event stream broke off before the answer, if the call has no side
 * effects. A modern stream cannot be resumed: the request is issued again, as a new one
 * (2026-07-28, changelog, "Major changes", 9).
 *
 * All attempts of a call share the time-out of the first one.
 */
#include "client/client.h"

enum {
    MOST_REPEATS = 3,
    FIRST_PAUSE_MS = 250, /* doubled before each further attempt */
};

/* Returns whether repeating a call has no further effect. */
static bool is_repeatable(const mcp__call *call)
{
    if (mcp_str_eq(call->method, MCP_STR("tools/call"))) {
        const mcp__tool *tool = mcp__tools_find(call->client, call->name);
        return tool && tool->repeatable;
    }
    return call->ping || mcp__method_is(call->method, MCP__REPEATABLE);
}

static int64_t deadline_of(const mcp__call *call)
{
    const mcp_call_options *o = &call->options;
    uint64_t ms = call->progressed ? o->max_timeout_ms : o->timeout_ms;
    return ms < INT64_MAX / 2 ? call->began_at + (int64_t)ms : INT64_MAX;
}

/* Appends to the error the reason why the call was not repeated. */
static void explain(mcp_error *error, const char *why, mcp_str method)
{
    mcp_error original = *error;
    mcp__fail(error, original.code, original.offset, "%.160s; %.*s %s", original.text,
              (int)MCP__MIN(method.len, (size_t)32), method.ptr, why);
}

bool mcp__call_repeat(mcp__call *call, mcp_error *error)
{
    mcp_client *client = call->client;
    const mcp_exchange_end *end = client->failure.end;
    if (!end || !end->broke_off || !client->revision->modern || call->task || call->cancelled)
        return false;
    int64_t delay = (int64_t)FIRST_PAUSE_MS << call->repeats, now = mcp__client_now(client);
    if (end->retry_after_ms < INT64_MAX / 2)
        delay = MCP__MAX(delay, (int64_t)end->retry_after_ms);
    call->deadline = MCP__MAX(call->deadline, deadline_of(call));
    if (call->options.once || !is_repeatable(call)) {
        explain(error, "was not repeated, because it may have had an effect", call->method);
    } else if (call->repeats == MOST_REPEATS) {
        explain(error, "was repeated without success", call->method);
    } else if (now >= call->deadline - delay) {
        explain(error, "was not repeated, because its time-out has expired", call->method);
    } else {
        call->repeats++;
        mcp__call_again(call, now + delay);
        return true;
    }
    return false;
}

uint64_t mcp__call_time(const mcp__call *call)
{
    uint64_t ms = call->options.timeout_ms;
    int64_t now = mcp__client_now(call->client);
    if (!call->repeats || call->deadline == INT64_MAX)
        return ms;
    return MCP__MIN(ms, call->deadline > now ? (uint64_t)(call->deadline - now) : 1);
}
