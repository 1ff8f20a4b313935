/* utf16.c: see utf16.h. */
#include "utf16.h"

static unsigned unit_at(const char *p, bool big)
{
    const unsigned char *u = (const unsigned char *)p;
    return big ? (unsigned)u[0] << 8 | u[1] : (unsigned)u[1] << 8 | u[0];
}

/* Reads the character at an offset. Returns its size in bytes, or 0 for half a one. */
static size_t char_at(mcp_str bytes, size_t at, bool big, uint32_t *ret)
{
    if (bytes.len - at < 2)
        return 0;
    unsigned first = unit_at(bytes.ptr + at, big), second;
    *ret = first;
    if (first < 0xd800 || first > 0xdfff)
        return 2;
    if (first > 0xdbff || bytes.len - at < 4)
        return 0;
    second = unit_at(bytes.ptr + at + 2, big);
    if (second < 0xdc00 || second > 0xdfff)
        return 0;
    *ret = 0x10000 + ((uint32_t)(first - 0xd800) << 10) + (second - 0xdc00);
    return 4;
}

static size_t put_utf8(char *to, uint32_t c)
{
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = len; i-- > 1; c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)(first[len] | c);
    return len;
}

int editing_utf16_decode(mcp_str bytes, bool big, size_t most, common_buffer *to, size_t *ret_bad)
{
    /* At most three bytes for two, and four for four. */
    int rc = common_buffer_reserve(to, bytes.len + bytes.len / 2 + 3);
    uint32_t c;
    for (size_t at = 0, size; rc == MCP_OK && at < bytes.len; at += size) {
        size = char_at(bytes, at, big, &c);
        if (size == 0) {
            *ret_bad = at;
            return MCP_EPARSE;
        }
        to->len += put_utf8(to->ptr + to->len, c);
        if (to->len > most)
            return MCP_ELIMIT;
    }
    return rc;
}

/* Reads a character of valid UTF-8. Returns its size. */
static size_t take_utf8(const char *from, uint32_t *ret)
{
    const unsigned char *p = (const unsigned char *)from;
    size_t len = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    uint32_t c = len == 1 ? p[0] : p[0] & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++)
        c = c << 6 | (p[i] & 0x3f);
    *ret = c;
    return len;
}

static void put_unit(common_buffer *to, uint32_t unit, bool big)
{
    to->ptr[to->len + !big] = (char)(unit >> 8);
    to->ptr[to->len + big] = (char)(unit & 0xff);
    to->len += 2;
}

int editing_utf16_encode(mcp_str text, bool big, size_t most, common_buffer *to)
{
    if (text.len > SIZE_MAX / 4)
        return MCP_ENOMEM;
    int rc = common_buffer_reserve(to, text.len * 2);
    uint32_t c;
    for (size_t at = 0; rc == MCP_OK && at < text.len;) {
        at += take_utf8(text.ptr + at, &c);
        if (c >= 0x10000) {
            put_unit(to, 0xd800 + ((c - 0x10000) >> 10), big);
            c = 0xdc00 + ((c - 0x10000) & 0x3ff);
        }
        put_unit(to, c, big);
        if (to->len > most)
            return MCP_ELIMIT;
    }
    return rc;
}

bool editing_utf16_is_clear(mcp_str bytes, bool big)
{
    size_t ascii = 0, all = 0;
    uint32_t c = 0;
    for (size_t at = 0, size; at < bytes.len; at += size, all++) {
        size = char_at(bytes, at, big, &c);
        if (size == 0 || (c < 0x20 && (c < '\t' || c > '\r')) || c == 0x7f || c == 0xfffe)
            return false;
        ascii += c < 0x80;
    }
    return all > 0 && ascii * 4 >= all * 3;
}
