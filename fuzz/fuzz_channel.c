/* fuzz_channel.c: a complete server channel. Each line of the input is a message, except lines that
 * begin with "@" (see `directives`). The server is the one of the transcripts.
 *
 * For any input, each output is one line of JSON-RPC, and all memory is freed.
 */
#include <mcp/sys/server.h>
#include <stdlib.h>

#include "../tests/support/failalloc.h"
#include "../tests/support/fixture.c" /* the fuzzers link only the library */
/* The other files of the fixture, fixture_*.c, are compiled separately. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct peer {
    fixture *fixture;
    mcp_channel *channel;
    int64_t now;
} peer;

static void check(bool ok)
{
    if (!ok)
        abort();
}

static void check_message(const mcp_json *message)
{
    check(mcp_str_eq(mcp_json_string(mcp_json_get(message, "jsonrpc")), MCP_STR("2.0")));
    bool method = mcp_json_get(message, "method"), result = mcp_json_get(message, "result");
    bool error = mcp_json_get(message, "error");
    check(method + result + error == 1);
}

static void on_send(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    const mcp_json_limits limits = {.size = sizeof(limits), .max_bytes = SIZE_MAX / 4};
    mcp_json_doc *doc = NULL;
    (void)channel, (void)exchange, (void)user;
    check(!memchr(message.ptr, '\n', message.len));
    check(mcp_json_parse(message, &limits, NULL, &doc, NULL) == MCP_OK);
    const mcp_json *root = mcp_json_root(doc);
    if (mcp_json_is(root, MCP_JSON_ARRAY)) {
        mcp_json_iter it = {0};
        check(mcp_json_count(root) > 0);
        for (const mcp_json *m; (m = mcp_json_next(root, &it, NULL)) != NULL;)
            check_message(m);
    } else {
        check_message(root);
    }
    mcp_json_free(doc);
}

static void add_tool(peer *p)
{
    fixture_add_tool(p->fixture, "more");
}
static void remove_tool(peer *p)
{
    mcp_server_remove_tool(p->fixture->server, "more");
}
static void change(peer *p)
{
    mcp_server_resource_updated(p->fixture->server, "mem:a");
    mcp_server_resources_changed(p->fixture->server);
}
static void finish_all(peer *p)
{
    fixture_finish(p->fixture, 0);
}
static void finish_last(peer *p)
{
    fixture_finish(p->fixture, fixture_pending(p->fixture));
}
static void pass(peer *p, int64_t ms)
{
    p->now += ms;
    fixture_set_time(p->fixture, p->now);
    mcp_channel_tick(p->channel, p->now);
}
static void pass_time(peer *p)
{
    pass(p, 100);
}
static void pass_much_time(peer *p)
{
    pass(p, 600000);
}
static void congest(peer *p)
{
    mcp_channel_set_writable(p->channel, false, p->now);
}
static void resume(peer *p)
{
    mcp_channel_set_writable(p->channel, true, p->now);
}
static void shut(peer *p)
{
    mcp_channel_close(p->channel, p->now);
}

static void (*const directives['z' + 1])(peer *p) = {
    ['a'] = add_tool,    ['r'] = remove_tool, ['c'] = change,         ['f'] = finish_all,
    ['l'] = finish_last, ['t'] = pass_time,   ['T'] = pass_much_time, ['w'] = congest,
    ['W'] = resume,      ['x'] = shut,
};

static void take_line(peer *p, mcp_str line)
{
    if (line.len >= 2 && line.ptr[0] == '@') {
        unsigned char c = (unsigned char)line.ptr[1];
        if (c <= 'z' && directives[c])
            directives[c](p);
        return;
    }
    mcp_channel_receive(p->channel, 0, line, p->now);
    if (mcp_channel_deadline(p->channel) <= p->now)
        mcp_channel_tick(p->channel, p->now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    failalloc memory = {0};
    mcp_allocator allocator = failalloc_allocator(&memory);
    const fixture_options options = {.allocator = &allocator,
                                     .deferred_list = size % 2,
                                     .asks = size % 4 >= 2,
                                     .tasks = size % 8 >= 6};
    const mcp_channel_options channel = {.size = sizeof(channel),
                                         .send = on_send,
                                         .shared_stream = true,
                                         .max_message = 4096,
                                         .max_reply = 8192,
                                         .max_in_flight = 8,
                                         .max_subscriptions = 4,
                                         .max_batch = 6};
    peer p = {.now = 1};
    check(fixture_new(&options, &p.fixture, NULL) == MCP_OK);
    check(mcp_server_connect(p.fixture->server, &channel, &p.channel, NULL) == MCP_OK);
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        size_t len = end ? (size_t)(end - data) - at : size - at;
        take_line(&p, (mcp_str){(const char *)data + at, len});
        at += len + 1;
    }
    mcp_channel_free(p.channel);
    fixture_free(p.fixture);
    check(memory.live == 0);
    return 0;
}
