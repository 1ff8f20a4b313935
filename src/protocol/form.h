/* form.h: the schemas of forms (elicitation); see form.c. */
#ifndef MCP_SRC_FORM_H
#define MCP_SRC_FORM_H

#include "base/base.h"
#include "json/json.h"

/* Returns MCP_OK if a schema is an object of simple properties, as forms must be, or MCP_EINVAL with
 * the place of what is not. */
int mcp__form_check(const mcp_json *schema, mcp_error *error);
/* Writes such a schema, whose JSON text is `text`, for clients of revision 2025-06-18. Returns
 * MCP_OK, or MCP_EUNSUPPORTED if a property is an array, which that revision does not have. */
int mcp__form_put_old(mcp__buf *b, const mcp_json *schema, mcp_str text);

#endif
