/* entry.h: the entry of a server in a configuration file, in the format of any host. */
#ifndef MCPCTL_ENTRY_H
#define MCPCTL_ENTRY_H

#include "servers.h"

typedef enum entry_part {
    ENTRY_WORD, /* of the command line, the first first */
    ENTRY_URL,
    ENTRY_FOLDER,
    ENTRY_ENV_FILE,
    ENTRY_VARIABLE,
    ENTRY_HEADER,
    ENTRY_SECRET_HEADER, /* its variable is written ${NAME}, whatever the host's way */
} entry_part;

/* The parts of an entry in one order, as they stand in the file. fn returning other than EXIT_OK
 * stops it and is returned. `name` is that of a variable or header. */
typedef int entry_fn(void *user, entry_part part, mcp_str name, mcp_str text);
int entry_walk(const mcp_json *entry, entry_fn *fn, void *user);

/* Makes a server of an entry without reading, asking or looking up anything else: with what a
 * person is shown. EXIT_OK, or after saying why not. */
int entry_describe(server *s, const mcp_json *entry, const mcp_json *inputs);
/* The real values, which is when variables are looked up, inputs are asked for and the file of
 * variables is read: after all that was shown was confirmed. */
int entry_resolve(ctl *c, server *s);

#endif
