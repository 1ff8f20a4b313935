/* fetch.h: https:// resources, fetched without the server. */
#ifndef MCPCTL_FETCH_H
#define MCPCTL_FETCH_H

#include "mcpctl.h"

bool fetch_is_for(const char *uri);
/* Asks the user for permission; without a terminal prints how to give it. */
bool fetch_ask(const char *uri);

/* `result` is what resources/read would have given. */
typedef int fetched_fn(ctl *c, const mcp_json *result, void *user);
/* An exit code; a failure has been reported. */
int fetch_resource(ctl *c, const char *uri, fetched_fn *fn, void *user);

#endif
