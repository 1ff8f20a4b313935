/* pass.h: results of another server in the form of a peer's revision, as text: see pass.c. */
#ifndef MCP_SRC_PASS_H
#define MCP_SRC_PASS_H

#include "protocol/object.h"

/* What a text is. */
typedef enum mcp__pass_shape {
    MCP__PASS_ANY = 0, /* anything: passed on as it is */
    MCP__PASS_READ,    /* results */
    MCP__PASS_CALL,
    MCP__PASS_GET,
    MCP__PASS_COMPLETE,
    MCP__PASS_OTHER,
    MCP__PASS_RESOURCE, /* entries of lists */
    MCP__PASS_TEMPLATE,
    MCP__PASS_PROMPT,
    MCP__PASS_TOOL,
    MCP__PASS_ERROR_DATA,
    MCP__PASS_CONTENTS, /* what is inside of these */
    MCP__PASS_BLOCK,
    MCP__PASS_MESSAGE,
    MCP__PASS_COMPLETION,
    MCP__PASS_ARGUMENT,
    MCP__PASS_ANNOTATIONS,
    MCP__PASS_TOOL_META,
    MCP__PASS_UI,
} mcp__pass_shape;

/* What a name is of: the values of mcp_item. */
typedef enum mcp__pass_name {
    MCP__PASS_NAME_URI = 0,
    MCP__PASS_NAME_TEMPLATE,
    MCP__PASS_NAME_PROMPT,
    MCP__PASS_NAME_TOOL,
} mcp__pass_name;

typedef struct mcp__pass {
    const mcp__revision *to;
    /* Appends what the peer knows it by, without quotes. False: for this peer it does not exist. */
    bool (*name)(void *user, mcp__pass_name kind, mcp_str name, mcp__buf *b);
    /* Whether a value of a completion is shown; NULL: all are. */
    bool (*value)(void *user, mcp_str value);
    /* Takes a member of the result's own _meta. */
    void (*meta)(void *user, mcp_str key, mcp_str text);
    void *user;
} mcp__pass;

/* Appends an object. `text` is its text. False: it does not exist for this peer, and what was
 * appended is to be taken back. */
bool mcp__pass_object(const mcp__pass *pass, mcp__buf *b, mcp__pass_shape shape,
                      const mcp_json *value, mcp_str text);
/* Appends its members, without braces: of a result, to which others are added. */
bool mcp__pass_members(const mcp__pass *pass, mcp__buf *b, mcp__pass_shape shape,
                       const mcp_json *value, mcp_str text);
/* The code by which the peer knows an error of another server in answer to `method`. */
int mcp__pass_code(const mcp__revision *to, int64_t code, bool unknown_resource);

#endif
