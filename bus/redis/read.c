/* read.c: reads the stream.
 *
 * Two commands are sent at a time: XREAD, which waits for entries after the last one, and XRANGE, which
 * asks whether that last one is still there. If it is, nothing after it was removed before XREAD was
 * answered, because a stream is trimmed at its beginning; and the stream is still the same. If it is
 * not, entries may have been lost.
 *
 * A restarted server, or one that took the place of another, may have forgotten entries that it had
 * confirmed. It is recognized by the id of its run; without one, each connection counts as another run.
 */
#include "redis.h"

#include <stdio.h>
#include <string.h>

enum {
    BATCH = 32,      /* entries that are read at a time, so that a reply has about 1 MiB at most */
    BLOCK_MS = 5000, /* how long XREAD waits */
    GAP_PAUSE_MS =
        1000 /* so that a server that is never right does not make us announce all the time */
};

static const char none[] = "0-0";

static void send(redis_bus *b, const link_command *command, int argc, const char *const *argv)
{
    size_t lens[12];
    for (int i = 0; i < argc; i++)
        lens[i] = strlen(argv[i]);
    int rc = link_send(&b->reader, command, argc, argv, lens);
    if (rc != MCP_OK)
        link_fail(&b->reader, "%s", mcp_error_text(rc));
}

static void malformed(redis_bus *b, const char *command)
{
    link_fail(&b->reader, "its answer to %s has an unknown form", command);
}

/* ---- ids and entries ------------------------------------------------------------------------- */

static bool take_id(const redisReply *reply, char to[REDIS_ID])
{
    if (reply->type != REDIS_REPLY_STRING || !reply->len || (size_t)reply->len >= REDIS_ID ||
        strspn(reply->str, "0123456789-") != (size_t)reply->len)
        return false;
    memcpy(to, reply->str, (size_t)reply->len + 1);
    return true;
}

/* An entry is an array of its id and its fields, which are an array of names and values. */
static bool is_entry(const redisReply *entry)
{
    return entry->type == REDIS_REPLY_ARRAY && entry->elements == 2;
}

/* Reports the field "e". Entries of other programs have none. */
static void deliver(redis_bus *b, const redisReply *fields)
{
    for (size_t i = 0; fields->type == REDIS_REPLY_ARRAY && i + 1 < fields->elements; i += 2) {
        const redisReply *name = fields->element[i], *value = fields->element[i + 1];
        if (name->type != REDIS_REPLY_STRING || name->len != 1 || name->str[0] != 'e' ||
            value->type != REDIS_REPLY_STRING || value->len < 1 || value->len > MCP_BUS_ENTRY_BYTES)
            continue;
        b->events.received((mcp_str){value->str, (size_t)value->len}, b->events.user);
        return;
    }
}

/* Sets *ret to the entries of a reply of XRANGE or XREVRANGE: at most one. */
static bool take_range(const redisReply *reply, char id[REDIS_ID])
{
    id[0] = 0;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements > 1)
        return false;
    return !reply->elements ||
           (is_entry(reply->element[0]) && take_id(reply->element[0]->element[0], id));
}

/* ---- the position ---------------------------------------------------------------------------- */

static void report_loss(redis_bus *b)
{
    if (b->lost)
        b->events.gap(b->events.user);
    b->lost = false;
}

static void positioned(const redisReply *reply, void *user)
{
    redis_bus *b = user;
    char id[REDIS_ID];
    if (!redis_check(&b->reader, reply))
        return;
    if (!take_range(reply, id)) {
        malformed(b, "XREVRANGE");
        return;
    }
    snprintf(b->last, sizeof(b->last), "%s", id[0] ? id : none);
    b->skip = false;
    if (b->reader_ready)
        redis_read(b);
    else
        redis_ready(b, &b->reader_ready);
}

/* Goes to the end of the stream. */
static void position(redis_bus *b)
{
    static const link_command command = {positioned};
    send(b, &command, 6, (const char *const[]){"XREVRANGE", b->key, "+", "-", "COUNT", "1"});
}

/* ---- start ----------------------------------------------------------------------------------- */

static void take_run(redis_bus *b, const redisReply *reply)
{
    static const char name[] = "\nrun_id:";
    char run[sizeof(b->run)] = "";
    const char *at = reply->type == REDIS_REPLY_STRING ? strstr(reply->str, name) : NULL;
    size_t len = at ? strcspn(at + sizeof(name) - 1, "\r\n") : 0;
    if (len < sizeof(run) && at)
        memcpy(run, at + sizeof(name) - 1, len);
    bool same = run[0] && strcmp(run, b->run) == 0;
    if (b->last[0] && !same)
        b->lost = true;
    memcpy(b->run, run, sizeof(b->run));
}

static void informed(const redisReply *reply, void *user)
{
    redis_bus *b = user;
    bool forbidden = reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "NOPERM", 6) == 0;
    if (!forbidden && !redis_check(&b->reader, reply))
        return;
    take_run(b, reply);
    if (b->skip)
        b->lost = true;
    if (b->skip || !b->last[0])
        position(b);
    else
        redis_ready(b, &b->reader_ready);
}

void redis_reader_start(redis_bus *b)
{
    static const link_command command = {informed};
    if (redis_greet(b, &b->reader))
        send(b, &command, 2, (const char *const[]){"INFO", "server"});
}

void redis_reader_lost(redis_bus *b)
{
    b->first[0] = 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool take_entries(redis_bus *b, const redisReply *list)
{
    char id[REDIS_ID];
    if (list->type != REDIS_REPLY_ARRAY || !list->elements || list->elements > BATCH)
        return false;
    for (size_t i = 0; i < list->elements; i++) {
        const redisReply *entry = list->element[i];
        if (!is_entry(entry) || !take_id(entry->element[0], id))
            return false;
        if (!b->first[0])
            memcpy(b->first, id, sizeof(id));
        memcpy(b->last, id, sizeof(id));
        deliver(b, entry->element[1]);
    }
    return true;
}

/* The answer to XREAD: nil, or one array for the stream, which has its key and its entries. */
static void was_read(const redisReply *reply, void *user)
{
    redis_bus *b = user;
    const redisReply *stream = reply->elements == 1 ? reply->element[0] : NULL;
    b->first[0] = 0;
    if (!redis_check(&b->reader, reply))
        return;
    if (reply->type == REDIS_REPLY_NIL) {
        if (b->host->now(b->host->user) - b->asked < BLOCK_MS / 2)
            link_fail(&b->reader, "it answers XREAD without waiting");
        redis_writer_ping(b);
    } else if (reply->type != REDIS_REPLY_ARRAY || !stream || stream->type != REDIS_REPLY_ARRAY ||
               stream->elements != 2 || !take_entries(b, stream->element[1])) {
        malformed(b, "XREAD");
    }
}

static void on_pause_over(void *arg)
{
    redis_bus *b = arg;
    b->host->timer_stop(b->timer, b->host->user);
    b->timer = NULL;
    redis_read(b);
}

/* Reports what may be lost, and pauses then. */
static bool pause_after_loss(redis_bus *b)
{
    if (!b->lost)
        return false;
    report_loss(b);
    b->timer = b->host->timer_start(GAP_PAUSE_MS, on_pause_over, b, b->host->user);
    return b->timer != NULL;
}

/* The answer to XRANGE: the entry that was read last before XREAD, or the first of the stream if there
 * was none. */
static void was_checked(const redisReply *reply, void *user)
{
    redis_bus *b = user;
    char id[REDIS_ID];
    if (!redis_check(&b->reader, reply))
        return;
    if (!take_range(reply, id)) {
        malformed(b, "XRANGE");
        return;
    }
    bool began_empty = strcmp(b->before, none) == 0;
    bool there =
        began_empty ? !b->first[0] || strcmp(id, b->first) == 0 : strcmp(id, b->before) == 0;
    b->pause_ms = REDIS_FIRST_PAUSE_MS;
    b->lost = b->lost || !there;
    if (!there && !b->first[0])
        position(b); /* another stream, whose ids may be less than ours */
    else
        redis_read(b);
}

void redis_read(redis_bus *b)
{
    static const link_command read = {was_read}, check = {was_checked};
    char block[16], count[16];
    if (pause_after_loss(b))
        return;
    bool empty = strcmp(b->last, none) == 0;
    const char *from = empty ? "-" : b->last, *to = empty ? "+" : b->last;
    snprintf(block, sizeof(block), "%d", BLOCK_MS);
    snprintf(count, sizeof(count), "%d", BATCH);
    memcpy(b->before, b->last, sizeof(b->before));
    b->asked = b->host->now(b->host->user);
    send(
        b, &read, 8,
        (const char *const[]){"XREAD", "COUNT", count, "BLOCK", block, "STREAMS", b->key, b->last});
    send(b, &check, 6, (const char *const[]){"XRANGE", b->key, from, to, "COUNT", "1"});
}
