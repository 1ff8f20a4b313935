/* budget.h: a limit for the memory that peers occupy (budget.c). */
#ifndef MCP_SRC_HTTP_SERVER_BUDGET_H
#define MCP_SRC_HTTP_SERVER_BUDGET_H

#include "http/server/metrics.h"

#include <mcp/sys/http.h>

/* The memory of one caller. */
typedef struct mcp__http_share {
    size_t used, in_sessions, stored;
    size_t count;                             /* number of charges that refer to this share */
    const struct mcp_http_connection *reader; /* reads a body although memory is short, or NULL */
    size_t len;
    char text[]; /* the key: 'p' and the principal, or 'a' and the address */
} mcp__http_share;

enum { MCP__HTTP_MUCH = 32 << 20 }; /* if fewer bytes are released, this is not reported */

/* The memory of one object, and the share to which it is charged. A zero-initialized charge has no
 * share. */
typedef struct mcp__http_charge {
    mcp__http_share *share;
    size_t bytes;
} mcp__http_charge;

struct mcp_http_budget {
    mcp_allocator allocator;
    size_t max_memory, max_share;
    uint64_t hold_ms;
    void (*released)(size_t bytes, void *user);
    void *user;
    size_t used, peak; /* bytes; the peak since the last report of released memory */
    size_t stored;     /* the part of `used` that holds events for replay */
    mcp__map shares;
    mcp__link endpoints;
    int64_t pressure_until;
    uint64_t waited, refused; /* requests that waited; requests and answers refused */
    uint64_t share_refused;   /* the part of `refused` that was due to a share */
    mcp__http_complaint complaint;
};

/* Moves a charge to the share of the principal or, if that is NULL, of the address. If both are
 * NULL, the charge has no share. Returns MCP_OK, or MCP_ENOMEM, in which case nothing is
 * changed. */
int mcp__http_charge_to(mcp_http_budget *budget, mcp__http_charge *charge, const char *principal,
                        const char *address);
/* Initializes a charge of `bytes` to the share of another charge. */
void mcp__http_charge_like(mcp_http_budget *budget, mcp__http_charge *charge,
                           const mcp__http_charge *other, size_t bytes);
void mcp__http_charge_end(mcp_http_budget *budget, mcp__http_charge *charge);
/* Reports released memory to the program, if less than half of the peak is in use. */
void mcp__http_note_release(mcp_http_budget *budget);

/* Returns whether the charge already belongs to this caller's share. */
static inline bool mcp__http_charged_to(const mcp__http_charge *charge, const char *principal,
                                        const char *address)
{
    const mcp__http_share *share = charge->share;
    mcp_str name = mcp_str_from(principal ? principal : address);
    if (!share || !name.ptr)
        return !share && !name.ptr;
    return share->text[0] == (principal ? 'p' : 'a') &&
           mcp_str_eq((mcp_str){share->text + 1, share->len - 1}, name);
}

static inline void mcp__http_charge_set(mcp_http_budget *budget, mcp__http_charge *charge,
                                        size_t bytes)
{
    budget->used += bytes - charge->bytes;
    if (charge->share)
        charge->share->used += bytes - charge->bytes;
    charge->bytes = bytes;
    budget->peak = MCP__MAX(budget->peak, budget->used);
    if (budget->peak - budget->used >= MCP__HTTP_MUCH)
        mcp__http_note_release(budget);
}

/* Returns whether the budget and the share have room for `bytes` more. */
static inline bool mcp__http_fits(const mcp_http_budget *b, const mcp__http_charge *charge,
                                  size_t bytes)
{
    size_t share = charge->share ? charge->share->used : charge->bytes;
    return bytes <= b->max_memory && b->used <= b->max_memory - bytes && bytes <= b->max_share &&
           share <= b->max_share - bytes;
}

/* Returns whether to stop reading from a connection that has received part of a request. */
bool mcp__http_starves(mcp_http_connection *c);
/* Shortens the time-outs of peers for some seconds, because memory is nearly spent. */
void mcp__http_press(mcp_http *http);
bool mcp__http_pressed(const mcp_http *http);
/* Returns the time of the next check for a request that waits for memory. */
int64_t mcp__http_next_check(const mcp_http *http);

#endif
