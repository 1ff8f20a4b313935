/* mcp/yyjson.h: the yyjson value behind a mcp_json, for who wants yyjson's whole reading API.
 *
 * Read-only: the document is shared and was checked (depth, duplicate keys); do not write to it, and
 * do not free it. Numbers that no C type holds are of type YYJSON_TYPE_RAW. A program that includes
 * this header also compiles and links against yyjson.
 */
#ifndef MCP_YYJSON_H
#define MCP_YYJSON_H

#include <mcp/json.h>
#include <yyjson.h>

/* The same value, borrowed for as long as the mcp_json is; NULL for NULL. It is not const only because
 * yyjson's accessors are not. */
static inline yyjson_val *mcp_json_yyjson(const mcp_json *value)
{
    return (yyjson_val *)(uintptr_t)value;
}

#endif
