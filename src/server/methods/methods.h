/* methods.h: what the table of methods runs. */
#ifndef MCP_SRC_SERVER_METHODS_H
#define MCP_SRC_SERVER_METHODS_H

#include "server/core/request.h"

int mcp__run_initialize(mcp_request *req);
int mcp__run_discover(mcp_request *req);
int mcp__run_ping(mcp_request *req);
int mcp__run_subscribe(mcp_request *req);
int mcp__run_unsubscribe(mcp_request *req);
int mcp__run_listen(mcp_request *req);
/* list.c */
int mcp__run_list(mcp_request *req);
int mcp__resume_list(mcp_request *req);
void mcp__list_tail(mcp_request *req, mcp__buf *b);
/* read.c, prompt.c, tool.c, complete.c */
int mcp__run_read(mcp_request *req);
int mcp__again_read(mcp_request *req);
int mcp__run_prompt(mcp_request *req);
int mcp__again_prompt(mcp_request *req);
void mcp__prompt_tail(mcp_request *req, mcp__buf *b);
int mcp__run_tool(mcp_request *req);
int mcp__again_tool(mcp_request *req);
int mcp__tool_check(mcp_request *req);
/* What a tool's schemas say is checked in every call: compiled at registration. error names the schema. */
int mcp__tool_compile(mcp__entry *entry, const mcp_tool *tool, mcp_error *error);
/* Whether structured content conforms; MCP_OK, or a negative code after mcp_reply_fail(). */
int mcp__tool_check_output(mcp_request *req, const mcp_json *value);
void mcp__tool_tail(mcp_request *req, mcp__buf *b);
int mcp__run_complete(mcp_request *req);
void mcp__complete_tail(mcp_request *req, mcp__buf *b);
/* notice.c */
int mcp__run_set_level(mcp_request *req);
/* debug is 0; negative: no such level. */
int mcp__log_level(mcp_str name);

/* listen.c */
int mcp__listen_open(mcp_request *req);
void mcp__listen_end(mcp_request *req);   /* the peer cancelled it */
void mcp__listen_close(mcp_request *req); /* we end it, with its result */
/* Moves an acknowledged subscription out of the block that holds its message; `req` is gone then. */
void mcp__listen_shrink(mcp_request *req);

#endif
