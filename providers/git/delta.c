/* delta.c: see delta.h. */
#include "delta.h"

#include <string.h>

static bool take_byte(mcp_str *rest, unsigned char *ret)
{
    if (!rest->len)
        return false;
    *ret = (unsigned char)*rest->ptr++;
    rest->len--;
    return true;
}

static bool take_size(mcp_str *rest, uint64_t *ret)
{
    unsigned char byte = 0x80;
    *ret = 0;
    for (unsigned shift = 0; byte & 0x80; shift += 7) {
        if (shift > 56 || !take_byte(rest, &byte))
            return false;
        *ret |= (uint64_t)(byte & 0x7f) << shift;
    }
    return true;
}

bool repo_delta_begin(mcp_str bytes, repo_delta *ret)
{
    ret->rest = bytes;
    return take_size(&ret->rest, &ret->base) && take_size(&ret->rest, &ret->result);
}

/* Reads a number of an instruction; `bits` are flags for the bytes that are present. */
static bool take_number(mcp_str *rest, unsigned bits, uint64_t *ret)
{
    unsigned char byte;
    *ret = 0;
    for (unsigned shift = 0; bits; bits >>= 1, shift += 8) {
        if (!(bits & 1))
            continue;
        if (!take_byte(rest, &byte))
            return false;
        *ret |= (uint64_t)byte << shift;
    }
    return true;
}

/* Reads the next instruction. *ret is the text that it copies, from the base or from
 * the delta itself. */
static bool take_piece(mcp_str *rest, mcp_str base, mcp_str *ret)
{
    unsigned char code;
    uint64_t offset, size;
    if (!take_byte(rest, &code) || !code)
        return false;
    if (!(code & 0x80)) {
        if (rest->len < code)
            return false;
        *ret = (mcp_str){rest->ptr, code};
        *rest = (mcp_str){rest->ptr + code, rest->len - code};
        return true;
    }
    if (!take_number(rest, code & 15, &offset) || !take_number(rest, code >> 4 & 7, &size))
        return false;
    size = size ? size : 0x10000;
    if (offset > base.len || size > base.len - offset)
        return false;
    *ret = (mcp_str){base.ptr + offset, (size_t)size};
    return true;
}

bool repo_delta_valid(const repo_delta *delta, mcp_str base)
{
    mcp_str rest = delta->rest, piece;
    uint64_t left = delta->result;
    if (delta->base != base.len)
        return false;
    while (rest.len) {
        if (!take_piece(&rest, base, &piece) || piece.len > left)
            return false;
        left -= piece.len;
    }
    return !left;
}

void repo_delta_apply(const repo_delta *delta, mcp_str base, char *to)
{
    mcp_str rest = delta->rest, piece;
    while (rest.len && take_piece(&rest, base, &piece)) {
        memcpy(to, piece.ptr, piece.len);
        to += piece.len;
    }
}
