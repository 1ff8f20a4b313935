/* tool.h: a registered command and its runs. */
#ifndef COMMAND_TOOL_H
#define COMMAND_TOOL_H

#include "buffer.h"
#include "command.h"

typedef struct command_run command_run;

typedef struct command_tool {
    mcp_command o; /* strings are copies */
    mcp_server *server;
    mcp_allocator alloc;
    command_run *runs;
    size_t n_runs;
    int64_t quiet_until; /* time until which failures are not logged */
} command_tool;

/* An mcp_call_fn; `user` is the command_tool. */
int command_call(mcp_request *req, const mcp_json *arguments, void *user);
/* Terminates all running programs and waits for them. */
void command_end_all(command_tool *t);

#endif
