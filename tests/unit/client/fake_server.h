/* fake_server.h: a server that answers from a table, on a client's channel without I/O.
 *
 * It stores the messages that the client sends. fake_run() answers them one by one, and advances
 * the time when nothing else happens. An answer may have several messages, each on its own line.
 * `$` stands for the id of the request, and the prefix "@1" makes the line an answer to request 1.
 * With exchanges (fake_open_http()), a line "!404 text" ends the exchange with that HTTP status and
 * text as its body; "!404s" does so for a request with a session, and "!200b" for an event stream
 * that was interrupted.
 */
#ifndef MCP_TESTS_FAKE_SERVER_H
#define MCP_TESTS_FAKE_SERVER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <mcp/client.h>
#include <mcp/sys/client.h>

#include "base/base.h"
#include "support/failalloc.h"

#define RESULT(json)      "{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":" json "}"
#define SERVER            "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}"
#define ERROR(code, rest) "{\"jsonrpc\":\"2.0\",\"id\":$,\"error\":{\"code\":" code rest "}}"

/* The reply to a request of this method. Each entry of a method is used once, in order, and the
 * last one repeatedly. NULL means no reply. */
typedef struct fake_reply {
    const char *method;
    const char *message;
} fake_reply;

enum { FAKE_REPLIES = 12 };

typedef struct fake {
    const fake_reply *replies; /* up to FAKE_REPLIES, ended by an empty one */
    bool used[FAKE_REPLIES];
    mcp_client *client;
    mcp_channel *channel;
    char *sent[256]; /* every message of the client */
    mcp_exchange exchange[256];
    char *headers[256]; /* of each message: "Name: value\n"... */
    size_t n_sent, n_answered;
    bool http;
    char abandoned[64]; /* "3 4 " */
    bool falls_back;
    size_t fall_backs;
    bool stop, hang_up; /* what a step does instead of replying */
    int64_t until;      /* time stops here; 0 means no stop */
    size_t wakes;
    int64_t now;
    char methods[512]; /* the methods that were sent: "server/discover initialize " */

    /* outcomes */
    size_t done;
    int rc;
    char text[256];
    char result[4096];
    size_t pages, stop_at_page;
} fake;

static inline mcp_str fake_method(const char *message)
{
    const char *m = strstr(message, "\"method\":\"");
    if (!m)
        return (mcp_str){0};
    m += strlen("\"method\":\"");
    return (mcp_str){m, strcspn(m, "\"")};
}

static inline char *fake_headers(fake *f)
{
    char *all = malloc(4096);
    size_t at = 0;
    mcp_str name, value;
    all[0] = 0;
    for (size_t i = 0; f->http && mcp_client_header(f->client, i, &name, &value); i++) {
        at += (size_t)snprintf(all + at, 4096 - at, "%.*s: %.*s\n", (int)name.len, name.ptr,
                               (int)value.len, value.ptr);
        assert_true(at < 4096);
    }
    return all;
}

static void fake_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    fake *f = user;
    (void)channel;
    assert_true(f->n_sent < MCP__COUNT(f->sent));
    assert_null(memchr(message.ptr, '\n', message.len));
    char *copy = malloc(message.len + 1);
    memcpy(copy, message.ptr, message.len);
    copy[message.len] = 0;
    f->exchange[f->n_sent] = exchange;
    f->headers[f->n_sent] = fake_headers(f);
    f->sent[f->n_sent++] = copy;
    mcp_str m = fake_method(copy);
    size_t at = strlen(f->methods);
    snprintf(f->methods + at, sizeof(f->methods) - at, "%.*s ", (int)m.len, m.ptr ? m.ptr : "");
}

static void fake_wake(mcp_channel *channel, void *user)
{
    (void)channel;
    ((fake *)user)->wakes++;
}

static void fake_abandon(mcp_channel *channel, mcp_exchange exchange, void *user)
{
    fake *f = user;
    size_t at = strlen(f->abandoned);
    (void)channel;
    snprintf(f->abandoned + at, sizeof(f->abandoned) - at, "%u ", (unsigned)exchange);
}

static bool fake_fall_back(mcp_channel *channel, void *user)
{
    fake *f = user;
    (void)channel;
    f->fall_backs++;
    return f->falls_back;
}

static const char *fake_find(fake *f, mcp_str method)
{
    const char *last = NULL;
    for (size_t i = 0; i < FAKE_REPLIES && f->replies && f->replies[i].method; i++) {
        if (!mcp_str_eq(mcp_str_from(f->replies[i].method), method))
            continue;
        last = f->replies[i].message;
        if (!f->used[i]) {
            f->used[i] = true;
            return last;
        }
    }
    return last;
}

/* Passes one message to the client, with `$` replaced, or ends the exchange. */
static inline void fake_deliver_on(fake *f, mcp_exchange exchange, mcp_str message, mcp_str id)
{
    mcp__buf b;
    mcp__buf_init(&b, &mcp__default_allocator, 0);
    for (size_t i = 0; i < message.len; i++) {
        if (message.ptr[i] == '$')
            mcp__buf_str(&b, id);
        else
            mcp__buf_char(&b, message.ptr[i]);
    }
    if (message.len && message.ptr[0] == '!') {
        mcp_str body = b.len > 5 ? mcp__str_sub(mcp__buf_view(&b), 5) : (mcp_str){0};
        int status = (b.ptr[1] - '0') * 100 + (b.ptr[2] - '0') * 10 + b.ptr[3] - '0';
        mcp_exchange_end end = {.size = sizeof(end), .status = status, .body = body};
        end.session = b.len > 4 && b.ptr[4] == 's';
        end.broke_off = b.len > 4 && b.ptr[4] == 'b';
        mcp_client_exchange_ended(f->client, exchange, &end, f->now);
    } else if (b.len > mcp_channel_max_message(f->channel)) {
        mcp_channel_receive_oversized(f->channel, exchange, (mcp_str){b.ptr, 128}, (mcp_str){0},
                                      f->now);
    } else {
        mcp_channel_receive(f->channel, exchange, mcp__buf_view(&b), f->now);
    }
    mcp__buf_free(&b);
}

static inline void fake_deliver(fake *f, const char *message, const char *id, size_t id_len)
{
    fake_deliver_on(f, 0, mcp_str_from(message), (mcp_str){id, id_len});
}

static void fake_answer(fake *f, size_t i)
{
    const char *request = f->sent[i], *id = strstr(request, "\"id\":");
    if (!id)
        return;
    id += strlen("\"id\":");
    const char *message = fake_find(f, fake_method(request));
    while (message) {
        const char *end = strchr(message, '\n');
        mcp_str line = {message, end ? (size_t)(end - message) : strlen(message)};
        mcp_str of = {id, strcspn(id, ",}")};
        if (line.ptr[0] == '@') { /* the late answer to another request */
            of = (mcp_str){line.ptr + 1, 1};
            line = mcp__str_sub(line, 2);
        }
        fake_deliver_on(f, f->exchange[i], line, of);
        message = end ? end + 1 : NULL;
    }
}

/* Performs the next event. Returns false if there is none. */
static inline bool fake_step(fake *f)
{
    int64_t due = mcp_channel_deadline(f->channel);
    if (due <= f->now)
        mcp_channel_tick(f->channel, f->now);
    else if (f->n_answered < f->n_sent)
        fake_answer(f, f->n_answered++);
    else if (due < (f->until ? f->until : INT64_MAX))
        f->now = due;
    else
        return false;
    return true;
}

/* Runs until there are no more events, at most 200 steps. */
static inline void fake_run(fake *f)
{
    for (size_t step = 0; step < 200; step++) {
        if (!fake_step(f))
            return;
    }
    fail_msg("the client does not come to rest");
}

static inline int fake_connect(fake *f)
{
    return mcp_client_connect_transport(
        f->client,
        MCP_OPTIONS(mcp_channel_options, .send = fake_send, .wake = fake_wake, .user = f),
        MCP_OPTIONS(mcp_transport_options, .exchanges = f->http, .abandon = fake_abandon,
                    .fall_back = fake_fall_back),
        &f->channel, NULL);
}

static inline int fake_open_as(fake *f, const fake_reply *replies,
                               const mcp_client_options *options, bool http)
{
    *f = (fake){.replies = replies, .now = 1000000, .http = http};
    mcp_client_options o = *options;
    o.size = sizeof(o);
    o.name = "tester";
    o.version = "1";
    if (!o.user)
        o.user = f;
    int rc = mcp_client_new(&o, &f->client, NULL);
    return rc == MCP_OK ? fake_connect(f) : rc;
}

static inline int fake_open(fake *f, const fake_reply *replies, const mcp_client_options *options)
{
    return fake_open_as(f, replies, options, false);
}

static inline int fake_open_http(fake *f, const fake_reply *replies,
                                 const mcp_client_options *options)
{
    return fake_open_as(f, replies, options, true);
}

static inline void fake_close(fake *f)
{
    mcp_client_free(f->client);
    for (size_t i = 0; i < f->n_sent; i++) {
        free(f->sent[i]);
        free(f->headers[i]);
    }
}

/* Clears the recorded results. */
static inline void fake_reset(fake *f)
{
    f->done = 0;
    f->rc = 0;
    f->methods[0] = f->result[0] = f->text[0] = f->abandoned[0] = 0;
}

static inline const char *fake_last(const fake *f)
{
    return f->sent[f->n_sent - 1];
}

/* A callback that records its arguments; user is the fake. */
static inline void fake_done(mcp_client *client, int rc, const mcp_json *result,
                             const mcp_error *error, void *user)
{
    fake *f = user;
    assert_ptr_equal(client, f->client);
    assert_int_equal(rc >= 0, error == NULL);
    if (error)
        assert_int_equal(error->code, rc);
    if (rc >= 0 || rc == MCP_EREMOTE)
        assert_int_equal(mcp_json_typeof(result), MCP_JSON_OBJECT);
    f->done++;
    f->rc = rc;
    snprintf(f->text, sizeof(f->text), "%s", error ? error->text : "");
    f->result[0] = 0;
    mcp_json_writer *w = mcp_json_writer_new(NULL, sizeof(f->result) - 1);
    mcp_str text;
    if (result) {
        mcp_json_add_value(w, result);
        if (mcp_json_writer_finish(w, &text) == MCP_OK)
            snprintf(f->result, sizeof(f->result), "%.*s", (int)text.len, text.ptr);
    }
    mcp_json_writer_free(w);
}

/* Opens the fake server and starts the client. */
static inline void fake_ready(fake *f, const fake_reply *replies, const mcp_client_options *options,
                              bool http)
{
    assert_int_equal(fake_open_as(f, replies, options, http), MCP_OK);
    assert_int_equal(mcp_client_start(f->client, fake_done, f), MCP_OK);
    fake_run(f);
    assert_int_equal(f->rc, MCP_OK);
    fake_reset(f);
}

static inline void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in: %s", part, text);
}

#endif
