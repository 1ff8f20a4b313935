/* resource.h: the internals of a resource server (mcp/auth.h), which connects the state machines of
 * this layer with the host: fetches, worker threads, time.
 *
 *   mcp_resource_server   options, issuers, the cache of checked tokens, checks in progress
 *   mcp__rs_issuer        an issuer: its rules and its keys, and the fetch of the keys
 *   mcp__rs_view          the resource of a view: its metadata, the audiences of its tokens
 *   mcp__rs_login         a request that waits for its answer
 *   mcp__rs_check         a token that is being checked, for all logins that have it
 *   mcp__rs_job           a part of a check or a login that runs on a worker thread
 *   mcp__rs_address       a client address, with its jobs and its failures
 *
 * resource_options.c reads the options; resource_server.c creates and frees the server;
 * authenticate.c receives requests and uses the cache; recent.c recognizes the last token of a
 * connection; views.c has the views; check.c checks tokens; source.c fetches keys; opaque.c uses introspection endpoints;
 * proof.c checks proofs; claims_identity.c makes identities; decide.c makes answers; jobs.c runs
 * jobs and limits them.
 *
 * Everything belongs to the server's thread, except the functions `run` of jobs.
 */
#ifndef MCP_SRC_AUTH_RESOURCE_H
#define MCP_SRC_AUTH_RESOURCE_H

#include <mcp/auth.h>

#include "auth/challenge.h"
#include "auth/introspect.h"
#include "auth/keyset.h"
#include "auth/replay.h"
#include "auth/resource/recent.h"
#include "auth/token.h"
#include "auth/token_cache.h"
#include "protocol/scope.h"

enum {
    MCP__RS_ISSUERS = 16,
    MCP__RS_PRINCIPAL = 1024, /* the longest principal, with a NUL */
    MCP__RS_CLAIM = 256,      /* the longest name of a claim */
    MCP__RS_KID = 64,         /* bytes of a key id in logs */
    MCP__RS_ADDRESSES = 8192, /* the most client addresses that are stored */
    MCP__RS_REFUSED_S = 10,   /* how long a refusal is cached */
    MCP__RS_IMPLIES = 256,    /* the most pairs of scopes of which one implies the other */
    MCP__RS_AWAY_MS = 1000,   /* pause after a failure of an introspection endpoint */
};

typedef struct mcp__rs_issuer mcp__rs_issuer;
typedef struct mcp__rs_login mcp__rs_login;
typedef struct mcp__rs_check mcp__rs_check;
typedef struct mcp__rs_address mcp__rs_address;
typedef struct mcp__rs_view mcp__rs_view;

/* ---- jobs.c ---------------------------------------------------------------------------------- */

/* Work for another thread. `run` must not use data that the server's thread may change. After
 * `done` is called, the job may be freed. */
typedef struct mcp__rs_job {
    mcp__link link; /* in the queue of its address */
    mcp_resource_server *rs;
    mcp__rs_address *address; /* a reference; NULL if the job is not limited */
    void (*run)(struct mcp__rs_job *job);
    /* Called on the server's thread. `ran` is false if the host ends before the job has run. After
     * mcp_resource_server_free(), `done` may only free the job. */
    void (*done)(struct mcp__rs_job *job, bool ran);
    bool ran, running;
} mcp__rs_job;

struct mcp__rs_address {
    mcp__link lru;   /* in rs->addresses_used */
    mcp__link ready; /* in rs->ready, if it has a job that may run */
    mcp__link queue; /* its jobs that wait */
    size_t running;
    size_t refs;
    int64_t since;     /* when `failures` was computed, in milliseconds */
    uint64_t failures; /* in thousandths */
    size_t len;
    char text[];
};

/* Returns the address, with a reference; NULL if out of memory. */
mcp__rs_address *mcp__rs_address_get(mcp_resource_server *rs, mcp_str text);
void mcp__rs_address_unref(mcp_resource_server *rs, mcp__rs_address *address);
/* Returns whether too many tokens of the address were invalid. Writes the seconds until
 * the next one may be checked to *retry_s. */
bool mcp__rs_address_is_blocked(mcp_resource_server *rs, mcp__rs_address *address,
                                unsigned *retry_s);
void mcp__rs_address_failed(mcp_resource_server *rs, mcp__rs_address *address);
/* Frees all addresses. */
void mcp__rs_addresses_free(mcp_resource_server *rs);
/* Runs a job as soon as the limits allow it. `done` may be called before this returns. */
void mcp__rs_job_start(mcp__rs_job *job);
/* Removes a job that has not begun from its queue. Returns false if it is running, so that `done`
 * will be called. */
bool mcp__rs_job_stop(mcp__rs_job *job);

/* ---- resource_server.c ----------------------------------------------------------------------- */

struct mcp__rs_issuer {
    mcp_resource_server *rs;
    size_t index; /* in rs->issuers and rs->rules */
    const char *jwks_url, *introspection_url, *authorization, *principal, *groups, *ca_file, *proxy;
    bool allow_private;
    bool is_fixed; /* the keys are part of the configuration */
    mcp__keyset keys;
    mcp__link waiting;            /* checks that wait for the outcome of a fetch */
    size_t n_limited;             /* those of them that wait until a fetch is allowed */
    struct mcp_host_timer *timer; /* releases them; NULL if it does not run */
    int64_t away_until; /* when the introspection endpoint is used again after a failure */
    /* source.c */
    mcp_fetch *fetch;
    mcp__rs_job job;    /* reads the fetched document */
    size_t step;        /* number of the metadata URL that is tried */
    bool reads_keys;    /* the document is a key set; if false, it is metadata */
    bool is_away;       /* the last fetch failed, which was logged */
    char *found;        /* the URL of the keys according to the metadata, or NULL */
    mcp__buf body;      /* the fetched document */
    mcp__buf caching;   /* its Cache-Control */
    int rc;             /* the result of reading the document */
    mcp__jwk_set *read; /* the keys in the document, or NULL */
    char *read_url;     /* the URL of the keys in the document, or NULL */
    mcp_error error;    /* why the document could not be read */
};

/* The protected resource metadata of a resource (RFC 9728). */
typedef struct mcp__rs_document {
    char *text, *url;
    mcp_str path; /* of the URL */
} mcp__rs_document;

struct mcp_resource_server {
    mcp_allocator own_allocator;
    const mcp_allocator *allocator;
    mcp_auth_host host;
    mcp_resource_server_options options; /* owns copies of the strings; see resource_options.c */
    mcp__arena texts;
    mcp__crypto crypto;
    size_t n_issuers;
    mcp__rs_issuer issuers[MCP__RS_ISSUERS];
    mcp__token_rules rules[MCP__RS_ISSUERS];
    mcp__rs_issuer *opaque; /* the issuer with an introspection endpoint, or NULL */
    mcp__scope_implies *implies;
    size_t n_implies;
    mcp__rs_document document;
    mcp__rs_view **views; /* in the order of mcp_resource_server_set_views() */
    size_t n_views;
    uint64_t last_view; /* the number of the last one that was made */

    mcp__token_cache *known;
    uint64_t forgotten;  /* how often mcp_resource_server_forget() was called */
    mcp__replay *proofs; /* NULL before the first proof */
    unsigned char nonce_keys[2][MCP__SHA256];
    size_t n_nonce_keys; /* 0 if proofs need no nonce */

    mcp__map checks; /* by mcp__token_id */
    size_t pending_bytes;
    mcp__map addresses;
    mcp__link addresses_used; /* the most recently used last */
    mcp__link ready;          /* addresses with jobs that may run */
    size_t running;           /* limited jobs that run */
    size_t jobs;              /* all jobs that the host has */
    mcp__link asking;         /* checks that wait for their turn to be introspected */
    size_t introspecting;
    bool spares_local; /* the limit of failures does not apply to clients on this machine */
    bool freed;        /* the memory is released after the last job */
    mcp_resource_server_usage usage;
};

static inline int64_t mcp__rs_now(const mcp_resource_server *rs)
{
    return rs->host.now(rs->host.user);
}
/* Returns the time in seconds since 1970. */
static inline int64_t mcp__rs_wall(const mcp_resource_server *rs)
{
    return rs->host.wall(rs->host.user) / 1000;
}
void mcp__rs_log(const mcp_resource_server *rs, const char *level, const char *format, ...)
    MCP_PRINTF(3, 4);
/* Makes the document of a resource, in an empty one. Returns MCP_OK, or an error of its URL. */
int mcp__rs_document_make(const mcp_resource_server *rs, const char *resource,
                          mcp__rs_document *ret, mcp_error *error);
void mcp__rs_document_clear(const mcp_resource_server *rs, mcp__rs_document *document);
/* Return the URL of the resource and that of its metadata, which challenges contain. The strings are valid
 * as long as the server, or the view unless it is NULL. */
const char *mcp__rs_resource(const mcp_resource_server *rs, const mcp__rs_view *view);
const char *mcp__rs_metadata_url(const mcp_resource_server *rs, const mcp__rs_view *view);
/* Returns the metadata at a path, or NULL: those of the server, or those of a view, whose name is then
 * stored in *view, which is NULL otherwise. The server may be NULL. */
const char *mcp__rs_metadata_at(const mcp_resource_server *rs, mcp_str path, const char **view);
/* Frees the rest of the server after the last job. */
void mcp__rs_release(mcp_resource_server *rs);

/* ---- resource_options.c ---------------------------------------------------------------------- */

/* Checks and copies the options. Returns MCP_OK, MCP_EINVAL or MCP_ENOMEM. */
int mcp__rs_options_read(mcp_resource_server *rs, const mcp_resource_server_options *options,
                         mcp_error *error);

/* ---- views.c --------------------------------------------------------------------------------- */

/* Only `refs` changes, on the server's thread. */
struct mcp__rs_view {
    const mcp_resource_server *rs;
    size_t refs;
    uint64_t number; /* not 0, and that of no other view of the server before */
    mcp__arena texts;
    const char *name, *resource;
    mcp__rs_document document;
    mcp__token_rules rules[MCP__RS_ISSUERS]; /* those of the server with other audiences */
};

/* Returns the view with this name, borrowed until the views are set again, or NULL. */
mcp__rs_view *mcp__rs_view_find(const mcp_resource_server *rs, mcp_str name);
/* NULL is allowed. */
mcp__rs_view *mcp__rs_view_ref(mcp__rs_view *view);
void mcp__rs_view_unref(mcp__rs_view *view);
void mcp__rs_views_clear(mcp_resource_server *rs);
/* Returns a number that no other view has; 0 for none (NULL). */
static inline uint64_t mcp__rs_view_number(const mcp__rs_view *view)
{
    return view ? view->number : 0;
}

/* ---- authenticate.c -------------------------------------------------------------------------- */

/* The result of the check of a token, which is the value in the cache. */
typedef struct mcp__rs_known {
    mcp__refused why;
    mcp_identity *identity;         /* NULL if the token is refused */
    char jkt[MCP__SHA256_TEXT + 1]; /* empty if the token is not bound */
    /* For logs of refusals. */
    const mcp__rs_issuer *issuer; /* the configured issuer that the token names, or NULL */
    char kid[MCP__RS_KID + 1];    /* the beginning of the key id in the token; any text */
} mcp__rs_known;

typedef struct mcp__rs_answer {
    mcp_identity *identity; /* NULL if the request is refused */
    int status;             /* 400, 401, 403, 429 or 503; 0 if it is accepted */
    const char *challenges[2];
    size_t n_challenges;
    unsigned retry_s;
    const char *message;
    const char *nonce; /* NULL if there is none */
    /* For logs; NULL if unknown. */
    const char *reason, *issuer, *key;
    const char *principal; /* of a good token that lacks a scope */
} mcp__rs_answer;

/* A request that has to be authenticated. Strings are borrowed until mcp__rs_ask() returns, except
 * `url`, which is borrowed until the answer. */
typedef struct mcp__rs_question {
    mcp_str authorization; /* the header Authorization; empty if there is none */
    mcp_str proof;         /* the header DPoP; "\n" if there are several */
    const char *method;    /* of static storage */
    const char *url;       /* NULL means that of the resource */
    mcp__rs_view *view;    /* NULL: none, or one that was not set */
    const char *client;    /* address; may be NULL */
    /* Called once, unless the login is cancelled; everything is borrowed until it returns. */
    void (*answer)(const mcp__rs_answer *answer, void *user);
    void *user;
    mcp__rs_recent *recent;         /* of the connection; NULL if nothing is to be kept */
    const mcp_allocator *allocator; /* of `recent` */
} mcp__rs_question;

struct mcp__rs_login {
    mcp__rs_job job; /* checks the proof */
    mcp__link link;  /* in check->logins */
    mcp__rs_check *check;
    mcp__rs_question
        question; /* only `method`, `answer` and `user` are valid later; `url` for DPoP */
    mcp__auth_scheme scheme;
    bool cancelled;
    bool *ended; /* set when the login is freed; may be NULL */
    /* of DPoP */
    mcp__rs_known known; /* has a reference to the identity */
    int64_t now;
    mcp__refused why;
    mcp__dpop_proof proof;
    mcp_str texts[2]; /* token and proof, in `text` */
    char text[];
};

/* Answers a request at once and returns NULL, or returns a login that will be answered later. */
mcp__rs_login *mcp__rs_ask(mcp_resource_server *rs, const mcp__rs_question *question);
/* Ends a login without an answer. */
void mcp__rs_login_cancel(mcp__rs_login *login);
/* Continues a login whose token was checked. May free the login. */
void mcp__rs_login_continue(mcp__rs_login *login, const mcp__rs_known *known, unsigned retry_s);
/* Answers a login and frees it. */
void mcp__rs_login_finish(mcp__rs_login *login, mcp__refused why, unsigned retry_s);
/* Frees a value of the cache. */
void mcp__rs_known_clear(mcp__rs_known *known);

/* ---- recent.c -------------------------------------------------------------------------------- */

/* Stores the header of a request, if question->recent is set, whose token mcp__token_cache_get() has
 * found and which was accepted without a proof. */
void mcp__rs_remember(mcp_resource_server *rs, const mcp__rs_question *question,
                      const mcp__token_id *id);

/* ---- proof.c --------------------------------------------------------------------------------- */

/* Checks the proof of a login whose token is good. May free the login. */
void mcp__rs_prove(mcp__rs_login *login);

/* ---- decide.c -------------------------------------------------------------------------------- */

/* Answers a request: with the identity of `known` if `why` is MCP__ACCEPTED, else with a refusal.
 * `known` is what is known of the token, or NULL. `scheme` is that of the request. */
void mcp__rs_answer_to(mcp_resource_server *rs, const mcp__rs_question *question,
                       mcp__auth_scheme scheme, mcp__refused why, const mcp__rs_known *known,
                       unsigned retry_s);
/* Returns whether a refusal is the client's fault, and therefore counts as a failure. */
bool mcp__rs_is_fault(mcp__refused why);

/* ---- check.c --------------------------------------------------------------------------------- */

struct mcp__rs_check {
    mcp__rs_job job;
    mcp__link waiting; /* in issuer->waiting or rs->asking */
    mcp__link logins;
    mcp__token_id id;
    int64_t now; /* in seconds since 1970, when the job was started */
    mcp__token token;
    mcp__rs_issuer *issuer;
    mcp__rs_view *view; /* a reference; NULL if it is for none */
    uint64_t forgotten; /* rs->forgotten at the beginning */
    uint64_t since;     /* see mcp__keyset_ask() */
    uint64_t with;      /* number of the fetch that `keys` are from */
    uint64_t tried; /* the fetch whose keys did not verify a token that names no key; 0 if none */
    mcp__jwk_set *keys;        /* a reference, while the job runs */
    mcp_fetch *fetch;          /* a request to the introspection endpoint */
    mcp__buf body;             /* its answer */
    int rc;                    /* the result of reading the answer */
    bool limited, was_limited; /* it waits, or waited, until a fetch is allowed */
    bool in_turn;              /* the request is counted in rs->introspecting */
    mcp__rs_known known;
    int64_t expires; /* in seconds since 1970 */
    size_t bytes;    /* of `known` */
    size_t len;
    char text[]; /* the token */
};

/* Returns the rules for a token of check->issuer. */
static inline const mcp__token_rules *mcp__rs_rules(const mcp__rs_check *check)
{
    const mcp__token_rules *all = check->view ? check->view->rules : check->job.rs->rules;
    return &all[check->issuer->index];
}

/* Makes a login wait for the check of its token. Starts the check if it is not in progress. Returns
 * MCP__ACCEPTED, or the reason why the token cannot be checked now. */
mcp__refused mcp__rs_check_for(mcp_resource_server *rs, mcp__rs_login *login,
                               const mcp__token_id *id, mcp_str token, const char *client,
                               unsigned *retry_s);
/* Removes a login from its check, and ends the check if no other login waits for it. */
void mcp__rs_check_leave(mcp__rs_login *login);
/* Finds the keys for a check: at its start, and after the outcome of a fetch of keys. May free the
 * check. */
void mcp__rs_check_keys(mcp__rs_check *check);
/* Starts a job of a check. May free the check. */
void mcp__rs_check_run(mcp__rs_check *check, void (*run)(mcp__rs_job *job),
                       void (*done)(mcp__rs_job *job, bool ran));
/* Ends a check whose job is not running: continues all its logins, and frees the check. */
void mcp__rs_check_finish(mcp__rs_check *check, mcp__refused why, unsigned retry_s);
/* Ends a check because the server is freed. */
void mcp__rs_check_drop(mcp__rs_check *check);

/* ---- source.c -------------------------------------------------------------------------------- */

/* Makes a check wait until the limit of fetches for unknown keys allows one, if that is soon.
 * Returns false if it must not wait: each check waits once, and few do at the same time. */
bool mcp__rs_source_limit(mcp__rs_check *check);
/* Ends that wait, if there is one. */
void mcp__rs_source_unlimit(mcp__rs_check *check);
/* Starts a fetch of the keys of an issuer if its key set wants one. */
void mcp__rs_source_wake(mcp__rs_issuer *issuer);
/* Cancels a fetch that is in progress. */
void mcp__rs_source_stop(mcp__rs_issuer *issuer);

/* ---- opaque.c -------------------------------------------------------------------------------- */

/* Sends a token to the introspection endpoint when its turn comes. May free the check. */
void mcp__rs_introspect(mcp__rs_check *check);
/* Cancels the introspection of a token, or its wait. */
void mcp__rs_introspect_stop(mcp__rs_check *check);

/* ---- claims_identity.c ----------------------------------------------------------------------- */

/* Makes check->known from accepted claims, whose text is `json`. Runs on a worker thread. */
mcp__refused mcp__rs_identify(mcp__rs_check *check, const mcp_json_doc *doc,
                              const mcp__claims *claims, const char *json);
/* Returns the claim with a name or JSON pointer from the options, or NULL. */
const mcp_json *mcp__rs_claim(const mcp_json *claims, mcp_str name);
/* Checks the option `principal` of an issuer. */
int mcp__rs_principal_check(const char *text, mcp_error *error);

#endif
