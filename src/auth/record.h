/* record.h: what a client remembers about one server and account, as JSON text:
 *
 *     {"version":1,
 *      "clients":[{"issuer":…,"client_id":…,"client_secret":…,"method":…,"redirect_uri":…,
 *                  "secret_expires":…,"token_endpoint":…,"tried":…}],
 *      "grants":[{"issuer":…,"resource":…,"client_id":…,"client_secret":…,"client_key":…,
 *                 "access_token":…,"redirect_uri":…,"refresh_token":…,"scope":…,"asked":…,"dpop":…,"dpop_key":…,
 *                 "expires":…,"token_endpoint":…}],
 *      "pins":[{"client_id":…,"issuer":…,"token_endpoint":…}]}
 *
 * A registered client is found by its issuer, tokens by issuer, resource and client: nothing that
 * one authorization server issued is ever sent to another (2026-07-28,
 * basic/authorization/client-registration, "Authorization Server Binding"). A pin says where the
 * configured secret of a client was sent first; it outlives tokens and logouts. The newest entry is the
 * first. A change is applied to the text that is stored at that moment, so that a change of another
 * process and members of later versions of the library are kept.
 */
#ifndef MCP_SRC_AUTH_RECORD_H
#define MCP_SRC_AUTH_RECORD_H

#include "auth/fault.h"
#include "json/json.h"

enum {
    MCP__RECORD_VERSION = 1,
    MCP__RECORD_BYTES = 1 << 20,
    MCP__RECORD_ENTRIES = 16, /* of each kind; more are ignored, and dropped with a change */
};

/* The latest time in a record, so that it can be converted to milliseconds, and any reader of JSON
 * understands it. */
#define MCP__RECORD_SECONDS INT64_C(9007199254740)

/* A registered client. Strings may be empty, except issuer and id. */
typedef struct mcp__record_client {
    mcp_str issuer, id, secret;
    mcp_str method;         /* token_endpoint_auth_method */
    mcp_str redirect_uri;   /* the one that was registered */
    mcp_str token_endpoint; /* the one that the secret may be sent to */
    int64_t secret_expires; /* in seconds since 1970; 0 if never */
    bool tried; /* a login was begun with it, and has not been completed: it may be unknown there */
    const mcp_json *stored; /* private: the entry as it was read */
} mcp__record_client;

/* Tokens. Strings may be empty, except issuer and access_token or refresh_token. */
typedef struct mcp__record_grant {
    mcp_str issuer, resource, client_id; /* the key */
    /* Of a client that did not register itself, if a person has logged in. */
    mcp_str client_secret, client_key, redirect_uri;
    mcp_str access_token, refresh_token;
    mcp_str scope;          /* granted */
    mcp_str requested;      /* asked for so far */
    bool dpop;              /* the access token is bound to dpop_key */
    mcp_str dpop_key;       /* a private JWK as JSON text */
    int64_t expires;        /* of the access token, in seconds since 1970; 0 if unknown */
    mcp_str token_endpoint; /* the one that refresh token and secret may be sent to */
    const mcp_json *stored; /* private: the entry as it was read */
} mcp__record_grant;

/* Where a secret that the program has configured may be sent. The client id may be empty. */
typedef struct mcp__record_pin {
    mcp_str client_id; /* the key */
    mcp_str issuer, token_endpoint;
    const mcp_json *stored; /* private: the entry as it was read */
} mcp__record_pin;

/* A record. The strings belong to it. */
typedef struct mcp__record {
    mcp_json_doc *doc;
    size_t n_clients, n_grants, n_pins;
    mcp__record_client clients[MCP__RECORD_ENTRIES];
    mcp__record_grant grants[MCP__RECORD_ENTRIES];
    mcp__record_pin pins[MCP__RECORD_ENTRIES];
} mcp__record;

/* Reads a record. An empty text is a record without entries. Whatever the result is, free *ret with
 * mcp__record_clear(). */
mcp__oauth_fault mcp__record_read(mcp__record *ret, mcp_str text, const mcp_allocator *allocator,
                                  mcp_error *error);
void mcp__record_clear(mcp__record *record);

/* Return NULL if there is no such entry. */
const mcp__record_client *mcp__record_find_client(const mcp__record *record, mcp_str issuer);
const mcp__record_grant *mcp__record_find_grant(const mcp__record *record, mcp_str issuer,
                                                mcp_str resource, mcp_str client_id);
const mcp__record_pin *mcp__record_find_pin(const mcp__record *record, mcp_str client_id);

/* A change. Members that are NULL change nothing. */
typedef struct mcp__record_change {
    const mcp__record_client *client;        /* added, or replaces that of the same issuer */
    const mcp__record_grant *grant;          /* added, or replaces that with the same key */
    const mcp__record_client *forget_client; /* removed with this issuer and id */
    const mcp__record_grant *forget_grant;   /* removed with this key */
    const mcp__record_pin *pin;              /* added, or replaces that of the same client */
    bool logout;                             /* everything but the pins is removed */
} mcp__record_change;

/* Appends the text of a record after a change. Members that this version does not know are kept.
 * Returns MCP__OAUTH_OK, MCP__OAUTH_NO_MEMORY, MCP__OAUTH_RECORD_SIZE, or MCP__OAUTH_RECORD_FORM (a
 * string is not UTF-8). */
mcp__oauth_fault mcp__record_put(mcp__buf *to, const mcp__record *record,
                                 const mcp__record_change *change, mcp_error *error);

#endif
