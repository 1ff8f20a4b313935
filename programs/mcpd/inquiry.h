/* inquiry.h: asks a server of this process what a client would get, and waits for the answers.
 *
 * An answer that arrives after its time is not taken for that of a later question.
 */
#ifndef MCPD_INQUIRY_H
#define MCPD_INQUIRY_H

#include <mcp/io.h>
#include <mcp/mcp.h>
#include <mcp/sys/server.h>

typedef enum inquiry_outcome {
    INQUIRY_NO_ANSWER =
        0, /* not within inquiry.ms, or it cannot be read, for example for lack of memory */
    INQUIRY_RESULT,
    INQUIRY_NOT_OFFERED, /* the server does not have this method */
    INQUIRY_ERROR,       /* another error */
} inquiry_outcome;

/* A method that needs no params, asked as the client of this name. */
typedef struct inquiry_question {
    const char *method, *client;
    inquiry_outcome outcome;
    const mcp_json *answer; /* the result, or the error, or NULL if there is neither; in `doc` */
    mcp_json_doc *doc;
} inquiry_question;

typedef struct inquiry {
    mcp_loop *loop;
    mcp_channel *channel;
    int64_t ms;                  /* how long the answers are waited for, by the clock */
    int64_t id;                  /* of the last question */
    inquiry_question *questions; /* the last ones, until inquiry_ask() returns */
    size_t count, unanswered;
} inquiry;

/* Begins a conversation. `i` must not move. The identity may be NULL. Returns the errors of
 * mcp_server_connect(). */
int inquiry_begin(inquiry *i, mcp_loop *loop, mcp_server *server, mcp_identity *identity,
                  int64_t ms);
void inquiry_end(inquiry *i);

/* Asks all of these questions at once, and sets the rest of each, to be freed by inquiry_free_answers(). */
void inquiry_ask(inquiry *i, inquiry_question *questions, size_t count);
void inquiry_free_answers(inquiry_question *questions, size_t count);

#endif
