/* login.h: logins at servers that require them (OAuth).
 *
 * A session with a server at an address has a `login`, unless the user sets the header Authorization
 * by hand. It adds tokens to the requests. If the server requires authorization, the user is asked,
 * outside of all callbacks, whether to log in.
 */
#ifndef MCPCTL_LOGIN_H
#define MCPCTL_LOGIN_H

#include "mcpctl.h"

struct server; /* servers.h */

typedef struct login login;

/* Makes the login for the server of the session. *ret stays NULL if there is none: a Unix socket, a
 * header Authorization, or OpenSSL is not installed. `account` may be NULL. Returns an exit code
 * after reporting the error. */
int login_open(ctl *c, const struct server *s, const char *account, login **ret);
void login_close(login *l);
mcp_oauth_client *login_client(const login *l); /* NULL for NULL */

/* Logs in, without a question, or logs out: revokes the tokens and removes the record. Return an
 * exit code after reporting the error. */
int login_run(login *l);
int login_end(login *l);

/* Returns whether a call failed because a person has to log in. */
bool login_is_wanted(const login *l);
/* Returns the exit code for the last authorization if it failed, else EXIT_OK. `l` may be NULL. */
int login_failure(const login *l);
/* Returns whether requests have a token of a login. `l` may be NULL. */
bool login_has_token(const login *l);
/* Asks whether to log in, and does so. Returns EXIT_OK if the call can be repeated, or another code
 * after saying what to do. */
int login_offer(login *l, const char *what);

/* ---- login_settings.c ------------------------------------------------------------------------ */

/* What is configured: by options, the "oauth" object of the server's entry, and the environment, in
 * this order. Texts are owned. */
typedef struct login_settings {
    char *values[LOGIN_KEYS]; /* NULL if not configured; flags are "" */
    mcp_oauth_grant grant;
    char *secret, *key, *idp_secret; /* the contents of the files */
} login_settings;

/* Returns EXIT_OK, or another code after reporting the error. */
int login_settings_load(const ctl *c, const struct server *s, login_settings *ret);
void login_settings_clear(login_settings *s);
/* Returns the JWT of --assertion-file or --assertion-command, which the caller frees. Returns NULL
 * after writing the reason to `error`. */
char *login_assertion(const login_settings *s, mcp_error *error);

/* ---- login_store.c --------------------------------------------------------------------------- */

/* The records of logins: a file, with those of --keyring in the keyring of the desktop. */
typedef struct login_store login_store;

/* *ret stays NULL if there is no folder for the file. Returns an exit code. */
int login_store_open(mcp_loop *loop, bool keyring, login_store **ret);
void login_store_close(login_store *s);
const mcp_oauth_store *login_store_functions(const login_store *s);
int login_store_list(const login_store *s, void (*each)(void *arg, mcp_str key, mcp_str record),
                     void *arg);

#endif
