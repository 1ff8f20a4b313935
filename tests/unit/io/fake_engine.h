/* fake_engine.h: replaces the client behind a transport, so that the transport can be tested alone.
 * It sends the messages of the test and logs the calls of the transport.
 *
 * The functions of mcp/sys/client.h and mcp/sys/channel.h that a transport calls are defined here, and the
 * real ones are not linked. The log has a line for each call:
 *
 *     got 7 {"id":7} a message arrived in exchange 7
 *     long 7 {"id":7…             its beginning: it was too long
 *     end 7 404 session broke-off retry=2000 text=… body=…
 *     gone text                   the connection is over
 */
#ifndef MCP_TESTS_FAKE_ENGINE_H
#define MCP_TESTS_FAKE_ENGINE_H

#include "http_script.h"
#include "io/loop/parse_job.h"

#include <mcp/sys/client.h>

enum { ENGINE_MESSAGES = 64 };

/* The members of an answer after its id. */
#define ENGINE_RESULT "\"result\":{}"

/* A message to be sent. */
typedef struct engine_message {
    mcp_exchange exchange;
    mcp_client_output output;
    const char *text;
    const char *headers[4]; /* names and values */
} engine_message;

struct mcp_channel {
    mcp_client *client;
    size_t max_message;
};

struct mcp_client {
    mcp_channel channel;
    mcp_channel_options options;
    mcp_transport_options transport;
    bool connected;
    engine_message queue[ENGINE_MESSAGES];
    size_t n_queued, n_sent;
    const engine_message *sending;
    const char *version;
    mcp_exchange awaited[ENGINE_MESSAGES];
    bool wants_fall_back; /* the next end requests a fallback to HTTP+SSE */
    bool fell_back;
    mcp_exchange abandon_on_message; /* abandon this exchange when its first message arrives */
    char log[16384];
    size_t len;
};

static void engine_log(mcp_client *client, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    client->len += (size_t)vsnprintf(client->log + client->len, sizeof(client->log) - client->len,
                                     format, args);
    va_end(args);
    assert_true(client->len < sizeof(client->log));
}

static inline void engine_open(mcp_client *client)
{
    memset(client, 0, sizeof(*client));
    client->channel.client = client;
    client->channel.max_message = 4000;
}

/* Sends the message at the transport's next tick. */
static inline void engine_send(mcp_client *client, engine_message message)
{
    assert_true(client->n_queued < ENGINE_MESSAGES);
    client->queue[client->n_queued++] = message;
    if (client->connected)
        client->options.wake(&client->channel, client->options.user);
}

#define ENGINE_REQUEST(n, ...)                                             \
    ((engine_message){.exchange = (n),                                     \
                      .output = {.kind = MCP_OUTPUT_REQUEST, __VA_ARGS__}, \
                      .text = "{\"id\":" #n ",\"method\":\"m\"}"})

static inline void engine_abandon(mcp_client *client, mcp_exchange exchange)
{
    client->transport.abandon(&client->channel, exchange, client->options.user);
    client->awaited[exchange] = 0;
}

/* ---- what a transport calls ------------------------------------------------------------------ */

int mcp_client_connect_transport(mcp_client *client, const mcp_channel_options *options,
                                 const mcp_transport_options *transport, mcp_channel **ret,
                                 mcp_error *error)
{
    (void)error;
    if (client->connected)
        return MCP_ESTATE;
    client->options = *options;
    client->transport = *transport;
    client->connected = true;
    *ret = &client->channel;
    return MCP_OK;
}

void mcp_client_disconnected(mcp_client *client, const char *why)
{
    assert_true(client->connected);
    client->connected = false;
    memset(client->awaited, 0, sizeof(client->awaited));
    engine_log(client, "gone %s\n", why);
}

const mcp_client_output *mcp_client_sending(mcp_client *client)
{
    assert_non_null(client->sending);
    return &client->sending->output;
}

bool mcp_client_header(mcp_client *client, size_t index, mcp_str *name, mcp_str *value)
{
    const char *const *h = client->sending->headers;

    if (index >= 2 || !h[2 * index])
        return false;
    *name = mcp_str_from(h[2 * index]);
    *value = mcp_str_from(h[2 * index + 1]);
    return true;
}

const char *mcp_client_version_header(const mcp_client *client)
{
    return client->version;
}

int mcp_client_declare_extension(mcp_client *client, const char *extension)
{
    engine_log(client, "extension %s\n", extension);
    return MCP_OK;
}

bool mcp_client_awaits(const mcp_client *client, mcp_exchange exchange)
{
    return exchange < ENGINE_MESSAGES && client->awaited[exchange];
}

void mcp_client_exchange_ended(mcp_client *client, mcp_exchange exchange,
                               const mcp_exchange_end *end, int64_t now)
{
    (void)now;
    assert_true(client->connected);
    assert_null(client->sending);
    if (exchange && !mcp_client_awaits(client, exchange))
        return; /* the transport may report every end */
    client->awaited[exchange] = 0;
    engine_log(client, "end %d %d%s", (int)exchange, end->status, end->session ? " session" : "");
    if (end->broke_off)
        engine_log(client, " broke-off");
    if (end->retry_after_ms)
        engine_log(client, " retry=%d", (int)end->retry_after_ms);
    engine_log(client, " text=%s", end->text ? end->text : "");
    if (end->body.len)
        engine_log(client, " body=%.*s", (int)end->body.len, end->body.ptr);
    engine_log(client, "\n");
    if (client->wants_fall_back) {
        client->wants_fall_back = false;
        client->fell_back = client->transport.fall_back(&client->channel, client->options.user);
    }
}

size_t mcp_channel_max_message(const mcp_channel *channel)
{
    return channel->max_message;
}

int64_t mcp_channel_deadline(const mcp_channel *channel)
{
    (void)channel;
    return INT64_MAX;
}

void mcp_channel_tick(mcp_channel *channel, int64_t now)
{
    mcp_client *client = channel->client;

    (void)now;
    assert_true(client->connected);
    while (client->n_sent < client->n_queued) {
        const engine_message *m = &client->queue[client->n_sent++];
        client->sending = m;
        if (m->output.kind == MCP_OUTPUT_REQUEST)
            client->awaited[m->exchange] = m->exchange;
        client->options.send(channel, m->exchange, mcp_str_from(m->text), client->options.user);
        client->sending = NULL;
    }
}

static void engine_take(mcp_channel *channel, const char *what, mcp_exchange exchange, mcp_str text)
{
    mcp_client *client = channel->client;
    char id[64];

    assert_true(client->connected);
    engine_log(client, "%s %d %.*s\n", what, (int)exchange, (int)MCP__MIN(text.len, (size_t)60),
               text.ptr);
    for (mcp_exchange n = 1; n < ENGINE_MESSAGES; n++) {
        snprintf(id, sizeof(id), "{\"id\":%d,\"result\"", (int)n);
        if (text.len >= strlen(id) && memcmp(text.ptr, id, strlen(id)) == 0)
            client->awaited[n] = 0;
    }
    if (exchange && exchange == client->abandon_on_message)
        engine_abandon(client, exchange);
}

int mcp_channel_receive(mcp_channel *channel, mcp_exchange exchange, mcp_str message, int64_t now)
{
    (void)now;
    engine_take(channel, "got", exchange, message);
    return MCP_OK;
}

int mcp_channel_receive_oversized(mcp_channel *channel, mcp_exchange exchange, mcp_str head,
                                  mcp_str tail, int64_t now)
{
    (void)tail, (void)now;
    engine_take(channel, "long", exchange, head);
    return MCP_OK;
}

/* ---- io/loop/parse_job.h: all messages are received at once ---------------------------------- */

mcp__parse_job *mcp__parse_elsewhere(mcp_loop *loop, const mcp_channel *channel, mcp_str message,
                                     mcp__buf *holder,
                                     void (*done)(mcp__parse_job *job, void *owner), void *owner)
{
    (void)loop, (void)channel, (void)message, (void)holder, (void)done, (void)owner;
    return NULL;
}

void mcp__parse_receive(mcp__parse_job *job, mcp_channel *channel, mcp_exchange exchange)
{
    (void)job, (void)channel, (void)exchange;
}

void mcp__parse_leave(mcp__parse_job *job, mcp_channel *channel, mcp_exchange exchange)
{
    (void)job, (void)channel, (void)exchange;
}

#endif
