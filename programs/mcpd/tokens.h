/* tokens.h: the bearer tokens of mcpd --token-file. */
#ifndef MCPD_TOKENS_H
#define MCPD_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#include <mcp/base.h>

#include "config.h"

typedef struct tokens tokens;

/* Those of a file (NULL: none), as read_tokens() reads it, and of a configuration's "tokens"; *ret
 * is NULL where there are none at all. */
int tokens_load(const char *path, config *c, tokens **ret, mcp_error *error);
/* Calls gone() with the principal of each token of `before` that is not in `now`, or is somebody
 * else's there. */
void tokens_gone(const tokens *before, const tokens *now,
                 void (*gone)(void *user, const char *principal), void *user);
void tokens_free(tokens *t);

/* The principal of each token, one after the other; several tokens may have one. NULL at the end;
 * `t` may be NULL. */
const char *tokens_principal(const tokens *t, size_t i);

/* Who it is by the value of an Authorization header. MCP_OK with the principal, MCP_EACCESS. How
 * long it takes does not depend on how much of a token is right. */
int tokens_check(const tokens *t, mcp_str authorization, char *principal, size_t room);

/* principals.c: whether everybody whom the access rules name is there: one of the tokens (`known`
 * may be NULL), "stdio" or "anonymous". MCP_OK; a negative code after reporting which one is not,
 * and where. */
int principals_check(config *c, const tokens *known);

#endif
