/* oauth_client.h: the internals of an OAuth client (mcp/oauth.h).
 *
 * An authorization is a sequence of steps. The table in steps.c has two functions for each step:
 * `begin` starts it, and `answered` gets the answer to the request that `begin` sent. Both return
 * the next step, or MCP__STEP_WAIT, _FAILED or _DONE. Everything that happens is the result of an
 * event: an answer, a timer, a lock, or a call of the program. Calls of the program never continue an
 * authorization directly. They start a timer that does.
 *
 *   oauth_client.c     the object, and the calls of the program
 *   client_options.c   its options
 *   request_headers.c  requests of transports: headers, and answers with 401 and 403
 *   steps.c            the table of steps; requests, timers and the end of an authorization
 *   discovery.c        PROBE, RESOURCE, ISSUER, DECIDE
 *   registration.c     REGISTER
 *   code_grant.c       RECOGNIZE, AUTHORIZE, CODE: a person and a browser
 *   device.c           DEVICE, POLL
 *   grant.c            EXCHANGE, GRANT: without a person
 *   token_request.c    requests to token endpoints; REFRESH
 *   remember.c         LOCK, SAVE: the record, and which token in it is used
 *   logout.c           REVOKE, FORGET
 *   trace.c            what is reported of requests and answers
 */
#ifndef MCP_SRC_AUTH_CLIENT_H
#define MCP_SRC_AUTH_CLIENT_H

#include "auth/authorize.h"
#include "auth/client/transport.h"
#include "auth/discover.h"
#include "auth/record.h"
#include "auth/registration_request.h"
#include "auth/request_form.h"
#include "auth/token_answer.h"
#include "auth/www.h"

typedef enum mcp__oauth_step {
    MCP__STEP_NONE = 0,
    MCP__STEP_PROBE,     /* asks the server for its challenge */
    MCP__STEP_RESOURCE,  /* metadata of the server */
    MCP__STEP_ISSUER,    /* metadata of the authorization server */
    MCP__STEP_DECIDE,    /* renew the token, or get another one */
    MCP__STEP_LOCK,      /* the lock of the record; then flow.after */
    MCP__STEP_REFRESH,   /* renews the token, with the lock */
    MCP__STEP_REGISTER,  /* which client this is */
    MCP__STEP_RECOGNIZE, /* asks whether the registered client is still known */
    MCP__STEP_AUTHORIZE, /* asks a person, in a browser */
    MCP__STEP_CODE,      /* the token for a code */
    MCP__STEP_DEVICE,    /* a code for a person */
    MCP__STEP_POLL,      /* the token, once the person has entered the code */
    MCP__STEP_EXCHANGE,  /* an ID-JAG for an ID token */
    MCP__STEP_GRANT,     /* the token, without a person */
    MCP__STEP_SAVE,      /* changes the record, with the lock; then flow.after_save */
    MCP__STEP_REVOKE,    /* logout */
    MCP__STEP_FORGET,    /* removes the record, with the lock */
    MCP__STEP_LATE,      /* a person took too long */
    MCP__STEP_ABORT,     /* the authorization ends with flow.error */
    MCP__STEPS,
    /* outcomes */
    MCP__STEP_WAIT,
    MCP__STEP_FAILED, /* flow.error says why */
    MCP__STEP_DONE,
} mcp__oauth_step;

typedef enum mcp__oauth_why {
    MCP__WHY_LOGIN = 0, /* the program wants a new token */
    MCP__WHY_REFUSED,   /* 401 */
    MCP__WHY_STEP_UP,   /* 403 for lack of scopes */
    MCP__WHY_LOGOUT,
} mcp__oauth_why;

/* How the record is changed. */
typedef enum mcp__oauth_saving {
    MCP__SAVE_GRANT = 0, /* flow.token, and flow.registered if it is not saved yet */
    MCP__SAVE_TRIED,     /* a login is begun with the registered client */
    MCP__SAVE_CLIENT,    /* flow.registered */
    MCP__SAVE_NO_GRANT,  /* the grant is removed */
    MCP__SAVE_NO_CLIENT, /* the grant and the registered client are removed */
    MCP__SAVE_PIN,       /* where the configured secret goes */
} mcp__oauth_saving;

/* The client as the authorization server knows it. The strings belong to the options, the record or
 * the flow. */
typedef struct mcp__oauth_self {
    mcp_str id, secret, key_text;
    const mcp__jwk *key; /* key_text; the client's or flow.key */
    mcp__auth_method method;
    bool registered; /* by itself, so that it can register again */
    bool known;      /* the members above are set */
    bool is_new;     /* registered in this flow */
} mcp__oauth_self;

/* One authorization. */
typedef struct mcp__oauth_flow {
    bool active;
    mcp__oauth_why why;
    mcp__oauth_step step, after, after_save;
    mcp__oauth_saving saving;
    int probed;      /* the status of the answer to PROBE; 0 if there was none */
    size_t tried;    /* how many URLs of the step were tried before */
    size_t requests; /* sent so far, without polls */
    unsigned nonces; /* repetitions of a token request because of a nonce */
    bool locking, locked, visiting;
    bool prompted;        /* a person was asked */
    bool quiet;           /* no person is asked */
    bool ending;          /* a logout comes next */
    bool declined;        /* by the program; flow.error says why */
    bool challenged_dpop; /* the server wants DPoP */
    bool dpop;            /* the token is to be bound to a key */
    bool dpop_required;
    bool forgot;                  /* the registered client was unknown, and was removed */
    bool recognizing, unknown;    /* RECOGNIZE was begun; the registered client is unknown */
    uint64_t refused;             /* the generation of the token that was refused */
    size_t revoking;              /* of a logout: the grant in the record */
    mcp_error unrevoked;          /* of a logout: why the first of them could not be revoked */
    mcp__arena texts;             /* owns strings */
    mcp_str metadata_url, wanted; /* of the challenge: URL of metadata, and scopes */
    mcp_str resource;             /* the identifier of the server */
    mcp_str queried_issuer;       /* the issuer whose metadata are read */
    mcp__protected server;
    mcp__issuer issuer;
    mcp__oauth_self self;
    mcp__jwk *key; /* of an earlier login */
    mcp__registered registered;
    mcp__buf scope; /* the scopes to ask for */
    mcp__pkce pkce;
    char state[MCP__RANDOM_TEXT];
    mcp__buf code;
    mcp__device_answer device;
    int64_t interval, expires; /* of the device flow, in milliseconds */
    mcp__buf assertion;
    mcp__token_answer token;
    bool refreshed; /* flow.token is the answer to a refresh */
    mcp_error error;
} mcp__oauth_flow;

/* A call of the program that waits for the end. */
typedef struct mcp__oauth_call {
    mcp__link link;
    mcp_oauth_done_fn *done;
    void *user;
} mcp__oauth_call;

struct mcp_oauth_client {
    mcp_allocator allocator;
    mcp__arena texts; /* owns the strings of the options */
    mcp__arena shown; /* owns the strings of the last mcp_oauth_state */
    mcp_oauth_client_options o;
    mcp_auth_host host;
    mcp_oauth_store store; /* its functions are NULL if there is none */
    mcp__crypto crypto;
    mcp__jwk *key;    /* client_key */
    const char *name; /* of the record */
    bool loopback;    /* the server is on this machine */
    bool loaded;      /* the record was read */
    bool unsaved;     /* `record` is newer than `text`, because it could not be saved */
    mcp__buf text;    /* the record as it is stored, as far as is known */
    mcp__record record;
    const mcp__record_grant *grant; /* the token in use, in `record`; or NULL */
    uint64_t generation;            /* of that token; changes with it; 0 if there is none */
    uint64_t generations;           /* so far */
    mcp__buf token;                 /* a copy of the token, which shows that it changed */
    mcp__prover prover;             /* for proofs, if prover.key is set */
    mcp__buf prover_text;           /* its key */
    mcp__buf server_nonce, issuer_nonce;
    mcp__buf missed; /* scopes of a step-up that has not led to a token */
    /* Authorizations since the last one that helped, and the time of the last one. */
    unsigned unproven;
    int64_t authorized;
    bool renewed; /* the token was renewed, and no request was accepted with it yet */
    mcp__oauth_flow flow;
    mcp_fetch *fetch;
    char *url; /* of the last request, and what it was for */
    const char *what;
    struct mcp_host_timer *timer;
    mcp__oauth_step timed; /* the step that the timer begins */
    mcp__link transports;
    mcp__link logins;  /* calls that wait for the end of the authorization */
    mcp__link logouts; /* the same for the logout */
    bool in_vain;      /* a person was asked in the last authorization, which failed */
    mcp_error failure; /* of the last authorization */
    /* Authorizations that failed: for more scopes, and others. */
    uint64_t step_ups, failures;
};

/* ---- steps.c --------------------------------------------------------------------------------- */

/* Prepares a flow, which begins with the step soon. Returns MCP_OK or MCP_ENOMEM. */
int mcp__oauth_begin(mcp_oauth_client *c, mcp__oauth_why why, mcp__oauth_step step);
/* Begins the step after `ms` milliseconds, instead of what was to begin later. Returns MCP_OK or
 * MCP_ENOMEM; nothing has changed then. */
int mcp__oauth_later(mcp_oauth_client *c, uint64_t ms, mcp__oauth_step step);
/* Ends the flow: rc as in flow.error.code. Does nothing if there is none. */
void mcp__oauth_end(mcp_oauth_client *c, int rc);
/* Releases everything of a flow. No callback is called, except store.unlock and visit_end. */
void mcp__oauth_drop(mcp_oauth_client *c);

/* Set flow.error. */
mcp__oauth_step mcp__oauth_failed_with(mcp_oauth_client *c, int code, const char *format, ...)
    MCP_PRINTF(3, 4);
mcp__oauth_step mcp__oauth_no_memory(mcp_oauth_client *c);
/* Returns `next`, or MCP__STEP_FAILED if there is a fault (whose text is in flow.error already). */
mcp__oauth_step mcp__oauth_unless(mcp_oauth_client *c, mcp__oauth_fault fault,
                                  mcp__oauth_step next);

/* A request of the flow. All strings are copied by the host. */
typedef struct mcp__oauth_request {
    const char *what; /* as in mcp_oauth_step.what */
    const char *url, *accept, *form, *json, *authorization, *dpop, *revision;
    bool poll; /* does not count */
    bool stay; /* a redirect ends it, with MCP_EACCESS */
} mcp__oauth_request;

/* Returns MCP__STEP_WAIT or _FAILED. */
mcp__oauth_step mcp__oauth_send(mcp_oauth_client *c, const mcp__oauth_request *request);

/* An answer, or the failure of the request. */
typedef struct mcp__oauth_answer {
    int rc, status;
    mcp_str body;
    mcp_str challenge; /* WWW-Authenticate */
    const char *text;  /* why it failed */
    const char *url;
} mcp__oauth_answer;

typedef struct mcp__oauth_work {
    mcp__oauth_step (*begin)(mcp_oauth_client *c);
    mcp__oauth_step (*answered)(mcp_oauth_client *c, const mcp__oauth_answer *answer);
} mcp__oauth_work;

/* The functions of each step. */
extern const mcp__oauth_work mcp__oauth_work_probe;
extern const mcp__oauth_work mcp__oauth_work_resource;
extern const mcp__oauth_work mcp__oauth_work_issuer;
extern const mcp__oauth_work mcp__oauth_work_decide;
extern const mcp__oauth_work mcp__oauth_work_lock;
extern const mcp__oauth_work mcp__oauth_work_refresh;
extern const mcp__oauth_work mcp__oauth_work_registration;
extern const mcp__oauth_work mcp__oauth_work_recognize;
extern const mcp__oauth_work mcp__oauth_work_authorize;
extern const mcp__oauth_work mcp__oauth_work_late;
extern const mcp__oauth_work mcp__oauth_work_code;
extern const mcp__oauth_work mcp__oauth_work_device;
extern const mcp__oauth_work mcp__oauth_work_poll;
extern const mcp__oauth_work mcp__oauth_work_exchange;
extern const mcp__oauth_work mcp__oauth_work_grant;
extern const mcp__oauth_work mcp__oauth_work_save;
extern const mcp__oauth_work mcp__oauth_work_revoke;
extern const mcp__oauth_work mcp__oauth_work_forget;

/* Fails with the text of an answer that did not arrive. */
mcp__oauth_step mcp__oauth_unanswered(mcp_oauth_client *c, const mcp__oauth_answer *answer);

/* ---- request_headers.c, discovery.c, registration.c ------------------------------------------ */

/* Takes what a challenge asks for into the flow. Returns MCP_OK or MCP_ENOMEM. */
int mcp__oauth_take_challenge(mcp_oauth_client *c, mcp_str www_authenticate);
/* Appends the scopes of a list that `to` does not have. If one of the lists has too many, to->failed
 * becomes MCP_ELIMIT. */
enum { MCP__MOST_SCOPES = 256, MCP__SCOPES_BYTES = 8 << 10 };
void mcp__oauth_add_scopes(mcp__buf *to, mcp_str list);
/* Sets flow.self, if it is known without a request. Returns MCP_OK or MCP_ENOMEM. */
int mcp__oauth_know_self(mcp_oauth_client *c);
/* Chooses how flow.self authenticates itself. Returns MCP_OK or sets flow.error. */
int mcp__oauth_choose_method(mcp_oauth_client *c);
/* Sets flow.self to the client that got a grant. Returns MCP_OK or MCP_ENOMEM. */
int mcp__oauth_be_owner(mcp_oauth_client *c, const mcp__record_grant *grant);
/* Returns whether the secret and the key of flow.self are stored with its tokens, so that it stays the client
 * when later programs do not name it: those of the options, if a person has logged in. */
bool mcp__oauth_keeps_self(const mcp_oauth_client *c);
/* Checks that what was saved for flow.issuer may be sent to its token endpoint. Returns MCP__STEP_DONE
 * or MCP__STEP_FAILED. */
mcp__oauth_step mcp__oauth_check_pins(mcp_oauth_client *c);
/* Returns the parameter `resource`, which may be left out. */
mcp_str mcp__oauth_resource(const mcp_oauth_client *c);
/* Returns the first step of getting a token with flow.self. */
mcp__oauth_step mcp__oauth_first_of_grant(const mcp_oauth_client *c);
/* The name of the record's grant that the flow is about. */
const mcp__record_grant *mcp__oauth_own_grant(const mcp_oauth_client *c);

/* Checks that the configured secret or assertion may be sent to the token endpoint of flow.issuer.
 * Returns `step` if it may, MCP__STEP_FAILED if it went to another one before, or the step that pins
 * this one and then begins `step` again. */
mcp__oauth_step mcp__oauth_pin(mcp_oauth_client *c, mcp__oauth_step step);

/* Ends a visit, if there is one. */
void mcp__oauth_visited(mcp_oauth_client *c);
/* Returns the client that flow.self is in the record, or NULL. */
const mcp__record_client *mcp__oauth_own_client(const mcp_oauth_client *c);
/* Asks a person to open a page, and waits. */
mcp__oauth_step mcp__oauth_visit_page(mcp_oauth_client *c, mcp_oauth_visit *visit,
                                      mcp__oauth_step late);

/* ---- token_request.c ------------------------------------------------------------------------- */

/* Sends a form to the token endpoint, after adding the authentication of the client and a proof. */
mcp__oauth_step mcp__oauth_ask_token(mcp_oauth_client *c, mcp__buf *form, const char *what,
                                     bool poll);
/* Reads the answer into flow.token. Returns MCP__OAUTH_USE_NONCE only if the request is to be sent
 * again. */
mcp__oauth_fault mcp__oauth_read_token(mcp_oauth_client *c, const mcp__oauth_answer *answer);
/* `answered` of steps whose answer is the token. */
mcp__oauth_step mcp__oauth_take_token(mcp_oauth_client *c, const mcp__oauth_answer *answer);
/* Saves flow.token, which ends the authorization. */
mcp__oauth_step mcp__oauth_got_token(mcp_oauth_client *c);
/* Decides whether the token is to be bound, and prepares the key. Returns MCP_OK or sets
 * flow.error. */
int mcp__oauth_prepare_proof(mcp_oauth_client *c);
/* Makes `prover` the one for this key. Returns MCP_OK or a negative code. */
int mcp__oauth_use_key(mcp_oauth_client *c, mcp_str jwk, mcp_error *error);
/* Appends a proof with `prover`. */
int mcp__oauth_prove(mcp_oauth_client *c, mcp__buf *to, const char *method, mcp_str url,
                     mcp_str token, mcp_str nonce);
/* Adds the authentication of flow.self to a form. */
int mcp__oauth_authenticate(mcp_oauth_client *c, mcp__buf *form, mcp__buf *authorization);

/* ---- remember.c ------------------------------------------------------------------------------ */

/* Reads the record. With `again` unset, only if it was not read before. Returns MCP_OK or a negative
 * code. */
int mcp__oauth_load(mcp_oauth_client *c, bool again, mcp_error *error);
/* Uses this token of the record from now on; NULL means none. */
void mcp__oauth_use(mcp_oauth_client *c, const mcp__record_grant *grant);
void mcp__oauth_unlock(mcp_oauth_client *c);
/* Returns the step that gets the lock and then begins `step`. */
mcp__oauth_step mcp__oauth_with_lock(mcp_oauth_client *c, mcp__oauth_step step);
/* Returns the step that saves, and then begins `step`. */
mcp__oauth_step mcp__oauth_save(mcp_oauth_client *c, mcp__oauth_saving what, mcp__oauth_step step);

/* ---- logout.c -------------------------------------------------------------------------------- */

/* Begins a logout. Returns MCP_OK or MCP_ENOMEM. */
int mcp__oauth_begin_logout(mcp_oauth_client *c);
/* Returns the grant that is being revoked. */
const mcp__record_grant *mcp__oauth_revoking(const mcp_oauth_client *c);
/* Goes on to the next grant, or to the removal of the record. The failure of this one is kept. */
mcp__oauth_step mcp__oauth_revoke_next(mcp_oauth_client *c);

/* ---- trace.c, and helpers -------------------------------------------------------------------- */

void mcp__oauth_trace_request(mcp_oauth_client *c, const mcp__oauth_request *request);
void mcp__oauth_trace_answer(mcp_oauth_client *c, const mcp__oauth_answer *answer);
void mcp__oauth_trace_text(mcp_oauth_client *c, const char *what, const char *url,
                           const char *text);

int64_t mcp__oauth_seconds(const mcp_oauth_client *c); /* since 1970 */
/* Fills `to` with random bytes. Returns MCP_OK, or a negative code. */
int mcp__oauth_random(mcp_oauth_client *c, void *to, size_t len);
/* Returns a copy that lives as long as the flow; ptr is NULL if out of memory. */
mcp_str mcp__oauth_keep(mcp_oauth_client *c, mcp_str text);
/* The arguments of "%.*s" for a string, of which at most `most` bytes are shown. */
#define MCP__SHOWN(s, most) (int)MCP__MIN((s).len, (size_t)(most)), (s).len ? (s).ptr : ""

int mcp__oauth_read_options(mcp_oauth_client *c, const mcp_oauth_client_options *given,
                            mcp_error *error);

#endif
