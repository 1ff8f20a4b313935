/* asking.h: access checks for a job on a worker, where mcp_request_may() cannot be called.
 *
 * A job continues with an assumption for each URI, and the assumptions are checked on the server's
 * thread afterwards. If an assumption was wrong, the job runs again from its start, with the
 * answers. A result that is based on a wrong assumption is never sent. So a job whose caller may
 * see everything runs once, a job that meets a few hidden items runs twice, and a job that meets
 * many runs several times: from the third run on it assumes of more and more items that they are
 * hidden.
 */
#ifndef COMMON_ASKING_H
#define COMMON_ASKING_H

#include <mcp/access.h>

#include "buffer.h"

typedef struct common_asking {
    mcp_request *req;
    bool needed; /* there are rules */
    bool here;   /* the job runs on the server's thread: what it asks is answered at once */
    unsigned turn;
    size_t hidden;       /* how many were assumed to be hidden, in this turn */
    common_buffer texts; /* of each question its state (a byte) and its URI with a NUL */
    size_t answered;     /* bytes of texts */
    size_t *slot;        /* hash table of places in texts, plus one */
    size_t n, cap;
    int rc; /* MCP_OK; MCP_ENOMEM, MCP_ETIMEOUT (too much is hidden): then the job fails */
} common_asking;

/* On the server's thread. */
void common_asking_init(common_asking *a, mcp_request *req, const mcp_allocator *alloc);
void common_asking_free(common_asking *a);

/* Whether the caller may read it, or is assumed to. */
bool common_asking_may(common_asking *a, mcp_str uri);

/* How many of those that a turn comes upon it may take to be hidden: whoever wants N that are shown
 * is sure to know of them after N more than that. */
size_t common_asking_spare(const common_asking *a);

/* On the server's thread, after the job ran: whether an assumption was wrong, so that it has to run
 * again. *rc is how it ended: with MCP_ENOMEM or MCP_ECANCELLED it does not run again, and it
 * becomes what went wrong here. */
bool common_asking_again(common_asking *a, int *rc);

#endif
