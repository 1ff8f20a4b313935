/* confirm.h: asks the person at the client whether one change may be made: one question for all
 * providers, always of this form.
 *
 *     int rc = common_confirm(req, memory, &what, now);
 *     if (rc == MCP_EREMOTE)
 *         return MCP_OK;       // the reply is an error of the tool that says why
 *     if (rc != MCP_OK)
 *         return rc;           // MCP_INPUT_REQUIRED, or an error
 *     … the change, which is still compared with the versions in `binding` …
 *
 * A consent holds for the caller, the request with its arguments, the question that was shown and
 * `binding`; it is good once, in this process, for five minutes. It is required by a choice without a
 * default: an accept without the choice is a refusal. After three refusals within ten minutes the
 * caller's requests are refused without a question. This protects a person from a model that a file
 * told what to do; it does not protect from the client program.
 */
#ifndef COMMON_CONFIRM_H
#define COMMON_CONFIRM_H

#include <mcp/input.h>

/* What is to be confirmed. Every text may have any bytes. */
typedef struct common_change {
    const char *operation; /* what is done, as one word: "change" */
    mcp_str uri;           /* at most 1 KiB as it is shown, as for `to` */
    mcp_str to;            /* where something is moved; otherwise empty */
    bool is_text;          /* a text is changed, and `plus` and `minus` count its lines */
    size_t plus, minus;
    mcp_str content;  /* to be shown; at most 4 KiB of it are */
    const char *rest; /* where all of it is, if it is longer: "in the file"; NULL: "in the
                            * arguments of the call" */
    /* What the consent is for beyond the question: a hash of the arguments, the version of each thing.
     * At most 512 bytes. The content is not compared beyond what is shown, so the binding has to stand for
     * it. */
    mcp_str binding;
} common_change;

/* Who consented to what, and who refused. Belongs to the thread of one server. */
typedef struct common_confirms common_confirms;

/* `alloc` may be NULL. Returns MCP_OK, MCP_ENOMEM or MCP_EIO (there is no randomness). */
int common_confirms_new(const mcp_allocator *alloc, common_confirms **ret);
void common_confirms_free(common_confirms *memory);

/* Asks, or finds the answer. To be called once in each round, after everything else is known, and
 * only where the change follows at once. Sets the state of the request (mcp_request_set_state()).
 * `now` is mcp_host.now. Returns
 *   MCP_OK              consented; the consent is used up
 *   MCP_INPUT_REQUIRED  the question is asked: return this
 *   MCP_EREMOTE         refused, or nobody can be asked: the reply is an error of the tool that says
 *                       so and what to do; return MCP_OK
 *   MCP_ENOMEM, and the other codes of mcp_request_elicit() */
int common_confirm(mcp_request *req, common_confirms *memory, const common_change *what,
                   int64_t now);

#endif
