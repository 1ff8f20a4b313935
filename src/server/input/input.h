/* input.h: the input requests of a handler to its client, over all rounds; see input.c.
 *
 * A question is what the specification calls an input request. A question and its answer have the
 * same key. The questions of the current round are in `questions`, and the answers of all rounds in
 * `answers`. Questions are sent in the result (modern.c), as requests of the server (legacy.c), or
 * in a task (tasks/task_input.c).
 */
#ifndef MCP_SRC_INPUT_H
#define MCP_SRC_INPUT_H

#include <mcp/input.h>

#include "server/core/request.h"

enum {
    MCP__MAX_QUESTIONS = 64, /* questions that are open at the same time */
    MCP__MAX_KEY = 128,
    MCP__MAX_PARAMS = 1 << 20, /* size of one question, in bytes */
    MCP__MAX_STATE = 8 << 10,
    MCP__MAX_ONCE = 64,
};

typedef struct mcp__question {
    mcp__link link; /* in input->questions */
    mcp_request *req;
    mcp_str key, method;
    mcp_str params; /* JSON text of an object; all strings are in the arena */
    int64_t id;     /* legacy: id of the outgoing request; 0 if not sent */
} mcp__question;

typedef struct mcp__answer {
    mcp__link link; /* in input->answers */
    mcp_str key;
    const mcp_json *value; /* a result, or an error object */
    mcp_json_doc *doc;     /* owns the value if it was copied; otherwise NULL */
    bool refused;          /* value is an error object */
} mcp__answer;

struct mcp__input {
    mcp__link questions, answers;
    size_t n_questions;
    size_t n_sent;             /* legacy: outgoing requests without an answer */
    bool held;                 /* legacy: the questions wait for notifications/initialized */
    unsigned n_invalid;        /* number of invalid answers */
    const mcp_json *responses; /* modern: inputResponses; read when a handler asks */
    mcp_json_doc *opened;      /* the decrypted requestState */
    char series[33];           /* see mcp_request_series(); empty if not generated yet */
    int64_t round;
    mcp_str state; /* in the arena */
    mcp_str once[MCP__MAX_ONCE];
    size_t n_once;
};

/* A kind of question, and its content. */
typedef struct mcp__ask {
    const char *key;
    const char *method;
    const char *capability; /* see mcp_request_require() */
    /* Writes the params, an object. Returns MCP_OK, or a negative code, possibly after
     * mcp_reply_fail(). */
    int (*put)(mcp_request *req, const void *what, mcp__buf *b);
    /* Whether a result of the client has the requested form. */
    bool (*fits)(mcp_request *req, const void *what, const mcp_json *value);
    const void *what;
} mcp__ask;

/* ---- input.c --------------------------------------------------------------------------------- */

/* Implements the functions of mcp/input.h: returns the answer in *ret, or adds the question.
 * Returns MCP_OK, MCP_INPUT_REQUIRED or a negative code. */
int mcp__input_ask(mcp_request *req, const mcp__ask *ask, const mcp_json **ret);
/* Adds a question without looking for an answer first. Returns MCP_INPUT_REQUIRED or a negative
 * code. */
int mcp__input_add(mcp_request *req, const mcp__ask *ask);
/* Returns the input state of a request, or NULL if out of memory. Creates the state if
 * necessary. */
struct mcp__input *mcp__input_need(mcp_request *req);
/* Stores a copy of an answer and removes its question from the list. Returns MCP_OK or
 * MCP_ENOMEM. */
int mcp__input_give(mcp_request *req, mcp_str key, const mcp_json *value, bool refused);
/* Writes a question as a member: "key":{"method":…,"params":…}. */
void mcp__put_question(mcp__json_list *members, mcp_str key, const mcp__question *q);
/* Writes the object of all open questions. */
void mcp__put_questions(mcp__buf *b, const struct mcp__input *input);
/* Runs the handler again from its start. */
void mcp__input_rerun(mcp_request *req);
/* Frees the input state of a request, which must have one. */
void mcp__input_clear(mcp_request *req);

/* Sends the questions, after a handler returned MCP_INPUT_REQUIRED. */
void mcp__input_deliver(mcp_request *req);

/* ---- modern.c -------------------------------------------------------------------------------- */

/* Reads inputResponses and requestState of a modern request, before its handler runs. Returns
 * MCP_OK, or a negative code, possibly after mcp_reply_fail(). */
int mcp__input_open(mcp_request *req);
void mcp__input_send_modern(mcp_request *req);

/* ---- legacy.c -------------------------------------------------------------------------------- */

void mcp__input_send_legacy(mcp_request *req);
/* Notifies the client that an outgoing request needs no answer any more. */
void mcp__input_notify_abandoned(mcp_channel *channel, mcp_exchange exchange, int64_t id);
/* Withdraws the questions of a request that was cancelled. */
void mcp__input_abandon(mcp_request *req);
/* Ends a request that waits for answers, as if its handler had returned rc. */
void mcp__input_give_up(mcp_request *req, int rc);
/* Sends the questions that waited for notifications/initialized. */
void mcp__input_send_held(mcp__session *session);
static inline bool mcp__input_is_held(const mcp_request *req)
{
    return req->state == MCP__REQUEST_WAITING && req->input && req->input->held;
}

/* ---- elicit.c -------------------------------------------------------------------------------- */

/* Frees the ids of elicitations in URL mode that are not complete. */
void mcp__elicitations_free(mcp__session *session);

#endif
