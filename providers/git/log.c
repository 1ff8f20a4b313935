/* log.c: the history of a revision, or of a path in it, in pages.
 *
 * A position (?from=) is the set of commits from which the walk continues, so that a page costs
 * only the commits that it examines. If commit times are not in order, the walk may meet a commit
 * that a previous page has examined. Such a commit is not older than all examined ones. Therefore
 * the position contains the lowest examined time, and the few commits with exactly this time, which
 * are common, are named. If the walk meets another commit that is not older, or if the position is
 * too long for a URI, the walk starts again from the beginning and skips as many commits as were
 * examined (?offset=).
 *
 * For a range, the commits at which the walk has to stop are found first for every page; they are
 * marked as already seen.
 *
 * A merge that took a path unchanged from one parent is omitted, and only that parent is followed,
 * as in git.
 */
#include "expr.h"
#include "filter.h"
#include "provider.h"
#include "range.h"
#include "walk.h"

#include <stdio.h>

enum {
    LIMIT = 50,
    MAX_LIMIT = 1000,
    MAX_LOOKED_AT = 20000,
    MAX_FILES = 1000,
    TIES = 32,
    SHORT = 12,          /* digits of an id in a position, if they are unambiguous */
    MAX_POSITION = 6000, /* limit of the encoded lengths of a position and the path together */
};

typedef struct logging {
    repo_job *j;
    repo_walk walk;
    git_oid begin, from; /* `from` is the start of a range */
    bool is_range, parted;
    repo_filter filter;
    common_buffer ends;              /* ids (20 bytes each) of commits at which the walk stops */
    uint64_t files;                  /* limit of the files that are named of each commit */
    uint64_t limit, skip, looked_at; /* skip: number of commits that previous pages examined */
    int64_t low, bound;              /* lowest examined time; its value at the beginning
                                      * of the page */
    git_oid tie[TIES];               /* examined commits that have the time `low` */
    size_t n_ties;                   /* TIES + 1 if there are more than TIES */
    bool resumed, ties_named;        /* the page starts at a position; the position
                                      * names the ties */
    bool unsure;                     /* met a commit that a previous page may have examined */
    git_oid listed[MAX_LIMIT];
    size_t n_listed;
} logging;

/* ---- commits --------------------------------------------------------------------------------- */

/* Finds the object at the path in this commit. */
static int look(logging *l, const repo_commit *c, repo_step *step)
{
    repo_entry e = {0};
    step->id = c->id;
    step->time = c->committer.time;
    step->mode = 0;
    if (!l->j->target.path.len)
        return MCP_OK;
    int rc = repo_tree_find(&l->j->use, &c->tree, l->j->target.path, &e);
    step->mode = e.mode;
    step->at = e.id;
    return rc == MCP_ENOTFOUND ? MCP_OK : rc;
}

static int look_by_id(logging *l, const git_oid *id, repo_step *step)
{
    repo_commit c;
    int rc = repo_commit_read(&l->j->use, id, &c);
    if (rc != MCP_OK)
        return rc;
    rc = look(l, &c, step);
    repo_commit_free(&c);
    return rc;
}

static bool same(const repo_step *a, const repo_step *b)
{
    return a->mode == b->mode && (!a->mode || git_oid_equal(&a->at, &b->at));
}

/* Finds the parents to follow: all that exist, or only the first that has the same object
 * at the path. */
static int look_at_parents(logging *l, const repo_step *step, const repo_commit *c,
                           repo_step *parent, size_t *ret_n, bool *ret_same)
{
    size_t n = 0;
    *ret_same = false;
    for (size_t i = 0; i < c->n_parents && !*ret_same; i++) {
        git_oid id = repo_commit_parent(c, i);
        int rc = look_by_id(l, &id, &parent[n]);
        if (rc == MCP_ENOTFOUND && repo_layout_is_shallow(l->j->use.layout)) {
            l->j->fixed = false; /* the parent may be fetched later */
            continue;
        }
        if (rc != MCP_OK)
            return rc;
        *ret_same = l->j->target.path.len && same(step, &parent[n]);
        if (*ret_same)
            parent[0] = parent[n];
        n = *ret_same ? 1 : n + 1;
    }
    *ret_n = n;
    return MCP_OK;
}

/* Queues a commit, unless it and all its ancestors are too old to be shown. */
static int push(logging *l, const repo_step *step)
{
    if (step->time < l->filter.since)
        return MCP_OK;
    bool late = step->time > l->bound || (step->time == l->bound && !l->ties_named);
    l->unsure = l->unsure || (l->resumed && late && !repo_walk_seen(&l->walk, &step->id));
    return repo_walk_push(&l->walk, step);
}

/* Queues the parents. *is_listed becomes whether the commit changed the path. */
static int follow(logging *l, const repo_step *step, const repo_commit *c, bool *is_listed)
{
    enum { FEW = 4 };
    const mcp_allocator *alloc = &l->j->r->base.alloc;
    repo_step few[FEW], *parent = few;
    bool is_same;
    size_t n;
    if (c->n_parents > FEW && !(parent = common_alloc(alloc, c->n_parents * sizeof(*parent))))
        return MCP_ENOMEM;
    int rc = look_at_parents(l, step, c, parent, &n, &is_same);
    if (rc == MCP_OK)
        *is_listed = !l->j->target.path.len || (!is_same && (n || step->mode));
    for (size_t i = 0; rc == MCP_OK && i < n; i++)
        rc = push(l, &parent[i]);
    if (parent != few)
        common_release(alloc, parent);
    return rc;
}

static void remember_time(logging *l, const repo_step *step)
{
    if (step->time > l->low)
        return;
    l->n_ties = step->time < l->low ? 0 : l->n_ties;
    l->low = step->time;
    if (l->n_ties < TIES)
        l->tie[l->n_ties] = step->id;
    l->n_ties += l->n_ties <= TIES;
}

static int visit(logging *l, const repo_step *step)
{
    repo_commit c;
    bool is_listed = false;
    int rc = repo_commit_read(&l->j->use, &step->id, &c);
    if (rc != MCP_OK)
        return rc;
    rc = follow(l, step, &c, &is_listed);
    if (rc == MCP_OK && is_listed && l->looked_at >= l->skip &&
        repo_filter_passes(&l->filter, &c, &l->j->r->base.alloc, &rc) &&
        repo_job_may_commit(l->j, &step->id))
        l->listed[l->n_listed++] = step->id;
    l->looked_at++;
    remember_time(l, step);
    repo_commit_free(&c);
    return rc;
}

/* ---- positions: LOW~ID.ID or LOW~ID.ID~TIE.TIE ----------------------------------------------- */

static int no_position(logging *l)
{
    return repo_job_fail(l->j, MCP_CODE_INVALID_PARAMS,
                         "from is not a position in a log: take it from `next`");
}

/* Parses the next id, which may be abbreviated. */
static bool take_id(logging *l, mcp_str *rest, git_oid *id)
{
    char hex[GIT_OID_HEXSZ + 1];
    git_oid beginning;
    size_t n = 0;
    while (n < rest->len && n < GIT_OID_HEXSZ && strchr("0123456789abcdef", rest->ptr[n]))
        n++;
    if (n < SHORT)
        return false;
    memcpy(hex, rest->ptr, n);
    hex[n] = 0;
    *rest = (mcp_str){rest->ptr + n, rest->len - n};
    return git_oid_fromstrn(&beginning, hex, n) == 0 &&
           git_odb_exists_prefix(id, l->j->use.odb, &beginning, n) == 0;
}

static bool skip(mcp_str *rest, char c)
{
    bool is = rest->len && *rest->ptr == c;
    *rest = (mcp_str){rest->ptr + is, rest->len - is};
    return is;
}

static int begin_at(logging *l, const git_oid *id)
{
    repo_step step;
    int rc = look_by_id(l, id, &step);
    return rc == MCP_OK && step.time >= l->filter.since ? repo_walk_push(&l->walk, &step) : rc;
}

static int begin_from(logging *l, mcp_str rest)
{
    git_oid id;
    int rc = MCP_OK;
    size_t n = 0;
    for (l->low = 0; n < rest.len && n < 15 && rest.ptr[n] >= '0' && rest.ptr[n] <= '9'; n++)
        l->low = l->low * 10 + (rest.ptr[n] - '0');
    rest = (mcp_str){rest.ptr + n, rest.len - n};
    if (!n || !l->skip || !skip(&rest, '~'))
        return no_position(l);
    l->bound = l->low;
    l->n_ties = TIES + 1;
    l->resumed = true;
    l->looked_at = l->skip;
    do {
        if (!take_id(l, &rest, &id))
            return no_position(l);
        rc = begin_at(l, &id);
    } while (rc == MCP_OK && skip(&rest, '.'));
    if (rc == MCP_OK && skip(&rest, '~')) {
        l->n_ties = 0;
        l->ties_named = true;
        do {
            if (l->n_ties == TIES || !take_id(l, &rest, &l->tie[l->n_ties]))
                return no_position(l);
            rc = repo_walk_mark(&l->walk, &l->tie[l->n_ties++]);
        } while (rc == MCP_OK && skip(&rest, '.'));
    }
    if (rc == MCP_ENOTFOUND || (rc == MCP_OK && rest.len))
        return no_position(l);
    return rc;
}

static size_t put_id(logging *l, char *to, char before, const git_oid *id)
{
    git_oid found;
    to[0] = before;
    git_oid_fmt(to + 1, id);
    bool is_enough = git_odb_exists_prefix(&found, l->j->use.odb, id, SHORT) == 0;
    return 1 + (is_enough ? SHORT : GIT_OID_HEXSZ);
}

/* Writes the position and empties the heap. Returns 0 if the position is too long. */
static size_t put_position(logging *l, char to[MAX_POSITION])
{
    repo_step step;
    size_t path = 3 * l->j->target.path.len;
    size_t room = path < MAX_POSITION ? MAX_POSITION - path : 0;
    size_t len = (size_t)snprintf(to, MAX_POSITION, "%lld", (long long)l->low);
    for (char before = '~'; repo_walk_pop(&l->walk, &step); before = '.') {
        if (len + 1 + GIT_OID_HEXSZ > room)
            return 0;
        len += put_id(l, to + len, before, &step.id);
    }
    if (l->n_ties <= TIES && len + l->n_ties * (GIT_OID_HEXSZ + 1) <= room)
        for (size_t i = 0; i < l->n_ties; i++)
            len += put_id(l, to + len, i ? '.' : '~', &l->tie[i]);
    return len;
}

static mcp_str put_rev(const logging *l, char to[2 * GIT_OID_HEXSZ + 4])
{
    char from[GIT_OID_HEXSZ + 1], begin[GIT_OID_HEXSZ + 1];
    git_oid_tostr(from, sizeof(from), &l->from);
    git_oid_tostr(begin, sizeof(begin), &l->begin);
    snprintf(to, 2 * GIT_OID_HEXSZ + 4, "%s%s%s", l->is_range ? from : "",
             !l->is_range ? ""
             : l->parted  ? "..."
                          : "..",
             begin);
    return mcp_str_from(to);
}

static void put_next(logging *l)
{
    char from[MAX_POSITION], number[24], hex[2 * GIT_OID_HEXSZ + 4];
    repo_target t = l->j->target;
    size_t len = put_position(l, from);
    snprintf(number, sizeof(number), "%llu", (unsigned long long)l->looked_at);
    t.param[REPO_PARAM_FROM] = len ? (mcp_str){from, len} : (mcp_str){NULL, 0};
    t.param[REPO_PARAM_OFFSET] = mcp_str_from(number);
    t.rev = put_rev(l, hex); /* ids, so that later pages do not depend on moving references */
    mcp_json_key(l->j->json, "next"), repo_put_uri(l->j->json, l->j->r, &t);
}

/* ---- pages ----------------------------------------------------------------------------------- */

static int walk_page(logging *l)
{
    repo_step step;
    int rc = MCP_OK;
    while (rc == MCP_OK && !l->unsure && l->n_listed < l->limit &&
           l->looked_at < l->skip + MAX_LOOKED_AT && repo_walk_pop(&l->walk, &step)) {
        rc = visit(l, &step);
        if (rc == MCP_OK && l->looked_at % 64 == 0)
            rc = repo_use_check(&l->j->use);
    }
    if (rc == MCP_ETIMEOUT && l->looked_at > l->skip) { /* returns a short page and a position */
        l->j->fixed = false;
        rc = MCP_OK;
    }
    return rc;
}

static int mark_ends(logging *l)
{
    git_oid id;
    int rc = MCP_OK;
    for (size_t at = 0; rc == MCP_OK && at < l->ends.len; at += GIT_OID_RAWSZ) {
        memcpy(id.id, l->ends.ptr + at, GIT_OID_RAWSZ);
        rc = repo_walk_mark(&l->walk, &id);
    }
    return rc;
}

static int walk_from_beginning(logging *l)
{
    repo_walk_free(&l->walk);
    l->resumed = l->unsure = false;
    l->n_listed = l->n_ties = 0;
    l->looked_at = 0;
    l->low = l->bound = INT64_MAX;
    int rc = mark_ends(l);
    if (rc == MCP_OK && l->parted)
        rc = begin_at(l, &l->from);
    if (rc == MCP_OK)
        rc = begin_at(l, &l->begin);
    return rc == MCP_OK ? walk_page(l) : rc;
}

static int put_commit(logging *l, const git_oid *id)
{
    char hex[GIT_OID_HEXSZ + 1];
    mcp_json_writer *w = l->j->json;
    repo_commit c;
    repo_target t = {
        .kind = REPO_KIND_COMMIT, .rev = {hex, GIT_OID_HEXSZ}, .other = {"", 0}, .path = {"", 0}};
    int rc = repo_commit_read(&l->j->use, id, &c);
    if (rc != MCP_OK)
        return rc;
    rc = repo_commit_decode(&c, &l->j->r->base.alloc);
    git_oid_tostr(hex, sizeof(hex), id);
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "id", hex);
    mcp_json_key(w, "subject"), repo_put_subject(w, c.message);
    mcp_json_key(w, "author"), repo_put_person(w, &c.author);
    if (l->filter.dated) /* the date that was compared */
        mcp_json_key(w, "committer"), repo_put_person(w, &c.committer);
    repo_put_encoding(w, &c);
    mcp_json_key(w, "uri"), repo_put_uri(w, l->j->r, &t);
    if (rc == MCP_OK && l->files)
        rc = repo_put_files(l->j, &c, false, (size_t)l->files);
    mcp_json_end(w);
    repo_commit_free(&c);
    return rc;
}

static int put_page(logging *l)
{
    mcp_json_writer *w = l->j->json;
    int rc = MCP_OK;
    mcp_json_begin_object(w);
    mcp_json_put_array(w, "commits");
    for (size_t i = 0; rc == MCP_OK && i < l->n_listed; i++)
        rc = put_commit(l, &l->listed[i]);
    mcp_json_end(w);
    if (l->walk.n)
        put_next(l);
    mcp_json_end(w);
    return rc;
}

static int run(logging *l)
{
    repo_job *j = l->j;
    mcp_str from = j->target.param[REPO_PARAM_FROM];
    int rc = MCP_OK;
    if (from.ptr) {
        rc = mark_ends(l);
        if (rc == MCP_OK)
            rc = begin_from(l, from);
        if (rc == MCP_OK && !j->code)
            rc = walk_page(l);
    }
    if (rc == MCP_OK && !j->code && (!from.ptr || l->unsure))
        rc = walk_from_beginning(l);
    if (rc == MCP_OK && !j->code)
        rc = put_page(l);
    return rc == MCP_ENOTFOUND ? MCP_EIO : rc;
}

/* Resolves both sides of a range, or the one commit, and finds where to stop. */
static int find_ends(logging *l)
{
    repo_job *j = l->j;
    repo_range range;
    bool fixed;
    l->is_range = repo_range_split(j->target.rev, &range);
    if (!l->is_range)
        return repo_rev_commit(&j->use, j->target.rev, &l->begin, &j->fixed);
    l->parted = range.parted;
    int rc = repo_rev_commit(&j->use, range.from, &l->from, &fixed);
    if (rc == MCP_OK)
        rc = repo_rev_commit(&j->use, range.to, &l->begin, &j->fixed);
    j->fixed = j->fixed && fixed;
    if (rc == MCP_OK)
        rc = repo_range_ends(&j->use, &l->from, &l->begin, l->parted, &l->ends);
    if (rc == MCP_ELIMIT && !j->use.too_large)
        rc = repo_job_fail(j, MCP_CODE_INTERNAL,
                           "More than 20000 commits are in this range, or have to be read to find "
                           "it: ask for the log of one revision");
    return rc;
}

int repo_run_log(repo_job *j)
{
    const mcp_allocator *alloc = &j->r->base.alloc;
    uint64_t limit, offset, files;
    if (!repo_job_number(j, REPO_PARAM_LIMIT, 1, MAX_LIMIT, LIMIT, &limit) ||
        !repo_job_number(j, REPO_PARAM_OFFSET, 0, UINT32_MAX, 0, &offset) ||
        !repo_job_number(j, REPO_PARAM_FILES, 0, MAX_FILES, 0, &files))
        return MCP_OK;
    logging *l = common_alloc(alloc, sizeof(*l));
    if (!l)
        return MCP_ENOMEM;
    *l = (logging){.j = j, .files = files, .limit = limit, .skip = offset};
    repo_walk_init(&l->walk, alloc);
    common_buffer_init(&l->ends, alloc);
    int rc = repo_filter_take(j, &l->filter);
    if (rc == MCP_OK && !j->code)
        rc = find_ends(l);
    if (rc == MCP_OK && !j->code)
        rc = run(l);
    repo_filter_free(&l->filter);
    common_buffer_free(&l->ends);
    repo_walk_free(&l->walk);
    common_release(alloc, l);
    return rc;
}
