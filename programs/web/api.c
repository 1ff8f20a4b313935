/* api.c: what the page may ask besides MCP: its configuration, the secret for its code, the servers,
 * the journal, Markdown as nodes, and a login. All but the first two need the secret.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "markdown.h"
#include "web.h"

enum { MOST_ANSWER = 16 << 20 };

/* Writes the members of an answer. Returns its status; with a status other than 200 the writer has
 * nothing, and fail() was called. */
typedef int api_fn(web *w, const mcp_json *body, mcp_json_writer *out);

static int fail(mcp_json_writer *out, int status, const char *word, const char *message)
{
    mcp_json_writer_reset(out);
    mcp_json_begin_object(out);
    mcp_json_put_string(out, "error", word);
    mcp_json_put_string(out, "message", message);
    return status;
}

/* ---- without the secret ----------------------------------------------------------------------- */

static int put_config(web *w, const mcp_json *body, mcp_json_writer *out)
{
    (void)w, (void)body;
    mcp_json_put_string(out, "mode", "mcpctl");
    mcp_json_put_string(out, "endpoint", "/mcp");
    mcp_json_put_string(out, "version", MCP_VERSION_STRING);
    return 200;
}

static bool renew_identity(web *w)
{
    char token[16];
    mcp_identity *next = NULL;
    mcp_error error;
    snprintf(token, sizeof(token), "%u", w->pages + 1);
    if (mcp_identity_new(
            MCP_OPTIONS(mcp_identity_options, .principal = WEB_PRINCIPAL, .token = token), &next,
            &error) != MCP_OK)
        return false;
    mcp_identity_unref(w->identity);
    w->identity = next;
    w->pages++;
    return true;
}

static int put_secret(web *w, const mcp_json *body, mcp_json_writer *out)
{
    static const char *const words[] = {"", "wrong", "used", "late"};
    static const char *const messages[] = {
        "", "this is not the code: press Enter in the terminal of mcpctl web for another one",
        "the code was used already: press Enter in the terminal of mcpctl web for another one. If "
        "no page has opened before, another program has used it: end mcpctl web",
        "the code is valid for 60 seconds only: press Enter in the terminal of mcpctl web for "
        "another one"};
    mcp_str code = mcp_json_string(mcp_json_get(body, "code"));
    gate_answer is = gate_exchange(&w->gate, code, mcp_loop_now(w->loop));
    if (is != GATE_FINE) {
        open_refused(w, is);
        return fail(out, 403, words[is], messages[is]);
    }
    if (!renew_identity(w)) {
        explicit_bzero(w->gate.secret, sizeof(w->gate.secret));
        return fail(out, 503, "memory", "out of memory");
    }
    open_done(w);
    mcp_json_put_string(out, "secret", w->gate.secret);
    return 200;
}

/* ---- with the secret -------------------------------------------------------------------------- */

static void put_hello(const web_server *s, mcp_json_writer *out)
{
    mcp_json_key(out, "hello");
    if (!s->hello) {
        mcp_json_add_null(out);
        return;
    }
    mcp_json_begin_object(out);
    mcp_json_put_string(out, "method", s->hello_method);
    mcp_json_key(out, "result");
    mcp_json_add_value(out, mcp_json_get(mcp_json_root(s->hello), "result"));
    mcp_json_end(out);
}

static void put_server(const web *w, const web_server *s, mcp_json_writer *out)
{
    static const char *const logins[] = {"none", "possible", "running", "failed", "done"};
    char prefix[64] = "", uri_prefix[64] = "";
    if (w->n_servers > 1) {
        snprintf(prefix, sizeof(prefix), "%s_", s->name);
        snprintf(uri_prefix, sizeof(uri_prefix), "mcp+%s:", s->name);
    }
    mcp_json_begin_object(out);
    mcp_json_put_string(out, "name", s->name);
    mcp_json_put_string(out, "title", s->title);
    mcp_json_put_string(out, "kind", s->is_url ? "url" : "program");
    mcp_json_put_string(out, "target", s->target);
    mcp_json_put_string(out, "prefix", prefix);
    mcp_json_put_string(out, "uriPrefix", uri_prefix);
    mcp_json_put_string(out, "login", logins[s->login]);
    mcp_json_put_string(out, "problem", s->problem);
    put_hello(s, out);
    mcp_json_end(out);
}

static int put_about(web *w, const mcp_json *body, mcp_json_writer *out)
{
    (void)body;
    mcp_json_put_string(out, "version", MCP_VERSION_STRING);
    mcp_json_put_bool(out, "markdown", markdown_exists);
    mcp_json_put_array(out, "servers");
    for (size_t i = 0; i < w->n_servers; i++)
        put_server(w, &w->servers[i], out);
    mcp_json_end(out);
    mcp_json_put_object(out, "journal");
    journal_put(&w->journal, 0, 0, out);
    mcp_json_end(out);
    return 200;
}

static int put_journal(web *w, const mcp_json *body, mcp_json_writer *out)
{
    int64_t after = mcp_json_int(mcp_json_get(body, "after"), 0);
    int64_t limit = mcp_json_int(mcp_json_get(body, "limit"), 500);
    if (after < 0 || limit < 1)
        return fail(out, 400, "number", "\"after\" is at least 0, and \"limit\" at least 1");
    journal_put(&w->journal, (uint64_t)after, limit < JOURNAL_PAGE ? (size_t)limit : JOURNAL_PAGE,
                out);
    return 200;
}

static int put_markdown(web *w, const mcp_json *body, mcp_json_writer *out)
{
    (void)w;
    mcp_json_key(out, "nodes");
    int rc = markdown_put(out, mcp_json_string(mcp_json_get(body, "text")));
    return rc == MCP_OK       ? 200
           : rc == MCP_ELIMIT ? fail(out, 413, "large", "this text is too large")
           : rc == MCP_ENOMEM ? fail(out, 503, "memory", "out of memory")
                              : fail(out, 404, "none", "this program was built without Markdown");
}

static int put_login(web *w, const mcp_json *body, mcp_json_writer *out)
{
    mcp_str name = mcp_json_string(mcp_json_get(body, "server"));
    web_server *s = NULL;
    for (size_t i = 0; i < w->n_servers; i++)
        if (mcp_str_eq(name, mcp_str_from(w->servers[i].name)))
            s = &w->servers[i];
    int rc = s ? login_start(w, s) : MCP_ENOTFOUND;
    if (rc == MCP_ENOTFOUND || rc == MCP_EINVAL)
        return fail(out, 404, "server", "there is no such server, or it has no login");
    if (rc != MCP_OK)
        return fail(out, 503, "login",
                    rc == MCP_ESTATE ? "a login is in progress" : "mcpctl login cannot be started");
    mcp_json_put_string(out, "login", "running");
    return 200;
}

/* ---- all -------------------------------------------------------------------------------------- */

static const struct {
    const char *path;
    api_fn *fn;
    bool is_get;  /* GET or HEAD instead of POST */
    bool is_open; /* without the secret */
} calls[] = {
    {"/web/config", put_config, true, true},       {"/web/secret", put_secret, false, true},
    {"/web/about", put_about, false, false},       {"/web/journal", put_journal, false, false},
    {"/web/markdown", put_markdown, false, false}, {"/web/login", put_login, false, false},
};

static mcp_str header(const mcp_http_page *page, const char *name)
{
    mcp_str value = {0};
    return mcp_http_page_header(page, name, &value) ? value : (mcp_str){0};
}

static int answer_call(web *w, size_t i, const mcp_http_page *page, mcp_json_writer *out)
{
    const gate_source from = {.host = header(page, "Host"),
                              .origin = header(page, "Origin"),
                              .site = header(page, "Sec-Fetch-Site")};
    mcp_json_doc *body = NULL;
    if (!gate_is_own(&w->gate, &from))
        return fail(out, 403, "origin", "only the page of mcpctl web may ask this");
    if (calls[i].is_get == mcp_str_eq(page->method, MCP_STR("POST")))
        return fail(out, 405, "method", calls[i].is_get ? "use GET" : "use POST");
    if (!calls[i].is_open && !gate_admits(&w->gate, header(page, "Authorization")))
        return fail(out, 401, "secret",
                    "another page was opened, or this one has never been: press Enter in the "
                    "terminal of mcpctl web");
    int rc = calls[i].is_get ? MCP_OK : mcp_json_parse(page->body, NULL, NULL, &body, NULL);
    if (rc != MCP_OK || (!calls[i].is_get && !mcp_json_is(mcp_json_root(body), MCP_JSON_OBJECT)))
        rc = fail(out, 400, "body", "the body is not a JSON object");
    else
        rc = calls[i].fn(w, mcp_json_root(body), out);
    mcp_json_free(body);
    return rc;
}

static bool find_call(mcp_str path, size_t *ret)
{
    for (*ret = 0; *ret < sizeof(calls) / sizeof(calls[0]); ++*ret)
        if (mcp_str_eq(path, mcp_str_from(calls[*ret].path)))
            return true;
    return false;
}

bool api_answer(const mcp_http_page *page, mcp_http_page_answer *answer, void *user)
{
    static const char starved[] = "{\"error\":\"memory\",\"message\":\"out of memory\"}";
    web *w = user;
    size_t i;
    mcp_str text = {0};
    mcp_json_writer_free(w->answer);
    w->answer = mcp_json_writer_new(NULL, MOST_ANSWER);
    mcp_json_begin_object(w->answer);
    int status;
    if (!gate_is_host(&w->gate, header(page, "Host")))
        status = fail(w->answer, 403, "host", "this is not the host of mcpctl web");
    else if (find_call(page->path, &i))
        status = answer_call(w, i, page, w->answer);
    else
        return page_answer(page, &w->headers, answer);
    mcp_json_end(w->answer);
    int rc = mcp_json_writer_finish(w->answer, &text);
    if (rc == MCP_OK)
        page_answer_json(status, text, &w->headers, answer);
    else if (rc == MCP_ELIMIT)
        page_answer_json(413,
                         MCP_STR("{\"error\":\"large\",\"message\":\"the answer is too large\"}"),
                         &w->headers, answer);
    else
        page_answer_json(503, mcp_str_from(starved), &w->headers, answer);
    return true;
}

static mcp_str login_header(const mcp_http_login *login, const char *name)
{
    mcp_str value = {0};
    return mcp_http_login_header(login, name, &value) ? value : (mcp_str){0};
}

void api_authenticate(mcp_http_login *login, void *user)
{
    web *w = user;
    const gate_source from = {.host = login_header(login, "Host"),
                              .origin = login_header(login, "Origin"),
                              .site = login_header(login, "Sec-Fetch-Site")};
    if (!gate_is_own(&w->gate, &from))
        mcp_http_login_refuse(login, MCP_OPTIONS(mcp_http_denial, .status = 403,
                                                 .message = "only the page of mcpctl web may ask "
                                                            "this"));
    else if (!gate_admits(&w->gate, login_header(login, "Authorization")))
        mcp_http_login_refuse(login, NULL);
    else
        mcp_http_login_accept(login, w->identity);
}
