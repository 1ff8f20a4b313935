/* main.c: mcpctl-web: the loop, the endpoint and the terminal. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <common/sibling.h>
#include <common/text.h>

#include "web.h"

enum { EXIT_OK, EXIT_USAGE = 2, EXIT_CONNECT = 3, EXIT_LOCAL = 5, DRAIN_MS = 300 };

static mcp_loop *the_loop;
static volatile sig_atomic_t the_signal;

static void on_signal(int number)
{
    the_signal = number;
    mcp_loop_stop(the_loop);
}

/* Enter opens another page. At the end of input, nothing more is read. */
typedef struct terminal {
    web *web;
    mcp_host_poll *poll;
} terminal;

static void on_input(void *arg)
{
    terminal *t = arg;
    char keys[256];
    const mcp_host *host = mcp_loop_host(t->web->loop);
    if (tcgetpgrp(STDIN_FILENO) != getpgrp())
        return; /* reading would stop a program in the background */
    ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));
    if (n > 0) {
        (void)open_page(t->web);
    } else if (n == 0) {
        host->poll_stop(t->poll, host->user);
        t->poll = NULL;
    }
}

static void watch_terminal(terminal *t)
{
    const mcp_host *host = mcp_loop_host(t->web->loop);
    if (isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp())
        t->poll = host->poll_start(STDIN_FILENO, on_input, t, host->user);
}

static void leave_terminal(terminal *t)
{
    const mcp_host *host = mcp_loop_host(t->web->loop);
    if (t->poll)
        host->poll_stop(t->poll, host->user);
}

static int make_server(web *w, mcp_error *error)
{
    mcp_host host = *mcp_loop_host(w->loop);
    host.log = servers_log;
    int rc = mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "mcpctl-web",
                                        .version = MCP_VERSION_STRING, .host = &host,
                                        .no_rate_limits = true),
                            &w->server, error);
    return rc == MCP_OK ? servers_mount(w, error) : rc;
}

static int listen_there(web *w, mcp_error *error)
{
    char address[sizeof(w->gate.name) + 2];
    const char *const hosts[] = {w->gate.name};
    static const char *const any[] = {"*"}; /* gate_is_own() knows the port, and allows only one */
    static const char *const headers[] = {"Host", "Origin", "Sec-Fetch-Site", "If-None-Match"};
    mcp_http_options http = {.size = sizeof(http),
                             .authenticate = api_authenticate,
                             .page = api_answer,
                             .user = w,
                             .allow_hosts = hosts,
                             .n_allow_hosts = 1,
                             .allow_origins = any,
                             .n_allow_origins = 1,
                             .login_headers = headers,
                             .n_login_headers = sizeof(headers) / sizeof(headers[0]),
                             .max_body = 16 << 20,
                             .no_healthz = true,
                             .no_metrics = true};
    if (!gate_choose_address(&w->gate, w->opens))
        return MCP_EIO;
    snprintf(address, sizeof(address), "%s:0", w->gate.name);
    int rc = mcp_loop_listen(w->loop, w->server,
                             MCP_OPTIONS(mcp_listen_options, .address = address, .http = &http),
                             &w->listener, error);
    if (rc == MCP_OK)
        gate_set_address(&w->gate, mcp_listener_address(w->listener));
    return rc;
}

static void say_where(const web *w)
{
    bool asks = isatty(STDIN_FILENO);
    fprintf(stderr, "mcpctl web: the page is at %s; Ctrl-C ends%s\n", w->gate.origin,
            asks ? ", Enter opens it again" : "");
}

static int serve(web *w)
{
    mcp_error error = {0};
    terminal t = {.web = w};
    int rc = listen_there(w, &error);
    if (rc == MCP_OK && !open_page(w))
        return EXIT_LOCAL;
    if (rc == MCP_OK) {
        say_where(w);
        servers_begin(w); /* while the browser starts */
        watch_terminal(&t);
        rc = mcp_loop_serve_http(
            w->loop, MCP_OPTIONS(mcp_serve_options, .no_signals = true, .drain_ms = DRAIN_MS),
            &error);
        leave_terminal(&t);
    }
    if (rc == MCP_OK || rc == MCP_ECANCELLED)
        return EXIT_OK;
    say("%s", *error.text ? error.text : mcp_error_text(rc));
    return EXIT_CONNECT;
}

/* Ends everything in the order that mcp_loop_free() describes; the servers end too. */
static void clear(web *w)
{
    enum { MOST_MS = 3000 };
    if (w->loop)
        open_clear(w);
    login_stop(w);
    mcp_listener_close(w->listener);
    if (w->server)
        mcp_server_cancel_tasks(w->server);
    if (w->loop && mcp_loop_drain(w->loop, MOST_MS) == MCP_ETIMEOUT)
        _exit(EXIT_LOCAL);
    mcp_server_free(w->server);
    if (w->loop)
        (void)mcp_loop_drain(w->loop, MOST_MS);
    mcp_loop_free(w->loop);
    mcp_identity_unref(w->identity);
    mcp_json_writer_free(w->answer);
    page_headers_clear(&w->headers);
    journal_clear(&w->journal);
    servers_clear(w);
    explicit_bzero(&w->gate, sizeof(w->gate));
}

static int run(web *w)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    mcp_error error = {0};
    int rc = mcp_loop_new(NULL, &w->loop, &error);
    the_loop = w->loop;
    if (rc == MCP_OK && !page_headers_make(&w->headers, NULL, 0))
        rc = MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = make_server(w, &error);
    if (rc != MCP_OK) {
        say("%s", *error.text ? error.text : mcp_error_text(rc));
        return rc == MCP_EINVAL || rc == MCP_EEXIST ? EXIT_USAGE : EXIT_LOCAL;
    }
    struct sigaction on = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND}, old;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &on, NULL);
    return serve(w);
}

int web_main(int argc, char **argv)
{
    static web w;
    char *end = NULL;
    long fd = argc == 3 && strcmp(argv[1], "--servers-from") == 0 ? strtol(argv[2], &end, 10) : -1;
    if (fd < 3 || !end || *end) {
        say("this program is started by 'mcpctl web'");
        return EXIT_USAGE;
    }
    int code = servers_read(&w, (int)fd) ? run(&w) : EXIT_USAGE;
    clear(&w);
    return the_signal ? 128 + the_signal : code;
}
