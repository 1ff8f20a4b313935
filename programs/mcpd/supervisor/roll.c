/* roll.c: see roll.h. The messages are those of mcp_http_options.share (mcp/http.h). */
#include "roll.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "start.h"

enum {
    ANNOUNCE = 'A',
    KEEPS = 'S',
    ENDED = 'E',
    NAME = 32, /* characters that identify a session, after the letter */
    LONGEST = 512,
    BUCKETS = 1 << 14,
};

typedef struct session {
    struct session *next, *before; /* in the order of the last changes */
    struct session *chain;         /* in its bucket */
    uint64_t origin;               /* the worker that sent it, and so does not get it */
    bool keeps, ended;
    size_t len;
    char text[]; /* its last message 'A' */
} session;

typedef struct member {
    uint64_t id;           /* never used again; 0 if there is no such worker */
    bool again, complete;  /* 'f' is next; 'c' was sent */
    session *next, *after; /* what it gets next; then, after the packet under way */
    char under_way;        /* the letter of this packet; 0 if there is none */
} member;

struct roll {
    session *first, *last, *buckets[BUCKETS];
    size_t count, ended, most;
    uint64_t ids;
    member members[START_WORKERS];
};

/* ---- packets ---------------------------------------------------------------------------------- */

bool roll_put(char to[ROLL_PACKET], size_t *len, mcp_str message)
{
    if (message.len > LONGEST || *len + 2 + message.len > ROLL_PACKET)
        return false;
    to[(*len)++] = (char)(unsigned char)(message.len >> 8);
    to[(*len)++] = (char)(unsigned char)(message.len & 255);
    memcpy(to + *len, message.ptr, message.len);
    *len += message.len;
    return true;
}

void roll_read(mcp_str packet, void (*take)(mcp_str message, void *arg), void *arg)
{
    for (size_t at = 0; at + 2 <= packet.len;) {
        size_t len = (size_t)(unsigned char)packet.ptr[at] << 8 | (unsigned char)packet.ptr[at + 1];
        at += 2;
        if (len > packet.len - at)
            return;
        take((mcp_str){packet.ptr + at, len}, arg);
        at += len;
    }
}

/* ---- the order -------------------------------------------------------------------------------- */

static session **bucket_of(roll *r, const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < NAME; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return &r->buckets[hash % BUCKETS];
}

static const char *name_of(const session *s)
{
    return s->text + 1;
}

static session *find(roll *r, const char *name)
{
    session *s = *bucket_of(r, name);
    while (s && memcmp(name_of(s), name, NAME) != 0)
        s = s->chain;
    return s;
}

static void take_out(roll *r, session *s)
{
    for (size_t i = 0; i < START_WORKERS; i++)
        if (r->members[i].next == s)
            r->members[i].next = s->next;
    *(s->before ? &s->before->next : &r->first) = s->next;
    *(s->next ? &s->next->before : &r->last) = s->before;
}

static void append(roll *r, session *s)
{
    s->before = r->last;
    s->next = NULL;
    *(r->last ? &r->last->next : &r->first) = s;
    r->last = s;
    for (size_t i = 0; i < START_WORKERS; i++)
        if (!r->members[i].next)
            r->members[i].next = s;
}

static void changed(roll *r, session *s)
{
    take_out(r, s);
    append(r, s);
}

static void discard(roll *r, session *s)
{
    session **at = bucket_of(r, name_of(s));
    while (*at != s)
        at = &(*at)->chain;
    *at = s->chain;
    take_out(r, s);
    r->count--;
    r->ended -= s->ended;
    free(s);
}

/* The others forget the session; the origin knows. */
static void end(roll *r, session *s, uint64_t origin)
{
    r->ended += !s->ended;
    s->ended = true;
    s->origin = origin;
    changed(r, s);
}

/* Discards the sessions that have ended when all workers know. They are at the end of the order. */
static void sweep(roll *r)
{
    for (size_t i = 0; r->ended && i < START_WORKERS; i++)
        if (r->members[i].id && !r->members[i].again && r->members[i].next)
            return;
    for (session *s = r->last, *before; s && r->ended; s = before) {
        before = s->before;
        if (s->ended)
            discard(r, s);
    }
}

static void make_room(roll *r)
{
    if (r->count >= 2 * r->most) { /* somebody does not read */
        for (size_t i = 0; i < START_WORKERS; i++)
            r->members[i].again = r->members[i].again || r->members[i].next;
        sweep(r);
    }
    session *oldest = r->first;
    while (oldest && oldest->ended)
        oldest = oldest->next;
    if (oldest && r->count - r->ended >= r->most)
        end(r, oldest, oldest->origin);
}

/* ---- what workers say ------------------------------------------------------------------------- */

/* Without memory the others do not hear of the session, and will not take it over. */
static void announce(roll *r, uint64_t from, mcp_str message)
{
    session *before = find(r, message.ptr + 1);
    bool keeps = before && before->keeps;
    if (before)
        discard(r, before);
    else
        make_room(r);
    session *s = malloc(sizeof(*s) + message.len);
    if (!s)
        return;
    *s = (session){.origin = from, .keeps = keeps, .len = message.len};
    memcpy(s->text, message.ptr, message.len);
    session **bucket = bucket_of(r, name_of(s));
    s->chain = *bucket;
    *bucket = s;
    r->count++;
    append(r, s);
}

void roll_take(roll *r, size_t worker, mcp_str message)
{
    uint64_t from = r->members[worker].id;
    if (!from || message.len < 1 + NAME || message.len > LONGEST)
        return;
    if (message.ptr[0] == ANNOUNCE) {
        announce(r, from, message);
        return;
    }
    session *s = find(r, message.ptr + 1);
    if (s && message.ptr[0] == KEEPS && !s->keeps && !s->ended) {
        s->keeps = true;
        changed(r, s);
    } else if (s && message.ptr[0] == ENDED) {
        end(r, s, from);
    }
}

void roll_lost(roll *r, size_t worker)
{
    uint64_t from = r->members[worker].id;
    session *last = r->last;
    for (session *s = r->first, *next; s; s = next) {
        next = s == last ? NULL : s->next;
        if (s->origin == from && !s->ended)
            end(r, s, from);
    }
}

/* ---- what workers get ------------------------------------------------------------------------- */

static bool put(const session *s, char to[ROLL_PACKET], size_t *len)
{
    char mark[1 + NAME];
    size_t before = *len;
    memcpy(mark, s->text, sizeof(mark));
    mark[0] = s->ended ? ENDED : KEEPS;
    bool ok = s->ended || roll_put(to, len, (mcp_str){s->text, s->len});
    if (ok && (s->ended || s->keeps))
        ok = roll_put(to, len, (mcp_str){mark, sizeof(mark)});
    if (!ok)
        *len = before;
    return ok;
}

bool roll_has_next(const roll *r, size_t worker)
{
    const member *m = &r->members[worker];
    return m->id && (m->again || m->next || !m->complete);
}

size_t roll_next(roll *r, size_t worker, char to[ROLL_PACKET])
{
    member *m = &r->members[worker];
    size_t len = 1;
    if (!m->again)
        while (m->next && m->next->origin == m->id)
            m->next = m->next->next;
    if (!roll_has_next(r, worker)) {
        sweep(r);
        return 0;
    }
    m->under_way = to[0] = m->again ? ROLL_FORGET : m->next ? ROLL_TOLD : ROLL_COMPLETE;
    m->after = m->next;
    if (m->under_way == ROLL_TOLD)
        while (m->after && (m->after->origin == m->id || put(m->after, to, &len)))
            m->after = m->after->next;
    return len;
}

void roll_sent(roll *r, size_t worker)
{
    member *m = &r->members[worker];
    if (m->under_way == ROLL_TOLD)
        m->next = m->after;
    if (m->under_way == ROLL_COMPLETE)
        m->complete = true;
    if (m->under_way == ROLL_FORGET) {
        m->again = m->complete = false;
        m->next = r->first;
    }
    m->under_way = 0;
}

/* ---- workers ---------------------------------------------------------------------------------- */

void roll_join(roll *r, size_t worker)
{
    r->members[worker] = (member){.id = ++r->ids, .again = true};
}

void roll_leave(roll *r, size_t worker)
{
    r->members[worker] = (member){.id = 0};
    sweep(r);
}

size_t roll_count(const roll *r)
{
    return r->count;
}

roll *roll_new(size_t most)
{
    roll *r = calloc(1, sizeof(*r));
    if (r)
        r->most = most;
    return r;
}

void roll_free(roll *r)
{
    if (!r)
        return;
    for (session *s = r->first, *next; s; s = next) {
        next = s->next;
        free(s);
    }
    free(r);
}
