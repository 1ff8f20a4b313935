/* read.h: parts of `read` that other commands use. */
#ifndef MCPCTL_READ_H
#define MCPCTL_READ_H

#include "mcpctl.h"

/* Returns the params {"uri":"…"}, which the caller frees, or NULL after reporting the error. */
char *read_params(const char *uri);

/* Reads and prints one resource as `read` does, or adds it to `json` unless that is NULL. Returns
 * an exit code. */
int read_resource(ctl *c, const char *uri, json_list *json);

#endif
