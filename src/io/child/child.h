/* child.h: what the files of the child process share.
 *
 * child.c is the process: how it starts and how it ends; pipes.c is what goes through its pipes.
 */
#ifndef MCP_SRC_IO_CHILD_H
#define MCP_SRC_IO_CHILD_H

#include "io/loop/pump.h"
#include "io/loop/loop.h"
#include "io/stdio/stdio.h"

enum {
    MCP__CHILD_LAST = 4096, /* what mcp_child_stderr() shows */
    MCP__CHILD_STDERR = 4 * MCP__CHILD_LAST,
    MCP__CHILD_WAITING = 64 * 1024 * 1024, /* a server that does not read is given up */
    MCP__CHILD_PIPES = 3,
};

typedef enum mcp__ending {
    MCP__CHILD_ALIVE = 0,
    MCP__CHILD_CLOSED,     /* its stdin is closed: it should end by itself */
    MCP__CHILD_TERMINATED, /* SIGTERM was sent to its group */
    MCP__CHILD_KILLED,
    MCP__CHILD_EXITED,
} mcp__ending;

struct mcp_child {
    mcp__pump pump;
    mcp_child_options options; /* argv, env and cwd only while spawning */
    mcp__ending ending;
    int status;
    bool congested;

    int in, out, err; /* our ends; -1: closed */
    mcp__lines lines;
    mcp__output output;
    char last[MCP__CHILD_STDERR]; /* the end of stderr */
    size_t last_len;

    uv_process_t process;
    uv_poll_t in_poll, out_poll, err_poll;
    uv_timer_t kill;
    size_t handles;
};

/* ---- child.c ---------------------------------------------------------------------------------------- */

/* It is to end: closes its stdin, then waits, then insists. Idempotent. */
void mcp__child_end(mcp_child *c);
void mcp__child_close_handle(mcp_child *c, uv_handle_t *handle);

/* ---- pipes.c ------------------------------------------------------------------------------------ */

/* Makes the pipes: our ends into c, the child's into theirs. MCP_EIO. */
int mcp__child_open_pipes(mcp_child *c, int theirs[MCP__CHILD_PIPES], mcp_error *error);
/* Begins to read and write them. MCP_EIO, MCP_ENOMEM. */
int mcp__child_watch_pipes(mcp_child *c, mcp_error *error);
void mcp__child_close_input(mcp_child *c);
void mcp__child_close_pipes(mcp_child *c);
/* What the process left in its pipes; a survivor of its group cannot keep us here. */
void mcp__child_read_rest(mcp_child *c);
/* Writes what waits: the pump's settle function. */
void mcp__child_flush(void *child);
/* The channel's `send`. */
void mcp__child_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user);

#endif
