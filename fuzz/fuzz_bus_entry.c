/* fuzz_bus_entry.c: the contents of an entry on the bus are read. What was read and is written
 * again has the same bytes.
 */
#include <stdlib.h>

#include "server/share/bus_entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_str entry = {(const char *)data, size}, items;
    mcp__entry_head head;
    mcp__entry_item item;
    if (mcp__entry_open(entry, &head, &items) != MCP_OK)
        return 0;
    mcp__buf again;
    mcp__buf_init(&again, &mcp__default_allocator, 0);
    mcp__entry_put_head(&again, &head);
    while (mcp__entry_next(&items, &item)) {
        check(item.text.ptr >= entry.ptr && item.text.ptr + item.text.len <= entry.ptr + entry.len);
        mcp__entry_put_item(&again, item.kind, item.text);
    }
    check(!items.len && mcp_str_eq(mcp__buf_view(&again), entry));
    mcp__buf_free(&again);
    return 0;
}
