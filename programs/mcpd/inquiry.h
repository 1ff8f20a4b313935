/* inquiry.h: asks a server of this process what a client would get, and waits for each answer.
 *
 * An answer that arrives after its time is not taken for that of a later question.
 */
#ifndef MCPD_INQUIRY_H
#define MCPD_INQUIRY_H

#include <mcp/io.h>
#include <mcp/mcp.h>
#include <mcp/sys/server.h>

typedef enum inquiry_outcome {
    INQUIRY_RESULT = 0,
    INQUIRY_NOT_OFFERED, /* the server does not have this method */
    INQUIRY_ERROR,       /* another error */
    INQUIRY_NO_ANSWER,   /* not within inquiry_options.ms */
} inquiry_outcome;

typedef struct inquiry {
    mcp_loop *loop;
    mcp_channel *channel;
    int64_t ms;           /* how long each answer is waited for, by the clock */
    int64_t id;           /* of the last question */
    mcp_json_doc *answer; /* to the last question, or NULL */
    bool is_answered;     /* also by what cannot be read, for example for lack of memory */
} inquiry;

/* Begins a conversation. `i` must not move. `principal` may be NULL. Returns the errors of
 * mcp_server_connect(). */
int inquiry_begin(inquiry *i, mcp_loop *loop, mcp_server *server, const char *principal,
                  int64_t ms);
void inquiry_end(inquiry *i);

/* Asks with a method that needs no params, as the client of this name. *ret is the result, or the
 * error, or NULL if there is neither; it is valid until the next call. */
inquiry_outcome inquiry_ask(inquiry *i, const char *method, const char *client,
                            const mcp_json **ret);

#endif
