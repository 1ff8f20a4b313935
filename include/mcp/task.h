/* mcp/task.h: tool calls that outlive their request: the peer gets a handle at once and comes back for the
 * result.
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
 * The handler is the same for every peer. For one that can have tasks (2026-07-28: it declared the extension
 * io.modelcontextprotocol/tasks in this request; 2025-11-25: it asked for a task) mcp_request_task() answers
 * the request with the handle, and what the handler says from then on becomes the result of the task, kept for
 * its TTL. For every other peer the call goes on as it is. Builders, progress, input requests (mcp/input.h),
 * mcp_request_on_cancel() and mcp_reply_finish() work in both.
 *
 * A task does not end with its channel: it is cancelled by tasks/cancel, when its TTL is over, and by
 * mcp_server_free(). It belongs to the principal that made it, and to the revision it was made in: for
 * everybody else it does not exist. Peers that no transport knows by name share what they know the id of (128
 * random bits); they may list tasks only where they share one stream (stdio).
 *
 * https://github.com/modelcontextprotocol/ext-tasks; 2025-11-25, basic/utilities/tasks.
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
    /* How long the task and its result are kept, from its creation; what still runs then is cancelled. 0: what
     * the client asked for (2025-11-25), or default_ttl_ms; at most max_ttl_ms. */
    uint64_t ttl_ms;
    uint64_t poll_ms;    /* how often the client should look; 0: the server's */
    const char *message; /* what is going on, for people; NULL: nothing */
} mcp_task_options;

/* Makes a task of the request that is being answered, where the peer can have one. Before anything is added to
 * the reply; options may be NULL. Called again it changes what is not 0: the TTL (counted from the creation
 * all the same), the interval, the message.
 * MCP_OK, also when the call goes on without a task: mcp_request_task_id() tells. MCP_ELIMIT: there are too
 * many tasks, and the reply says so; MCP_ESTATE: not a call of a tool that declares task_support, or something
 * was added already; MCP_EIO: there is no randomness; MCP_ENOMEM. Return those. */
MCP_API int mcp_request_task(mcp_request *req, const mcp_task_options *options);

/* The id of the task that this request became; NULL: it is none. Lives as long as the request. */
MCP_API const char *mcp_request_task_id(const mcp_request *req);

/* Says what is going on; so does the message of mcp_request_progress(), but for a client that is sent its
 * progress (2025-11-25, with a progress token). Nothing happens where there is no task. MCP_OK, MCP_EINVAL (not
 * UTF-8), MCP_ENOMEM, or what the store says. */
MCP_API int mcp_request_task_message(mcp_request *req, const char *message);

/* ---- where tasks are kept -------------------------------------------------------------------- */

typedef enum mcp_task_status {
    MCP_TASK_WORKING = 0,
    MCP_TASK_INPUT_REQUIRED,
    MCP_TASK_COMPLETED, /* this and what follows are final */
    MCP_TASK_FAILED,
    MCP_TASK_CANCELLED,
} mcp_task_status;

/* A task as it is kept. Texts are UTF-8. */
typedef struct mcp_task {
    size_t size;
    uint64_t sequence; /* its place in the order of creation, above 0: the store's to give */
    mcp_str id;        /* 22 letters, digits, - and _ */
    mcp_str principal; /* .ptr NULL: nobody in particular */
    mcp_str revision;  /* "2026-07-28" */
    mcp_task_status status;
    bool is_error;      /* what `detail` is */
    mcp_str message;    /* empty: none */
    int64_t created_ms; /* since 1970 */
    int64_t updated_ms;
    uint64_t ttl_ms;
    uint64_t poll_ms;
    /* JSON text of an object: the result, the error (is_error), or of MCP_TASK_INPUT_REQUIRED what is asked
     * for; empty: none. */
    mcp_str detail;
} mcp_task;

/* For a store: copies as much of `from` as `to` has room for; `size` says that of both. */
static inline void mcp_task_copy(mcp_task *to, const mcp_task *from)
{
    size_t size = to->size;
    memcpy(to, from, size < from->size ? size : from->size);
    to->size = size;
}

/* A store of your own: a table of a database, say, so that results outlive the process. The server removes what
 * is over; it never has two tasks with the same id. Calls come on the server's thread and must not block for
 * long. */
typedef struct mcp_task_store {
    size_t size;
    void *user;
    /* Keeps a copy of a new task; MCP_OK, MCP_ELIMIT (there are too many), or another negative code. */
    int (*add)(const mcp_task *task, void *user);
    /* Keeps the new state of one: everything but sequence, id, principal, revision and created_ms may have
     * changed. MCP_OK, MCP_ENOTFOUND, MCP_ELIMIT (the detail is too large), …; then the old one is kept. */
    int (*update)(const mcp_task *task, void *user);
    /* Writes what is kept with mcp_task_copy(). MCP_OK, or MCP_ENOTFOUND, …. What *ret then points to is borrowed
     * until the next call. */
    int (*get)(mcp_str id, mcp_task *ret, void *user);
    /* Calls each(task, arg) for all with a higher sequence, in its order, until it returns anything but MCP_OK;
     * returns that. `each` may remove the task that it got, and no other. `detail` may be left out. */
    int (*list)(uint64_t after, int (*each)(const mcp_task *task, void *arg), void *arg,
                void *user);
    /* Forgets one; quietly when it is not there. */
    void (*remove)(mcp_str id, void *user);
    void (*release)(void *user); /* the server goes; may be NULL */
} mcp_task_store;

typedef struct mcp_task_settings {
    size_t size;
    uint64_t default_ttl_ms; /* an hour */
    uint64_t max_ttl_ms;     /* a day */
    uint64_t poll_ms;        /* 1000 */

    /* Of the store in memory, which is used when no other is given. What exceeds one is refused with an error
     * that names it. */
    size_t max_tasks;               /* 10000 */
    size_t max_tasks_per_principal; /* 1000; peers without a name are one */
    size_t max_bytes;               /* of all tasks, with their results; 64 MiB */
    /* In any case: of the messages of calls whose handlers still run, 1 KiB more for each call, and of clients'
     * answers to them; 64 MiB. */
    size_t max_running_bytes;

    const mcp_task_store *store; /* copied; all members but user and release are required */
} mcp_task_settings;

/* Tasks are offered from the first tool on that declares task_support; this says how, and has them offered
 * without such a tool. Before the first task. MCP_EINVAL (a member of the store is missing), MCP_ESTATE (there are tasks
 * already), MCP_ENOMEM; then the store is not released. */
MCP_API int mcp_server_set_tasks(mcp_server *server, const mcp_task_settings *settings,
                                 mcp_error *error);

/* Cancels every call that runs as a task, for the end of a program: before mcp_loop_drain() waits for the work of
 * their handlers. The transports of mcp/io.h do it where they lent the server their loop; so does
 * mcp_server_set_host() when it takes the host away. */
MCP_API void mcp_server_cancel_tasks(mcp_server *server);

#ifdef __cplusplus
}
#endif
#endif
