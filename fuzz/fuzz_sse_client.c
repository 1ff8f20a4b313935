/* fuzz_sse_client.c: an event stream as the client parses it. The first byte selects the size of
 * the pieces, which must not affect the events.
 */
#include <stdlib.h>

#include "http/client/parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

static void note(mcp__buf *to, mcp_str part)
{
    mcp__buf_add(to, &part.len, sizeof(part.len));
    mcp__buf_str(to, part);
}

/* Appends all events of the stream to `to`, one after another. */
static void read_stream(mcp__buf *to, mcp_str stream, size_t step)
{
    mcp__sse p;
    mcp__sse_event event;
    mcp__sse_init(&p, &mcp__default_allocator, 5000);
    while (stream.len) {
        mcp_str piece = {stream.ptr, MCP__MIN(stream.len, step)};
        stream = mcp__str_sub(stream, piece.len);
        int rc;
        while ((rc = mcp__sse_next(&p, &piece, &event)) == MCP_PENDING) {
            check(event.data.len <= 5000 && p.id.len <= MCP__SSE_MAX_ID);
            note(to, event.type);
            note(to, event.data);
            note(to, mcp__sse_last_id(&p));
            mcp__buf_char(to, event.is_cut);
        }
        check(rc == MCP_OK && piece.len == 0);
    }
    mcp__buf_add(to, &p.retry, sizeof(p.retry));
    mcp__sse_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    mcp_str stream = {(const char *)data + 1, size - 1};
    mcp__buf whole, cut;
    mcp__buf_init(&whole, &mcp__default_allocator, 0);
    mcp__buf_init(&cut, &mcp__default_allocator, 0);
    read_stream(&whole, stream, size);
    read_stream(&cut, stream, (size_t)data[0] % 16 + 1);
    check(mcp_str_eq(mcp__buf_view(&whole), mcp__buf_view(&cut)));
    mcp__buf_free(&whole);
    mcp__buf_free(&cut);
    return 0;
}
