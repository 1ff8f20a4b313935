/* isolated.h: a source in a process of its own, as a provider: what the process offers is offered
 * as if it were in this one.
 *
 *     mcp_isolated_mount(server, MCP_OPTIONS(mcp_isolated_options, .name = "git:repo",
 *                                            .argv = argv, .line = line, .paths = paths), &error);
 *
 * The process is a libmcp server that trusts this one (mcp_channel_options.trusted_parent). It is
 * started with the first use and ended when idle (mcp/children.h). Descriptor 3 carries MCP, after
 * the first line. On descriptor 4 the process first writes one line about its mount:
 *
 *     {"mounted":["git://repo/"]}    or    {"failed":-6,"text":"git: repo: no git repository"}
 *
 * It may also log:
 *
 *     {"log":"warning","text":"…"}
 *
 * and asks what a principal may see, one line at a time. The answer is a line with "1" or "0"
 * for each name:
 *
 *     {"principal":"ann","item":0,"names":["git://repo/main/a","git://repo/main/b"]}
 *     10
 *
 * After the process died, requests that can be repeated are repeated once. What certainly killed it
 * is refused for ten minutes.
 */
#ifndef MCP_ISOLATED_H
#define MCP_ISOLATED_H

#include <mcp/children.h>
#include <mcp/mcp.h>

/* Bytes of one line on descriptor 4, with its newline, and names in it. */
enum { MCP_ISOLATED_LINE = 256 * 1024, MCP_ISOLATED_NAMES = 256 };

/* The sources that are mounted; the program's, zeroed at first. */
typedef struct mcp_isolated_group {
    struct isolated *first;
} mcp_isolated_group;

typedef struct mcp_isolated_options {
    size_t size;
    const char *name;        /* for the log, errors and metrics; required. All texts are copied */
    const char *const *argv; /* as mcp_service_options; required */
    const char *line;        /* the first line; required */
    /* The files and folders that the process may open, NULL-terminated. When one of them is
     * replaced by another, created or removed, the next request gets a new process, because a
     * sandbox allows files, not their names. The first one is the source itself. */
    const char *const *paths;

    /* Answers whether the principal may see the item, of which `name` is the canonical spelling.
     * NULL: there are no access rules. */
    bool (*may)(const char *principal, mcp_item item, mcp_str name, void *user);
    void *user;

    uint64_t max_data;         /* as mcp_service_options; 0: no limit */
    uint64_t idle_ms;          /* as mcp_service_options */
    uint64_t timeout_ms;       /* a process that does not answer for so long is killed; 60,000 */
    mcp_isolated_group *group; /* where it is entered while it is mounted; may be NULL */
    const mcp_allocator *allocator;
} mcp_isolated_options;

/* Mounts it. What the process offers is learnt from one that is started for this and ended again,
 * which takes some milliseconds. The server needs the host of a mcp_loop. MCP_OK; what the
 * process's own mount returned, with its text; MCP_EINVAL, MCP_ENOMEM, MCP_ETIMEOUT, … */
int mcp_isolated_mount(mcp_server *server, const mcp_isolated_options *options, mcp_error *error);

/* Calls each(state, refused, user) for each source: `refused` is the number of requests that are
 * refused now because they killed a process. */
void mcp_isolated_each(const mcp_isolated_group *group,
                       void (*each)(const mcp_service_state *state, size_t refused, void *user),
                       void *user);

#endif
