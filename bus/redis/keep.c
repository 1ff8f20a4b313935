/* keep.c: keeps values for all instances, each under a key of its own that expires.
 *
 * Replies come in the order of the commands; so the numbers of fetches are a queue.
 */
#include "redis.h"

#include <stdio.h>
#include <string.h>

enum {
    KEEPS = 64, /* under way at a time, and their bytes */
    KEEPS_BYTES = 4 << 20,
    KEY = 512, /* room for a key */
};

static bool key_of(const redis_bus *b, mcp_str name, char to[KEY])
{
    int n = snprintf(to, KEY, "%s:%.*s", b->key, (int)name.len, name.ptr);
    return n > 0 && n < KEY;
}

/* Writes why a command was refused. Returns the code of the refusal. */
static int refused(const redisReply *reply, const char *command, char why[LINK_WHY])
{
    if (reply->type != REDIS_REPLY_ERROR) {
        snprintf(why, LINK_WHY, "its answer to %s has an unknown form", command);
        return MCP_EREMOTE;
    }
    link_line(why, LINK_WHY, reply->str, (size_t)reply->len);
    return strncmp(why, "OOM", 3) == 0 ? MCP_ELIMIT : MCP_EREMOTE;
}

/* ---- keeping --------------------------------------------------------------------------------- */

static void was_kept(const redisReply *reply, void *user)
{
    redis_bus *b = user;
    char why[LINK_WHY];
    bool ok = reply->type == REDIS_REPLY_STATUS && strcmp(reply->str, "OK") == 0;
    int rc = ok ? MCP_OK : refused(reply, "SET", why);
    if (!ok && redis_is_moved(why)) {
        link_fail(&b->writer, "it answers: %.150s", why);
        return; /* redis_keep_lost() follows */
    }
    if (--b->n_keeping == 0)
        b->keeping_bytes = 0;
    b->events.kept(rc, ok ? NULL : why, b->events.user);
}

int redis_keep(mcp_str name, mcp_str value, uint64_t ttl_ms, void *user)
{
    static const link_command command = {was_kept};
    redis_bus *b = user;
    char key[KEY], ttl[24];
    if (b->phase != REDIS_WORKING || !b->events.kept)
        return MCP_ESTATE;
    if (b->n_keeping >= KEEPS || (b->n_keeping && value.len > KEEPS_BYTES - b->keeping_bytes))
        return MCP_ELIMIT;
    if (!key_of(b, name, key))
        return MCP_EINVAL;
    snprintf(ttl, sizeof(ttl), "%llu", (unsigned long long)ttl_ms);
    const char *const argv[] = {"SET", key, value.ptr, "PX", ttl};
    const size_t lens[] = {3, strlen(key), value.len, 2, strlen(ttl)};
    int rc = link_send(&b->writer, &command, 5, argv, lens);
    b->n_keeping += rc == MCP_OK;
    b->keeping_bytes += rc == MCP_OK ? value.len : 0;
    return rc;
}

/* ---- fetching -------------------------------------------------------------------------------- */

static uint64_t next_number(redis_bus *b)
{
    uint64_t number = b->fetching[b->first_fetch];
    b->first_fetch = (b->first_fetch + 1) % REDIS_FETCHES;
    b->n_fetching--;
    return number;
}

static void was_fetched(const redisReply *reply, void *user)
{
    redis_bus *b = user;
    mcp_str value = {NULL, 0};
    int rc = MCP_EREMOTE;
    if (reply->type == REDIS_REPLY_NIL)
        rc = MCP_ENOTFOUND;
    if (reply->type == REDIS_REPLY_STRING && reply->len > 0 &&
        (size_t)reply->len <= MCP_BUS_VALUE_BYTES) {
        value = (mcp_str){reply->str, (size_t)reply->len};
        rc = MCP_OK;
    }
    b->events.fetched(next_number(b), rc, value, b->events.user);
}

int redis_fetch(mcp_str name, uint64_t number, void *user)
{
    static const link_command command = {was_fetched};
    redis_bus *b = user;
    char key[KEY];
    if (b->phase != REDIS_WORKING || !b->events.fetched)
        return MCP_ESTATE;
    if (b->n_fetching == REDIS_FETCHES)
        return MCP_ELIMIT;
    if (!key_of(b, name, key))
        return MCP_EINVAL;
    int rc = link_send(&b->writer, &command, 2, (const char *const[]){"GET", key},
                       (const size_t[]){3, strlen(key)});
    if (rc == MCP_OK)
        b->fetching[(b->first_fetch + b->n_fetching++) % REDIS_FETCHES] = number;
    return rc;
}

void redis_keep_lost(redis_bus *b, const char *why)
{
    size_t keeping = b->n_keeping;
    b->n_keeping = b->keeping_bytes = 0;
    for (size_t i = 0; i < keeping; i++)
        b->events.kept(MCP_EREMOTE, why, b->events.user);
    while (b->n_fetching)
        b->events.fetched(next_number(b), MCP_EREMOTE, (mcp_str){NULL, 0}, b->events.user);
}
