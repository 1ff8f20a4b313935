/* needle.c: see needle.h. */
#define _GNU_SOURCE
#include "needle.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>

#include "buffer.h"

enum {
    MATCH_LIMIT = 200 * 1000, /* matching steps for one start position; takes some milliseconds */
    HEAP_LIMIT_KIB = 4096,
    NESTING_LIMIT = 50,
    LINES_AT_ONCE = 16,   /* lines between two calls of stop() */
    PLACES_AT_ONCE = 256, /* start positions within a line between two calls of stop() */
};

struct search_needle {
    mcp_allocator alloc;
    char *literal; /* NULL if `code` is used */
    size_t len;
    bool by_line; /* an expression could match across line ends, plain text cannot */
    pcre2_general_context *general;
    pcre2_match_context *context;
    pcre2_match_data *data;
    pcre2_code *code;
};

static void *pcre_malloc(size_t size, void *user)
{
    return common_alloc(user, size);
}

static void pcre_free(void *ptr, void *user)
{
    common_release(user, ptr);
}

/* ---- creating and freeing -------------------------------------------------------------------- */

static int invalid(char why[200], size_t at, int code)
{
    char text[120] = "";
    pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof(text));
    snprintf(why, 200, "the regular expression is invalid at byte %zu: %s", at, text);
    return code == PCRE2_ERROR_HEAP_FAILED ? MCP_ENOMEM : MCP_EINVAL;
}

static int compile(search_needle *n, const search_needle_options *o, char why[200])
{
    uint32_t flags = PCRE2_UTF | PCRE2_NO_UTF_CHECK | (o->ignore_case ? PCRE2_CASELESS : 0) |
                     (o->regex ? PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT : PCRE2_LITERAL);
    int code = 0;
    size_t at = 0;
    pcre2_compile_context *context = pcre2_compile_context_create(n->general);
    if (!context)
        return MCP_ENOMEM;
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context, NESTING_LIMIT);
    n->code = pcre2_compile((PCRE2_SPTR)o->text.ptr, o->text.len, flags, &code, &at, context);
    pcre2_compile_context_free(context);
    return n->code ? MCP_OK : invalid(why, at, code);
}

static int set_up(search_needle *n, const search_needle_options *o, char why[200])
{
    n->by_line = o->regex;
    if (!o->regex && !o->ignore_case) {
        n->len = o->text.len;
        n->literal = common_copy(&n->alloc, o->text.ptr, o->text.len);
        return n->literal ? MCP_OK : MCP_ENOMEM;
    }
    n->general = pcre2_general_context_create(pcre_malloc, pcre_free, &n->alloc);
    n->context = n->general ? pcre2_match_context_create(n->general) : NULL;
    n->data = n->general ? pcre2_match_data_create(1, n->general) : NULL;
    if (!n->context || !n->data)
        return MCP_ENOMEM;
    pcre2_set_match_limit(n->context, MATCH_LIMIT);
    pcre2_set_heap_limit(n->context, HEAP_LIMIT_KIB);
    return compile(n, o, why);
}

int search_needle_new(const search_needle_options *o, const mcp_allocator *alloc,
                      search_needle **ret, char why[200])
{
    mcp_allocator a = common_allocator(alloc);
    if (!o->text.len || o->text.len > SEARCH_NEEDLE_MAX)
        return snprintf(why, 200, "the text to search for must have 1 to %zu bytes",
                        SEARCH_NEEDLE_MAX),
               MCP_EINVAL;
    if (memchr(o->text.ptr, '\n', o->text.len) || memchr(o->text.ptr, '\0', o->text.len))
        return snprintf(why, 200, "a match cannot span lines: remove line ends and NUL"),
               MCP_EINVAL;
    search_needle *n = common_alloc(&a, sizeof(*n));
    if (!n)
        return MCP_ENOMEM;
    *n = (search_needle){.alloc = a};
    int rc = set_up(n, o, why);
    if (rc == MCP_OK)
        *ret = n;
    else
        search_needle_free(n);
    return rc;
}

void search_needle_free(search_needle *n)
{
    if (!n)
        return;
    pcre2_code_free(n->code);
    pcre2_match_data_free(n->data);
    pcre2_match_context_free(n->context);
    pcre2_general_context_free(n->general);
    common_release(&n->alloc, n->literal);
    mcp_allocator a = n->alloc;
    common_release(&a, n);
}

/* ---- matching -------------------------------------------------------------------------------- */

/* Matches within text[from..to) as if no text surrounded it. Start positions begin at `place` and
 * are limited by the offset limit of the match context. */
static int match(search_needle *n, mcp_str text, size_t from, size_t to, size_t place,
                 size_t *begin, size_t *end)
{
    int rc = pcre2_match(n->code, (PCRE2_SPTR)text.ptr + from, to - from, place, PCRE2_NO_UTF_CHECK,
                         n->data, n->context);
    if (rc == PCRE2_ERROR_NOMATCH)
        return MCP_ENOTFOUND;
    if (rc == PCRE2_ERROR_NOMEMORY)
        return MCP_ENOMEM;
    if (rc < 0)
        return MCP_ELIMIT;
    const PCRE2_SIZE *found = pcre2_get_ovector_pointer(n->data);
    *begin = from + found[0];
    *end = from + (found[1] > found[0] ? found[1] : found[0]); /* with \K, the end may
                                                                * precede the begin */
    return MCP_OK;
}

/* Matches a line in parts, because MATCH_LIMIT applies to each start position separately and a long
 * line has many. */
static int match_line(search_needle *n, mcp_str text, size_t from, size_t to,
                      bool (*stop)(void *user), void *user, size_t *begin, size_t *end)
{
    size_t place = 0, len = to - from;
    for (;;) {
        size_t next = place + PLACES_AT_ONCE;
        while (next < len && ((unsigned char)text.ptr[from + next] & 0xc0) == 0x80)
            next++;
        pcre2_set_offset_limit(n->context, next - 1);
        int rc = match(n, text, from, to, place, begin, end);
        if (rc != MCP_ENOTFOUND || next > len)
            return rc;
        if (stop && stop(user))
            return MCP_ECANCELLED;
        place = next;
    }
}

static int find_literal(const search_needle *n, mcp_str text, size_t from, size_t *begin,
                        size_t *end)
{
    const char *found = memmem(text.ptr + from, text.len - from, n->literal, n->len);
    if (!found)
        return MCP_ENOTFOUND;
    *begin = (size_t)(found - text.ptr);
    *end = *begin + n->len;
    return MCP_OK;
}

int search_needle_find(search_needle *n, mcp_str text, size_t from, bool (*stop)(void *user),
                       void *user, size_t *begin, size_t *end)
{
    int rc = MCP_ENOTFOUND;
    if (from >= text.len)
        return rc;
    if (n->literal)
        return find_literal(n, text, from, begin, end);
    if (!n->by_line)
        return match(n, text, from, text.len, 0, begin, end);
    for (unsigned line = 1; rc == MCP_ENOTFOUND && from < text.len; line++) {
        const char *lf = memchr(text.ptr + from, '\n', text.len - from);
        size_t to = lf ? (size_t)(lf - text.ptr) : text.len;
        if (line % LINES_AT_ONCE == 0 && stop && stop(user))
            return MCP_ECANCELLED;
        rc = match_line(n, text, from, to > from && text.ptr[to - 1] == '\r' ? to - 1 : to, stop,
                        user, begin, end);
        from = to + 1;
    }
    return rc;
}
