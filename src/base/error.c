/* error.c: names and texts of the library's error codes, generated from the list in mcp/base.h.
 *
 * These are not sent to peers: JSON-RPC error codes belong to the protocol layer.
 */
#include <stdio.h>

#include "base/base.h"

typedef struct error_entry {
    int code;
    const char *name;
    const char *text;
} error_entry;

static const error_entry entries[] = {
#define ERROR_ENTRY(name, number, text) {-(number), "MCP_" #name, text},
    MCP_ERROR_MAP(ERROR_ENTRY)
#undef ERROR_ENTRY
};

static const error_entry ok = {MCP_OK, "MCP_OK", "success"};
static const error_entry unknown = {0, "MCP_E?", "unknown error"};

static const error_entry *find(int code)
{
    if (code == MCP_OK)
        return &ok;
    for (size_t i = 0; i < MCP__COUNT(entries); i++) {
        if (entries[i].code == code)
            return &entries[i];
    }
    return &unknown;
}

const char *mcp_error_name(int code)
{
    return find(code)->name;
}

const char *mcp_error_text(int code)
{
    return find(code)->text;
}

int mcp__fail(mcp_error *error, int code, size_t offset, const char *format, ...)
{
    if (!error)
        return code;
    /* The text is formatted in a separate buffer, because an argument may be error->text itself. */
    char text[sizeof(error->text)];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    size_t len = n < 0 ? 0 : (size_t)n;
    if (len >= sizeof(text))
        len = mcp__utf8_cut(text, sizeof(text) - 1);
    error->code = code;
    error->offset = offset;
    memcpy(error->text, text, len);
    error->text[len] = '\0';
    return code;
}
