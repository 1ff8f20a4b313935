/* question.h: input requests of a server, which arrive in a request (question_request.c), or in a result or an
 * error (rounds.c). */
#ifndef MCP_SRC_CLIENT_QUESTION_H
#define MCP_SRC_CLIENT_QUESTION_H

#include <mcp/client.h>

#include "channel/channel.h"
#include "client/call.h"

/* Limits the rate of a server's questions. */
typedef struct mcp__token_bucket {
    size_t per_minute;
    uint64_t credit; /* in 1/60,000 of a question */
    int64_t filled;  /* when credit was added last, in milliseconds; 0 if never */
} mcp__token_bucket;

/* A request of a legacy server, and its question. */
typedef struct mcp__question_request {
    mcp__incoming in;
    mcp_question *question;
} mcp__question_request;

struct mcp_question {
    mcp__link link; /* in client->questions.list */
    mcp_client *client;
    mcp_question_kind kind;
    mcp_json_doc *doc;              /* its params */
    mcp__buf text;                  /* their JSON text */
    mcp__question_request *request; /* the request that carried it; NULL if none */
    mcp__call *call;                /* the call that waits for its answer; NULL if none */
    mcp_call_id handle;             /* the call to which the request belongs; 0 if unknown */
    char *key;                      /* its key in inputRequests; owned */
    size_t key_len;
    void (*on_cancel)(mcp_question *question, void *user);
    void *on_cancel_user;
    bool delivered; /* the program has received it */
    bool answered;  /* the program has answered it */
    bool withdrawn; /* its answer is no longer needed */
    bool accepted;
    bool completed; /* the interaction at the URL is complete */
    bool failed;    /* it is answered with an error, of this code */
    int code;
    mcp__buf answer; /* JSON text, or the error's message */
    mcp__buf data;   /* JSON text of the error's data; empty if there is none */
};

/* What the server asks. `text` is the JSON text of the params, if it is known. */
typedef struct mcp__asking {
    mcp_str method;
    const mcp_json *params;
    mcp_str text;
} mcp__asking;

/* Handle a request of the server, and its cancellation. */
void mcp__client_question_request(mcp__incoming *in);
/* Returns the handle of the call that a message of the server belongs to: the call in whose exchange
 * it was sent, or the call whose task it names. Returns 0 if the call is unknown. */
mcp_call_id mcp__call_of_message(const mcp_client *client, mcp_exchange exchange,
                                 const mcp_json *params);
void mcp__client_question_cancelled(mcp__incoming *in);

/* Creates a question from a method and its params. Returns MCP_ENOTFOUND if the client has no such
 * method, MCP_EUNSUPPORTED if it did not declare this kind of question, MCP_EPROTOCOL if the params
 * are malformed, MCP_ELIMIT or MCP_ENOMEM. With MCP_ELIMIT, *retry_ms is the delay in milliseconds
 * before the server may ask again. */
int mcp__question_new(mcp_client *client, const mcp__asking *asking, mcp_question **ret,
                      uint64_t *retry_ms, mcp_error *error);
/* Returns MCP_OK if the question may be answered. `fits` is false if its kind has other answers. */
int mcp__question_check(const mcp_question *q, bool fits, mcp_error *error);
/* Completes an answer. If the answer could not be written, which rc says, the question stays
 * open. */
int mcp__question_complete(mcp_question *q, int rc, mcp_error *error);
/* The code that a question which is not answered has if nobody says another one. */
enum { MCP__REJECTED = -1 };
/* Like mcp_question_fail(), but 0 is a code, too. */
int mcp__question_fail(mcp_question *question, int code, const char *message);
/* Passes the question to the program. */
void mcp__question_ask(mcp_question *question);
/* Withdraws a question whose answer is no longer needed, and notifies the program. */
void mcp__question_withdraw(mcp_question *question);
void mcp__question_free(mcp_question *question);
/* Sends the answers given so far. */
void mcp__client_answer(mcp_client *client);

/* Handle an InputRequiredResult or error -32042: park the call and ask the program.
 * mcp__round_begin_urls() returns false if the error becomes the outcome of the call. */
int mcp__round_begin(mcp__call *call, const mcp_json *result, mcp_error *error);
bool mcp__round_begin_urls(mcp__call *call, const mcp_json *error_object);
/* Continues calls whose questions have all been answered. */
void mcp__rounds_end(mcp_client *client);
/* Withdraws the open questions of a call. */
void mcp__round_drop(mcp__call *call);
/* Passes the questions of a task to the program; the call is parked. Returns MCP_ENOTFOUND if all
 * of them were answered before. */
int mcp__round_begin_task(mcp__call *call, const mcp_json *requests, mcp_error *error);
/* Continues a parked call that is due. */
void mcp__round_overdue(mcp__call *call);
/* Remember that the user visits a URL, and that the interaction there is complete. */
void mcp__client_expect(mcp_client *client, mcp_str elicitation_id);
void mcp__round_completed(mcp_client *client, mcp_str elicitation_id);

/* Appends `content`, completed with the schema's defaults. Returns MCP_EINVAL if the result does
 * not conform. */
int mcp__form_fill(const mcp_json *schema, const mcp_json *content, const mcp_allocator *a,
                   mcp__buf *b, mcp_error *error);

#endif
