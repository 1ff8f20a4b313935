/* patch.c: see patch.h.
 *
 * The patch is read once, from its beginning to its end. Each line of a hunk is compared with the next
 * line of the text, and copied, left out or added at once; so what is kept is only where both are.
 */
#define _GNU_SOURCE
#include "patch.h"

#include "ends.h"
#include "find.h"
#include "patch_head.h"
#include "text.h"

typedef struct patching {
    const editing_text *t;
    editing_limits limits;
    mcp_error *error;
    mcp_str patch, name;
    bool exact; /* lines are split at LF only, and all line ends are meant */

    size_t at, line_no; /* in the patch: offset of the next line, number of the current one */
    size_t from, lines; /* in the text: offset of the next line, number of lines before it */
    size_t removed;     /* where the lines begin that were removed directly before `from` */
    size_t plus, minus; /* lines so far */
    size_t hunks;
    size_t hunk_at; /* offset of the first line of the current hunk in the patch */
    bool closed;    /* the last line of the new text has no line end: nothing may follow */
    editing_ends ends;
    common_buffer *to;
} patching;

static int fail(const patching *p, int code, const char *why)
{
    return editing_fail(p->error, code, p->line_no, "line %zu of the patch: %s", p->line_no, why);
}

static size_t next_end(const patching *p, mcp_str text, size_t from, size_t *ret)
{
    size_t width = editing_next_end(text, from, p->t->cr_ends && !p->exact, ret);
    *ret += p->exact && width == 2;
    return p->exact && width ? 1 : width;
}

/* Takes the next line of the patch, without its end. */
static bool take_line(patching *p, mcp_str *ret)
{
    size_t end, width;
    if (p->at >= p->patch.len)
        return false;
    width = editing_next_end(p->patch, p->at, false, &end);
    *ret = (mcp_str){p->patch.ptr + p->at, end + width - (width > 0) - p->at};
    p->at = end + width;
    p->line_no++;
    return true;
}

/* A line of the text. */
typedef struct line {
    mcp_str content;
    size_t width; /* of its line end */
} line;

static bool next_line(const patching *p, line *ret)
{
    size_t end, width;
    if (p->from >= p->t->text.len)
        return false;
    width = next_end(p, p->t->text, p->from, &end);
    *ret = (line){{p->t->text.ptr + p->from, end - p->from}, width};
    return true;
}

static void pass_line(patching *p, const line *l)
{
    p->from += l->content.len + l->width;
    p->lines++;
}

/* Adds bytes to the new text, which end with a line end if `ended`. */
static int put(patching *p, mcp_str bytes, bool ended)
{
    if (bytes.len == 0 && ended)
        return MCP_OK;
    if (p->closed)
        return fail(p, MCP_ENOTFOUND, "it comes after a line without a line end");
    p->closed = !ended;
    int rc = common_buffer_append(p->to, bytes.ptr, bytes.len);
    if (rc != MCP_OK)
        return fail(p, rc, mcp_error_text(rc));
    if (p->to->len > p->limits.text)
        return fail(p, MCP_ELIMIT, "the changed text is too long");
    return MCP_OK;
}

/* Copies what is before a hunk: `before` lines of the text in all. */
static int copy_until(patching *p, uint64_t before)
{
    size_t begin = p->from;
    line l = {.width = 1};
    if (before < p->lines)
        return fail(p, MCP_EINVAL, "this hunk overlaps the one before it, or is out of order");
    while (p->lines < before && next_line(p, &l))
        pass_line(p, &l);
    if (p->lines < before)
        return editing_fail(p->error, MCP_ENOTFOUND, p->line_no,
                            "line %zu of the patch: the text has only %zu lines", p->line_no,
                            p->lines);
    return put(p, (mcp_str){p->t->text.ptr + begin, p->from - begin}, l.width > 0);
}

/* Collects the lines of the current hunk that are to be in the text, each with "\n". */
static bool old_lines(const patching *p, const editing_hunk *h, common_buffer *to)
{
    patching look = *p;
    uint64_t left = h->count[0];
    mcp_str l;
    look.at = p->hunk_at;
    while (left > 0 && take_line(&look, &l)) {
        if (l.len && l.ptr[0] == '\\')
            return false;
        if (l.len && l.ptr[0] == '+')
            continue;
        size_t skip = l.len > 0;
        if (common_buffer_append(to, l.ptr + skip, l.len - skip) != MCP_OK || !common_put(to, "\n"))
            return false;
        left--;
    }
    return left == 0;
}

/* Finds the only place where the hunk would fit. Returns its line, or 0. */
static size_t fitting_line(const patching *p, const editing_hunk *h)
{
    common_buffer text, needle;
    editing_found found = {0};
    size_t ret = 0;
    common_buffer_init(&text, &p->t->room.alloc);
    common_buffer_init(&needle, &p->t->room.alloc);
    /* A line feed before both makes the place the beginning of a line. */
    bool ok = common_put(&text, "\n") && common_put(&needle, "\n") &&
              common_buffer_append(&text, p->t->text.ptr, p->t->text.len) == MCP_OK &&
              old_lines(p, h, &needle) && needle.len > 1;
    editing_search search = {.text = {text.ptr, text.len},
                             .needle = {needle.ptr, needle.len},
                             .has_cr = p->t->has_cr,
                             .cr_ends = p->t->cr_ends,
                             .most = 1};
    if (ok && editing_find(&search, &p->t->room.alloc, &found) == MCP_OK && found.count == 1) {
        /* The one before it, counted from 1 on with the line that is put before all. */
        ret = editing_line_at(search.text, editing_found_places(&found)->begin, p->t->cr_ends);
    }
    if (ok)
        common_buffer_free(&found.places);
    common_buffer_free(&text);
    common_buffer_free(&needle);
    return ret;
}

static int misfit(const patching *p, const editing_hunk *h, const char *why)
{
    size_t line_no = fitting_line(p, h);
    if (line_no == h->begin[0] || line_no == 0)
        return editing_fail(p->error, MCP_ENOTFOUND, p->line_no,
                            "line %zu of the patch does not fit line %zu of the text: %s",
                            p->line_no, p->lines + 1, why);
    return editing_fail(p->error, MCP_ENOTFOUND, p->line_no,
                        "line %zu of the patch does not fit line %zu of the text; hunk %zu would "
                        "fit at line %zu, and its first line says %zu",
                        p->line_no, p->lines + 1, p->hunks, line_no, (size_t)h->begin[0]);
}

static mcp_str without_cr(mcp_str l)
{
    l.len -= l.len && l.ptr[l.len - 1] == '\r';
    return l;
}

/* Compares a context line or one to remove with the text, and passes it. */
static int match(patching *p, const editing_hunk *h, mcp_str content, bool ended, line *l)
{
    if (!next_line(p, l))
        return misfit(p, h, "the text ends before it");
    if (!mcp_str_eq(l->content, content)) {
        bool only_end = mcp_str_eq(without_cr(l->content), without_cr(content));
        return misfit(p, h, only_end ? "its line end is another one" : "it differs");
    }
    if (l->width && !ended)
        return misfit(p, h, "there is a line end");
    if (!l->width && ended)
        return misfit(p, h, "there is no line end, so \"\\ No newline at end of file\" is missing");
    pass_line(p, l);
    return MCP_OK;
}

static int keep(patching *p, const editing_hunk *h, mcp_str content, bool ended)
{
    line l = {.width = 0};
    int rc = match(p, h, content, ended, &l);
    p->removed = p->from;
    editing_ends_passage(&p->ends, p->from, p->from);
    return rc == MCP_OK ? put(p, (mcp_str){l.content.ptr, l.content.len + l.width}, l.width > 0)
                        : rc;
}

static int take_away(patching *p, const editing_hunk *h, mcp_str content, bool ended)
{
    line l = {.width = 0};
    int rc = match(p, h, content, ended, &l);
    p->minus++;
    editing_ends_passage(&p->ends, p->removed, p->from);
    return rc;
}

static int add(patching *p, mcp_str content, bool ended)
{
    int rc = put(p, content, false);
    p->plus++;
    p->removed = p->from;
    if (rc != MCP_OK || !ended)
        return rc;
    mcp_str end = p->exact ? MCP_STR("\n") : editing_ends_take(&p->ends);
    p->closed = false;
    return put(p, end, true);
}

/* Whether "\ No newline at end of file" does not follow; it is skipped. */
static bool is_ended(patching *p)
{
    mcp_str ignored;
    if (p->at >= p->patch.len || p->patch.ptr[p->at] != '\\')
        return true;
    take_line(p, &ignored);
    return false;
}

/* Applies a line of a hunk, of which `left` lines are expected on each side. */
static int apply_line(patching *p, const editing_hunk *h, mcp_str l, uint64_t left[2])
{
    char kind = l.len ? l.ptr[0] : ' ';
    mcp_str content = {l.len ? l.ptr + 1 : "", l.len ? l.len - 1 : 0};
    bool old = kind == ' ' || kind == '-', new = kind == ' ' || kind == '+';
    /* An empty line of a patch with CR. */
    if (l.len == 1 && kind == '\r') {
        old = new = true;
        content = l;
    }
    if (!old && !new)
        return fail(p, MCP_EINVAL, "the hunk has fewer lines than its first line says");
    if (left[0] < old || left[1] < new)
        return fail(p, MCP_EINVAL, "the hunk has other numbers of lines than its first line says");
    left[0] -= old;
    left[1] -= new;
    bool ended = is_ended(p);
    return old && new ? keep(p, h, content, ended)
           : old      ? take_away(p, h, content, ended)
                      : add(p, content, ended);
}

static int check_hunk(const patching *p, const editing_hunk *h, const uint64_t before[2])
{
    if (p->hunks > p->limits.edits)
        return fail(p, MCP_ELIMIT, "the patch has too many hunks");
    if (h->count[0] == 0 && h->count[1] == 0)
        return fail(p, MCP_EINVAL, "the hunk is empty");
    /* Both sides have the same number of lines before the hunk, but for the hunks before it. */
    if (before[1] + p->minus != before[0] + p->plus)
        return editing_fail(p->error, MCP_EINVAL, p->line_no,
                            "line %zu of the patch: with the hunks before it, the line behind + "
                            "must be %lld more than the one behind -",
                            p->line_no, (long long)p->plus - (long long)p->minus);
    return MCP_OK;
}

static int apply_hunk(patching *p, const editing_hunk *h)
{
    uint64_t left[2] = {h->count[0], h->count[1]};
    uint64_t before[2] = {h->begin[0] - (h->count[0] > 0), h->begin[1] - (h->count[1] > 0)};
    mcp_str l;
    p->hunks++;
    p->hunk_at = p->at;
    int rc = check_hunk(p, h, before);
    if (rc == MCP_OK)
        rc = copy_until(p, before[0]);
    p->removed = p->from;
    editing_ends_passage(&p->ends, p->from, p->from);
    while (rc == MCP_OK && (left[0] || left[1])) {
        if (!take_line(p, &l))
            return fail(p, MCP_EINVAL, "the patch ends inside of a hunk");
        rc = apply_line(p, h, l, left);
    }
    return rc;
}

/* Copies what is behind the last hunk. */
static int finish(patching *p)
{
    mcp_str rest = {p->t->text.ptr + p->from, p->t->text.len - p->from};
    if (p->plus + p->minus == 0)
        return fail(p, MCP_EINVAL, p->hunks ? "the patch changes nothing" : "there is no hunk");
    return put(p, rest, true);
}

static int run(patching *p)
{
    editing_hunk h;
    mcp_str l;
    int rc = MCP_OK;
    while (rc == MCP_OK && take_line(p, &l))
        rc = editing_hunk_read(l, &h)
                 ? apply_hunk(p, &h)
                 : editing_patch_head(l, p->name, p->hunks > 0, p->line_no, p->error);
    return rc == MCP_OK ? finish(p) : rc;
}

int editing_patch(const editing_text *t, mcp_str patch, mcp_str name, const editing_limits *limits,
                  common_buffer *changed, mcp_error *error)
{
    patching p = {.t = t, .error = error, .patch = patch, .name = name, .to = changed};
    p.limits = editing_limits_of(limits);
    p.exact = editing_is_exact(patch);
    editing_ends_init(&p.ends, t->text, t->cr_ends);
    common_buffer_init(changed, &t->room.alloc);
    if (patch.len > p.limits.bytes)
        return editing_fail(error, MCP_ELIMIT, 0, "the patch has more than %zu bytes",
                            p.limits.bytes);
    if (!common_text_check(patch))
        return editing_fail(error, MCP_EINVAL, 0, "the patch is not UTF-8 or has NUL");
    int rc = editing_changed_begin(t, t->text.len, changed);
    if (rc != MCP_OK)
        return editing_fail_code(error, rc);
    rc = run(&p);
    return rc == MCP_OK ? editing_succeed(error) : rc;
}
