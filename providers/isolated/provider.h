/* provider.h: declarations for the files of an isolated source.
 *
 * provider.c has the callbacks of the engine. call.c forwards requests. callers.c tells the process of
 * callers, and answers its questions about access. crash.c decides what happens after the end of a
 * process. link.c owns the process and descriptor 4. flood.c limits what the process sends. pulse.c
 * notices that it does not answer. group.c limits the number of processes. describe.c registers the
 * items of the source's description; learn.c registers those that a process offers if there is no
 * description. watch.c keeps the subscriptions.
 */
#ifndef ISOLATED_PROVIDER_H
#define ISOLATED_PROVIDER_H

#include "buffer.h"
#include "forward.h"
#include "isolated.h"
#include "pulse.h"

#include <mcp/sys/channel.h>

typedef struct isolated isolated;
typedef struct isolated_call isolated_call;

/* A token bucket, which limits a rate. */
typedef struct isolated_bucket {
    int64_t tokens; /* below 0 after the limit was exceeded */
    int64_t filled; /* when tokens were last added; 0 if never */
} isolated_bucket;

/* The process of a source, and the connections to it. */
typedef struct isolated_link {
    isolated *owner;
    const mcp_host *host;
    mcp_client *client;
    mcp_service *service;
    int fd; /* the server's end of descriptor 4, or -1 */
    mcp_host_poll *poll;
    common_buffer in;     /* an unfinished line */
    mcp_json_doc *report; /* the first line on descriptor 4; NULL until it arrives */
    bool questioned;      /* the last read from descriptor 4 contained a question */
    bool ended;           /* a process has ended */
    isolated_bucket messages, questions;
    isolated_pulse pulse;
    int64_t last;   /* number of tokens that the last message cost */
    int64_t second; /* the second to which `lines` applies */
    unsigned lines; /* number of log lines of the process in that second */
    void (*on_end)(const mcp_service_end *end, void *user); /* may be NULL */
} isolated_link;

/* Identifies the file that was at a path when the process was started. */
typedef struct isolated_stamp {
    uint64_t dev, ino;
} isolated_stamp;

/* A prefix of the URIs of this source. */
typedef struct isolated_prefix {
    char *text;
    int (*resolve)(const char *prefix, mcp_str uri, char *canonical, size_t room); /* mcp_source */
} isolated_prefix;

/* A request that ended a process, and is therefore refused until a time. */
typedef struct isolated_kill {
    char *key;
    int64_t until;
} isolated_kill;

enum { ISOLATED_KILLS = 64, ISOLATED_PATHS = 64, ISOLATED_MOUNTS = 16, ISOLATED_PATH_MAX = 4096 };

/* A caller with requests in flight. */
typedef struct isolated_caller {
    struct isolated_caller *next, **at;
    mcp_identity *identity; /* a reference */
    uint64_t number;        /* its name for the process */
    size_t uses;
} isolated_caller;

struct isolated {
    isolated *next, **at; /* in its group */
    mcp_server *server;
    mcp_allocator alloc;
    mcp_isolated_options options; /* owns its strings */
    bool closing;
    bool described; /* the process must mount exactly `prefixes` */
    isolated_prefix prefixes[ISOLATED_MOUNTS];
    size_t n_prefixes;
    size_t others; /* number of mounts of other sources before the first mount of this one */

    isolated_link link;
    isolated_stamp stamps[ISOLATED_PATHS]; /* of options.paths, then of options.beside */
    size_t n_paths, n_beside;
    bool stamped;      /* a process was started with these files */
    bool linked;       /* links led to one of them */
    bool lists;        /* the source has a list of resources */
    int64_t checked;   /* when the paths were last compared with `stamps` */
    mcp_error failure; /* why the last process could not mount the source; code 0 if it could */
    uint64_t failure_state; /* isolated_files_state() at the time of the failure */

    isolated_caller *callers;    /* with requests in flight */
    uint64_t last_caller;        /* the last number of a caller */
    isolated_call *first, *last; /* in order of arrival */
    size_t trials;               /* number of calls that must run alone; the first one is running */
    bool searching;              /* isolated_calls_go_on() is running */
    int64_t cancelled;           /* when a call that may still be running was last cancelled */

    isolated_kill kills[ISOLATED_KILLS];
    size_t n_kills, strikes; /* strikes: number of unexpected ends since the last success */
    int64_t aside;           /* all requests are refused until this time; 0 if they are not */
    uint64_t crowded; /* number of requests that failed because too many processes were running */
    int64_t changed;  /* modification time of the source when a request last ended a process */

    mcp_subscription *subscription;
    char **uris;
    bool *fresh; /* for each URI: no process watches it yet, so a change may be missed */
    size_t n_uris, cap_uris;
    bool listening;   /* changes to lists are subscribed to */
    bool fresh_lists; /* the same as `fresh` for the lists */
    uint64_t state;   /* isolated_files_state() when `fresh` was last set; 0 if unknown */
    bool soon;        /* the subscription must be updated, because the watched URIs changed */
    bool announces;   /* report everything as changed when the subscription is active again */
    mcp_service_use prestart; /* see isolated_prestart() */
    mcp_service_use watch;    /* keeps the process running while anything is watched */
    mcp_host_timer *timer;
    mcp_host_timer *pulse_timer; /* while a request, or a ping, is not answered */
};

/* ---- call.c ------------------------------------------------------------------------------------ */

typedef enum isolated_state {
    ISOLATED_QUEUED,  /* waits for calls that run alone */
    ISOLATED_WAITING, /* waits for the process to start */
    ISOLATED_SENT,
    ISOLATED_LOST, /* the process has ended; whether this call is the cause is not known yet */
} isolated_state;

struct isolated_call {
    common_forward f;
    isolated_call *prev, *next;
    isolated *owner;
    isolated_caller *caller; /* one use of it; NULL if anonymous, or if there are no access rules */
    char *key;               /* identifies the request in `kills`; may be NULL */
    /* the method is resources/list */
    bool list;
    size_t max;   /* the maximum number of entries on that page */
    bool repeats; /* the call may be repeated, because it has no side effects */
    /* trial: the call must run alone, to find out whether it ends the process; blamed: the call was
     * not answered in time */
    bool trial, blamed;
    unsigned tries; /* number of failed attempts */
    isolated_state state;
};

/* Forwards the request. `cursor` and `max` are those of a list; `max` is 0 for other methods.
 * Returns MCP_PENDING, or the code that the handler must return. */
int isolated_call_begin(isolated *r, mcp_request *req, mcp_str cursor, size_t max);
/* Sends the call again. If that is not possible, the call ends with an error. */
void isolated_call_again(isolated_call *c);
/* Ends the call and frees it. The answer is an error or, for the first page of a list, an empty
 * page. */
void isolated_call_fail(isolated_call *c, const char *format, ...) MCP_PRINTF(2, 3);
/* Sends the next call that must run alone or, if there is none, all queued calls. */
void isolated_calls_go_on(isolated *r);
void isolated_calls_free(isolated *r);

/* ---- group.c ----------------------------------------------------------------------------------- */

void isolated_group_enter(isolated *r);
void isolated_group_leave(isolated *r);
/* Before a request is sent: whether the process of the source runs, or may be started, for which
 * another one that has no requests may be ended. Otherwise writes the reason to *error. */
bool isolated_may_start(isolated *r, mcp_error *error);
/* The same before the process is used to watch, for which only one that watches nothing is ended. */
bool isolated_may_watch(isolated *r);

/* Starts the processes of the next sources in the order of lists, because a list that comes to this one
 * will probably come to them. They start at the same time then, not one after the other. Sources that
 * were mounted later are before this one in the group. */
void isolated_prestart(isolated *r);

/* ---- callers.c --------------------------------------------------------------------------------- */

/* Finds or makes the caller of an identity, and adds a use of it. *ret is NULL if it is anonymous, or
 * if there are no access rules. Returns MCP_OK or MCP_ENOMEM. */
int isolated_caller_get(isolated *r, mcp_identity *identity, isolated_caller **ret);
/* Ends a use. NULL is allowed. */
void isolated_caller_give(isolated *r, isolated_caller *c);

/* Makes the params of a call for the process. `cursor` and `page_size` are those of a list. */
int isolated_params_make(isolated_call *call, mcp_str cursor, size_t page_size);

/* An answer on descriptor 4, with its newline. */
typedef struct isolated_answer {
    char text[MCP_ISOLATED_SCOPES + 1];
    size_t len;
} isolated_answer;

/* Answers a question about access. Returns false if it is no question. */
bool isolated_answer_question(const isolated *r, const mcp_json *question, isolated_answer *to);

/* ---- crash.c ------------------------------------------------------------------------------------ */

/* Handles an unexpected end of the process. Finds the request that caused it, and repeats the
 * others. */
void isolated_crash(isolated *r, const mcp_service_end *end);
/* Kills the process because the call was not answered in time. */
void isolated_late(isolated_call *c);
/* Returns whether the request is refused, and writes the reason to `why`. */
bool isolated_is_refused(isolated *r, const char *key, char *why, size_t room);
/* Returns whether the process is being ended because a call was not answered in time. Only the
 * oldest call is blamed, because the process may have to finish it before it reads the others. */
bool isolated_has_blamed(const isolated *r);
/* Resets the number of unexpected ends, because the process has answered a request. */
void isolated_succeeded(isolated *r);
void isolated_kills_free(isolated *r);

/* ---- link.c ------------------------------------------------------------------------------------ */

int isolated_link_open(isolated_link *l, isolated *r, mcp_loop *loop, const mcp_host *host,
                       mcp_error *error);
void isolated_link_close(isolated_link *l);
/* Reads the lines that have arrived on descriptor 4. */
void isolated_link_read(isolated_link *l);
/* Ends the process because it sent something that it must not send. */
void isolated_link_refuse(isolated_link *l, const char *why);
/* Returns the code with which the process failed to mount the source, and writes its text to
 * *error. Returns MCP_OK if no failure was reported. */
int isolated_link_failure(const isolated_link *l, mcp_error *error);
/* Before a request: ends the process if one of the paths, except those of options.beside, now leads to
 * another file. If the last process could not mount the source, and the files of the source have
 * changed since then, lets the next process start without a pause. */
void isolated_link_refresh(isolated *r);
/* Whether that was done a few milliseconds ago, nothing was wrong, and no path begins with a link. A
 * request that can be repeated then needs no check: if its source was replaced in the meantime, the
 * module cannot open the new file in the sandbox. The request fails and is sent to a new process
 * (is_stale() in call.c). Where a link led to may still be open to the module, so such paths are
 * always checked. A module that does not look at its file again answers from the old one for those
 * milliseconds. */
bool isolated_link_was_current(const isolated *r);
/* Ends the process. The next request gets a new one. */
void isolated_link_replace(isolated *r);
/* Whether all paths of the process lead to the files that they led to at its start. */
bool isolated_is_current(const isolated *r);
/* Writes the path with this number, of `n_paths` and `n_beside` together. Returns false if there is
 * none, because the source is not a file, or because it is too long. */
bool isolated_path(const isolated *r, size_t i, char path[ISOLATED_PATH_MAX]);

/* ---- flood.c ----------------------------------------------------------------------------------- */

/* The function `trace` of the client; `user` is the link. Counts the messages of the process, and
 * ends the process if it sends too many that are not answers. */
void isolated_flood_message(mcp_client *client, bool sent, mcp_exchange exchange, mcp_str message,
                            void *user);
/* Puts the tokens of the last message back, because that message was an answer. */
void isolated_flood_answer(isolated_link *l);
/* Counts a line on descriptor 4 with this number of names. Returns false if there were too many
 * lines. */
bool isolated_flood_line(isolated_link *l, size_t names);

/* ---- pulse.c ----------------------------------------------------------------------------------- */

/* A request was sent: looks from now on whether the process still answers. */
void isolated_pulse_begin(isolated *r);
void isolated_pulse_stop(isolated *r);

/* ---- learn.c ----------------------------------------------------------------------------------- */

/* Registers what a process offers. */
int isolated_learn(isolated *r, mcp_error *error);
/* If a registration failed because another source has the same name, adds advice to its error.
 * Returns `rc`. */
int isolated_name_taken(const isolated *r, int rc, const char *tool, mcp_error *error);

/* ---- describe.c -------------------------------------------------------------------------------- */

/* Registers the items of the description. */
int isolated_describe(isolated *r, mcp_error *error);
/* Returns whether the process mounted exactly the described prefixes. `mounted` is an array of
 * prefixes. */
bool isolated_is_as_described(const isolated *r, const mcp_json *mounted);

/* ---- provider.c -------------------------------------------------------------------------------- */

/* Mounts a prefix of the source. The members `size` and `prefix`, and those about lists and
 * subscriptions are used. */
int isolated_mount(isolated *r, const mcp_source *source, mcp_error *error);

/* Handlers of registered items; `user` is the isolated source. */
int isolated_read(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user);
int isolated_complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                      void *user);
int isolated_run(mcp_request *req, const mcp_json *arguments, void *user);
/* Returns whether a URI belongs to this source. Always returns true if the source mounts nothing,
 * because its only URIs are then those that it registered. */
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
