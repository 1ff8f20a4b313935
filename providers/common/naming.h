/* naming.h: the parameter `named` of a database: the columns whose name, or whose type's name, contains a
 * text, ignoring the case of ASCII letters, as a JSON object. In a text with "*" (any text) or "?" (any
 * character), it is a pattern for the whole name:
 *
 *     {"named":[{"uri":TABLE,"name":"sales.customer","column":"customer_email","type":"text"}]}
 *
 * with "more":true if there are others. What has no "column" is a type that no column has. find_resources asks for it, since lists have no columns.
 */
#ifndef COMMON_NAMING_H
#define COMMON_NAMING_H

#include <mcp/base.h>

enum {
    COMMON_NAMED_MOST = 50, /* columns in an answer */
    COMMON_NAMED_MAX = 256, /* bytes of the text */
};

#define COMMON_NAMED_WRONG "named must have 1 to 256 bytes, and only format can be given with it"

/* Returns whether the text is a pattern. */
bool common_named_is_pattern(mcp_str text);
/* Returns whether the whole name fits the pattern, in a time of at most the product of their lengths. */
bool common_named_fits(mcp_str name, mcp_str pattern);

#endif
