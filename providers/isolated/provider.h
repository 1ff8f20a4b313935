/* provider.h: declarations for the files of an isolated source.
 *
 * provider.c has the callbacks of the engine, call.c forwards a request, params.c makes its params,
 * fate.c decides what happens after the end of a process, link.c owns the process and descriptor 4,
 * flood.c limits what the process sends, describe.c registers what the source's description says,
 * learn.c what the process offers, and watch.c keeps subscriptions.
 */
#ifndef ISOLATED_PROVIDER_H
#define ISOLATED_PROVIDER_H

#include "buffer.h"
#include "isolated.h"

typedef struct isolated isolated;
typedef struct isolated_call isolated_call;

/* Limits how often something may happen. */
typedef struct isolated_bucket {
    int64_t tokens; /* below 0 if too much has happened */
    int64_t filled; /* when tokens were last added; 0 at the beginning */
} isolated_bucket;

/* The process of a source, and the connections to it. */
typedef struct isolated_link {
    isolated *owner;
    const mcp_host *host;
    mcp_client *client;
    mcp_service *service;
    int fd; /* our end of its descriptor 4, or -1 */
    mcp_host_poll *poll;
    common_buffer in;     /* an unfinished line */
    mcp_json_doc *report; /* the first line on descriptor 4; NULL until it arrives */
    bool asked;           /* the last bytes of descriptor 4 contained a question */
    bool ended;           /* a process has ended */
    isolated_bucket messages, questions;
    int64_t last;   /* what the last message was counted as */
    int64_t second; /* the second in which `lines` lines were logged */
    unsigned lines;
    void (*on_end)(const mcp_service_end *end, void *user); /* may be NULL */
} isolated_link;

/* Identifies the file at a path when the process was started. */
typedef struct isolated_stamp {
    uint64_t dev, ino;
} isolated_stamp;

/* A request that caused the end of a process. */
typedef struct isolated_kill {
    char *key;
    int64_t until;
} isolated_kill;

enum { ISOLATED_KILLS = 64, ISOLATED_PATHS = 64, ISOLATED_MOUNTS = 16 };

/* The last `_meta` of a request, and what was made from it. */
typedef struct isolated_meta {
    char *of, *made; /* not NUL-terminated; NULL if nothing is kept */
    size_t of_len, made_len;
    char *revision, *principal;
    bool restricted;
} isolated_meta;

struct isolated {
    isolated *next, **at; /* in its group */
    mcp_server *server;
    mcp_allocator alloc;
    mcp_isolated_options options; /* owns its strings */
    bool closing;
    bool described;                  /* the process may mount only what `prefixes` says */
    char *prefixes[ISOLATED_MOUNTS]; /* of the URIs of this source */
    size_t n_prefixes;
    size_t others; /* mounts of other sources, before the first one of this */

    isolated_link link;
    isolated_stamp stamps[ISOLATED_PATHS];
    bool stamped;
    mcp_error failure;      /* why the last process did not mount the source; code 0: it did */
    uint64_t failure_state; /* isolated_files_state() at that time */

    isolated_meta meta;
    isolated_call *first, *last; /* in order of arrival */
    size_t trials;               /* calls that must run alone; the first of them runs now */
    bool searching;              /* isolated_calls_go_on() is running */
    int64_t cancelled;           /* the last cancellation of a call that may still be running */

    isolated_kill kills[ISOLATED_KILLS];
    size_t n_kills, strikes; /* strikes: unexpected ends since the last success */
    int64_t aside;           /* all requests are refused until this time; 0 if none are */
    int64_t changed;         /* modification time of the source when a request was last blamed */

    mcp_subscription *subscription;
    char **uris;
    bool *fresh; /* for each URI: a change may not be noticed yet, because no process watches it */
    size_t n_uris, cap_uris;
    bool listening;        /* changes of lists are subscribed to */
    bool fresh_lists;      /* as `fresh` */
    uint64_t state;        /* of the source's files when something fresh was added; 0: not known */
    bool soon;             /* the set of watched resources has changed */
    bool announces;        /* report everything as changed when the subscription is active again */
    mcp_service_use watch; /* keeps the process running while anything is watched */
    mcp_host_timer *timer;
};

/* ---- call.c ------------------------------------------------------------------------------------ */

typedef enum isolated_state {
    ISOLATED_QUEUED,  /* waits for calls that run alone */
    ISOLATED_WAITING, /* waits for the process to start */
    ISOLATED_SENT,
    ISOLATED_LOST, /* its process has ended; the cause is not known yet */
} isolated_state;

/* The members of params without `_meta`, and those of `_meta`, both as NUL-terminated text without
 * braces (mcp_call_options.meta). */
typedef struct isolated_params {
    char *members; /* allocated; contains both */
    const char *meta;
} isolated_params;

struct isolated_call {
    isolated_call *prev, *next;
    isolated *owner;
    mcp_request *req; /* NULL after it was cancelled */
    const char *method;
    isolated_params params;
    char *key;          /* identifies the request in `kills`; may be NULL */
    bool list, goes_on; /* a page of resources/list; a page after the first */
    size_t max;         /* the most entries of that page */
    bool repeats;       /* may be repeated, because it has no side effects */
    bool trial, blamed;
    unsigned tries; /* number of failed attempts */
    isolated_state state;
    mcp_call_id call;
    mcp_service_use use;
};

/* Forwards the request. `cursor` and `max` are those of a list; `max` is 0 for other methods.
 * Returns MCP_PENDING, or the code that the handler must return. */
int isolated_call_begin(isolated *r, mcp_request *req, mcp_str cursor, size_t max);
/* Sends the call again. If that is not possible, the call ends with an error. */
void isolated_call_again(isolated_call *c);
/* Ends the call with an error and frees it. The first page of a list becomes an empty page instead. */
void isolated_call_fail(isolated_call *c, const char *format, ...) MCP_PRINTF(2, 3);
/* Sends the next call that must run alone or, if there is none, all queued calls. */
void isolated_calls_go_on(isolated *r);
void isolated_calls_free(isolated *r);

/* ---- params.c ---------------------------------------------------------------------------------- */

/* Makes the params for the process. The caller releases ret->members. `cursor` and `page_size` are
 * those of a list. */
int isolated_params_make(isolated *r, mcp_request *req, mcp_str cursor, size_t page_size,
                         isolated_params *ret);
void isolated_meta_free(isolated *r);

/* ---- fate.c ------------------------------------------------------------------------------------ */

/* Handles the end of the process: finds the request that caused it, and repeats the others. */
void isolated_fate(isolated *r, const mcp_service_end *end);
/* Returns whether the request is refused, and writes the reason to `why`. */
bool isolated_is_refused(isolated *r, const char *key, char *why, size_t room);
/* Whether a call was not answered in time, so that its process is being ended. It is the oldest one,
 * because a process may have to finish it before it reads the others. */
bool isolated_has_blamed(const isolated *r);
void isolated_succeeded(isolated *r);
void isolated_kills_free(isolated *r);

/* ---- link.c ------------------------------------------------------------------------------------ */

int isolated_link_open(isolated_link *l, isolated *r, mcp_loop *loop, const mcp_host *host,
                       mcp_error *error);
void isolated_link_close(isolated_link *l);
/* Reads the lines that have arrived on descriptor 4. */
void isolated_link_read(isolated_link *l);
/* Ends the process because of what it sent. */
void isolated_link_refuse(isolated_link *l, const char *why);
/* Returns the code of the failed mount in the process, with its text in *error, or MCP_OK if no
 * failure was reported. */
int isolated_link_failure(const isolated_link *l, mcp_error *error);
/* Ends the process if one of its paths now leads to another file. If the last process could not
 * mount the source, and its files have changed since then, the next one is started without a
 * pause. */
void isolated_link_refresh(isolated *r);
bool isolated_is_current(const isolated *r);

/* ---- flood.c ----------------------------------------------------------------------------------- */

/* Counts a message of the process, or one to it. Ends the process if it sends too many messages
 * that are no answers. This is the function `trace` of the client; `user` is the link. */
void isolated_flood_message(mcp_client *client, bool sent, mcp_exchange exchange, mcp_str message,
                            void *user);
/* Counts the last message as the answer to a request. */
void isolated_flood_answer(isolated_link *l);
/* Counts a line on descriptor 4 with a number of names. Returns false if there were too many. */
bool isolated_flood_line(isolated_link *l, size_t names);

/* ---- learn.c ----------------------------------------------------------------------------------- */

/* Registers what a process offers. */
int isolated_learn(isolated *r, mcp_error *error);
/* Adds what to do about a name that another source has to the error of a registration. Returns
 * `rc`. */
int isolated_name_taken(const isolated *r, int rc, const char *tool, mcp_error *error);

/* ---- describe.c -------------------------------------------------------------------------------- */

/* Registers what the description says. */
int isolated_describe(isolated *r, mcp_error *error);
/* Whether the process mounted what was described. `mounted` is an array of prefixes. */
bool isolated_is_as_described(const isolated *r, const mcp_json *mounted);

/* ---- entry.c ----------------------------------------------------------------------------------- */

/* The members that the entries of all lists have, as a descriptor. The strings are borrowed from
 * the JSON entry. */
typedef struct isolated_entry {
    mcp_resource resource;
    mcp_annotations annotations;
    mcp_icon icons[8];
    char sizes[8][64];
    char *meta;
    mcp_allocator alloc;
} isolated_entry;
/* Returns the JSON text of a value, or NULL if there is no value or no memory. The caller releases
 * it. */
char *isolated_text(const mcp_allocator *alloc, const mcp_json *value);
void isolated_entry_read(isolated_entry *e, const mcp_json *from, const mcp_allocator *alloc);
void isolated_entry_free(isolated_entry *e);

/* ---- provider.c -------------------------------------------------------------------------------- */

/* Mounts a prefix of the source. The members `size` and `prefix`, and those about lists and
 * subscriptions are used. */
int isolated_mount(isolated *r, const mcp_source *source, mcp_error *error);

/* Handlers of registered items; `user` is the isolated source. */
int isolated_read(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user);
int isolated_complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                      void *user);
int isolated_run(mcp_request *req, const mcp_json *arguments, void *user);
/* Whether a URI belongs to this source. A source that mounts nothing has only the URIs that it
 * registered; for such a source this returns true. */
bool isolated_owns(const isolated *r, mcp_str uri);

/* ---- watch.c ----------------------------------------------------------------------------------- */

int isolated_watch(const char *canonical, void *user);
void isolated_unwatch(const char *canonical, void *user);
int isolated_watch_list(void *user);
void isolated_unwatch_list(void *user);
/* Keeps the process running while anything is watched. */
void isolated_watch_keep(isolated *r);
void isolated_watch_free(isolated *r);
bool isolated_watches(const isolated *r);
/* Returns a value that changes with the files of the source, or 0 if it is not known. */
uint64_t isolated_files_state(const isolated *r);

int64_t isolated_now(const isolated *r);
void isolated_say(const isolated *r, const char *level, const char *text);

#endif
