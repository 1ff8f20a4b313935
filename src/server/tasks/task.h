/* task.h: the internal side of mcp/task.h.
 *
 * task.c makes, changes and ends tasks, task_setup.c says whether there are any, task_store.c keeps them in memory,
 * task_method.c answers tasks/…, task_write.c writes them, task_input.c asks the client, task_notice.c tells who
 * listens.
 */
#ifndef MCP_SRC_TASK_H
#define MCP_SRC_TASK_H

#include <mcp/task.h>

#include "server/tasks/tasks.h"

#define MCP__META_RELATED_TASK "io.modelcontextprotocol/related-task"
#define MCP__TASKS_CAPABILITY  "extensions." MCP__EXTENSION_TASKS

enum { MCP__TASK_ID = 22 }; /* 128 bits in base64url */

/* A call that runs as a task in this process. It goes with its request. */
typedef struct mcp__task {
    mcp__link link; /* in tasks->live, or in tasks->over when a handler still has the request */
    mcp_request *req;
    mcp__session *session; /* 2025-11-25: who is told, while it is there */
    mcp_task state;        /* as the store has it, but for the detail */
    char *message;
    char *principal;
    mcp__link waiters;     /* mcp_request: tasks/result */
    mcp__link watches;     /* mcp__task_watch */
    size_t bytes;          /* of its message and answers, counted in running_bytes */
    size_t max_reply;      /* of the channel that it came by */
    bool parked;           /* its handler returned MCP_INPUT_REQUIRED: the request is ours */
    mcp__link answered;    /* see task_input.c */
    mcp_channel *asked_on; /* 2025-11-25: where its questions are open; NULL: nowhere */
    mcp_exchange asked_exchange;
    char id[MCP__TASK_ID + 1];
} mcp__task;

/* What subscriptions/listen asked to hear of a task. */
typedef struct mcp__task_watch {
    mcp__link in_stream, in_task, in_dirty;
    mcp__stream *stream;
    char id[MCP__TASK_ID + 1];
} mcp__task_watch;

struct mcp__tasks {
    mcp_task_settings settings;
    mcp_task_store store;
    mcp__link live, over; /* mcp__task */
    mcp__map by_id;       /* the live ones */
    size_t running_bytes;
    int64_t due; /* when the next one's time may be over, in ms since 1970; INT64_MAX: none */
    mcp_host_timer *timer;
};

/* ---- task.c ----------------------------------------------------------------------------------------- */

/* Makes sure that there is a struct mcp__tasks, in whose store tasks can be kept. */
int mcp__tasks_need(mcp_server *server);
/* Reads the record of a task that this request's peer may know of; MCP_OK, or a negative code after
 * mcp_reply_fail(). */
int mcp__task_find(mcp_request *req, mcp_task *ret);
/* What the store has of a task. */
int mcp__task_get(const struct mcp__tasks *t, mcp_str id, mcp_task *ret);
/* As mcp__task_find(), without the error. */
int mcp__task_look(const mcp_request *req, mcp_str id, mcp_task *ret);
/* Whether a record is one that this request's peer may know of, and not over. */
bool mcp__task_is_seen(const mcp_request *req, const mcp_task *task, int64_t now);
/* The one that runs here, or NULL. */
mcp__task *mcp__task_live(const mcp_server *server, mcp_str id);
/* Counts what it keeps while it runs: MCP_OK, MCP_ELIMIT. */
int mcp__task_charge(const mcp_server *server, mcp__task *task, size_t bytes);
/* Says that the state changed: now to the store, soon to who watches. */
int mcp__task_changed(mcp__task *task, mcp_str detail);
/* Final at once; the handler hears of it. The task may be gone then. `message` is not copied. */
void mcp__task_cancel(mcp__task *task, mcp_str message);
/* The server goes: everything that runs is cancelled. */
void mcp__tasks_end(mcp_server *server);
/* Nobody in particular is somebody else than who has the empty name. */
static inline bool mcp__same_principal(mcp_str a, mcp_str b)
{
    return a.ptr ? b.ptr && mcp_str_eq(a, b) : !b.ptr;
}
static inline bool mcp__task_is_final(mcp_task_status status)
{
    return status >= MCP_TASK_COMPLETED;
}

/* ---- task_store.c ------------------------------------------------------------------------------------- */

int mcp__task_memory_new(const mcp_allocator *allocator, const mcp_task_settings *settings,
                         mcp_task_store *ret);

/* ---- task_method.c ------------------------------------------------------------------------------------ */

/* Answers the first tasks/result that waits for this one; record NULL: it is not kept any more. */
void mcp__task_serve_waiter(mcp__task *task, const mcp_task *record);

/* A tasks/result that waits for this one, or NULL. */
mcp_request *mcp__task_first_waiter(const mcp__task *task);

/* ---- task_write.c ------------------------------------------------------------------------------------- */

/* Writes the members of a task, each with a leading comma. */
void mcp__put_task(mcp__buf *b, const mcp__revision *revision, const mcp_task *task);
/* The same as an object. */
void mcp__put_task_object(mcp__buf *b, const mcp__revision *revision, const mcp_task *task);
/* The members with what is inlined in them, where the revision does that. */
void mcp__put_task_detail(mcp__buf *b, const mcp__revision *revision, const mcp_task *task);

/* ---- task_input.c ------------------------------------------------------------------------------------- */

/* The client answered (tasks/update): keys that are not asked for are ignored. The task may be gone then. */
int mcp__task_answer(mcp__task *task, const mcp_json *answers);
/* Sends what is to be asked with the tasks/result that waits, if there is one. */
void mcp__task_ask(mcp__task *task);
/* What was asked needs no answer any more. */
void mcp__task_withdraw(mcp__task *task);

/* ---- task_notice.c ------------------------------------------------------------------------------------ */

/* Marks who watches; tells the session that made it. */
void mcp__task_announce(mcp__task *task);
/* Nobody watches it any more. */
void mcp__task_unwatch_all(mcp__task *task);

#endif
