/* shape.h: whether what a server sends has the shape that schema.json of its revision demands.
 *
 * null for a member that may be absent counts as absent. Members that the revision does not know are
 * not looked at. scripts/make-shapes says where more is accepted, and why. `format` is not checked,
 * except that of Base64.
 *
 * A check allocates nothing, and takes time in proportion to the value.
 */
#ifndef MCP_SRC_SHAPE_H
#define MCP_SRC_SHAPE_H

#include "protocol/revision.h"

/* The rows that are no method: an answer with input requests, and one that names a task. */
#define MCP__SHAPE_ASKS MCP_STR("input_required")
#define MCP__SHAPE_TASK MCP_STR("task")

/* Both return MCP_OK, or MCP_EPROTOCOL with the place and what was expected there in *error:
 * "/result/content/0/text: expected string, got nothing". A method or a revision without a row has no
 * shape, so that every value is MCP_OK. `params`, of a request or a notification, may be NULL. */
int mcp__shape_result(const mcp__revision *r, mcp_str method, const mcp_json *result,
                      mcp_error *error);
int mcp__shape_params(const mcp__revision *r, mcp_str method, const mcp_json *params,
                      mcp_error *error);

/* Checks a page of a list, whose entries are in `array`, without its entries. */
int mcp__shape_page(const mcp__revision *r, mcp_str method, mcp_str array, const mcp_json *result,
                    mcp_error *error);
/* Sets bad[i] for each entry that is malformed, and *error for the first of them. Returns their
 * number. */
size_t mcp__shape_entries(const mcp__revision *r, mcp_str method, mcp_str array,
                          const mcp_json *result, bool *bad, mcp_error *error);

#endif
