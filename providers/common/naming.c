/* naming.c: see naming.h. */
#include "naming.h"

#include <string.h>

bool common_named_is_pattern(mcp_str text)
{
    return text.len && (memchr(text.ptr, '*', text.len) || memchr(text.ptr, '?', text.len));
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Returns the bytes of the character at the beginning of the text. */
static size_t character(mcp_str text)
{
    size_t n = 1;
    while (n < text.len && ((unsigned char)text.ptr[n] & 0xc0) == 0x80)
        n++;
    return n;
}

static void skip(mcp_str *text, size_t n)
{
    text->ptr += n;
    text->len -= n;
}

/* Only the last star has to be tried again: what follows an earlier one fits as early as it can. */
bool common_named_fits(mcp_str name, mcp_str pattern)
{
    mcp_str again = {NULL, 0}, behind = {NULL, 0};
    while (name.len) {
        if (pattern.len && *pattern.ptr == '*') {
            skip(&pattern, 1);
            behind = pattern;
            again = name;
        } else if (pattern.len && *pattern.ptr == '?') {
            skip(&pattern, 1);
            skip(&name, character(name));
        } else if (pattern.len && lower(*pattern.ptr) == lower(*name.ptr)) {
            skip(&pattern, 1);
            skip(&name, 1);
        } else if (again.ptr && again.len) {
            skip(&again, character(again));
            name = again;
            pattern = behind;
        } else {
            return false;
        }
    }
    while (pattern.len && *pattern.ptr == '*')
        skip(&pattern, 1);
    return pattern.len == 0;
}
