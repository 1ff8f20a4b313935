/* files.h: folders and files as MCP resources with file:// URIs. This is the provider's only public
 * header.
 *
 * The provider is mounted at "file:" for all sources together, because a URI determines its source.
 * Templates for parts of files and folders are registered with it; file_parts.h has them.
 */
#ifndef MCP_FILES_H
#define MCP_FILES_H

#include <mcp/mcp.h>
#include <search.h>

#include "file_parts.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_files mcp_files;

/* A member that is zero has its default value. All strings are copied. */
typedef struct mcp_files_options {
    size_t size;
    const char *const *sources; /* folders and files; n_sources of them, at least one */
    size_t n_sources;

    bool hidden;                /* also serve names that begin with a dot, except .git */
    bool no_ignore;             /* also serve what .gitignore and .git/info/exclude exclude */
    const char *const *include; /* globs as in .gitignore; if there are any, only files that match
                                 * one of them are served */
    size_t n_include;
    const char *const *exclude; /* globs; takes precedence over include */
    size_t n_exclude;

    size_t max_read;     /* bytes of the largest result of a read; default 10 MiB */
    size_t watch_budget; /* limit of watched folders; default 8192, or a quarter of the system's
                          * limit if that is less */
    bool no_watch;       /* reject subscriptions, and do not announce changes to lists */

    /* XDG_DATA_HOME and XDG_DATA_DIRS, which contain the MIME database. The library does
     * not read the environment. NULL means none for data_home, and
     * /usr/local/share:/usr/share for data_dirs. */
    const char *data_home;
    const char *data_dirs;

    const mcp_allocator *allocator; /* also called from the host's worker threads */
    /* If not NULL, receives a handle that is valid as long as the mount. */
    mcp_files **handle;
} mcp_files_options;

/* Current figures of watching, for an operator. */
typedef struct mcp_files_counts {
    size_t watched;       /* folders watched with inotify */
    size_t budget;        /* limit of watches; 0 if nothing has been watched yet */
    size_t polled;        /* folders that are polled every two seconds */
    size_t subscriptions; /* subscribed files and folders */
} mcp_files_counts;
mcp_files_counts mcp_files_watching(const mcp_files *files);

/* Returns the search source of the files, for searches over all resources. */
search_source mcp_files_search(mcp_files *files);

/* Checks that every source exists and is readable, then mounts the sources. Watching uses the
 * timers and descriptors of the server's host, and large reads use its worker threads; without a
 * host nothing is watched. The server owns the provider. Returns MCP_OK, MCP_EINVAL (no source, or
 * an invalid option), MCP_ENOTFOUND, MCP_EACCESS, MCP_EEXIST (another provider is mounted at
 * "file:") or MCP_ENOMEM; error->text names the source and the reason. */
int mcp_files_mount(mcp_server *server, const mcp_files_options *options, mcp_error *error);

/* ---- changes --------------------------------------------------------------------------------- */

/* Tools that change files: write_file, edit_file, move_file, delete_file. What a caller may do with them is decided by
 * the rules of the server alone (mcp_request_may_do()): without rules, nothing. See docs/writing.md. */
typedef struct mcp_files_changes {
    size_t size;
    /* The folder of the journal (journal.h); required. It must be outside of all sources. */
    const char *journal;
    uint64_t journal_size; /* its limit; default 256 MiB */
    /* Absolute paths of files and folders that are never written, whatever the rules say, such as those that the
     * program reads itself. They are compared by path, and by device and inode. */
    const char *const *sealed; /* ends with NULL; may be NULL */
    /* See mcp_tool.offered. Gets `user`. NULL: the tools are listed for everybody. */
    bool (*offered)(const mcp_request *req, void *user);
    void *user;
} mcp_files_changes;

/* Adds the tools. The strings are copied. Returns MCP_OK, MCP_EINVAL, MCP_EEXIST (a tool has one of the names) or
 * MCP_ENOMEM. */
int mcp_files_add_changes(mcp_files *files, const mcp_files_changes *changes, mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
