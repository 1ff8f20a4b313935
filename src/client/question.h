/* question.h: input requests of a server: in a request (asked.c), a result or an error
 * (rounds.c). */
#ifndef MCP_SRC_CLIENT_QUESTION_H
#define MCP_SRC_CLIENT_QUESTION_H

#include <mcp/client.h>

#include "channel/channel.h"
#include "client/call.h"

/* How often a server may ask. */
typedef struct mcp__token_bucket {
    size_t per_minute;
    uint64_t credit; /* in 60,000ths of a question */
    int64_t filled;
} mcp__token_bucket;

/* A request of a legacy server, and the question that it is. */
typedef struct mcp__asked {
    mcp__incoming in;
    mcp_question *question;
} mcp__asked;

struct mcp_question {
    mcp__link link; /* in client->questions.list */
    mcp_client *client;
    mcp_question_kind kind;
    mcp_json_doc *doc;  /* its params */
    mcp__asked *asked;  /* the request that it came in; NULL: none */
    mcp__call *call;    /* that waits for it; NULL: none */
    mcp_call_id handle; /* with a request: the call that it is about; 0: unknown */
    char *key;          /* of inputRequests */
    size_t key_len;
    void (*on_cancel)(mcp_question *question, void *user);
    void *on_cancel_user;
    bool told;      /* the program has or had it */
    bool answered;  /* it has given it back */
    bool withdrawn; /* nobody waits for it */
    bool accepted;
    bool completed;  /* what the user went to is over */
    int code;        /* no answer, but an error; 0: an answer */
    mcp__buf answer; /* JSON text, or the error's message */
};

/* A request of the server. */
void mcp__client_asked(mcp__incoming *in);
void mcp__client_asked_cancelled(mcp__incoming *in);

/* Makes a question of a method and its params. MCP_EUNSUPPORTED, MCP_EPROTOCOL (params),
 * MCP_ELIMIT, MCP_ENOMEM; *retry_ms is when it may be asked again. */
int mcp__question_new(mcp_client *client, mcp_str method, const mcp_json *params,
                      mcp_question **ret, uint64_t *retry_ms, mcp_error *error);
/* Hands it to the program. */
void mcp__question_ask(mcp_question *question);
void mcp__question_withdraw(mcp_question *question);
void mcp__question_free(mcp_question *question);
/* Sends the answers that were given. */
void mcp__client_answer(mcp_client *client);

/* An InputRequiredResult, or error -32042: parks the call and asks. */
int mcp__round_begin(mcp__call *call, const mcp_json *result, mcp_error *error);
bool mcp__round_begin_urls(mcp__call *call, const mcp_json *error_object);
/* Goes on with calls whose questions were all answered. */
void mcp__rounds_end(mcp_client *client);
/* Withdraws what a call still asks. */
void mcp__round_drop(mcp__call *call);
/* What a task asks: parks the call. MCP_ENOTFOUND: all of it was answered before. */
int mcp__round_begin_task(mcp__call *call, const mcp_json *requests, mcp_error *error);
/* A parked call's time has come. */
void mcp__round_overdue(mcp__call *call);
/* The user goes to an address; and the interaction behind it is over. */
void mcp__client_expect(mcp_client *client, mcp_str elicitation_id);
void mcp__round_completed(mcp_client *client, mcp_str elicitation_id);

/* Appends content, with the schema's defaults for what it lacks; MCP_EINVAL when that does not
 * conform. */
int mcp__form_fill(const mcp_json *schema, const mcp_json *content, const mcp_allocator *a,
                   mcp__buf *b, mcp_error *error);

#endif
