/* watch.h: one instance watches for all (mcp_server_watch_once() in mcp/sys/bus.h). want.c is the
 * side of those that ask, watch_for_others.c that of the one that watches. */
#ifndef MCP_SRC_SHARE_WATCH_H
#define MCP_SRC_SHARE_WATCH_H

#include <mcp/sys/bus.h>

#include "server/core/server.h"

/* What is watched: its text is the key of a topic of all callers (core/topic.h), or the mcp__kind of a list as a
 * digit. */
enum { MCP__WATCH_TOPIC = 'u', MCP__WATCH_LIST = 'l' };

/* The first subscriber here, and the end of the last one. Do nothing if this instance watches for itself. */
void mcp__watch_wanted(mcp_server *server, char kind, mcp_str text);
void mcp__watch_unwanted(mcp_server *server, char kind, mcp_str text);
void mcp__watch_free(mcp_server *server);

/* ---- inside of this folder ------------------------------------------------------------------- */

/* Messages are items of bus_entry.h. These are their kinds: */
enum {
    MCP__WATCH_RESET = '0',  /* forget everything that this instance has asked for */
    MCP__WATCH_ASK = '+',    /* watch this: a key, which is the kind of a watch and its text */
    MCP__WATCH_DROP = '-',   /* no longer */
    MCP__WATCH_HAVE = '=',   /* the answers: it is watched; */
    MCP__WATCH_REFUSE = '!', /* it is not; */
    MCP__WATCH_NEXT = '.',   /* the message was read: the next may come */
};

enum { MCP__WATCH_KEY = 1 + MCP_URI_MAX_LENGTH };

typedef struct mcp__watch_holds {
    mcp__map by_key;
    size_t bytes;
} mcp__watch_holds;

typedef enum mcp__watch_role {
    MCP__WATCH_ALONE, /* nobody has said who watches */
    MCP__WATCH_ASKS,
    MCP__WATCH_WATCHES,
} mcp__watch_role;

struct mcp__watching {
    mcp_server *server;
    mcp_watch_options options;
    mcp__watch_role role;
    mcp__map wants;           /* by key */
    mcp__link waiting;        /* to be told */
    mcp__link requested, had; /* no answer yet; it is watched there, and for a while here too */
    mcp__link rest;           /* there only, or here only */
    bool reset;               /* the next message begins with RESET */
    int64_t under_way;        /* when the message was sent that is not answered yet; else 0 */
    mcp_host_timer *timer;
    bool soon; /* the timer is due at once */
    mcp__watch_holds holds;
};

/* watch_for_others.c: what is watched for other instances. */
void mcp__watch_hold_init(struct mcp__watching *w);
/* Ends everything that is watched for an instance; with MCP_WATCH_INSTANCES for all. */
void mcp__watch_hold_reset(struct mcp__watching *w, size_t instance);
/* Handles a message of an instance, and answers. */
void mcp__watch_hold_received(struct mcp__watching *w, size_t from, mcp_str message);

#endif
