/* fuzz_upstream.c: a hostile upstream server behind a server of ours. The first byte selects the
 * peer's era and whether there are access rules. Each further line is a message from the upstream
 * server, in which "$" stands for the id of the provider's oldest unanswered request. A line that
 * begins with "<" is a message from the peer instead.
 */
#include "../tests/providers/upstream/pair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool may(const mcp_identity *identity, mcp_item item, mcp_str name, void *user)
{
    (void)identity, (void)item, (void)user;
    return name.len % 3 != 0;
}

/* Sends a line from the upstream server, with "$" replaced by the id of the oldest unanswered
 * request. */
static void answer(pair *p, const char *line, size_t len)
{
    char *text = malloc(len * 24 + 1);
    size_t n = 0;
    if (!text)
        abort();
    for (size_t i = 0; i < len; i++) {
        if (line[i] == '$')
            n += (size_t)sprintf(text + n, "%llu", (unsigned long long)p->answered + 1);
        else
            text[n++] = line[i];
    }
    p->answered += len && memchr(line, '$', len) != NULL;
    if (p->here)
        mcp_channel_receive(p->here, 0, (mcp_str){text, n}, p->now);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    pair p = {0};
    if (size < 2 || size > 1 << 16)
        return 0;
    pair_open(&p, NULL);
    if (data[0] & 2)
        mcp_server_set_access(p.front, MCP_OPTIONS(mcp_access, .may = may));
    if (data[0] & 1)
        pair_greet(&p);
    pair_ask_all(&p);
    const char *at = (const char *)data + 1, *end = (const char *)data + size;
    while (at < end) {
        const char *line = at, *nl = memchr(at, '\n', (size_t)(end - at));
        at = nl ? nl + 1 : end;
        size_t len = (size_t)((nl ? nl : end) - line);
        if (len && line[0] == '<')
            mcp_channel_receive(p.peer, 0, (mcp_str){line + 1, len - 1}, p.now);
        else
            answer(&p, line, len);
        pair_turn(&p);
    }
    pair_close(&p);
    return 0;
}
