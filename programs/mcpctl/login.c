/* login.c: the OAuth client of a session, and what a person has to do for it.
 *
 * During a call nobody is asked, because the call has a time-out: the call fails, then the user is
 * asked, and the call is repeated after the login (session.c). During a login the browser is
 * started, or its address is shown, and the answer comes from the browser or is pasted.
 */
#define _GNU_SOURCE
#include "login.h"

#include <signal.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include <common/browser.h>

#include "callback.h"
#include "servers.h"
#include "session.h"
#include "terminal.h"

/* The end of a login or logout. */
typedef struct outcome {
    bool done;
    int rc;
    char text[256];
} outcome;

enum { MOST_OFFERS = 2 }; /* logins during a session, in case that the server is never satisfied */

struct login {
    ctl *c;
    char *account;
    login_settings settings;
    login_store *store;
    callback *callback;
    mcp_oauth_client *client;
    bool expected; /* mcp_oauth_client_login() is running: the browser may be opened */
    bool wanted;   /* an authorization needed a person, who was not asked */
    bool declined; /* the person said no */
    int offers;
    char *issuer, *scope; /* of the authorization that was wanted */
    outcome outcome;
    mcp_host_poll *keyboard;
    char line[8192]; /* what was pasted so far */
    size_t len;
};

/* ---- the answer ------------------------------------------------------------------------------ */

static bool on_callback(mcp_str url, void *user)
{
    login *l = user;
    return mcp_oauth_client_redirected(l->client, url, NULL) == MCP_OK;
}

/* Takes a line from the terminal: the address to which the browser was sent. */
static void take_line(login *l)
{
    mcp_error error = {0};
    mcp_str line = {l->line, l->len};
    while (line.len && strchr(" \t\r\n", line.ptr[line.len - 1]))
        line.len--;
    while (line.len && strchr(" \t", *line.ptr))
        line.ptr++, line.len--;
    if (line.len && mcp_oauth_client_redirected(l->client, line, &error) == MCP_EPARSE)
        hint("that is not the address at the end of this login; copy the whole address from the "
             "browser");
    explicit_bzero(l->line, l->len); /* it has the code */
    l->len = 0;
}

static void stop_reading(login *l)
{
    const mcp_host *host = mcp_loop_host(l->c->session->loop);
    if (l->keyboard)
        host->poll_stop(l->keyboard, host->user);
    l->keyboard = NULL;
}

static void on_keyboard(void *arg)
{
    login *l = arg;
    ssize_t n = read(STDIN_FILENO, l->line + l->len, sizeof(l->line) - l->len);
    if (n > 0)
        l->len += (size_t)n;
    if (n > 0 && memchr(l->line, '\n', l->len))
        take_line(l);
    else if (n <= 0 || l->len == sizeof(l->line))
        stop_reading(l);
}

/* ---- the visit ------------------------------------------------------------------------------- */

static void show_address(const char *url)
{
    fputs("    ", stderr);
    text_put(stderr, mcp_str_from(url), TEXT_LINE);
    fputc('\n', stderr);
}

static void show_code(const mcp_oauth_visit *visit)
{
    say("to log in, open this address on any machine:");
    show_address(visit->url);
    hint("and enter this code:");
    show_address(visit->user_code);
    if (visit->complete_url && browser_accepts(visit->complete_url)) {
        hint("this address has the code filled in:");
        show_address(visit->complete_url);
    }
}

/* Shows the address unless the browser has it. */
static void show_page(login *l, const mcp_oauth_visit *visit)
{
    bool opened = !l->c->set.no_browser && browser_exists() && browser_open(visit->url);
    const mcp_host *host = mcp_loop_host(l->c->session->loop);
    say(opened ? "the browser shows the login; if it does not, open this address:"
               : "open this address to log in:");
    show_address(visit->url);
    if (!terminal_can_ask())
        return;
    hint("if the browser is on another machine, paste here the address that it shows at the end");
    l->len = 0;
    if (!l->keyboard)
        l->keyboard = host->poll_start(STDIN_FILENO, on_keyboard, l, host->user);
}

static void keep(char **to, const char *text)
{
    free(*to);
    *to = strdup(text ? text : "");
}

/* During a call nobody is asked, and nothing is registered. */
static int on_may_visit(mcp_oauth_client *client, const mcp_oauth_visit *visit, void *user)
{
    login *l = user;
    (void)client;
    if (l->expected)
        return MCP_OK;
    l->wanted = true;
    keep(&l->issuer, visit->issuer);
    keep(&l->scope, visit->scope);
    return MCP_EACCESS;
}

static int on_visit(mcp_oauth_client *client, const mcp_oauth_visit *visit, void *user)
{
    login *l = user;
    (void)client;
    bar_clear();
    if (!browser_accepts(visit->url)) {
        say("the authorization server names a page that is not https, or has forbidden characters");
        return MCP_EPROTOCOL;
    }
    if (visit->user_code) {
        show_code(visit);
        return MCP_OK;
    }
    int rc = callback_start(l->callback, on_callback, l);
    if (rc != MCP_OK) {
        say("requests to %s cannot be received", callback_url(l->callback));
        return rc;
    }
    show_page(l, visit);
    return MCP_OK;
}

static void on_visit_end(mcp_oauth_client *client, void *user)
{
    login *l = user;
    (void)client;
    stop_reading(l);
    if (l->callback)
        callback_stop(l->callback);
}

static int on_assertion(mcp_oauth_client *client, void (*give)(void *arg, mcp_str jwt), void *arg,
                        void *user, mcp_error *error)
{
    login *l = user;
    char *text = login_assertion(&l->settings, error);
    (void)client;
    if (!text)
        return MCP_EIO;
    give(arg, mcp_str_from(text));
    explicit_bzero(text, strlen(text));
    free(text);
    return MCP_OK;
}

static void on_step(mcp_oauth_client *client, const mcp_oauth_step *step, void *user)
{
    login *l = user;
    (void)client;
    if (l->c->session->trace)
        trace_step(l->c->session->trace, step);
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool has_authorization(const server *s)
{
    for (size_t i = 0; i < s->headers.count; i++)
        if (strncasecmp(s->headers.items[i], "authorization:", 14) == 0)
            return true;
    return false;
}

/* Listens where the browser was sent in earlier logins, because many authorization servers accept
 * only the address with which the client has registered itself. Returns false if that is not possible;
 * then the client registers again. */
static bool open_registered(login *l, const char *url)
{
    mcp_error error = {0};
    mcp_oauth_client *client = NULL;
    mcp_oauth_state state = {.size = sizeof(state)};
    mcp_auth_host host = {.size = sizeof(host)};
    mcp_loop_auth_host(l->c->session->loop, &host);
    int rc = mcp_oauth_client_new(MCP_OPTIONS(mcp_oauth_client_options, .server = url,
                                              .account = l->account, .host = &host,
                                              .issuer = l->settings.values[LOGIN_ISSUER],
                                              .store = login_store_functions(l->store)),
                                  &client, &error);
    if (rc == MCP_OK)
        rc = mcp_oauth_client_get_state(client, &state, &error);
    bool opened =
        rc == MCP_OK && strncmp(state.redirect_uri, "http://", 7) == 0 &&
        callback_new(l->c->session->loop, state.redirect_uri, &l->callback, &error) == MCP_OK;
    mcp_oauth_client_free(client);
    return opened;
}

static int open_callback(login *l, const server *s)
{
    mcp_error error = {0};
    const char *url = l->settings.values[LOGIN_CALLBACK_URL];
    if (l->settings.grant != MCP_OAUTH_CODE || (!url && open_registered(l, s->url)))
        return EXIT_OK;
    int rc = callback_new(l->c->session->loop, url, &l->callback, &error);
    if (rc == MCP_OK)
        return EXIT_OK;
    say("the callback address %s: %s", url ? url : "on this machine", error.text);
    if (rc == MCP_EEXIST)
        hint("another program uses this port; another login may be running");
    return rc == MCP_EINVAL ? EXIT_USAGE : EXIT_LOCAL;
}

/* Makes the client. Without OpenSSL there is none, which matters only if the server requires
 * one. */
static int make_client(login *l, const server *s)
{
    mcp_error error = {0};
    mcp_auth_host host = {.size = sizeof(host)};
    char *const *v = l->settings.values;
    mcp_loop_auth_host(l->c->session->loop, &host);
    int rc = mcp_oauth_client_new(
        MCP_OPTIONS(
            mcp_oauth_client_options, .server = s->url, .account = l->account,
            .grant = l->settings.grant, .client_name = "mcpctl", .client_id = v[LOGIN_CLIENT_ID],
            .client_secret = l->settings.secret, .client_key = l->settings.key,
            .client_metadata_url = v[LOGIN_CLIENT_METADATA_URL], .issuer = v[LOGIN_ISSUER],
            .scope = v[LOGIN_SCOPE], .redirect_uri = l->callback ? callback_url(l->callback) : NULL,
            .idp_token_endpoint = v[LOGIN_IDP_TOKEN_ENDPOINT],
            .idp_client_id = v[LOGIN_IDP_CLIENT_ID], .idp_client_secret = l->settings.idp_secret,
            .assertion = on_assertion, .omit_resource = v[LOGIN_OMIT_RESOURCE] != NULL,
            .assume_pkce = v[LOGIN_ASSUME_PKCE] != NULL,
            .legacy_endpoints = v[LOGIN_LEGACY_ENDPOINTS] != NULL, .dpop = v[LOGIN_DPOP] != NULL,
            .trusted_issuer = v[LOGIN_TRUSTED_ISSUER], .ca_file = getenv("SSL_CERT_FILE"),
            .visit = on_visit, .visit_end = on_visit_end, .may_visit = on_may_visit,
            .trace = on_step, .user = l, .store = login_store_functions(l->store), .host = &host),
        &l->client, &error);
    bool plain = strncmp(s->url, "http://", 7) == 0; /* tokens are not sent to other machines so */
    if (rc == MCP_OK || rc == MCP_EUNSUPPORTED || (rc == MCP_EINVAL && plain && !l->client))
        return EXIT_OK;
    say("%s", error.text);
    return rc == MCP_EINVAL ? EXIT_USAGE : EXIT_LOCAL;
}

int login_open(ctl *c, const server *s, const char *account, login **ret)
{
    if (!s->url || strncmp(s->url, "http", 4) != 0 || has_authorization(s))
        return EXIT_OK;
    login *l = calloc(1, sizeof(*l));
    if (!l)
        return EXIT_LOCAL;
    l->c = c;
    l->account = account ? strdup(account) : NULL;
    signal(SIGPIPE, SIG_IGN);
    int code = login_settings_load(c, s, &l->settings);
    if (code == EXIT_OK)
        code = login_store_open(c->session->loop, l->settings.values[LOGIN_KEYRING], &l->store);
    if (code == EXIT_OK)
        code = open_callback(l, s);
    if (code == EXIT_OK)
        code = make_client(l, s);
    if (code == EXIT_OK && l->client)
        *ret = l;
    else
        login_close(l);
    return code;
}

void login_close(login *l)
{
    if (!l)
        return;
    mcp_oauth_client_free(l->client);
    stop_reading(l);
    callback_free(l->callback);
    login_store_close(l->store);
    login_settings_clear(&l->settings);
    free(l->account);
    free(l->issuer);
    free(l->scope);
    free(l);
}

mcp_oauth_client *login_client(const login *l)
{
    return l ? l->client : NULL;
}

/* ---- logging in ------------------------------------------------------------------------------ */

static void on_done(mcp_oauth_client *client, int rc, const mcp_error *error, void *user)
{
    outcome *o = user;
    (void)client;
    o->done = true;
    o->rc = rc;
    snprintf(o->text, sizeof(o->text), "%s",
             error && error->text[0] ? error->text : mcp_error_text(rc));
}

/* What was decided about the login is EXIT_LOGIN; other codes say why it could not be decided. */
static int login_exit_code(int rc)
{
    static const int decided[] = {MCP_EACCESS,   MCP_ENOTFOUND, MCP_EREMOTE,
                                  MCP_EPROTOCOL, MCP_ESTATE,    MCP_EUNSUPPORTED};
    for (size_t i = 0; i < sizeof(decided) / sizeof(*decided); i++)
        if (rc == decided[i])
            return EXIT_LOGIN;
    return exit_code_of(rc);
}

int login_failure(const login *l)
{
    mcp_oauth_state state = {.size = sizeof(state)};
    if (!l || mcp_oauth_client_get_state(l->client, &state, NULL) != MCP_OK || !state.failed)
        return EXIT_OK;
    return login_exit_code(state.failed);
}

bool login_has_token(const login *l)
{
    mcp_oauth_state state = {.size = sizeof(state)};
    return l && mcp_oauth_client_get_state(l->client, &state, NULL) == MCP_OK && state.has_token;
}

/* Waits for the end, unless the user interrupts: then the client ends with the session. */
static int finish(login *l, int rc, const char *what)
{
    outcome *o = &l->outcome;
    if (rc == MCP_OK)
        session_wait(l->c, &o->done, 0);
    else
        snprintf(o->text, sizeof(o->text), "%s", mcp_error_text(o->rc = rc));
    if (rc == MCP_OK && !o->done)
        return EXIT_LOCAL;
    if (o->rc == MCP_OK)
        return EXIT_OK;
    bar_clear();
    say("%s: %s", what, o->text);
    return login_exit_code(o->rc);
}

int login_run(login *l)
{
    l->expected = true;
    l->wanted = false;
    l->outcome = (outcome){0};
    int code = finish(l, mcp_oauth_client_login(l->client, on_done, &l->outcome), "login");
    l->expected = false;
    l->wanted = false;
    return code;
}

int login_end(login *l)
{
    l->outcome = (outcome){0};
    return finish(l, mcp_oauth_client_logout(l->client, on_done, &l->outcome), "logout");
}

bool login_is_wanted(const login *l)
{
    return l && l->wanted;
}

/* Says what the server requires; `issuer` and `scope` come from servers. */
static void announce(const login *l, const char *what)
{
    const char *scope = l->scope ? l->scope : "";
    bar_clear();
    say("%s: the server requires a login at %s%s%s", what, l->issuer ? l->issuer : "",
        *scope ? ", for: " : "", scope);
}

int login_offer(login *l, const char *what)
{
    announce(l, what);
    l->wanted = false;
    if (l->declined)
        return EXIT_REFUSED;
    if (!terminal_can_ask() || l->offers++ == MOST_OFFERS) {
        fputs("        this command logs in: mcpctl login ", stderr);
        text_put_word(stderr, l->c->set.server ? l->c->set.server : l->c->session->server->url);
        fputc('\n', stderr);
        return EXIT_LOGIN;
    }
    l->declined = terminal_choose("Log in now? [y]es, [n]o: ", "yn") != 'y';
    return l->declined ? EXIT_REFUSED : login_run(l);
}
