/* room.h: shared by the files of an isolated source.
 *
 * provider.c is what the engine sees, call.c a request on its way, fate.c what happens when the
 * process dies, link.c the process and its descriptor 4, learn.c what it offers, watch.c
 * subscriptions.
 */
#ifndef ISOLATED_ROOM_H
#define ISOLATED_ROOM_H

#include "buffer.h"
#include "isolated.h"

typedef struct isolated isolated;
typedef struct isolated_call isolated_call;

/* A process and what connects with it. */
typedef struct isolated_link {
    isolated *room;
    const mcp_host *host;
    mcp_client *client;
    mcp_service *service;
    int fd; /* our end of its descriptor 4; -1: none */
    mcp_host_poll *poll;
    common_buffer in;     /* an unfinished line */
    mcp_json_doc *report; /* its first line; NULL: it has not come */
    bool ended;           /* a process did */
    int64_t second;       /* in which `lines` were logged */
    unsigned lines;
    void (*on_end)(const mcp_service_end *end, void *room); /* NULL: nobody wants to know */
} isolated_link;

/* What was there when the process was started. */
typedef struct isolated_stamp {
    uint64_t dev, ino;
} isolated_stamp;

/* A request that killed the process. */
typedef struct isolated_kill {
    char *key;
    int64_t until;
} isolated_kill;

enum { ISOLATED_KILLS = 64, ISOLATED_PATHS = 64 };

struct isolated {
    isolated *next, **at; /* in its group */
    mcp_server *server;
    mcp_allocator alloc;
    mcp_isolated_options options; /* its texts are ours */
    bool closing, mounted;

    isolated_link link;
    isolated_stamp stamps[ISOLATED_PATHS];
    bool stamped;

    isolated_call *first, *last; /* in the order of their arrival */
    size_t trials;               /* calls that are tried alone, the first one now */
    int64_t cancelled;           /* when a call was last cancelled that may still run */

    isolated_kill kills[ISOLATED_KILLS];
    size_t n_kills, strikes; /* different ones without a success in between */
    int64_t aside;           /* all is refused until then */
    int64_t changed;         /* of the source, when the last one was entered */

    mcp_subscription *subscription;
    char **uris;
    size_t n_uris, cap_uris;
    bool listening;        /* somebody wants to know of changes of lists */
    bool soon;             /* what is watched was changed */
    bool announces;        /* everything may have changed, once the subscription is renewed */
    mcp_service_use watch; /* while anything is watched */
    mcp_host_timer *timer;
};

/* ---- call.c ------------------------------------------------------------------------------------ */

typedef enum isolated_state {
    ISOLATED_QUEUED,  /* until those before it were tried alone */
    ISOLATED_WAITING, /* for the process */
    ISOLATED_SENT,
    ISOLATED_LOST, /* its process is gone; why is not known yet */
} isolated_state;

struct isolated_call {
    isolated_call *prev, *next;
    isolated *room;
    mcp_request *req; /* NULL: nobody waits any more */
    const char *method;
    char *params, *key; /* key: what is refused if it kills; may be NULL */
    bool list, goes_on; /* a page of resources/list, not its first one */
    bool repeats;       /* has no side effects */
    bool trial, blamed;
    unsigned tries; /* that failed */
    isolated_state state;
    mcp_call_id call;
    mcp_service_use use;
};

/* Passes the request on. cursor, max: of a list. MCP_PENDING, or what the handler has to return. */
int isolated_call_begin(isolated *r, mcp_request *req, mcp_str cursor, size_t max);
/* Begins again; the call is finished after a failure. */
void isolated_call_again(isolated_call *c);
/* Answers with an error, or leaves a list out, and frees the call. */
void isolated_call_fail(isolated_call *c, const char *format, ...) MCP_PRINTF(2, 3);
/* Tries the next of those that are tried alone, or all that wait for them. */
void isolated_calls_go_on(isolated *r);
void isolated_calls_free(isolated *r);

/* ---- fate.c ------------------------------------------------------------------------------------ */

/* The process ended: blames, repeats, refuses. */
void isolated_fate(isolated *r, const mcp_service_end *end);
/* Whether the request is refused, and why. */
bool isolated_is_refused(isolated *r, const char *key, char *why, size_t room);
void isolated_succeeded(isolated *r);
void isolated_kills_free(isolated *r);

/* ---- link.c ------------------------------------------------------------------------------------ */

int isolated_link_open(isolated_link *l, isolated *r, mcp_loop *loop, const mcp_host *host,
                       mcp_error *error);
void isolated_link_close(isolated_link *l);
/* Reads what has come on descriptor 4. */
void isolated_link_read(isolated_link *l);
/* Why the process's mount failed: the code, and the text in `error`; MCP_OK: it did not, as far as
 * known. */
int isolated_link_failure(const isolated_link *l, mcp_error *error);
/* Ends the process if one of its paths is another file now. */
void isolated_link_refresh(isolated *r);
bool isolated_is_current(const isolated *r);

/* ---- learn.c ----------------------------------------------------------------------------------- */

/* Registers what a process offers, and calls mount(prefix, …) for each of its mounts. */
int isolated_learn(isolated *r, int (*mount)(isolated *r, const char *prefix, mcp_error *error),
                   mcp_error *error);

/* ---- entry.c ----------------------------------------------------------------------------------- */

/* An entry of a list as a descriptor, which borrows its texts from the entry. What only templates,
 * tools or prompts have is not read. */
typedef struct isolated_entry {
    mcp_resource resource;
    mcp_annotations annotations;
    mcp_icon icons[8];
    char sizes[8][64];
    char *meta;
    mcp_allocator alloc;
} isolated_entry;
/* The text of a value, to be released; NULL: there is none, or no memory. */
char *isolated_text(const mcp_allocator *alloc, const mcp_json *value);
void isolated_entry_read(isolated_entry *e, const mcp_json *from, const mcp_allocator *alloc);
void isolated_entry_free(isolated_entry *e);

/* ---- provider.c -------------------------------------------------------------------------------- */

/* Handlers of what is registered; their user is the room. */
int isolated_read(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user);
int isolated_complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                      void *user);
int isolated_run(mcp_request *req, const mcp_json *arguments, void *user);

/* ---- watch.c ----------------------------------------------------------------------------------- */

int isolated_watch(const char *canonical, void *user);
void isolated_unwatch(const char *canonical, void *user);
int isolated_watch_list(void *user);
void isolated_unwatch_list(void *user);
/* The process is needed while anything is watched. */
void isolated_watch_keep(isolated *r);
void isolated_watch_free(isolated *r);
bool isolated_watches(const isolated *r);

int64_t isolated_now(const isolated *r);
void isolated_say(const isolated *r, const char *level, const char *text);

#endif
