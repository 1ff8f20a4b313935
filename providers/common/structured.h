/* structured.h: what an answer for a model is like: clients that show the structured content of a tool's result alone, and
 * the size. */
#ifndef COMMON_STRUCTURED_H
#define COMMON_STRUCTURED_H

#include <mcp/mcp.h>

/* Returns whether the client is known, by its name, to show its model the structured content of a
 * result and nothing else of it. */
bool common_reads_structured(const mcp_request *req);

/* Returns how many bytes an answer may have: "max_tokens" of the arguments, or else `usual` tokens. A number that is too
 * small or too large is the nearest one. A token counts as four bytes. */
size_t common_answer_bytes(const mcp_json *arguments, size_t usual);

/* Returns how many bytes a text has in JSON, at most, without its quotes. */
size_t common_json_bytes(mcp_str text);

#endif
