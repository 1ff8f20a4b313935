/* mcp/sys/json.h: JSON texts that were parsed before and are forwarded unchanged.
 *
 * Like all headers of mcp/sys it may change in any minor version until 1.0
 * (docs/api-stability.md).
 */
#ifndef MCP_SYS_JSON_H
#define MCP_SYS_JSON_H

#include <mcp/base.h>
#include <mcp/json.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Iterates over the members or elements of a container, given as a JSON text that was parsed
 * before, and returns their texts. Use it to forward values unchanged, because a parsed number may
 * have lost digits that do not fit a double. Zero-initialize the iterator. The order is that of
 * mcp_json_next(), so that a value and its text can be visited together. If key is not NULL, *key
 * gets the key as it is written, with its quotes and escapes, or the empty string in an array.
 * Returns false at the end, and if the text is not an object or array. */
typedef struct mcp_json_text_iter {
    size_t at; /* private, like `object` */
    bool object;
    /* The number of members or elements (mcp_json_count()). If it is set before the first call, the
     * end of the last value is found without searching. 0 means unknown. */
    size_t count;
} mcp_json_text_iter;
MCP_API bool mcp_json_text_next(mcp_str container, mcp_json_text_iter *iter, mcp_str *key,
                                mcp_str *value);

/* Like mcp_json_add_raw(), for the text of a value that was parsed. A newline in such a text can
 * only be white space, so each newline is written as a space. */
MCP_API void mcp_json_add_text(mcp_json_writer *w, mcp_str json);

#ifdef __cplusplus
}
#endif
#endif
