/* Generated edits, patches and whole new texts over charsets, line ends and sizes, compared with a model
 * that is slow and obvious: a text is an array of tokens, each a character or a line end, and each
 * character is encoded by iconv alone. EDITING_EDITS sets how many are tried (20000 by default, times
 * MCP_ROUNDS).
 */
#include <iconv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dice.h"
#include "diff.h"
#include "patch.h"
#include "rewrite.h"
#include "rounds.h"
#include "texts.h"

/* ---- the model of texts ---------------------------------------------------------------------- */

/* A character in UTF-8, or a line end, which may be CRLF. */
typedef struct token {
    char text[5];
} token;

typedef struct tokens {
    token *of;
    size_t n, room;
} tokens;

static void add_token(tokens *t, const char *text, size_t len)
{
    if (t->n == t->room) {
        t->room = t->room * 2 + 16;
        t->of = realloc(t->of, t->room * sizeof(*t->of));
        assert_non_null(t->of);
    }
    token new = {""};
    memcpy(new.text, text, len);
    t->of[t->n++] = new;
}

static void add_all(tokens *t, const token *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add_token(t, from[i].text, strlen(from[i].text));
}

static tokens tokens_of(mcp_str text)
{
    tokens t = {0};
    for (size_t at = 0, len; at < text.len; at += len) {
        unsigned char c = (unsigned char)text.ptr[at];
        bool crlf = c == '\r' && at + 1 < text.len && text.ptr[at + 1] == '\n';
        len = c < 0x80 ? 1u + crlf : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        add_token(&t, text.ptr + at, len);
    }
    return t;
}

/* NUL-terminated; freed by the caller. */
static mcp_str text_of(const token *of, size_t n)
{
    char *to = malloc(n * 4 + 1);
    size_t len = 0;
    assert_non_null(to);
    for (size_t i = 0; i < n; i++) {
        size_t size = strlen(of[i].text);
        memcpy(to + len, of[i].text, size);
        len += size;
    }
    to[len] = 0;
    return (mcp_str){to, len};
}

static bool is(token t, const char *text)
{
    return strcmp(t.text, text) == 0;
}

static bool is_end(token t, bool cr_ends)
{
    return is(t, "\n") || is(t, "\r\n") || (cr_ends && is(t, "\r"));
}

static bool has_cr(mcp_str text)
{
    return text.len && memchr(text.ptr, '\r', text.len);
}

/* ---- charsets -------------------------------------------------------------------------------- */

static const struct charset {
    const char *name;  /* for iconv */
    const char *given; /* for editing_text_open(); NULL: found by looking */
    const char *mark;
    size_t mark_len;
    const char *characters[8];
} charsets[] = {
    {"UTF-8", NULL, "", 0, {"a", "b", "c", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", " "}},
    {"UTF-8", NULL, "\xef\xbb\xbf", 3, {"a", "b", "c", "\xc3\xa9", "\xe4\xb8\xad"}},
    {"UTF-16LE", NULL, "\xff\xfe", 2, {"a", "b", "\xe4\xb8\x8a", "\xf0\x9f\x98\x80", "\xc4\x8a"}},
    {"UTF-16BE", NULL, "\xfe\xff", 2, {"a", "b", "\xe4\xb8\x8a", "\xf0\x9f\x98\x80", "\xc4\x8a"}},
    {"UTF-16LE", "UTF-16LE", "", 0, {"a", "b", "\xe4\xb8\x8a"}},
    {"ISO-8859-1", "latin1", "", 0, {"a", "b", "\xc3\xa9", "\xc3\xbf"}},
    {"CP1252", "windows-1252", "", 0, {"a", "b", "\xe2\x82\xac", "\xe2\x80\x9e"}},
    {"SHIFT_JIS", "Shift_JIS", "", 0, {"a", "b", "\xe3\x82\xbd", "\xe8\xa1\xa8", "\xef\xbd\xb1"}},
    {"EUC-KR", "EUC-KR", "", 0, {"a", "b", "\xea\xb0\x80", "\xed\x95\x9c"}},
    {"GB18030", "GB18030", "", 0, {"a", "b", "\xe4\xb8\xad", "\xf0\x9f\x98\x80", "\xc3\xa9"}},
};

/* Encodes each token by a conversion of its own. */
static mcp_str encode(const struct charset *c, const token *of, size_t n)
{
    char *to = malloc(n * 8 + 8);
    size_t len = c->mark_len;
    iconv_t with = iconv_open(c->name, "UTF-8");
    assert_true(to && with != (iconv_t)-1);
    memcpy(to, c->mark, c->mark_len);
    for (size_t i = 0; i < n; i++) {
        char copy[5], *from = copy, *at = to + len;
        size_t left = strlen(of[i].text), room = 8;
        memcpy(copy, of[i].text, sizeof(copy));
        assert_int_equal(iconv(with, &from, &left, &at, &room), 0);
        len = (size_t)(at - to);
    }
    iconv_close(with);
    return (mcp_str){to, len};
}

static bool has_iconv(const struct charset *c)
{
    iconv_t with = iconv_open(c->name, "UTF-8");
    if (with == (iconv_t)-1)
        return false;
    iconv_close(with);
    return true;
}

/* ---- generated texts ------------------------------------------------------------------------- */

enum { LF, CRLF, CR, MIXED, NONE, WILD, ENDS };

static const char *any_end(unsigned how)
{
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    return ends[how == MIXED ? dice(2) : how == WILD ? dice(3) : how];
}

static const char *any_character(const struct charset *c)
{
    unsigned n = 0;
    while (c->characters[n])
        n++;
    return c->characters[dice(n)];
}

static void add_random(tokens *t, const struct charset *c, size_t n, unsigned how, unsigned often)
{
    for (size_t i = 0; i < n; i++) {
        const char *next = how != NONE && dice(often) == 0 ? any_end(how) : any_character(c);
        /* CR and LF would be one token when they are read again. */
        if (t->n && is(t->of[t->n - 1], "\r") && next[0] == '\n')
            next = "\r";
        add_token(t, next, strlen(next));
    }
}

/* A file: its text, its bytes, and what was read from it. */
typedef struct file {
    const struct charset *charset;
    unsigned how;
    tokens model;
    mcp_str utf8, bytes;
    bool cr_ends;
    editing_text t;
} file;

static void open_file(file *f)
{
    static const size_t sizes[] = {0, 1, 2, 10, 40, 200};
    mcp_error error = {0};
    *f = (file){.charset = &charsets[dice(COUNT(charsets))], .how = dice(ENDS)};
    while (!has_iconv(f->charset))
        f->charset = &charsets[dice(COUNT(charsets))];
    size_t n = dice(2000) == 0 ? 100000 : sizes[dice(COUNT(sizes))];
    add_random(&f->model, f->charset, n, f->how, n > 1000 ? 30 : 4);
    f->utf8 = text_of(f->model.of, f->model.n);
    f->bytes = encode(f->charset, f->model.of, f->model.n);
    f->cr_ends = strchr(f->utf8.ptr, '\r') && !strchr(f->utf8.ptr, '\n');
    int rc = editing_text_open(f->bytes, mcp_str_from(f->charset->given), ANY, NULL, &f->t, &error);
    if (rc != MCP_OK)
        fail_msg("%s: %d %s", f->charset->name, rc, error.text);
    assert_true(mcp_str_eq(f->t.text, f->utf8));
    assert_int_equal(f->t.cr_ends, f->cr_ends);
}

static void close_file(file *f)
{
    editing_text_close(&f->t);
    free(f->model.of);
    drop(f->utf8);
    drop(f->bytes);
}

/* What was written must be the model's text, and the bytes of the lines before and behind the change
 * those of the file. */
static void check_bytes(const file *f, const common_buffer *changed, const tokens *expected)
{
    common_buffer room;
    mcp_str bytes, wanted = encode(f->charset, expected->of, expected->n);
    mcp_error error = {0};
    int rc = editing_changed_bytes(&f->t, changed, ANY, &room, &bytes, &error);
    if (rc != MCP_OK || !mcp_str_eq(bytes, wanted))
        fail_msg("%s: %d %s: of %s came %s, not %s", f->charset->name, rc, error.text,
                 show(f->utf8), show(editing_changed_text(&f->t, changed)),
                 show(text_of(expected->of, expected->n)));
    common_buffer_free(&room);
    drop(wanted);
}

/* The tokens from `begin` up to `end` are all that may change. */
static void check_untouched(const file *f, const common_buffer *changed, size_t begin, size_t end)
{
    common_buffer room;
    mcp_str bytes;
    mcp_str head = encode(f->charset, f->model.of, begin);
    mcp_str tail = encode(f->charset, f->model.of + end, f->model.n - end);
    size_t mark = f->charset->mark_len;
    tail.len -= mark;
    assert_int_equal(editing_changed_bytes(&f->t, changed, ANY, &room, &bytes, NULL), MCP_OK);
    assert_true(bytes.len >= head.len + tail.len);
    assert_memory_equal(bytes.ptr, f->bytes.ptr, head.len);
    assert_memory_equal(bytes.ptr + bytes.len - tail.len, f->bytes.ptr + f->bytes.len - tail.len,
                        tail.len);
    common_buffer_free(&room);
    drop(head);
    drop(tail);
}

/* ---- line ends ------------------------------------------------------------------------------- */

/* The line end of the line at `at`, else the last one of the text, else LF. */
static const char *neighbour(const tokens *t, size_t at, bool cr_ends)
{
    for (size_t i = at; i < t->n; i++)
        if (is_end(t->of[i], cr_ends))
            return t->of[i].text;
    for (size_t i = t->n; i > 0; i--)
        if (is_end(t->of[i - 1], cr_ends))
            return t->of[i - 1].text;
    return "\n";
}

/* The i-th line end from `begin` up to `end`, else the last of them, else the neighbour's. */
static const char *end_for(const tokens *t, size_t begin, size_t end, size_t i, bool cr_ends)
{
    const char *found = NULL;
    for (size_t k = begin, n = 0; k < end && n <= i; k++)
        if (is_end(t->of[k], cr_ends)) {
            found = t->of[k].text;
            n++;
        }
    return found ? found : neighbour(t, end, cr_ends);
}

/* ---- edits ----------------------------------------------------------------------------------- */

static bool matches(token of, token wanted, bool exact, bool cr_ends)
{
    return !exact && is(wanted, "\n") ? is_end(of, cr_ends) : is(of, wanted.text);
}

static bool is_at(const tokens *t, size_t at, const tokens *before, bool exact, bool cr_ends)
{
    if (at + before->n > t->n)
        return false;
    for (size_t i = 0; i < before->n; i++)
        if (!matches(t->of[at + i], before->of[i], exact, cr_ends))
            return false;
    return true;
}

static size_t count_places(const tokens *t, const tokens *before, bool exact, bool cr_ends,
                           bool *overlap)
{
    size_t n = 0, last = 0;
    *overlap = false;
    for (size_t at = 0; at < t->n; at++)
        if (is_at(t, at, before, exact, cr_ends)) {
            *overlap = *overlap || (n > 0 && at < last + before->n);
            last = at;
            n++;
        }
    return n;
}

/* Adds what replaces the tokens from `begin` up to `end`. */
static void add_replacement(tokens *to, const tokens *t, size_t begin, size_t end,
                            const tokens *after, bool exact, bool cr_ends)
{
    size_t head = 0, tail = 0, n = 0;
    if (exact) {
        add_all(to, after->of, after->n);
        return;
    }
    while (head < end - begin && head < after->n &&
           matches(t->of[begin + head], after->of[head], false, cr_ends))
        head++;
    while (tail < end - begin - head && tail < after->n - head &&
           matches(t->of[end - 1 - tail], after->of[after->n - 1 - tail], false, cr_ends))
        tail++;
    add_all(to, t->of + begin, head);
    for (size_t i = head; i < after->n - tail; i++) {
        const char *next = after->of[i].text;
        if (is(after->of[i], "\n"))
            next = end_for(t, begin + head, end - tail, n++, cr_ends);
        add_token(to, next, strlen(next));
    }
    add_all(to, t->of + end - tail, tail);
}

static tokens replace_places(const tokens *t, const tokens *before, const tokens *after,
                             bool before_exact, bool after_exact, bool cr_ends)
{
    tokens to = {0};
    for (size_t at = 0; at < t->n;) {
        if (is_at(t, at, before, before_exact, cr_ends)) {
            add_replacement(&to, t, at, at + before->n, after, after_exact, cr_ends);
            at += before->n;
        } else {
            add_all(&to, &t->of[at++], 1);
        }
    }
    /* CR and LF that now stand together are one token. */
    mcp_str text = text_of(to.of, to.n);
    free(to.of);
    to = tokens_of(text);
    drop(text);
    return to;
}

/* A part of the text, as a caller would write it: with its line ends, or with "\n". */
static mcp_str any_part(const tokens *t, const struct charset *c, unsigned how, bool cr_ends)
{
    tokens part = {0};
    bool plain = dice(3) > 0;
    if (t->n && dice(10) > 0) {
        size_t begin = dice((unsigned)t->n), most = t->n - begin;
        size_t n = 1 + dice(most > 30 ? 30 : (unsigned)most);
        for (size_t i = begin; i < begin + n; i++) {
            bool end = plain && is_end(t->of[i], cr_ends);
            add_token(&part, end ? "\n" : t->of[i].text, end ? 1 : strlen(t->of[i].text));
        }
    } else {
        add_random(&part, c, 1 + dice(4), plain ? LF : how, 3);
    }
    mcp_str text = text_of(part.of, part.n);
    free(part.of);
    return text;
}

static mcp_str any_after(const struct charset *c, unsigned how, mcp_str before)
{
    tokens t = {0};
    if (dice(3) == 0) { /* something is put behind, before or into the text */
        tokens same = tokens_of(before);
        size_t at = dice((unsigned)same.n + 1);
        add_all(&t, same.of, at);
        add_random(&t, c, 1 + dice(4), dice(2) ? LF : NONE, 2);
        add_all(&t, same.of + at, same.n - at);
        free(same.of);
    } else {
        add_random(&t, c, dice(8), dice(3) ? LF : how, 3);
    }
    mcp_str text = text_of(t.of, t.n);
    free(t.of);
    return text;
}

static unsigned refused, applied;

static void try_edits(void)
{
    enum { MOST = 4 };
    file f;
    editing_edit edits[MOST];
    size_t n = 1 + dice(MOST), made = 0, begin = 0, end = 0;
    bool fits = true;
    common_buffer changed;
    mcp_error error = {0};
    open_file(&f);
    tokens now = {0};
    add_all(&now, f.model.of, f.model.n);
    while (made < n && fits) {
        bool overlap;
        mcp_str before = any_part(&now, f.charset, f.how, f.cr_ends);
        mcp_str after = any_after(f.charset, f.how, before);
        tokens b = tokens_of(before), a = tokens_of(after);
        size_t count = count_places(&now, &b, has_cr(before), f.cr_ends, &overlap);
        edits[made] = (editing_edit){before, after, dice(20) == 0 ? 1 + dice(3) : count};
        fits = count && !overlap && (edits[made].count == count) && !mcp_str_eq(before, after);
        if (fits && n == 1) {
            while (!is_at(&now, begin, &b, has_cr(before), f.cr_ends))
                begin++;
            for (end = now.n - b.n; !is_at(&now, end, &b, has_cr(before), f.cr_ends);)
                end--;
            end += b.n;
        }
        if (fits) {
            tokens next = replace_places(&now, &b, &a, has_cr(before), has_cr(after), f.cr_ends);
            free(now.of);
            now = next;
        }
        free(a.of);
        free(b.of);
        made++;
    }
    int rc = editing_edit_all(&f.t, edits, made, NULL, &changed, &error);
    if ((rc == MCP_OK) != fits)
        fail_msg("%s %s: edit %zu of %s, %s to %s, %zu times: %d %s", f.charset->name,
                 fits ? "refused" : "applied", made, show(f.utf8), show(edits[made - 1].before),
                 show(edits[made - 1].after), edits[made - 1].count, rc, error.text);
    if (fits)
        check_bytes(&f, &changed, &now);
    if (fits && n == 1)
        check_untouched(&f, &changed, begin, end);
    fits ? applied++ : refused++;
    common_buffer_free(&changed);
    for (size_t i = 0; i < made; i++) {
        drop(edits[i].before);
        drop(edits[i].after);
    }
    free(now.of);
    close_file(&f);
}

/* ---- patches --------------------------------------------------------------------------------- */

/* Where the line at `at` ends, behind its line end. */
static size_t line_behind(const tokens *t, size_t at, bool exact, bool cr_ends)
{
    while (at < t->n &&
           !(exact ? is(t->of[at], "\n") || is(t->of[at], "\r\n") : is_end(t->of[at], cr_ends)))
        at++;
    return at < t->n ? at + 1 : at;
}

/* Adds a line of the text to a patch. */
static void put_line(common_buffer *to, char kind, const tokens *t, size_t begin, size_t end,
                     bool exact, bool cr_ends)
{
    bool ended = is_end(t->of[end - 1], cr_ends && !exact);
    mcp_str text = text_of(t->of + begin, end - begin - ended);
    assert_true(common_buffer_append(to, &kind, 1) == MCP_OK &&
                common_buffer_append(to, text.ptr, text.len) == MCP_OK);
    if (ended && exact && is(t->of[end - 1], "\r\n"))
        assert_true(common_put(to, "\r"));
    assert_true(common_put(to, ended ? "\n" : "\n\\ No newline at end of file\n"));
    drop(text);
}

/* A patch, and the text that it makes. */
typedef struct making {
    const file *f;
    bool exact;
    common_buffer patch, hunk;
    tokens expected;
    size_t at;             /* in the model */
    size_t lines[2];       /* before the next line of both texts */
    size_t begin[2], n[2]; /* of the hunk */
    bool closed;
} making;

static void take(making *m, char kind)
{
    size_t end = line_behind(&m->f->model, m->at, m->exact, m->f->cr_ends);
    if (kind)
        put_line(&m->hunk, kind, &m->f->model, m->at, end, m->exact, m->f->cr_ends);
    if (kind != '-')
        add_all(&m->expected, m->f->model.of + m->at, end - m->at);
    if (kind != '-')
        m->closed = !is_end(m->f->model.of[end - 1], m->f->cr_ends && !m->exact);
    m->n[0] += kind != 0;
    m->n[1] += kind == ' ';
    m->lines[0]++;
    m->lines[1] += kind != '-';
    m->at = end;
}

/* Adds a line, the i-th one behind the lines that were removed from `begin` on. */
static void add_line(making *m, size_t begin, size_t i)
{
    tokens line = {0};
    add_random(&line, m->f->charset, dice(5), m->exact && m->f->how == WILD ? CR : NONE, 3);
    bool cr = m->exact && dice(2);
    if (cr)
        add_token(&line, "\r", 1);
    mcp_str text = text_of(line.of, line.n);
    assert_true(common_put(&m->hunk, "+") && common_put(&m->hunk, text.ptr) &&
                common_put(&m->hunk, "\n"));
    add_all(&m->expected, line.of, line.n);
    const char *end = "\n";
    if (!m->exact)
        end = end_for(&m->f->model, begin, m->at, i, m->f->cr_ends);
    add_token(&m->expected, end, strlen(end));
    m->n[1]++;
    m->lines[1]++;
    drop(text);
    free(line.of);
}

static void make_hunk(making *m)
{
    char head[128];
    m->hunk.len = 0;
    for (int s = 0; s < 2; s++) {
        m->begin[s] = m->lines[s];
        m->n[s] = 0;
    }
    for (unsigned k = dice(3); k > 0 && m->at < m->f->model.n; k--)
        take(m, ' ');
    size_t begin = m->at;
    for (unsigned k = dice(3); k > 0 && m->at < m->f->model.n; k--)
        take(m, '-');
    for (unsigned i = 0, k = dice(4); i < k && !m->closed; i++)
        add_line(m, begin, i);
    for (unsigned k = dice(3); k > 0 && m->at < m->f->model.n; k--)
        take(m, ' ');
    if (m->n[0] == 0 && m->n[1] == 0)
        return;
    snprintf(head, sizeof(head), "@@ -%zu,%zu +%zu,%zu @@\n", m->begin[0] + (m->n[0] > 0), m->n[0],
             m->begin[1] + (m->n[1] > 0), m->n[1]);
    assert_true(common_put(&m->patch, head) &&
                common_buffer_append(&m->patch, m->hunk.ptr, m->hunk.len) == MCP_OK);
}

static void try_patch(void)
{
    file f;
    common_buffer changed;
    mcp_error error = {0};
    open_file(&f);
    making m = {.f = &f, .exact = dice(2)};
    common_buffer_init(&m.patch, NULL);
    common_buffer_init(&m.hunk, NULL);
    for (unsigned hunks = 1 + dice(3); hunks > 0; hunks--) {
        for (unsigned k = dice(5); k > 0 && m.at < f.model.n; k--)
            take(&m, 0);
        make_hunk(&m);
    }
    while (m.at < f.model.n)
        take(&m, 0);
    mcp_str patch = exactly((mcp_str){m.patch.ptr, m.patch.len});
    /* Others would mean something else: a text without CR has no exact patch, for example. */
    bool meant = has_cr(patch) == m.exact;
    bool changes = false;
    for (size_t i = 1; i < patch.len; i++)
        changes = changes || (patch.ptr[i - 1] == '\n' && strchr("+-", patch.ptr[i]));
    int rc = editing_patch(&f.t, patch, MCP_STR("f"), NULL, &changed, &error);
    if (!changes && meant)
        assert_int_equal(rc, MCP_EINVAL);
    else if (meant && rc != MCP_OK)
        fail_msg("%s: %s on %s: %d %s", f.charset->name, show(patch), show(f.utf8), rc, error.text);
    else if (meant) {
        mcp_str text = text_of(m.expected.of, m.expected.n);
        tokens expected = tokens_of(text);
        check_bytes(&f, &changed, &expected);
        free(expected.of);
        drop(text);
    }
    meant &&changes ? applied++ : refused++;
    common_buffer_free(&changed);
    common_buffer_free(&m.patch);
    common_buffer_free(&m.hunk);
    free(m.expected.of);
    drop(patch);
    close_file(&f);
}

/* ---- whole texts, and differences ------------------------------------------------------------ */

/* Another version of a text: some of its tokens, and new ones. */
static tokens any_version(const file *f, bool plain)
{
    tokens to = {0};
    unsigned often = 1 + dice(30);
    for (size_t i = 0; i < f->model.n; i++) {
        if (dice(often + 3) == 0)
            add_random(&to, f->charset, dice(5), plain ? LF : f->how, 3);
        if (dice(often + 3) > 0) {
            bool end = plain && is_end(f->model.of[i], f->cr_ends);
            add_token(&to, end ? "\n" : f->model.of[i].text, end ? 1 : strlen(f->model.of[i].text));
        }
    }
    add_random(&to, f->charset, dice(3), plain ? LF : dice(ENDS), 2);
    return to;
}

/* Lines that are the same from the beginning on, and to the end, keep their bytes. */
static void check_kept(const file *f, const tokens *wanted, const tokens *got)
{
    bool cr_ends = f->cr_ends;
    const tokens *old = &f->model;
    size_t head = 0, line = 0, tail = 0;
    assert_int_equal(wanted->n, got->n);
    for (size_t i = 0; i < got->n; i++) /* the text is the caller's but for line ends */
        assert_true(matches(got->of[i], wanted->of[i], false, cr_ends));
    while (head < old->n && head < got->n &&
           matches(old->of[head], wanted->of[head], false, cr_ends)) {
        head++;
        if (is_end(old->of[head - 1], cr_ends))
            line = head;
    }
    for (size_t i = 0; i < line; i++)
        assert_string_equal(got->of[i].text, old->of[i].text);
    while (tail < old->n - line && tail < got->n - line &&
           matches(old->of[old->n - 1 - tail], wanted->of[got->n - 1 - tail], false, cr_ends))
        tail++;
    /* The line in which the common end begins may be another one. */
    size_t k = old->n - tail;
    while (k < old->n && !is_end(old->of[k], cr_ends))
        k++;
    for (k++; k < old->n; k++)
        assert_string_equal(got->of[got->n - (old->n - k)].text, old->of[k].text);
}

static void try_replacement(void)
{
    file f;
    common_buffer changed;
    mcp_error error = {0};
    open_file(&f);
    tokens version = any_version(&f, dice(3) > 0);
    mcp_str text = text_of(version.of, version.n);
    tokens wanted = tokens_of(text);
    int rc = editing_rewrite(&f.t, text, ANY, &changed, &error);
    assert_int_equal(rc, MCP_OK);
    tokens got = tokens_of(editing_changed_text(&f.t, &changed));
    if (has_cr(text))
        check_bytes(&f, &changed, &wanted);
    else
        check_kept(&f, &wanted, &got);
    check_bytes(&f, &changed, &got);
    applied++;
    common_buffer_free(&changed);
    free(got.of);
    free(wanted.of);
    free(version.of);
    drop(text);
    close_file(&f);
}

static void try_diff(void)
{
    file f;
    common_buffer diff, changed;
    mcp_error error = {0};
    editing_counts counts;
    open_file(&f);
    tokens version = any_version(&f, dice(3) == 0);
    mcp_str text = text_of(version.of, version.n);
    common_buffer_init(&diff, NULL);
    assert_int_equal(editing_diff(f.utf8, text, MCP_STR("a b"), ANY, &diff, &counts), MCP_OK);
    assert_false(counts.truncated);
    editing_limits limits = {.edits = 100000};
    int rc = editing_patch(&f.t, (mcp_str){diff.ptr, diff.len}, MCP_STR("a b"), &limits, &changed,
                           &error);
    if (mcp_str_eq(f.utf8, text))
        assert_int_equal(diff.len, 0);
    else if (rc != MCP_OK || !mcp_str_eq(editing_changed_text(&f.t, &changed), text))
        fail_msg("%d %s: %s to %s by %s", rc, error.text, show(f.utf8), show(text),
                 show((mcp_str){diff.ptr, diff.len}));
    applied++;
    common_buffer_free(&changed);
    common_buffer_free(&diff);
    free(version.of);
    drop(text);
    close_file(&f);
}

static void test_generated(void **state)
{
    static void (*const kinds[])(void) = {try_edits, try_edits, try_patch, try_replacement,
                                          try_diff};
    const char *given = getenv("EDITING_EDITS");
    unsigned n = rounds(given ? (unsigned)strtoul(given, NULL, 10) : 20000);
    (void)state;
    for (unsigned i = 0; i < n; i++)
        kinds[i % COUNT(kinds)]();
    /* Enough of both. */
    assert_true(applied > n / 2 && refused > n / 50);
    print_message("%u applied, %u refused\n", applied, refused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
