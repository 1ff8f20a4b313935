/* completions.h: a short-lived cache of the server's proposals, so that repeated TABs at the same
 * place send no further request.
 *
 * A key is the text of the request's params: reference, argument, value and context. All entries
 * are of one server.
 */
#ifndef MCPCTL_COMPLETIONS_H
#define MCPCTL_COMPLETIONS_H

#include <mcp/json.h>

typedef struct completions completions;

enum {
    COMPLETIONS_MOST = 32,             /* that are kept; a new one replaces the oldest */
    COMPLETIONS_MOST_BYTES = 64 << 10, /* of one, with its key */
    COMPLETIONS_MS = 5000,             /* for which one is good */
};

/* NULL: no memory; then nothing is kept. All functions accept NULL. */
completions *completions_new(void);
void completions_free(completions *k);

/* The result that was kept, until the next call of any of these; NULL: none. `now` in
 * milliseconds. */
const mcp_json *completions_get(const completions *k, const char *key, int64_t now);
/* Keeps a copy, unless something changed since completions_changes() was `changes`, which is to be
 * asked before the server is. */
void completions_put(completions *k, const char *key, const mcp_json *result, unsigned changes,
                     int64_t now);
/* Something changed: none is good any more. */
void completions_forget(completions *k);
unsigned completions_changes(const completions *k);

#endif
