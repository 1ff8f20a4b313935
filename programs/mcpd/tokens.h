/* tokens.h: the bearer tokens of mcpd --token-file. */
#ifndef MCPD_TOKENS_H
#define MCPD_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#include <mcp/base.h>
#include <mcp/identity.h>

#include "config.h"

typedef struct tokens tokens;

/* Loads the tokens of a file (see read_tokens() in tokens.c) and those in the section "tokens" of a
 * configuration. `path` and `c` may be NULL. *ret is NULL if there are no tokens. Returns MCP_OK or
 * a negative code. */
int tokens_load(const char *path, config *c, tokens **ret, mcp_error *error);
/* Calls gone() with the identity of each token in `before` that is not in `now`, or that has
 * another principal in `now`. `last` is true if the principal of the identity has no token in
 * `now`. */
void tokens_gone(const tokens *before, const tokens *now,
                 void (*gone)(void *user, const mcp_identity *identity, bool last), void *user);
/* Removes the tokens with this SHA-256, in hexadecimal, and calls gone() with each, as
 * tokens_gone() does. */
void tokens_remove(tokens *t, mcp_str digest,
                   void (*gone)(void *user, const mcp_identity *identity, bool last), void *user);
void tokens_free(tokens *t);

/* Returns the principal of the i-th token, or NULL at the end. Several tokens may have the same
 * principal. `t` may be NULL. */
const char *tokens_principal(const tokens *t, size_t i);

/* Authenticates the value of an Authorization header. Returns the identity, or NULL if the token is
 * unknown. The identity is valid as long as `t`; add a reference to keep it longer. The time that
 * this takes does not depend on how many characters of a token are correct. */
mcp_identity *tokens_check(const tokens *t, mcp_str authorization);

/* principals.c: checks that every principal in the access rules exists: as the principal of a token
 * in `known` (which may be NULL), "stdio" or "anonymous". Returns MCP_OK, or a negative code after
 * reporting the unknown principal and its position. */
int principals_check(config *c, const tokens *known);

#endif
