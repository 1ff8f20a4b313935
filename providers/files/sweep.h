/* sweep.h: iterates over all served entries from a position on, in slices on a worker.
 *
 * Three steps alternate. A worker collects entries that match by name and type. The server's thread
 * removes those that the caller may not see (mcp/access.h). The remaining entries are taken, on a
 * worker if that may take long. Between slices, progress is sent, a cancellation is handled, and
 * other requests get their turn on the workers. A sweep ends when no entries are left, when it has
 * enough, or when it takes too long for one call. It then returns the position at which the next
 * call continues, which never reveals entries that the caller may not see.
 */
#ifndef FILES_SWEEP_H
#define FILES_SWEEP_H

#include <stdatomic.h>

#include "provider.h"
#include "search.h"

/* Returned by take(); not error codes of the walk. */
enum {
    FILES_SWEEP_ENOUGH = 1, /* it needs no more entries */
    FILES_SWEEP_PART,       /* it is called again for this entry, in another slice */
};

/* A position within a file. */
typedef struct files_within {
    uint64_t offset, lines; /* bytes and line ends before it; 0 bytes: the file is not begun */
    bool shown;             /* the line that the position is in is in the results */
} files_within;

typedef struct files_sweep files_sweep;

struct files_sweep {
    /* Set by the caller. */
    files *f;
    mcp_request *req;
    files_cursor from;        /* position to start at */
    files_within from_within; /* and within its entry, which is taken again */
    size_t page;              /* entries after which parent folders may be read again */
    mcp_str under;            /* only URIs that begin with this */
    int64_t began;            /* start of the call; see search.h */
    size_t seen;              /* number of entries examined, including earlier turns */
    /* Whether to collect the entry. Called on a worker. */
    bool (*wants)(const files_sweep *s, const files_entry *entry);
    /* Called for each remaining entry. Returns MCP_OK, FILES_SWEEP_ENOUGH if neither this entry nor
     * further ones are needed, FILES_SWEEP_PART, or an error. If it takes only a part of an entry, it
     * sets `within`. */
    int (*take)(files_sweep *s, const files_entry *entry);
    bool slow; /* take() runs on a worker; otherwise on the server's thread */
    /* Called once on the server's thread, to process the results and free resources. */
    void (*done)(files_sweep *s);
    /* Called after done() if files_sweep_run() returned MCP_PENDING. */
    void (*later)(void *sweep);

    /* Result. */
    int rc;
    bool more;
    files_cursor next; /* if `more`, the position for the next call */
    files_within next_within;

    /* Private. */
    atomic_bool stop;
    bool walked, enough;
    files_within within;   /* of the entry that is taken */
    files_cursor at, last; /* positions of the walk, and of the last entry taken */
    size_t seen_before, examined;
    common_buffer found, uri; /* records of collected entries; reused for URIs */
    size_t n_found, taken;    /* number of records; offset of the first one not taken */
    int64_t slice_began;      /* time of the slice's first entry; 0 if there was none yet */
};

/* Starts the sweep, which must live as long as the request. Returns MCP_OK if done() was called, or
 * MCP_PENDING if it will be called. */
int files_sweep_run(files_sweep *s);

/* Returns whether the call was cancelled; for use in take(). May be called on any thread. */
bool files_sweep_stopped(const files_sweep *s);
/* Returns whether the slice has ended; for use in take(). */
bool files_sweep_slice_over(files_sweep *s);

/* Converts a position to a cursor, a short string that a model can copy, and back. The second
 * function returns false if the string is invalid. */
int files_sweep_put_cursor(const files_cursor *cursor, const files_within *within,
                           common_buffer *out);
bool files_sweep_take_cursor(const files *f, mcp_str text, files_cursor *ret, files_within *within);

#endif
