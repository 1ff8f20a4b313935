/* emit.h: what emit.c and emit_container.c share. */
#ifndef MCP_SRC_SCHEMA_EMIT_H
#define MCP_SRC_SCHEMA_EMIT_H

#include "schema/schema.h"

/* Zeroed memory for `count` things in the arena; not NULL for none. NULL: no memory. */
void *mcp__emit_alloc(compiler *c, size_t count, size_t size);
/* Appends an instruction for instances of the types in `applies`. */
instruction *mcp__emit(compiler *c, op code, keyword word, unsigned applies);
/* The value of a keyword is wrong: MCP_EINVAL. */
int mcp__emit_refuse(compiler *c, keyword word, const char *what);
/* The node of a subschema, which the scan has found already; NULL: none is there. It is compiled too. */
const node *mcp__emit_subschema(compiler *c, const mcp_json *value);
/* The nodes of an array of subschemas. */
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
