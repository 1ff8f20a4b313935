/* fuzz_two_channels.c: a server in front of another server, both with real channels. Each line of
 * the input is a message from a peer to the front server. The first byte of a line selects how the
 * messages that it causes pass between the two servers: unchanged, truncated ("!") or twice (a
 * double quote).
 */
#include "../tests/providers/upstream/pair.h"

#include <mcp/sys/forward.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments, (void)user;
    mcp_str text = mcp_request_params_text(req);
    mcp_request_progress(req, 1, 0, NULL);
    return mcp_reply_str(req, text, NULL);
}

static int read_one(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)match, (void)user;
    return mcp_reply_str(req, uri, NULL);
}

static mcp_server *other_new(void)
{
    mcp_server *s = NULL;
    if (mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "o", .version = "1", .page_size = 1,
                                   .coalesce_ms = 1),
                       &s, NULL) != MCP_OK)
        abort();
    mcp_server_add_tool(s, MCP_OPTIONS(mcp_tool, .name = "t", .call = call), NULL, NULL);
    mcp_server_add_tool(s, MCP_OPTIONS(mcp_tool, .name = "t.u", .call = call), NULL, NULL);
    mcp_server_add_template(
        s,
        MCP_OPTIONS(mcp_resource_template, .uri_template = "x:{+a}", .name = "n", .read = read_one),
        NULL, NULL);
    mcp_server_add_resource(
        s, MCP_OPTIONS(mcp_resource, .uri = "x:1", .name = "r", .read = read_one), NULL, NULL);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pair p = {0};
    if (size < 2 || size > 1 << 16)
        return 0;
    pair_open(&p, other_new());
    if (data[0] & 1)
        pair_greet(&p);
    const char *at = (const char *)data + 1, *end = (const char *)data + size;
    while (at < end) {
        const char *line = at, *nl = memchr(at, '\n', (size_t)(end - at));
        at = nl ? nl + 1 : end;
        size_t len = (size_t)((nl ? nl : end) - line);
        if (!len)
            continue;
        p.treat = line[0] == '!' ? PAIR_CUT : line[0] == '"' ? PAIR_TWICE : PAIR_WHOLE;
        size_t skip = p.treat != PAIR_WHOLE;
        mcp_channel_receive(p.peer, 0, (mcp_str){line + skip, len - skip}, p.now);
        pair_turn(&p);
    }
    pair_close(&p);
    return 0;
}
