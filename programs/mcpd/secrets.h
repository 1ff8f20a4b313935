/* secrets.h: which settings are secrets. Everything that shows a configuration, or judges who may read its
 * file, asks here. tests/programs/secrets.bats knows every setting, so that a new one is not forgotten.
 */
#ifndef MCPD_SECRETS_H
#define MCPD_SECRETS_H

#include <sys/stat.h>

#include <mcp/json.h>

/* Writes a configuration with "***" in place of each secret. */
void secrets_put(mcp_json_writer *w, const mcp_json *config);
/* Returns whether a configuration has a secret. */
bool secrets_in(const mcp_json *config);
/* Returns whether other users may read a file that has secrets. The group may if the file is root's and
 * this process is not: the administrator has then given it to the group of the service. */
bool secrets_exposed(const struct stat *file);
/* Logs a warning if they may. */
void secrets_warn(const char *path, const struct stat *file);

#endif
