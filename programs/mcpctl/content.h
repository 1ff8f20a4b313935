/* content.h: prints content blocks of prompts and tools as text. */
#ifndef MCPCTL_CONTENT_H
#define MCPCTL_CONTENT_H

#include "mcpctl.h"

/* Prints text unchanged, and for other content one line that names its type. */
void put_content_block(const ctl *c, FILE *to, const mcp_json *block);

#endif
