/* decode.h: contents that are no UTF-8, as the text that a caller says they are. */
#ifndef BRIDGE_DECODE_H
#define BRIDGE_DECODE_H

#include <filetext.h>

enum {
    BRIDGE_MOST_DECODED = 1 << 20, /* bytes that are converted at once, on the server's thread */
};

/* Converts bytes in a charset. After success the caller ends with editing_text_close(). The bytes must stay. Returns the
 * codes of editing_text_open(), or MCP_ELIMIT; `error` has the text. */
int bridge_decode(mcp_str bytes, mcp_str charset, const mcp_allocator *alloc, editing_text *ret,
                  mcp_error *error);

/* Returns what could be tried as the charset of a text that is no UTF-8, or NULL if it looks like no text. Static storage. */
const char *bridge_charset_to_try(mcp_str bytes);

#endif
