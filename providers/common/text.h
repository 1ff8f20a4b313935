/* text.h: checks whether contents are text, meaning strict UTF-8 without NUL, whatever the
 * file's name is. */
#ifndef COMMON_TEXT_H
#define COMMON_TEXT_H

#include <mcp/base.h>

/* Well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. NUL is allowed. */
bool common_text_utf8(mcp_str bytes);

/* Like common_text_utf8(), but NUL is not allowed. Empty contents are text. */
bool common_text_check(mcp_str bytes);

#endif
