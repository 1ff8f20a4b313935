/* raw.h: JSON text of another server that is passed on; see raw.c. */
#ifndef MCP_SRC_SERVER_RAW_H
#define MCP_SRC_SERVER_RAW_H

#include "protocol/pass.h"
#include "server/methods/methods.h"

#include <mcp/sys/forward.h>

/* The state of one call with an mcp_raw. */
typedef struct mcp__raw {
    mcp_request *req;
    mcp_raw raw;
    mcp_json_doc *doc;       /* NULL if the caller has parsed it */
    mcp_uri_template *tmpl;  /* of a completion; NULL without access rules */
    const mcp__mount *mount; /* of a page with tools; NULL before the first */
} mcp__raw;

/* Takes the caller's struct, and parses the text unless the caller has. Returns MCP_OK or a negative
 * code. mcp__raw_end() must follow in both cases. */
int mcp__raw_begin(mcp__raw *p, mcp_request *req, const mcp_raw *raw);
void mcp__raw_end(mcp__raw *p);
/* Returns how the text is converted. It refers to *p. */
mcp__pass mcp__raw_pass(mcp__raw *p);

#endif
