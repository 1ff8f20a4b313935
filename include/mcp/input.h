/* mcp/input.h: ask the client for input while answering one of its requests. The input comes from
 * the user (elicitation) or from a model (sampling), or is the list of folders in which the client
 * works (roots).
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
 * questions. Then it must return MCP_INPUT_REQUIRED too, or pass it to mcp_reply_finish(). The
 * engine asks in the form of the peer's revision: a modern peer gets an InputRequiredResult and
 * repeats its request with the answers, a legacy one gets requests from the server. When the
 * answers have arrived, the handler RUNS AGAIN FROM ITS START and finds them under their keys. So
 * one handler serves every revision and needs no state of its own. Use mcp_request_once() for
 * anything that must happen in one of these rounds only.
 *
 * Between the rounds a modern peer keeps all state in `requestState`: the answers so far and the
 * handler's own state. It is encrypted and authenticated, and valid only for the same principal and
 * the same request, for a limited time (mcp_server_set_seal()); a modified state is rejected. A
 * client can send the same state more than once. A program that must prevent this can store the
 * value of mcp_request_series() and compare it.
 *
 * Only tools/call, prompts/get and resources/read may ask. See 2026-07-28, basic/patterns/mrtr,
 * client/elicitation, client/sampling and client/roots; and 2025-11-25, the same pages of client.
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

/* The return values of all calls that ask the client:
 *   MCP_OK              the answer has arrived
 *   MCP_INPUT_REQUIRED  no answer yet: ask the other questions, if any, then return this
 *   MCP_EREMOTE         the client did not declare the capability, or (legacy clients only) answered
 *                       with an error, for example because the user refused a sampling request. The
 *                       reply is then an error with this reason. If the client answered with an
 *                       error, the handler may continue and replace the reply; otherwise it must
 *                       return the code
 *   MCP_EINVAL          the question is malformed (the reply says where), or the key is empty or
 *                       too long
 *   MCP_ELIMIT          more questions, or larger ones, than the limits allow
 *   MCP_ESTATE          this request's method may not ask
 *   MCP_ENOMEM
 *
 * `key` identifies the question within this request. It has at most 128 bytes and must be the same
 * in every round. If an answer is malformed or does not conform to the schema of the question, the
 * question is asked again. Everything that is returned lives as long as the request. */

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

/* One question. Form mode requires `schema` or `fields`, URL mode requires `url`. */
typedef struct mcp_elicit {
    size_t size;
    const char *message; /* for the user; required */
    /* JSON text of a flat object schema. Its properties are of type string (format, length, enum,
     * or oneOf of const and title), number, integer, boolean, or array of such strings (minItems,
     * maxItems). Each may have title, description and default. Never ask for secrets. The schema is
     * rewritten for clients of revision 2025-06-18, which does not allow oneOf for titles, and
     * allows defaults only for booleans. Arrays cannot be rewritten, so a question with an array
     * returns MCP_EREMOTE for such clients. */
    const char *schema;
    /* The page that the user should open; an https: URL that contains no secrets. */
    const char *url;
    /* URL mode, 2025-11-25 only: the identifier for mcp_server_elicitation_complete(). If this is
     * NULL, one is generated. */
    const char *elicitation_id;
    /* Form mode, instead of `schema`: the table from which the schema is generated
     * (mcp/fields.h). */
    const mcp_field *fields;
    size_t n_fields;
} mcp_elicit;

typedef struct mcp_elicited {
    mcp_action action;
    /* In form mode, if the user accepted, an object that conforms to the schema; else NULL. */
    const mcp_json *content;
    const void *reserved[2]; /* always NULL */
} mcp_elicited;

/* Asks the user a question. On success *ret is the answer. */
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
    const char *text; /* the only message, from the user; otherwise use `messages` */
    /* JSON array of SamplingMessage. An assistant message with tool_use must be followed by a user
     * message that contains only tool_results, one for each. Such messages need "sampling.tools"
     * too. */
    const char *messages;
    int64_t max_tokens; /* required; greater than 0 */
    const char *system_prompt;
    bool has_temperature;
    double temperature;
    const char *stop_sequences;    /* JSON array of strings */
    const char *model_preferences; /* JSON object */
    const char *metadata;          /* JSON object */
    const char *tools;             /* JSON array of Tool; needs "sampling.tools" */
    const char *tool_choice;       /* JSON object; needs "sampling.tools" */
} mcp_sample;

/* On success *ret is the CreateMessageResult, with `role`, `content` (an object, or an array of
 * objects from 2025-11-25 on), `model` and `stopReason`. Malformed messages are the server's own
 * mistake: nothing is sent, the call returns a negative code, and the request's error (-32603) says
 * which message is wrong and why. */
MCP_API int mcp_request_sample(mcp_request *req, const char *key, const mcp_sample *what,
                               const mcp_json **ret);
/* Returns the first text of a CreateMessageResult, or the empty string. */
MCP_API mcp_str mcp_sampled_text(const mcp_json *result);

/* ---- roots ----------------------------------------------------------------------------------- */

/* On success *ret is the array of roots, which are objects with `uri` (a string) and possibly
 * `name`. */
MCP_API int mcp_request_roots(mcp_request *req, const char *key, const mcp_json **ret);

/* ---- state across rounds --------------------------------------------------------------------- */

/* The handler's own state, which may be any bytes, up to 8 KiB. mcp_request_state() returns the
 * state that was last set in an earlier round, or the empty string if there is none.
 * mcp_request_set_state() must be called before the handler returns MCP_INPUT_REQUIRED. It returns
 * MCP_OK, MCP_ELIMIT (too long) or MCP_ENOMEM. */
MCP_API mcp_str mcp_request_state(const mcp_request *req);
MCP_API int mcp_request_set_state(mcp_request *req, mcp_str state);

/* Returns true only in the first round that calls it with this name: for actions that must not be
 * repeated when the handler runs again. A request can use up to 64 names of up to 128 bytes each.
 * If a limit is exceeded or memory runs out, the function returns false and the request fails. */
MCP_API bool mcp_request_once(mcp_request *req, const char *name);
/* Returns whether mcp_request_once() was called with this name, in this round or an earlier one. */
MCP_API bool mcp_request_did(const mcp_request *req, const char *name);

/* Returns an idempotency key: 32 hexadecimal digits, NUL-terminated, which are the same in all
 * rounds of this request and differ from those of all other requests. Returns NULL if there is no
 * randomness or no memory. */
MCP_API const char *mcp_request_series(mcp_request *req);

/* ---- the seal -------------------------------------------------------------------------------- */

/* The state that modern peers keep for the server is encrypted and authenticated (sealed) with
 * AES-256-GCM of OpenSSL 3, which is loaded when it is first needed. By default the server
 * generates a key, which exists only as long as the server. Set a key if several instances serve
 * the same peers, or if state should survive a restart. */
typedef struct mcp_seal_options {
    size_t size;
    const void *key; /* secret; at least 32 cryptographically random bytes; copied */
    size_t key_len;
    /* The previous key, or NULL. State that was sealed with it is still accepted, so that the key
     * can be changed while peers hold such state. */
    const void *old_key;
    size_t old_key_len;
    uint64_t lifetime_ms; /* how long a user may take; default 15 minutes */
    /* Not 0: OpenSSL is loaded when something is sealed or opened for the first time, and not before.
     * Allowed with a key of 32 bytes, without an old one. */
    size_t load_later;
} mcp_seal_options;

/* Sets the seal. May be called again at any time. Returns MCP_OK, MCP_EINVAL (a key is too short; load_later),
 * MCP_EUNSUPPORTED (no OpenSSL 3) or MCP_ENOMEM. */
MCP_API int mcp_server_set_seal(mcp_server *server, const mcp_seal_options *options,
                                mcp_error *error);

#ifdef __cplusplus
}
#endif
#endif
