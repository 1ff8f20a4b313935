/* keyset.h: when the keys of an issuer are fetched, and which are used in between. No sockets, no
 * clock: the owner fetches when mcp__keyset_wants_fetch() says so, reports the outcome, and passes
 * the time in milliseconds of a monotonic clock.
 *
 *     a token arrives      mcp__keyset_ask(): READY, or WAIT until the next outcome, or AWAY
 *     after each ask       if mcp__keyset_wants_fetch(), fetch
 *     the fetch has ended  mcp__keyset_on_body() or _on_failure(); ask again for those who wait
 *
 * A set is fetched when the first token needs it, by one fetch for all. It is refreshed when its
 * time is over, and once in 30 seconds for a key that it does not have. If a fetch fails, the old
 * set stays in use. One thread at a time.
 */
#ifndef MCP_SRC_AUTH_KEYSET_H
#define MCP_SRC_AUTH_KEYSET_H

#include "auth/jwk.h"

enum {
    MCP__KEYSET_LEAST_MS = 5 * 60 * 1000,   /* the shortest and the longest time that a set is */
    MCP__KEYSET_MOST_MS = 24 * 3600 * 1000, /* fresh, whatever Cache-Control says */
    MCP__KEYSET_DEFAULT_MS = 3600 * 1000,   /* without Cache-Control */
    MCP__KEYSET_STALE_MS = 5 * 60 * 1000,   /* then it is used while it is being refreshed */
    MCP__KEYSET_UNKNOWN_MS = 30 * 1000,     /* between fetches for unknown keys */
    MCP__KEYSET_RETRY_MS = 1000,            /* the first pause after a failure, then doubled */
    MCP__KEYSET_LONGEST_RETRY_MS = 30 * 1000,
};

typedef enum mcp__keyset_answer {
    MCP__KEYSET_READY, /* use keyset->set; if it has no key for the token, refuse the token */
    MCP__KEYSET_WAIT,  /* a fetch is under way or wanted: ask again after its outcome */
    MCP__KEYSET_AWAY,  /* the source is away: answer 503 */
} mcp__keyset_answer;

typedef struct mcp__keyset {
    const mcp__crypto *crypto;
    mcp_allocator allocator;
    mcp__jwk_set *set; /* NULL before the first set */
    uint64_t fresh_until;
    uint64_t last_fetch; /* when the last fetch ended */
    uint64_t retry_at;   /* after a failure */
    uint64_t pause;      /* before that retry; 0 if the last fetch succeeded */
    bool fetched;        /* a fetch has ended */
    bool wanted, in_flight;
    mcp_error error; /* why the last fetch failed; for the log */
} mcp__keyset;

void mcp__keyset_init(mcp__keyset *keyset, const mcp__crypto *crypto,
                      const mcp_allocator *allocator);
void mcp__keyset_clear(mcp__keyset *keyset);

/* Says what to do with a token that names `kid` (may be empty) and `alg`. */
mcp__keyset_answer mcp__keyset_ask(mcp__keyset *keyset, mcp_str kid, const mcp__jws_alg *alg,
                                   uint64_t now);
/* The same for a token that names no key and that no key of the set has signed: the set may be old.
 * READY means that it is not. */
mcp__keyset_answer mcp__keyset_ask_again(mcp__keyset *keyset, uint64_t now);
/* Returns true if the owner shall start a fetch now; it is then in flight. */
bool mcp__keyset_wants_fetch(mcp__keyset *keyset);
/* Report the outcome of the fetch: a body with the value of its header Cache-Control (may be empty),
 * or a failure with a text for the log. A body that is no usable set counts as a failure. Returns
 * whether there is a new set. */
bool mcp__keyset_on_body(mcp__keyset *keyset, mcp_str body, mcp_str cache_control, uint64_t now);
void mcp__keyset_on_failure(mcp__keyset *keyset, const char *why, uint64_t now);
/* Returns the time until a retry is allowed, in seconds and at least 1, for Retry-After. */
uint64_t mcp__keyset_retry_after(const mcp__keyset *keyset, uint64_t now);

/* Returns the time for which an answer is fresh, in milliseconds within the bounds above. */
uint64_t mcp__keyset_lifetime(mcp_str cache_control);

#endif
