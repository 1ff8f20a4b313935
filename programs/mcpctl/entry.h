/* entry.h: a server's entry in a configuration file, in the format of any host. */
#ifndef MCPCTL_ENTRY_H
#define MCPCTL_ENTRY_H

#include "servers.h"

typedef enum entry_part {
    ENTRY_WORD, /* a word of the command line; words are visited in order */
    ENTRY_URL,
    ENTRY_FOLDER,
    ENTRY_ENV_FILE,
    ENTRY_VARIABLE,
    ENTRY_HEADER,
    ENTRY_OAUTH,         /* a member of the object "oauth" */
    ENTRY_SECRET_HEADER, /* a header whose value contains a variable, always written as ${NAME} */
} entry_part;

/* Calls fn for the parts of an entry, in the order of the file. If fn returns anything but EXIT_OK,
 * entry_walk() stops and returns that. `name` is the name of a variable, header or member. */
typedef int entry_fn(void *user, entry_part part, mcp_str name, mcp_str text);
int entry_walk(const mcp_json *entry, entry_fn *fn, void *user);

/* Fills in the texts of a server from an entry, to be shown to the user. It reads no files, looks
 * up no variables and asks no questions. Returns EXIT_OK, or another code after reporting the
 * error. */
int entry_describe(server *s, const mcp_json *entry, const mcp_json *inputs);
/* Fills in the actual values: looks up variables, asks for inputs, and reads the file of variables.
 * Called only after the user confirmed what was shown. */
int entry_resolve(ctl *c, server *s);

#endif
