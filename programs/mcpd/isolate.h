/* isolate.h: decides which sources get a process of their own, and mounts them. */
#ifndef MCPD_ISOLATE_H
#define MCPD_ISOLATE_H

#include "offer.h"

/* Whether the source gets a process of its own. */
bool isolate_wants(const offer *o, const source *s, const mcp_module *module);
/* Does the same as modules_mount(), but the module reads the source in a separate process. `name`
 * may be NULL. */
int isolate_mount(offer *o, const mcp_module *module, mcp_server *server, const char *text,
                  const mcp_json *options, const char *name, mcp_error *error);
/* Calls add() with the metrics of these processes, as Prometheus text. */
void isolate_metrics(const offer *o, void (*add)(mcp_str text, void *arg), void *arg);

#endif
