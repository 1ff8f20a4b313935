/* emit.h: shared by emit.c and emit_container.c. */
#ifndef MCP_SRC_SCHEMA_EMIT_H
#define MCP_SRC_SCHEMA_EMIT_H

#include "schema/schema.h"

/* Allocates zeroed memory for `count` elements in the arena. Never returns NULL for 0 elements,
 * only if out of memory. */
void *mcp__emit_alloc(compiler *c, size_t count, size_t size);
/* Appends an instruction for instances of the types in `applies`. */
instruction *mcp__emit(compiler *c, op code, keyword word, unsigned applies);
/* Fails with MCP_EINVAL: the value of a keyword is malformed. */
int mcp__emit_refuse(compiler *c, keyword word, const char *what);
/* Returns the node of a subschema, which the scan has made, and queues it; NULL: none. */
const node *mcp__emit_subschema(compiler *c, const mcp_json *value);
/* Collects the nodes of an array of subschemas. */
int mcp__emit_list(compiler *c, const mcp_json *value, node_list *list);
/* Compiles a regular expression. */
int mcp__emit_new_pattern(compiler *c, keyword word, mcp_str source, const pattern **ret);

/* ---- emit_container.c ------------------------------------------------------------------------------------- */

int mcp__emit_unique(compiler *c, keyword word);
int mcp__emit_items(compiler *c, keyword word);
int mcp__emit_contains(compiler *c, keyword word);
int mcp__emit_unevaluated(compiler *c, keyword word);
int mcp__emit_members(compiler *c, keyword word);
int mcp__emit_dependencies(compiler *c, keyword word);

#endif
