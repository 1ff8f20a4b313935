/* asking.h: access checks for a job on a worker, where mcp_request_may() cannot be called.
 *
 * A job assumes an answer for each URI, and the assumptions are checked on the server's thread
 * afterwards. If an assumption was wrong, the job runs again from its start, with the correct
 * answers. A result that is based on a wrong assumption is never sent. So a job runs once if its
 * caller may see everything, and twice if it meets a few hidden items. If it meets many, it runs
 * several times: from the third run on, it assumes that more and more items are hidden.
 */
#ifndef COMMON_ASKING_H
#define COMMON_ASKING_H

#include <mcp/access.h>

#include "buffer.h"

typedef struct common_asking {
    mcp_request *req;
    bool needed; /* access rules exist */
    bool here;   /* the job runs on the server's thread, so rules are checked directly */
    unsigned turn;
    size_t hidden;       /* number of items assumed to be hidden in this run */
    common_buffer texts; /* for each URI: its state (a byte), the URI, and NUL */
    size_t answered;     /* offset in `texts`; the states before it are confirmed */
    size_t *slot;        /* hash table of offsets in `texts`, plus one */
    size_t n, cap;
    int rc; /* MCP_OK, or why the job fails: MCP_ENOMEM, or MCP_ETIMEOUT (too many
             * items are hidden) */
} common_asking;

/* Must be called on the server's thread. */
void common_asking_init(common_asking *a, mcp_request *req, const mcp_allocator *alloc);
void common_asking_free(common_asking *a);

/* Returns whether the caller may read the resource. On a worker, the result may be an
 * assumption. */
bool common_asking_may(common_asking *a, mcp_str uri);

/* Returns the number of items that may be assumed to be hidden in one run. A job that needs N
 * visible items must collect N plus this number. */
size_t common_asking_spare(const common_asking *a);

/* Called on the server's thread after the job ran. Returns whether an assumption was wrong, so that
 * the job must run again. *rc is the job's result. After MCP_ENOMEM and MCP_ECANCELLED the job does
 * not run again. If checking fails, *rc is set to that error. */
bool common_asking_again(common_asking *a, int *rc);

#endif
