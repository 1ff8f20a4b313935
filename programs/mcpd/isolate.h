/* isolate.h: mounts sources in processes of their own. */
#ifndef MCPD_ISOLATE_H
#define MCPD_ISOLATE_H

#include "offer.h"

/* Does the same as modules_mount(), but the module reads the source in a process of its own, unless
 * the module requests to run in this process. If the module describes the source, the process is
 * started by the first request, and mistakes that modules_look() cannot find are found by that
 * request. `name` may be NULL. */
int isolate_mount(offer *o, const mcp_module *module, mcp_server *server, const char *text,
                  const mcp_json *options, const char *name, mcp_error *error);
/* Does the same as modules_try(), but the module reads the source in a process of its own, which
 * also mounts it there. */
int isolate_try(offer *o, const mcp_module *module, const char *text, const mcp_json *options,
                const char *name, mcp_error *error);
/* Calls add() with the metrics of these processes, as Prometheus text. */
void isolate_metrics(const offer *o, void (*add)(mcp_str text, void *arg), void *arg);

#endif
