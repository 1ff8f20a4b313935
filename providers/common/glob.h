/* glob.h: matches a path with a pattern, in time bounded by the product of their lengths.
 *
 * The syntax is that of .gitignore: `?`, `*` and `[...]` never match a slash, a component `**`
 * matches any number of folders, and a backslash quotes the next byte. Patterns match bytes, not
 * characters. A malformed pattern (an open bracket, a final backslash, an unknown [:class:])
 * matches nothing.
 */
#ifndef COMMON_GLOB_H
#define COMMON_GLOB_H

#include <mcp/base.h>

bool common_glob_match(mcp_str pattern, mcp_str path);

/* Returns the number of bytes before the first special character of the pattern. */
size_t common_glob_literal(mcp_str pattern);

#endif
