/* diff.c: see diff.h. */
#define _GNU_SOURCE
#include "diff.h"

#include <stdio.h>

#include "ends.h"
#include "lines.h"
#include "text.h"

typedef struct differing {
    editing_lines side[2];
    size_t skipped; /* lines before them, which are the same */
    common_buffer *to;
    size_t limit; /* of to->len */
    editing_counts *counts;
} differing;

/* Lines from begin[s] up to end[s] of each side. */
typedef struct span {
    size_t begin[2], end[2];
} span;

enum { LF_ONLY = 1, CRLF_ONLY = 2, CR_ONLY = 4 };

/* Which line ends a text has. */
static unsigned kinds(mcp_str text)
{
    unsigned found = 0;
    for (size_t at = 0; at < text.len; at++) {
        const char *p = text.ptr + at;
        if (*p == '\n')
            found |= LF_ONLY;
        if (*p == '\r' && at + 1 < text.len && p[1] == '\n') {
            found |= CRLF_ONLY;
            at++;
        } else if (*p == '\r') {
            found |= CR_ONLY;
        }
    }
    return found;
}

static bool has_cr(mcp_str text)
{
    return text.len && memchr(text.ptr, '\r', text.len);
}

static editing_split split_of(mcp_str before, mcp_str after)
{
    if (!has_cr(before) || !has_cr(after))
        return EDITING_SPLIT_LF;
    unsigned of = kinds(before);
    if (of != kinds(after))
        return EDITING_SPLIT_LF;
    return of == CRLF_ONLY ? EDITING_SPLIT_ENDS
           : of == CR_ONLY ? EDITING_SPLIT_CR
                           : EDITING_SPLIT_LF;
}

/* ---- what both begin and end with ----------------------------------------------------------- */

/* Returns how many bytes at the beginnings are the same. */
static size_t same_head(mcp_str a, mcp_str b)
{
    enum { STEP = 256 };
    size_t n = 0, most = a.len < b.len ? a.len : b.len;
    while (most - n >= STEP && memcmp(a.ptr + n, b.ptr + n, STEP) == 0)
        n += STEP;
    while (n < most && a.ptr[n] == b.ptr[n])
        n++;
    return n;
}

/* Returns how many bytes at the ends are the same. */
static size_t same_tail(mcp_str a, mcp_str b)
{
    enum { STEP = 256 };
    size_t n = 0, most = a.len < b.len ? a.len : b.len;
    const char *a_end = a.ptr + a.len, *b_end = b.ptr + b.len;
    while (most - n >= STEP && memcmp(a_end - n - STEP, b_end - n - STEP, STEP) == 0)
        n += STEP;
    while (n < most && a_end[-1 - (ptrdiff_t)n] == b_end[-1 - (ptrdiff_t)n])
        n++;
    return n;
}

/* Returns where the last `lines` whole lines of a text begin, behind which there may be a part of another line. */
static size_t back(mcp_str text, size_t lines, char end)
{
    const char *at = text.len ? memrchr(text.ptr, end, text.len) : NULL;
    for (size_t i = 0; at && i < lines; i++)
        at = memrchr(text.ptr, end, (size_t)(at - text.ptr));
    return at ? (size_t)(at - text.ptr) + 1 : 0;
}

/* Returns where a text goes on behind a part of a line and `lines` whole lines. */
static size_t forth(mcp_str text, size_t lines, char end)
{
    size_t from = 0;
    for (size_t i = 0; i <= lines && from < text.len; i++) {
        const char *at = memchr(text.ptr + from, end, text.len - from);
        from = at ? (size_t)(at - text.ptr) + 1 : text.len;
    }
    return from;
}

/* Most calls change little of a text. Removes the lines that both begin and end with, apart from the context of a
 * change; the comparison would find the same. Returns the number of lines removed before. */
static size_t skip_same(mcp_str text[2], editing_split how)
{
    char end = how == EDITING_SPLIT_CR ? '\r' : '\n';
    size_t head = same_head(text[0], text[1]);
    mcp_str rest[2] = {{text[0].ptr + head, text[0].len - head},
                       {text[1].ptr + head, text[1].len - head}};
    size_t tail = same_tail(rest[0], rest[1]);
    tail -= forth((mcp_str){text[0].ptr + text[0].len - tail, tail}, EDITING_CONTEXT, end);
    head = back((mcp_str){text[0].ptr, head}, EDITING_CONTEXT, end);
    size_t lines = editing_line_at((mcp_str){text[0].ptr, head}, head, how == EDITING_SPLIT_CR) - 1;
    for (int s = 0; s < 2; s++)
        text[s] = (mcp_str){text[s].ptr + head, text[s].len - head - tail};
    return lines;
}

/* ---- hunks --------------------------------------------------------------------------------------- */

/* Finds the next stretch of changed lines from `at` on, which becomes its end. */
static bool next_change(const differing *d, size_t at[2], span *ret)
{
    const editing_lines *a = &d->side[0], *b = &d->side[1];
    while (at[0] < a->n && at[1] < b->n && !a->line[at[0]].changed && !b->line[at[1]].changed) {
        at[0]++;
        at[1]++;
    }
    for (int s = 0; s < 2; s++) {
        ret->begin[s] = at[s];
        while (at[s] < d->side[s].n && d->side[s].line[at[s]].changed)
            at[s]++;
        ret->end[s] = at[s];
    }
    return ret->begin[0] < ret->end[0] || ret->begin[1] < ret->end[1];
}

/* Returns the changes that have one hunk, from `at` on. */
static bool next_hunk(const differing *d, size_t at[2], span *ret)
{
    span next;
    size_t look[2];
    if (!next_change(d, at, ret))
        return false;
    memcpy(look, at, sizeof(look));
    while (next_change(d, look, &next) && next.begin[0] - ret->end[0] <= 2 * EDITING_CONTEXT) {
        memcpy(ret->end, next.end, sizeof(next.end));
        memcpy(at, look, sizeof(look));
    }
    return true;
}

static bool put_line(common_buffer *to, char kind, const editing_line *l)
{
    return common_buffer_append(to, &kind, 1) == MCP_OK &&
           common_buffer_append(to, l->ptr, l->len) == MCP_OK &&
           common_put(to, l->width ? "\n" : "\n\\ No newline at end of file\n");
}

static bool put_range(common_buffer *to, const char *sign, size_t begin, size_t end)
{
    char text[64];
    size_t n = end - begin;
    if (n == 1)
        snprintf(text, sizeof(text), "%s%zu", sign, begin + 1);
    else
        snprintf(text, sizeof(text), "%s%zu,%zu", sign, begin + (n > 0), n);
    return common_put(to, text);
}

/* Writes the lines of a hunk: `changes` and the context around it. */
static bool put_lines(const differing *d, const span *hunk)
{
    size_t i = hunk->begin[0], k = hunk->begin[1];
    bool ok = true;
    while (ok && (i < hunk->end[0] || k < hunk->end[1])) {
        const editing_line *a = &d->side[0].line[i], *b = &d->side[1].line[k];
        if (i < hunk->end[0] && a->changed) {
            ok = put_line(d->to, '-', a);
            i++;
        } else if (k < hunk->end[1] && b->changed) {
            ok = put_line(d->to, '+', b);
            k++;
        } else {
            ok = put_line(d->to, ' ', a);
            i++;
            k++;
        }
    }
    return ok;
}

/* Adds up to three lines at each end, which are the same on both sides. */
static void add_context(const differing *d, span *hunk)
{
    size_t before = hunk->begin[0] < EDITING_CONTEXT ? hunk->begin[0] : EDITING_CONTEXT;
    size_t behind = d->side[0].n - hunk->end[0];
    if (behind > EDITING_CONTEXT)
        behind = EDITING_CONTEXT;
    for (int s = 0; s < 2; s++) {
        hunk->begin[s] -= before;
        hunk->end[s] += behind;
    }
}

static bool put_hunk(differing *d, span hunk)
{
    size_t len = d->to->len;
    add_context(d, &hunk);
    bool ok = put_range(d->to, "@@ -", d->skipped + hunk.begin[0], d->skipped + hunk.end[0]) &&
              put_range(d->to, " +", d->skipped + hunk.begin[1], d->skipped + hunk.end[1]) &&
              common_put(d->to, " @@\n") && put_lines(d, &hunk);
    if (ok && d->to->len > d->limit) {
        d->to->len = len;
        d->counts->truncated = true;
    }
    return ok;
}

static void count(differing *d)
{
    for (size_t i = 0; i < d->side[0].n; i++)
        d->counts->minus += d->side[0].line[i].changed;
    for (size_t i = 0; i < d->side[1].n; i++)
        d->counts->plus += d->side[1].line[i].changed;
}

static bool put_name(common_buffer *to, mcp_str name)
{
    static const char *const sides[] = {"--- a/", "+++ b/"};
    for (size_t i = 0; i < name.len; i++)
        if ((unsigned char)name.ptr[i] < 0x20 || name.ptr[i] == 0x7f)
            return true;
    for (size_t i = 0; i < 2 && name.len && common_text_utf8(name); i++)
        if (!common_put(to, sides[i]) || common_buffer_append(to, name.ptr, name.len) != MCP_OK ||
            !common_put(to, "\n"))
            return false;
    return true;
}

/* Without any hunk there is no header. */
static int put_hunks(differing *d, mcp_str name)
{
    size_t at[2] = {0, 0}, begin = d->to->len;
    span hunk;
    bool ok = put_name(d->to, name);
    size_t head = d->to->len;
    while (ok && !d->counts->truncated && next_hunk(d, at, &hunk))
        ok = put_hunk(d, hunk);
    if (!ok || d->to->len == head)
        d->to->len = begin;
    return ok ? MCP_OK : MCP_ENOMEM;
}

int editing_diff(mcp_str before, mcp_str after, mcp_str name, size_t most, common_buffer *to,
                 editing_counts *ret)
{
    editing_counts counts = {0};
    differing d = {.to = to, .counts = &counts};
    editing_split how = split_of(before, after);
    const mcp_allocator *alloc = &to->alloc;
    *ret = counts;
    if (mcp_str_eq(before, after))
        return MCP_OK;
    d.limit = most > SIZE_MAX - to->len ? SIZE_MAX : to->len + most;
    mcp_str text[2] = {before.len ? before : MCP_STR(""), after.len ? after : MCP_STR("")};
    d.skipped = skip_same(text, how);
    int rc = editing_lines_split(text[0], how, alloc, &d.side[0]);
    if (rc == MCP_OK)
        rc = editing_lines_split(text[1], how, alloc, &d.side[1]);
    if (rc == MCP_OK)
        rc = editing_lines_compare(&d.side[0], &d.side[1]);
    if (rc == MCP_OK) {
        count(&d);
        rc = put_hunks(&d, name);
    }
    for (int s = 0; s < 2; s++)
        if (d.side[s].line)
            editing_lines_free(&d.side[s]);
    if (rc == MCP_OK)
        *ret = counts;
    return rc;
}
