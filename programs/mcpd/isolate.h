/* isolate.h: mounts sources in processes of their own. */
#ifndef MCPD_ISOLATE_H
#define MCPD_ISOLATE_H

#include "offer.h"

/* Like modules_mount(), but the module reads the source in a process of its own, unless the module
 * requests to run in this process. If the module describes the source, the first request starts
 * that process, and finds the mistakes that modules_look() cannot find. `name` may be NULL. */
int isolate_mount(offer *o, const mcp_module *module, mcp_server *server, const char *text,
                  const mcp_json *options, const char *name, mcp_error *error);
/* Like modules_try(), but the module checks and mounts the source in a process of its own. */
int isolate_try(offer *o, const mcp_module *module, const char *text, const mcp_json *options,
                const char *name, mcp_error *error);
/* Calls add() with the metrics of these processes, as Prometheus text with all names. */
void isolate_metrics(const offer *o, void (*add)(mcp_str text, void *arg), void *arg);

#endif
