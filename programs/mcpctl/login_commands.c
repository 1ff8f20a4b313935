/* login_commands.c: mcpctl login, logout, auth. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <time.h>

#include "login.h"
#include "servers.h"
#include "session.h"

static void add_text(mcp_json_writer *w, const char *key, const char *text)
{
    mcp_json_put_string(w, key, text ? text : "");
}

/* ---- login and logout ------------------------------------------------------------------------ */

static int put_state(const ctl *c, const char *url, const char *account,
                     const mcp_oauth_state *state, mcp_json_writer *w);

static int open_login(ctl *c)
{
    if (c->n_args && c->set.server) {
        say("there are two servers: %s and %s", c->set.server, c->args[0]);
        return EXIT_USAGE;
    }
    if (c->n_args)
        c->set.server = c->args[0];
    if (!c->set.server) {
        say("no server: its address or name comes after %s", c->command->name);
        return EXIT_USAGE;
    }
    int code = session_prepare(c, c->set.principal);
    if (code != EXIT_OK || c->session->login)
        return code;
    say("a login at this server is not possible");
    hint("it needs an https address (or http on this machine), no header Authorization, and "
         "OpenSSL 3");
    return EXIT_USAGE;
}

static int report_login(ctl *c)
{
    mcp_error error = {0};
    mcp_oauth_state state = {.size = sizeof(state)};
    session *s = c->session;
    int rc = mcp_oauth_client_get_state(login_client(s->login), &state, &error);
    if (rc != MCP_OK) {
        say("%s", error.text[0] ? error.text : mcp_error_text(rc));
        return EXIT_LOCAL;
    }
    if (c->set.json) {
        mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
        put_state(c, s->server->url, c->set.principal, &state, w);
        return put_written(c, "login", w);
    }
    if (!c->set.quiet)
        say("logged in to %s at %s%s%s", s->server->url, state.issuer,
            *state.scope ? ", for: " : "", state.scope);
    return EXIT_OK;
}

int run_login(ctl *c)
{
    int code = open_login(c);
    if (code == EXIT_OK)
        code = login_run(c->session->login);
    return code == EXIT_OK ? report_login(c) : code;
}

static int report_logout(const ctl *c, bool was_in)
{
    const char *url = c->session->server->url;
    if (c->set.json) {
        mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
        mcp_json_begin_object(w);
        add_text(w, "server", url);
        mcp_json_put_bool(w, "loggedOut", was_in);
        mcp_json_end(w);
        return put_written(c, "logout", w);
    }
    if (!c->set.quiet)
        say(was_in ? "logged out of %s" : "there is no login at %s", url);
    return EXIT_OK;
}

int run_logout(ctl *c)
{
    mcp_error error = {0};
    mcp_oauth_state state = {.size = sizeof(state)};
    int code = open_login(c);
    if (code != EXIT_OK)
        return code;
    int rc = mcp_oauth_client_get_state(login_client(c->session->login), &state, &error);
    if (rc == MCP_OK && !state.has_token && !state.can_refresh && !*state.client_id)
        return report_logout(c, false);
    bool was_in = state.has_token || state.can_refresh; /* or only a registered client */
    code = login_end(c->session->login);
    return code == EXIT_OK ? report_logout(c, was_in) : code;
}

/* ---- auth ------------------------------------------------------------------------------------ */

typedef struct listing_logins {
    ctl *c;
    login_store *store;
    mcp_json_writer *w; /* for --json; NULL to print lines */
    words keys;
    size_t count;
    bool failed;
} listing_logins;

static void add_key(void *arg, mcp_str key, mcp_str record)
{
    listing_logins *l = arg;
    (void)record;
    l->failed = l->failed || !words_add(&l->keys, text_dup(key));
}

/* Writes a time as 2026-07-28T12:00:00Z. */
static const char *time_text(int64_t ms, char to[32])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    strftime(to, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return to;
}

static int put_state(const ctl *c, const char *url, const char *account,
                     const mcp_oauth_state *state, mcp_json_writer *w)
{
    char when[32];
    const char *fields[] = {url, account ? account : "", state->issuer, state->scope,
                            state->expires ? time_text(state->expires, when) : ""};
    if (!w) {
        for (size_t i = 0; i < 5; i++) {
            if (i)
                putchar('\t');
            put_field(c, mcp_str_from(fields[i]));
        }
        fputs(state->can_refresh ? "\trenewable\n" : "\t\n", stdout);
        return EXIT_OK;
    }
    mcp_json_begin_object(w);
    add_text(w, "server", url);
    add_text(w, "account", account);
    add_text(w, "issuer", state->issuer);
    add_text(w, "clientId", state->client_id);
    add_text(w, "scope", state->scope);
    if (state->expires)
        add_text(w, "expires", time_text(state->expires, when));
    mcp_json_put_bool(w, "hasToken", state->has_token);
    mcp_json_put_bool(w, "renewable", state->can_refresh);
    mcp_json_put_bool(w, "bound", state->is_bound);
    mcp_json_end(w);
    return EXIT_OK;
}

/* A client without settings knows what is stored. It sends nothing. */
static int put_login(listing_logins *l, char *key)
{
    mcp_error error = {0};
    mcp_oauth_client *client = NULL;
    mcp_oauth_state state = {.size = sizeof(state)};
    mcp_auth_host host = {.size = sizeof(host)};
    char *blank = strchr(key, ' ');
    const char *account = blank ? blank + 1 : NULL;
    if (blank)
        *blank = '\0';
    mcp_loop_auth_host(l->c->session->loop, &host);
    int rc = mcp_oauth_client_new(MCP_OPTIONS(mcp_oauth_client_options, .server = key,
                                              .account = account, .host = &host,
                                              .redirect_uri = "http://127.0.0.1/callback",
                                              .store = login_store_functions(l->store)),
                                  &client, &error);
    if (rc == MCP_OK)
        rc = mcp_oauth_client_get_state(client, &state, &error);
    bool is_login = state.has_token || state.can_refresh; /* or only a registered client */
    l->count += rc == MCP_OK && is_login;
    if (rc == MCP_OK && is_login)
        put_state(l->c, key, account, &state, l->w);
    else if (rc != MCP_OK)
        say("%s: %s", key, error.text[0] ? error.text : mcp_error_text(rc));
    mcp_oauth_client_free(client);
    return rc == MCP_OK ? EXIT_OK : EXIT_LOCAL;
}

/* Returns whether the key is of the server that was given, if any. */
static bool is_of(const listing_logins *l, const char *key)
{
    const char *url = l->c->n_args ? l->c->args[0] : l->c->set.server;
    size_t len = url ? strlen(url) : 0;
    return !url || (strncmp(key, url, len) == 0 && (!key[len] || key[len] == ' '));
}

static int put_logins(listing_logins *l)
{
    int code = EXIT_OK;
    for (size_t i = 0; i < l->keys.count; i++) {
        if (!is_of(l, l->keys.items[i]))
            continue;
        int now = put_login(l, l->keys.items[i]);
        code = code == EXIT_OK ? now : code;
    }
    return code;
}

int run_auth(ctl *c)
{
    listing_logins l = {.c = c};
    int code = login_store_open(c->session->loop, false, &l.store);
    if (code == EXIT_OK)
        code = login_store_list(l.store, add_key, &l);
    if (code == EXIT_OK && l.failed)
        code = EXIT_LOCAL;
    if (code == EXIT_OK && c->set.json) {
        l.w = mcp_json_writer_new(NULL, 0);
        mcp_json_begin_object(l.w);
        mcp_json_put_array(l.w, "logins");
    }
    if (code == EXIT_OK)
        code = put_logins(&l);
    if (l.w && code == EXIT_OK) {
        mcp_json_end(l.w), mcp_json_end(l.w);
        code = put_written(c, "auth", l.w);
    } else if (l.w) {
        mcp_json_writer_free(l.w);
    } else if (code == EXIT_OK && !l.count && !c->set.quiet) {
        say("there is no login; 'mcpctl login SERVER' makes one");
    }
    words_clear(&l.keys);
    login_store_close(l.store);
    return code;
}
