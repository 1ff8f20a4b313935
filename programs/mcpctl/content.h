/* content.h: content blocks of prompts and tools, as text. */
#ifndef MCPCTL_CONTENT_H
#define MCPCTL_CONTENT_H

#include "mcpctl.h"

/* Text as it is; of what is no text a line that says what it is. */
void put_content_block(const ctl *c, FILE *to, const mcp_json *block);

#endif
