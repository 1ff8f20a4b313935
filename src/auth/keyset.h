/* keyset.h: decides when the key set of an issuer is fetched, and how long a fetched set is used.
 * This code has no sockets and no clock: its owner fetches when mcp__keyset_wants_fetch() returns
 * true, reports the outcome, and passes the time in milliseconds of a monotonic clock.
 *
 *     a token arrives      mcp__keyset_ask(): READY, or WAIT until the next outcome, or AWAY
 *     after each ask       if mcp__keyset_wants_fetch(), fetch
 *     the fetch has ended  mcp__keyset_on_set() or _on_failure(); ask again for each waiting token
 *
 * The set is fetched when a token first needs it. All tokens that arrive meanwhile wait for the
 * same fetch. The set is fetched again when it is no longer fresh, and for keys that it does not
 * contain. If a fetch fails, the old set stays in use. Only one thread at a time may use a keyset.
 *
 * Anybody can send tokens with invented key names. Fetches for unknown keys are therefore limited
 * to one in 30 seconds on average, and to MCP__KEYSET_UNKNOWN_BURST in a row. When the limit is
 * reached, the result for an unknown key is AWAY, because the key may be new: the sender of a valid
 * token gets 503 with Retry-After, and not 401. The result is READY only if the fetch of the set
 * began after the token had arrived.
 */
#ifndef MCP_SRC_AUTH_KEYSET_H
#define MCP_SRC_AUTH_KEYSET_H

#include "auth/jwk.h"

enum {
    /* How long a set is fresh: at least, at most, and without Cache-Control. */
    MCP__KEYSET_LEAST_MS = 5 * 60 * 1000,
    MCP__KEYSET_MOST_MS = 24 * 3600 * 1000,
    MCP__KEYSET_DEFAULT_MS = 3600 * 1000,
    MCP__KEYSET_STALE_MS = 5 * 60 * 1000, /* how long it is still used while a new one is fetched */
    MCP__KEYSET_UNKNOWN_MS = 30 * 1000,   /* the average time between fetches for unknown keys */
    MCP__KEYSET_UNKNOWN_BURST = 4,        /* the most such fetches in a row */
    /* The pause after a failed fetch, which doubles with each failure, and its maximum. */
    MCP__KEYSET_RETRY_MS = 1000,
    MCP__KEYSET_LONGEST_RETRY_MS = 30 * 1000,
};

typedef enum mcp__keyset_answer {
    MCP__KEYSET_READY, /* use keyset->set; if it has no key for the token, refuse the token */
    MCP__KEYSET_WAIT,  /* a fetch is in flight or wanted: ask again when it has ended */
    MCP__KEYSET_AWAY,  /* the keys cannot be fetched now: answer 503 */
} mcp__keyset_answer;

typedef struct mcp__keyset {
    mcp__jwk_set *set; /* NULL until a fetch has succeeded */
    uint64_t fresh_until;
    uint64_t retry_at;      /* the earliest time for a fetch after a failure */
    uint64_t pause;         /* the pause before that retry; 0 if the last fetch succeeded */
    uint64_t unknown;       /* when the full burst of fetches for unknown keys is allowed again */
    uint64_t begun;         /* the number of the last fetch that was started, from 1 */
    uint64_t from;          /* the number of the fetch that `set` is from */
    bool wanted, in_flight; /* a fetch is to be started; a fetch has not ended */
    mcp_error error;        /* why the last fetch failed; for the log */
} mcp__keyset;

void mcp__keyset_init(mcp__keyset *keyset);
void mcp__keyset_clear(mcp__keyset *keyset);

/* Returns what to do with a token that names `kid` (may be empty) and `alg`. `since` is
 * keyset->begun at the time when the token arrived. */
mcp__keyset_answer mcp__keyset_ask(mcp__keyset *keyset, mcp_str kid, const mcp__jws_alg *alg,
                                   uint64_t since, uint64_t now);
/* Does the same for a token that names no key and was not signed with any key of the set. READY
 * means that the set is current, so the token must be refused. */
mcp__keyset_answer mcp__keyset_ask_again(mcp__keyset *keyset, uint64_t since, uint64_t now);
/* Returns true if the owner must start a fetch now, which then counts as in flight. */
bool mcp__keyset_wants_fetch(mcp__keyset *keyset);
/* Report the outcome of the fetch. mcp__keyset_on_set() gets the set, whose reference then belongs
 * to the keyset, and the value of the header Cache-Control, which may be empty.
 * mcp__keyset_on_failure() gets a text for the log. */
void mcp__keyset_on_set(mcp__keyset *keyset, mcp__jwk_set *set, mcp_str cache_control,
                        uint64_t now);
void mcp__keyset_on_failure(mcp__keyset *keyset, const char *why, uint64_t now);
/* After AWAY, returns the time until the next fetch is allowed, for Retry-After: in seconds, at
 * least 1. */
uint64_t mcp__keyset_retry_after(const mcp__keyset *keyset, uint64_t now);

/* After AWAY, returns the milliseconds until the next fetch is allowed if nothing but the limit of
 * fetches for unknown keys forbids it, and otherwise 0. */
uint64_t mcp__keyset_limited(const mcp__keyset *keyset, uint64_t now);

/* Returns how long an answer is fresh, in milliseconds, within the bounds above. */
uint64_t mcp__keyset_lifetime(mcp_str cache_control);

#endif
