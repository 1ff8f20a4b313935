/* edit.c: see edit.h.
 *
 * Each edit copies the text with its replacements from one buffer to another, so one edit is one copy.
 */
#define _GNU_SOURCE
#include "edit.h"

#include <stdio.h>

#include "ends.h"
#include "find.h"
#include "text.h"

editing_limits editing_limits_of(const editing_limits *given)
{
    static const mcp_default defaults[] = {
        MCP_DEFAULT(editing_limits, edits, 1000),
        MCP_DEFAULT(editing_limits, bytes, 8 << 20),
        MCP_DEFAULT(editing_limits, text, 64 << 20),
        MCP_DEFAULT(editing_limits, work, 1 << 30),
    };
    editing_limits limits = given ? *given : (editing_limits){0};
    MCP_SET_DEFAULTS(&limits, defaults);
    return limits;
}

/* The state of one call. */
typedef struct editing {
    const editing_text *t;
    editing_limits limits;
    mcp_error *error;
    mcp_str text; /* as it is after the edits so far */
    bool has_cr;
    size_t index; /* of the current edit */
    const editing_edit *edit;
    size_t work;
} editing;

static int fail(const editing *e, int code, const char *why)
{
    return editing_fail(e->error, code, e->index, "edit %zu: %s", e->index + 1, why);
}

static int check(editing *e, size_t *bytes)
{
    const editing_edit *edit = e->edit;
    const mcp_str given[] = {edit->before, edit->after};
    if (!edit->before.len)
        return fail(e, MCP_EINVAL, "the text to replace is empty");
    if (edit->count > EDITING_MOST_PLACES)
        return fail(e, MCP_ELIMIT, "its text cannot be expected so often");
    for (size_t i = 0; i < 2; i++) {
        if (given[i].len > e->limits.bytes - *bytes)
            return fail(e, MCP_ELIMIT, "the edits are too long together");
        *bytes += given[i].len;
        if (!common_text_check(given[i]))
            return fail(e, MCP_EINVAL, "its text is not UTF-8 or has NUL");
    }
    if (mcp_str_eq(edit->before, edit->after))
        return fail(e, MCP_EINVAL, "it changes nothing: both texts are equal");
    return MCP_OK;
}

/* " at line 4", or " at lines 4, 8, 20, 30, 40 and more". A line that has several is named once. */
static void put_lines(const editing *e, const editing_found *found, char *to, size_t room)
{
    const editing_passage *places = editing_found_places(found);
    size_t kept = found->places.len / sizeof(*places), len = 0, last = 0, shown = 0;
    char numbers[128] = "";
    for (size_t i = 0; i < kept && i < EDITING_LINES_SHOWN && len < sizeof(numbers); i++) {
        size_t line = editing_line_at(e->text, places[i].begin, e->t->cr_ends);
        if (line == last)
            continue;
        len += (size_t)snprintf(numbers + len, sizeof(numbers) - len, "%s%zu", shown ? ", " : "",
                                line);
        last = line;
        shown++;
    }
    bool more = found->count > EDITING_LINES_SHOWN;
    snprintf(to, room, " at line%s %s%s", shown > 1 || more ? "s" : "", numbers,
             more ? " and more" : "");
}

static int not_there(const editing *e)
{
    char shown[48];
    bool ends = editing_is_exact(e->edit->before);
    mcp_str first = e->edit->before;
    const char *end = memchr(first.ptr, '\n', first.len);
    if (end && end > first.ptr)
        first.len = (size_t)(end - first.ptr);
    mcp_text_escape(shown, sizeof(shown), first);
    return editing_fail(e->error, MCP_ENOTFOUND, e->index,
                        "edit %zu: its text does not occur%s%s (it begins with %s)", e->index + 1,
                        e->index ? " after the edits before it" : "",
                        ends ? "; it has CR, so its line ends must be exactly the file's, "
                               "while \\n without CR means any"
                             : "",
                        shown);
}

static int misfit(const editing *e, const editing_found *found, size_t wanted)
{
    char lines[160] = "";
    if (found->count == 0)
        return not_there(e);
    put_lines(e, found, lines, sizeof(lines));
    return editing_fail(e->error, MCP_ENOTFOUND, e->index,
                        "edit %zu: its text must occur %zu time%s, but occurs %zu time%s%s%s",
                        e->index + 1, wanted, wanted == 1 ? "" : "s", found->count,
                        found->count == 1 ? "" : "s", lines,
                        found->overlap ? " in overlapping places" : "");
}

/* The lengths of what a passage and its replacement have in common at the beginning; line ends are
 * equal to "\n". */
static void skip_common(mcp_str text, editing_passage *p, mcp_str *after, bool cr_ends)
{
    mcp_str passage = {text.ptr, p->end};
    while (p->begin < p->end && after->len) {
        size_t width = editing_end_at(passage, p->begin, cr_ends);
        if (width ? *after->ptr != '\n' : *after->ptr != text.ptr[p->begin])
            break;
        p->begin += width ? width : 1;
        after->ptr++;
        after->len--;
    }
}

/* The same at the end. */
static void drop_common(mcp_str text, editing_passage *p, mcp_str *after, bool cr_ends)
{
    while (p->begin < p->end && after->len) {
        size_t width = editing_end_before(text, p->begin, p->end, cr_ends);
        char last = after->ptr[after->len - 1];
        if (width ? last != '\n' : last != text.ptr[p->end - 1])
            break;
        p->end -= width ? width : 1;
        after->len--;
    }
}

/* Appends a replacement whose "\n" are the file's line ends. */
static int put_lenient(mcp_str after, editing_ends *ends, common_buffer *to)
{
    int rc = MCP_OK;
    while (rc == MCP_OK && after.len) {
        const char *feed = memchr(after.ptr, '\n', after.len);
        size_t len = feed ? (size_t)(feed - after.ptr) : after.len;
        rc = common_buffer_append(to, after.ptr, len);
        if (rc == MCP_OK && feed) {
            mcp_str end = editing_ends_take(ends);
            rc = common_buffer_append(to, end.ptr, end.len);
            len++;
        }
        after.ptr += len;
        after.len -= len;
    }
    return rc;
}

/* Appends the text with its replacements. */
static int replace(const editing *e, const editing_found *found, common_buffer *to)
{
    const editing_passage *places = editing_found_places(found);
    bool cr_ends = e->t->cr_ends, lenient = e->has_cr && !editing_is_exact(e->edit->after);
    size_t at = 0;
    editing_ends ends;
    editing_ends_init(&ends, e->text, cr_ends);
    for (size_t i = 0; i <= found->count; i++) {
        editing_passage p = {e->text.len, e->text.len};
        mcp_str after = {"", 0};
        if (i < found->count) {
            p = places[i];
            after = e->edit->after;
        }
        if (lenient) {
            skip_common(e->text, &p, &after, cr_ends);
            drop_common(e->text, &p, &after, cr_ends);
            editing_ends_passage(&ends, p.begin, p.end);
        }
        int rc = common_buffer_append(to, e->text.ptr + at, p.begin - at);
        if (rc == MCP_OK)
            rc = lenient ? put_lenient(after, &ends, to)
                         : common_buffer_append(to, after.ptr, after.len);
        if (rc != MCP_OK || to->len > e->limits.text)
            return rc != MCP_OK ? rc : MCP_ELIMIT;
        at = p.end;
    }
    return MCP_OK;
}

/* Applies the current edit. Begins `to`. */
static int apply(editing *e, size_t wanted, const editing_found *found, common_buffer *to)
{
    size_t size = e->text.len;
    if (found->count != wanted || found->overlap)
        return misfit(e, found, wanted);
    if (e->edit->after.len > e->edit->before.len)
        size += e->edit->after.len - e->edit->before.len;
    int rc = editing_changed_begin(e->t, size, to);
    if (rc == MCP_OK)
        rc = replace(e, found, to);
    if (rc == MCP_ELIMIT)
        return fail(e, rc, "the changed text is too long");
    return rc == MCP_OK ? rc : fail(e, rc, mcp_error_text(rc));
}

static int step(editing *e, common_buffer *to)
{
    size_t wanted = e->edit->count ? e->edit->count : 1;
    editing_search search = {.text = e->text,
                             .needle = e->edit->before,
                             .has_cr = e->has_cr,
                             .cr_ends = e->t->cr_ends,
                             .most = wanted > EDITING_LINES_SHOWN ? wanted : EDITING_LINES_SHOWN};
    editing_found found;
    if (e->text.len > e->limits.work - e->work)
        return fail(e, MCP_ELIMIT, "these are too many edits for so long a text");
    e->work += e->text.len;
    int rc = editing_find(&search, &e->t->room.alloc, &found);
    rc = rc == MCP_OK ? apply(e, wanted, &found, to) : fail(e, rc, mcp_error_text(rc));
    common_buffer_free(&found.places);
    if (rc == MCP_OK) {
        e->text = editing_changed_text(e->t, to);
        e->has_cr = e->has_cr || editing_is_exact(e->edit->after);
    }
    return rc;
}

int editing_edit_all(const editing_text *t, const editing_edit *edits, size_t n,
                     const editing_limits *limits, common_buffer *changed, mcp_error *error)
{
    editing e = {.t = t, .error = error, .text = t->text, .has_cr = t->has_cr};
    size_t bytes = 0;
    int rc = MCP_OK;
    e.limits = editing_limits_of(limits);
    common_buffer_init(changed, &t->room.alloc);
    if (n == 0)
        return editing_fail(error, MCP_EINVAL, 0, "there are no edits");
    if (n > e.limits.edits)
        return editing_fail(error, MCP_ELIMIT, 0, "these are more than %zu edits", e.limits.edits);
    for (e.index = 0; rc == MCP_OK && e.index < n; e.index++) {
        common_buffer next;
        common_buffer_init(&next, &t->room.alloc);
        e.edit = &edits[e.index];
        rc = check(&e, &bytes);
        if (rc == MCP_OK)
            rc = step(&e, &next);
        common_buffer_free(changed);
        *changed = next;
    }
    return rc == MCP_OK ? editing_succeed(error) : rc;
}
