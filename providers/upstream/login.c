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
};

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

int upstream_login_check(const mcp_upstream_options *o, mcp_error *error)
{
    const mcp_upstream_login *l = &o->login;
    const char *more[] = {l->account, l->client_id, l->client_secret_file, l->client_key_file,
                          l->issuer,  l->scope,     l->login_file};
    if (!l->oauth) {
        for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
            if (more[i])
                return fail(error, MCP_EINVAL, "the options of a login need oauth", NULL);
        return MCP_OK;
    }
    if (!o->url)
        return fail(error, MCP_EINVAL, "oauth is only for a URL", NULL);
    if (!is(l->oauth, "login") && !is_machine(l))
        return fail(error, MCP_EINVAL, "oauth is neither login nor client-credentials", NULL);
    if (is_machine(l) && (!l->client_id || !l->client_secret_file == !l->client_key_file))
        return fail(error, MCP_EINVAL,
                    "client-credentials needs client_id, and client_secret_file or client_key_file",
                    NULL);
    if (o->shared && l->account && strstr(l->account, "{principal}"))
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
    static const char variable[] = "{principal}";
    const char *account = up->options.login.account;
    const char *at = account ? strstr(account, variable) : NULL;
    if (at && !principal)
        return fail(error, MCP_EACCESS, "it needs a login of the caller, who is not known", NULL);
    int len = at ? snprintf(to, MOST_ACCOUNT, "%.*s%s%s", (int)(at - account), account, principal,
                            at + sizeof(variable) - 1)
                 : snprintf(to, MOST_ACCOUNT, "%s", account ? account : "");
    return len >= 0 && len < MOST_ACCOUNT
               ? MCP_OK
               : fail(error, MCP_ELIMIT, "the account is too long", NULL);
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

static int open_client(const upstream_session *s, mcp_loop *loop, const char *account,
                       mcp_error *error)
{
    const mcp_upstream_options *o = &s->up->options;
    const mcp_upstream_login *l = &o->login;
    char secret[MOST_SECRET], key[MOST_SECRET];
    mcp_auth_host host = {.size = sizeof(host)};
    mcp_loop_auth_host(loop, &host);
    int rc = read_secret(l->client_secret_file, secret, error);
    if (rc == MCP_OK)
        rc = read_secret(l->client_key_file, key, error);
    if (rc == MCP_OK)
        rc = mcp_oauth_client_new(
            MCP_OPTIONS(mcp_oauth_client_options, .server = o->url, .account = account,
                        .grant = is_machine(l) ? MCP_OAUTH_CLIENT_CREDENTIALS : MCP_OAUTH_CODE,
                        .client_name = "mcpd", .client_id = l->client_id,
                        .client_secret = *secret ? secret : NULL, .client_key = *key ? key : NULL,
                        .issuer = l->issuer, .scope = l->scope,
                        .store = mcp_oauth_file_store_get(s->login->store), .host = &host),
            &s->login->client, error);
    explicit_bzero(secret, sizeof(secret));
    explicit_bzero(key, sizeof(key));
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
