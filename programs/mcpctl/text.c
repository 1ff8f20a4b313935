/* text.c: shows what a stranger wrote without letting it control a terminal.
 *
 * A server chooses names, descriptions, contents and error texts. Escape sequences in them could rewrite
 * the screen, set the clipboard or answer a prompt, and marks that reorder text could make one name look
 * like another; both are shown as what they are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mcpctl.h"

/* One character: its code and size; a byte that is no UTF-8 gives size 1 and is marked. */
typedef struct character {
    unsigned code;
    size_t size;
    bool broken;
} character;

static character next_character(mcp_str s)
{
    const unsigned char *p = (const unsigned char *)s.ptr;
    static const struct {
        unsigned char mask, lead;
        unsigned least;
    } forms[] = {{0x80, 0, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t n = 0; n < 4; n++) {
        if ((p[0] & forms[n].mask) != forms[n].lead)
            continue;
        unsigned code = p[0] & (unsigned char)~forms[n].mask;
        size_t i = 1;
        for (; i <= n && i < s.len && (p[i] & 0xc0) == 0x80; i++)
            code = code << 6 | (p[i] & 0x3fu);
        bool surrogate = code >= 0xd800 && code <= 0xdfff;
        if (i == n + 1 && code >= forms[n].least && code <= 0x10ffff && !surrogate)
            return (character){code, n + 1, false};
        break;
    }
    return (character){p[0], 1, true};
}

static bool is_control(unsigned code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

/* Invisible, and changes the order of what is around it or how lines break. */
static bool is_deceptive(unsigned code)
{
    static const unsigned ranges[][2] = {{0x061c, 0x061c}, {0x200b, 0x200f}, {0x2028, 0x202e},
                                         {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xe0000, 0xe007f}};
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    }
    return false;
}

/* How a character is shown: an escape in `to`, or itself (false). */
static bool escape(character c, bool line_end_follows, text_mode mode, char to[16])
{
    if (mode == TEXT_BLOCK && !c.broken) {
        if (c.code == '\n' || c.code == '\t' || (c.code == '\r' && line_end_follows))
            return false;
        if (!is_control(c.code))
            return false;
    }
    if (c.broken || c.code < 0x80)
        snprintf(to, 16, "\\x%02x", c.code);
    else
        snprintf(to, 16, c.code > 0xffff ? "\\U%08x" : "\\u%04x", c.code);
    return c.broken || is_control(c.code) || is_deceptive(c.code);
}

static size_t clean_run(mcp_str s)
{
    size_t i = 0;
    while (i < s.len && (unsigned char)s.ptr[i] >= 0x20 && (unsigned char)s.ptr[i] < 0x7f)
        i++;
    return i;
}

static mcp_str rest(mcp_str s, size_t from)
{
    return (mcp_str){s.ptr + from, s.len - from};
}

void text_put(FILE *to, mcp_str s, text_mode mode)
{
    while (s.len) {
        size_t n = clean_run(s);
        if (n) {
            fwrite(s.ptr, 1, n, to);
            s = rest(s, n);
            continue;
        }
        char shown[16];
        character c = next_character(s);
        if (escape(c, s.len > 1 && s.ptr[1] == '\n', mode, shown))
            fputs(shown, to);
        else
            fwrite(s.ptr, 1, c.size, to);
        s = rest(s, c.size);
    }
}

size_t text_width(mcp_str s)
{
    size_t width = 0;
    while (s.len) {
        char shown[16];
        character c = next_character(s);
        width += escape(c, false, TEXT_LINE, shown) ? strlen(shown) : 1;
        s = rest(s, c.size);
    }
    return width;
}

void text_put_cell(FILE *to, mcp_str s, size_t width)
{
    bool cut = text_width(s) > width;
    size_t left = cut ? width - 1 : width;
    while (s.len) {
        char shown[16];
        character c = next_character(s);
        size_t w = escape(c, false, TEXT_LINE, shown) ? strlen(shown) : 1;
        if (w > left)
            break;
        text_put(to, (mcp_str){s.ptr, c.size}, TEXT_LINE);
        left -= w;
        s = rest(s, c.size);
    }
    if (cut)
        fputs("\xe2\x80\xa6", to);
    fprintf(to, "%*s", (int)left, "");
}

void text_put_field(const ctl *c, mcp_str s)
{
    if (c->out_is_terminal) {
        text_put(stdout, s, TEXT_LINE);
        return;
    }
    for (size_t i = 0; i < s.len; i++) {
        unsigned char byte = (unsigned char)s.ptr[i];
        if (byte < 0x20 || byte == 0x7f)
            fprintf(stdout, "\\x%02x", byte);
        else
            fputc(byte, stdout);
    }
}

void text_put_json(const ctl *c, mcp_str json)
{
    if (!c->out_is_terminal) {
        fwrite(json.ptr, 1, json.len, stdout);
        return;
    }
    while (json.len) {
        character ch = next_character(json);
        bool special = ch.code >= 0x7f && (is_control(ch.code) || is_deceptive(ch.code));
        if (special && ch.code > 0xffff)
            fprintf(stdout, "\\u%04x\\u%04x", 0xd7c0 + (ch.code >> 10), 0xdc00 + (ch.code & 0x3ff));
        else if (special)
            fprintf(stdout, "\\u%04x", ch.code);
        else
            fwrite(json.ptr, 1, ch.size, stdout);
        json = rest(json, ch.size);
    }
}

bool text_flush(ctl *c)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    if (!c->write_errno)
        c->write_errno = errno;
    return false;
}

char *text_dup(mcp_str s)
{
    char *copy = malloc(s.len + 1);
    if (copy) {
        if (s.len)
            memcpy(copy, s.ptr, s.len);
        copy[s.len] = 0;
    }
    return copy;
}

enum { LONGEST = 2048 };

static void put_message(const char *before, const char *text)
{
    fflush(stdout);
    fputs(before, stderr);
    text_put(stderr, mcp_str_from(text), TEXT_LINE);
    fputc('\n', stderr);
}

void say(const char *format, ...)
{
    char text[LONGEST];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    put_message("mcpctl: ", text);
}

void hint(const char *format, ...)
{
    char text[LONGEST];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    put_message("        ", text);
}
