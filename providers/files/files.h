/* files.h: folders and files as MCP resources with file:// URIs. The files provider's only header
 * for programs; everything else in this folder is its own business.
 *
 * Mounted at "file:" for all sources together, because a URI tells which source it belongs to.
 * With it come the templates for parts of files and folders (bytes, lines, tail, depth).
 */
#ifndef MCP_FILES_H
#define MCP_FILES_H

#include <mcp/mcp.h>
#include <search.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_files mcp_files;

/* Zero is the default everywhere. Everything is copied. */
typedef struct mcp_files_options {
    size_t size;
    const char *const *sources; /* folders and files, n_sources of them; at least one */
    size_t n_sources;

    bool hidden;                /* serve names that begin with a dot; .git stays out */
    bool no_ignore;             /* serve what .gitignore and .git/info/exclude leave out */
    const char *const *include; /* globs as in a .gitignore; any: only files that match one */
    size_t n_include;
    const char *const *exclude; /* the same; wins over include */
    size_t n_exclude;

    size_t max_read;     /* bytes that one read returns at the most; 10 MiB */
    size_t watch_budget; /* folders watched at once; 8192, or a quarter of the system's limit */
    bool no_watch;       /* watch nothing: subscriptions are refused, lists announced by nobody */

    /* Where the MIME database lies: XDG_DATA_HOME and XDG_DATA_DIRS, which the library does not
     * look up itself. NULL: none, and /usr/local/share:/usr/share. */
    const char *data_home;
    const char *data_dirs;

    const mcp_allocator *allocator; /* also called from the host's worker threads */
    /* Where to leave a handle, valid as long as the mount. NULL: nobody asks. */
    mcp_files **handle;
} mcp_files_options;

/* What is watched at this moment, for an operator. */
typedef struct mcp_files_counts {
    size_t watched;       /* folders, with inotify */
    size_t budget;        /* of them; 0: nothing was watched yet */
    size_t polled;        /* folders and files that are looked at every two seconds instead */
    size_t subscriptions; /* files and folders that somebody is subscribed to */
} mcp_files_counts;
mcp_files_counts mcp_files_watching(const mcp_files *files);

/* The files' part in searches over all resources. */
search_source mcp_files_search(mcp_files *files);

/* Checks that every source is there and readable, then mounts them. Watching uses the server's
 * host (timers and descriptors), large reads its workers; without a host nothing is watched.
 * MCP_EINVAL (no source, a bad option), MCP_ENOTFOUND, MCP_EACCESS (error->text names the source
 * and why), MCP_EEXIST (something is mounted at "file:"), MCP_ENOMEM. The server owns the
 * provider. */
int mcp_files_mount(mcp_server *server, const mcp_files_options *options, mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
