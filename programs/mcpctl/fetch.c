/* fetch.c: fetches an https:// resource directly from the web. A server lists such URIs for clients
 * that can load them directly (2026-07-28, server/resources, "Common URI Schemes"), and may refuse
 * to read them.
 *
 * The URI is untrusted: it is fetched only if the user agrees or --fetch is given, and the library
 * sends no requests to this machine or to private networks.
 */
#include "fetch.h"

#include <stdlib.h>

#include "session.h"
#include "terminal.h"

typedef struct fetching {
    ctl *c;
    const char *uri;
    fetched_fn *fn;
    void *user;
    bool done;
    int exit_code;
} fetching;

bool fetch_is_for(const char *uri)
{
    return strncmp(uri, "https://", 8) == 0;
}

/* ---- the answer as a result of resources/read ------------------------------------------------ */

static bool is_text(mcp_str bytes)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str json;
    mcp_json_add_str(w, bytes); /* takes UTF-8 only */
    bool ok = mcp_json_writer_finish(w, &json) == MCP_OK;
    mcp_json_writer_free(w);
    return ok && (!bytes.len || !memchr(bytes.ptr, 0, bytes.len));
}

static int put_fetched(const fetching *f, const mcp_fetched *fetched)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    mcp_json_put_array(w, "contents");
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "uri", f->uri);
    if (*fetched->media_type)
        mcp_json_put_string(w, "mimeType", fetched->media_type);
    bool text = is_text(fetched->body);
    mcp_json_key(w, text ? "text" : "blob");
    if (text)
        mcp_json_add_str(w, fetched->body);
    else
        mcp_json_add_base64(w, fetched->body.ptr, fetched->body.len);
    mcp_json_end(w), mcp_json_end(w), mcp_json_end(w);
    char *json = take_written(f->uri, w);
    mcp_json_doc *doc = NULL;
    int code = EXIT_LOCAL;
    if (json && mcp_json_parse(mcp_str_from(json), NULL, NULL, &doc, NULL) == MCP_OK)
        code = f->fn(f->c, mcp_json_root(doc), f->user);
    else if (json)
        say("fetch %s: out of memory", f->uri);
    mcp_json_free(doc);
    free(json);
    return code;
}

/* ---- fetching -------------------------------------------------------------------------------- */

static void on_fetched(int rc, const mcp_fetched *fetched, const mcp_error *error, void *user)
{
    fetching *f = user;
    bar_clear();
    f->done = true;
    f->exit_code = exit_code_of(rc);
    if (rc != MCP_OK) {
        say("fetch %s: %s", f->uri, error && error->text[0] ? error->text : mcp_error_text(rc));
    } else if (fetched->status < 200 || fetched->status > 299) {
        say("fetch %s: the web server answered with status %d", f->uri, fetched->status);
        f->exit_code = EXIT_REMOTE;
    } else {
        f->exit_code = put_fetched(f, fetched);
    }
}

int fetch_resource(ctl *c, const char *uri, fetched_fn *fn, void *user)
{
    session *s = c->session;
    fetching f = {.c = c, .uri = uri, .fn = fn, .user = user, .exit_code = EXIT_LOCAL};
    mcp_fetch *fetch = NULL;
    mcp_error error = {0};
    if (s->interrupted)
        return EXIT_LOCAL;
    int rc = mcp_loop_fetch(
        s->loop,
        MCP_OPTIONS(mcp_fetch_options, .url = uri, .timeout_ms = c->set.timeout_ms,
                    .proxy = getenv("https_proxy"), .ca_file = getenv("SSL_CERT_FILE"),
                    .done = on_fetched, .user = &f),
        &fetch, &error);
    if (rc != MCP_OK) {
        say("fetch %s: %s", uri, error.text[0] ? error.text : mcp_error_text(rc));
        return exit_code_of(rc);
    }
    bar_begin(uri, c->set.quiet);
    while (!f.done && !s->interrupted) {
        s->interrupted = mcp_loop_step(s->loop, bar_wait_ms()) != MCP_OK;
        bar_tick();
    }
    bar_end();
    if (!f.done)
        mcp_fetch_cancel(fetch);
    return f.exit_code;
}

bool fetch_ask(const char *uri)
{
    if (!terminal_can_ask()) {
        hint("--fetch gets it from the web, without the server");
        return false;
    }
    size_t room = strlen(uri) + 64;
    char *question = malloc(room);
    if (!question)
        return false;
    snprintf(question, room, "Get %s from the web, without the server? [y/N] ", uri);
    bool yes = terminal_ask_yes(question);
    free(question);
    return yes;
}
