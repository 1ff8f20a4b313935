/* completions.h: a short-lived cache of the server's proposals, so that repeated TABs at the same
 * place send no further request.
 *
 * A key is the text of the request's params: reference, argument, value and context. All entries
 * belong to one server.
 */
#ifndef MCPCTL_COMPLETIONS_H
#define MCPCTL_COMPLETIONS_H

#include <mcp/json.h>

typedef struct completions completions;

enum {
    COMPLETIONS_MOST = 32,             /* entries; a new one replaces the oldest */
    COMPLETIONS_MOST_BYTES = 64 << 10, /* largest entry in bytes, with its key */
    COMPLETIONS_MS = 5000,             /* how long an entry is valid */
};

/* Returns NULL if out of memory. All functions accept NULL, and then cache nothing. */
completions *completions_new(void);
void completions_free(completions *k);

/* Returns the cached result, which is valid until the next call of any of these functions, or NULL
 * if there is none. `now` is in milliseconds. */
const mcp_json *completions_get(const completions *k, const char *key, int64_t now);
/* Caches a copy, unless completions_changes() no longer returns `changes`, which the caller got
 * before it sent the request. */
void completions_put(completions *k, const char *key, const mcp_json *result, unsigned changes,
                     int64_t now);
/* Invalidates all entries. */
void completions_forget(completions *k);
unsigned completions_changes(const completions *k);

#endif
