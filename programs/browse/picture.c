/* picture.c: images, on terminals that have a protocol for them. */
#define _GNU_SOURCE
#include "picture.h"

#include <stdlib.h>
#include <string.h>

#include <common/filter.h>
#include <mcp/json.h>

enum { LARGEST = 4 << 20, MOST_PIXELS = 10000, CHUNK = 4096, CONVERT_MS = 3000 };

picture_protocol picture_way;

/* ---- the terminal ---------------------------------------------------------------------------- */

static bool has(const char *variable, const char *begin)
{
    const char *value = getenv(variable);
    return value && strncmp(value, begin, strlen(begin)) == 0;
}

/* By the variables that terminals set. Nothing is asked of the terminal, because an answer may come late,
 * as keys. */
static picture_protocol guess(void)
{
    if (getenv("TMUX") || has("TERM", "screen") || has("TERM", "tmux"))
        return PICTURE_NONE;
    if (has("TERM", "xterm-kitty") || has("TERM", "xterm-ghostty"))
        return PICTURE_KITTY;
    if (has("TERM_PROGRAM", "iTerm.app") || has("TERM_PROGRAM", "WezTerm") ||
        has("LC_TERMINAL", "iTerm2"))
        return PICTURE_ITERM;
    return PICTURE_NONE;
}

bool picture_choose(const char *name, picture_protocol *ret)
{
    static const char *const names[] = {"none", "kitty", "iterm", "sixel"};
    if (!name || strcmp(name, "auto") == 0) {
        *ret = guess();
        return true;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0) {
            *ret = (picture_protocol)i;
            return true;
        }
    }
    return false;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static unsigned big(const unsigned char *at, size_t n)
{
    unsigned value = 0;
    for (size_t i = 0; i < n; i++)
        value = value << 8 | at[i];
    return value;
}

static unsigned little(const unsigned char *at, size_t n)
{
    unsigned value = 0;
    for (size_t i = n; i; i--)
        value = value << 8 | at[i - 1];
    return value;
}

static bool jpeg_size(const unsigned char *b, size_t len, unsigned *width, unsigned *height)
{
    for (size_t at = 2; at + 9 < len && b[at] == 0xff;) {
        unsigned kind = b[at + 1];
        bool is_frame =
            kind >= 0xc0 && kind <= 0xcf && kind != 0xc4 && kind != 0xc8 && kind != 0xcc;
        if (is_frame) {
            *height = big(b + at + 5, 2);
            *width = big(b + at + 7, 2);
            return true;
        }
        at += 2 + big(b + at + 2, 2);
    }
    return false;
}

static bool webp_size(const unsigned char *b, unsigned *width, unsigned *height)
{
    if (memcmp(b + 12, "VP8X", 4) == 0) {
        *width = little(b + 24, 3) + 1;
        *height = little(b + 27, 3) + 1;
    } else if (memcmp(b + 12, "VP8 ", 4) == 0) {
        *width = little(b + 26, 2) & 0x3fff;
        *height = little(b + 28, 2) & 0x3fff;
    } else if (memcmp(b + 12, "VP8L", 4) == 0) {
        *width = (little(b + 21, 4) & 0x3fff) + 1;
        *height = (little(b + 21, 4) >> 14 & 0x3fff) + 1;
    } else {
        return false;
    }
    return true;
}

static bool is_png(mcp_str bytes)
{
    return bytes.len >= 24 && memcmp(bytes.ptr, "\x89PNG\r\n\x1a\n", 8) == 0;
}

bool picture_size(mcp_str bytes, unsigned *width, unsigned *height)
{
    const unsigned char *b = (const unsigned char *)bytes.ptr;
    *width = *height = 0;
    if (is_png(bytes)) {
        *width = big(b + 16, 4);
        *height = big(b + 20, 4);
    } else if (bytes.len >= 10 && memcmp(b, "GIF8", 4) == 0) {
        *width = little(b + 6, 2);
        *height = little(b + 8, 2);
    } else if (bytes.len >= 30 && memcmp(b, "RIFF", 4) == 0 && memcmp(b + 8, "WEBP", 4) == 0) {
        if (!webp_size(b, width, height))
            return false;
    } else if (bytes.len < 4 || b[0] != 0xff || b[1] != 0xd8 ||
               !jpeg_size(b, bytes.len, width, height)) {
        return false;
    }
    return *width && *height && *width <= MOST_PIXELS && *height <= MOST_PIXELS;
}

picture *picture_new(char *bytes, size_t len)
{
    static unsigned long last;
    picture p = {.bytes = bytes, .len = len, .id = last + 1};
    mcp_str all = {bytes, len};
    if (picture_way == PICTURE_NONE || len > LARGEST || !picture_size(all, &p.width, &p.height) ||
        (picture_way == PICTURE_KITTY && !is_png(all)))
        return NULL;
    picture *ret = malloc(sizeof(*ret));
    if (ret) {
        *ret = p;
        last++;
    }
    return ret;
}

void picture_free(picture *p)
{
    if (!p)
        return;
    free(p->bytes);
    free(p->sixels);
    free(p);
}

static size_t ceiling(size_t a, size_t b)
{
    return (a + b - 1) / b;
}

void picture_fit(const picture *p, picture_cell cell, size_t most_rows, size_t most_columns,
                 size_t *rows, size_t *columns)
{
    size_t width = p->width, height = p->height;
    if (width > most_columns * cell.width) {
        height = height * most_columns * cell.width / width;
        width = most_columns * cell.width;
    }
    if (height > most_rows * cell.height) {
        width = width * most_rows * cell.height / height;
        height = most_rows * cell.height;
    }
    *rows = height ? ceiling(height, cell.height) : 1;
    *columns = width ? ceiling(width, cell.width) : 1;
}

/* ---- output ---------------------------------------------------------------------------------- */

/* Returns the bytes in Base64, in quotes; empty if out of memory. Valid as long as the writer. */
static mcp_str encode(mcp_json_writer *w, const picture *p)
{
    mcp_str text = {0};
    mcp_json_add_base64(w, p->bytes, p->len);
    if (!w || mcp_json_writer_finish(w, &text) != MCP_OK || text.len < 2)
        return (mcp_str){0};
    return (mcp_str){text.ptr + 1, text.len - 2};
}

/* q=2: no answers; C=1: the cursor stays. */
static void put_kitty(FILE *to, mcp_str base64, size_t rows, size_t columns)
{
    for (size_t at = 0; at < base64.len; at += CHUNK) {
        size_t n = base64.len - at < CHUNK ? base64.len - at : CHUNK;
        fputs("\033_G", to);
        if (at == 0)
            fprintf(to, "a=T,f=100,q=2,C=1,c=%zu,r=%zu,", columns, rows);
        fprintf(to, "m=%d;%.*s\033\\", at + n < base64.len, (int)n, base64.ptr + at);
    }
}

/* Returns whether a text is one command for sixels, and nothing else. */
static bool is_sixel(const char *text)
{
    size_t at = 2;
    if (strncmp(text, "\033P", 2) != 0)
        return false;
    at += strspn(text + at, "0123456789;");
    if (text[at] != 'q')
        return false;
    while (text[at] && ((text[at] >= 0x20 && text[at] < 0x7f) || strchr("\r\n", text[at])))
        at++;
    return strcmp(text + at, "\033\\") == 0;
}

/* Converts it, unless that was done for the same size. */
static void make_sixels(picture *p, unsigned width, unsigned height)
{
    char w[16], h[16];
    const char *const argv[] = {"img2sixel", "-w", w, "-h", h, NULL};
    if (p->sixels && p->sixel_width == width && p->sixel_height == height)
        return;
    free(p->sixels);
    p->sixels = NULL;
    p->sixel_width = width;
    p->sixel_height = height;
    snprintf(w, sizeof(w), "%u", width);
    snprintf(h, sizeof(h), "%u", height);
    if (filter_run(&(filter_call){.argv = argv, .input = {p->bytes, p->len}, .ms = CONVERT_MS},
                   &p->sixels) == 0 &&
        is_sixel(p->sixels))
        return;
    free(p->sixels);
    p->sixels = strdup("");
}

void picture_put(FILE *to, picture *p, picture_cell cell, size_t row, size_t column, size_t rows,
                 size_t columns)
{
    mcp_json_writer *w = picture_way == PICTURE_SIXEL ? NULL : mcp_json_writer_new(NULL, 0);
    mcp_str base64 = w ? encode(w, p) : (mcp_str){0};
    fprintf(to, "\0337\033[%zu;%zuH", row + 1, column + 1);
    if (picture_way == PICTURE_KITTY) {
        put_kitty(to, base64, rows, columns);
    } else if (picture_way == PICTURE_ITERM) {
        fprintf(to, "\033]1337;File=inline=1;size=%zu;width=%zu;height=%zu:%.*s\a", p->len, columns,
                rows, (int)base64.len, base64.ptr ? base64.ptr : "");
    } else if (picture_way == PICTURE_SIXEL) {
        unsigned width = (unsigned)columns * cell.width, height = (unsigned)rows * cell.height;
        make_sixels(p, p->width < width ? p->width : width,
                    p->height < height ? p->height : height);
        fputs(p->sixels ? p->sixels : "", to);
    }
    fputs("\0338", to);
    mcp_json_writer_free(w);
}

void picture_remove(FILE *to)
{
    if (picture_way == PICTURE_KITTY)
        fputs("\033_Ga=d,d=A,q=2\033\\", to);
}
