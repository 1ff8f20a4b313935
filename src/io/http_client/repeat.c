/* repeat.c: sends a message again that the server did not accept for now.
 *
 * Status 429 (RFC 6585, 4) and 503 (RFC 9110, 15.6.4) with Retry-After mean that the server was not
 * able to handle the request, and when it may be. The message had no effect, so it is sent again
 * whatever it asks for. Other refusals, and those without Retry-After, leave open whether it had one. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>

#include "io/http_client/http_client.h"

enum {
    MOST_REPEATS = 3,
    MOST_WAIT_MS = 60000, /* of all pauses of a message */
    LEAST_WAIT_MS = 50,   /* least pause, even if the server allows a shorter one */
};

/* Returns the pause that the server asks for, or 0. */
static uint64_t pause_of(const mcp__answer *answer)
{
    if (answer->status != 429 && answer->status != 503)
        return 0;
    return answer->retry_ms ? MCP__MAX(answer->retry_ms, (uint64_t)LEAST_WAIT_MS) : 0;
}

/* Streams have their own pauses. Of pings and subscriptions, the client decides itself. */
static bool is_repeatable(const mcp__client_exchange *e)
{
    return !e->resuming && !e->http->closing && !e->own_pause &&
           (e->kind == MCP__REQUEST_ANSWER || e->kind == MCP__REQUEST_TAKE);
}

static void append(char *text, size_t room, const char *more)
{
    size_t len = strlen(text);

    snprintf(text + len, room - len, "%s", more);
}

bool mcp__client_exchange_repeat(mcp__client_exchange *e, const mcp__answer *answer, char *text,
                                 size_t room)
{
    const mcp_http_client_options *o = &e->http->options;
    uint64_t ms = pause_of(answer);
    int64_t now = mcp__http_now(e->http);
    char why[96];

    if (!ms || !is_repeatable(e))
        return false;
    if (e->repeats == MOST_REPEATS) {
        snprintf(why, sizeof(why), ", also when it was asked again %d times", MOST_REPEATS);
        append(text, room, why);
        return false;
    }
    if (e->waited_ms + ms > MOST_WAIT_MS || e->expires - now <= (int64_t)ms) {
        snprintf(why, sizeof(why), "; it asks to try again in %" PRIu64 " s", (ms + 999) / 1000);
        append(text, room, why);
        return false;
    }
    e->repeats++;
    e->waited_ms += ms;
    e->stage = MCP__WAITING;
    e->due = now + (int64_t)ms;
    mcp__http_note(e->http);
    if (o->waits)
        o->waits(answer->status, ms, o->user);
    return true;
}
