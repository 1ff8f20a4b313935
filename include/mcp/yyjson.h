/* mcp/yyjson.h: the yyjson value of an mcp_json, for programs that use yyjson's reading API.
 *
 * The document is shared and was already checked (depth, duplicate keys). Do not modify or free it.
 * Numbers that fit no C type are of type YYJSON_TYPE_RAW. A program that includes this header must
 * also compile and link against yyjson.
 */
#ifndef MCP_YYJSON_H
#define MCP_YYJSON_H

#include <mcp/json.h>
#include <yyjson.h>

/* Returns the same value, which lives as long as the mcp_json, or NULL for NULL. The result is not
 * const only because yyjson's accessors do not accept const pointers. */
static inline yyjson_val *mcp_json_yyjson(const mcp_json *value)
{
    return (yyjson_val *)(uintptr_t)value;
}

#endif
