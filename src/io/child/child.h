/* child.h: the internals of a server that runs as a child process. child.c starts and ends the
 * process, pipes.c reads and writes its pipes, and spawn.c creates it. io/children starts such
 * processes on demand, and again after they have ended.
 */
#ifndef MCP_SRC_IO_CHILD_H
#define MCP_SRC_IO_CHILD_H

#include "io/child/spawn.h"
#include "io/loop/flow.h"
#include "io/loop/parse_job.h"
#include "io/loop/pump.h"
#include "io/loop/loop.h"
#include "io/stdio/stdio.h"

#include <mcp/sys/channel.h>

enum {
    MCP__CHILD_LAST = 4096, /* bytes of stderr that mcp_child_stderr() returns */
    MCP__CHILD_STDERR = 4 * MCP__CHILD_LAST,
    MCP__CHILD_WAITING =
        64 * 1024 * 1024, /* pending bytes above which a server that does not read is ended */
    MCP__CHILD_PIPES = 3,
};

typedef enum mcp__ending {
    MCP__CHILD_ALIVE = 0,
    MCP__CHILD_CLOSED,     /* its stdin was closed, so that it ends by itself */
    MCP__CHILD_TERMINATED, /* SIGTERM was sent to its group */
    MCP__CHILD_KILLED,     /* SIGKILL was sent to its group */
    MCP__CHILD_EXITED,     /* it has been reaped */
} mcp__ending;

/* Options for internal callers. If all members are zero, the child is started as mcp_child_spawn()
 * does it. */
typedef struct mcp__child_extra {
    /* The child reads messages from its descriptor 3 and writes messages to its descriptor 5. Its
     * descriptor 0 is then /dev/null, and its descriptor 1 is the same as its stderr. */
    bool own_pipes;
    /* With `own_pipes`: becomes descriptor 4 of the child; 0 means /dev/null. Borrowed. */
    int fourth;
    mcp__spawn limits;  /* only the limits in it are used */
    mcp_str first_line; /* sent before all messages, if not empty */
    /* Called when the process has been reaped, before all other callbacks. May be NULL. */
    void (*on_gone)(int status, void *user);
    /* Called when a line is longer than a message may be. The line is ignored. May be NULL. */
    void (*on_too_long)(void *user);
    /* As in mcp_service_options. */
    size_t messages_per_second;
    void (*slowed)(void *user);
} mcp__child_extra;

struct mcp_child {
    mcp__pump pump;
    mcp_child_options options; /* argv, env and cwd are valid only while spawning */
    bool own_pipes;
    mcp__ending ending;
    int status;
    void (*on_gone)(int status, void *user);
    void (*on_too_long)(void *user);
    const char *why; /* why the process was ended, or NULL to describe its status; borrowed */
    bool congested;
    bool deaf;             /* its output is ignored, because it was killed */
    bool more;             /* lines are left for the next turn of the loop */
    bool held;             /* nothing is read until the timer `hold` fires */
    mcp__parse_job *parse; /* nothing is read until this message was parsed */
    size_t turn;           /* number of lines that may still be passed on in this turn */

    int in, out, err; /* the parent's ends of the child's stdin, stdout, stderr; -1 if closed */
    mcp__flow flow;
    mcp__lines lines;
    mcp__output output;
    bool in_watched;              /* in_poll waits until the pipe takes more */
    char last[MCP__CHILD_STDERR]; /* the last bytes of stderr */
    size_t last_len;

    pid_t pid;          /* 0 if there is no process */
    uv_signal_t signal; /* SIGCHLD */
    uv_poll_t in_poll, out_poll, err_poll;
    uv_timer_t kill, hold;
    size_t handles;
};

/* ---- child.c --------------------------------------------------------------------------------- */

/* Starts a child like mcp_child_spawn(). The options must be a complete struct (MCP__TAKE). Also
 * sets *ret on failure, so that the caller can use mcp__child_kill() and mcp__child_release(). *ret
 * is NULL if memory ran out. */
int mcp__child_start(mcp_loop *loop, mcp_client *client, const mcp_child_options *options,
                     const mcp__child_extra *extra, mcp_child **ret, mcp_error *error);
static inline bool mcp__child_is_running(const mcp_child *c)
{
    return c->pid && c->ending < MCP__CHILD_EXITED;
}
/* Sends SIGKILL to the process group of the child immediately, and ignores its output from now
 * on. */
void mcp__child_kill(mcp_child *c);
/* Frees a child whose process has ended or was never started, without running the loop. Returns
 * false while handles are still being closed. In that case it must be called again in a later turn
 * of the loop. */
bool mcp__child_release(mcp_child *c);
/* Begins to end the process: closes its stdin, sends SIGTERM after kill_ms, and SIGKILL after
 * kill_ms more. Further calls have no effect. */
void mcp__child_end(mcp_child *c);
void mcp__child_close_handle(mcp_child *c, uv_handle_t *handle);

/* ---- pipes.c --------------------------------------------------------------------------------- */

/* Creates the pipes. Stores the parent's ends in c and the child's ends in `theirs`, also on
 * failure. The caller closes the child's ends. Returns MCP_OK or MCP_EIO. */
int mcp__child_open_pipes(mcp_child *c, int theirs[MCP__CHILD_PIPES], mcp_error *error);
/* Starts watching the pipes. Returns MCP_OK, MCP_EIO or MCP_ENOMEM. */
int mcp__child_watch_pipes(mcp_child *c, mcp_error *error);
void mcp__child_close_input(mcp_child *c);
void mcp__child_close_pipes(mcp_child *c);
/* Reads what the ended process left in its pipes. The amount is limited, because another process
 * that still has the pipes open could write endlessly. */
void mcp__child_read_rest(mcp_child *c);
/* Writes pending output. */
void mcp__child_flush(void *child);
/* Passes on the lines that were left by the last turn, and writes pending output. This is the
 * function `settle` of the pump. */
void mcp__child_settle(void *child);
/* The function `send` of the channel. */
void mcp__child_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user);

#endif
