/* secrets.h: which settings are secrets, and the values of those that the configuration only refers to (secret.h).
 * Everything that shows a configuration, or judges who may read its file, asks here. tests/programs/secrets.bats knows every setting, so that a new one is not forgotten.
 */
#ifndef MCPD_SECRETS_H
#define MCPD_SECRETS_H

#include <sys/stat.h>

#include "config.h"

/* Writes a configuration with "***" in place of each secret. References to secrets stay, with the paths of
 * their files made absolute from the folder of `c`, which may be NULL. */
void secrets_put(mcp_json_writer *w, const mcp_json *root, config *c);
/* Returns whether a configuration has a secret. References are none. */
bool secrets_in(const mcp_json *root);
/* Makes a copy of a configuration in which every reference, such as {"file": PATH}, is replaced by the text that
 * could stand there. *ret stays NULL if there are none. Returns MCP_OK, or a negative code after reporting every
 * error at its place; only MCP_ENOMEM may be unreported. */
int secrets_resolve(config *c, const mcp_json *root, mcp_json_doc **ret);
/* Returns whether other users may read a file that has secrets. The group may if the file is root's and
 * this process is not: the administrator has then given it to the group of the service. */
bool secrets_exposed(const struct stat *file);
/* Logs a warning if they may. */
void secrets_warn(const char *path, const struct stat *file);

#endif
