/* save.h: saves what is not text in a tool's result: --output of call. */
#ifndef MCPCTL_SAVE_H
#define MCPCTL_SAVE_H

#include "mcpctl.h"

/* Returns whether a content block is an image, audio, or a resource with a blob. */
bool save_is_binary(const mcp_json *block);
size_t save_count(const mcp_json *content);

/* Checks that the file of --output can be written, because a call may have effects and is not
 * repeated for its result. Returns EXIT_OK, or EXIT_LOCAL after reporting the error. */
int save_check(const ctl *c);
/* Writes the contents of the binary block with this number, which begins at 1. Returns an exit code
 * after reporting the error. */
int save_block(const ctl *c, const mcp_json *block, size_t number);

#endif
