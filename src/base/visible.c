/* visible.c: which characters of an untrusted text may be shown, for every text that a person reads: logs,
 * terminals, messages.
 *
 * Peers choose names, descriptions, contents and error texts. Escape sequences in them could rewrite the
 * screen, set the clipboard or answer a prompt; bidirectional marks and invisible characters could make one
 * name look like another, or carry instructions that only a language model sees.
 */
#include <stdio.h>

#include "base/base.h"

typedef struct range {
    uint32_t first, last;
} range;

/* Control characters, and those that are invisible or change how their neighbours are read: every character
 * of Unicode's classes Cc, Cf, Zl and Zp, and every one with Default_Ignorable_Code_Point, including
 * reserved ones (Unicode 16). tests/programs/test_text.c compares this table with PCRE2's classes. */
static bool is_hidden(uint32_t code)
{
    static const range ranges[] = {
        {0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},
        {0x0600, 0x0605},   {0x061c, 0x061c},   {0x06dd, 0x06dd},   {0x070f, 0x070f},
        {0x0890, 0x0891},   {0x08e2, 0x08e2},   {0x115f, 0x1160},   {0x17b4, 0x17b5},
        {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},
        {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
        {0xfff0, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
        {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
    for (size_t i = 0; i < MCP__COUNT(ranges) && ranges[i].first <= code; i++) {
        if (code <= ranges[i].last)
            return true;
    }
    return false;
}

static uint32_t decode(const unsigned char *p, size_t size)
{
    static const unsigned char lead[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = p[0] & lead[size];
    for (size_t i = 1; i < size; i++)
        code = code << 6 | (p[i] & 0x3f);
    return code;
}

mcp_char mcp_char_at(mcp_str text)
{
    const unsigned char *p = (const unsigned char *)text.ptr;
    size_t size = mcp__utf8_size(text.ptr, text.len);
    mcp_char c = {.code = size ? decode(p, size) : p[0], .size = size ? size : 1};
    if (!size || (c.code < 0x80 && is_hidden(c.code)))
        snprintf(c.escape, sizeof(c.escape), "\\x%02x", (unsigned)c.code);
    else if (is_hidden(c.code))
        snprintf(c.escape, sizeof(c.escape), c.code > 0xffff ? "\\U%08x" : "\\u%04x",
                 (unsigned)c.code);
    return c;
}

size_t mcp_text_escape(char *to, size_t room, mcp_str text)
{
    size_t len = 0;
    while (text.len) {
        mcp_char c = mcp_char_at(text);
        size_t n = c.escape[0] ? strlen(c.escape) : c.size;
        if (n >= room - len)
            break;
        memcpy(to + len, c.escape[0] ? c.escape : text.ptr, n);
        len += n;
        text = mcp__str_sub(text, c.size);
    }
    to[len] = '\0';
    return len;
}
