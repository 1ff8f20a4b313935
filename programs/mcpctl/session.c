/* session.c: the server, as a child process or at an address, and blocking calls.
 *
 * The library is asynchronous. This file makes one call at a time, and runs the loop until the
 * callback of the call has run. It also reports failures, so that the messages are the same for
 * every command.
 */
#define _GNU_SOURCE
#include "session.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "completions.h"
#include "form.h"
#include "login.h"
#include "roots.h"
#include "seen.h"
#include "servers.h"
#include "terminal.h"

/* State of a blocking call. */
typedef struct waiting {
    ctl *c;
    const char *what;
    result_fn *fn;
    void *user;
    mcp_call_id call;   /* 0 while the server starts */
    const char *method; /* the method of the list that is read */
    size_t pages;       /* pages received so far */
    seen seen;          /* the entries in them */
    bool again;         /* the list has to be read again from its beginning */
    texts left_out;     /* sources that the server could not list, which it names */
    bool quietly;       /* errors are not reported */
    bool needs_login;   /* it failed because a person has to log in */
    bool done, enough;
    int exit_code;
} waiting;

/* ---- waiting --------------------------------------------------------------------------------- */

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Cancels the call after a signal, notifies the server and ends the wait. A start cannot be
 * cancelled. */
static void interrupt(waiting *w)
{
    enum { PATIENCE_MS = 1000 };
    session *s = w->c->session;
    s->interrupted = true;
    bar_end();
    bool cancels = w->call && mcp_client_cancel(s->client, w->call, "interrupted") == MCP_OK;
    if (cancels && !w->quietly)
        say("%s: interrupted; the server is told that the call is cancelled", w->what);
    if (cancels)
        for (int64_t until = mcp_loop_now(s->loop) + PATIENCE_MS;
             !w->done && mcp_loop_now(s->loop) < until;)
            mcp_loop_step(s->loop, 50);
    if (!w->done) /* callbacks use `w`, so the call has to end first */
        session_end(s);
}

static int wait_for(waiting *w, int rc)
{
    ctl *c = w->c;
    session *s = c->session;
    if (rc != MCP_OK) {
        if (!w->quietly)
            say("%s: %s", w->what, mcp_error_text(rc));
        return rc == MCP_EINVAL || rc == MCP_EPARSE ? EXIT_USAGE : exit_code_of(rc);
    }
    s->stderr_before = s->stderr_written;
    s->unauthorized = false;
    bar_begin(w->what, c->set.quiet);
    while (!w->done) {
        uint64_t ms = roots_check(s), most = bar_wait_ms();
        if (mcp_loop_step(s->loop, ms < most ? ms : most) != MCP_OK) {
            interrupt(w);
            return EXIT_LOCAL;
        }
        questions_answer(c);
        bar_tick();
    }
    bar_end();
    return w->exit_code;
}

void session_wait(ctl *c, const bool *done, uint64_t ms)
{
    session *s = c->session;
    int64_t until = mcp_loop_now(s->loop) + (int64_t)ms;
    while (!*done && !s->interrupted) {
        int64_t left = ms ? until - mcp_loop_now(s->loop) : 10000;
        uint64_t most = roots_check(s);
        if (left <= 0)
            return;
        most = (uint64_t)left < most ? (uint64_t)left : most;
        s->interrupted = mcp_loop_step(s->loop, most) != MCP_OK;
        questions_answer(c);
    }
}

static const char *server_label(const session *s)
{
    return s->server->argv ? s->server->argv[0] : s->server->url;
}

/* A server that requires a login has been reached, so that is another failure. */
static int code_of_failure(const session *s, int rc)
{
    int code = s->http && rc == MCP_EACCESS ? login_failure(s->login) : EXIT_OK;
    if (code != EXIT_OK)
        return code;
    return s->unauthorized && rc == MCP_EACCESS ? EXIT_LOGIN : exit_code_of(rc);
}

static void on_result(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                      void *user)
{
    waiting *w = user;
    (void)client;
    bar_clear();
    w->done = true;
    w->exit_code =
        rc == MCP_EREMOTE ? exit_code_of_error(result) : code_of_failure(w->c->session, rc);
    w->needs_login = rc != MCP_OK && !w->quietly && login_is_wanted(w->c->session->login);
    if (w->needs_login)
        return; /* offer_login() reports it */
    if (rc == MCP_OK && w->fn)
        w->exit_code = w->fn(w->c, result, w->user);
    else if (rc != MCP_OK && !w->quietly)
        session_report(w->c, w->what, rc, result, error);
}

static void on_progress(mcp_client *client, mcp_call_id call, const mcp_progress *progress,
                        void *user)
{
    (void)client, (void)call, (void)user;
    bar_set(progress->progress, progress->has_total ? progress->total : 0, progress->message);
}

/* Shows the state of a task, which has no numeric progress. */
static void on_task(mcp_client *client, mcp_call_id call, const mcp_json *task, void *user)
{
    (void)client, (void)call, (void)user;
    mcp_str text = mcp_json_string(mcp_json_get(task, "statusMessage"));
    mcp_str status = mcp_json_string(mcp_json_get(task, "status"));
    bar_set_message(text.len ? text : status);
}

/* If a call failed because a person has to log in, offers that. Returns whether the call can be
 * repeated; otherwise *code is the exit code. */
static bool offer_login(waiting *w, int *code)
{
    if (!w->needs_login)
        return false;
    *code = login_offer(w->c->session->login, w->what);
    w->done = w->needs_login = false;
    return *code == EXIT_OK;
}

#define CALL_OPTIONS(w)                                                                    \
    MCP_OPTIONS(mcp_call_options, .done = on_result, .progress = on_progress, .user = (w), \
                .task = on_task)

static int call(waiting *w, const char *method, const char *params)
{
    session *s = w->c->session;
    int code;
    do {
        if (s->interrupted)
            return EXIT_LOCAL;
        code =
            wait_for(w, mcp_client_request(s->client, method, params, CALL_OPTIONS(w), &w->call));
    } while (offer_login(w, &code));
    return code;
}

int session_call(ctl *c, const char *what, const char *method, const char *params, result_fn *fn,
                 void *user)
{
    waiting w = {.c = c, .what = what, .fn = fn, .user = user};
    return call(&w, method, params);
}

int session_call_quietly(ctl *c, const char *method, const char *params, result_fn *fn, void *user)
{
    waiting w = {.c = c, .what = method, .fn = fn, .user = user, .quietly = true};
    return call(&w, method, params);
}

int session_call_tool(ctl *c, const char *name, const char *arguments, result_fn *fn, void *user)
{
    char what[256];
    snprintf(what, sizeof(what), "call %s", name);
    waiting w = {.c = c, .what = what, .fn = fn, .user = user};
    int code;
    do {
        if (c->session->interrupted)
            return EXIT_LOCAL;
        code = wait_for(&w, mcp_client_call_tool(c->session->client, name, arguments,
                                                 CALL_OPTIONS(&w), &w.call));
    } while (offer_login(&w, &code));
    return code;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Handles a list with too many pages, which is an error of the server unless only some pages were
 * requested. */
static int end_of_pages(waiting *w)
{
    bool asked = w->c->set.pages != 0;
    w->enough = true;
    if (asked && !w->c->set.quiet)
        say("there are more pages after these %zu", w->pages);
    if (asked || w->quietly)
        return EXIT_OK;
    say("%s: %s has more than %zu pages", w->what, w->method, w->pages);
    hint("--pages N reads N of them");
    return EXIT_PROTOCOL;
}

/* Collects what mcpd says its list is without. */
static void collect_left_out(waiting *w, const mcp_json *result)
{
    enum { MOST = 100 };
    mcp_json_iter it = {0};
    const mcp_json *names = mcp_json_get(mcp_json_get(result, "_meta"), "libmcp/left-out");
    for (const mcp_json *v; (v = mcp_json_next(names, &it, NULL)) != NULL;) {
        char *name = w->left_out.count < MOST ? text_dup(mcp_json_string(v)) : NULL;
        if (name && !texts_add(&w->left_out, name))
            free(name);
    }
}

static void forget_left_out(waiting *w)
{
    for (size_t i = 0; i < w->left_out.count; i++)
        free((void *)(uintptr_t)w->left_out.items[i]);
    texts_clear(&w->left_out);
}

/* A list that lacks something must not look complete. */
static void say_left_out(waiting *w, int code)
{
    if (w->left_out.count && code == EXIT_OK && !w->quietly && !w->c->set.quiet) {
        fprintf(stderr, "mcpctl: warning: the list is incomplete. These did not answer:");
        for (size_t i = 0; i < w->left_out.count; i++) {
            fputs(i ? ", " : " ", stderr);
            text_put(stderr, mcp_str_from(w->left_out.items[i]), TEXT_LINE);
        }
        fputc('\n', stderr);
    }
    forget_left_out(w);
}

/* Passes on what the page has that was not passed on before. */
static int pass_page(waiting *w, const mcp_json *result)
{
    mcp_json_doc *rest = NULL;
    if (!w->seen.sorted) {
        seen_add(&w->seen, w->method, result);
        return w->fn(w->c, result, w->user);
    }
    bool ok = seen_filter(&w->seen, w->method, result, &rest);
    int code = ok ? w->fn(w->c, mcp_json_root(rest), w->user) : EXIT_LOCAL;
    if (!ok)
        say("%s: out of memory", w->what);
    mcp_json_free(rest);
    return code;
}

/* Returns whether the list has to be read again, because the server refused a cursor of its own
 * (2025-11-25 and 2026-07-28, server/utilities/pagination, "Error Handling"): once, and without
 * repeating anything. */
static bool begin_again(waiting *w, const mcp_json *error)
{
    int64_t code = mcp_json_int(mcp_json_get(error, "code"), 0);
    if (!w->pages || code != MCP_CODE_INVALID_PARAMS || !seen_restart(&w->seen))
        return false;
    forget_left_out(w);
    w->pages = 0;
    if (!w->quietly && !w->c->set.quiet)
        say("%s: the server refused the next page; the list is read again from the beginning, and "
            "what is printed already is not repeated",
            w->what);
    return true;
}

static bool on_page(mcp_client *client, const mcp_json *result, void *user)
{
    enum { MOST_PAGES = 10000 };
    waiting *w = user;
    uint64_t most = w->c->set.pages ? w->c->set.pages : MOST_PAGES;
    (void)client;
    bar_clear();
    collect_left_out(w, result);
    w->exit_code = pass_page(w, result);
    if (w->exit_code == EXIT_OK && ++w->pages >= most && mcp_json_get(result, "nextCursor"))
        w->exit_code = end_of_pages(w);
    return w->exit_code == EXIT_OK && !w->enough;
}

static void on_list_end(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                        void *user)
{
    waiting *w = user;
    (void)client;
    bar_clear();
    w->done = true;
    if (rc == MCP_OK || (rc == MCP_ECANCELLED && (w->enough || w->exit_code != EXIT_OK)))
        return;
    w->again = rc == MCP_EREMOTE && begin_again(w, result);
    if (w->again)
        return;
    w->exit_code = code_of_failure(w->c->session, rc);
    w->needs_login = !w->quietly && !w->pages && login_is_wanted(w->c->session->login);
    if (!w->quietly && !w->needs_login)
        session_report(w->c, w->what, rc, result, error);
}

static int list(waiting *w, const char *method)
{
    session *s = w->c->session;
    int code;
    w->method = method;
    do {
        code = EXIT_LOCAL;
        if (s->interrupted)
            break;
        w->done = w->again = false;
        code = wait_for(
            w, mcp_client_list_all(s->client, method, on_page,
                                   MCP_OPTIONS(mcp_call_options, .done = on_list_end, .user = w),
                                   &w->call));
    } while (w->again || offer_login(w, &code));
    seen_clear(&w->seen);
    say_left_out(w, code);
    return code;
}

int session_list(ctl *c, const char *what, const char *method, result_fn *fn, void *user)
{
    waiting w = {.c = c, .what = what, .fn = fn, .user = user};
    return list(&w, method);
}

int session_quietly(ctl *c, const char *method, result_fn *fn, void *user)
{
    waiting w = {.c = c, .what = method, .fn = fn, .user = user, .quietly = true};
    return list(&w, method);
}

bool session_offers(const ctl *c, const char *capability)
{
    return mcp_json_get(mcp_client_server_capabilities(c->session->client), capability) != NULL;
}

static int open_trace(ctl *c)
{
    if (!c->set.trace)
        return EXIT_OK;
    c->session->trace = trace_open(c->set.trace);
    return c->session->trace ? EXIT_OK : EXIT_LOCAL;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void on_exit_status(int status, void *user)
{
    (void)status;
    ((session *)user)->ended = true;
}

/* Returns whether a variable of the configuration, from index `from` on, has the name of this
 * NAME=value. */
static bool is_set(const server *s, size_t from, const char *variable)
{
    size_t name = strcspn(variable, "=") + 1;
    for (size_t k = from; k < s->env.count; k++)
        if (strncmp(variable, s->env.items[k], name) == 0)
            return true;
    return false;
}

/* Returns the environment with the configuration's variables; NULL if there are none, or no
 * memory. */
static const char **environment(const server *s)
{
    size_t count = 0;
    while (environ[count])
        count++;
    const char **all = s->env.count ? calloc(count + s->env.count + 1, sizeof(*all)) : NULL;
    size_t n = 0;
    for (size_t i = 0; all && i < count; i++)
        if (!is_set(s, 0, environ[i]))
            all[n++] = environ[i];
    for (size_t k = 0; all && k < s->env.count; k++)
        if (!is_set(s, k + 1, s->env.items[k]))
            all[n++] = s->env.items[k];
    return all;
}

static int spawn(ctl *c)
{
    mcp_error error = {0};
    session *s = c->session;
    const char **env = environment(s->server);
    int rc = mcp_child_spawn(s->loop, s->client,
                             MCP_OPTIONS(mcp_child_options, .argv = s->server->argv, .env = env,
                                         .cwd = s->server->cwd, .on_stderr = notice_stderr,
                                         .on_exit = on_exit_status, .user = s),
                             &s->child, &error);
    free(env);
    if (rc == MCP_OK)
        return EXIT_OK;
    say("cannot start %s: %s", s->server->argv[0], error.text);
    if (rc == MCP_ENOTFOUND)
        hint("is it installed, in a folder of PATH?");
    else if (rc == MCP_EACCESS)
        hint("is it a program, and allowed to be run (chmod +x)?");
    return exit_code_of(rc);
}

static void on_http_end(const char *why, void *user)
{
    (void)why;
    ((session *)user)->ended = true;
}

/* Reports the refusal, because the body of the response would say less. */
static int on_challenge(const mcp_http_challenge *challenge, void *user)
{
    session *s = user;
    s->unauthorized = challenge->status == 401;
    return MCP_EACCESS;
}

static int connect_address(ctl *c)
{
    mcp_error error = {0};
    session *s = c->session;
    int rc = mcp_http_client_connect(
        s->loop, s->client,
        MCP_OPTIONS(mcp_http_client_options, .url = s->server->url,
                    .headers = (const char *const *)(void *)s->server->headers.items,
                    .ca_file = getenv("SSL_CERT_FILE"), .challenge = on_challenge,
                    .on_end = on_http_end, .waits = notice_waits, .oauth = login_client(s->login),
                    .user = s),
        &s->http, &error);
    if (rc == MCP_OK)
        return EXIT_OK;
    say("%s: %s", s->server->url, error.text);
    return rc == MCP_EINVAL ? EXIT_USAGE : exit_code_of(rc);
}

static int make_client(ctl *c)
{
    mcp_error error = {0};
    session *s = c->session;
    uint64_t ms = c->set.timeout_ms;
    bool can_ask = terminal_can_ask();
    int rc = mcp_client_new(
        MCP_OPTIONS(mcp_client_options, .name = "mcpctl", .version = MCP_VERSION_STRING,
                    .title = "mcpctl", .revision = c->set.revision, .timeout_ms = ms,
                    .max_pages = SIZE_MAX, /* on_page() counts them */
                    .user = s, .elicit_form = can_ask || s->answers ? question_take : NULL,
                    .elicit_url = can_ask ? question_take : NULL,
                    .sample = c->set.sampler ? question_take : NULL,
                    .roots = roots_path(s, 0) ? question_take : NULL,
                    .log = s->quiet ? NULL : notice_log, .tool_refused = notice_tool_refused,
                    .trace = notice_trace, .tasks = true, .misbehaved = notice_misbehaved,
                    .notification = notice_change, .ping_ms = c->set.ping_ms,
                    .ping_timeout_ms = c->set.ping_ms, .lost = notice_lost),
        &s->client, &error);
    if (rc == MCP_OK && !s->quiet)
        mcp_client_set_log_level(s->client, s->verbose ? "debug" : "warning");
    if (rc == MCP_OK)
        return roots_declare(s);
    say("%s", error.text);
    return rc == MCP_EINVAL ? EXIT_USAGE : EXIT_LOCAL;
}

static void disconnect(session *s)
{
    mcp_child_close(s->child);
    mcp_http_client_close(s->http);
    s->child = NULL;
    s->http = NULL;
}

static int start(ctl *c)
{
    session *s = c->session;
    waiting w = {.c = c, .what = server_label(s)};
    int code;
    do {
        int64_t before = now_us();
        disconnect(s);
        s->ended = false;
        completions_forget(s->completions);
        code = s->server->argv ? spawn(c) : connect_address(c);
        if (code == EXIT_OK)
            code = wait_for(&w, mcp_client_start(s->client, on_result, &w));
        s->first_answer_us = now_us() - before;
    } while (offer_login(&w, &code));
    return code;
}

int session_prepare(ctl *c, const char *account)
{
    session *s = c->session;
    s->verbose = c->set.verbose;
    s->quiet = c->set.quiet;
    int code = server_find(c, &s->server);
    if (code == EXIT_OK)
        code = open_trace(c);
    return code == EXIT_OK ? login_open(c, s->server, account, &s->login) : code;
}

int session_open(ctl *c)
{
    c->session->completions = completions_new();
    int code = answers_load(c, &c->session->answers);
    if (code == EXIT_OK)
        code = roots_load(c, &c->session->roots);
    if (code == EXIT_OK)
        code = session_prepare(c, NULL);
    if (code == EXIT_OK)
        code = make_client(c);
    return code == EXIT_OK ? start(c) : code;
}

bool session_is_connected(const session *s)
{
    return !s->ended && (s->child || s->http);
}

int session_restart(ctl *c)
{
    return start(c);
}

int session_revive(ctl *c)
{
    session *s = c->session;
    if (s->client && session_is_connected(s)) /* the connection may have ended since the last
                                               * call */
        s->interrupted = mcp_loop_step(s->loop, 0) != MCP_OK;
    if (s->interrupted)
        return EXIT_LOCAL;
    if (s->client && session_is_connected(s))
        return EXIT_OK;
    if (!c->set.quiet)
        say("the server ended; %s again", s->server->argv ? "starting it" : "connecting");
    int code = s->client ? EXIT_OK : make_client(c);
    return code == EXIT_OK ? session_restart(c) : code;
}

void session_end(session *s)
{
    disconnect(s);
    mcp_client_free(s->client);
    s->n_questions = 0; /* they were freed with the client */
    s->client = NULL;
}

void session_close(session *s)
{
    session_end(s);
    login_close(s->login);
    s->login = NULL;
    server_free(s->server);
    s->server = NULL;
    answers_free(s->answers, s->quiet || s->interrupted);
    s->answers = NULL;
    completions_free(s->completions);
    s->completions = NULL;
    roots_free(s->roots);
    s->roots = NULL;
    if (s->trace && s->trace != stderr)
        fclose(s->trace);
    s->trace = NULL;
}
