/* prompts_rig.h: a server with prompt files, several resources and one peer. */
#ifndef MCP_TESTS_PROMPTS_RIG_H
#define MCP_TESTS_PROMPTS_RIG_H

#include "../files/tree.h"

#include "../../support/failalloc.h"
#include "../files/fakehost.h"
#include "prompts.h"

#include <mcp/sys/server.h>

typedef struct peer {
    tree folder;
    fakehost host;
    mcp_server *server;
    mcp_channel *channel;
    mcp_prompts *prompts;
    mcp_request *waiting; /* the pending read of mem:late */
    size_t notices;
    unsigned id;
    char reply[64 << 10]; /* the last message */
} peer;

static inline void keep(mcp_channel *channel, mcp_exchange exchange, mcp_str message, void *user)
{
    peer *p = user;
    (void)exchange;
    if (mcp_channel_output_info(channel)->kind == MCP_OUTPUT_NOTIFICATION) {
        p->notices += memmem(message.ptr, message.len, "prompts/list_changed", 20) != NULL;
        return;
    }
    size_t len = message.len < sizeof(p->reply) ? message.len : sizeof(p->reply) - 1;
    memcpy(p->reply, message.ptr, len);
    p->reply[len] = 0;
}

/* ---- resources of the same server ------------------------------------------------------------ */

static inline int read_blob(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    return mcp_reply_bytes(req, "\0\1\377", 3, "image/png");
}

static inline int read_two(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    mcp_reply_content(req, MCP_OPTIONS(mcp_content, .text = MCP_STR("one"), .uri = "mem:two/1"));
    return mcp_reply_content(req,
                             MCP_OPTIONS(mcp_content, .text = MCP_STR("two"), .uri = "mem:two/2"));
}

static inline int read_late(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match;
    ((peer *)user)->waiting = req;
    return MCP_PENDING;
}

static inline int read_principal(mcp_request *req, mcp_str uri, const mcp_uri_match *match,
                                 void *user)
{
    (void)uri, (void)match, (void)user;
    const char *who = mcp_request_principal(req);
    return who && strcmp(who, "ann") == 0 ? mcp_reply_text(req, "for ann") : MCP_EACCESS;
}

static inline int read_large(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match, (void)user;
    static char large[9 << 20];
    memset(large, 'a', sizeof(large));
    return mcp_reply_str(req, (mcp_str){large, sizeof(large)}, NULL);
}

static const struct {
    const char *uri;
    mcp_read_fn *read;
    const char *text;
} resources[] = {
    {"mem:text", NULL, "the {{x}}\n<!-- assistant -->\ntext"},
    {"mem:blob", read_blob, NULL},
    {"mem:two", read_two, NULL},
    {"mem:late", read_late, NULL},
    {"mem:late/2", read_late, NULL},
    {"mem:ann", read_principal, NULL},
    {"mem:large", read_large, NULL},
};

static inline void make_server(peer *p, const mcp_host *host, const mcp_allocator *alloc)
{
    mcp_error error;
    assert_int_equal(mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "t", .version = "1",
                                                .coalesce_ms = 1, .declare_prompts = true,
                                                .host = host, .allocator = alloc),
                                    &p->server, &error),
                     MCP_OK);
    for (size_t i = 0; i < sizeof(resources) / sizeof(*resources); i++)
        assert_int_equal(mcp_server_add_resource(
                             p->server,
                             MCP_OPTIONS(mcp_resource, .uri = resources[i].uri, .name = "r",
                                         .mime_type = "text/x-test", .read = resources[i].read,
                                         .text = resources[i].text),
                             p, &error),
                         MCP_OK);
}

static inline void open_peer(peer *p)
{
    mcp_error error;
    fakehost_init(&p->host);
    make_server(p, &p->host.host, NULL);
    int rc = mcp_prompts_add(
        p->server, MCP_OPTIONS(mcp_prompts_options, .folder = p->folder.path, .poll_ms = 50),
        &p->prompts, &error);
    if (rc != MCP_OK)
        fail_msg("%s", error.text);
    assert_int_equal(mcp_server_connect(p->server,
                                        MCP_OPTIONS(mcp_channel_options, .send = keep, .user = p,
                                                    .principal = "ann", .shared_stream = true),
                                        &p->channel, &error),
                     MCP_OK);
}

static inline void close_peer(peer *p)
{
    mcp_channel_free(p->channel);
    mcp_prompts_free(p->prompts);
    mcp_server_free(p->server);
    assert_null(p->host.timers);
    assert_null(p->host.poll);
    tree_remove(&p->folder);
    free(p);
}

static inline peer *new_peer(void)
{
    peer *p = calloc(1, sizeof(*p));
    tree_make(&p->folder);
    return p;
}

static const char *send_text(peer *p, const char *message)
{
    p->reply[0] = 0;
    mcp_channel_receive(p->channel, 0, mcp_str_from(message), fakehost_now(&p->host));
    return p->reply;
}

static const char *ask(peer *p, const char *method, const char *params)
{
    char message[4096];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":{\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{}}%s%s}}",
             ++p->id, method, *params ? "," : "", params);
    return send_text(p, message);
}

/* Returns the messages of a prompt as text in brackets, or the error. */
static const char *get(peer *p, const char *name, const char *arguments)
{
    char params[2048];
    snprintf(params, sizeof(params), "\"name\":\"%s\",\"arguments\":{%s}", name, arguments);
    return ask(p, "prompts/get", params);
}

static inline void expect(const char *reply, const char *part)
{
    if (*part == '!' ? strstr(reply, part + 1) != NULL : strstr(reply, part) == NULL)
        fail_msg("%s\nin %s", part, reply);
}

/* Lets time pass, first for the watch and then for notifications. */
static inline void wait_a_little(peer *p, int64_t ms)
{
    fakehost_run(&p->host, ms);
    mcp_channel_tick(p->channel, fakehost_now(&p->host));
    fakehost_run(&p->host, 10);
    mcp_channel_tick(p->channel, fakehost_now(&p->host));
}

static inline void listen(peer *p)
{
    send_text(p, "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\",\"params\":{"
                 "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
                 "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}");
    expect(p->reply, "\"prompts\":{\"listChanged\":true}");
    send_text(p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

#endif
