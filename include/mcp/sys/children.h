/* mcp/sys/children.h: child processes that run only while they are used. Such a process is started by
 * its first use, ended when idle, and started again after a failure, with growing pauses. Its
 * resources can be limited. Part of libmcp-io.
 *
 * mcp_child_spawn() (mcp/io.h) starts one process once. An mcp_service restarts its process and
 * connects the same client to each process that it starts. Use it for code whose failure must not
 * end the program, such as parsers of untrusted data and servers of other vendors.
 *
 * All functions must be called on the loop's thread.
 *
 * Like all headers of mcp/sys it may change in any minor version until 1.0
 * (docs/api-stability.md).
 */
#ifndef MCP_SYS_CHILDREN_H
#define MCP_SYS_CHILDREN_H

#include <mcp/io.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_service mcp_service;

/* Why a process ended. */
typedef enum mcp_service_cause {
    MCP_SERVICE_IDLE,    /* it was not used for idle_ms */
    MCP_SERVICE_STOPPED, /* mcp_service_stop() or mcp_service_free() ended it */
    MCP_SERVICE_EXITED,  /* it exited by itself, with any status */
    MCP_SERVICE_KILLED,  /* a signal that the service did not send ended it */
    MCP_SERVICE_REFUSED, /* it did not start, or did not answer the handshake */
    MCP_SERVICE_ABORTED, /* mcp_service_abort() killed it */
} mcp_service_cause;

typedef struct mcp_service_end {
    size_t size; /* set by the library */
    mcp_service_cause cause;
    int status;        /* exit status, or 128 + signal; -1 if it never ran */
    const char *text;  /* the reason, for people; borrowed until the callback returns */
    uint64_t pause_ms; /* the shortest time until the next process is started */
} mcp_service_end;

typedef struct mcp_service_options {
    size_t size;
    const char *name;        /* for the log, errors and metrics; required. All strings are copied */
    const char *const *argv; /* as in mcp_child_options; required */
    const char *const *env;  /* as in mcp_child_options */
    const char *cwd;
    /* The client that the service connects to each process and starts. It must outlive the service.
     * Required. */
    mcp_client *client;

    /* The process reads messages from its descriptor 3 and writes messages to its descriptor 5,
     * instead of stdin and stdout. Both are pipes. Its stdin is then /dev/null, and its stdout is
     * the same as its stderr. */
    bool own_pipes;
    /* With `own_pipes`: a line that is sent before all messages. It has no newline at its end. */
    const char *first_line;
    /* With `own_pipes`: returns a descriptor that the process gets as its descriptor 4, such as one
     * end of a socket. The service closes this descriptor in the calling process. If the function
     * returns a negative number, the start fails. If this is NULL, descriptor 4 is /dev/null. */
    int (*fourth)(void *user);

    /* Limits of the new process, which are set before its program runs. 0 means the limit that the
     * calling process has. Core dumps are always off. */
    uint64_t max_data;  /* RLIMIT_DATA: private memory in bytes */
    uint64_t max_files; /* RLIMIT_NOFILE */
    bool low_priority;  /* SCHED_BATCH, and a nice value that is 5 higher */
    /* The process gets SIGKILL when the thread of the loop ends, however that thread ends. If this
     * is false, the process only sees the end of its input. */
    bool with_parent;

    /* The time from the last use until the process is ended. The default is 60,000; UINT64_MAX
     * means never. */
    uint64_t idle_ms;
    /* A process that has not answered the handshake after this time is killed. The default is
     * 10,000. */
    uint64_t start_ms;
    uint64_t kill_ms; /* as in mcp_child_options */
    /* The pause after the second failure in a row. There is no pause after the first failure. Each
     * further failure doubles the pause, up to max_pause_ms. The end of a process that ran for at
     * least 10 seconds does not count as a failure. The defaults are 100 and 60,000. */
    uint64_t pause_ms, max_pause_ms;

    /* Called after a process ended and the client's pending calls failed. May be NULL. */
    void (*on_end)(const mcp_service_end *end, void *user);
    /* Called with a line for the operator: the name of the service, and a line that the process
     * wrote to stderr, with control characters escaped. At most 20 lines per second are passed on
     * average, and at most 100 at once. The other lines are dropped, and their number is reported.
     * level is "info" or "warning". NULL selects the loop's log. */
    void (*log)(const char *level, const char *line, void *user);
    void *user;
    /* How many messages of the process are read in a second, on average, at most 1,000,000; each 4 KiB
     * count as a further message. Those of one second may arrive at once. After that, its output is
     * read more slowly, so that the process has to wait. 0 means no limit. */
    size_t messages_per_second;
    /* Called when the process has to wait because of messages_per_second, at most once in ten seconds.
     * Must not call the client. May be NULL. */
    void (*slowed)(void *user);
} mcp_service_options;

/* Makes a service. No process is started yet. Returns MCP_OK, MCP_EINVAL (a required option is
 * missing, a time is out of range) or MCP_ENOMEM. */
MCP_API int mcp_service_new(mcp_loop *loop, const mcp_service_options *options, mcp_service **ret,
                            mcp_error *error);
/* Ends the process in an orderly way, in the background, and frees the service. The client is
 * disconnected at once and may then be freed. `ready` is not called for uses that are still
 * waiting. May be called from callbacks other than those of the client. A process that still runs
 * when the loop is freed is killed. NULL is allowed. */
MCP_API void mcp_service_free(mcp_service *service);

/* One use of the process. The caller provides the memory and must set it to zero first. While there
 * is a use that has not ended, the process is not idle. Future versions will not append members to
 * this struct. */
typedef struct mcp_service_use {
    /* Called once, from the loop, when the process is ready (MCP_OK) or could not be started
     * (MCP_ETIMEOUT, MCP_ECLOSED, MCP_ENOTFOUND, …, with the reason in *error). After a failure the
     * use has ended. */
    void (*ready)(int rc, const mcp_error *error, void *user);
    void *user;
    struct mcp_service_use *prev, *next; /* private */
    size_t state;                        /* private */
} mcp_service_use;

/* Begins a use, and starts the process if it is not running. Returns MCP_OK if the process is
 * ready; `ready` is not called then. Returns MCP_PENDING if `ready` will be called. Returns
 * MCP_ECLOSED if the process failed repeatedly and will not be started within the next second;
 * *error says when it will be. Returns MCP_EINVAL for an invalid argument. */
MCP_API int mcp_service_begin(mcp_service *service, mcp_service_use *use, mcp_error *error);
/* Ends a use, whether it is active or still waiting. Does nothing if the use has ended. The end of
 * the process does not end a use. */
MCP_API void mcp_service_done(mcp_service *service, mcp_service_use *use);

/* Ends the process in an orderly way: its input is closed, then SIGTERM and SIGKILL are sent to its
 * process group. The next use, or one that is waiting, starts another process without a pause.
 * If no process is running, only cancels such a pause. */
MCP_API void mcp_service_stop(mcp_service *service);
/* Kills the process, for example because it took too long. `why` is the error text of the pending
 * calls. */
MCP_API void mcp_service_abort(mcp_service *service, const char *why);

typedef struct mcp_service_state {
    size_t size;
    const char *name;
    long pid; /* 0 if none is running */
    bool up;  /* the process runs and has answered the handshake */
    uint64_t starts;
    uint64_t ends[8];               /* number of processes that ended, by mcp_service_cause */
    uint64_t failures;              /* current number of failures in a row */
    uint64_t memory;                /* current private memory in bytes; 0 if unknown */
    uint64_t lines, lines_left_out; /* lines of stderr: all of them, and those not logged */
    uint64_t uses;                  /* number of uses, active and waiting */
} mcp_service_state;

/* Writes the current state. Set `size` before the call. */
MCP_API void mcp_service_get_state(const mcp_service *service, mcp_service_state *ret);
/* Returns the word for a cause in metrics ("idle", "stopped", "exited", …), or NULL past the
 * end. */
MCP_API const char *mcp_service_cause_name(size_t cause);

/* ---- the sandbox ----------------------------------------------------------------------------- */

/* The rights that a process can give up. Each kind can be given up alone, because a kernel or a
 * container may support some kinds and not others. */
typedef enum mcp_sandbox_kind {
    MCP_SANDBOX_FILES = 1 << 0,    /* opening files that the options do not list (Landlock) */
    MCP_SANDBOX_TRUNCATE = 1 << 1, /* truncating such files (Linux 6.2) */
    MCP_SANDBOX_NETWORK = 1 << 2,  /* using TCP (Linux 6.7) */
    MCP_SANDBOX_DEVICES = 1 << 3,  /* sending commands (ioctl) to devices (Linux 6.10) */
    MCP_SANDBOX_SIGNALS =
        /* sending signals to other processes, and connecting to their abstract sockets (Linux
         * 6.12) */
    1 << 4,
    /* Making system calls that are not on a fixed list of allowed calls. The list contains no call
     * that opens sockets, runs programs, starts or traces processes, or sends signals (seccomp by
     * libseccomp 2.5, x86-64 and arm64). */
    MCP_SANDBOX_CALLS = 1 << 5,
} mcp_sandbox_kind;

typedef struct mcp_sandbox_options {
    size_t size;
    /* `read` lists files and folders that may be read, and `write` those that may be read and
     * written. A folder includes everything in it. The arrays are NULL-terminated; NULL means none.
     * Paths that do not exist are skipped. Shared libraries, /etc/localtime, /dev/null and
     * /dev/urandom may always be read. For any path, the process can still find out whether the
     * file exists, and its size and times. */
    const char *const *read, *const *write;
    /* MCP_SANDBOX_* combined with |; if one of them is not available, the call fails */
    size_t required;
    /* The process is going to run another program (exec), which stays in the sandbox, as do all
     * processes that it starts. It may read and run files in `read` and `write`, in /usr, /bin and
     * /lib, and read what programs commonly need in /etc, /dev, /proc and /sys. The list of allowed
     * calls is a longer one: it has those that start processes and send signals, which
     * MCP_SANDBOX_SIGNALS limits to the processes in the sandbox, so it should be required.
     *
     * With `write`, mcp_sandbox_enter() forks and returns in the new process. The calling process
     * stays outside as its parent, changes modes, owners and times of files in `write` for the
     * program, and exits with the status of the program (128 + signal). If it is killed, the program
     * is killed, too. Without `write` such changes fail. */
    int runs_program;
    /* With runs_program: sockets for IPv4, IPv6 and netlink are allowed. Sockets for Unix never are. */
    int network;
} mcp_sandbox_options;

/* Puts the calling thread, and the threads that it starts later, into the sandbox permanently. Call
 * it while there is no other thread, after loading modules and before parsing untrusted data. Open
 * descriptors stay open. Afterwards the process cannot gain privileges by exec (no_new_privs), and
 * cannot be traced or dumped (PR_SET_DUMPABLE). It has no capabilities except those to read and
 * write files of others (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH), a stack of at most 64 MiB, and it
 * cannot start threads while its user has more than half of the tasks that the user may have, or
 * more than 16,384 (RLIMIT_NPROC, which does not limit root).
 *
 * Gives up each kind of right that the kernel and the container support, and writes these kinds to
 * *ret. ret may be NULL. Returns MCP_OK, MCP_EIO, MCP_ENOMEM, MCP_ESTATE (another thread runs; a
 * module may have started it) or MCP_EUNSUPPORTED (a required kind is not available). After a
 * failure the process should end. */
MCP_API int mcp_sandbox_enter(const mcp_sandbox_options *options, unsigned *ret, mcp_error *error);

typedef struct mcp_sandbox_part {
    size_t size;
    const char *name;    /* for example "files" */
    const char *without; /* what a process can still do without this part; static storage */
    mcp_sandbox_kind kind;
    int given; /* 1 if the kernel and the container support it, else 0 */
} mcp_sandbox_part;

/* Describes the part of the sandbox with this index, from 0, and whether it is available, without
 * entering the sandbox. Set `size` before the call. Returns MCP_OK, MCP_ENOTFOUND (past the last
 * part) or MCP_EINVAL. */
MCP_API int mcp_sandbox_probe(size_t index, mcp_sandbox_part *ret);

#ifdef __cplusplus
}
#endif
#endif
