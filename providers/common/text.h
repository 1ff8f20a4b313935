/* text.h: checks whether contents are text, meaning strict UTF-8 without NUL, whatever the
 * file's name is. */
#ifndef COMMON_TEXT_H
#define COMMON_TEXT_H

#include <mcp/base.h>

#include <string.h>

/* Well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. NUL is allowed. */
bool common_text_utf8(mcp_str bytes);

/* Like common_text_utf8(), but NUL is not allowed. Empty contents are text. */
bool common_text_check(mcp_str bytes);

/* Returns the number of line feeds. */
size_t common_text_feeds(mcp_str text);

/* Returns the part of a text without the parts of characters at its ends. What is no text stays none. */
mcp_str common_text_whole(mcp_str part);

/* Returns the text without a byte order mark at its beginning. */
static inline mcp_str common_text_after_mark(mcp_str text)
{
    bool marked = text.len >= 3 && memcmp(text.ptr, "\xef\xbb\xbf", 3) == 0;
    return (mcp_str){text.ptr + 3 * marked, text.len - 3 * marked};
}

/* Returns what a caller may know of an error, because texts of errors name files and folders of this
 * machine: what follows the path, or `instead` if nothing does. A text without "/" is returned whole. */
const char *common_text_without_path(const char *text, const char *instead);

#endif
