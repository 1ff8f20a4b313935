/* sweep.h: iterates over everything that is served, from a position on, in slices on a worker.
 *
 * The steps alternate: a worker collects entries that match by name and type; the server's thread
 * drops those that the caller may not see (mcp/access.h); the rest is processed, on a worker if
 * that takes long. Between slices the peer gets progress, a cancellation is handled, and other
 * requests get their turn on the workers. A sweep ends when there is nothing more, when it has
 * enough, or when it takes too long for one call. It then returns the position at which the next
 * call continues, which never reveals anything that the caller may not see.
 */
#ifndef FILES_SWEEP_H
#define FILES_SWEEP_H

#include <stdatomic.h>

#include "provider.h"
#include "search.h"

/* What take() answers when it wants no more entries; no code of the walk's. */
enum { FILES_SWEEP_ENOUGH = 1 };

typedef struct files_sweep files_sweep;

struct files_sweep {
    /* To be set. */
    files *f;
    mcp_request *req;
    files_cursor from; /* where to begin */
    size_t page;       /* entries after which the folders on the way may be read again */
    mcp_str under;     /* only URIs that begin with this */
    int64_t began;     /* when the call began, see search.h */
    size_t seen;       /* entries that earlier turns looked at; goes on */
    /* On a worker. */
    bool (*wants)(const files_sweep *s, const files_entry *entry);
    /* For each that is left: MCP_OK; FILES_SWEEP_ENOUGH: not this one, and no other; a code. */
    int (*take)(files_sweep *s, const files_entry *entry);
    bool slow; /* take() is for a worker; else it is called on the server's thread */
    /* On the server's thread, once: takes the outcome and gives back what it took. */
    void (*done)(files_sweep *s);
    /* After done(), where files_sweep_run() returned MCP_PENDING. */
    void (*later)(void *sweep);

    /* Outcome. */
    int rc;
    bool more;
    files_cursor next; /* with `more`: what the next call goes on after */

    /* Its own. */
    atomic_bool stop;
    bool walked, enough;
    files_cursor at, last; /* of the walk; of the last entry that was taken */
    size_t seen_before, examined;
    common_buffer found, uri; /* records */
    size_t n_found, taken;    /* how many; where those begin that were not taken */
    int64_t slice_began;      /* when the first entry of the slice came; 0: not yet */
};

/* MCP_OK: done() was called; MCP_PENDING: it will be. The sweep is of the request. */
int files_sweep_run(files_sweep *s);

/* For take(): whether the call was cancelled. Any thread. */
bool files_sweep_stopped(const files_sweep *s);

/* A position as a word that a model can repeat, and back; false: it is none. */
int files_sweep_put_cursor(const files_cursor *cursor, common_buffer *out);
bool files_sweep_take_cursor(const files *f, mcp_str text, files_cursor *ret);

#endif
