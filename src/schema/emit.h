/* emit.h: shared by emit.c and emit_container.c. */
#ifndef MCP_SRC_SCHEMA_EMIT_H
#define MCP_SRC_SCHEMA_EMIT_H

#include "schema/schema.h"

/* Allocates zeroed memory for `count` elements in the arena. Returns NULL only if out of memory,
 * also for 0 elements. */
void *mcp__emit_alloc(compiler *c, size_t count, size_t size);
/* Appends an instruction for instances of the types in `applies`. */
instruction *mcp__emit(compiler *c, op code, keyword word, unsigned applies);
/* Reports that the value of a keyword is malformed, and returns MCP_EINVAL. */
int mcp__emit_refuse(compiler *c, keyword word, const char *what);
/* Returns the node that the scan made for a subschema, and queues it. Returns NULL if there is
 * none. */
const node *mcp__emit_subschema(compiler *c, const mcp_json *value);
/* Collects the nodes of an array of subschemas. */
int mcp__emit_list(compiler *c, const mcp_json *value, node_list *list);
/* Compiles a regular expression. */
int mcp__emit_new_pattern(compiler *c, keyword word, mcp_str source, const pattern **ret);

/* ---- emit_container.c ------------------------------------------------------------------------ */

int mcp__emit_unique(compiler *c, keyword word);
int mcp__emit_items(compiler *c, keyword word);
int mcp__emit_contains(compiler *c, keyword word);
int mcp__emit_unevaluated(compiler *c, keyword word);
int mcp__emit_members(compiler *c, keyword word);
int mcp__emit_dependencies(compiler *c, keyword word);

#endif
