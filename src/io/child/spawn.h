/* spawn.h: starts a program as a new process. Descriptors and limits are set before the program
 * runs. */
#ifndef MCP_SRC_IO_SPAWN_H
#define MCP_SRC_IO_SPAWN_H

#include <sys/types.h>

#include "base/base.h"

enum { MCP__SPAWN_FDS = 6 };

typedef struct mcp__spawn {
    const char *const *argv; /* argv[0] is looked up in PATH unless it has a slash */
    const char *const *env;  /* NULL means the environment of this process */
    const char *cwd;         /* NULL means the working directory of this process */
    int fds[MCP__SPAWN_FDS]; /* these become 0, 1, 2, …; all other descriptors are closed */
    int n_fds;
    uint64_t max_data;  /* RLIMIT_DATA in bytes; 0 leaves it unchanged */
    uint64_t max_files; /* RLIMIT_NOFILE; 0 leaves it unchanged */
    bool no_core;       /* sets RLIMIT_CORE to 0 */
    bool yields;        /* the process gets a lower priority than the calling process */
    bool with_parent;   /* the process gets SIGKILL when the thread that started it ends */
} mcp__spawn;

/* Starts a process that leads a new session. All signals are unblocked and have their default
 * actions. The caller reaps the process with waitpid(). Returns MCP_OK, MCP_ENOTFOUND, MCP_EACCESS
 * or MCP_EIO; the error names the program or the folder. */
int mcp__spawn_process(const mcp__spawn *s, pid_t *ret, mcp_error *error);

#endif
