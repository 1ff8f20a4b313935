/* oauth.h: the section "oauth" of the configuration: which access tokens are accepted over HTTP. */
#ifndef MCPD_OAUTH_H
#define MCPD_OAUTH_H

#include "config.h"

/* Returns the section, or NULL. `c` may be NULL. */
const mcp_json *oauth_section(const config *c);

/* Returns whether two configurations have the same section. */
bool oauth_same(const config *a, const config *b);

/* Checks the section for what its schema cannot detect. Reports each mistake with what to write
 * instead. Returns MCP_OK or MCP_EINVAL. */
int oauth_check(const config *c);

/* Checks the resource of a view, at `pointer`. Reports a mistake with what to write instead. Returns
 * MCP_OK or MCP_EINVAL. */
int oauth_check_view(const config *c, const char *pointer, const char *view, mcp_str resource);

/* Finds the issuer `name`, and stores its object in *ret, which may be NULL. Returns MCP_OK, or
 * MCP_EINVAL after reporting at `pointer` that there is no such issuer. */
int oauth_find_issuer(const config *c, const mcp_json *name, const char *pointer,
                      const mcp_json **ret);
/* Finds the only issuer. Returns MCP_OK, or MCP_EINVAL after reporting at `pointer` that there are
 * several or none. */
int oauth_only_issuer(const config *c, const char *pointer, const mcp_json **ret);

/* Returns these scopes together with those that every request needs, each once. The text belongs to
 * the configuration. Returns NULL if out of memory. */
const char *oauth_all_scopes(config *c, const char *scopes);

#endif
