/* decided.h: a decision (mcp/decide.h) that lets every request wait once, and then go on. With it, a server must behave as
 * it does without: decided_set(server), and decided_all() after each input.
 */
#ifndef MCP_TESTS_DECIDED_H
#define MCP_TESTS_DECIDED_H

#include <string.h>

#include <mcp/mcp.h>

enum { DECIDED_ROOM = 256 };

typedef struct decided {
    mcp_request *waiting[DECIDED_ROOM];
    size_t n;
    size_t asked; /* how often the function was called for a request that had not waited */
    const mcp_request *answered; /* it runs again */
} decided;

static inline void decided_drop(decided *d, const mcp_request *req)
{
    for (size_t i = 0; i < d->n; i++) {
        if (d->waiting[i] != req)
            continue;
        memmove(d->waiting + i, d->waiting + i + 1, (--d->n - i) * sizeof(*d->waiting));
        return;
    }
}

static inline void decided_cancel(mcp_request *req, void *user)
{
    decided_drop(user, req);
    mcp_reply_finish(req, MCP_ECANCELLED);
}

static inline int decided_fn(mcp_request *req, const mcp_intent *intent, void *user)
{
    decided *d = user;
    if (d->answered == req)
        return MCP_OK;
    if (d->n == DECIDED_ROOM || intent->size != sizeof(*intent))
        return MCP_ELIMIT;
    d->asked++;
    d->waiting[d->n++] = req;
    mcp_request_on_cancel(req, decided_cancel, d);
    return MCP_PENDING;
}

static inline void decided_all(decided *d)
{
    while (d->n) {
        mcp_request *req = d->waiting[0];
        decided_drop(d, req);
        d->answered = req;
        mcp_request_decide_again(req);
        d->answered = NULL;
    }
}

static inline void decided_set(decided *d, mcp_server *server)
{
    *d = (decided){.n = 0};
    mcp_server_set_decide(server, decided_fn, d);
}

#endif
