/* markdown.h: Markdown as a tree of nodes in JSON, for a page that makes elements of them. It never
 * becomes HTML, so no text of a server can become markup. */
#ifndef WEB_MARKDOWN_H
#define WEB_MARKDOWN_H

#include <mcp/json.h>

enum { MARKDOWN_BYTES = 1 << 20 /* of a text */ };

/* Whether this program was built with md4c. */
extern const bool markdown_exists;

/* Adds an array of nodes. A node is a string or {"t": its type, its attributes, "c": nodes}; the types
 * and attributes are listed in docs/web.md. Returns MCP_OK, MCP_ELIMIT, MCP_EUNSUPPORTED or
 * MCP_ENOMEM; after a failure the writer must be reset. */
int markdown_put(mcp_json_writer *w, mcp_str text);

#endif
