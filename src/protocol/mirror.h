/* mirror.h: the parts of a message that a transport repeats in metadata of its own, as HTTP headers
 * (2026-07-28, basic/transports/streamable-http, "Request Metadata"): the rules that both sides have.
 */
#ifndef MCP_SRC_MIRROR_H
#define MCP_SRC_MIRROR_H

#include "base/base.h"
#include "json/json.h"

/* One parameter of a tool that is repeated in the header Mcp-Param-<name>. */
typedef struct mcp__mirrored {
    char *header; /* the whole header's name */
    char **path;  /* the property's name, from the arguments downwards */
    size_t depth;
} mcp__mirrored;

typedef struct mcp__mirror {
    mcp__mirrored *items;
    size_t count;
} mcp__mirror;

/* Collects the "x-mcp-header" of an input schema, and refuses those that the specification forbids:
 * MCP_EINVAL. *ret is to be freed in every case. */
int mcp__mirror_compile(const mcp_allocator *allocator, const mcp_json *schema, mcp__mirror *ret,
                        mcp_error *error);
void mcp__mirror_free(const mcp_allocator *allocator, mcp__mirror *mirror);

/* What the arguments have for it, or NULL. */
const mcp_json *mcp__mirrored_value(const mcp__mirrored *m, const mcp_json *arguments);
/* The parameter that Mcp-Name repeats for this method, or NULL. */
const char *mcp__mirror_name(mcp_str method);

/* Appends a value as a header carries it: plain, or in Base64 between marks. */
void mcp__mirror_put(mcp__buf *b, mcp_str value);
/* Whether a header's value is in Base64; *text is what stands between the marks. */
bool mcp__mirror_is_encoded(mcp_str value, mcp_str *text);
/* Whether two texts are one number, digit for digit and whatever its form: "1e3", "1000" and "1000.0" are. False
 * also where one is not a number as JSON writes them. */
bool mcp__mirror_same_number(mcp_str a, mcp_str b);

#endif
