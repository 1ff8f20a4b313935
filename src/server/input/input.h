/* input.h: the input requests of a handler to its client, over all rounds; see input.c.
 *
 * A question is what the specification calls an input request. A question and its answer have the
 * same key. The questions of the current round are in `questions`, and the answers of all rounds in
 * `answers`. Questions are sent in the result (modern_input.c), as requests of the server
 * (legacy_input.c), or in a task (tasks/task_input.c).
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
    MCP__MAX_LONG_STATE = 1 << 20,
    MCP__MAX_ONCE = 64,
};

typedef struct mcp__question {
    mcp__link link; /* in input->questions */
    mcp_request *req;
    mcp_str key, method;
    mcp_str params; /* JSON text of an object; all strings are in the arena */
    int64_t id;     /* legacy: id of the outgoing request; 0 if not sent */
    bool raw;       /* mcp_request_ask_raw() */
} mcp__question;

typedef struct mcp__answer {
    mcp__link link; /* in input->answers or input->raw_answers */
    mcp_str key;
    mcp_str text;          /* to a raw question; in the arena */
    const mcp_json *value; /* a result, or an error object */
    mcp_json_doc *doc;     /* owns the value if it was copied; otherwise NULL */
    bool refused;          /* value is an error object */
} mcp__answer;

struct mcp__input {
    mcp__link questions, answers;
    mcp__link raw_answers; /* those that this round began with; modern clients send `responses` */
    size_t n_questions;
    size_t n_sent;             /* legacy: outgoing requests without an answer */
    bool held;                 /* legacy: the questions wait for notifications/initialized */
    unsigned n_invalid;        /* number of invalid answers */
    const mcp_json *responses; /* modern: inputResponses; read when a handler asks */
    mcp_str responses_text;    /* their text, in the arena; copied when a handler needs it */
    bool again;                /* this request object has begun another round */
    bool long_state;           /* mcp_request_set_long_state() */
    bool stays;                /* mcp_request_stay() */
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
/* Adds a question with these params, which are in the arena. Returns MCP_INPUT_REQUIRED, MCP_ELIMIT
 * or MCP_ENOMEM. *ret may be NULL with any other code than MCP_INPUT_REQUIRED. */
int mcp__input_put(mcp_request *req, mcp_str key, const char *method, mcp_str params,
                   mcp__question **ret);
/* Returns the question of this round with that key, or NULL. */
mcp__question *mcp__input_find(const struct mcp__input *input, mcp_str key);
/* Returns the answer in one of the lists, or NULL. */
mcp__answer *mcp__answer_to(mcp__link *answers, mcp_str key);
/* Stores a copy of an answer and removes its question from the list. `text` is the text of the
 * value, if it is known. Returns MCP_OK or MCP_ENOMEM. */
int mcp__input_give(mcp_request *req, mcp_str key, const mcp_json *value, mcp_str text,
                    bool refused);
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

/* ---- modern_input.c -------------------------------------------------------------------------- */

/* Returns the identity of this server, 16 random hexadecimal digits, for a state that only this
 * server can continue. It stays the same as long as the server exists. Returns NULL if there is no
 * randomness. */
const char *mcp__server_instance(mcp_server *server);
/* Reads inputResponses and requestState of a modern request, before its handler runs. Returns
 * MCP_OK, or a negative code, possibly after mcp_reply_fail(). */
int mcp__input_open(mcp_request *req);
void mcp__input_send_modern(mcp_request *req);

/* ---- legacy_input.c -------------------------------------------------------------------------- */

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

/* Returns the text of the answer to a request that is being received on this channel. */
mcp_str mcp__input_text(const mcp_channel *channel, bool refused);
/* Withdraws one question of a waiting request, which continues if it was the last one. */
void mcp__input_withdraw(mcp_request *req, mcp__question *q);

/* ---- raw_question.c -------------------------------------------------------------------------- */

typedef struct mcp__raw mcp__raw;
/* Returns a copy of the text of inputResponses in the params of a request. ptr is NULL if there is
 * none or no memory. */
mcp_str mcp__responses_text(mcp_request *req);
/* Remembers the id of an elicitation of another server, if it has one; see
 * mcp__elicitation_remember(). */
int mcp__raw_remember(const mcp__raw *p, const mcp_json *elicitation);

/* ---- elicit.c -------------------------------------------------------------------------------- */

/* Returns an identifier for the elicitation with that key, in the arena, or NULL. */
const char *mcp__elicitation_id(mcp_request *req, const char *key);
/* Remembers the id of an elicitation in URL mode, which may be NULL, so that the client can be
 * notified when it is complete. Returns MCP_OK or MCP_ENOMEM. */
int mcp__elicitation_remember(mcp_request *req, const char *id);
/* Frees the ids of elicitations in URL mode that are not complete. */
void mcp__elicitations_free(mcp__session *session);

#endif
