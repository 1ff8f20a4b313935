/* servers.h: the server to use: a command after "--", an address, or a name in the configuration
 * files of mcpctl and of the hosts in the table of common/hosts/files.c.
 */
#ifndef MCPCTL_SERVERS_H
#define MCPCTL_SERVERS_H

#include <common/hosts/entry.h>

#include "mcpctl.h"

/* Returns whether a text is an address: http://, https://, unix:. */
bool is_address(const char *text);

/* Finds the server that the command line selects. Returns EXIT_OK, or another code after reporting
 * the error. */
int server_find(ctl *c, server **ret);
void server_free(server *s);

/* Reports an error in a file (common/hosts/files.h). */
void server_say(void *user, const char *line);

/* confirm.c: returns the path of a file below the user's state folder, which the caller frees, or
 * NULL if there is no such folder. */
char *state_file(const char *name);
/* confirm.c: returns the path of a file in mcpctl's state folder, which is created if necessary.
 * The caller frees the path. Returns NULL if there is no such folder. */
char *state_path(const char *name);

/* confirm.c: shows what will be started and asks for confirmation, unless it was confirmed before.
 * The second function does this for the file of variables, which is read only after the first
 * confirmation. */
int server_confirm(ctl *c, const server *s);
int server_confirm_variables(ctl *c, const server *s);

#endif
