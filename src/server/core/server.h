/* server.h: the server: what it offers, to which clients, and its host.
 *
 * The folders of this layer:
 *   core/     the server, its registry and mounts, sessions, requests, subscriptions, limits
 *   methods/  the table of methods (methods.c) and their handlers
 *   input/    input requests of handlers to their client
 *   tasks/    calls that continue after their answer
 *   share/    changes that other instances are told, and that they tell
 */
#ifndef MCP_SRC_SERVER_H
#define MCP_SRC_SERVER_H

#include <mcp/access.h>
#include <mcp/audit.h>
#include <mcp/decide.h>
#include <mcp/provider.h>
#include <mcp/server.h>
#include <mcp/sys/server.h>
#include <mcp/trace.h>

#include "base/base.h"
#include "json/json.h"
#include "protocol/entry.h"
#include "server/core/work_memory.h"
#include "server/core/rate.h"
#include "server/core/registry.h"
#include "server/core/usage.h"

struct mcp_server {
    mcp_allocator allocator;
    mcp_server_options options; /* without strings, which are copied into the members below */
    char *name;                 /* of the Implementation object */
    char *instructions;
    const char *(*make_instructions)(mcp_request *req, void *user); /* NULL to use `instructions` */
    void *instructions_user;
    mcp__callers callers;
    mcp__holds holds;
    mcp_json_doc *no_arguments;   /* the object {}, validated in place of missing arguments */
    mcp_str info[MCP__REVISIONS]; /* the Implementation object, rendered */
    mcp__buf info_text;           /* the text that `info` points into */
    mcp_host host;
    bool has_host;
    struct mcp__seal *seal;             /* NULL if not used yet */
    struct mcp__later_seal *later_seal; /* what it will be made of; NULL if that is random */
    struct mcp__share *share;           /* NULL if changes are not shared */
    struct mcp__watching *watching;     /* NULL if this instance watches for itself */
    char instance[17];                  /* mcp__server_instance(); empty if not generated yet */
    mcp_access access;                  /* .may is NULL if there are no rules */
    struct {
        int (*fn)(mcp_request *req, const mcp_intent *intent, void *user); /* NULL: not asked */
        void *user;
    } decide; /* mcp_server_set_decide() */
    struct {
        void (*ended)(const mcp_audit_record *record, void *user); /* NULL if not wanted */
        bool (*kept)(void *user); /* mcp_server_require_audit(); NULL if not wanted */
        void *user;
    } audit;
    struct {
        void (*ended)(const mcp_trace *trace, void *user); /* NULL if not wanted */
        void *user;
        uint64_t limit;      /* hashes of the ids of traces that are wanted */
        uint64_t seed[2][2]; /* of the ids that are made; of those hashes */
        uint64_t made;       /* number of ids */
    } trace;

    mcp__registry registry[MCP__KINDS];
    mcp__entry **by_specificity; /* the templates, most specific first */
    uint64_t next_sequence;
    mcp__mount **mounts; /* allocated one by one, because providers may mount during a call */
    size_t n_mounts;

    struct mcp__build *build; /* the current build; NULL if none yet */
    mcp__link retired;        /* replaced builds */
    bool building;
    struct mcp__release_hook *release_hooks;
    void (*resource_hook)(mcp_resource *resource, void *user);
    void *resource_hook_user;
    int (*rates_hook)(mcp_request *req, mcp_item item, mcp_str name, void *user);
    void *rates_hook_user;

    mcp__link sessions;
    mcp__map topics;                 /* canonical URI to mcp__topic */
    size_t list_streams[MCP__KINDS]; /* streams that are subscribed to the list of a kind */
    unsigned lent_lists;             /* which another instance watches: bits 1 << mcp__kind */
    unsigned held_lists;             /* which are watched for other instances */
    struct mcp__tasks *tasks;        /* NULL if not offered */
    struct mcp__archive *archive;    /* of tasks, for other instances; NULL if there is none */
    struct mcp_task_instance *task_instance; /* NULL if ids of tasks name none */
    mcp__meters meters[MCP_USAGE_KINDS];
    mcp__change_counts changes;
    size_t no_files;          /* answers that failed for lack of a descriptor, not yet logged */
    int64_t files_logged;     /* time of the last such log line; 0 if never */
    struct mcp__probe *probe; /* asks sources that lists are without; NULL if not needed yet */
    uint64_t forwarded_logs;  /* number of log messages of other servers */
    int64_t
        usage_clock; /* the host's time when a request was last counted, in microseconds; 0 if never */
};

/* Writes {"resources":{…},…} for the client of a request, in the form of its revision. */
void mcp__put_capabilities(mcp__buf *b, const mcp_request *req);
/* Sets *error and returns MCP_EINVAL if server is NULL. */
int mcp__need_server(const mcp_server *server, mcp_error *error);
void mcp__server_log(const mcp_server *server, const char *level, const char *format, ...)
    MCP_PRINTF(3, 4);

#endif
