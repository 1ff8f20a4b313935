/* peer.h: one server: its connection and its lists. */
#ifndef BROWSE_PEER_H
#define BROWSE_PEER_H

#include <mcp/io.h>

#include "account.h"
#include "pages.h"
#include "screen.h"

typedef enum list_kind {
    LIST_RESOURCES,
    LIST_TEMPLATES,
    LIST_PROMPTS,
    LIST_TOOLS,
    LISTS
} list_kind;
extern const pages_kind list_kinds[LISTS];

typedef enum peer_state { PEER_STARTING, PEER_READY, PEER_ENDED } peer_state;

typedef struct peer peer;

/* What a peer tells the program. */
typedef struct peer_events {
    void (*changed)(peer *p, void *user); /* something that is shown may have changed */
    /* The server asks the user. The program answers the question, now or later. */
    void (*question)(peer *p, mcp_question *question, void *user);
    /* What the server logged or wrote to stderr and every message that was sent or received. */
    void (*logged)(peer *p, look l, const char *before, mcp_str text, void *user);
    void (*traced)(peer *p, bool sent, mcp_str message, void *user);
    void *user;
} peer_events;

typedef struct peer_list {
    peer *peer;
    pages pages;
    bool is_offered, is_pending;
    size_t page;         /* the page that is requested */
    uint64_t generation; /* increased when the list is read again */
    uint64_t question;   /* the generation of the pending request */
    size_t from, to;     /* the entries that are looked at */
    bool to_end;         /* read on until the end */
    bool
        was_refused; /* a cursor was refused since the list was complete: it is not read again twice */
} peer_list;

struct peer {
    mcp_loop *loop;
    peer_events events;
    char *label;
    const char *const *argv; /* the command; NULL if the server is at `url` */
    const char *url;
    const char *const *headers;
    mcp_client *client;
    mcp_child *child;
    mcp_http_client *http;
    account *account; /* NULL if there are no logins */
    bool wants_login; /* it cannot be used before a person has logged in */
    peer_state state;
    size_t label_end; /* the column behind its label in the bar at the top */
    char why[300];    /* why it could not be used, or ended */
    mcp_subscription *changes;
    char *watched;    /* the resource whose changes are announced; NULL for none */
    uint64_t updates; /* how often it has changed */
    peer_list lists[LISTS];
};

/* Starts the server or connects to it. Failures are told by `state` and `why`. The members label to
 * headers are set by the caller. */
void peer_open(peer *p, mcp_loop *loop, const peer_events *events);
/* Must not be called from a callback. */
void peer_close(peer *p);
/* Closes it and opens it again, with the same events. */
void peer_reopen(peer *p);

/* These entries of a list are looked at: pages that are missing are requested. */
void peer_look(peer *p, list_kind kind, size_t from, size_t to);
/* Returns whether the server has refused the cursor of a page with this answer: its list has changed, and
 * is read again from the beginning. */
bool peer_cursor_refused(int rc, const mcp_json *answer);
/* Requests all pages of a list. Returns the codes of mcp_client_request(). */
int peer_request_list(peer *p, list_kind kind, mcp_result_fn *done, void *user, mcp_call_id *ret);
/* Requests a page of a list once more, whatever is in memory. Returns the codes of
 * mcp_client_request(). */
int peer_request_page(peer *p, list_kind kind, size_t page, mcp_result_fn *done, void *user,
                      mcp_call_id *ret);
/* Subscribes to the changes to this resource instead of another; NULL for none. */
void peer_watch(peer *p, const char *uri);
/* Reads a list again from its beginning. */
void peer_reload(peer *p, list_kind kind);

#endif
