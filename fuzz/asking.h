/* asking.h: a server with one provider, and reads of arbitrary URIs. Each read must get exactly one
 * answer. */
#ifndef MCP_FUZZ_ASKING_H
#define MCP_FUZZ_ASKING_H

#include <stdlib.h>
#include <string.h>

#include <mcp/mcp.h>
#include <mcp/sys/server.h>

enum { LONGEST_REST = 4000 };

static mcp_server *server;
static mcp_channel *channel;
static size_t answers;

static void on_answer(mcp_channel *c, mcp_exchange exchange, mcp_str message, void *user)
{
    (void)c, (void)exchange, (void)message, (void)user;
    answers++;
}

static inline void make_server(int (*mount)(mcp_server *server, mcp_error *error))
{
    mcp_error error;
    if (mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "f", .version = "1"), &server,
                       &error) ||
        mount(server, &error) ||
        mcp_server_connect(server, MCP_OPTIONS(mcp_channel_options, .send = on_answer), &channel,
                           &error))
        abort();
}

/* `mount` mounts the provider, and `end` is called when the fuzzer ends, after close_server(). */
static inline void open_server(int (*mount)(mcp_server *server, mcp_error *error),
                               void (*end)(void))
{
    if (atexit(end) != 0)
        abort();
    make_server(mount);
}

static inline void close_server(void)
{
    mcp_channel_free(channel);
    mcp_server_free(server);
    channel = NULL;
    server = NULL;
}

/* Begins a request. The caller adds further parameters to the writer, which has just written
 * "_meta". */
static inline mcp_json_writer *begin_request(const char *method)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "jsonrpc", "2.0");
    mcp_json_put_int(w, "id", 1);
    mcp_json_put_string(w, "method", method);
    mcp_json_key(w, "params");
    mcp_json_begin_object(w);
    mcp_json_key(w, "_meta");
    mcp_json_add_raw(w, MCP_STR("{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                                "\"io.modelcontextprotocol/clientCapabilities\":{}}"));
    return w;
}

/* Sends the request, checks that there is exactly one answer, and frees the writer. */
static inline void end_request(mcp_json_writer *w)
{
    mcp_str text;
    mcp_json_end(w);
    mcp_json_end(w);
    answers = 0;
    if (mcp_json_writer_finish(w, &text) == MCP_OK) { /* fails if the text is not UTF-8 */
        mcp_channel_receive(channel, 0, text, 0);
        if (answers != 1)
            abort();
    }
    mcp_json_writer_free(w);
}

/* Reads the URI that consists of a prefix and these bytes. */
static inline void check_answer(const char *prefix, mcp_str rest)
{
    mcp_json_writer *w = begin_request("resources/read");
    char uri[LONGEST_REST + 32];
    size_t len = strlen(prefix);
    memcpy(uri, prefix, len);
    memcpy(uri + len, rest.ptr, rest.len);
    mcp_json_put_str(w, "uri", (mcp_str){uri, len + rest.len});
    end_request(w);
}

#endif
