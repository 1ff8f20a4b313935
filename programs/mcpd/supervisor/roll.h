/* roll.h: what the workers of a supervisor say about their legacy sessions (mcp_http_options.share), so
 * that a worker that is started later gets it too.
 *
 * Of each session only the last state is kept: where it is, whether it has subscriptions or a log
 * level, and for a moment that it has ended. All sessions are in the order of their changes, and each
 * worker has a place in this order, up to which it has received them. So a new worker gets the same messages as
 * the others, and a worker that does not read costs nothing.
 */
#ifndef MCPD_ROLL_H
#define MCPD_ROLL_H

#include <mcp/base.h>

/* Packets to a worker. A packet 's' contains messages of sessions, each after its length (2 bytes, the
 * higher one first). */
enum {
    ROLL_TOLD = 's',
    ROLL_FORGET = 'f',   /* everything before this is void, and follows again */
    ROLL_COMPLETE = 'c', /* it has received everything */
    ROLL_PACKET = 32768, /* bytes of the longest one */
};

typedef struct roll roll;

/* `most` is how many sessions are kept. Beyond, the one whose last change is oldest is forgotten: it is not
 * taken over when its worker ends. So that no client can cause this, it is at least what all workers
 * together may have, within the shares of their clients. Returns NULL if out of memory. */
roll *roll_new(size_t most);
void roll_free(roll *r);

/* A worker begins or ends. Workers have numbers from 0; those that begin again are new ones. */
void roll_join(roll *r, size_t worker);
void roll_leave(roll *r, size_t worker);

/* A worker says something about a session. What is no such message is ignored. */
void roll_take(roll *r, size_t worker, mcp_str message);
/* Something that the worker said is missing: its sessions are forgotten, so that none is taken over. */
void roll_lost(roll *r, size_t worker);

/* Writes the next packet for a worker, and returns its length, or 0 if there is none. It is written
 * again until roll_sent() is called. */
size_t roll_next(roll *r, size_t worker, char to[ROLL_PACKET]);
void roll_sent(roll *r, size_t worker);
/* Returns whether there is a packet. */
bool roll_has_next(const roll *r, size_t worker);
/* Returns the number of sessions, including those that have ended but not everybody knows. */
size_t roll_count(const roll *r);

/* Calls `take` for each message of a packet 's', without the letter. */
void roll_read(mcp_str packet, void (*take)(mcp_str message, void *arg), void *arg);
/* Appends a message to a packet of *len bytes. Returns false if it does not fit. */
bool roll_put(char to[ROLL_PACKET], size_t *len, mcp_str message);

#endif
