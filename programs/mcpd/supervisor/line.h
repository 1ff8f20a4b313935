/* line.h: what the workers of one supervisor send each other: entries of a bus (mcp/bus.h), messages
 * about legacy sessions (mcp_http_options.share), and what the worker that watches does for the others
 * (mcp_server_watch_once()). Each worker has a line to the supervisor, which passes
 * everything on (relay.h). Nothing on it is read by others, so messages about sessions are not sealed.
 *
 * A new worker receives the state of all sessions, so that it can take them over as the others can.
 */
#ifndef MCPD_LINE_H
#define MCPD_LINE_H

#include <mcp/provider.h>
#include <mcp/sys/bus.h>

#include "roll.h"

/* The first byte of a packet, besides ROLL_FORGET and ROLL_COMPLETE. */
enum {
    LINE_ENTRY = 'e', /* an entry of the bus; both directions */
    LINE_TOLD = ROLL_TOLD,
    LINE_GAP = 'g',  /* to a worker: entries of the bus were lost */
    LINE_LOST = 'l', /* of a worker: messages about its sessions were lost */
    LINE_ROLE =
        'r', /* to a worker: whether it watches for all; whether changes were missed (0 or 1 each) */
    LINE_ASK =
        'w', /* to the worker that watches; the supervisor puts the number of the sender in front */
    LINE_ANSWER = 'h', /* its answer, with the number of the worker that gets it */
    LINE_PACKET = 1 + MCP_BUS_ENTRY_BYTES,
};

typedef struct worker_line worker_line;

/* Who gets what arrives. Calls come from line_begin(), and from then on from the host's loop. */
typedef struct line_events {
    void (*told)(mcp_str message, void *user); /* a message of another worker about a session */
    void (*forget)(void *user);                /* the messages so far may be wrong */
    void (*role)(bool watches, bool missed, void *user);
    void (*watching)(size_t from, mcp_str message,
                     void *user); /* what the server of another sent */
    void *user;
} line_events;

/* Makes a worker's side on its descriptor, which it takes over, also if it fails. `host` must outlive it.
 * Returns MCP_OK or MCP_ENOMEM. */
int line_new(int fd, const mcp_host *host, const line_events *events, worker_line **ret);
void line_free(worker_line *l); /* NULL is allowed */

/* Makes a bus on the line, which must outlive it. It may be opened once. */
void line_bus(worker_line *l, mcp_bus *ret);
/* Begins to receive, and waits, for at most about 2 seconds, until everything has arrived. Returns MCP_OK
 * or MCP_ENOMEM. */
int line_begin(worker_line *l);
/* Sends the others a message about a session. */
void line_tell(worker_line *l, mcp_str message);
/* Send what mcp_watch_options.ask and .answer get. Return false if there is no room. */
bool line_ask(const worker_line *l, mcp_str message);
bool line_answer(const worker_line *l, size_t to, mcp_str message);
/* Returns whether all messages of the others have arrived. */
bool line_is_complete(const worker_line *l);

#endif
