/* cursor.c: base64url of: version, list, part (8 bytes), check (8 bytes), position.
 *
 * The check is a keyed hash of the other fields and the caller. Its key is fixed, so that a
 * cursor stays valid after a restart and for every instance of the same server. It protects against
 * mistakes, not against attackers: a forged position gives no access.
 */
#include "protocol/cursor.h"

enum { VERSION = 2, PART = 2, CHECK = PART + 8, HEAD = CHECK + 8 };

static uint64_t check_of(const char *head, mcp_str position, mcp_str caller)
{
    /* Changing the meaning of a cursor requires changing this key. */
    const uint64_t key[2] = {0x6d63702d63757273ULL, VERSION};
    uint64_t sum[3] = {
        mcp__siphash(head, CHECK, key),
        mcp__siphash(position.ptr, position.len, key),
        mcp__siphash(caller.ptr, caller.len, key),
    };
    return mcp__siphash(sum, sizeof(sum), key);
}

uint64_t mcp__cursor_part(mcp_str prefix)
{
    const uint64_t key[2] = {0x6d63702d6d6f756eULL, VERSION};
    uint64_t part = mcp__siphash(prefix.ptr, prefix.len, key);
    return part ? part : 1;
}

void mcp__put_cursor(mcp__buf *b, const mcp__cursor *cursor, mcp_str caller)
{
    char raw[HEAD + MCP__CURSOR_MAX_POSITION];
    size_t len = MCP__MIN(cursor->position.len, (size_t)MCP__CURSOR_MAX_POSITION);
    raw[0] = VERSION;
    raw[1] = (char)cursor->list;
    memcpy(raw + PART, &cursor->part, sizeof(cursor->part));
    uint64_t check = check_of(raw, (mcp_str){cursor->position.ptr, len}, caller);
    memcpy(raw + CHECK, &check, sizeof(check));
    if (len)
        memcpy(raw + HEAD, cursor->position.ptr, len);

    mcp__buf_char(b, '"');
    char *to = mcp__buf_reserve(b, MCP__BASE64_SIZE(HEAD + len));
    if (to)
        b->len += mcp__base64url_encode(to, raw, HEAD + len);
    mcp__buf_char(b, '"');
}

bool mcp__read_cursor(mcp_str token, uint8_t list, mcp_str caller, char *room, mcp__cursor *ret)
{
    if (token.len > MCP__BASE64_SIZE(HEAD + MCP__CURSOR_MAX_POSITION))
        return false;
    size_t len = mcp__base64url_decode(room, token);
    if (len == SIZE_MAX || len < HEAD || room[0] != VERSION || (uint8_t)room[1] != list)
        return false;
    uint64_t check;
    memcpy(&check, room + CHECK, sizeof(check));
    ret->list = list;
    memcpy(&ret->part, room + PART, sizeof(ret->part));
    ret->position = (mcp_str){room + HEAD, len - HEAD};
    return check == check_of(room, ret->position, caller);
}
