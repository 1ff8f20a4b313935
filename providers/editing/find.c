/* find.c: see find.h.
 *
 * memmem() finds an occurrence. If the needle has a border, a beginning that is also its end, the next
 * one may overlap, and from there on the automaton of Knuth, Morris and Pratt follows the text until no
 * beginning of the needle is left. So no byte is looked at more than a few times.
 *
 * Where line ends matter in a text with CR, both are first copied in a form in which each line end is
 * one byte: "\n" for any if the needle does not say which; otherwise 0xff, which UTF-8 does not have,
 * for CRLF.
 */
#define _GNU_SOURCE
#include "find.h"

#include <string.h>

#include "ends.h"
#include "filetext.h"

typedef struct finder {
    const editing_search *search;
    mcp_str text, needle; /* in the form in which they are compared */
    bool copied;
    bool exact;
    size_t *border;  /* border[i]: length of the longest border of the first i + 1 bytes */
    size_t at, from; /* the same place in `text` and in search->text */
    editing_found *ret;
    size_t end; /* of the last occurrence, in `text` */
} finder;

static int find_borders(finder *f, const mcp_allocator *alloc)
{
    const char *p = f->needle.ptr;
    size_t len = 0;
    if (f->needle.len > SIZE_MAX / sizeof(*f->border))
        return MCP_ENOMEM;
    f->border = common_alloc(alloc, f->needle.len * sizeof(*f->border));
    if (!f->border)
        return MCP_ENOMEM;
    f->border[0] = 0;
    for (size_t i = 1; i < f->needle.len; i++) {
        while (len && p[i] != p[len])
            len = f->border[len - 1];
        len += p[i] == p[len];
        f->border[i] = len;
    }
    return MCP_OK;
}

/* Returns the length of what is one byte in the copy, and that byte. */
static size_t unit_at(const finder *f, mcp_str text, size_t at, char *byte)
{
    size_t width = editing_end_at(text, at, f->search->cr_ends);
    *byte = text.ptr[at];
    if (width && !f->exact)
        *byte = '\n';
    else if (width == 2)
        *byte = (char)0xff;
    return width ? width : 1;
}

static bool copy(const finder *f, mcp_str text, const mcp_allocator *alloc, mcp_str *ret)
{
    char *to = common_alloc(alloc, text.len ? text.len : 1);
    size_t n = 0;
    if (!to)
        return false;
    for (size_t at = 0; at < text.len; n++)
        at += unit_at(f, text, at, &to[n]);
    *ret = (mcp_str){to, n};
    return true;
}

/* Translates a place of the copy, which is not before the last one that was asked for. */
static size_t original(finder *f, size_t at)
{
    char byte;
    if (!f->copied)
        return at;
    for (; f->at < at; f->at++)
        f->from += unit_at(f, f->search->text, f->from, &byte);
    return f->from;
}

/* The places of overlapping occurrences are not kept, nor are those behind them: nobody uses them. */
static int add(finder *f, size_t at)
{
    editing_found *r = f->ret;
    r->overlap = r->overlap || (r->count > 0 && at < f->end);
    f->end = at + f->needle.len;
    if (r->count++ >= f->search->most)
        return MCP_OK;
    editing_passage place = {.begin = original(f, at)};
    return common_buffer_append(&r->places, &place, sizeof(place));
}

/* Follows the text behind an occurrence that ends at *at. Afterwards *at is where nothing of the needle
 * has begun. */
static int follow(finder *f, size_t *at)
{
    size_t matched = f->border[f->needle.len - 1];
    int rc = MCP_OK;
    while (rc == MCP_OK && matched && *at < f->text.len) {
        char c = f->text.ptr[*at];
        while (matched && c != f->needle.ptr[matched])
            matched = f->border[matched - 1];
        if (c != f->needle.ptr[matched])
            return rc;
        ++*at;
        if (++matched < f->needle.len)
            continue;
        rc = add(f, *at - f->needle.len);
        matched = f->border[matched - 1];
    }
    return rc;
}

static int find_all(finder *f, const mcp_allocator *alloc)
{
    size_t at = 0;
    int rc = MCP_OK;
    while (rc == MCP_OK && f->text.len - at >= f->needle.len) {
        const char *hit = memmem(f->text.ptr + at, f->text.len - at, f->needle.ptr, f->needle.len);
        if (!hit)
            break;
        at = (size_t)(hit - f->text.ptr);
        if (!f->border)
            rc = find_borders(f, alloc);
        if (rc == MCP_OK)
            rc = add(f, at);
        at += f->needle.len;
        if (rc == MCP_OK)
            rc = follow(f, &at);
    }
    return rc;
}

/* The end of a place: as many units behind its beginning as the needle has. */
static void find_ends(finder *f)
{
    editing_passage *places = (editing_passage *)(void *)f->ret->places.ptr;
    size_t n = f->ret->places.len / sizeof(*places);
    char byte;
    for (size_t i = 0; i < n; i++) {
        size_t end = places[i].begin;
        if (!f->copied)
            end += f->needle.len;
        else if (!f->ret->overlap)
            for (size_t k = 0; k < f->needle.len; k++)
                end += unit_at(f, f->search->text, end, &byte);
        places[i].end = end;
    }
}

static bool has_ends(mcp_str text)
{
    return memchr(text.ptr, '\n', text.len) || memchr(text.ptr, '\r', text.len);
}

int editing_find(const editing_search *search, const mcp_allocator *alloc, editing_found *ret)
{
    finder f = {.search = search, .text = search->text, .needle = search->needle, .ret = ret};
    int rc = MCP_OK;
    *ret = (editing_found){0};
    common_buffer_init(&ret->places, alloc);
    mcp_allocator a = ret->places.alloc;
    f.exact = editing_is_exact(search->needle);
    if (!search->text.len || (f.exact && !search->has_cr))
        return MCP_OK;
    if (search->has_cr && has_ends(search->needle)) {
        f.copied = true;
        f.text = f.needle = (mcp_str){NULL, 0};
        if (!copy(&f, search->text, &a, &f.text) || !copy(&f, search->needle, &a, &f.needle))
            rc = MCP_ENOMEM;
    }
    if (rc == MCP_OK)
        rc = find_all(&f, &a);
    if (rc == MCP_OK)
        find_ends(&f);
    if (f.copied) {
        common_release(&a, (void *)(uintptr_t)f.text.ptr);
        common_release(&a, (void *)(uintptr_t)f.needle.ptr);
    }
    common_release(&a, f.border);
    return rc;
}
