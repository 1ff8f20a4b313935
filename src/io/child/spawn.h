/* spawn.h: starts a program as a new process, with its descriptors and limits set before it
 * runs. */
#ifndef MCP_SRC_IO_SPAWN_H
#define MCP_SRC_IO_SPAWN_H

#include <sys/types.h>

#include "base/base.h"

enum { MCP__SPAWN_FDS = 5 };

typedef struct mcp__spawn {
    const char *const *argv; /* argv[0] is looked up in PATH unless it has a slash */
    const char *const *env;  /* NULL: that of this process */
    const char *cwd;         /* NULL: that of this process */
    int fds[MCP__SPAWN_FDS]; /* become 0, 1, 2, …; all others are closed */
    int n_fds;
    uint64_t max_data;  /* RLIMIT_DATA in bytes; 0: unchanged */
    uint64_t max_files; /* RLIMIT_NOFILE; 0: unchanged */
    bool no_core;       /* RLIMIT_CORE 0 */
    bool idle;          /* SCHED_IDLE: it runs only when the CPU is idle */
    bool with_parent;   /* SIGKILL when the thread that started it ends */
} mcp__spawn;

/* Starts it as the leader of a session of its own, with all signals unblocked and at their
 * defaults. The caller reaps it with waitpid(). Returns MCP_ENOTFOUND, MCP_EACCESS or MCP_EIO on
 * failure; the error names the program or the folder. */
int mcp__spawn_process(const mcp__spawn *s, pid_t *ret, mcp_error *error);

#endif
