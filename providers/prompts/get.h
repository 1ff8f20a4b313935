/* get.h: answers prompts/get and completion/complete with a document. */
#ifndef PROMPTS_GET_H
#define PROMPTS_GET_H

#include "document.h"
#include "embed.h"

enum { PROMPTS_MAX_EXPANDED = 4 << 20 }; /* bytes of the expanded text */

/* Replies like an mcp_prompt_fn. Keeps a reference to the document as long as necessary. */
int prompts_get(mcp_request *req, prompts_document *doc, const mcp_json *arguments,
                prompts_embeds *embeds);

/* Replies like an mcp_complete_fn, with the argument's choices that begin with the
 * value, ignoring case. */
int prompts_complete(mcp_request *req, const prompts_document *doc, mcp_str name, mcp_str value);

#endif
