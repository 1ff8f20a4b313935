/* diff.c: the difference between two revisions as a patch.
 *
 * Trees are compared entry by entry, so that entries that are the same on both sides are never
 * read. libgit2 compares only the text of two files; given a repository, it would obey attributes
 * and configuration. When the patch reaches its size limit, further files are only named, each with
 * the URI of its own difference.
 */
#include "expr.h"
#include "provider.h"
#include "range.h"

#include <stdio.h>

#include "text.h"

enum { MAX_FILES = 5000, MAX_LINES = 400000, AROUND = 3, BINARY_LOOK = 8000 };

typedef struct repo_patch {
    repo_job *j;
    mcp_str rev[2];
    char base[GIT_OID_HEXSZ + 1]; /* the merge base that replaces rev[0] in a three-dot range */
    bool moves;                   /* the revisions may name other commits later */
    common_buffer path;
    size_t files;
    const repo_entry *side[2]; /* the file's entry on each side; NULL if it does not exist */
    const mcp_str *work;       /* the second side's text if it is not a git
                                * object, otherwise NULL */
    bool named;                /* the file names of the patch are already written */
    int rc;
} differing;

/* ---- writing --------------------------------------------------------------------------------- */

static int put(differing *d, const void *bytes, size_t len)
{
    if (d->rc == MCP_OK)
        d->rc = common_buffer_append(&d->j->text, bytes, len);
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
static void put_path(differing *d, const char *side)
{
    char room[8];
    bool quoted = false;
    const common_buffer *p = &d->path;
    bool utf8 = common_text_utf8((mcp_str){p->len ? p->ptr : "", p->len});
    for (size_t i = 0; i < p->len; i++)
        quoted = quoted || escape_of(p->ptr[i], utf8, room);
    put_string(d, quoted ? "\"" : "");
    put_string(d, side);
    for (size_t i = 0; i < p->len; i++) {
        const char *escape = escape_of(p->ptr[i], utf8, room);
        if (escape)
            put_string(d, escape);
        else
            put(d, &p->ptr[i], 1);
    }
    put_string(d, quoted ? "\"" : "");
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

static int on_hunk(const git_diff_delta *delta, const git_diff_hunk *hunk, void *user)
{
    differing *d = user;
    (void)delta;
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
    if (line->origin == ' ' || line->origin == '+' || line->origin == '-')
        put(d, &line->origin, 1);
    put_content(d, (mcp_str){line->content, line->content_len});
    return d->rc == MCP_OK && d->j->text.len <= d->j->r->max_bytes ? 0 : -1;
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

static int put_contents(differing *d, const side *s)
{
    size_t before = d->j->text.len;
    if (is_binary(s[0].bytes) || is_binary(s[1].bytes)) {
        put_name(d, "Binary files ", d->side[0], "a/");
        put_name(d, " and ", d->side[1], "b/");
        put_string(d, " differ\n");
        return d->rc;
    }
    d->named = false;
    if (!s[0].large && !s[1].large &&
        repo_compare(s[0].bytes, s[1].bytes, AROUND, on_hunk, on_line, d) == MCP_OK)
        return d->rc;
    d->j->text.len = before;
    put_left_out(d, d->files == 1 ? "# The difference is too long: " : "# Left out here, see ");
    return d->rc;
}

static int put_file(differing *d, const repo_entry *a, const repo_entry *b)
{
    side s[2] = {{0}, {0}};
    int rc = repo_use_check(&d->j->use);
    if (rc != MCP_OK)
        return rc;
    if (++d->files > MAX_FILES)
        return repo_job_fail(
            d->j, MCP_CODE_INTERNAL,
            "More than %d files differ: append the path of a folder or a file to the URI",
            MAX_FILES);
    d->side[0] = a;
    d->side[1] = b;
    put_header(d, a, b);
    if (a && b && git_oid_equal(&a->id, &b->id))
        return d->rc;
    if (d->j->text.len >= d->j->r->max_bytes) {
        put_left_out(d, "# Left out here, see ");
        return d->rc;
    }
    rc = side_open(d, a, &s[0]);
    if (rc == MCP_OK && b && d->work)
        s[1].bytes = *d->work;
    else if (rc == MCP_OK)
        rc = side_open(d, b, &s[1]);
    if (rc == MCP_OK)
        rc = put_contents(d, s);
    git_odb_object_free(s[0].object);
    git_odb_object_free(s[1].object);
    return rc;
}

/* Returns the entry of a side, or NULL if the caller may not read the entry or its difference. */
static const repo_entry *seen_side(differing *d, const repo_entry *e, mcp_str rev)
{
    repo_target t = {
        .kind = REPO_KIND_FILE, .rev = rev, .other = {"", 0}, .path = {d->path.ptr, d->path.len}};
    repo_target difference = d->j->target;
    difference.path = t.path;
    return e && repo_job_may(d->j, &t) && repo_job_may(d->j, &difference) ? e : NULL;
}

/* Writes the difference of an entry. If the file type changed (for example, from file to link), it
 * is a removal and an addition, as in git. */
static int put_files(differing *d, const repo_entry *a, const repo_entry *b)
{
    a = seen_side(d, a, d->rev[0]);
    b = seen_side(d, b, d->rev[1]);
    if (!a && !b)
        return MCP_OK;
    if (!a || !b || (a->mode & 0170000) == (b->mode & 0170000))
        return put_file(d, a, b);
    int rc = put_file(d, a, NULL);
    return rc == MCP_OK && !d->j->code ? put_file(d, NULL, b) : rc;
}

/* ---- trees ----------------------------------------------------------------------------------- */

static int compare_trees(differing *d, const git_oid *a, const git_oid *b, int depth);

/* Compares two entries of the same kind, of which one may be NULL. */
static int compare_entries(differing *d, const repo_entry *a, const repo_entry *b, int depth)
{
    const repo_entry *e = a ? a : b;
    size_t before = d->path.len;
    if (a && b && a->mode == b->mode && git_oid_equal(&a->id, &b->id))
        return MCP_OK;
    int rc = before && e->name.len ? common_buffer_append(&d->path, "/", 1) : MCP_OK;
    if (rc == MCP_OK)
        rc = common_buffer_append(&d->path, e->name.ptr, e->name.len);
    if (rc == MCP_OK && e->mode == REPO_MODE_TREE)
        rc = compare_trees(d, a ? &a->id : NULL, b ? &b->id : NULL, depth + 1);
    else if (rc == MCP_OK)
        rc = put_files(d, a, b);
    d->path.len = before;
    return rc;
}

static int tree_open(differing *d, const git_oid *id, git_odb_object **ret, mcp_str *rest)
{
    *ret = NULL;
    *rest = (mcp_str){"", 0};
    int rc = id ? repo_object(&d->j->use, id, GIT_OBJECT_TREE, ret) : MCP_OK;
    if (*ret)
        *rest = repo_object_text(*ret);
    return rc == MCP_ENOTFOUND ? MCP_EIO : rc;
}

static int compare_trees(differing *d, const git_oid *a, const git_oid *b, int depth)
{
    git_odb_object *object[2] = {NULL, NULL};
    mcp_str rest[2];
    repo_entry e[2];
    bool has[2];
    if (depth > REPO_DEPTH_MAX)
        return repo_job_fail(d->j, MCP_CODE_INTERNAL,
                             "Folders are nested more than %d levels deep: ask for another path",
                             REPO_DEPTH_MAX);
    int rc = repo_use_check(&d->j->use); /* a tree that contains only trees has no file at
                                          * which to check */
    if (rc == MCP_OK)
        rc = tree_open(d, a, &object[0], &rest[0]);
    if (rc == MCP_OK)
        rc = tree_open(d, b, &object[1], &rest[1]);
    for (size_t i = 0; rc == MCP_OK && i < 2; i++)
        has[i] = repo_tree_next(&rest[i], &e[i]);
    while (rc == MCP_OK && !d->j->code && (has[0] || has[1])) {
        int order = !has[0]   ? 1
                    : !has[1] ? -1
                              : repo_entry_compare(e[0].name, e[0].mode == REPO_MODE_TREE,
                                                   e[1].name, e[1].mode == REPO_MODE_TREE);
        rc = compare_entries(d, order <= 0 ? &e[0] : NULL, order >= 0 ? &e[1] : NULL, depth);
        if (order <= 0)
            has[0] = repo_tree_next(&rest[0], &e[0]);
        if (order >= 0)
            has[1] = repo_tree_next(&rest[1], &e[1]);
    }
    git_odb_object_free(object[0]);
    git_odb_object_free(object[1]);
    return rc;
}

/* Finds the entry at the path on one side. For a file, the entry's name is the whole path. */
static int find_side(differing *d, mcp_str rev, repo_entry *e, bool *has, bool *fixed)
{
    mcp_str path = d->j->target.path;
    int rc = repo_find(&d->j->use, rev, (mcp_str){"", 0}, e, fixed);
    if (rc != MCP_OK)
        return rc;
    rc = repo_find(&d->j->use, rev, path, e, fixed);
    repo_target t = {.kind = REPO_KIND_FILE, .rev = rev, .other = {"", 0}, .path = path};
    *has = rc == MCP_OK && (e->mode == REPO_MODE_TREE || repo_job_may(d->j, &t));
    e->name = path;
    return rc == MCP_ENOTFOUND ? MCP_OK : rc;
}

static int compare(differing *d)
{
    repo_entry e[2];
    bool has[2], fixed[2];
    int rc = find_side(d, d->rev[0], &e[0], &has[0], &fixed[0]);
    if (rc == MCP_OK)
        rc = find_side(d, d->rev[1], &e[1], &has[1], &fixed[1]);
    if (rc != MCP_OK)
        return rc;
    if (!has[0] && !has[1])
        return MCP_ENOTFOUND;
    d->j->fixed = fixed[0] && fixed[1] && !d->moves;
    bool apart = has[0] && has[1] && (e[0].mode == REPO_MODE_TREE) != (e[1].mode == REPO_MODE_TREE);
    if (!apart)
        return compare_entries(d, has[0] ? &e[0] : NULL, has[1] ? &e[1] : NULL, 0);
    rc = compare_entries(d, &e[0], NULL, 0);
    return rc == MCP_OK ? compare_entries(d, NULL, &e[1], 0) : rc;
}

/* Sets the revisions of both sides. In a three-dot range, the first side is the merge base. */
static int find_revs(differing *d)
{
    repo_range range;
    git_oid a, b, base;
    bool fixed;
    d->rev[0] = d->j->target.rev;
    d->rev[1] = d->j->target.other;
    if (!repo_range_split(d->j->target.rev, &range))
        return MCP_OK;
    d->rev[1] = range.to; /* this is a three-dot range; the URI parser splits two-dot ranges */
    int rc = repo_rev_commit(&d->j->use, range.from, &a, &fixed);
    d->moves = !fixed;
    if (rc == MCP_OK)
        rc = repo_rev_commit(&d->j->use, range.to, &b, &fixed);
    if (rc == MCP_OK)
        rc = repo_range_base(&d->j->use, &a, &b, &base);
    if (rc == MCP_ELIMIT && !d->j->use.too_large)
        return repo_job_fail(
            d->j, MCP_CODE_INTERNAL,
            "The merge base is more than 20000 commits away: name the commit instead");
    if (rc == MCP_OK)
        d->rev[0] = mcp_str_from(git_oid_tostr(d->base, sizeof(d->base), &base));
    return rc;
}

int repo_run_diff(repo_job *j)
{
    differing d = {.j = j};
    common_buffer_init(&d.path, &j->r->base.alloc);
    j->has_text = true;
    j->mime = "text/x-diff";
    int rc = find_revs(&d);
    if (rc == MCP_OK && !j->code)
        rc = compare(&d);
    common_buffer_free(&d.path);
    return rc;
}

/* ---- working tree ---------------------------------------------------------------------------- */

int repo_patch_begin(repo_job *j, repo_patch **ret)
{
    differing *d = common_alloc(&j->r->base.alloc, sizeof(*d));
    if (!d)
        return MCP_ENOMEM;
    *d = (differing){.j = j};
    common_buffer_init(&d->path, &j->r->base.alloc);
    j->has_text = true;
    j->mime = "text/x-diff";
    *ret = d;
    return MCP_OK;
}

int repo_patch_file(repo_patch *d, mcp_str path, const repo_entry *a, const repo_entry *b,
                    const mcp_str *work)
{
    d->path.len = 0;
    d->work = work;
    int rc = common_buffer_append(&d->path, path.ptr, path.len);
    return rc == MCP_OK ? put_file(d, a, b) : rc;
}

void repo_patch_end(repo_patch *d)
{
    if (!d)
        return;
    mcp_allocator alloc = d->j->r->base.alloc;
    common_buffer_free(&d->path);
    common_release(&alloc, d);
}
