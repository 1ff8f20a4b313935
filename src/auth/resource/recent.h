/* recent.h: recognizes the token of the last request on a connection, without hashing it. */
#ifndef MCP_SRC_AUTH_RESOURCE_RECENT_H
#define MCP_SRC_AUTH_RESOURCE_RECENT_H

#include <mcp/auth.h>

#include "base/base.h"

enum { MCP__RS_RECENT = 4096 }; /* a longer header is not kept, in bytes */

struct mcp__rs_view; /* resource.h */

/* The last request of a connection that was accepted with a bearer token from the cache. Proofs of
 * possession have to be checked each time, so a request with a bound token is never kept. The
 * result of the check stays in the cache, and is used only while the cache has it: it may expire,
 * be evicted, or be forgotten. A zeroed struct is empty. */
typedef struct mcp__rs_recent {
    mcp_str header;      /* the value of the header Authorization; allocated */
    uint64_t generation; /* see mcp__token_cache_again() */
    void *entry;
    uint64_t view; /* the number of the view (mcp__rs_view_number()) */
} mcp__rs_recent;

/* Returns the identity of a request with this header in this view, borrowed from the cache. Returns NULL if the
 * header or the view differs from the last one, or its result is no longer cached: the request then has to be
 * authenticated with mcp__rs_ask(). `recent` and `view` may be NULL. */
mcp_identity *mcp__rs_recall(mcp_resource_server *rs, const mcp__rs_recent *recent,
                             const struct mcp__rs_view *view, mcp_str header);
/* Frees and overwrites the header. */
void mcp__rs_recent_clear(mcp__rs_recent *recent, const mcp_allocator *allocator);

#endif
