/* input.h: what a request asks its client, over all of its rounds; see input.c.
 *
 * A question has a key; so has its answer. Questions of this round wait in `questions`, answers of all rounds
 * are in `answers`. How questions travel is the era's business: modern.c (the result), legacy.c (requests of ours),
 * tasks/task_input.c (a task).
 */
#ifndef MCP_SRC_INPUT_H
#define MCP_SRC_INPUT_H

#include <mcp/input.h>

#include "server/core/request.h"

enum {
    MCP__MAX_QUESTIONS = 64, /* open at once */
    MCP__MAX_KEY = 128,
    MCP__MAX_PARAMS = 1 << 20, /* bytes of one question */
    MCP__MAX_STATE = 8 << 10,
    MCP__MAX_ONCE = 64,
};

typedef struct mcp__question {
    mcp__link link; /* in input->questions */
    mcp_request *req;
    mcp_str key, method;
    mcp_str params; /* JSON text of an object; all in the arena */
    int64_t id;     /* legacy: of our request that carries it; 0: not sent */
} mcp__question;

typedef struct mcp__answer {
    mcp__link link; /* in input->answers */
    mcp_str key;
    const mcp_json *value; /* a result; or the error object */
    mcp_json_doc *doc;     /* that it lives in, when that is ours */
    bool refused;          /* value is an error object */
} mcp__answer;

struct mcp__input {
    mcp__link questions, answers;
    size_t n_questions;
    size_t n_sent;             /* legacy: requests of ours without an answer */
    bool held;                 /* legacy: they wait for notifications/initialized */
    unsigned wrong;            /* answers that did not fit */
    const mcp_json *responses; /* modern: the inputResponses; looked into when asked for */
    mcp_json_doc *opened;      /* what requestState held */
    char series[33];           /* empty: not made yet */
    int64_t round;
    mcp_str state; /* in the arena */
    mcp_str once[MCP__MAX_ONCE];
    size_t n_once;
};

/* One way of asking. */
typedef struct mcp__ask {
    const char *key;
    const char *method;
    const char *capability; /* as mcp_request_require() takes it */
    /* Writes the params, an object. MCP_OK, or a negative code, perhaps after mcp_reply_fail(). */
    int (*put)(mcp_request *req, const void *what, mcp__buf *b);
    /* Whether a result of the client has the shape that was asked for. */
    bool (*fits)(mcp_request *req, const void *what, const mcp_json *value);
    const void *what;
} mcp__ask;

/* ---- input.c ---------------------------------------------------------------------------------------- */

/* As the calls of mcp/input.h. */
int mcp__input_ask(mcp_request *req, const mcp__ask *ask, const mcp_json **ret);
/* Adds a question without looking for an answer. MCP_INPUT_REQUIRED or a negative code. */
int mcp__input_add(mcp_request *req, const mcp__ask *ask);
/* NULL: no memory. */
struct mcp__input *mcp__input_need(mcp_request *req);
/* Keeps a copy of an answer and takes its question from the list. MCP_OK, MCP_ENOMEM. */
int mcp__input_give(mcp_request *req, mcp_str key, const mcp_json *value, bool refused);
/* A question as a member: "key":{"method":…,"params":…}. */
void mcp__put_question(mcp__json_list *members, mcp_str key, const mcp__question *q);
/* The object of all open questions. */
void mcp__put_questions(mcp__buf *b, const struct mcp__input *input);
/* Runs the handler again from its start. */
void mcp__input_rerun(mcp_request *req);
/* Of a request that has an input. */
void mcp__input_clear(mcp_request *req);

/* After a handler returned MCP_INPUT_REQUIRED: asks. */
void mcp__input_deliver(mcp_request *req);

/* ---- modern.c --------------------------------------------------------------------------------------- */

/* Before the handler: reads what a modern request brings back (inputResponses, requestState). MCP_OK, or after
 * mcp_reply_fail(). */
int mcp__input_open(mcp_request *req);
void mcp__input_send_modern(mcp_request *req);

/* ---- legacy.c --------------------------------------------------------------------------------------- */

void mcp__input_send_legacy(mcp_request *req);
/* Tells the client that a request of ours needs no answer any more. */
void mcp__input_tell_abandoned(mcp_channel *channel, mcp_exchange exchange, int64_t id);
/* The request is not wanted any more: nor are the answers to what it asked. */
void mcp__input_abandon(mcp_request *req);
/* Ends a request that waits for answers with what a handler would return. */
void mcp__input_give_up(mcp_request *req, int rc);
/* notifications/initialized came: sends what waited for it. */
void mcp__input_send_held(mcp__session *session);
static inline bool mcp__input_is_held(const mcp_request *req)
{
    return req->state == MCP__REQUEST_WAITING && req->input && req->input->held;
}

/* ---- elicit.c ----------------------------------------------------------------------------------------- */

/* Elicitations in URL mode that a session's client may be told the end of. */
void mcp__elicitations_free(mcp__session *session);

#endif
