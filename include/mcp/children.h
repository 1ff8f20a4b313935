/* mcp/children.h: child processes that run while they are needed: started by the first use, ended
 * when idle, started again after a failure with growing pauses, within limits. Part of libmcp-io.
 *
 * mcp_child_spawn() (mcp/io.h) starts one process once. A mcp_service keeps one: it connects the
 * same client to each process that it starts. Use it for processes that may fail without taking the
 * program along: parsers of foreign data, servers of others.
 *
 * Everything belongs to the loop's thread.
 */
#ifndef MCP_CHILDREN_H
#define MCP_CHILDREN_H

#include <mcp/io.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_service mcp_service;

/* Why a process ended. */
typedef enum mcp_service_cause {
    MCP_SERVICE_IDLE,    /* nobody used it */
    MCP_SERVICE_STOPPED, /* mcp_service_stop(), mcp_service_free() */
    MCP_SERVICE_EXITED,  /* by itself, whatever its status */
    MCP_SERVICE_KILLED,  /* by a signal that is not ours */
    MCP_SERVICE_REFUSED, /* it does not start, or answers no handshake */
    MCP_SERVICE_ABORTED, /* mcp_service_abort() */
} mcp_service_cause;

typedef struct mcp_service_end {
    size_t size; /* set by the library */
    mcp_service_cause cause;
    int status;        /* exit status, or 128 + signal; -1: it never ran */
    const char *text;  /* for people; borrowed until the callback returns */
    uint64_t pause_ms; /* the next process is started after this time at the earliest */
} mcp_service_end;

typedef struct mcp_service_options {
    size_t size;
    const char *name;        /* for the log, errors and metrics; required. All texts are copied */
    const char *const *argv; /* as mcp_child_options; required */
    const char *const *env;  /* as mcp_child_options */
    const char *cwd;
    mcp_client *client; /* connected to each process, and started; outlives the service. Required */

    /* The process gets its messages over a socket as descriptor 3, instead of stdin and stdout.
     * Its stdin is then /dev/null, and its stdout is its stderr. */
    bool socket;
    /* With `socket`: is sent as the first line. Without a newline. */
    const char *first_line;
    /* With `socket`: makes the end of something else that the process gets as descriptor 4. The
     * service closes it in this process. A negative number: the start fails. NULL: nothing. */
    int (*fourth)(void *user);

    /* Limits, set before the program runs; 0: as this process. Core dumps are always off. */
    uint64_t max_data;  /* RLIMIT_DATA, bytes of private memory */
    uint64_t max_files; /* RLIMIT_NOFILE */
    bool low_priority;  /* SCHED_IDLE: runs only when nothing else wants to */
    /* The process gets SIGKILL when the thread of the loop ends, however it ends. Without it, it
     * only sees the end of its input. */
    bool with_parent;

    uint64_t idle_ms;  /* ends this long after the last use; 60,000. UINT64_MAX: never */
    uint64_t start_ms; /* a process that has not answered the handshake by then is killed; 10,000 */
    uint64_t kill_ms;  /* as mcp_child_options */
    /* The pause after the second failure in a row (there is none after the first). It is doubled
     * for each further failure, up to max_pause_ms. A process that was up for 10 seconds was no
     * failure of its start. 100 and 60,000. */
    uint64_t pause_ms, max_pause_ms;

    /* A process ended, and the client's pending calls have failed. NULL is allowed. */
    void (*on_end)(const mcp_service_end *end, void *user);
    /* Gets a line for the operator: the name, and what the process wrote to stderr, with control
     * characters escaped, at most 100 lines at once and 20 a second; how many were left out is
     * told. NULL: the loop's log. level: "info" or "warning". */
    void (*log)(const char *level, const char *line, void *user);
    void *user;
} mcp_service_options;

/* Makes a service; nothing is started yet. MCP_EINVAL (a required option is missing, a time is out
 * of range), MCP_ENOMEM. */
MCP_API int mcp_service_new(mcp_loop *loop, const mcp_service_options *options, mcp_service **ret,
                            mcp_error *error);
/* Ends the process in an orderly way, in the background, and frees the service: the client is
 * disconnected at once and may then be freed. Uses that wait are forgotten. May be called from
 * callbacks other than those of the client. What is still running when the loop is freed is
 * killed. NULL is allowed. */
MCP_API void mcp_service_free(mcp_service *service);

/* One use of the process, in the caller's memory; zero it first. While any use is held, the process
 * is not idle. This struct never changes. */
typedef struct mcp_service_use {
    /* The process is up (MCP_OK), or will not be: MCP_ETIMEOUT, MCP_ECLOSED, MCP_ENOTFOUND, … with
     * the reason; the use then has ended. Called from the loop, once. */
    void (*ready)(int rc, const mcp_error *error, void *user);
    void *user;
    struct mcp_service_use *prev, *next; /* of the library */
    size_t state;                        /* of the library */
} mcp_service_use;

/* Needs the process. MCP_OK: it is up, and `ready` is not called. MCP_PENDING: `ready` is called.
 * MCP_ECLOSED: it failed repeatedly, and the next start is more than a second away; the error says
 * when it is. MCP_EINVAL. */
MCP_API int mcp_service_begin(mcp_service *service, mcp_service_use *use, mcp_error *error);
/* The use is over, or is not waited for any more. Does nothing for one that has ended. A use is not
 * ended by the end of the process. */
MCP_API void mcp_service_done(mcp_service *service, mcp_service_use *use);

/* Ends the process in an orderly way: its input is closed, then SIGTERM and SIGKILL go to its group.
 * The next use, or one that waits, starts another one. */
MCP_API void mcp_service_stop(mcp_service *service);
/* Kills the process: it took too long. `why` is the reason that waiting calls get. */
MCP_API void mcp_service_abort(mcp_service *service, const char *why);

typedef struct mcp_service_state {
    size_t size;
    const char *name;
    long pid; /* 0: none is running */
    bool up;  /* and answers */
    uint64_t starts;
    uint64_t ends[8];               /* by mcp_service_cause */
    uint64_t failures;              /* in a row */
    uint64_t memory;                /* its private memory in bytes, now; 0: not known */
    uint64_t lines, lines_left_out; /* of stderr */
    uint64_t uses;                  /* that are held or wait */
} mcp_service_state;

/* Writes the current state. Set `size` before the call. */
MCP_API void mcp_service_get_state(const mcp_service *service, mcp_service_state *ret);
/* The word for a cause in metrics: "idle", "stopped", "exited", …; NULL past the end. */
MCP_API const char *mcp_service_cause_name(size_t cause);

/* ---- the sandbox ------------------------------------------------------------------------------- */

/* What a process can give up. Each kind alone is worth something, because a kernel or a container
 * may not have the others. */
typedef enum mcp_sandbox_kind {
    MCP_SANDBOX_FILES = 1 << 0,    /* it opens files below the given paths only (Landlock) */
    MCP_SANDBOX_TRUNCATE = 1 << 1, /* and empties no others (Linux 6.2) */
    MCP_SANDBOX_NETWORK = 1 << 2,  /* no TCP (Linux 6.7) */
    MCP_SANDBOX_DEVICES = 1 << 3,  /* no commands to devices (Linux 6.10) */
    MCP_SANDBOX_SIGNALS =
        1 << 4, /* no signals to, and no abstract sockets of, others (Linux 6.12) */
    /* Only system calls of a list: no sockets, no programs, no processes, no tracing, no signals
     * (seccomp by libseccomp 2, x86-64 and arm64). */
    MCP_SANDBOX_CALLS = 1 << 5,
} mcp_sandbox_kind;

typedef struct mcp_sandbox_options {
    size_t size;
    /* Files, and folders with all that is in them, that may be read, and those that may be read and
     * written; NULL-terminated; NULL: none. What does not exist is skipped. Shared libraries,
     * /etc/localtime, /dev/null and /dev/urandom may always be read. Whether a path exists, and its
     * size and times, is not kept from the process. */
    const char *const *read, *const *write;
    size_t required; /* kinds; without one of them the call fails */
} mcp_sandbox_options;

/* Enters the sandbox, for good: the calling thread and those that it starts. Call it while there is
 * no other thread, after loading modules and before foreign data is parsed. Descriptors that are
 * open stay open. The process also gives up new privileges by exec (no_new_privs) and cannot be
 * traced or dumped (PR_SET_DUMPABLE).
 *
 * Gives up each kind that is available here, and writes those to ret, which may be NULL. MCP_EIO,
 * MCP_ENOMEM, MCP_EUNSUPPORTED (a required kind is missing): the process should end. */
MCP_API int mcp_sandbox_enter(const mcp_sandbox_options *options, unsigned *ret, mcp_error *error);

typedef struct mcp_sandbox_part {
    size_t size;
    const char *name;    /* "files" */
    const char *without; /* what a process can do where it is not given; static texts */
    mcp_sandbox_kind kind;
    int given; /* 1: the kernel or the container gives it; 0 */
} mcp_sandbox_part;

/* Describes the part with this index, from 0, and whether it is available, without entering. Set
 * `size` before the call. MCP_OK, MCP_ENOTFOUND (there are no more), MCP_EINVAL. */
MCP_API int mcp_sandbox_probe(size_t index, mcp_sandbox_part *ret);

#ifdef __cplusplus
}
#endif
#endif
