/* files.h: folders and files as MCP resources with file:// URIs. This is the provider's only public
 * header.
 *
 * Mounted at "file:" for all sources together, because a URI tells which source it belongs to. With
 * it come the templates for parts of files and folders (bytes, lines, tail, depth).
 */
#ifndef MCP_FILES_H
#define MCP_FILES_H

#include <mcp/mcp.h>
#include <search.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_files mcp_files;

/* Zero selects the default of every member. Everything is copied. */
typedef struct mcp_files_options {
    size_t size;
    const char *const *sources; /* folders and files; n_sources, at least one */
    size_t n_sources;

    bool hidden;                /* also serve names that begin with a dot, except .git */
    bool no_ignore;             /* also serve what .gitignore and .git/info/exclude exclude */
    const char *const *include; /* globs as in .gitignore; if there are any, only files that match
                                 * one are served */
    size_t n_include;
    const char *const *exclude; /* the same; takes precedence over include */
    size_t n_exclude;

    size_t max_read;     /* largest result of a read in bytes; default 10 MiB */
    size_t watch_budget; /* folders watched at once; 8192, or a quarter of the system's limit */
    bool no_watch;       /* no watching: subscriptions are refused, and changes of lists are not
                          * announced */

    /* XDG_DATA_HOME and XDG_DATA_DIRS, which contain the MIME database. The library does not read
     * the environment. NULL: none, and /usr/local/share:/usr/share. */
    const char *data_home;
    const char *data_dirs;

    const mcp_allocator *allocator; /* also called from the host's worker threads */
    /* If not NULL, receives a handle, valid as long as the mount. */
    mcp_files **handle;
} mcp_files_options;

/* Current figures of watching, for an operator. */
typedef struct mcp_files_counts {
    size_t watched;       /* folders, with inotify */
    size_t budget;        /* limit of watches; 0: nothing was watched yet */
    size_t polled;        /* folders and files that are polled every two seconds */
    size_t subscriptions; /* subscribed files and folders */
} mcp_files_counts;
mcp_files_counts mcp_files_watching(const mcp_files *files);

/* The files' source for searches over all resources. */
search_source mcp_files_search(mcp_files *files);

/* Checks that every source exists and is readable, then mounts them. Watching uses the timers and
 * descriptors of the server's host, large reads its worker threads; without a host nothing is
 * watched. MCP_EINVAL (no source, an invalid option), MCP_ENOTFOUND, MCP_EACCESS (error->text names
 * the source and the reason), MCP_EEXIST (something is mounted at "file:"), MCP_ENOMEM. The server
 * owns the provider. */
int mcp_files_mount(mcp_server *server, const mcp_files_options *options, mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
