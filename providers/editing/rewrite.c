/* rewrite.c: see rewrite.h. */
#include "rewrite.h"

#include "charset.h"
#include "ends.h"
#include "lines.h"
#include "text.h"

typedef struct replacing {
    const editing_text *t;
    editing_lines before, after;
    editing_ends ends;
    common_buffer *to;
} replacing;

static int put_line(replacing *r, const editing_line *l, mcp_str end)
{
    int rc = common_buffer_append(r->to, l->ptr, l->len);
    return rc == MCP_OK && l->width ? common_buffer_append(r->to, end.ptr, end.len) : rc;
}

/* Writes the new lines: those that are unchanged with the old line's end. */
static int merge(replacing *r)
{
    const char *base = r->t->text.ptr;
    size_t old = 0, begin = 0, end = 0; /* the old lines passed; the old lines that are replaced */
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < r->after.n; i++) {
        const editing_line *l = &r->after.line[i];
        if (i == 0 || (l->changed && !r->after.line[i - 1].changed) || !l->changed) {
            begin = end;
            for (; old < r->before.n && r->before.line[old].changed; old++)
                end = (size_t)(r->before.line[old].ptr - base) + r->before.line[old].len +
                      r->before.line[old].width;
            editing_ends_passage(&r->ends, begin, end);
        }
        if (l->changed) {
            rc = put_line(r, l, editing_ends_take(&r->ends));
            continue;
        }
        const editing_line *same = &r->before.line[old++];
        rc = put_line(r, l, (mcp_str){same->ptr + same->len, same->width});
        end = (size_t)(same->ptr - base) + same->len + same->width;
    }
    return rc;
}

static int replace_lines(const editing_text *t, mcp_str text, common_buffer *to)
{
    replacing r = {.t = t, .to = to};
    editing_split how = t->cr_ends ? EDITING_SPLIT_CR : EDITING_SPLIT_ENDS;
    editing_ends_init(&r.ends, t->text, t->cr_ends);
    int rc = editing_lines_split(t->text, how, &t->room.alloc, &r.before);
    if (rc == MCP_OK)
        rc = editing_lines_split(text, how, &t->room.alloc, &r.after);
    if (rc == MCP_OK)
        rc = editing_lines_compare(&r.before, &r.after);
    if (rc == MCP_OK)
        rc = merge(&r);
    if (r.before.line)
        editing_lines_free(&r.before);
    if (r.after.line)
        editing_lines_free(&r.after);
    return rc;
}

int editing_rewrite(const editing_text *t, mcp_str text, size_t most, common_buffer *changed,
                    mcp_error *error)
{
    bool marked = editing_charset_marked(text) == editing_charset_of(EDITING_UTF8);
    common_buffer_init(changed, &t->room.alloc);
    if (!common_text_check(text))
        return editing_fail(error, MCP_EINVAL, 0, "the new text is not UTF-8 or has NUL");
    if (text.len > most)
        return editing_fail_code(error, MCP_ELIMIT);
    if (marked && !(t->is_new && t->charset->family == EDITING_UTF8))
        text = common_text_after_mark(text);
    int rc = editing_changed_begin(t, text.len, changed);
    if (rc == MCP_OK)
        rc = t->has_cr && !editing_is_exact(text)
                 ? replace_lines(t, text, changed)
                 : common_buffer_append(changed, text.ptr, text.len);
    if (rc == MCP_OK && changed->len > most)
        rc = MCP_ELIMIT;
    return rc == MCP_OK ? editing_succeed(error) : editing_fail_code(error, rc);
}
