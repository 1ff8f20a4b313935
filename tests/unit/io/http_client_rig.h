/* http_client_rig.h: a client's HTTP transport between a scripted server and an engine that logs
 * the transport's calls.
 */
#ifndef MCP_TESTS_HTTP_CLIENT_RIG_H
#define MCP_TESTS_HTTP_CLIENT_RIG_H

#include <unistd.h>

#include "base/base.h"
#include "failalloc.h"
#include "fake_engine.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ANSWER(n)    "{\"id\":" #n "," ENGINE_RESULT "}"

typedef struct fixture {
    failalloc memory;
    mcp_loop *loop;
    mcp_client client;
    mcp_http_client *http;
    script server;
    const char *text;    /* the body of the handlers' answers */
    const char *status;  /* and their status */
    const char *refusal; /* the status for a stream that existed before */
    const char *headers;
    int hooked, ended;
    int hook_rc;
    char token[32];
    char url[128];
} fixture;

typedef void handler(script_connection *c, const script_request *r);

static inline void on_end(const char *why, void *user)
{
    fixture *f = user;

    assert_true(why && *why);
    f->ended++;
}

static inline int open_with(fixture *f, handler *handle, mcp_http_client_options o)
{
    mcp_allocator a = failalloc_allocator(&f->memory);

    assert_int_equal(mcp_loop_new(&a, &f->loop, NULL), MCP_OK);
    script_open(&f->server, f->loop, handle, f);
    engine_open(&f->client);
    snprintf(f->url, sizeof(f->url), "http://127.0.0.1:%d/mcp", f->server.port);
    o.size = sizeof(o);
    if (!o.url)
        o.url = f->url;
    o.user = f;
    o.on_end = on_end;
    return mcp_http_client_connect(f->loop, &f->client, &o, &f->http, NULL);
}

static inline void open_fixture(fixture *f, handler *handle, mcp_http_client_options o)
{
    memset(f, 0, sizeof(*f));
    assert_int_equal(open_with(f, handle, o), MCP_OK);
}

static inline void close_fixture(fixture *f)
{
    f->memory.fail_at = 0;
    mcp_http_client_close(f->http);
    assert_false(f->client.connected);
    script_free(&f->server, f->loop);
    mcp_loop_free(f->loop);
    assert_int_equal(f->memory.live, 0);
}

static inline bool run_until(fixture *f, bool (*is_there)(fixture *f))
{
    int64_t begin = mcp_loop_now(f->loop);

    while (!is_there(f) && mcp_loop_now(f->loop) - begin < 10000)
        mcp_loop_step(f->loop, 20);
    return is_there(f);
}

static inline void run_for(fixture *f, int64_t ms)
{
    int64_t end = mcp_loop_now(f->loop) + ms;

    while (mcp_loop_now(f->loop) < end)
        mcp_loop_step(f->loop, (uint64_t)(end - mcp_loop_now(f->loop)));
}

static inline bool nothing_awaited(fixture *f)
{
    for (size_t i = 0; i < ENGINE_MESSAGES; i++) {
        if (f->client.awaited[i])
            return false;
    }
    return f->client.n_sent == f->client.n_queued || !f->client.connected;
}

static inline void wait_for_ends(fixture *f)
{
    if (!run_until(f, nothing_awaited))
        fail_msg("nothing came:\n%s", f->client.log);
}

static inline void expect(fixture *f, const char *log)
{
    if (strcmp(f->client.log, log) != 0)
        fail_msg("the log is\n%s\ninstead of\n%s", f->client.log, log);
    f->client.len = 0;
    f->client.log[0] = 0;
}

static inline void expect_begin(fixture *f, const char *log)
{
    if (strncmp(f->client.log, log, strlen(log)) != 0)
        fail_msg("the log is\n%s\ninstead of\n%s…", f->client.log, log);
    f->client.len = 0;
    f->client.log[0] = 0;
}

static inline const script_request *request(const fixture *f, size_t i)
{
    assert_true(i < f->server.n_requests);
    return &f->server.requests[i];
}

static inline void expect_header(const fixture *f, size_t i, const char *name, const char *value)
{
    char room[512];

    assert_string_equal(script_header(request(f, i), name, room), value);
}

static inline engine_message handshake(mcp_exchange n)
{
    engine_message m = ENGINE_REQUEST(1, .handshake = true);

    m.exchange = n;
    return m;
}

static inline engine_message initialized(void)
{
    return (engine_message){
        .output = {.kind = MCP_OUTPUT_NOTIFICATION, .method = {"notifications/initialized", 25}},
        .text = "{\"method\":\"notifications/initialized\"}",
        .headers = {"MCP-Protocol-Version", "2025-11-25"}};
}

/* ---- what servers do ------------------------------------------------------------------------- */

static inline void answer_text(script_connection *c, const script_request *r)
{
    fixture *f = c->script->user;

    (void)r;
    script_reply(c, f->status ? f->status : "200 OK",
                 f->headers ? f->headers : "Content-Type: application/json", f->text);
}

/* A legacy server: answers POSTs, creates sessions, and offers a stream with `text`. */
static inline void answer_legacy(script_connection *c, const script_request *r)
{
    fixture *f = c->script->user;
    char head[128];
    int id = 0;

    if (r->method[0] == 'G') {
        script_write(c, f->text);
        if (strstr(f->text, "\n\n"))
            script_end(c);
    } else if (r->method[0] == 'D' || !strstr(r->body, "\"id\"")) {
        script_reply(c, "202 Accepted", NULL, "");
    } else {
        char text[64];
        sscanf(r->body, "{\"id\":%d", &id);
        snprintf(text, sizeof(text), "{\"id\":%d," ENGINE_RESULT "}", id);
        snprintf(head, sizeof(head), "Content-Type: application/json\r\nMcp-Session-Id: s%d",
                 (int)f->server.n_requests);
        script_reply(c, "200 OK", head, text);
    }
}

/* Never answers, for example a DELETE, which must not block the client. */
static inline void silence(script_connection *c, const script_request *r)
{
    (void)c;
    (void)r;
}

static inline bool one_request(fixture *f)
{
    return f->server.n_requests == 1;
}

static inline void die(script_connection *c, const script_request *r)
{
    fixture *f = c->script->user;

    (void)r;
    script_write(c, f->text);
    script_end(c);
}

static inline void leave_open(script_connection *c, const script_request *r)
{
    (void)r;
    script_write(c, SCRIPT_STREAM "id: 1\ndata: " ANSWER(1) "\n\n");
}

static inline bool one_aborted(fixture *f)
{
    return f->server.n_aborted == 1;
}

#endif
