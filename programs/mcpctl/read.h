/* read.h: what other commands use of read. */
#ifndef MCPCTL_READ_H
#define MCPCTL_READ_H

#include "mcpctl.h"

/* {"uri":"…"}, to be freed; NULL after saying why. */
char *read_params(const char *uri);

/* Reads and prints one resource, as read does; into `json` unless that is NULL. An exit code. */
int read_resource(ctl *c, const char *uri, json_list *json);

#endif
