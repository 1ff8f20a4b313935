/* session.c: the server as a child process, and calls that are waited for.
 *
 * The library is asynchronous; here one call at a time is made and the loop is run until its callback
 * was there. What fails is reported here, so that it sounds the same for every command.
 */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>

#include "mcpctl.h"

/* One call that is waited for. */
typedef struct waiting {
    ctl *c;
    const char *what;
    result_fn *fn;
    void *user;
    bool done;
    int exit_code;
} waiting;

/* ---- failures ---------------------------------------------------------------------------------------- */

static int exit_code_of(int rc)
{
    switch (rc) {
    case MCP_OK: return EXIT_OK;
    case MCP_EREMOTE: return EXIT_REMOTE;
    case MCP_ECLOSED:
    case MCP_ENOTFOUND:
    case MCP_EACCESS:
    case MCP_EIO: return EXIT_CONNECT;
    case MCP_ENOMEM: return EXIT_LOCAL;
    default: return EXIT_PROTOCOL;
    }
}

static void show_stderr(const ctl *c, int rc)
{
    mcp_str text = mcp_child_stderr(c->child);
    if (c->set.verbose || !text.len)
        return;
    /* One line alone is in the report already, as its last words. */
    const char *newline = memchr(text.ptr, '\n', text.len);
    if (rc == MCP_ECLOSED && (!newline || newline == text.ptr + text.len - 1))
        return;
    fputs("mcpctl: what the server wrote to stderr:\n", stderr);
    text_put(stderr, text, TEXT_BLOCK);
    if (text.ptr[text.len - 1] != '\n')
        fputc('\n', stderr);
}

static void hint_remote(const ctl *c, const char *what, const mcp_json *object)
{
    if (!mcp_client_revision(c->client)) { /* it did not even start */
        if (c->set.revision)
            hint("without --revision mcpctl finds out what the server speaks");
        return;
    }
    int64_t code = mcp_json_int(mcp_json_get(object, "code"), 0);
    /* What a resource that is not there is called, before and since 2026-07-28. */
    bool unknown = strncmp(what, "read ", 5) == 0 && (code == -32002 || code == -32602);
    if (unknown)
        hint("'mcpctl ls' lists what this server has");
    else if (code == -32601)
        hint("this server does not have what was asked for; 'mcpctl info' shows what it offers");
}

static void report(const ctl *c, const char *what, int rc, const mcp_json *result,
                   const mcp_error *error)
{
    if (c->interrupted)
        return;
    long long code = (long long)mcp_json_int(mcp_json_get(result, "code"), 0);
    if (rc == MCP_EREMOTE)
        say("%s: the server answered with error %lld: %s", what, code, error->text);
    else if (rc == MCP_ECLOSED)
        say("%s: the server is gone: %s", what, error->text);
    else
        say("%s: %s", what, error->text);
    switch (rc) {
    case MCP_EREMOTE: hint_remote(c, what, result); break;
    case MCP_ETIMEOUT:
        hint("--timeout SECONDS waits longer, --verbose shows what the server says meanwhile");
        break;
    case MCP_ECLOSED: hint("try the server's command on its own: %s …", c->server[0]); break;
    case MCP_EPROTOCOL:
        hint("the fault is the server's; --verbose shows what it says, --revision REV speaks "
             "another revision");
        break;
    default: break;
    }
    if (rc == MCP_ECLOSED || rc == MCP_ETIMEOUT || rc == MCP_EPROTOCOL)
        show_stderr(c, rc);
}

/* ---- waiting ------------------------------------------------------------------------------------------ */

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int wait_for(waiting *w, int rc)
{
    ctl *c = w->c;
    if (rc != MCP_OK) {
        say("%s: %s", w->what, mcp_error_text(rc));
        return rc == MCP_EINVAL || rc == MCP_EPARSE ? EXIT_USAGE : exit_code_of(rc);
    }
    while (!w->done) {
        if (mcp_loop_step(c->loop, 10000) == MCP_OK)
            continue;
        /* A signal: what we wait for has to be over before `w` is. */
        c->interrupted = true;
        session_close(c);
        return EXIT_LOCAL;
    }
    return w->exit_code;
}

static void on_result(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                      void *user)
{
    waiting *w = user;
    (void)client;
    w->done = true;
    if (rc != MCP_OK && rc != MCP_ECANCELLED) {
        report(w->c, w->what, rc, result, error);
        w->exit_code = exit_code_of(rc);
    } else if (rc == MCP_OK && w->fn) {
        w->exit_code = w->fn(w->c, result, w->user);
    }
}

int session_call(ctl *c, const char *what, const char *method, const char *params, result_fn *fn,
                 void *user)
{
    waiting w = {.c = c, .what = what, .fn = fn, .user = user};
    if (c->interrupted)
        return EXIT_LOCAL;
    return wait_for(&w, mcp_client_call(c->client, method, params, on_result, &w));
}

static bool on_page(mcp_client *client, const mcp_json *result, void *user)
{
    waiting *w = user;
    (void)client;
    w->exit_code = w->fn(w->c, result, w->user);
    return w->exit_code == EXIT_OK;
}

static void on_list_end(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                        void *user)
{
    waiting *w = user;
    (void)client;
    w->done = true;
    if (rc == MCP_OK || rc == MCP_ECANCELLED)
        return;
    report(w->c, w->what, rc, result, error);
    w->exit_code = exit_code_of(rc);
}

int session_list(ctl *c, const char *what, const char *method, result_fn *fn, void *user)
{
    waiting w = {.c = c, .what = what, .fn = fn, .user = user};
    return wait_for(&w, mcp_client_list(c->client, method, on_page, on_list_end, &w));
}

/* ---- the beginning and the end -------------------------------------------------------------------------- */

static void on_stderr(mcp_str bytes, void *user)
{
    (void)user;
    text_put(stderr, bytes, TEXT_BLOCK);
}

static int spawn(ctl *c)
{
    mcp_error error = {0};
    int rc = mcp_child_spawn(c->loop, c->client,
                             MCP_OPTIONS(mcp_child_options, .argv = c->server,
                                         .on_stderr = c->set.verbose ? on_stderr : NULL),
                             &c->child, &error);
    if (rc == MCP_OK)
        return EXIT_OK;
    say("cannot start %s: %s", c->server[0], error.text);
    if (rc == MCP_ENOTFOUND)
        hint("is it installed, and in a folder that PATH names?");
    return exit_code_of(rc);
}

static int make_client(ctl *c)
{
    mcp_error error = {0};
    uint64_t ms = c->set.timeout_ms;
    int rc = mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "mcpctl",
                                        .version = MCP_VERSION_STRING, .revision = c->set.revision,
                                        .timeout_ms = ms, .probe_ms = ms && ms < 3000 ? ms : 0),
                            &c->client, &error);
    if (rc == MCP_OK)
        return EXIT_OK;
    say("%s", error.text);
    return rc == MCP_EINVAL ? EXIT_USAGE : EXIT_LOCAL;
}

static int start(ctl *c)
{
    waiting w = {.c = c, .what = c->server[0]};
    int64_t before = now_us();
    int rc = spawn(c);
    if (rc == EXIT_OK)
        rc = wait_for(&w, mcp_client_start(c->client, on_result, &w));
    c->first_answer_us = now_us() - before;
    return rc;
}

int session_open(ctl *c)
{
    int rc = make_client(c);
    return rc == EXIT_OK ? start(c) : rc;
}

void session_close(ctl *c)
{
    mcp_child_close(c->child);
    mcp_client_free(c->client);
    c->child = NULL;
    c->client = NULL;
}
