/* glob.h: one pattern against one path, in time bounded by the product of their lengths.
 *
 * The language is .gitignore's: `?`, `*` and `[...]` never match a slash, a component that is `**`
 * matches any number of folders, a backslash takes the next byte literally. Bytes, not characters.
 * A pattern that is malformed (an open bracket, a final backslash, an unknown [:class:]) matches
 * nothing.
 */
#ifndef COMMON_GLOB_H
#define COMMON_GLOB_H

#include <mcp/base.h>

bool common_glob_match(mcp_str pattern, mcp_str path);

/* The number of bytes before the first special character of the pattern. */
size_t common_glob_literal(mcp_str pattern);

#endif
