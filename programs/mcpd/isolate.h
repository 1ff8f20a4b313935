/* isolate.h: sources in processes of their own: which they are, and how they are mounted. */
#ifndef MCPD_ISOLATE_H
#define MCPD_ISOLATE_H

#include "offer.h"

/* Whether the source gets a process of its own. */
bool isolate_wants(const offer *o, const source *s, const mcp_module *module);
/* As modules_mount(). */
int isolate_mount(offer *o, const mcp_module *module, mcp_server *server, const char *text,
                  const mcp_json *options, const char *name, mcp_error *error);
/* Adds the metrics of these processes. */
void isolate_metrics(const offer *o, void (*add)(mcp_str text, void *arg), void *arg);

#endif
