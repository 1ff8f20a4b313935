/* access.h: who may see what, as the configuration's "access" says, compiled; and what is said
 * about resources in lists, its "annotations".
 *
 * The last rule that is about somebody and something decides; what no rule is about is allowed.
 * Principals are the names of tokens, "stdio" for who started the program and "anonymous" for
 * everybody else.
 */
#ifndef MCPD_ACCESS_H
#define MCPD_ACCESS_H

#include <mcp/access.h>

#include "config.h"

typedef struct access_rules access_rules;

/* *ret is NULL where there are no rules. MCP_OK; a negative code after telling what is wrong. */
int access_read(config *c, access_rules **ret);
/* NULL is allowed. */
void access_free(access_rules *rules);
/* As mcp_access.may; `user` are the rules. */
bool access_may(const char *principal, mcp_item item, mcp_str name, void *user);

typedef struct notes notes;

int notes_read(config *c, notes **ret);
void notes_free(notes *n);
/* For mcp_server_set_resource_hook(); `user` are the notes. */
void notes_apply(mcp_resource *resource, void *user);

#endif
