/* isolated.h: a provider that forwards requests to a source in a process of its own. It offers what
 * the description of the source says or, if there is none, what that process offers.
 *
 *     mcp_isolated_mount(server, MCP_OPTIONS(mcp_isolated_options, .name = "git:repo",
 *                                            .argv = argv, .line = line, .paths = paths), &error);
 *
 * The process is a libmcp server that trusts this one (mcp_channel_options.trusted_parent). It is
 * started with the first use and ended when it is idle (mcp/sys/children.h). On descriptor 3 it
 * receives one line that describes the source; all further lines are MCP messages. It writes its
 * messages to descriptor 5. On descriptor 4 the process first writes one line about its mount:
 *
 *     {"mounted":["git://repo/"]}    or    {"failed":-6,"text":"git: repo: no git repository"}
 *
 * It may also send log lines:
 *
 *     {"log":"warning","text":"…"}
 *
 * and questions whether a caller may see certain names. It sends one question at a time. "token" is
 * the member of MCP_META_CALLER; it is missing if the caller is anonymous. The answer is a line with
 * "1" or "0" for each name:
 *
 *     {"token":"7","item":0,"names":["git://repo/main/a","git://repo/main/b"]}
 *     10
 *
 * or which scopes the use of one name needs (mcp_access.scopes). The answer is a line with these
 * scopes, which is empty if there are none:
 *
 *     {"token":"7","item":0,"names":["git://repo/main/b"],"scopes":true}
 *     repo:read
 *
 * When the process ends unexpectedly, each request in flight that has no side effects is repeated
 * once. A request that is found to be the cause is refused for ten minutes.
 */
#ifndef MCP_ISOLATED_H
#define MCP_ISOLATED_H

#include <mcp/sys/children.h>
#include <mcp/mcp.h>
#include <mcp/module.h>

/* Limits of a line on descriptor 4: its bytes, including the newline; its names; its scopes. */
enum { MCP_ISOLATED_LINE = 256 * 1024, MCP_ISOLATED_NAMES = 256, MCP_ISOLATED_SCOPES = 4096 };

/* The list of mounted sources. The program owns it and initializes it with zeros. */
typedef struct mcp_isolated_group {
    struct isolated *first;
    /* The maximum number of processes; 0 means no limit. A request for a source without a process ends
     * the process that was not used for the longest time, among those without requests, preferably
     * one that watches nothing. If all have requests, it fails with an error that contains
     * `max_name`. While there is no room for a process that only watches, changes to its source are
     * announced later. */
    size_t max;
    const char *max_name; /* the name of the limit, for people; borrowed. May be NULL */
} mcp_isolated_group;

typedef struct mcp_isolated_options {
    size_t size;
    const char *name;        /* for the log, errors and metrics; required. All strings are copied */
    const char *const *argv; /* see mcp_service_options; required */
    const char *line;        /* the first line on descriptor 3; required */
    /* The files and folders that the process may open, terminated by NULL. The first one is the
     * source itself. When one of them is created, removed or replaced, the next request gets a new
     * process, because a sandbox allows access to files, not to names. */
    const char *const *paths;
    /* Ends of names, terminated by NULL; NULL means none. If the source is a file, the process may open
     * the files with these names beside it, such as those that SQLite creates beside a database. They
     * are beside the file to which links lead. The source's own code looks for them in each request,
     * which fails if the process cannot open one of them, so they are examined only after a
     * failure. */
    const char *const *beside;

    /* As in mcp_access; `name` is the canonical spelling. NULL if there are no access rules. */
    bool (*may)(const mcp_identity *identity, mcp_item item, mcp_str name, void *user);
    const char *(*scopes)(const mcp_identity *identity, mcp_item item, mcp_str name, void *user);
    void *user;

    /* Describes the source (mcp_module.describe). Called only by mcp_isolated_mount(). If this is
     * set, no process is started before the first request, and a process that does not mount
     * exactly the described prefixes is ended. If it is NULL, mcp_isolated_mount() starts a process
     * to find out what the source offers. */
    int (*describe)(const mcp_description *to, void *describe_user, mcp_error *error);
    void *describe_user;

    uint64_t max_data; /* see mcp_service_options; 0 means no limit */
    uint64_t idle_ms;  /* see mcp_service_options */
    /* A process that does not answer a request within this time is killed. Default 60,000. One that
     * answers nothing at all, not even a ping, while a request waits is killed after five seconds. */
    uint64_t timeout_ms;
    /* The list that contains the source while it is mounted. May be NULL. */
    mcp_isolated_group *group;
    const mcp_allocator *allocator;
} mcp_isolated_options;

/* Mounts the source. Without a description, starts a process and ends it again, which takes some
 * milliseconds. The server must have the host of an mcp_loop. Returns MCP_OK, MCP_EINVAL,
 * MCP_ENOMEM, MCP_ETIMEOUT or the other errors of mcp_service_begin(). If `describe`, or the mount
 * in the process, failed, returns its code and its error text. */
int mcp_isolated_mount(mcp_server *server, const mcp_isolated_options *options, mcp_error *error);

/* The current state of a source. */
typedef struct mcp_isolated_state {
    const char *prefix; /* of its URIs, or the first of them; its name if it has none yet */
    mcp_service_state process;
    size_t refused;   /* number of requests that are refused now because they ended a process */
    bool failed;      /* the last process could not mount the source */
    uint64_t crowded; /* number of requests that failed because of mcp_isolated_group.max */
} mcp_isolated_state;

/* Calls each(state, user) for each source. */
void mcp_isolated_each(const mcp_isolated_group *group,
                       void (*each)(const mcp_isolated_state *state, void *user), void *user);

#endif
