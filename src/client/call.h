/* call.h: a call from its creation to its outcome, which may take several requests. */
#ifndef MCP_SRC_CLIENT_CALL_H
#define MCP_SRC_CLIENT_CALL_H

#include <mcp/client.h>

#include "base/base.h"
#include "channel/channel.h"
#include "protocol/revision.h"

typedef enum mcp__call_phase {
    MCP__CALL_QUEUED = 0, /* in client->calls.queue */
    MCP__CALL_SENT,       /* in client->calls.sent */
    MCP__CALL_PARKED,     /* in client->calls.parked; waits for answers or for the list of tools */
    MCP__CALL_FINISHED,   /* in client->calls.finished; its outcome waits for mcp_client_wait() */
} mcp__call_phase;

typedef struct mcp__pages mcp__pages;
typedef struct mcp__call_task mcp__call_task;

typedef struct mcp__call {
    mcp__link link;
    mcp_client *client;
    mcp_call_id handle;
    mcp__call_phase phase;

    mcp_str method; /* allocated after the struct, NUL-terminated */
    mcp_str name;   /* the value of Mcp-Name; also allocated after the struct */
    /* JSON members without braces. The first part has the members of params except _meta, the
     * second part those of the caller's _meta. */
    mcp__buf params;
    size_t members;        /* length of the first part, in bytes */
    mcp__buf input;        /* the members inputResponses and requestState of this round */
    mcp__buf capabilities; /* JSON text of the option; empty means those of the client */
    mcp_call_options options;
    const char *log_level; /* static storage */
    bool has_level;        /* the caller's _meta has a log level */
    bool notification;     /* a notification, which is queued only to keep the order */
    bool ping;             /* a ping, whose method depends on the era */
    bool no_store;         /* the result depends on more than the params */

    int64_t id; /* of the request in flight */
    int64_t sent_at;
    int64_t began_at; /* when its first attempt was sent */
    int64_t deadline; /* of all attempts together; 0 until the first one is repeated */
    unsigned repeats; /* number of attempts after broken event streams */
    int64_t due;      /* queued: earliest time to send it; parked: latest time to continue */
    double progress;
    bool progressed;
    uint64_t changes; /* client->learnt.changes when the call was sent */

    unsigned rounds;      /* number of rounds of questions */
    bool awaits_urls;     /* the user is visiting the URLs that the server named */
    bool relisted;        /* the list of tools was read again for this call */
    bool renewed;         /* repeated in a new session */
    mcp__pages *pages;    /* the pages of a list read so far */
    bool own_task;        /* the caller's params have a `task` */
    bool as_task;         /* sent with a `task` of the client */
    mcp__call_task *task; /* the task that the call has become; NULL if none */

    bool cancelled;
    char *reason; /* for the cancellation; NULL if none */

    bool keep; /* mcp_client_wait() will take the outcome */
    int rc;    /* the code of a kept call */
    mcp_json_doc
        *outcome;     /* of a kept call: the result; of a parked one: the error with its URLs */
    mcp_error *error; /* the error of a kept call */
} mcp__call;

/* ---- call.c ---------------------------------------------------------------------------------- */

/* Moves the call to the list of a phase. */
void mcp__call_move(mcp__call *call, mcp__call_phase phase);
/* Queues the call to be sent, or sent again. params, members and input must be up to date. */
void mcp__call_again(mcp__call *call, int64_t due);
/* Reports the outcome and frees the call, or keeps it for mcp_client_wait(). */
void mcp__call_finish(mcp__call *call, int rc, const mcp_json *result, const mcp_error *error);
/* Finishes the call with the text of an error code. */
void mcp__call_fail(mcp__call *call, int rc);
/* Returns the unfinished call with this handle, or NULL. */
mcp__call *mcp__call_find(mcp_client *client, mcp_call_id handle);
/* Returns the finished call with this handle whose outcome was kept, or NULL. */
mcp__call *mcp__call_finished(mcp_client *client, mcp_call_id handle);
void mcp__call_free(mcp__call *call);
/* Sends or queues a new call. On failure the call is freed. */
int mcp__call_begin(mcp__call *call, mcp_call_id *ret);
/* Sends queued calls. Must be called only during a call of the channel. */
void mcp__client_flush(mcp_client *client);
/* Finishes cancelled calls, and handles parked calls that are due. */
void mcp__client_sweep(mcp_client *client);
/* Finishes all queued and parked calls with this outcome. */
void mcp__client_fail_waiting(mcp_client *client, int rc, const mcp_json *result,
                              const mcp_error *error);
/* Returns when the earliest of the waiting calls is due. */
int64_t mcp__client_calls_due(const mcp_client *client);

/* ---- params.c -------------------------------------------------------------------------------- */

/* Allocates a call that is in no list yet. */
int mcp__call_new(mcp_client *client, mcp_str method, mcp_str params,
                  const mcp_call_options *options, mcp__call **ret);
/* Appends the params of the call in the form in which they are sent now. */
void mcp__call_put_params(const mcp__call *call, mcp__buf *b);

/* ---- answer.c -------------------------------------------------------------------------------- */

/* Interprets an answer of the channel by the rules of revision r. Returns the code for the
 * callback, or MCP_INPUT_REQUIRED. Sets *error if the returned code is negative. `ms` is the
 * time-out of the request, in milliseconds. */
int mcp__client_judge(const mcp_client *client, const mcp__revision *r, uint64_t ms, int rc,
                      const mcp_json *result, mcp_error *error);
void mcp__call_answered(mcp_channel *channel, int rc, const mcp_json *result, void *user);
/* Handles a successful result, from the server or from the cache. */
void mcp__call_succeeded(mcp__call *call, const mcp_json *result);
/* Returns the code of a JSON-RPC error. */
int64_t mcp__error_code(const mcp_json *error);

/* ---- shapes.c -------------------------------------------------------------------------------- */

/* Checks a result against the shape of a method in revision r. Returns MCP_OK, or MCP_EPROTOCOL with
 * an error that names the method. `shape` is the row of the table (protocol/shape.h). */
int mcp__answer_check(const mcp__revision *r, mcp_str shape, mcp_str method, const mcp_json *result,
                      mcp_error *error);
/* Checks the answer to a call; `asks` says whether it has input requests. If entries of a list are
 * malformed, *rest is the page without them, which the caller must free; else it is unchanged. */
int mcp__call_check(const mcp__call *call, bool asks, const mcp_json *result, mcp_json_doc **rest,
                    mcp_error *error);
/* Copies a page without the entries for which `left_out` is set. */
int mcp__page_without(const mcp_client *client, const mcp_json *page, mcp_str array,
                      const bool *left_out, mcp_json_doc **ret);

/* ---- reissue.c ------------------------------------------------------------------------------- */

/* Repeats the call if its event stream broke off and it has no side effects. Returns false if the
 * call is not repeated. If the stream broke off, *error then also says why the call is not
 * repeated. */
bool mcp__call_repeat(mcp__call *call, mcp_error *error);
/* Returns the time-out of the request that is sent for the call now, in milliseconds. */
uint64_t mcp__call_time(const mcp__call *call);

/* ---- pages.c --------------------------------------------------------------------------------- */

/* Processes a page. The call then requests the next page, or is finished. */
void mcp__pages_take(mcp__call *call, const mcp_json *result);
/* Checks that a result which is a page of a list has no more entries than allowed. */
int mcp__page_check(const mcp__call *call, const mcp_json *result, mcp_error *error);
/* Returns the member of a list's result that has its entries; empty if the method is no list. */
mcp_str mcp__array_of(mcp_str method);
/* Reads the list again from its first page after the server rejected a cursor that it had returned.
 * Returns false if the list is not read again: after other errors, after one restart, or if the
 * pages go to a callback. */
bool mcp__pages_restart(mcp__call *call, int64_t code);
void mcp__pages_free(mcp__pages *pages);

/* ---- task_poll.c ----------------------------------------------------------------------------- */

/* Returns whether the server of 2025-11-25 accepts tool calls as tasks, and the program has enabled
 * tasks. */
bool mcp__tasks_are_requested(const mcp_client *client);
/* Returns whether this call has to be sent with a `task`. */
bool mcp__call_task_is_wanted(const mcp__call *call);
/* Returns whether this result is a task that was created for the call. */
bool mcp__call_task_begins(const mcp__call *call, const mcp_json *result);
/* Continues the call as that task, or finishes it. */
void mcp__call_task_begin(mcp__call *call, const mcp_json *result);
/* Handles an answer to one of the task's requests. */
void mcp__call_task_answered(mcp__call *call, const mcp_json *result);
/* Handles a failure of one of the task's requests. Returns true if the call continues, or is
 * finished. */
bool mcp__call_task_failed(mcp__call *call, int rc);
/* Called before the call is finished with *rc and *error. Returns true if the call continues,
 * because the server is first requested to cancel the task. If the function returns false, it may
 * have changed *rc and *error. *error must not be part of the task. */
bool mcp__call_task_end(mcp__call *call, int *rc, mcp_error *error);
/* Returns whether the program has answered the question of the task with this key. */
bool mcp__call_task_has_answered(const mcp__call *call, mcp_str key);
/* Records that the question with this key has been answered. Returns MCP_OK or MCP_ENOMEM. */
int mcp__call_task_note_answer(mcp__call *call, mcp_str key);
/* Sends the answers in call->input to the task. */
void mcp__call_task_update(mcp__call *call);
void mcp__call_task_free(mcp__call *call);
/* Returns the handle of the call whose task a message of the server belongs to, or 0. */
mcp_call_id mcp__call_of_task(const mcp_client *client, const mcp_json *params);

#endif
