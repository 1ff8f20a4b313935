/* share.h: a server that tells other instances what changed (mcp/bus.h). share.c sends, receive.c
 * receives, marks.c keeps what is not sent yet, bus_entry.c has the format. */
#ifndef MCP_SRC_SHARE_H
#define MCP_SRC_SHARE_H

#include <mcp/bus.h>
#include <mcp/sys/bus.h>

#include "server/core/server.h"
#include "server/share/bus_entry.h"

/* ---- marks.c --------------------------------------------------------------------------------- */

/* The marks that wait, in the order in which they were first set. */
typedef struct mcp__marks {
    const mcp_allocator *allocator;
    mcp__map by_key;
    mcp__link order;
    size_t bytes, max_marks, max_bytes;
    bool everything; /* replaces all of them */
    uint64_t overflows;
} mcp__marks;

void mcp__marks_init(mcp__marks *m, const mcp_allocator *allocator, size_t max_marks,
                     size_t max_bytes);
void mcp__marks_clear(mcp__marks *m);
/* Sets a mark, whose text is `a` followed by `b`. Returns MCP_OK, or MCP_ELIMIT or MCP_ENOMEM if
 * `everything` is set instead. */
int mcp__marks_set(mcp__marks *m, char kind, mcp_str a, mcp_str b);
bool mcp__marks_any(const mcp__marks *m);
size_t mcp__marks_count(const mcp__marks *m);
/* Moves marks to an entry until it has `limit` bytes. Does not allocate if the entry has room for
 * them. */
void mcp__marks_take(mcp__marks *m, mcp__buf *entry, size_t limit);

/* ---- receive.c ------------------------------------------------------------------------------- */

/* The other instances, by their names; the one that was heard last is last in the list. */
typedef struct mcp__instances {
    mcp__map by_name;
    mcp__link order;
} mcp__instances;

struct mcp__share {
    mcp_server *server;
    mcp_bus bus;
    mcp_share_options options;
    char *bound; /* entries are sealed for this text */
    mcp__marks marks;
    mcp__buf items;  /* of the entry that is under way or has to be sent again; empty if none */
    mcp__buf sealed; /* room for an entry */
    bool under_way, was_connected, told_down;
    unsigned failures;     /* in a row */
    uint64_t number;       /* of the last entry */
    mcp_host_timer *timer; /* to send what waits; NULL if it is not set */
    bool patient;          /* the timer is for counts only */
    int64_t sent_at;       /* the last entry, in the host's time */
    int64_t down_since; /* in the host's time; 0 while connected, or before the first connection */
    int64_t ignored_logged;
    mcp__instances instances;
    mcp_share_usage usage;
    char why[160];
};

/* Handles an entry of the bus. */
void mcp__share_received(struct mcp__share *share, mcp_str entry);
/* Announces everything as changed. */
void mcp__share_gap(struct mcp__share *share);
void mcp__instances_init(mcp__instances *instances, const mcp_allocator *allocator);
void mcp__instances_clear(mcp__instances *instances);

/* ---- share.c --------------------------------------------------------------------------------- */

/* Set a mark, if the server shares. */
void mcp__share_mark(mcp_server *server, char kind, mcp_str text);
void mcp__share_list(mcp_server *server, mcp_item item);
void mcp__share_list_for(mcp_server *server, mcp_item item, const char *principal);
void mcp__share_free(mcp_server *server);
/* Returns whether limits are counted at all instances (mcp_share_options.share_limits) now. */
bool mcp__share_limits(const mcp_server *server);
/* Sends what core/rate.c has to tell, a little later. */
void mcp__share_soon(mcp_server *server);

/* How long an instance may be without the bus, and how old entries may be, which includes the
 * difference of clocks. */
enum { MCP__SHARE_DOWN_MS = 5 * 60 * 1000, MCP__SHARE_AGE_MS = 10 * 60 * 1000 };

#endif
