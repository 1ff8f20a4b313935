/* redis.h: a bus (mcp/sys/bus.h) on a stream of Redis or Valkey.
 *
 * Entries are published with XADD to one capped stream, and read with XREAD from the last id that this
 * instance has read, over two connections, because XREAD blocks one. bus.c connects, resolve.c finds
 * addresses, publish.c writes, keep.c keeps values, read.c reads.
 */
#ifndef MCP_BUS_REDIS_H
#define MCP_BUS_REDIS_H

#include <mcp/sys/bus.h>

#include "address.h"
#include "link.h"

enum {
    REDIS_ID = 48, /* two numbers of 64 bits, and a dash */
    REDIS_FIRST_PAUSE_MS = 100,
    REDIS_FETCHES = 512 /* under way at a time */
};

/* The addresses of a host name. */
enum { REDIS_PLACES = 8, REDIS_PLACE = 64 };
typedef struct redis_places {
    char items[REDIS_PLACES][REDIS_PLACE];
    size_t count;
} redis_places;

typedef enum redis_phase {
    REDIS_CLOSED = 0, /* before redis_open() */
    REDIS_PAUSING,    /* waits before it connects */
    REDIS_RESOLVING,
    REDIS_CONNECTING, /* until both links are ready */
    REDIS_WORKING,
} redis_phase;

typedef struct redis_bus {
    mcp_bus_events events;
    const mcp_host *host;
    redis_address address;
    redis_tls *tls; /* NULL without TLS */
    char *key, *user, *password;
    redis_phase phase;
    redis_link reader, writer;
    bool reader_ready, writer_ready;
    struct redis_search *search; /* the job that resolves the name */
    redis_places places;
    size_t attempt;
    mcp_host_timer *timer; /* the pause before the next attempt, or before the next read */
    uint64_t pause_ms;
    char why[LINK_WHY + 40];

    /* publish.c */
    bool under_way;

    /* keep.c: what is under way; the numbers of fetches are a ring */
    size_t n_keeping, keeping_bytes;
    uint64_t fetching[REDIS_FETCHES];
    size_t first_fetch, n_fetching;

    /* read.c */
    char last
        [REDIS_ID]; /* the id of the last entry that was read; empty before the first connection */
    char before[REDIS_ID]; /* the same, when XREAD was sent */
    char first[REDIS_ID];  /* of the entries in this reply; empty if there are none */
    char run[64];          /* names one run of the server */
    bool lost;             /* entries may have been lost, which is not reported yet */
    bool skip;             /* what follows cannot be read */
    int64_t asked;         /* when XREAD was sent */
} redis_bus;

/* ---- bus.c ----------------------------------------------------------------------------------- */

/* As mcp_bus_module.make. */
int redis_make(const char *address, const char *stream, const char *user, const char *password,
               const mcp_host *host, mcp_bus *ret, mcp_error *error);
/* A link is ready: the bus is connected when both are. */
void redis_ready(redis_bus *b, bool *which);
/* Sends AUTH and SELECT, as far as they are needed. Returns false if the link has failed. */
bool redis_greet(redis_bus *b, redis_link *link);
/* Returns whether the reply is no error. The link fails if it is. */
bool redis_check(redis_link *link, const redisReply *reply);

/* ---- resolve.c ------------------------------------------------------------------------------- */

/* Finds the addresses of the host; `done` is called later. Returns MCP_OK or a negative code. */
int redis_resolve(redis_bus *b, void (*done)(redis_bus *b, const redis_places *found));
void redis_resolve_stop(redis_bus *b);
bool redis_is_numeric(const char *host);

/* ---- publish.c ------------------------------------------------------------------------------- */

void redis_writer_start(redis_bus *b);
/* A replica that was a primary accepts nothing any more; the name may lead to the new primary. */
bool redis_is_moved(const char *text);
int redis_publish(mcp_str entry, void *user);
/* The connection was lost: says so of an entry under way. */
void redis_writer_lost(redis_bus *b, const char *why);
/* Checks an idle connection. */
void redis_writer_ping(redis_bus *b);

/* ---- keep.c ---------------------------------------------------------------------------------- */

int redis_keep(mcp_str name, mcp_str value, uint64_t ttl_ms, void *user);
int redis_fetch(mcp_str name, uint64_t number, void *user);
/* The connection was lost: says so of everything that is under way. */
void redis_keep_lost(redis_bus *b, const char *why);

/* ---- read.c ---------------------------------------------------------------------------------- */

void redis_reader_start(redis_bus *b);
void redis_reader_lost(redis_bus *b);
/* Begins to read; both links are ready. */
void redis_read(redis_bus *b);

#endif
