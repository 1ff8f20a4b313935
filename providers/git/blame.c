/* blame.c: finds the commit that last changed each line of a part of a file.
 *
 * Ranges of lines are queued at the newest commit known to contain them. The newest of these
 * commits is examined next: lines that a parent also has are queued at the parent; the others
 * belong to the commit. Only the requested lines are followed, so the cost of a page depends on its
 * lines alone. The work can be cancelled between two commits. The history of a renamed file begins
 * at the rename.
 */
#include "provider.h"

enum {
    LINES = 200,
    MAX_LINES = 2000,
    MAX_LOOKED_AT = 20000,
    MAX_RANGES = 8192,
    MAX_LINE = 1000, /* bytes of a line in the answer */
};

typedef struct range {
    git_oid commit, blob; /* the commit at which the range is queued, and the file's blob there */
    unsigned kind;        /* file type, from the mode: a file never matches a link */
    int64_t time;
    size_t final, at, n; /* first line (from 1) in the requested revision and at `commit`;
                          * number of lines */
    bool done, unfinished;
} range;

typedef struct hunk {
    size_t old_at, old_n, at, n;
} hunk;

typedef struct blaming {
    repo_job *j;
    range *range;
    size_t n;
    mcp_str rest; /* the text of the file from the next line of the answer on */
    hunk *hunk;
    size_t n_hunk, cap_hunk;
    int rc;
} blaming;

/* ---- unchanged lines ------------------------------------------------------------------------- */

static int on_hunk(const git_diff_delta *delta, const git_diff_hunk *h, void *user)
{
    blaming *b = user;
    (void)delta;
    if (b->n_hunk == b->cap_hunk) {
        const mcp_allocator *alloc = &b->j->r->base.alloc;
        size_t cap = b->cap_hunk ? b->cap_hunk * 2 : 64;
        hunk *grown = b->hunk ? alloc->resize(b->hunk, cap * sizeof(*grown), alloc->user)
                              : common_alloc(alloc, cap * sizeof(*grown));
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
    static const git_diff_hunk everything = {.new_start = 1, .new_lines = 1 << 30};
    git_odb_object *o = NULL, *n = NULL;
    size_t size = 0;
    b->n_hunk = 0;
    b->rc = repo_blob_size(&b->j->use, old, &size);
    if (b->rc == MCP_OK && size > REPO_COMPARE_MAX)
        return on_hunk(NULL, &everything, b) == 0 ? MCP_OK : b->rc;
    if (b->rc == MCP_OK)
        b->rc = repo_object(&b->j->use, old, GIT_OBJECT_BLOB, &o);
    if (b->rc == MCP_OK)
        b->rc = repo_object(&b->j->use, new, GIT_OBJECT_BLOB, &n);
    int rc = b->rc == MCP_OK
                 ? repo_compare(repo_object_text(o), repo_object_text(n), 0, on_hunk, NULL, b)
                 : MCP_OK;
    if (rc == MCP_ELIMIT) /* too large to compare: treats all lines as changed */
        on_hunk(NULL, &everything, b);
    else if (rc != MCP_OK && b->rc == MCP_OK)
        b->rc = rc;
    git_odb_object_free(o);
    git_odb_object_free(n);
    return b->rc == MCP_ENOTFOUND ? MCP_EIO : b->rc;
}

static int add(blaming *b, const range *r)
{
    if (b->n == MAX_RANGES)
        return MCP_ELIMIT;
    b->range[b->n++] = *r;
    return MCP_OK;
}

/* Splits a queued range. Its lines from..to are unchanged; in the parent they begin at
 * the line `old`. */
static int hand_over(blaming *b, size_t i, size_t from, size_t to, size_t old, const range *parent)
{
    range whole = b->range[i], part;
    size_t end = whole.at + whole.n, begin = whole.at > from ? whole.at : from;
    size_t stop = end < to ? end : to;
    int rc = MCP_OK;
    if (begin >= stop)
        return MCP_OK;
    if (stop < end) { /* the lines after the unchanged ones stay queued */
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

/* A gap of unchanged lines: before the first hunk, between two hunks, or after the last. `old` is
 * the parent's first line. */
typedef struct gap {
    size_t from, to, old;
} gap;

static gap gap_of(const blaming *b, size_t i)
{
    gap g = {1, SIZE_MAX / 2, 1};
    if (i) {
        const hunk *k = &b->hunk[i - 1];
        g.from = k->n ? k->at + k->n : k->at + 1;
        g.old = k->old_n ? k->old_at + k->old_n : k->old_at + 1;
    }
    if (i < b->n_hunk)
        g.to = b->hunk[i].n ? b->hunk[i].at : b->hunk[i].at + 1;
    return g;
}

/* Returns the first gap that ends after the line. */
static gap gap_at(const blaming *b, size_t line)
{
    size_t low = 0, high = b->n_hunk;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (gap_of(b, middle).to > line)
            high = middle;
        else
            low = middle + 1;
    }
    return gap_of(b, low);
}

/* Queues unchanged lines at the parent. The rest of a split range is appended to the queue and
 * examined in the same loop. */
static int hand_over_unchanged(blaming *b, const git_oid *commit, const range *parent)
{
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < b->n; i++)
        if (waits_at(&b->range[i], commit)) {
            gap g = gap_at(b, b->range[i].at);
            rc = hand_over(b, i, g.from, g.to, g.old, parent);
        }
    return rc;
}

/* ---- one commit ------------------------------------------------------------------------------ */

/* Finds the file at a commit. *has becomes whether the file exists. */
static int look_at_file(blaming *b, const git_oid *id, range *ret, bool *has)
{
    repo_commit c;
    repo_entry e = {0};
    int rc = repo_commit_read(&b->j->use, id, &c);
    if (rc != MCP_OK)
        return rc;
    *ret = (range){.commit = *id, .time = c.committer.time};
    rc = repo_tree_find(&b->j->use, &c.tree, b->j->target.path, &e);
    *has = rc == MCP_OK && (e.mode & 0170000) != REPO_MODE_TREE && e.mode != REPO_MODE_COMMIT;
    ret->blob = e.id;
    ret->kind = e.mode & 0170000;
    repo_commit_free(&c);
    return rc == MCP_ENOTFOUND ? MCP_OK : rc;
}

static void move_all(blaming *b, const git_oid *commit, const range *parent)
{
    for (size_t i = 0; i < b->n; i++)
        if (waits_at(&b->range[i], commit)) {
            b->range[i].commit = parent->commit;
            b->range[i].time = parent->time;
        }
}

/* Finds the parents that have the file. If a parent has the same blob, only the first such
 * parent is returned. */
static int look_at_parents(blaming *b, const repo_commit *c, const range *at, range *parent,
                           size_t *ret_n)
{
    size_t n = 0;
    bool is_same = false, has = false;
    for (size_t i = 0; i < c->n_parents && !is_same; i++) {
        git_oid id = repo_commit_parent(c, i);
        int rc = look_at_file(b, &id, &parent[n], &has);
        if (rc == MCP_ENOTFOUND && repo_layout_is_shallow(b->j->use.layout)) {
            b->j->fixed = false; /* the parent may be fetched later */
            continue;
        }
        if (rc != MCP_OK)
            return rc;
        has = has && parent[n].kind == at->kind;
        is_same = has && git_oid_equal(&parent[n].blob, &at->blob);
        if (is_same)
            parent[0] = parent[n];
        n = is_same ? 1 : n + has;
    }
    *ret_n = n;
    return MCP_OK;
}

static int hand_to_parents(blaming *b, const range *at, const range *parent, size_t n)
{
    int rc = MCP_OK;
    if (n == 1 && git_oid_equal(&parent->blob, &at->blob)) {
        move_all(b, &at->commit, parent);
        return MCP_OK;
    }
    for (size_t i = 0; rc == MCP_OK && i < n; i++) {
        rc = compare(b, &parent[i].blob, &at->blob);
        if (rc == MCP_OK)
            rc = hand_over_unchanged(b, &at->commit, &parent[i]);
        if (rc == MCP_OK)
            rc = repo_use_check(&b->j->use);
    }
    for (size_t i = 0; rc == MCP_OK && i < b->n; i++)
        if (waits_at(&b->range[i], &at->commit))
            b->range[i].done = true;
    return rc;
}

static int look_at(blaming *b, const range *at)
{
    enum { FEW = 4 };
    const mcp_allocator *alloc = &b->j->r->base.alloc;
    range few[FEW], *parent = few;
    repo_commit c;
    size_t n;
    int rc = repo_commit_read(&b->j->use, &at->commit, &c);
    if (rc != MCP_OK)
        return rc;
    if (c.n_parents > FEW && !(parent = common_alloc(alloc, c.n_parents * sizeof(*parent))))
        rc = MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = look_at_parents(b, &c, at, parent, &n);
    if (rc == MCP_OK)
        rc = hand_to_parents(b, at, parent, n);
    if (parent != few)
        common_release(alloc, parent);
    repo_commit_free(&c);
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

/* Removes empty ranges. */
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
        rc = repo_use_check(&b->j->use);
        if (looked_at == MAX_LOOKED_AT || (looked_at && rc == MCP_ETIMEOUT)) {
            for (size_t i = 0; i < b->n; i++)
                b->range[i].unfinished = !b->range[i].done;
            b->j->fixed = b->j->fixed && rc == MCP_OK; /* a repeated request may find more */
            return MCP_OK;
        }
        if (rc == MCP_OK)
            rc = look_at(b, &at);
        compact(b);
    }
    return rc == MCP_ENOTFOUND ? MCP_EIO : rc;
}

/* ---- answer ---------------------------------------------------------------------------------- */

/* Adds the members that only a caller who may read the commit may see. */
static void put_commit(const repo_job *j, const range *r, const repo_commit *c,
                       const repo_target *t)
{
    mcp_json_writer *w = j->json;
    if (r->at != r->final)
        mcp_json_put_uint(w, "lineThere", r->at);
    mcp_json_put_str(w, "commit", t->rev);
    if (r->unfinished) /* this commit has the lines, but an older commit may have them too */
        mcp_json_put_bool(w, "orOlder", true);
    mcp_json_key(w, "author"), repo_put_person(w, &c->author);
    mcp_json_key(w, "subject"), repo_put_subject(w, c->message);
    repo_put_encoding(w, c);
    mcp_json_key(w, "uri"), repo_put_uri(w, j->r, t);
}

/* Takes the next line of the file. */
static mcp_str take_line(blaming *b)
{
    const char *end = b->rest.len ? memchr(b->rest.ptr, '\n', b->rest.len) : NULL;
    mcp_str line = {b->rest.ptr, end ? (size_t)(end - b->rest.ptr) : b->rest.len};
    size_t used = line.len + (end != NULL);
    b->rest = (mcp_str){b->rest.ptr + used, b->rest.len - used};
    return line;
}

/* Adds the lines of a range, as text of any encoding; very long ones are truncated. */
static void put_text(blaming *b, size_t n)
{
    mcp_json_put_array(b->j->json, "text");
    for (; n; n--) {
        mcp_str line = take_line(b);
        if (line.len && line.ptr[line.len - 1] == '\r')
            line.len--;
        if (line.len > MAX_LINE)
            for (line.len = MAX_LINE;
                 ((unsigned char)line.ptr[line.len] & 0xc0) == 0x80 && line.len;)
                line.len--;
        repo_put_text(b->j->json, line);
    }
    mcp_json_end(b->j->json);
}

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
    rc = repo_commit_decode(&c, &b->j->r->base.alloc);
    git_oid_tostr(hex, sizeof(hex), &r->commit);
    mcp_json_begin_object(w);
    mcp_json_put_uint(w, "line", r->final);
    mcp_json_put_uint(w, "lines", r->n);
    if (repo_job_may(b->j, &t))
        put_commit(b->j, r, &c, &t);
    put_text(b, r->n);
    mcp_json_end(w);
    repo_commit_free(&c);
    return rc;
}

static int put_ranges(blaming *b, size_t line, size_t end)
{
    int rc = MCP_OK;
    mcp_json_put_array(b->j->json, "ranges");
    while (rc == MCP_OK && line < end) {
        range one = {.final = 0};
        for (size_t i = 0; i < b->n; i++)
            if (b->range[i].final == line)
                one = b->range[i];
        for (size_t i = 0; i < b->n; i++) /* merges adjacent ranges of the same commit */
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
    size_t at = sizeof(number) - 1;
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
        return repo_job_fail(b->j, MCP_CODE_INTERNAL,
                             "The history is too complex: ask for fewer lines");
    if (rc != MCP_OK)
        return rc;
    for (size_t i = 1; i < line && b->rest.len; i++)
        (void)take_line(b);
    mcp_json_begin_object(w);
    mcp_json_put_uint(w, "lines", total);
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
    size_t size = 0;
    bool has = false;
    blaming b = {.j = j};
    if (!repo_job_number(j, REPO_PARAM_LINE, 1, UINT32_MAX, 1, &line) ||
        !repo_job_number(j, REPO_PARAM_LINES, 1, MAX_LINES, LINES, &lines))
        return MCP_OK;
    int rc = repo_rev_commit(&j->use, j->target.rev, &id, &j->fixed);
    if (rc == MCP_OK)
        rc = look_at_file(&b, &id, &whole, &has);
    if (rc == MCP_OK)
        rc = has ? repo_blob_size(&j->use, &whole.blob, &size) : MCP_ENOTFOUND;
    if (rc == MCP_OK && size > REPO_COMPARE_MAX)
        return repo_job_fail(j, MCP_CODE_INTERNAL,
                             "Only files of up to %d bytes can be blamed: read its log instead",
                             REPO_COMPARE_MAX);
    if (rc == MCP_OK)
        rc = repo_object(&j->use, &whole.blob, GIT_OBJECT_BLOB, &o);
    if (rc != MCP_OK)
        return rc;
    b.rest = repo_object_text(o);
    size_t total = count_lines(b.rest);
    b.range = common_alloc(&j->r->base.alloc, MAX_RANGES * sizeof(*b.range));
    rc = b.range ? blame(&b, &whole, (size_t)line, (size_t)lines, total) : MCP_ENOMEM;
    common_release(&j->r->base.alloc, b.range);
    common_release(&j->r->base.alloc, b.hunk);
    git_odb_object_free(o);
    return rc;
}
