/* patch.c: a patch that is written file by file, with a summary before it.
 *
 * libgit2 compares only the text of two files; given a repository, it would obey attributes and
 * configuration. When the patch reaches its size limit, further files are only named, each with the
 * URI of its own difference. The summary counts all of them: the lines of a file are counted while
 * they are written, and also when they are left out.
 */
#include "provider.h"

#include <inttypes.h>
#include <stdio.h>

#include "text.h"

enum {
    MAX_NAMES = 4 << 20, /* bytes of the names of files, if they are only named */
    MAX_LINES = 400000,
    AROUND = 3,
    BINARY_LOOK = 8000,
    SHORT_PATCH = 16 << 10, /* bytes of a patch that nobody asked for */
};

typedef struct repo_patch {
    repo_job *j;
    common_buffer path, summary;
    common_buffer *to; /* what put() writes to: the summary, or the job's text */
    size_t files, uncounted;
    repo_numbers now, all;     /* of the current file, of all files */
    const repo_entry *side[2]; /* the file's entry on each side; NULL if it does not exist */
    const mcp_str *work;       /* the second side's text if it is not a git
                                * object, otherwise NULL */
    size_t limit;              /* of the patch, in bytes */
    bool optional;   /* no part of it was asked for: it is omitted if it is longer than the limit */
    bool omitted;    /* it was omitted */
    bool only_names; /* there are too many files for numbers of lines */
    repo_folders folders; /* then */
    size_t unnamed;
    bool full;  /* the limit was reached in this file */
    bool latin; /* it has lines that are not UTF-8 */
    bool named; /* the file names of the patch are already written */
    int rc;
} differing;

/* ---- writing --------------------------------------------------------------------------------- */

static int put(differing *d, const void *bytes, size_t len)
{
    if (d->rc == MCP_OK)
        d->rc = common_buffer_append(d->to, bytes, len);
    return d->rc;
}

static void put_string(differing *d, const char *text)
{
    put(d, text, strlen(text));
}

/* Writes a line of a file. The patch is text, whatever the file is: in a line that is not UTF-8,
 * each byte is written as the Latin-1 character with its number, and NUL as its symbol. */
static void put_content(differing *d, mcp_str line)
{
    char two[2];
    size_t done = 0;
    bool utf8 = common_text_utf8(line);
    for (size_t i = 0; (!utf8 || memchr(line.ptr, 0, line.len)) && i < line.len; i++) {
        unsigned char c = (unsigned char)line.ptr[i];
        if (c && (utf8 || c < 0x80))
            continue;
        d->latin = true;
        put(d, line.ptr + done, i - done);
        two[0] = (char)(0xc0 | c >> 6);
        two[1] = (char)(0x80 | (c & 0x3f));
        put(d, c ? two : "\xE2\x90\x80", c ? 2 : 3);
        done = i + 1;
    }
    if (line.len)
        put(d, line.ptr + done, line.len - done);
}

/* Returns the escape sequence for a byte of a path, or NULL if the byte needs none. Bytes beyond
 * ASCII are escaped only if the path is not UTF-8, because the patch must be UTF-8. */
static const char *escape_of(char c, bool utf8, char room[8])
{
    static const char plain[] = "\a\b\t\n\v\f\r\"\\", letters[] = "abtnvfr\"\\";
    unsigned char byte = (unsigned char)c;
    const char *at = byte ? strchr(plain, c) : NULL;
    if (at)
        snprintf(room, 8, "\\%c", letters[at - plain]);
    else if (byte < ' ' || byte == 0x7f || (byte >= 0x80 && !utf8))
        snprintf(room, 8, "\\%03o", byte);
    else
        return NULL;
    return room;
}

/* Writes a path as git does: in quotes if it contains characters that could break a line or
 * affect a terminal. */
int repo_put_path(common_buffer *to, const char *side, mcp_str path)
{
    char room[8];
    bool quoted = false;
    bool utf8 = common_text_utf8(path), put = true;
    for (size_t i = 0; i < path.len; i++)
        quoted = quoted || escape_of(path.ptr[i], utf8, room);
    put = common_put(to, quoted ? "\"" : "") && common_put(to, side);
    if (put && !quoted && path.len)
        put = common_buffer_append(to, path.ptr, path.len) == MCP_OK;
    for (size_t i = 0; put && quoted && i < path.len; i++) {
        const char *escape = escape_of(path.ptr[i], utf8, room);
        put = escape ? common_put(to, escape) : common_buffer_append(to, &path.ptr[i], 1) == MCP_OK;
    }
    return put && common_put(to, quoted ? "\"" : "") ? MCP_OK : MCP_ENOMEM;
}

static void put_path(differing *d, const char *side)
{
    const common_buffer *p = &d->path;
    if (d->rc == MCP_OK)
        d->rc = repo_put_path(d->to, side, (mcp_str){p->len ? p->ptr : "", p->len});
}

static void put_index(differing *d, const repo_entry *a, const repo_entry *b)
{
    char line[64], from[8] = "0000000", to[8] = "0000000", mode[16] = "";
    if (a && b && git_oid_equal(&a->id, &b->id))
        return;
    if (a)
        git_oid_tostr(from, sizeof(from), &a->id);
    if (b)
        git_oid_tostr(to, sizeof(to), &b->id);
    if (a && b && a->mode == b->mode)
        snprintf(mode, sizeof(mode), " %06o", a->mode);
    snprintf(line, sizeof(line), "index %s..%s%s\n", from, to, mode);
    put_string(d, line);
}

static void put_header(differing *d, const repo_entry *a, const repo_entry *b)
{
    char line[96] = "";
    put_string(d, "diff --git ");
    put_path(d, "a/");
    put_string(d, " ");
    put_path(d, "b/");
    put_string(d, "\n");
    if (!a)
        snprintf(line, sizeof(line), "new file mode %06o\n", b->mode);
    else if (!b)
        snprintf(line, sizeof(line), "deleted file mode %06o\n", a->mode);
    else if (a->mode != b->mode)
        snprintf(line, sizeof(line), "old mode %06o\nnew mode %06o\n", a->mode, b->mode);
    put_string(d, line);
    put_index(d, a, b);
}

static void put_name(differing *d, const char *before, const repo_entry *e, const char *side)
{
    put_string(d, before);
    if (e)
        put_path(d, side);
    else
        put_string(d, "/dev/null");
}

/* Writes the two file names. As in git, a name with a space is followed by a tab; otherwise other
 * programs would take the rest of the name for a time stamp. */
static void put_names(differing *d)
{
    bool tab = d->path.len && memchr(d->path.ptr, ' ', d->path.len);
    put_name(d, "--- ", d->side[0], "a/");
    put_string(d, tab && d->side[0] ? "\t\n+++ " : "\n+++ ");
    put_name(d, "", d->side[1], "b/");
    put_string(d, tab && d->side[1] ? "\t\n" : "\n");
}

static void put_left_out(differing *d, const char *why)
{
    char *uri;
    repo_target t = d->j->target;
    t.path = (mcp_str){d->path.ptr, d->path.len};
    memset(t.param, 0, sizeof(t.param));
    put_string(d, why);
    if (d->rc != MCP_OK || !(uri = common_alloc(&d->j->r->base.alloc, repo_uri_room(&t))))
        return;
    put_string(d, d->j->r->base.prefix);
    put(d, uri, repo_uri_put(uri, &t));
    put_string(d, "\n");
    common_release(&d->j->r->base.alloc, uri);
}

/* ---- comparing texts ------------------------------------------------------------------------- */

static size_t count_lines(mcp_str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == '\n';
    return n;
}

int repo_compare(mcp_str old, mcp_str now, uint32_t around, git_diff_hunk_cb on_hunk,
                 git_diff_line_cb on_line, void *user)
{
    git_diff_options options;
    git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
    options.flags = GIT_DIFF_FORCE_TEXT | GIT_DIFF_INDENT_HEURISTIC; /* as in git */
    options.context_lines = around;
    if (old.len > REPO_COMPARE_MAX || now.len > REPO_COMPARE_MAX ||
        count_lines(old) + count_lines(now) > MAX_LINES)
        return MCP_ELIMIT;
    int rc = git_diff_buffers(old.ptr, old.len, NULL, now.ptr, now.len, NULL, &options, NULL, NULL,
                              on_hunk, on_line, user);
    return rc < 0 ? MCP_EIO : MCP_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Returns the length of a hunk's header. After the second "@@", git repeats a previous line,
 * truncated at 80 bytes; this removes trailing spaces and an incomplete character from it. */
static size_t length_of_header(const git_diff_hunk *hunk)
{
    size_t len = hunk->header_len, cut;
    while (len && strchr(" \t\r\n", hunk->header[len - 1]))
        len--;
    for (cut = len; cut && ((unsigned char)hunk->header[cut - 1] & 0xc0) == 0x80; cut--)
        ;
    cut -= cut && (unsigned char)hunk->header[cut - 1] >= 0xc0;
    return common_text_utf8((mcp_str){hunk->header + cut, len - cut}) ? len : cut;
}

static bool is_written(const differing *d)
{
    return !d->omitted && !d->full;
}

static int on_hunk(const git_diff_delta *delta, const git_diff_hunk *hunk, void *user)
{
    differing *d = user;
    (void)delta;
    if (!is_written(d))
        return 0;
    if (!d->named)
        put_names(d);
    d->named = true;
    put_content(d, (mcp_str){hunk->header, length_of_header(hunk)});
    put_string(d, "\n");
    return d->rc == MCP_OK ? 0 : -1;
}

static int on_line(const git_diff_delta *delta, const git_diff_hunk *hunk,
                   const git_diff_line *line, void *user)
{
    differing *d = user;
    (void)delta, (void)hunk;
    d->now.added += line->origin == '+';
    d->now.removed += line->origin == '-';
    if (!is_written(d))
        return 0;
    if (line->origin == ' ' || line->origin == '+' || line->origin == '-')
        put(d, &line->origin, 1);
    put_content(d, (mcp_str){line->content, line->content_len});
    d->full = d->to->len > d->limit;
    return d->rc == MCP_OK ? 0 : -1;
}

typedef struct side {
    git_odb_object *object;
    char text[80];
    mcp_str bytes;
    bool large; /* too large to be compared, so not read */
} side;

static int side_open(differing *d, const repo_entry *e, side *s)
{
    char hex[GIT_OID_HEXSZ + 1];
    size_t size = 0;
    s->bytes = (mcp_str){"", 0};
    if (e && e->mode == REPO_MODE_COMMIT) {
        snprintf(s->text, sizeof(s->text), "Subproject commit %s\n",
                 git_oid_tostr(hex, sizeof(hex), &e->id));
        s->bytes = mcp_str_from(s->text);
    } else if (e) {
        int rc = repo_blob_size(&d->j->use, &e->id, &size);
        s->large = rc == MCP_OK && size > REPO_COMPARE_MAX;
        if (rc == MCP_OK && !s->large)
            rc = repo_object(&d->j->use, &e->id, GIT_OBJECT_BLOB, &s->object);
        if (rc != MCP_OK)
            return rc == MCP_ENOTFOUND ? MCP_EIO : rc;
        if (s->object)
            s->bytes = repo_object_text(s->object);
    }
    return MCP_OK;
}

static bool is_binary(mcp_str bytes)
{
    size_t len = bytes.len < BINARY_LOOK ? bytes.len : BINARY_LOOK;
    return len && memchr(bytes.ptr, 0, len);
}

/* Writes the difference of two texts, or only counts its lines. */
static int put_contents(differing *d, const side *s, bool count)
{
    size_t before = d->to->len;
    repo_numbers kept = d->now;
    int rc = MCP_ELIMIT;
    d->named = false;
    if (is_binary(s[0].bytes) || is_binary(s[1].bytes)) {
        d->now.binary = true;
        put_name(d, "Binary files ", d->side[0], "a/");
        put_name(d, " and ", d->side[1], "b/");
        put_string(d, " differ\n");
        return d->rc;
    }
    if (!s[0].large && !s[1].large)
        rc = repo_compare(s[0].bytes, s[1].bytes, AROUND, on_hunk, on_line, d);
    if (d->rc == MCP_OK && rc != MCP_OK)
        d->now.large = true;
    if (d->rc == MCP_OK && (rc != MCP_OK || !is_written(d))) {
        d->to->len = before;
        put_left_out(d, d->files == 1 ? "# The difference is too long: " : "# Left out here, see ");
    }
    if (!count)
        d->now = kept;
    return d->rc;
}

static int sides_open(differing *d, const repo_entry *a, const repo_entry *b, side s[2])
{
    int rc = side_open(d, a, &s[0]);
    if (rc == MCP_OK && b && d->work)
        s[1].bytes = *d->work;
    else if (rc == MCP_OK)
        rc = side_open(d, b, &s[1]);
    return rc;
}

static void sides_close(side s[2])
{
    git_odb_object_free(s[0].object);
    git_odb_object_free(s[1].object);
}

/* Writes the patch of a file. With `count`, its lines are those of the summary. */
static int put_file(differing *d, const repo_entry *a, const repo_entry *b, bool count)
{
    side s[2] = {{0}, {0}};
    bool same = a && b && git_oid_equal(&a->id, &b->id);
    d->side[0] = a;
    d->side[1] = b;
    d->full = d->to->len >= d->limit;
    put_header(d, a, b);
    int rc = d->rc == MCP_OK ? sides_open(d, a, b, s) : d->rc;
    if (rc == MCP_OK && same)
        d->now.binary = is_binary(s[0].bytes);
    else if (rc == MCP_OK)
        rc = put_contents(d, s, count);
    sides_close(s);
    return rc;
}

static int on_counted(const git_diff_delta *delta, const git_diff_hunk *hunk,
                      const git_diff_line *line, void *user)
{
    differing *d = user;
    (void)delta, (void)hunk;
    d->now.added += line->origin == '+';
    d->now.removed += line->origin == '-';
    return 0;
}

/* Counts the lines of a file without writing them. If its type changed, its patch is a removal and
 * an addition, but git counts the lines that differ. */
static int count_both(differing *d, const repo_entry *a, const repo_entry *b)
{
    side s[2] = {{0}, {0}};
    int rc = sides_open(d, a, b, s);
    if (rc == MCP_OK && (is_binary(s[0].bytes) || is_binary(s[1].bytes)))
        d->now.binary = true;
    else if (rc == MCP_OK && !(a && b && git_oid_equal(&a->id, &b->id)))
        d->now.large = s[0].large || s[1].large ||
                       repo_compare(s[0].bytes, s[1].bytes, 0, NULL, on_counted, d) != MCP_OK;
    sides_close(s);
    return rc;
}

int repo_count_lines(repo_job *j, const repo_entry *a, const repo_entry *b, repo_numbers *ret)
{
    differing d = {.j = j};
    int rc = count_both(&d, a, b);
    *ret = d.now;
    return rc;
}

/* ---- summary --------------------------------------------------------------------------------- */

/* Adds the line of a file, in the form of git diff --numstat; "?" is what was not counted. */
static void sum_up(differing *d)
{
    char line[64];
    repo_numbers n = d->now;
    if (n.binary || n.large)
        snprintf(line, sizeof(line), n.binary ? "-\t-\t" : "?\t?\t");
    else
        snprintf(line, sizeof(line), "%" PRIu64 "\t%" PRIu64 "\t", n.added, n.removed);
    if (!n.binary && !n.large) {
        d->all.added += n.added;
        d->all.removed += n.removed;
    }
    d->uncounted += n.large && !n.binary;
    d->to = &d->summary;
    put_string(d, line);
    put_path(d, "");
    put_string(d, "\n");
    d->to = &d->j->text;
}

static void put_total(differing *d, common_buffer *to)
{
    char line[256];
    const repo_numbers *n = &d->all;
    size_t len = (size_t)snprintf(line, sizeof(line), "%zu file%s changed", d->files,
                                  d->files == 1 ? "" : "s");
    if (d->only_names)
        len += (size_t)snprintf(line + len, sizeof(line) - len, "; their lines are not counted");
    if (!d->only_names && d->files && (n->added || !n->removed))
        len += (size_t)snprintf(line + len, sizeof(line) - len, ", %" PRIu64 " insertion%s(+)",
                                n->added, n->added == 1 ? "" : "s");
    if (!d->only_names && d->files && (n->removed || !n->added))
        len += (size_t)snprintf(line + len, sizeof(line) - len, ", %" PRIu64 " deletion%s(-)",
                                n->removed, n->removed == 1 ? "" : "s");
    if (!d->only_names && d->uncounted)
        snprintf(line + len, sizeof(line) - len, "; %zu too large to count", d->uncounted);
    d->to = to;
    put_string(d, line);
    put_string(d, "\n");
    if (d->latin)
        put_string(d, "Lines that are not UTF-8 are shown as Latin-1.\n");
}

/* Says how to get the hunks that are omitted. */
static void put_way(differing *d)
{
    char line[128];
    repo_target t = d->j->target;
    memset(t.param, 0, sizeof(t.param));
    char *uri = common_alloc(&d->j->r->base.alloc, repo_uri_room(&t));
    if (!uri) {
        d->rc = MCP_ENOMEM;
        return;
    }
    if (d->only_names)
        snprintf(line, sizeof(line), "These are more than %d files. ", REPO_PATCH_FILES);
    else
        snprintf(line, sizeof(line), "The patch is longer than %zu bytes. ", d->limit);
    put_string(d, line);
    put_string(d, "Of PATH (a file, a folder or a glob): ");
    put_string(d, d->j->r->base.prefix);
    put(d, uri, repo_uri_put(uri, &t));
    put_string(d, "?path=PATH\n");
    common_release(&d->j->r->base.alloc, uri);
}

/* Writes the folders, and how many files have no name here. */
static void put_folders(differing *d)
{
    char line[80];
    const common_buffer *folders = &d->folders.text;
    int rc = repo_folders_end(&d->folders);
    d->rc = d->rc == MCP_OK ? rc : d->rc;
    put(d, folders->len ? folders->ptr : "", folders->len);
    if (d->unnamed) {
        snprintf(line, sizeof(line), "%zu of the files are not named here\n", d->unnamed);
        put_string(d, line);
    }
}

/* Puts the summary before the patch. */
static int finish(differing *d)
{
    common_buffer first;
    common_buffer *text = &d->j->text;
    if (d->omitted || d->only_names)
        text->len = 0;
    common_buffer_init(&first, &d->j->r->base.alloc);
    put_total(d, &first);
    if (d->omitted || d->only_names)
        put_way(d);
    if (d->only_names)
        put_folders(d);
    put(d, d->summary.len ? d->summary.ptr : "", d->summary.len);
    put_string(d, text->len ? "\n" : "");
    if (d->rc == MCP_OK)
        d->rc = common_buffer_reserve(text, first.len);
    if (d->rc == MCP_OK) {
        memmove(text->ptr + first.len, text->ptr, text->len);
        memcpy(text->ptr, first.ptr, first.len);
        text->len += first.len;
    }
    common_buffer_free(&first);
    return d->rc;
}

/* ---- the patch ------------------------------------------------------------------------------- */

int repo_patch_begin(repo_job *j, bool optional, repo_patch **ret)
{
    differing *d = common_alloc(&j->r->base.alloc, sizeof(*d));
    if (!d)
        return MCP_ENOMEM;
    *d = (differing){.j = j, .to = &j->text, .limit = j->r->max_bytes, .optional = optional};
    if (optional && d->limit > SHORT_PATCH)
        d->limit = SHORT_PATCH;
    common_buffer_init(&d->path, &j->r->base.alloc);
    common_buffer_init(&d->summary, &j->r->base.alloc);
    repo_folders_init(&d->folders, &j->r->base.alloc);
    j->has_text = true;
    j->mime = "text/x-diff";
    *ret = d;
    return MCP_OK;
}

void repo_patch_only_name(repo_patch *d)
{
    d->only_names = true;
}

/* Adds the path of a file, without its numbers of lines. */
static int name_file(differing *d, mcp_str path)
{
    const repo_target *t = &d->j->target;
    mcp_str under = t->path.len ? t->path : t->param[REPO_PARAM_PATH];
    if (under.len && memchr(under.ptr, '*', under.len))
        under = (mcp_str){"", 0};
    while (under.len && under.ptr[under.len - 1] == '/')
        under.len--;
    d->now = (repo_numbers){.large = true};
    d->rc = repo_folders_add(&d->folders, under, path);
    if (d->summary.len + path.len < MAX_NAMES)
        sum_up(d);
    else
        d->unnamed++;
    return d->rc;
}

int repo_patch_file(repo_patch *d, mcp_str path, const repo_entry *a, const repo_entry *b,
                    const mcp_str *work)
{
    bool parts = a && b && (a->mode & 0170000) != (b->mode & 0170000);
    int rc = repo_use_check(&d->j->use);
    if (rc != MCP_OK)
        return rc;
    d->files++;
    if (!d->only_names && d->files > REPO_PATCH_FILES)
        return repo_job_fail(
            d->j, MCP_CODE_INTERNAL,
            "More than %d files differ: append the path of a folder or a file to the URI",
            REPO_PATCH_FILES);
    d->path.len = 0;
    d->work = work;
    d->now = (repo_numbers){0};
    rc = common_buffer_append(&d->path, path.ptr, path.len);
    if (rc != MCP_OK || d->only_names)
        return rc == MCP_OK ? name_file(d, path) : rc;
    if (rc == MCP_OK)
        rc = put_file(d, a, parts ? NULL : b, !parts);
    if (rc == MCP_OK && parts)
        rc = put_file(d, NULL, b, false);
    if (rc == MCP_OK && parts)
        rc = count_both(d, a, b);
    d->omitted = d->optional && (d->omitted || d->full || d->to->len > d->limit);
    d->to->len = d->omitted ? 0 : d->to->len;
    sum_up(d);
    return rc == MCP_OK ? d->rc : rc;
}

int repo_patch_end(repo_patch *d, int rc)
{
    if (!d)
        return rc;
    mcp_allocator alloc = d->j->r->base.alloc;
    if (rc == MCP_OK && !d->j->code)
        rc = finish(d);
    common_buffer_free(&d->path);
    common_buffer_free(&d->summary);
    repo_folders_free(&d->folders);
    common_release(&alloc, d);
    return rc;
}
