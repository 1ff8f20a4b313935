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
    MCP__CALL_PARKED, /* in client->calls.parked: questions are open, or the tools are being listed */
    MCP__CALL_KEPT,   /* in client->calls.kept: its outcome waits for mcp_client_wait() */
} mcp__call_phase;

typedef struct mcp__pages mcp__pages;
typedef struct mcp__call_task mcp__call_task;

typedef struct mcp__call {
    mcp__link link;
    mcp_client *client;
    mcp_call_id handle;
    mcp__call_phase phase;

    mcp_str method; /* behind the struct, ends with NUL */
    mcp_str name;   /* what Mcp-Name repeats; the same */
    /* JSON members, without braces: those of params but _meta, then the caller's _meta. */
    mcp__buf params;
    size_t members; /* how much of it is the former */
    mcp__buf input; /* the members inputResponses and requestState of this round */
    mcp_call_options options;
    const char *log_level; /* static storage */
    bool has_level;        /* its own _meta says one */
    bool notification;     /* in the queue for the order's sake */
    bool ping;             /* the method depends on the era */
    bool no_store;         /* the result rests on more than the params */

    int64_t id; /* of the request that is out */
    int64_t sent_at;
    int64_t began_at; /* the same of the first try */
    int64_t deadline; /* of all tries, once there was a second one */
    unsigned repeats; /* after event streams that broke off */
    int64_t due;      /* queued: not before; parked: to go on at the latest */
    double progress;
    bool progressed;
    uint64_t changes; /* client->learnt.changes when it was sent */

    unsigned rounds;      /* of questions */
    bool awaits_urls;     /* the user is at the addresses that the server named */
    bool relisted;        /* the tools were listed for it once more */
    bool renewed;         /* it was made again in a new session */
    mcp__pages *pages;    /* the pages of a list that came so far */
    bool own_task;        /* the caller's params have a `task` */
    bool as_task;         /* it was sent with one of ours */
    mcp__call_task *task; /* what it became; NULL: nothing */

    bool cancelled;
    char *reason;

    bool keep;
    int rc;                /* of a kept outcome */
    mcp_json_doc *outcome; /* the same; of a parked call the error that named addresses */
    mcp_error *error;
} mcp__call;

/* ---- call.c ---------------------------------------------------------------------------------- */

void mcp__call_move(mcp__call *call, mcp__call_phase phase);
/* Makes it be sent (again); members, input and so on are up to date. */
void mcp__call_again(mcp__call *call, int64_t due);
/* Tells the outcome and frees it, or keeps it. */
void mcp__call_finish(mcp__call *call, int rc, const mcp_json *result, const mcp_error *error);
void mcp__call_fail(mcp__call *call, int rc);
/* The one with this handle that is not over, or NULL. */
mcp__call *mcp__call_find(mcp_client *client, mcp_call_id handle);
mcp__call *mcp__call_kept(mcp_client *client, mcp_call_id handle);
void mcp__call_free(mcp__call *call);
/* Sends it, or leaves it in the queue. It is gone when that fails. */
int mcp__call_begin(mcp__call *call, mcp_call_id *ret);
/* Sends what waits. Only while the channel is being called. */
void mcp__client_flush(mcp_client *client);
/* Ends what was cancelled, and what has parked too long. */
void mcp__client_sweep(mcp_client *client);
/* Ends all that waits with this. */
void mcp__client_fail_waiting(mcp_client *client, int rc, const mcp_json *result,
                              const mcp_error *error);
/* When the earliest of the waiting calls is due. */
int64_t mcp__client_calls_due(const mcp_client *client);

/* ---- params.c -------------------------------------------------------------------------------- */

/* A call that is nowhere yet. */
int mcp__call_new(mcp_client *client, mcp_str method, mcp_str params,
                  const mcp_call_options *options, mcp__call **ret);
/* Appends its params as they are to be sent now. */
void mcp__call_put_params(const mcp__call *call, mcp__buf *b);

/* ---- answer.c -------------------------------------------------------------------------------- */

/* What an answer of the channel means, by the rules of revision r: returns the code for the
 * callback, or MCP_INPUT_REQUIRED, and fills error when it is negative. ms: the time that it
 * had. */
int mcp__client_judge(const mcp_client *client, const mcp__revision *r, uint64_t ms, int rc,
                      const mcp_json *result, mcp_error *error);
void mcp__call_answered(mcp_channel *channel, int rc, const mcp_json *result, void *user);
/* A good result, of the server or from what was kept. */
void mcp__call_succeeded(mcp__call *call, const mcp_json *result);
/* A JSON-RPC error's code. */
int64_t mcp__error_code(const mcp_json *error);

/* ---- repeat.c -------------------------------------------------------------------------------- */

/* Makes a call again that failed because its event stream broke off. False: it does not, and the
 * error says why when that was the failure. */
bool mcp__call_repeat(mcp__call *call, mcp_error *error);
/* How long the request may take that is sent for it now. */
uint64_t mcp__call_time(const mcp__call *call);

/* ---- pages.c --------------------------------------------------------------------------------- */

/* Takes a page: the call goes on with the next one, or is over. */
void mcp__pages_take(mcp__call *call, const mcp_json *result);
/* The server does not know the cursor that it gave out any more: the list is read once more from
 * its first page, unless a program has taken pages already. False: nothing was done. */
bool mcp__pages_restart(mcp__call *call, int64_t code);
void mcp__pages_free(mcp__pages *pages);

/* ---- task.c ---------------------------------------------------------------------------------- */

/* Whether the server of 2025-11-25 takes calls of tools as tasks, and the program wants them. */
bool mcp__tasks_are_asked(const mcp_client *client);
/* Whether this call has to be sent with a `task`. */
bool mcp__call_task_is_wanted(const mcp__call *call);
/* Whether this result is a task that was made for the call. */
bool mcp__call_task_begins(const mcp__call *call, const mcp_json *result);
/* The call goes on as that task, or is over. */
void mcp__call_task_begin(mcp__call *call, const mcp_json *result);
/* An answer to one of its requests. */
void mcp__call_task_answered(mcp__call *call, const mcp_json *result);
/* The same, a failure. True: it goes on, or is over. */
bool mcp__call_task_failed(mcp__call *call, int rc);
/* The call is to be over with *rc and *error: true when it first asks the server to cancel the
 * task. Otherwise both may have changed; *error is the caller's, and nothing of it belongs to the
 * task. */
bool mcp__call_task_end(mcp__call *call, int *rc, mcp_error *error);
bool mcp__call_task_has_answered(const mcp__call *call, mcp_str key);
int mcp__call_task_note_answer(mcp__call *call, mcp_str key);
/* Sends the answers in call->input. */
void mcp__call_task_update(mcp__call *call);
void mcp__call_task_free(mcp__call *call);

#endif
