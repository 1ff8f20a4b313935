/* publish.c: writes entries to the stream.
 *
 * "MAXLEN ~" lets the server remove old entries in whole blocks, which costs almost nothing.
 */
#include "redis.h"

#include <stdio.h>
#include <string.h>

static void ponged(const redisReply *reply, void *user)
{
    redis_bus *b = user;
    if (redis_check(&b->writer, reply) && !b->writer_ready)
        redis_ready(b, &b->writer_ready);
}

static bool ping(redis_bus *b)
{
    static const link_command command = {ponged};
    int rc = link_send(&b->writer, &command, 1, (const char *const[]){"PING"}, (const size_t[]){4});
    if (rc != MCP_OK)
        link_fail(&b->writer, "%s", mcp_error_text(rc));
    return rc == MCP_OK;
}

void redis_writer_start(redis_bus *b)
{
    if (redis_greet(b, &b->writer))
        ping(b);
}

void redis_writer_ping(redis_bus *b)
{
    if (!b->under_way)
        ping(b);
}

void redis_writer_lost(redis_bus *b, const char *why)
{
    if (!b->under_way)
        return;
    b->under_way = false;
    b->events.published(MCP_EREMOTE, why, b->events.user);
}

bool redis_is_moved(const char *text)
{
    return strncmp(text, "READONLY", 8) == 0;
}

static void added(const redisReply *reply, void *user)
{
    redis_bus *b = user;
    char why[LINK_WHY] = "the answer to XADD is not an id";
    int rc = reply->type == REDIS_REPLY_STRING ? MCP_OK : MCP_EREMOTE;
    if (reply->type == REDIS_REPLY_ERROR) {
        link_line(why, sizeof(why), reply->str, (size_t)reply->len);
        if (strncmp(why, "OOM", 3) == 0)
            rc = MCP_ELIMIT;
        if (redis_is_moved(why)) {
            link_fail(&b->writer, "it answers: %.150s", why);
            return; /* redis_writer_lost() follows */
        }
    }
    b->under_way = false;
    b->events.published(rc, rc == MCP_OK ? NULL : why, b->events.user);
}

int redis_publish(mcp_str entry, void *user)
{
    static const link_command command = {added};
    redis_bus *b = user;
    char most[16];
    if (b->phase != REDIS_WORKING || b->under_way)
        return MCP_ESTATE;
    snprintf(most, sizeof(most), "%u", b->address.max_entries);
    const char *const argv[] = {"XADD", b->key, "MAXLEN", "~", most, "*", "e", entry.ptr};
    const size_t lens[] = {4, strlen(b->key), 6, 1, strlen(most), 1, 1, entry.len};
    int rc = link_send(&b->writer, &command, 8, argv, lens);
    b->under_way = rc == MCP_OK;
    return rc;
}
