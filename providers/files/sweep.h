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

/* Result of take() if it needs no more entries; not an error code of the walk. */
enum { FILES_SWEEP_ENOUGH = 1 };

typedef struct files_sweep files_sweep;

struct files_sweep {
    /* To be set. */
    files *f;
    mcp_request *req;
    files_cursor from; /* where to begin */
    size_t page;       /* entries after which parent folders may be read again */
    mcp_str under;     /* only URIs that begin with this */
    int64_t began;     /* when the call began; see search.h */
    size_t seen;       /* entries examined by earlier turns; continues to count */
    /* On a worker. */
    bool (*wants)(const files_sweep *s, const files_entry *entry);
    /* Called for each remaining entry: MCP_OK; FILES_SWEEP_ENOUGH: neither this entry nor further
     * ones are needed; or an error. */
    int (*take)(files_sweep *s, const files_entry *entry);
    bool slow; /* take() runs on a worker; otherwise on the server's thread */
    /* Called once on the server's thread, to process the results and free resources. */
    void (*done)(files_sweep *s);
    /* Called after done() if files_sweep_run() returned MCP_PENDING. */
    void (*later)(void *sweep);

    /* Outcome. */
    int rc;
    bool more;
    files_cursor next; /* if `more`: where the next call continues */

    /* Its own. */
    atomic_bool stop;
    bool walked, enough;
    files_cursor at, last; /* of the walk, and of the last processed entry */
    size_t seen_before, examined;
    common_buffer found, uri; /* records */
    size_t n_found, taken;    /* number of entries; offset of the first unprocessed one */
    int64_t slice_began;      /* time of the slice's first entry; 0: none yet */
};

/* MCP_OK: done() was called; MCP_PENDING: it will be. The sweep must live as long as the
 * request. */
int files_sweep_run(files_sweep *s);

/* For take(): whether the call was cancelled. May be called from any thread. */
bool files_sweep_stopped(const files_sweep *s);

/* Converts a position to a word that a model can repeat, and back; false: invalid. */
int files_sweep_put_cursor(const files_cursor *cursor, common_buffer *out);
bool files_sweep_take_cursor(const files *f, mcp_str text, files_cursor *ret);

#endif
