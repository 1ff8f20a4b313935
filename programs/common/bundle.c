/* bundle.c: joins parts of resources into one text within a budget. */
#define _GNU_SOURCE
#include "bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* ---- the budget ------------------------------------------------------------------------------ */

bool budget_parse(const char *text, budget *ret)
{
    static const char units[] = "KMG";
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || value == 0 || value > UINT32_MAX)
        return false;
    *ret = (budget){.limit = value};
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (unit) {
        ret->limit <<= 10 * (unit - units + 1);
        end++;
    }
    ret->tokens = *end == 't';
    end += ret->tokens;
    return !*end;
}

/* Returns the cost in quarters of a token. */
static uint64_t quarters(mcp_str text, uint64_t most, size_t *fits)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        uint64_t more = c < 0x80 ? 1 : c >= 0xc0 ? 4 : 0;
        if (sum + more > most)
            break;
        sum += more;
        *fits = i + 1;
    }
    return sum;
}

uint64_t budget_cost(const budget *b, mcp_str text)
{
    size_t unused = 0;
    return b->tokens ? (quarters(text, UINT64_MAX, &unused) + 3) / 4 : text.len;
}

mcp_str budget_cut(const budget *b, mcp_str text, uint64_t most)
{
    size_t len = 0;
    if (budget_cost(b, text) <= most)
        return text;
    if (b->tokens)
        quarters(text, most * 4, &len);
    else
        len = (size_t)most;
    const char *newline = len ? memrchr(text.ptr, '\n', len) : NULL;
    if (newline)
        len = (size_t)(newline - text.ptr) + 1;
    else
        while (len && ((unsigned char)text.ptr[len] & 0xc0) == 0x80)
            len--;
    return (mcp_str){text.ptr, len};
}

/* ---- Markdown -------------------------------------------------------------------------------- */

/* Writes the text on one line, so that a name cannot start a heading or end a fence. */
static void put_inline(FILE *to, mcp_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        fputc(c < 0x20 || c == 0x7f || c == '`' ? ' ' : c, to);
    }
}

/* Returns a length of at least three that is greater than every run of backticks in the text. */
static int fence_length(mcp_str text)
{
    int longest = 2, run = 0;
    for (size_t i = 0; i < text.len; i++) {
        run = text.ptr[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest + 1;
}

static void put_fence(FILE *to, int length)
{
    while (length-- > 0)
        fputc('`', to);
}

char *bundle_section(mcp_str title, mcp_str uri, mcp_str text, bool cut)
{
    char *section = NULL;
    size_t size;
    FILE *f = open_memstream(&section, &size);
    if (!f)
        return NULL;
    int fence = fence_length(text);
    fputs("\n## ", f);
    put_inline(f, title);
    fputs("\n\n`", f);
    put_inline(f, uri);
    fputs(cut ? "` (a part)\n\n" : "`\n\n", f);
    put_fence(f, fence);
    fputc('\n', f);
    text_put_raw(f, text);
    if (!text.len || text.ptr[text.len - 1] != '\n')
        fputc('\n', f);
    put_fence(f, fence);
    fputc('\n', f);
    if (fclose(f) == 0)
        return section;
    free(section);
    return NULL;
}
