/* access.h: the compiled access rules of the configuration ("access"), and its annotations of
 * resources in lists ("annotations").
 *
 * The last rule that matches the caller and the item decides; an item that no rule matches is
 * allowed. Principals are the names of tokens, "stdio" for the process that started the program,
 * "anonymous" for callers without a token, and callers of an issuer by their claims (callers.h).
 */
#ifndef MCPD_ACCESS_H
#define MCPD_ACCESS_H

#include <mcp/access.h>

#include "config.h"

typedef struct access_rules access_rules;

/* Compiles the rules; *ret is NULL if there are none. Returns MCP_OK, or a negative code after
 * reporting the error. */
int access_read(config *c, access_rules **ret);
/* NULL is allowed. */
void access_free(access_rules *rules);
/* For mcp_access.may and mcp_access.scopes; `user` is the access_rules. */
bool access_may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user);
const char *access_scopes(const mcp_identity *identity, mcp_item item, mcp_str name, void *user);
/* Returns whether a caller may see /metrics. `rules` may be NULL. */
bool access_may_see_metrics(const mcp_identity *identity, const access_rules *rules);

typedef struct notes notes;

int notes_read(config *c, notes **ret);
void notes_free(notes *n);
/* For mcp_server_set_resource_hook(); `user` is the notes. */
void notes_apply(mcp_resource *resource, void *user);

#endif
