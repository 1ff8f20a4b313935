/* secret.h: where the value of a secret comes from: a file, a credential of the service manager, or a variable
 * of the environment. secrets.h says which settings are secrets.
 *
 * Of a file the mode of what a link leads to counts, because Kubernetes makes links: a file that others may
 * write is refused, for one that they may read a warning is logged. Its group may do what its mode says.
 *
 * A variable is read once and then cleared, so that no process that this one starts gets it, except this
 * program itself: workers and successors read the same configuration.
 */
#ifndef MCPD_SECRET_H
#define MCPD_SECRET_H

#include <stdio.h>
#include <sys/stat.h>

#include <mcp/base.h>

typedef enum secret_mode {
    SECRET_KEPT,
    SECRET_READABLE, /* by others */
    SECRET_WRITABLE, /* by others */
} secret_mode;
secret_mode secret_mode_of(const struct stat *file);

/* Judges the mode of a file with secrets that somebody else reads, as secret_open() does. */
int secret_look(const char *path, mcp_error *error);
/* Opens a file with secrets for reading. Returns NULL with *error set, whose text names the file. */
FILE *secret_open(const char *path, mcp_error *error);
/* Reads the one secret of a file, without the ends of lines after it. *ret belongs to the caller. Fails if it
 * is empty. Returns MCP_OK or a negative code with *error set, whose text names the file. */
int secret_load(const char *path, char **ret, mcp_error *error);
/* Puts the secret of a file in place of *value, which is freed; NULL if there is no path. After an error, *value stays. */
int secret_renew(const char *path, char **value, mcp_error *error);

/* Gets the value of a variable, which stays valid. Fails if it is not set or empty. */
int secret_variable(const char *name, const char **ret, mcp_error *error);
/* Gets a path under which this process, and nobody else, reads the value of a variable. */
int secret_variable_path(const char *name, char *to, size_t room, mcp_error *error);
/* Returns an environment with the variables that were cleared, for this program itself. The caller frees the
 * array alone. Returns NULL if out of memory. */
char **secret_environment(char *const *environment);

/* Writes the path of a credential of the service manager (systemd's LoadCredential=). */
int secret_credential_path(const char *name, char *to, size_t room, mcp_error *error);

#endif
