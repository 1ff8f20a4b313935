/* mcp/task.h: tool calls that outlive their request: the peer gets a handle at once and fetches the
 * result later.
 *
 *     static int compute(mcp_request *req, const mcp_json *arguments, void *user)
 *     {
 *         int rc = mcp_request_task(req, MCP_OPTIONS(mcp_task_options, .ttl_ms = 600000));
 *         if (rc != MCP_OK)
 *             return rc;
 *         … start the work …
 *         return MCP_PENDING;               // mcp_reply_finish() later, as in any other call
 *     }
 *     static const mcp_tool compute_tool = {… .task_support = MCP_TASK_OPTIONAL, .call = compute};
 *
 * The handler is the same for every peer. For a peer that supports tasks (in 2026-07-28 it declared
 * the extension io.modelcontextprotocol/tasks in this request; in 2025-11-25 it requested a task)
 * mcp_request_task() answers the request with the handle, and the reply that the handler then
 * builds becomes the result of the task, which is kept for its TTL. For every other peer the call
 * continues as usual. Builders, progress, input requests (mcp/input.h), mcp_request_on_cancel() and
 * mcp_reply_finish() work in both cases.
 *
 * A task does not end with its channel. It is cancelled by tasks/cancel, when its TTL expires, and
 * by mcp_server_free(). It belongs to the principal and the revision with which it was made. For
 * all others, the task does not exist. Anonymous peers can use any anonymous task whose id they
 * know (128 random bits); they may list tasks only if all exchanges share one stream (stdio). Nobody may list the tasks of
 * one of several instances (mcp_server_set_task_instance() in mcp/sys/server.h) whose store is that in memory, because a list must have all tasks.
 *
 * See https://github.com/modelcontextprotocol/ext-tasks, and 2025-11-25, basic/utilities/tasks.
 */
#ifndef MCP_TASK_H
#define MCP_TASK_H

#include <mcp/base.h>
#include <mcp/request.h>
#include <mcp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- for handlers ---------------------------------------------------------------------------- */

typedef struct mcp_task_options {
    size_t size;
    /* How long the task and its result are kept, counted from its creation, at most max_ttl_ms. A
     * task that still runs after that time is cancelled. 0 selects the TTL that the client
     * requested (2025-11-25), or default_ttl_ms. */
    uint64_t ttl_ms;
    /* the interval at which the client should poll; 0 selects the server's default */
    uint64_t poll_ms;
    const char *message; /* the status message, for people; NULL if none */
} mcp_task_options;

/* Turns the request into a task if the peer supports tasks. Call it before anything is added to the
 * reply; options may be NULL. A second call changes those options that are not 0. The TTL is still
 * counted from the creation of the task. Returns MCP_OK even if the call continues without a task;
 * mcp_request_task_id() returns NULL in that case. Otherwise returns MCP_ELIMIT (too many tasks;
 * the reply is an error that says this), MCP_ESTATE (not a call of a tool that declares
 * task_support, or the reply is not empty), MCP_EIO (no randomness) or MCP_ENOMEM, which the
 * handler must return. */
MCP_API int mcp_request_task(mcp_request *req, const mcp_task_options *options);

/* Returns the id of the task that this request became, or NULL if it is not a task. The string
 * lives as long as the request. */
MCP_API const char *mcp_request_task_id(const mcp_request *req);

/* Sets the status message of the task; does nothing if the request is not a task.
 * mcp_request_progress() sets it too, unless the client gets progress notifications (2025-11-25,
 * with a progress token). Returns MCP_OK, MCP_EINVAL (not UTF-8), MCP_ENOMEM, or an error of the
 * store. */
MCP_API int mcp_request_task_message(mcp_request *req, const char *message);

/* ---- task stores ----------------------------------------------------------------------------- */

typedef enum mcp_task_status {
    MCP_TASK_WORKING = 0,
    MCP_TASK_INPUT_REQUIRED,
    MCP_TASK_COMPLETED, /* this and the following are final */
    MCP_TASK_FAILED,
    MCP_TASK_CANCELLED,
} mcp_task_status;

enum { MCP_TASK_ID_BYTES = 512 }; /* the longest id of a task */

/* A task in a store. Strings are UTF-8. */
typedef struct mcp_task {
    size_t size;
    uint64_t sequence; /* its position in the order of creation, above 0; set by the store */
    mcp_str
        id; /* 22 letters, digits, - and _; if the server has a mcp_task_instance, up to MCP_TASK_ID_BYTES */
    mcp_str principal; /* of its caller, mcp_identity_binding(); ptr is NULL if anonymous */
    mcp_str revision;  /* for example "2026-07-28" */
    mcp_task_status status;
    bool is_error;      /* whether `detail` is an error */
    mcp_str message;    /* the status message; empty if none */
    int64_t created_ms; /* in milliseconds since 1970, like updated_ms */
    int64_t updated_ms;
    uint64_t ttl_ms;
    uint64_t poll_ms;
    /* JSON text of an object: the result, or the error if is_error is set, or the input requests if
     * the status is MCP_TASK_INPUT_REQUIRED. Empty if there is none. */
    mcp_str detail;
} mcp_task;

/* For a store: copies as many members of `from` as fit into `to`, according to the `size` of
 * both. */
static inline void mcp_task_copy(mcp_task *to, const mcp_task *from)
{
    size_t size = to->size;
    memcpy(to, from, size < from->size ? size : from->size);
    to->size = size;
}

/* A request that waits until a store has found a task; see mcp_task_store.fetch. */
typedef struct mcp_task_wait mcp_task_wait;

/* A custom store, for example a database table, so that results outlive the process. The server
 * removes expired tasks, and never adds two tasks with the same id. All functions are called on the
 * server's thread and must not block for long.
 *
 * A store that cannot answer at once, because it is at another machine, keeps the tasks of this
 * process until they are stored there, so that `add`, `update`, `get`, `list` and `remove` still
 * answer at once; and it has `fetch` for the other tasks. */
typedef struct mcp_task_store {
    size_t size;
    void *user;
    /* Stores a copy of a new task. Returns MCP_OK, MCP_ELIMIT (too many tasks) or another negative
     * code. */
    int (*add)(const mcp_task *task, void *user);
    /* Stores the new state of a task: everything but sequence, id, principal, revision and
     * created_ms may have changed. Returns MCP_OK, MCP_ENOTFOUND, MCP_ELIMIT (`detail` is too
     * large) or another negative code. After a failure the store must still have the old state. */
    int (*update)(const mcp_task *task, void *user);
    /* Writes the stored task to *ret with mcp_task_copy(). Returns MCP_OK, MCP_ENOTFOUND or another
     * negative code. The strings in *ret are borrowed until the next call of the store. */
    int (*get)(mcp_str id, mcp_task *ret, void *user);
    /* Calls each(task, arg) for all tasks whose sequence is higher than `after`, in ascending
     * order. Stops when `each` returns anything but MCP_OK, and returns that value. `each` may
     * remove the task that it got, but no other. `detail` may be left empty. */
    int (*list)(uint64_t after, int (*each)(const mcp_task *task, void *arg), void *arg,
                void *user);
    /* Removes a task; does nothing if it does not exist. */
    void (*remove)(mcp_str id, void *user);
    void (*release)(void *user); /* called when the server no longer needs the store; may be NULL */
    /* Finds a task that `get` does not have, for tasks/get, tasks/update, tasks/cancel and
     * tasks/result. Returns MCP_PENDING if it will call mcp_task_found() for this wait, once, now or
     * later; or MCP_ENOTFOUND or another negative code. Meanwhile the request waits, and the server
     * goes on. The request may end before the answer comes; the wait then still has to be ended. `id`
     * is valid during the call only. After `release`, mcp_task_found() must not be called. May be
     * NULL. */
    int (*fetch)(mcp_str id, mcp_task_wait *wait, void *user);
} mcp_task_store;

/* Ends a wait. `rc` is MCP_OK, MCP_ENOTFOUND or another negative code; `task` is the task if it is
 * MCP_OK, and is copied. Must be called on the server's thread. */
MCP_API void mcp_task_found(mcp_task_wait *wait, int rc, const mcp_task *task);

typedef struct mcp_task_settings {
    size_t size;
    uint64_t default_ttl_ms; /* default 3,600,000 (an hour) */
    uint64_t max_ttl_ms;     /* default 86,400,000 (a day) */
    uint64_t poll_ms;        /* default 1000 */

    /* Limits of the store in memory, which is used if `store` is NULL. A task that exceeds a limit
     * is rejected with an error that names it. */
    size_t max_tasks;               /* default 10000 */
    size_t max_tasks_per_principal; /* default 1000; all anonymous peers count as one principal */
    size_t max_bytes;               /* of all tasks, with their results; default 64 MiB */
    /* A limit with any store: the total bytes of the messages of calls whose handlers still run,
     * plus 1 KiB for each call, and of the clients' answers to their input requests. The default is
     * 64 MiB. */
    size_t max_running_bytes;

    const mcp_task_store *store; /* copied; all members but user, release and fetch are required */
    /* How many requests may wait at a time for a task that is fetched (mcp_task_store.fetch). Further
     * ones are answered with an error. The default is 1000. */
    size_t max_waiting;
} mcp_task_settings;

/* Configures tasks, and declares support for them even if no tool has task_support. (By default the
 * server declares support as soon as a tool with task_support is registered.) Call it before the
 * first task. Returns MCP_OK, MCP_EINVAL (a member of the store is missing), MCP_ESTATE (there are
 * tasks already) or MCP_ENOMEM. After a failure the store is not released. */
MCP_API int mcp_server_set_tasks(mcp_server *server, const mcp_task_settings *settings,
                                 mcp_error *error);

/* Cancels every call that runs as a task. Call it at the end of a program, before mcp_loop_drain(),
 * which waits for the work of their handlers. The transports of mcp/io.h call it if the server uses
 * the host of their loop because of them, and mcp_server_set_host() calls it when it removes the
 * host. */
MCP_API void mcp_server_cancel_tasks(mcp_server *server);

#ifdef __cplusplus
}
#endif
#endif
