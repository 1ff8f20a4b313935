/* bus_entry.c: writing and reading the contents of entries on the bus.
 *
 * An entry is: a version (1 byte), the instance, its number and time (8 bytes each, big-endian), and
 * items: a kind (1 byte), the length of a text (4 bytes, big-endian), the text. Readers skip kinds that
 * they do not know, so that instances of two versions of the program can share.
 */
#include "server/share/bus_entry.h"

enum { VERSION = 1 };

static void put_number(mcp__buf *to, uint64_t number, size_t bytes)
{
    while (bytes--)
        mcp__buf_char(to, (char)(unsigned char)(number >> (8 * bytes)));
}

static uint64_t get_number(const char *from, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = 0; i < bytes; i++)
        number = number << 8 | (unsigned char)from[i];
    return number;
}

void mcp__entry_put_head(mcp__buf *to, const mcp__entry_head *head)
{
    mcp__buf_char(to, VERSION);
    mcp__buf_add(to, head->instance, MCP__INSTANCE);
    put_number(to, head->number, 8);
    put_number(to, (uint64_t)head->time, 8);
}

void mcp__entry_put_item(mcp__buf *to, char kind, mcp_str text)
{
    mcp__buf_char(to, kind);
    put_number(to, text.len, 4);
    mcp__buf_str(to, text);
}

bool mcp__entry_next(mcp_str *items, mcp__entry_item *ret)
{
    if (items->len < MCP__ENTRY_ITEM)
        return false;
    size_t len = (size_t)get_number(items->ptr + 1, 4);
    if (len > items->len - MCP__ENTRY_ITEM)
        return false;
    *ret = (mcp__entry_item){items->ptr[0], {items->ptr + MCP__ENTRY_ITEM, len}};
    *items = mcp__str_sub(*items, MCP__ENTRY_ITEM + len);
    return true;
}

int mcp__entry_open(mcp_str entry, mcp__entry_head *head, mcp_str *items)
{
    mcp__entry_item item;
    if (entry.len < MCP__ENTRY_HEAD || entry.ptr[0] != VERSION)
        return MCP_EPARSE;
    mcp_str rest = mcp__str_sub(entry, MCP__ENTRY_HEAD);
    while (mcp__entry_next(&rest, &item)) {
    }
    if (rest.len)
        return MCP_EPARSE;
    memcpy(head->instance, entry.ptr + 1, MCP__INSTANCE);
    head->number = get_number(entry.ptr + 1 + MCP__INSTANCE, 8);
    head->time = (int64_t)get_number(entry.ptr + 1 + MCP__INSTANCE + 8, 8);
    *items = mcp__str_sub(entry, MCP__ENTRY_HEAD);
    return MCP_OK;
}
