/* request_form.h: the forms that a client sends to an authorization server, and how it
 * authenticates itself there (RFC 6749, 7009, 7523, 8628, 8693, 8707).
 *
 * The forms are of the type application/x-www-form-urlencoded. They contain secrets.
 */
#ifndef MCP_SRC_AUTH_REQUEST_FORM_H
#define MCP_SRC_AUTH_REQUEST_FORM_H

#include "auth/discover.h"
#include "auth/prove.h"

#define MCP__GRANT_CODE        "authorization_code"
#define MCP__GRANT_REFRESH     "refresh_token"
#define MCP__GRANT_CREDENTIALS "client_credentials"
#define MCP__GRANT_DEVICE      "urn:ietf:params:oauth:grant-type:device_code"
#define MCP__GRANT_EXCHANGE    "urn:ietf:params:oauth:grant-type:token-exchange"
#define MCP__GRANT_ASSERTION   "urn:ietf:params:oauth:grant-type:jwt-bearer"

#define MCP__TOKEN_ID_JAG "urn:ietf:params:oauth:token-type:id-jag"
#define MCP__TOKEN_ID     "urn:ietf:params:oauth:token-type:id_token"

/* ---- request_form.c -------------------------------------------------------------------------- */

/* Appends "name=value" to a form, after "&" if the form is not empty. An empty value adds
 * nothing. */
void mcp__form_add(mcp__buf *form, const char *name, mcp_str value);

/* Append a request. In all of them an empty `resource` or `scope` is left out. Authentication is
 * added by mcp__client_auth_put(). Failures are in form->failed. */
void mcp__form_code(mcp__buf *form, mcp_str code, mcp_str redirect_uri, mcp_str verifier,
                    mcp_str resource);
void mcp__form_refresh(mcp__buf *form, mcp_str refresh_token, mcp_str scope, mcp_str resource);
void mcp__form_credentials(mcp__buf *form, mcp_str scope, mcp_str resource);
void mcp__form_assertion(mcp__buf *form, mcp_str assertion, mcp_str scope, mcp_str resource);
/* The device authorization request (RFC 8628 section 3.1), and the token request after it. */
void mcp__form_device(mcp__buf *form, mcp_str scope, mcp_str resource);
void mcp__form_device_token(mcp__buf *form, mcp_str device_code, mcp_str resource);
/* The exchange of an ID token for an ID-JAG at an identity provider (RFC 8693;
 * io.modelcontextprotocol/enterprise-managed-authorization). `audience` is the issuer of the
 * authorization server. */
void mcp__form_exchange(mcp__buf *form, mcp_str id_token, mcp_str audience, mcp_str scope,
                        mcp_str resource);
/* The revocation of a token (RFC 7009). `kind` is "access_token" or "refresh_token". */
void mcp__form_revoke(mcp__buf *form, mcp_str token, mcp_str kind);

/* ---- client_auth.c --------------------------------------------------------------------------- */

typedef enum mcp__auth_method {
    MCP__METHOD_NONE,  /* a public client */
    MCP__METHOD_BASIC, /* client_secret_basic */
    MCP__METHOD_POST,  /* client_secret_post */
    MCP__METHOD_KEY,   /* private_key_jwt */
} mcp__auth_method;

/* Returns the name of a method, as in metadata. */
const char *mcp__auth_method_name(mcp__auth_method method);
bool mcp__auth_method_find(mcp_str name, mcp__auth_method *ret);

/* Chooses a method. `registered` is the one that the registration returned, or that a stored record
 * has; it may be empty. Otherwise the list of the authorization server decides: with a key
 * private_key_jwt; with a secret client_secret_basic, then client_secret_post (the first if there
 * is no list, RFC 8414 section 2); else none. */
mcp__oauth_fault mcp__auth_method_choose(const mcp_json *list, mcp_str registered, bool has_secret,
                                         bool has_key, mcp__auth_method *ret, mcp_error *error);

/* A client. All strings are borrowed. */
typedef struct mcp__oauth_client_id {
    mcp_str id; /* empty: the request names no client */
    mcp__auth_method method;
    mcp_str secret;              /* for BASIC and POST */
    const mcp__jwk *key;         /* for KEY */
    mcp_str audience;            /* for KEY: the issuer of the authorization server */
    int64_t now;                 /* for KEY: seconds since 1970 */
    const unsigned char *random; /* for KEY: MCP__RANDOM_ID bytes */
} mcp__oauth_client_id;

/* Adds the authentication of the client to a form. For client_secret_basic the value of the header
 * Authorization is appended to `authorization`, which stays empty for the other methods. The id and
 * the secret are encoded before (RFC 6749 section 2.3.1). Returns MCP_OK, MCP_EINVAL (a key that
 * cannot sign), MCP_EIO or MCP_ENOMEM. */
int mcp__client_auth_put(mcp__buf *form, mcp__buf *authorization,
                         const mcp__oauth_client_id *client);

#endif
