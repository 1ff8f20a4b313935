/* mcp/input.h: asking the client for something while one of its requests is being answered: the user's
 * input (elicitation), a model's answer (sampling), the folders that it works in (roots).
 *
 *     mcp_elicited name;
 *     int rc = mcp_request_elicit(req, "name", &ask_for_name, &name);
 *     if (rc != MCP_OK)
 *         return rc;                        // MCP_INPUT_REQUIRED, or an error that is made already
 *     if (name.action != MCP_ACTION_ACCEPT)
 *         return mcp_reply_text(req, "As you like.");
 *     … mcp_json_string(mcp_json_get(name.content, "name")) …
 *
 * While an answer is not there, these calls return MCP_INPUT_REQUIRED, and the handler returns that too (or
 * passes it to mcp_reply_finish()); it may ask several things first. The engine then asks as the peer's
 * revision wants it: a modern peer gets an InputRequiredResult and repeats its request with the answers, a
 * legacy one gets requests from the server. When the answers are there the handler runs AGAIN FROM ITS START
 * and finds them under their keys. So a handler is written once, for every revision, and needs no state of
 * its own; what must happen in one of these rounds only is guarded by mcp_request_once().
 *
 * Between the rounds a modern peer keeps everything, in `requestState`: the answers so far, and the handler's
 * own state. It is encrypted and authenticated, and good only for the same principal, the same request and a
 * limited time (mcp_server_set_seal()); what was tampered with is refused. It can be presented more than once:
 * where that matters, remember mcp_request_series().
 *
 * Only tools/call, prompts/get and resources/read may ask. 2026-07-28, basic/patterns/mrtr, client/elicitation,
 * client/sampling, client/roots; 2025-11-25, the same pages of client.
 */
#ifndef MCP_INPUT_H
#define MCP_INPUT_H

#include <mcp/base.h>
#include <mcp/json.h>
#include <mcp/request.h>
#include <mcp/server.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What all calls that ask return:
 *   MCP_OK              the answer is there
 *   MCP_INPUT_REQUIRED  not yet: ask what else is needed, then return this
 *   MCP_EREMOTE         the client did not declare the capability, and the reply is the error that says so; or
 *                       it answered with an error (legacy only; a user who refused a sampling request, say),
 *                       and the reply will be one unless the handler makes another: return it, or go on
 *   MCP_EINVAL          what is asked is not well-formed (the reply names it), or the key is empty or too long
 *   MCP_ELIMIT          more questions, or larger ones, than the limits allow
 *   MCP_ESTATE          this request's method may not ask
 *   MCP_ENOMEM
 * `key` names the question within this request, in every round the same; up to 128 bytes. An answer of the
 * wrong shape, or one that does not conform to the question's schema, is asked for again. What is handed out
 * lives as long as the request. */

/* Whether the client declared a capability, without making an error of it as mcp_request_require() does:
 * "elicitation.form", "elicitation.url", "sampling", "sampling.tools", "roots". */
MCP_API bool mcp_request_can(const mcp_request *req, const char *capability);

/* ---- elicitation ----------------------------------------------------------------------------- */

typedef enum mcp_action {
    MCP_ACTION_ACCEPT = 0,
    MCP_ACTION_DECLINE, /* the user said no */
    MCP_ACTION_CANCEL,  /* the user went away */
} mcp_action;

/* Form mode has a schema, URL mode a url. */
typedef struct mcp_elicit {
    size_t size;
    const char *message; /* for the user; required */
    /* JSON text of a flat object schema: properties of type string (format, length, enum, or oneOf of const
     * and title), number, integer, boolean, or array of such strings (minItems, maxItems); each may have
     * title, description and default. Never for secrets. What 2025-06-18 has not (titles by oneOf, defaults
     * but of booleans) is rewritten for it; arrays cannot be, and are MCP_EREMOTE there. */
    const char *schema;
    const char *url; /* where the user is to go; https:. Never prefilled with secrets */
    /* URL mode, 2025-11-25 only: what mcp_server_elicitation_complete() will name; NULL: made here. */
    const char *elicitation_id;
} mcp_elicit;

typedef struct mcp_elicited {
    mcp_action action;
    const mcp_json
        *content; /* form mode, accepted: an object that conforms to the schema; else NULL */
    const void *reserved[2]; /* NULL */
} mcp_elicited;

MCP_API int mcp_request_elicit(mcp_request *req, const char *key, const mcp_elicit *what,
                               mcp_elicited *ret);

/* For a handler that cannot go on before the user has done something at a URL: does not wait for it to be
 * confirmed. 2025-11-25 gets the error -32042 and repeats the request when it is done; later revisions are asked
 * in URL mode and repeat the request; which then finds in the program's own records whether it is done. Returns
 * what the handler is to return; never MCP_OK. */
MCP_API int mcp_request_elicit_first(mcp_request *req, const char *key, const mcp_elicit *what);

/* What an elicitation in URL mode was about is done: tells the client that was asked, if it is one of
 * 2025-11-25 and still there. Nothing happens for an id that was never asked with, or is complete. */
MCP_API void mcp_server_elicitation_complete(mcp_server *server, const char *elicitation_id);

/* ---- sampling -------------------------------------------------------------------------------- */

/* Asks the client's model. Texts named JSON are the text of a value as the schema of CreateMessageRequestParams
 * has it. */
typedef struct mcp_sample {
    size_t size;
    const char *text; /* one message of the user; or */
    /* JSON array of SamplingMessage. An assistant's message with tool_use is followed by a user's message of
     * tool_results alone, one for each; such messages need "sampling.tools" too. */
    const char *messages;
    int64_t max_tokens; /* required, above 0 */
    const char *system_prompt;
    bool has_temperature;
    double temperature;
    const char *stop_sequences;    /* JSON array of strings */
    const char *model_preferences; /* JSON object */
    const char *metadata;          /* JSON object */
    const char *tools;             /* JSON array of Tool; needs "sampling.tools" */
    const char *tool_choice;       /* JSON object; the same */
} mcp_sample;

/* What is not well-formed is the server's own mistake: a negative code, and the request's error (-32603) says which message
 * and why; nothing is sent then.
 * *ret is the CreateMessageResult: `role`, `content` (an object, or an array of them from 2025-11-25 on),
 * `model`, `stopReason`. */
MCP_API int mcp_request_sample(mcp_request *req, const char *key, const mcp_sample *what,
                               const mcp_json **ret);
/* The first text of a CreateMessageResult, or the empty string. */
MCP_API mcp_str mcp_sampled_text(const mcp_json *result);

/* ---- roots ----------------------------------------------------------------------------------- */

/* *ret is the array of roots, objects with `uri` (a string) and perhaps `name`. */
MCP_API int mcp_request_roots(mcp_request *req, const char *key, const mcp_json **ret);

/* ---- over the rounds ------------------------------------------------------------------------- */

/* A small state of the handler's own: what it last set in an earlier round, empty at first. Up to 8 KiB
 * (MCP_ELIMIT); any bytes. MCP_ENOMEM. Set it before returning MCP_INPUT_REQUIRED. */
MCP_API mcp_str mcp_request_state(const mcp_request *req);
MCP_API int mcp_request_set_state(mcp_request *req, mcp_str state);

/* True in one round only: the first that asks with this name; for what must not be repeated when the handler
 * runs again. Up to 64 names of up to 128 bytes; with more, or without memory, it is false and the
 * request fails. */
MCP_API bool mcp_request_once(mcp_request *req, const char *name);

/* 32 hexadecimal digits, the same in all rounds of this request and no other; NUL-terminated. NULL: there is
 * no randomness or no memory. */
MCP_API const char *mcp_request_series(mcp_request *req);

/* ---- the seal -------------------------------------------------------------------------------- */

/* How what modern peers keep for us is sealed: AES-256-GCM of OpenSSL 3, which is loaded when it is needed first.
 * Without a key of yours one is made that dies with the server; give one where several instances serve the same
 * peers, or restarts should not be noticed. */
typedef struct mcp_seal_options {
    size_t size;
    const void *key; /* secret, 32 bytes or more, from a good source; copied */
    size_t key_len;
    const void
        *old_key; /* accepted too, so that a key can be changed while peers hold sealed state */
    size_t old_key_len;
    uint64_t lifetime_ms; /* how long a user may take; 15 minutes */
} mcp_seal_options;

/* May be called again at any time. MCP_EINVAL (a key is too short), MCP_EUNSUPPORTED (no OpenSSL 3),
 * MCP_ENOMEM. */
MCP_API int mcp_server_set_seal(mcp_server *server, const mcp_seal_options *options,
                                mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
