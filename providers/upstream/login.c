/* login.c: logins of sessions at HTTP endpoints. Each session has an OAuth client of its own. Those with
 * the same account share the record in the file of logins, with each other and with mcpctl, and a
 * token is renewed once for all.
 *
 * There is no person here: an endpoint that needs one gets an error that says what the operator has to do.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mcp/oauth.h>

#include "session.h"

enum { MOST_SECRET = 16 << 10, MOST_ACCOUNT = 1024, MOST_PATH = 4096 };

struct upstream_login {
    mcp_oauth_file_store *store;
    mcp_oauth_client *client;
    char id_token[MOST_PATH]; /* the file with the ID token; empty if there is none */
};

static const char principal_word[] = "{principal}";

static int fail(mcp_error *error, int rc, const char *what, const char *why)
{
    if (error) {
        error->code = rc;
        snprintf(error->text, sizeof(error->text), "%.180s%s%.60s", what, why ? ": " : "",
                 why ? why : "");
    }
    return rc;
}

static bool is(const char *text, const char *word)
{
    return text && strcmp(text, word) == 0;
}

static bool is_machine(const mcp_upstream_login *l)
{
    return is(l->oauth, "client-credentials");
}

static bool is_enterprise(const mcp_upstream_login *l)
{
    return is(l->oauth, "enterprise");
}

static bool is_personal(const char *text)
{
    return text && strstr(text, principal_word);
}

static int check_enterprise(const mcp_upstream_login *l, mcp_error *error)
{
    if (!l->idp_token_endpoint || !l->idp_client_id || !l->id_token_file || !l->client_id)
        return fail(
            error, MCP_EINVAL,
            "enterprise needs idp_token_endpoint, idp_client_id, id_token_file and client_id",
            NULL);
    if (l->account && is_personal(l->account) != is_personal(l->id_token_file))
        return fail(error, MCP_EINVAL,
                    "either both or none of account and id_token_file have {principal}", NULL);
    return MCP_OK;
}

int upstream_login_check(const mcp_upstream_options *o, mcp_error *error)
{
    const mcp_upstream_login *l = &o->login;
    const char *idp[] = {l->idp_token_endpoint, l->idp_client_id, l->idp_client_secret_file,
                         l->id_token_file};
    const char *more[] = {l->account, l->client_id, l->client_secret_file, l->client_key_file,
                          l->issuer,  l->scope,     l->login_file};
    for (size_t i = 0; !is_enterprise(l) && i < sizeof(idp) / sizeof(idp[0]); i++)
        if (idp[i])
            return fail(error, MCP_EINVAL, "the options of an identity provider need enterprise",
                        NULL);
    if (!l->oauth) {
        for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
            if (more[i])
                return fail(error, MCP_EINVAL, "the options of a login need oauth", NULL);
        return MCP_OK;
    }
    if (!o->url)
        return fail(error, MCP_EINVAL, "oauth is only for a URL", NULL);
    if (!is(l->oauth, "login") && !is_machine(l) && !is_enterprise(l))
        return fail(error, MCP_EINVAL, "oauth is neither login, client-credentials nor enterprise",
                    NULL);
    if (is_enterprise(l) && check_enterprise(l, error) != MCP_OK)
        return MCP_EINVAL;
    if (is_machine(l) && (!l->client_id || !l->client_secret_file == !l->client_key_file))
        return fail(error, MCP_EINVAL,
                    "client-credentials needs client_id, and client_secret_file or client_key_file",
                    NULL);
    if (o->shared && (is_personal(l->account) || is_personal(l->id_token_file)))
        return fail(error, MCP_EINVAL, "with \"shared\", callers have no accounts of their own",
                    NULL);
    if (l->client_secret_file && !l->issuer)
        return fail(error, MCP_EINVAL,
                    "issuer has to say which authorization server gets the client secret", NULL);
    return MCP_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Reads a file with one secret, without the white space around it. */
static int read_secret(const char *path, char to[MOST_SECRET], mcp_error *error)
{
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    *to = 0;
    if (!path)
        return MCP_OK;
    ssize_t len = fd < 0 ? -1 : read(fd, to, MOST_SECRET);
    int why = errno;
    if (fd >= 0)
        close(fd);
    if (len < 0)
        return fail(error, MCP_EACCESS, path, strerror(why));
    while (len > 0 && strchr(" \t\r\n", to[len - 1]))
        len--;
    if (len == 0 || len == MOST_SECRET || memchr(to, 0, (size_t)len))
        return fail(error, MCP_EACCESS, path, len ? "it is no secret" : "it is empty");
    to[len] = 0;
    return MCP_OK;
}

/* Writes the account of a principal. A caller without a name has no account. */
static int make_account(const upstream *up, const char *principal, char to[MOST_ACCOUNT],
                        mcp_error *error)
{
    const mcp_upstream_login *l = &up->options.login;
    const char *account = l->account                      ? l->account
                          : is_personal(l->id_token_file) ? principal_word
                                                          : NULL;
    const char *at = account ? strstr(account, principal_word) : NULL;
    if (at && !principal)
        return fail(error, MCP_EACCESS, "it needs a login of the caller, who is not known", NULL);
    int len = at ? snprintf(to, MOST_ACCOUNT, "%.*s%s%s", (int)(at - account), account, principal,
                            at + sizeof(principal_word) - 1)
                 : snprintf(to, MOST_ACCOUNT, "%s", account ? account : "");
    return len >= 0 && len < MOST_ACCOUNT
               ? MCP_OK
               : fail(error, MCP_ELIMIT, "the account is too long", NULL);
}

/* Appends a principal as a part of a file's name: without "/" and ".". Returns whether there is room. */
static bool append_name(char *to, size_t room, const char *principal)
{
    static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    size_t n = strlen(to);
    for (; *principal && n + 4 < room; principal++) {
        if (strchr(safe, *principal))
            to[n++] = *principal;
        else
            n += (size_t)snprintf(to + n, room - n, "%%%02X", (unsigned char)*principal);
    }
    to[n] = 0;
    return !*principal;
}

/* Writes the path of the file with the ID token of a principal. An anonymous caller has failed before, in
 * make_account(). */
static int make_id_token(const upstream *up, const char *principal, char to[MOST_PATH],
                         mcp_error *error)
{
    const char *file = up->options.login.id_token_file;
    const char *at = file ? strstr(file, principal_word) : NULL;
    int len = snprintf(to, MOST_PATH, "%.*s", at ? (int)(at - file) : MOST_PATH, file ? file : "");
    bool fits = len >= 0 && len < MOST_PATH && (!at || append_name(to, MOST_PATH, principal));
    const char *rest = at ? at + sizeof(principal_word) - 1 : "";
    size_t n = strlen(to);
    if (!fits || n + strlen(rest) >= MOST_PATH)
        return fail(error, MCP_ELIMIT, "the path of the ID token is too long", NULL);
    snprintf(to + n, MOST_PATH - n, "%s", rest);
    return MCP_OK;
}

/* mcp_oauth_client_options.assertion: the file may have been replaced since the last time. */
static int give_id_token(mcp_oauth_client *client, void (*give)(void *arg, mcp_str jwt), void *arg,
                         void *user, mcp_error *error)
{
    const upstream_login *login = user;
    char token[MOST_SECRET];
    (void)client;
    int rc = read_secret(login->id_token, token, error);
    if (rc == MCP_OK)
        give(arg, mcp_str_from(token));
    explicit_bzero(token, sizeof(token));
    return rc;
}

static int open_store(const upstream_session *s, mcp_loop *loop, mcp_error *error)
{
    char path[MOST_PATH];
    const char *file = s->up->options.login.login_file;
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int len = file              ? snprintf(path, sizeof(path), "%s", file)
              : state && *state ? snprintf(path, sizeof(path), "%s/mcp/auth.json", state)
              : home && *home ? snprintf(path, sizeof(path), "%s/.local/state/mcp/auth.json", home)
                              : -1;
    if (len < 0 || (size_t)len >= sizeof(path))
        return fail(error, MCP_EINVAL, "login_file is needed, because HOME is not set", NULL);
    return mcp_oauth_file_store_new(loop, MCP_OPTIONS(mcp_oauth_file_options, .path = path),
                                    &s->login->store, error);
}

static mcp_oauth_grant grant_of(const mcp_upstream_login *l)
{
    return is_machine(l)      ? MCP_OAUTH_CLIENT_CREDENTIALS
           : is_enterprise(l) ? MCP_OAUTH_ENTERPRISE
                              : MCP_OAUTH_CODE;
}

/* What is read from the files. */
typedef struct secrets {
    char client[MOST_SECRET], key[MOST_SECRET], idp[MOST_SECRET];
} secrets;

static int make_client(const upstream_session *s, mcp_loop *loop, const char *account,
                       const secrets *from, mcp_error *error)
{
    const mcp_upstream_options *o = &s->up->options;
    const mcp_upstream_login *l = &o->login;
    mcp_auth_host host = {.size = sizeof(host)};
    mcp_loop_auth_host(loop, &host);
    return mcp_oauth_client_new(
        MCP_OPTIONS(mcp_oauth_client_options, .server = o->url, .account = account,
                    .grant = grant_of(l), .client_name = "mcpd", .client_id = l->client_id,
                    .client_secret = *from->client ? from->client : NULL,
                    .client_key = *from->key ? from->key : NULL, .issuer = l->issuer,
                    .scope = l->scope, .idp_token_endpoint = l->idp_token_endpoint,
                    .idp_client_id = l->idp_client_id,
                    .idp_client_secret = *from->idp ? from->idp : NULL,
                    .assertion = is_enterprise(l) ? give_id_token : NULL, .user = s->login,
                    .store = mcp_oauth_file_store_get(s->login->store), .host = &host),
        &s->login->client, error);
}

static int open_client(const upstream_session *s, mcp_loop *loop, const char *account,
                       mcp_error *error)
{
    const mcp_upstream_login *l = &s->up->options.login;
    secrets from;
    int rc = read_secret(l->client_secret_file, from.client, error);
    if (rc == MCP_OK)
        rc = read_secret(l->client_key_file, from.key, error);
    if (rc == MCP_OK)
        rc = read_secret(l->idp_client_secret_file, from.idp, error);
    if (rc == MCP_OK)
        rc = make_client(s, loop, account, &from, error);
    explicit_bzero(&from, sizeof(from));
    return rc;
}

int upstream_login_open(upstream_session *s, mcp_loop *loop, mcp_error *error)
{
    char account[MOST_ACCOUNT];
    if (!s->up->options.login.oauth)
        return MCP_OK;
    int rc = make_account(s->up, s->principal, account, error);
    if (rc != MCP_OK)
        return rc;
    s->login = common_alloc(&s->up->alloc, sizeof(*s->login));
    if (!s->login)
        return MCP_ENOMEM;
    memset(s->login, 0, sizeof(*s->login));
    rc = make_id_token(s->up, s->principal, s->login->id_token, error);
    if (rc == MCP_OK)
        rc = open_store(s, loop, error);
    return rc == MCP_OK ? open_client(s, loop, account, error) : rc;
}

const char *upstream_login_advice(const upstream *up, const char *principal, char *to, size_t room)
{
    char account[MOST_ACCOUNT];
    *to = 0;
    if (is(up->options.login.oauth, "login") &&
        make_account(up, principal, account, NULL) == MCP_OK)
        snprintf(to, room, "; the operator logs in with: mcpctl login %.200s%s%.100s",
                 up->options.url, *account ? " --for " : "", account);
    return to;
}

struct mcp_oauth_client *upstream_login_client(const upstream_session *s)
{
    return s->login ? s->login->client : NULL;
}

void upstream_login_close(upstream_session *s)
{
    if (!s->login)
        return;
    mcp_oauth_client_free(s->login->client);
    mcp_oauth_file_store_free(s->login->store);
    common_release(&s->up->alloc, s->login);
    s->login = NULL;
}
