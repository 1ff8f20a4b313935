/* decode.c: see decode.h. */
#include "decode.h"

#include <stdio.h>

#include <charset.h>

int bridge_decode(mcp_str bytes, mcp_str charset, const mcp_allocator *alloc, editing_text *ret,
                  mcp_error *error)
{
    *error = (mcp_error){.code = MCP_ELIMIT};
    if (bytes.len <= BRIDGE_MOST_DECODED)
        return editing_text_open(bytes, charset, SIZE_MAX, alloc, ret, error);
    snprintf(error->text, sizeof(error->text),
             "it has %zu bytes, and at most %d are converted at once: read a part, with line and "
             "lines",
             bytes.len, BRIDGE_MOST_DECODED);
    return MCP_ELIMIT;
}

/* Control characters that no text has. */
static bool is_control(unsigned char c)
{
    return (c < 0x20 && (c < '\t' || c > '\r') && c != 0x1b) || c == 0x7f;
}

const char *bridge_charset_to_try(mcp_str bytes)
{
    const editing_charset *found = editing_charset_guess(bytes);
    if (found)
        return found->name;
    for (size_t i = 0; i < bytes.len; i++)
        if (is_control((unsigned char)bytes.ptr[i]))
            return NULL;
    return "ISO-8859-1";
}
