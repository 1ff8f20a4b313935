/* task.h: the implementation of mcp/task.h.
 *
 * task_make.c creates tasks, task.c finds and ends them, task_time.c removes expired ones,
 * task_setup.c enables them, task_store.c stores them in memory, task_method.c handles the methods
 * tasks/…, task_write.c writes tasks as JSON, task_input.c sends input requests to the client, and
 * task_notice.c sends notifications.
 */
#ifndef MCP_SRC_TASK_H
#define MCP_SRC_TASK_H

#include <mcp/task.h>

#include "server/tasks/tasks.h"

#define MCP__TASKS_CAPABILITY "extensions." MCP__EXTENSION_TASKS

enum { MCP__TASK_ID = 22 }; /* 128 bits in base64url: an id that names no instance */

/* A call that runs as a task in this process. It is freed with its request. */
typedef struct mcp__task {
    mcp__link link; /* in tasks->live, or in tasks->ended while a handler still runs */
    mcp_request *req;
    mcp__session *session; /* 2025-11-25: the session to notify; NULL if none */
    mcp_task state;        /* as in the store, but without the detail */
    char *message;
    char *binding;       /* of its caller, mcp_request_binding(); NULL if there is none */
    mcp__link waiters;   /* mcp_request of tasks/result */
    mcp__link watches;   /* mcp__task_watch */
    mcp__link in_unkept; /* in archive->unkept */
    size_t bytes;        /* of its message and answers, counted in running_bytes */
    size_t max_reply;    /* of the channel that received the call */
    bool parked;         /* its handler returned MCP_INPUT_REQUIRED; no handler is running */
    mcp__link answered;  /* struct answered, see task_input.c */
    mcp_channel *question_channel; /* 2025-11-25: the channel of its open questions; NULL if none */
    mcp_exchange question_exchange;
    char id[MCP_TASK_ID_BYTES + 1];
} mcp__task;

/* A subscription of subscriptions/listen to a task. */
typedef struct mcp__task_watch {
    mcp__link in_stream, in_task, in_dirty;
    mcp__stream *stream;
    mcp_str id; /* in `text` */
    char text[];
} mcp__task_watch;

struct mcp__tasks {
    mcp_task_settings settings;
    mcp_task_store store;
    mcp__link live, ended; /* mcp__task */
    mcp__map by_id;        /* only the live tasks */
    size_t running_bytes;
    mcp__link waits; /* mcp_task_wait */
    size_t n_waits;
    bool in_memory; /* the store is that of task_store.c */
    int64_t due;    /* when a task may expire next, in ms since 1970; INT64_MAX if never */
    mcp_host_timer *timer;
};

/* What an id says that names an instance. */
typedef struct mcp__task_id_parts {
    char unique[MCP__TASK_ID + 1];
    mcp_task_instance instance;
    int64_t created_ms;
    uint64_t ttl_ms;
    mcp_str revision; /* in `text` */
    char text[MCP_TASK_ID_BYTES];
} mcp__task_id_parts;

/* ---- task.c ---------------------------------------------------------------------------------- */

/* Creates struct mcp__tasks, with a store, if necessary. */
int mcp__tasks_need(mcp_server *server);
/* Reads the record of a task that this request's peer may see. Returns MCP_OK, or a negative code,
 * in most cases after mcp_reply_fail(); or MCP_PENDING, which the method returns, if the store answers
 * later: the method then runs again. */
int mcp__task_find(mcp_request *req, mcp_task *ret);
/* Reads the store's record of a task. */
int mcp__task_get(const struct mcp__tasks *t, mcp_str id, mcp_task *ret);
/* Like mcp__task_find(), but sets no error. */
int mcp__task_look(const mcp_request *req, mcp_str id, mcp_task *ret);
/* Returns whether this request's peer may see a record, and the task has not expired. */
bool mcp__task_is_seen(const mcp_request *req, const mcp_task *task, int64_t now);
/* Returns the task that runs in this process, or NULL. */
mcp__task *mcp__task_live(const mcp_server *server, mcp_str id);
/* Counts memory that a task holds while it runs. Returns MCP_OK or MCP_ELIMIT. */
int mcp__task_charge(const mcp_server *server, mcp__task *task, size_t bytes);
/* Records a change of the state in the store at once, and notifies subscribers soon. */
int mcp__task_changed(mcp__task *task, mcp_str detail);
/* Ends a task as cancelled at once and cancels its handler. The task may be freed. `message` is not
 * copied. */
void mcp__task_cancel(mcp__task *task, mcp_str message);
/* Removes an expired task. Cancels the task if it still runs. */
void mcp__task_expire(mcp_server *server, mcp_str id);
void mcp__task_free(mcp_server *server, mcp__task *task);
/* Cancels all tasks, because the server is being freed. */
void mcp__tasks_end(mcp_server *server);
/* Returns whether two callers are the same. An anonymous caller (NULL) differs from a principal
 * with an empty name. */
static inline bool mcp__same_principal(mcp_str a, mcp_str b)
{
    return a.ptr ? b.ptr && mcp_str_eq(a, b) : !b.ptr;
}
static inline bool mcp__task_is_final(mcp_task_status status)
{
    return status >= MCP_TASK_COMPLETED;
}

/* ---- task_time.c ----------------------------------------------------------------------------- */

/* Returns when a task expires, in ms since 1970. */
static inline int64_t mcp__task_end_ms(const mcp_task *task)
{
    return task->created_ms + (int64_t)MCP__MIN(task->ttl_ms, (uint64_t)INT64_MAX / 4);
}
/* Schedules a search for expired tasks at `end`. If no timer can be started, the ticks of the
 * channels do the search. */
void mcp__tasks_due_at(mcp_server *server, int64_t end);
void mcp__tasks_stop_timer(mcp_server *server);

/* ---- task_elsewhere.c ----------------------------------------------------------------------------- */

/* A task that the store does not have at hand, as far as it is known. In the arena of the request. */
typedef struct mcp__task_found {
    int rc;
    mcp_task task; /* without an id if nothing is kept about it */
    bool away;     /* it may still run at an instance that this request did not reach */
} mcp__task_found;

static inline mcp__task_found *mcp__task_found_of(const mcp_request *req)
{
    return req->own.data; /* no handler has such a request */
}

/* Looks for a task elsewhere. Returns MCP_OK and *ret, MCP_PENDING, or a negative code. */
int mcp__task_find_elsewhere(mcp_request *req, mcp_str id, mcp_task *ret);
/* Returns MCP_OK, or fails if the task that mcp__task_find() found is away. */
int mcp__task_check_here(mcp_request *req);
/* End a wait: with the record of a task, as mcp_task_found(), but it may be away, and `task` may be NULL
 * then; or because its instance has ended. */
void mcp__task_wait_end(mcp_task_wait *wait, int rc, const mcp_task *task, bool away);
void mcp__task_wait_lost(mcp_task_wait *wait, const mcp__task_id_parts *parts);
/* Frees waits whose requests have ended. */
void mcp__task_waits_free(mcp_server *server);

/* ---- task_instance.c ----------------------------------------------------------------------------- */

/* Gives a new task its id. Returns MCP_OK, MCP_EIO (no randomness), MCP_ENOMEM, or another code of
 * mcp_server_seal(). */
int mcp__task_set_id(mcp_server *server, mcp__task *task);
/* Reads an id. Returns MCP_OK, MCP_ENOMEM, or MCP_ENOTFOUND if it names no instance, or is the id of
 * another caller's task. `owner` is mcp_task.principal. */
int mcp__task_read_id(mcp_server *server, mcp_str owner, mcp_str id, mcp__task_id_parts *ret);
/* Returns whether this is the instance of the task. */
static inline bool mcp__task_is_here(const mcp_server *server, const mcp__task_id_parts *t)
{
    return server->task_instance &&
           strcmp(server->task_instance->instance, t->instance.instance) == 0;
}

/* ---- task_record.c --------------------------------------------------------------------------- */

/* Appends the text of a task that is kept for other instances, without its id and sequence. */
void mcp__task_record_put(mcp__buf *b, const mcp_task *task);
/* Reads such a text, to which *ret then refers. Returns MCP_OK, MCP_EINVAL or MCP_ENOMEM. */
int mcp__task_record_read(mcp_str text, const mcp_allocator *allocator, mcp_task *ret);

/* ---- task_archive.c -------------------------------------------------------------------------- */

/* Keeps a changed state of a task for the other instances, soon or at once. */
void mcp__archive_changed(mcp__task *task, const mcp_task *state);
/* Finds a task of another instance. Returns MCP_PENDING if it will end the wait, or a negative code;
 * MCP_EUNSUPPORTED if there is no archive. */
int mcp__archive_find(mcp_server *server, mcp_task_wait *wait, const mcp__task_id_parts *parts);

/* ---- task_store.c ---------------------------------------------------------------------------- */

int mcp__task_memory_new(const mcp_allocator *allocator, const mcp_task_settings *settings,
                         mcp_task_store *ret);

/* ---- task_method.c --------------------------------------------------------------------------- */

/* Answers the first tasks/result that waits for this task. `record` is NULL if the task is not
 * stored any more. */
void mcp__task_serve_waiter(mcp__task *task, const mcp_task *record);

/* Returns a tasks/result that waits for this task, or NULL. */
mcp_request *mcp__task_first_waiter(const mcp__task *task);

/* ---- task_write.c ---------------------------------------------------------------------------- */

/* Writes the members of a task, each with a leading comma. */
void mcp__put_task(mcp__buf *b, const mcp__revision *revision, const mcp_task *task);
/* Writes the members as an object. */
void mcp__put_task_object(mcp__buf *b, const mcp__revision *revision, const mcp_task *task);
/* Writes the members, including the result, error or input requests if the revision inlines
 * them. */
void mcp__put_task_detail(mcp__buf *b, const mcp__revision *revision, const mcp_task *task);

/* ---- task_input.c ---------------------------------------------------------------------------- */

/* Processes the client's answers (tasks/update), whose text is `text`, if it is known. Unknown keys
 * are ignored. The task may be freed. */
int mcp__task_answer(mcp__task *task, const mcp_json *answers, mcp_str text);
/* Sends the open questions in the exchange of a waiting tasks/result, if there is one. */
void mcp__task_ask(mcp__task *task);
/* Withdraws the open questions. */
void mcp__task_withdraw(mcp__task *task);

/* ---- task_notice.c --------------------------------------------------------------------------- */

/* Marks the watches, and notifies the session that created the task. */
void mcp__task_announce(mcp__task *task);
/* Frees all watches of a task. */
void mcp__task_unwatch_all(mcp__task *task);

#endif
