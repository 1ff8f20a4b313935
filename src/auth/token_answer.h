/* token_answer.h: answers of token endpoints and device authorization endpoints (RFC 6749 section
 * 5, RFC 8628 section 3.2, RFC 8693 section 2.2), and the errors of authorization servers. */
#ifndef MCP_SRC_AUTH_TOKEN_ANSWER_H
#define MCP_SRC_AUTH_TOKEN_ANSWER_H

#include "auth/fault.h"
#include "json/json.h"

enum {
    MCP__ANSWER_BYTES = 64 << 10,
    MCP__ANSWER_TOKEN = 16 << 10,           /* the longest token */
    MCP__ANSWER_SECONDS = 10 * 366 * 86400, /* the longest lifetime; longer ones are cut */
    MCP__DEVICE_INTERVAL = 5,   /* seconds between polls, if the answer has no interval */
    MCP__DEVICE_SECONDS = 1800, /* the longest use of a code; longer ones are cut */
};

/* ---- endpoint_answer.c: all endpoints -------------------------------------------------------- */

/* Parses an answer from `url`, whose body must be a JSON object, or a form, which some servers send;
 * *ret then has its fields as strings. If the status is not 200 or 201,
 * or the body has `error`, the result is the fault of that error. A body that is no JSON is quoted
 * in the text of the error, cut. *ret is written only if the result is MCP__OAUTH_OK. */
mcp__oauth_fault mcp__oauth_answer_read(mcp_json_doc **ret, int status, mcp_str body, mcp_str url,
                                        const mcp_allocator *allocator, mcp_error *error);
/* Fails with the status and the beginning of the body as what was found. */
mcp__oauth_fault mcp__oauth_answer_fail(mcp_error *error, mcp__oauth_fault fault, int status,
                                        mcp_str body, mcp_str url);
/* Gets an optional string. Returns false if the member is not a string, or is longer than `most`
 * bytes, or has other bytes than printable ASCII. null counts as absent. */
bool mcp__oauth_answer_text(const mcp_json *object, const char *name, size_t most, mcp_str *ret);

/* ---- token_answer.c -------------------------------------------------------------------------- */

/* The types of tokens that the client can use. */
typedef enum mcp__token_want {
    MCP__WANT_BEARER, /* no proof was sent */
    MCP__WANT_EITHER, /* a proof was sent: DPoP, or Bearer if the server ignored the proof */
    MCP__WANT_DPOP,   /* only DPoP */
    MCP__WANT_ID_JAG, /* the issued_token_type of an ID-JAG */
} mcp__token_want;

typedef struct mcp__token_answer {
    mcp_json_doc *doc; /* owns the strings */
    mcp_str access_token;
    mcp_str refresh_token; /* empty if there is none */
    mcp_str id_token;      /* empty if there is none */
    mcp_str scope;         /* valid only if has_scope is set */
    mcp__buf joined;       /* `scope`, if the server sent a list */
    bool has_scope;        /* false: the scopes that were asked for */
    bool dpop;             /* the token is bound to the key of the proof */
    int64_t expires_in;    /* in seconds; -1 if unknown */
} mcp__token_answer;

/* Reads an answer from `url`. Whatever the result is, free *ret with mcp__token_answer_clear(). */
mcp__oauth_fault mcp__token_answer_read(mcp__token_answer *ret, int status, mcp_str body,
                                        mcp_str url, mcp__token_want want,
                                        const mcp_allocator *allocator, mcp_error *error);
void mcp__token_answer_clear(mcp__token_answer *answer);

/* ---- device_answer.c ------------------------------------------------------------------------- */

typedef struct mcp__device_answer {
    mcp_json_doc *doc; /* owns the strings */
    mcp_str device_code, user_code;
    mcp_str url;          /* verification_uri: https, or http on this machine if allowed */
    mcp_str complete_url; /* verification_uri_complete; empty if there is none */
    int64_t expires_in;   /* in seconds */
    int64_t interval;     /* in seconds */
} mcp__device_answer;

/* Reads an answer from `url`. `loopback` as in mcp__oauth_url(). Whatever the result is, free *ret
 * with mcp__device_answer_clear(). */
mcp__oauth_fault mcp__device_answer_read(mcp__device_answer *ret, int status, mcp_str body,
                                         mcp_str url, bool loopback, const mcp_allocator *allocator,
                                         mcp_error *error);
void mcp__device_answer_clear(mcp__device_answer *answer);

#endif
