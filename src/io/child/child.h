/* child.h: shared by the files of the child process. child.c starts and ends the process, pipes.c
 * moves data through its pipes, spawn.c creates it. io/children manages such processes: it starts
 * them on demand, and again after they end.
 */
#ifndef MCP_SRC_IO_CHILD_H
#define MCP_SRC_IO_CHILD_H

#include "io/child/spawn.h"
#include "io/loop/pump.h"
#include "io/loop/loop.h"
#include "io/stdio/stdio.h"

enum {
    MCP__CHILD_LAST = 4096, /* how much of stderr mcp_child_stderr() returns */
    MCP__CHILD_STDERR = 4 * MCP__CHILD_LAST,
    MCP__CHILD_WAITING = 64 * 1024 * 1024, /* above this, a server that does not read is ended */
    MCP__CHILD_PIPES = 3,
};

typedef enum mcp__ending {
    MCP__CHILD_ALIVE = 0,
    MCP__CHILD_CLOSED,     /* its stdin is closed: it should end by itself */
    MCP__CHILD_TERMINATED, /* SIGTERM was sent to its group */
    MCP__CHILD_KILLED,
    MCP__CHILD_EXITED,
} mcp__ending;

/* Options for internal callers. All zero: as for mcp_child_spawn(). */
typedef struct mcp__child_extra {
    /* Messages go over descriptor 3, a socket; descriptor 0 is /dev/null, and 1 is stderr. */
    bool socket;
    int fourth;         /* with `socket`: becomes descriptor 4; not closed here. 0: none */
    mcp__spawn limits;  /* only its limits are used */
    mcp_str first_line; /* sent before everything else */
    /* Called when the process has been reaped, before all other callbacks. May be NULL. */
    void (*on_gone)(int status, void *user);
} mcp__child_extra;

struct mcp_child {
    mcp__pump pump;
    mcp_child_options options; /* argv, env and cwd are valid only while spawning */
    bool socket;
    mcp__ending ending;
    int status;
    void (*on_gone)(int status, void *user);
    const char *why; /* the reason of the end, if known; NULL: derived from the status */
    bool congested;

    int in, out, err; /* the parent's ends; -1: closed */
    mcp__lines lines;
    mcp__output output;
    char last[MCP__CHILD_STDERR]; /* the end of stderr */
    size_t last_len;

    pid_t pid;          /* 0: no process */
    uv_signal_t signal; /* SIGCHLD */
    uv_poll_t in_poll, out_poll, err_poll;
    uv_timer_t kill;
    size_t handles;
};

/* ---- child.c ---------------------------------------------------------------------------------------- */

/* Like mcp_child_spawn(), with options that have been copied. *ret is set even on failure, for
 * mcp__child_kill() and mcp__child_release(); NULL: out of memory. */
int mcp__child_start(mcp_loop *loop, mcp_client *client, const mcp_child_options *options,
                     const mcp__child_extra *extra, mcp_child **ret, mcp_error *error);
static inline bool mcp__child_is_running(const mcp_child *c)
{
    return c->pid && c->ending < MCP__CHILD_EXITED;
}
/* Sends SIGKILL to its group at once. */
void mcp__child_kill(mcp_child *c);
/* Like mcp_child_close() for a child that has ended, for use in callbacks. Returns false while the
 * loop still uses it: call it again in a later turn. */
bool mcp__child_release(mcp_child *c);
/* Begins to end the process: closes its stdin, then sends SIGTERM, then SIGKILL. Idempotent. */
void mcp__child_end(mcp_child *c);
void mcp__child_close_handle(mcp_child *c, uv_handle_t *handle);

/* ---- pipes.c ------------------------------------------------------------------------------------ */

/* Creates the pipes: the parent's ends in c, the child's in theirs. MCP_EIO. */
int mcp__child_open_pipes(mcp_child *c, int theirs[MCP__CHILD_PIPES], mcp_error *error);
/* Starts watching the pipes. MCP_EIO, MCP_ENOMEM. */
int mcp__child_watch_pipes(mcp_child *c, mcp_error *error);
void mcp__child_close_input(mcp_child *c);
void mcp__child_close_pipes(mcp_child *c);
/* Reads what the process left in its pipes. Limited, so that a survivor of its group cannot
 * block. */
void mcp__child_read_rest(mcp_child *c);
/* Writes waiting output; the settle function of the pump. */
void mcp__child_flush(void *child);
/* The `send` function of the channel. */
void mcp__child_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user);

#endif
