/* sweep.h: a tool's way through everything that is served: from a position on, in slices on a worker.
 *
 * Two steps take turns: a worker collects entries that are wanted by what the walk knows of them; on the
 * server's thread those that the caller may not see are dropped (mcp/access.h); the rest is taken, on a worker
 * where that takes long. Between slices the peer gets its progress, a cancel is seen, and other
 * requests get their turn at the workers. A sweep ends when there is nothing more, when it has enough, or
 * when it took too long for one call; then it says where the next call may go on, which never names what
 * the caller may not see.
 */
#ifndef FILES_SWEEP_H
#define FILES_SWEEP_H

#include <stdatomic.h>

#include "provider.h"

/* What take() answers when it wants no more entries; no code of the walk's. */
enum { FILES_SWEEP_ENOUGH = 1 };

typedef struct files_sweep files_sweep;

struct files_sweep {
    /* To be set. */
    files *f;
    mcp_request *req;
    files_cursor from; /* where to begin */
    size_t page;       /* entries after which the folders on the way may be read again */
    /* On a worker. */
    bool (*wants)(const files_sweep *s, const files_entry *entry);
    /* For each that is left: MCP_OK; FILES_SWEEP_ENOUGH: not this one, and no other; a code. */
    int (*take)(files_sweep *s, const files_entry *entry);
    bool slow; /* take() is for a worker; else it is called on the server's thread */
    /* On the server's thread, once: replies by s->rc and gives back what it took. As a handler returns. */
    int (*done)(files_sweep *s);

    /* Outcome. */
    int rc;
    bool more;
    files_cursor next; /* with `more`: what the next call goes on after */

    /* Its own. */
    atomic_bool stop;
    bool walked, enough;
    files_cursor at, last; /* of the walk; of the last entry that was taken */
    size_t seen, examined;
    common_buffer found, uri;   /* records */
    size_t n_found, taken;      /* how many; where those begin that were not taken */
    int64_t began, slice_began; /* of the slice: when its first entry came; 0: not yet */
};

/* The handler returns what this returns; the sweep is of the request, and done() is called in every
 * case. */
int files_sweep_run(files_sweep *s);

/* For take(): whether the call was cancelled. Any thread. */
bool files_sweep_stopped(const files_sweep *s);

/* Nanoseconds of a monotonic clock. */
int64_t files_sweep_now(void);

/* A position as a word that a model can repeat, and back; false: it is none. */
int files_sweep_put_cursor(const files_cursor *cursor, common_buffer *out);
bool files_sweep_take_cursor(const files *f, mcp_str text, files_cursor *ret);

/* Whether a path is wanted by a glob as a line of a .gitignore has it: without a slash the name
 * counts, else the path. An empty glob wants all. */
bool files_sweep_wants(mcp_str glob, const files_entry *entry);

/* As text and as a member of the structured content: where to go on. */
int files_sweep_put_more(const files_sweep *s, const char *tool, common_buffer *out);
int files_sweep_add_cursor(const files_sweep *s, mcp_json_writer *w);

/* Takes `glob` and `cursor` out of the arguments. MCP_OK, or as mcp_reply_tool_error() after saying what is
 * wrong; then *told is true. */
int files_sweep_arguments(files_sweep *s, const mcp_json *arguments, const char *tool,
                          const char *glob_name, mcp_str *glob, bool *told);
/* A whole number of the arguments within [1, max]. */
int files_sweep_number(mcp_request *req, const mcp_json *arguments, const char *name, size_t usual,
                       size_t max, size_t *ret, bool *told);

#endif
