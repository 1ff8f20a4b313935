/* fetch.h: fetches https:// resources directly, without the server. */
#ifndef MCPCTL_FETCH_H
#define MCPCTL_FETCH_H

#include "mcpctl.h"

bool fetch_is_for(const char *uri);
/* Asks the user for permission. Without a terminal, prints how to grant it. */
bool fetch_ask(const char *uri);

/* `result` has the form of a resources/read result. */
typedef int fetched_fn(ctl *c, const mcp_json *result, void *user);
/* Returns an exit code; failures have been reported. */
int fetch_resource(ctl *c, const char *uri, fetched_fn *fn, void *user);

#endif
