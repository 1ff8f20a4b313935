/* utf16.h: UTF-16 from and to UTF-8, also where iconv has no modules. */
#ifndef EDITING_UTF16_H
#define EDITING_UTF16_H

#include <mcp/base.h>

#include "buffer.h"

/* Appends UTF-16 without a mark as UTF-8. Returns MCP_OK; MCP_EPARSE with the offset of half a
 * character; MCP_ELIMIT if the buffer would have more than `most` bytes; MCP_ENOMEM. */
int editing_utf16_decode(mcp_str bytes, bool big, size_t most, common_buffer *to, size_t *ret_bad);
/* Appends valid UTF-8 as UTF-16. Returns MCP_OK, MCP_ELIMIT or MCP_ENOMEM. */
int editing_utf16_encode(mcp_str text, bool big, size_t most, common_buffer *to);

/* Returns whether bytes without a mark are clearly text in this order: well-formed, without control
 * characters other than white space, and three of four characters are ASCII. */
bool editing_utf16_is_clear(mcp_str bytes, bool big);

#endif
