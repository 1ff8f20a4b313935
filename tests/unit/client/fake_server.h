/* fake_server.h: a server that answers from a table, on a client's channel without I/O.
 *
 * Messages that the client sends are kept; fake_run() answers them, one by one, and lets time pass when
 * nothing else happens. In an answer `$` stands for the id of the request.
 */
#ifndef MCP_TESTS_FAKE_SERVER_H
#define MCP_TESTS_FAKE_SERVER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <mcp/client.h>

#include "base/base.h"
#include "support/failalloc.h"

#define RESULT(json)      "{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":" json "}"
#define ERROR(code, rest) "{\"jsonrpc\":\"2.0\",\"id\":$,\"error\":{\"code\":" code rest "}}"

/* What is sent when a request of this method comes: each line once, in order, the last of a method for
 * ever. NULL: silence. */
typedef struct fake_reply {
    const char *method;
    const char *message;
} fake_reply;

enum { FAKE_REPLIES = 8 };

typedef struct fake {
    const fake_reply *replies; /* up to FAKE_REPLIES, ended by an empty one */
    bool used[FAKE_REPLIES];
    mcp_client *client;
    mcp_channel *channel;
    char *sent[256]; /* every message of the client */
    size_t n_sent, n_answered;
    size_t wakes;
    int64_t now;
    char methods[512]; /* of what was sent: "server/discover initialize " */

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

static void fake_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    fake *f = user;
    (void)channel;
    (void)exchange;
    assert_true(f->n_sent < MCP__COUNT(f->sent));
    assert_null(memchr(message.ptr, '\n', message.len));
    char *copy = malloc(message.len + 1);
    memcpy(copy, message.ptr, message.len);
    copy[message.len] = 0;
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

/* Hands a message to the client, with `$` replaced. */
static inline void fake_deliver(fake *f, const char *message, const char *id, size_t id_len)
{
    mcp__buf b;
    mcp__buf_init(&b, &mcp__default_allocator, 0);
    for (const char *p = message; *p; p++) {
        if (*p == '$')
            mcp__buf_add(&b, id, id_len);
        else
            mcp__buf_char(&b, *p);
    }
    if (b.len > mcp_channel_max_message(f->channel))
        mcp_channel_receive_oversized(f->channel, 0, (mcp_str){b.ptr, 128}, f->now);
    else
        mcp_channel_receive(f->channel, 0, mcp__buf_view(&b), f->now);
    mcp__buf_free(&b);
}

static void fake_answer(fake *f, const char *request)
{
    const char *id = strstr(request, "\"id\":");
    if (!id)
        return;
    id += strlen("\"id\":");
    const char *message = fake_find(f, fake_method(request));
    if (message)
        fake_deliver(f, message, id, strcspn(id, ",}"));
}

/* Until nothing happens any more, or 200 steps. */
static inline void fake_run(fake *f)
{
    for (size_t step = 0; step < 200; step++) {
        if (mcp_channel_deadline(f->channel) <= f->now)
            mcp_channel_tick(f->channel, f->now);
        else if (f->n_answered < f->n_sent)
            fake_answer(f, f->sent[f->n_answered++]);
        else if (mcp_channel_deadline(f->channel) < INT64_MAX)
            f->now = mcp_channel_deadline(f->channel);
        else
            return;
    }
    fail_msg("the client does not come to rest");
}

static inline int fake_open(fake *f, const fake_reply *replies, const mcp_client_options *options)
{
    *f = (fake){.replies = replies, .now = 1000000};
    mcp_client_options o = *options;
    o.size = sizeof(o);
    o.name = "tester";
    o.version = "1";
    mcp_error error = {0};
    int rc = mcp_client_new(&o, &f->client, &error);
    if (rc == MCP_OK)
        rc = mcp_client_connect(
            f->client,
            MCP_OPTIONS(mcp_channel_options, .send = fake_send, .wake = fake_wake, .user = f),
            &f->channel, &error);
    return rc;
}

static inline void fake_close(fake *f)
{
    mcp_client_free(f->client);
    for (size_t i = 0; i < f->n_sent; i++)
        free(f->sent[i]);
}

/* A callback that keeps what it is told; user is the fake. */
static inline void fake_done(mcp_client *client, int rc, const mcp_json *result,
                             const mcp_error *error, void *user)
{
    fake *f = user;
    assert_ptr_equal(client, f->client);
    assert_int_equal(rc == MCP_OK, error == NULL);
    if (error)
        assert_int_equal(error->code, rc);
    if (rc == MCP_OK || rc == MCP_EREMOTE)
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

static inline void assert_contains(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in: %s", part, text);
}

#endif
