/* blame.c: which commit brought each line of a part of a file.
 *
 * Ranges of lines wait at the newest commit that has them. The newest of those commits is looked at: what a
 * parent has too waits there from then on, the rest is the commit's. Only the lines that were asked
 * for are followed, so a page costs what they cost; it can be cancelled between two commits. A file that was
 * renamed begins with its name.
 */
#include "provider.h"

enum {
    LINES = 200,
    MAX_LINES = 2000,
    MAX_FILE = 8 << 20,
    MAX_LOOKED_AT = 20000,
    MAX_RANGES = 8192
};

typedef struct range {
    git_oid commit, blob; /* where it waits, and what the file is there */
    int64_t time;
    size_t final, at, n; /* lines, from 1: as asked for, and there */
    bool done, unfinished;
} range;

typedef struct hunk {
    size_t old_at, old_n, at, n;
} hunk;

typedef struct blaming {
    repo_job *j;
    range *range;
    size_t n;
    hunk *hunk;
    size_t n_hunk, cap_hunk;
    int rc;
} blaming;

/* ---- lines that a parent has too ------------------------------------------------------------------------ */

static int on_hunk(const git_diff_delta *delta, const git_diff_hunk *h, void *user)
{
    blaming *b = user;
    (void)delta;
    if (b->n_hunk == b->cap_hunk) {
        const mcp_allocator *alloc = &b->j->r->alloc;
        size_t cap = b->cap_hunk ? b->cap_hunk * 2 : 64;
        hunk *grown = b->hunk ? alloc->resize(b->hunk, cap * sizeof *grown, alloc->user)
                              : common_alloc(alloc, cap * sizeof *grown);
        if (!grown) {
            b->rc = MCP_ENOMEM;
            return -1;
        }
        b->hunk = grown;
        b->cap_hunk = cap;
    }
    b->hunk[b->n_hunk++] = (hunk){(size_t)h->old_start, (size_t)h->old_lines, (size_t)h->new_start,
                                  (size_t)h->new_lines};
    return 0;
}

static int compare(blaming *b, const git_oid *old, const git_oid *new)
{
    git_diff_options options;
    git_odb_object *o = NULL, *n = NULL;
    git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
    options.flags = GIT_DIFF_FORCE_TEXT;
    options.context_lines = 0;
    b->n_hunk = 0;
    b->rc = repo_object(&b->j->use, old, GIT_OBJECT_BLOB, &o);
    if (b->rc == MCP_OK)
        b->rc = repo_object(&b->j->use, new, GIT_OBJECT_BLOB, &n);
    if (b->rc == MCP_OK && git_odb_object_size(o) <= MAX_FILE &&
        git_diff_buffers(git_odb_object_data(o), git_odb_object_size(o), NULL,
                         git_odb_object_data(n), git_odb_object_size(n), NULL, &options, NULL, NULL,
                         on_hunk, NULL, b) < 0 &&
        b->rc == MCP_OK)
        b->rc = MCP_EIO;
    else if (b->rc == MCP_OK && git_odb_object_size(o) > MAX_FILE)
        b->rc = on_hunk(NULL, &(git_diff_hunk){.new_start = 1, .new_lines = 1 << 30}, b); /* none */
    git_odb_object_free(o);
    git_odb_object_free(n);
    return b->rc;
}

static int add(blaming *b, const range *r)
{
    if (b->n == MAX_RANGES)
        return MCP_ELIMIT;
    b->range[b->n++] = *r;
    return MCP_OK;
}

/* Splits a range that waits at a commit: lines from..to of it are unchanged from the parent's line `old` on. */
static int hand_over(blaming *b, size_t i, size_t from, size_t to, size_t old, const range *parent)
{
    range whole = b->range[i], part;
    size_t end = whole.at + whole.n, begin = whole.at > from ? whole.at : from;
    size_t stop = end < to ? end : to;
    int rc = MCP_OK;
    if (begin >= stop)
        return MCP_OK;
    if (stop < end) { /* what is behind goes on waiting */
        part = whole;
        part.final += stop - whole.at;
        part.at = stop;
        part.n = end - stop;
        rc = add(b, &part);
    }
    if (rc == MCP_OK) {
        part = *parent;
        part.final = whole.final + (begin - whole.at);
        part.at = old + (begin - from);
        part.n = stop - begin;
        rc = add(b, &part);
    }
    if (rc == MCP_OK)
        b->range[i].n = begin - whole.at;
    return rc;
}

static bool waits_at(const range *r, const git_oid *commit)
{
    return !r->done && r->n && git_oid_equal(&r->commit, commit);
}

static int hand_over_unchanged(blaming *b, const git_oid *commit, const range *parent)
{
    size_t at = 1, old = 1;
    int rc = MCP_OK;
    for (size_t h = 0; rc == MCP_OK && h <= b->n_hunk; h++) {
        const hunk *k = h < b->n_hunk ? &b->hunk[h] : NULL;
        size_t to = !k ? SIZE_MAX / 2 : k->n ? k->at : k->at + 1;
        for (size_t i = 0; rc == MCP_OK && i < b->n; i++)
            if (waits_at(&b->range[i], commit))
                rc = hand_over(b, i, at, to, old, parent);
        if (k) {
            at = to + k->n;
            old = k->old_n ? k->old_at + k->old_n : k->old_at + 1;
        }
    }
    return rc;
}

/* ---- one commit -------------------------------------------------------------------------------------------- */

static int look_at_parent(blaming *b, const git_oid *id, range *ret)
{
    repo_commit c;
    repo_entry e = {0};
    int rc = repo_commit_read(&b->j->use, id, &c);
    if (rc != MCP_OK)
        return rc;
    *ret = (range){.commit = *id, .time = c.committer.time};
    rc = repo_tree_find(&b->j->use, &c.tree, b->j->target.path, &e);
    if (rc == MCP_OK && ((e.mode & 0170000) == REPO_MODE_TREE || e.mode == REPO_MODE_COMMIT))
        rc = MCP_ENOTFOUND;
    ret->blob = e.id;
    repo_commit_free(&c);
    return rc;
}

static void move_all(blaming *b, const git_oid *commit, const range *parent)
{
    for (size_t i = 0; i < b->n; i++)
        if (waits_at(&b->range[i], commit)) {
            b->range[i].commit = parent->commit;
            b->range[i].time = parent->time;
        }
}

static int look_at(blaming *b, const range *first)
{
    repo_commit c;
    git_oid commit = first->commit, blob = first->blob;
    range parent[REPO_PARENTS];
    size_t n = 0;
    int rc = repo_commit_read(&b->j->use, &commit, &c);
    if (rc != MCP_OK)
        return rc;
    for (size_t i = 0; rc == MCP_OK && i < c.n_parents; i++) {
        rc = look_at_parent(b, &c.parent[i], &parent[n]);
        if (rc == MCP_OK && git_oid_equal(&parent[n].blob, &blob)) {
            move_all(b, &commit, &parent[n]);
            repo_commit_free(&c);
            return MCP_OK;
        }
        n += rc == MCP_OK;
        rc = rc == MCP_ENOTFOUND ? MCP_OK : rc; /* it has no such file, or the history ends */
    }
    repo_commit_free(&c);
    for (size_t i = 0; rc == MCP_OK && i < n; i++) {
        rc = compare(b, &parent[i].blob, &blob);
        if (rc == MCP_OK)
            rc = hand_over_unchanged(b, &commit, &parent[i]);
    }
    for (size_t i = 0; rc == MCP_OK && i < b->n; i++)
        if (waits_at(&b->range[i], &commit))
            b->range[i].done = true;
    return rc;
}

static const range *newest(const blaming *b)
{
    const range *best = NULL;
    for (size_t i = 0; i < b->n; i++)
        if (!b->range[i].done && b->range[i].n && (!best || b->range[i].time > best->time))
            best = &b->range[i];
    return best;
}

/* Ranges that became empty make room. */
static void compact(blaming *b)
{
    size_t n = 0;
    for (size_t i = 0; i < b->n; i++)
        if (b->range[i].n)
            b->range[n++] = b->range[i];
    b->n = n;
}

static int follow(blaming *b)
{
    const range *r;
    int rc = MCP_OK;
    for (size_t looked_at = 0; rc == MCP_OK && (r = newest(b)); looked_at++) {
        range at = *r;
        if (looked_at == MAX_LOOKED_AT) {
            for (size_t i = 0; i < b->n; i++)
                b->range[i].unfinished = !b->range[i].done;
            return MCP_OK;
        }
        rc = repo_use_check(&b->j->use);
        if (rc == MCP_OK)
            rc = look_at(b, &at);
        compact(b);
    }
    return rc == MCP_ENOTFOUND ? MCP_EIO : rc;
}

/* ---- the answer ----------------------------------------------------------------------------------------------- */

static int put_range(blaming *b, const range *r)
{
    char hex[GIT_OID_HEXSZ + 1];
    mcp_json_writer *w = b->j->json;
    repo_commit c;
    repo_target t = {
        .kind = REPO_KIND_COMMIT, .rev = {hex, GIT_OID_HEXSZ}, .other = {"", 0}, .path = {"", 0}};
    int rc = repo_commit_read(&b->j->use, &r->commit, &c);
    if (rc != MCP_OK)
        return rc;
    git_oid_tostr(hex, sizeof hex, &r->commit);
    mcp_json_begin_object(w);
    mcp_json_key(w, "line"), mcp_json_add_uint(w, r->final);
    mcp_json_key(w, "lines"), mcp_json_add_uint(w, r->n);
    if (r->at != r->final)
        mcp_json_key(w, "lineThere"), mcp_json_add_uint(w, r->at);
    mcp_json_key(w, "commit"), mcp_json_add_string(w, hex);
    if (r->unfinished) /* this commit has it, and maybe an older one */
        mcp_json_key(w, "orOlder"), mcp_json_add_bool(w, true);
    mcp_json_key(w, "author"), repo_put_person(w, &c.author);
    mcp_json_key(w, "subject"), repo_put_text(w, repo_subject(c.message));
    mcp_json_key(w, "uri"), repo_put_uri(w, b->j->r, &t);
    mcp_json_end(w);
    repo_commit_free(&c);
    return MCP_OK;
}

static int put_ranges(blaming *b, size_t line, size_t end)
{
    int rc = MCP_OK;
    mcp_json_key(b->j->json, "ranges"), mcp_json_begin_array(b->j->json);
    while (rc == MCP_OK && line < end) {
        range one = {.final = 0};
        for (size_t i = 0; i < b->n; i++)
            if (b->range[i].final == line)
                one = b->range[i];
        for (size_t i = 0; i < b->n; i++) /* what was split and came to the same commit again */
            if (b->range[i].final == line + one.n && b->range[i].at == one.at + one.n &&
                git_oid_equal(&b->range[i].commit, &one.commit)) {
                one.n += b->range[i].n;
                i = (size_t)-1;
            }
        rc = one.n ? put_range(b, &one) : MCP_EIO;
        line += one.n;
    }
    mcp_json_end(b->j->json);
    return rc;
}

static size_t count_lines(mcp_str text)
{
    size_t n = text.len && text.ptr[text.len - 1] != '\n';
    for (size_t i = 0; i < text.len; i++)
        n += text.ptr[i] == '\n';
    return n;
}

static void put_next(repo_job *j, size_t line)
{
    char number[24];
    repo_target t = j->target;
    size_t at = sizeof number - 1;
    number[at] = 0;
    for (; line; line /= 10)
        number[--at] = (char)('0' + line % 10);
    t.param[REPO_PARAM_LINE] = mcp_str_from(number + at);
    mcp_json_key(j->json, "next"), repo_put_uri(j->json, j->r, &t);
}

static int blame(blaming *b, const range *whole, size_t line, size_t lines, size_t total)
{
    mcp_json_writer *w = b->j->json;
    range first = *whole;
    size_t end = line + lines <= total ? line + lines : total + 1;
    first.final = first.at = line;
    first.n = end > line ? end - line : 0;
    int rc = add(b, &first);
    if (rc == MCP_OK)
        rc = follow(b);
    if (rc == MCP_ELIMIT)
        return repo_job_fail(b->j, MCP_CODE_INTERNAL, "It is too intricate: ask for fewer lines");
    if (rc != MCP_OK)
        return rc;
    mcp_json_begin_object(w);
    mcp_json_key(w, "lines"), mcp_json_add_uint(w, total);
    rc = put_ranges(b, line, end);
    if (end <= total)
        put_next(b->j, end);
    mcp_json_end(w);
    return rc;
}

int repo_run_blame(repo_job *j)
{
    git_oid id;
    git_odb_object *o;
    range whole;
    uint64_t line, lines;
    blaming b = {.j = j};
    if (!repo_job_number(j, REPO_PARAM_LINE, 1, UINT32_MAX, 1, &line) ||
        !repo_job_number(j, REPO_PARAM_LINES, 1, MAX_LINES, LINES, &lines))
        return MCP_OK;
    int rc = repo_rev_commit(&j->use, j->target.rev, &id, &j->fixed);
    if (rc == MCP_OK)
        rc = look_at_parent(&b, &id, &whole);
    if (rc == MCP_OK)
        rc = repo_object(&j->use, &whole.blob, GIT_OBJECT_BLOB, &o);
    if (rc != MCP_OK)
        return rc;
    size_t total = count_lines(repo_object_text(o)), size = git_odb_object_size(o);
    git_odb_object_free(o);
    if (size > MAX_FILE)
        return repo_job_fail(j, MCP_CODE_INTERNAL, "Only files of up to %d bytes can be blamed",
                             MAX_FILE);
    b.range = common_alloc(&j->r->alloc, MAX_RANGES * sizeof *b.range);
    rc = b.range ? blame(&b, &whole, (size_t)line, (size_t)lines, total) : MCP_ENOMEM;
    common_release(&j->r->alloc, b.range);
    common_release(&j->r->alloc, b.hunk);
    return rc;
}
