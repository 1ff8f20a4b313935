/* mirror.h: the parts of a message that a transport repeats in its own metadata, such as HTTP
 * headers (2026-07-28, basic/transports/streamable-http, "Request Metadata"). Client and server use
 * the same rules.
 */
#ifndef MCP_SRC_MIRROR_H
#define MCP_SRC_MIRROR_H

#include "base/base.h"
#include "json/json.h"
#include "protocol/method.h"

/* A parameter of a tool that is repeated in the header Mcp-Param-<name>. */
typedef struct mcp__mirrored {
    char *header; /* the full name of the header */
    char **path;  /* the names of the properties that lead from the arguments to the parameter */
    size_t depth;
} mcp__mirrored;

typedef struct mcp__mirror {
    mcp__mirrored *items;
    size_t count;
} mcp__mirror;

/* Collects the "x-mcp-header" annotations of an input schema. Returns MCP_EINVAL for those that the
 * specification forbids. *ret must be freed in every case. */
int mcp__mirror_compile(const mcp_allocator *allocator, const mcp_json *schema, mcp__mirror *ret,
                        mcp_error *error);
void mcp__mirror_free(const mcp_allocator *allocator, mcp__mirror *mirror);

/* Returns the value of the parameter in the arguments, or NULL if there is none. */
const mcp_json *mcp__mirrored_value(const mcp__mirrored *m, const mcp_json *arguments);
/* Returns the name of the parameter that Mcp-Name repeats for this method, or NULL. */
static inline const char *mcp__mirror_name(mcp_str method)
{
    const mcp__method_row *row = mcp__method_of(mcp__method_find(method));
    return row->traits & MCP__NAME_IN_HEADER ? row->target : NULL;
}

/* Appends a value in the form of a header: unchanged, or in Base64 between markers. */
void mcp__mirror_put(mcp__buf *b, mcp_str value);
/* Returns whether the value of a header is in Base64. If so, *text gets the part between the
 * markers. */
static inline bool mcp__mirror_is_encoded(mcp_str value, mcp_str *text)
{
    static const char head[] = "=?base64?", tail[] = "?=";
    size_t head_len = sizeof(head) - 1, marks = sizeof(head) + sizeof(tail) - 2;
    if (value.len < marks || memcmp(value.ptr, head, head_len) != 0 ||
        memcmp(value.ptr + value.len - 2, tail, 2) != 0)
        return false;
    *text = (mcp_str){value.ptr + head_len, value.len - marks};
    return true;
}
/* Returns whether two texts represent the same number, compared exactly: "1e3", "1000" and "1000.0"
 * are equal. Returns false if one of them is not a JSON number. */
bool mcp__mirror_same_number(mcp_str a, mcp_str b);

#endif
