/* mcp/input.h: ask the client for input while answering one of its requests: the user's input
 * (elicitation), a model's answer (sampling), or the folders that the client works in (roots).
 *
 *     mcp_elicited name;
 *     int rc = mcp_request_elicit(req, "name", &ask_for_name, &name);
 *     if (rc != MCP_OK)
 *         return rc;                    // MCP_INPUT_REQUIRED, or an error that is set already
 *     if (name.action != MCP_ACTION_ACCEPT)
 *         return mcp_reply_text(req, "As you like.");
 *     … mcp_json_string(mcp_json_get(name.content, "name")) …
 *
 * Until the answer arrives, these calls return MCP_INPUT_REQUIRED. The handler may ask several
 * questions and then returns MCP_INPUT_REQUIRED too (or passes it to mcp_reply_finish()). The
 * engine asks in the form of the peer's revision: a modern peer gets an InputRequiredResult and
 * repeats its request with the answers, a legacy one gets requests from the server. When the
 * answers have arrived, the handler RUNS AGAIN FROM ITS START and finds them under their keys. So
 * one handler serves every revision and needs no state of its own. Use mcp_request_once() for
 * anything that must happen in one of these rounds only.
 *
 * Between the rounds a modern peer keeps all state in `requestState`: the answers so far and the
 * handler's own state. It is encrypted and authenticated, and valid only for the same principal and
 * the same request, for a limited time (mcp_server_set_seal()); a modified state is refused. A
 * client can present it more than once: if that matters, remember mcp_request_series().
 *
 * Only tools/call, prompts/get and resources/read may ask. 2026-07-28, basic/patterns/mrtr,
 * client/elicitation, client/sampling, client/roots; 2025-11-25, the same pages of client.
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
 *   MCP_OK              the answer has arrived
 *   MCP_INPUT_REQUIRED  not yet: ask whatever else is needed, then return this
 *   MCP_EREMOTE         the client did not declare the capability, and the reply is the error that
 *                       says so; or the client answered with an error (legacy only; for example a
 *                       user who refused a sampling request), and the reply is an error unless the
 *                       handler makes another one: return the code, or continue
 *   MCP_EINVAL          the question is malformed (the reply says where), or the key is empty or
 *                       too long
 *   MCP_ELIMIT          more questions, or larger ones, than the limits allow
 *   MCP_ESTATE          this request's method may not ask
 *   MCP_ENOMEM
 *
 * `key` identifies the question within this request, up to 128 bytes; use the same key in every
 * round. An answer that is malformed or does not conform to the question's schema is asked for
 * again. Everything that is returned lives as long as the request. */

/* Returns whether the client declared a capability: "elicitation.form", "elicitation.url",
 * "sampling", "sampling.tools", "roots". Unlike mcp_request_require() it does not make the reply an
 * error. */
MCP_API bool mcp_request_can(const mcp_request *req, const char *capability);

/* ---- elicitation ----------------------------------------------------------------------------- */

typedef enum mcp_action {
    MCP_ACTION_ACCEPT = 0,
    MCP_ACTION_DECLINE, /* the user declined */
    MCP_ACTION_CANCEL,  /* the user dismissed the question without a choice */
} mcp_action;

/* One question: form mode has a schema, URL mode a url. */
typedef struct mcp_elicit {
    size_t size;
    const char *message; /* for the user; required */
    /* JSON text of a flat object schema: properties of type string (format, length, enum, or oneOf
     * of const and title), number, integer, boolean, or array of such strings (minItems, maxItems);
     * each may have title, description and default. Never ask for secrets. For 2025-06-18, which
     * lacks titles by oneOf and defaults other than of booleans, the schema is rewritten. Arrays
     * cannot be rewritten and are MCP_EREMOTE there. */
    const char *schema;
    const char *url; /* the page that the user should open; https:. Must not contain secrets */
    /* URL mode, 2025-11-25 only: the id for mcp_server_elicitation_complete(); NULL: generated. */
    const char *elicitation_id;
    /* Form mode, instead of schema: the table that it is made from (mcp/fields.h). */
    const mcp_field *fields;
    size_t n_fields;
} mcp_elicit;

typedef struct mcp_elicited {
    mcp_action action;
    /* Form mode, accepted: an object that conforms to the schema; else NULL. */
    const mcp_json *content;
    const void *reserved[2]; /* NULL */
} mcp_elicited;

MCP_API int mcp_request_elicit(mcp_request *req, const char *key, const mcp_elicit *what,
                               mcp_elicited *ret);

/* For a handler that cannot continue before the user has done something at a URL. It does not wait
 * for a confirmation: a client of 2025-11-25 gets error -32042 and repeats the request when the
 * user is done; a client of a later revision is asked in URL mode and repeats the request. The
 * handler then checks the program's own records to see whether the user is done. Returns the value
 * that the handler must return, never MCP_OK. */
MCP_API int mcp_request_elicit_first(mcp_request *req, const char *key, const mcp_elicit *what);

/* Reports that the interaction of a URL-mode elicitation is complete: notifies the client that was
 * asked, if it speaks 2025-11-25 and is still connected. An id that is unknown or already complete
 * is ignored. */
MCP_API void mcp_server_elicitation_complete(mcp_server *server, const char *elicitation_id);

/* ---- sampling -------------------------------------------------------------------------------- */

/* A request to the client's model. The JSON texts are values as in the schema of
 * CreateMessageRequestParams. */
typedef struct mcp_sample {
    size_t size;
    const char *text; /* one user message; or: */
    /* JSON array of SamplingMessage. An assistant message with tool_use must be followed by a user
     * message that contains only tool_results, one for each. Such messages need "sampling.tools"
     * too. */
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

/* *ret is the CreateMessageResult: `role`, `content` (an object, or an array of them from
 * 2025-11-25 on), `model`, `stopReason`. Malformed messages are the server's own mistake: nothing
 * is sent, the call returns a negative code, and the request's error (-32603) says which message is
 * wrong and why. */
MCP_API int mcp_request_sample(mcp_request *req, const char *key, const mcp_sample *what,
                               const mcp_json **ret);
/* The first text of a CreateMessageResult, or the empty string. */
MCP_API mcp_str mcp_sampled_text(const mcp_json *result);

/* ---- roots ----------------------------------------------------------------------------------- */

/* *ret is the array of roots, objects with `uri` (a string) and perhaps `name`. */
MCP_API int mcp_request_roots(mcp_request *req, const char *key, const mcp_json **ret);

/* ---- state across rounds
 * ------------------------------------------------------------------------- */

/* The handler's own state: any bytes, up to 8 KiB (MCP_ELIMIT). mcp_request_state() returns what
 * was last set in an earlier round, at first the empty string. Set the state before returning
 * MCP_INPUT_REQUIRED. MCP_ENOMEM. */
MCP_API mcp_str mcp_request_state(const mcp_request *req);
MCP_API int mcp_request_set_state(mcp_request *req, mcp_str state);

/* Returns true only in the first round that calls it with this name: for actions that must not be
 * repeated when the handler runs again. Up to 64 names of up to 128 bytes. Beyond these limits, or
 * out of memory, it returns false and the request fails. */
MCP_API bool mcp_request_once(mcp_request *req, const char *name);

/* An idempotency key: 32 hexadecimal digits, the same in all rounds of this request and unique to
 * it; NUL-terminated. NULL: no randomness, or out of memory. */
MCP_API const char *mcp_request_series(mcp_request *req);

/* ---- the seal -------------------------------------------------------------------------------- */

/* How the state that modern peers keep for the server is sealed: with AES-256-GCM of OpenSSL 3,
 * which is loaded when it is first needed. By default the server generates a key, which is lost
 * when it ends. Set a key if several instances serve the same peers, or if state should survive a
 * restart. */
typedef struct mcp_seal_options {
    size_t size;
    const void *key; /* secret; 32 bytes or more of cryptographic randomness; copied */
    size_t key_len;
    /* Accepted too, so that the key can be changed while peers hold sealed state. */
    const void *old_key;
    size_t old_key_len;
    uint64_t lifetime_ms; /* how long a user may take; 15 minutes */
} mcp_seal_options;

/* Sets the seal. May be called again at any time. MCP_EINVAL (a key is too short), MCP_EUNSUPPORTED
 * (no OpenSSL 3), MCP_ENOMEM. */
MCP_API int mcp_server_set_seal(mcp_server *server, const mcp_seal_options *options,
                                mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
