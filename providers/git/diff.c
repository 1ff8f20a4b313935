/* diff.c: the differences between two revisions.
 *
 * Trees are compared entry by entry, so that entries that are the same on both sides are never
 * read. The entries that differ are handed on, for a patch (patch.c) or a list of names.
 */
#include "expr.h"
#include "provider.h"
#include "range.h"

#include "search.h"

typedef struct differing {
    repo_job *j;
    mcp_str rev[2];
    char base[GIT_OID_HEXSZ + 1]; /* the merge base that replaces rev[0] in a three-dot range */
    bool moves;                   /* the revisions may name other commits later */
    repo_target of; /* the difference in which a file is shown; not of a root commit */
    common_buffer path;
    repo_patch *patch; /* NULL if the files are only named */
    bool counts;       /* they are named with the numbers of their lines */
    bool only_counted; /* the files are not even named */
    bool full;         /* there are more than the limit */
    size_t files, max;
} differing;

bool repo_path_within(mcp_str folder, mcp_str path)
{
    return !folder.len ||
           (path.len >= folder.len && memcmp(path.ptr, folder.ptr, folder.len) == 0 &&
            (path.len == folder.len || path.ptr[folder.len] == '/'));
}

bool repo_path_fits(mcp_str wanted, mcp_str path)
{
    size_t at = path.len;
    while (at && path.ptr[at - 1] != '/')
        at--;
    if (wanted.len && memchr(wanted.ptr, '*', wanted.len))
        return search_path_fits(wanted, (mcp_str){path.ptr + at, path.len - at}, path);
    while (wanted.len && wanted.ptr[wanted.len - 1] == '/')
        wanted.len--;
    return repo_path_within(wanted, path);
}

bool repo_patch_is_optional(const repo_target *t)
{
    return !t->path.len && !t->param[REPO_PARAM_PATH].ptr;
}

/* Returns the entry of a side, or NULL if the caller may not read the entry or its difference. */
static const repo_entry *seen_side(differing *d, const repo_entry *e, mcp_str rev)
{
    repo_target t = {
        .kind = REPO_KIND_FILE, .rev = rev, .other = {"", 0}, .path = {d->path.ptr, d->path.len}};
    repo_target difference = d->of;
    difference.path = t.path;
    if (!e || !repo_job_may(d->j, &t))
        return NULL;
    return !difference.rev.len || repo_job_may(d->j, &difference) ? e : NULL;
}

/* Adds a file to the array of those that a commit changed. */
static int name_file(differing *d, mcp_str path, const repo_entry *a, const repo_entry *b)
{
    mcp_json_writer *w = d->j->json;
    repo_numbers n = {.large = true};
    d->full = d->files == d->max || path.len > REPO_PATH_MAX ||
              path.len > d->j->r->max_bytes - d->j->named;
    if (d->full)
        return MCP_OK;
    d->files++;
    d->j->named += path.len;
    if (!d->counts) {
        repo_put_text(w, path);
        return MCP_OK;
    }
    int rc = repo_count_lines(d->j, a, b, &n);
    mcp_json_begin_object(w);
    if (rc == MCP_OK && !n.binary && !n.large) {
        mcp_json_put_uint(w, "added", n.added);
        mcp_json_put_uint(w, "removed", n.removed);
    }
    mcp_json_key(w, "path"), repo_put_text(w, path);
    mcp_json_end(w);
    return rc == MCP_EIO || rc == MCP_ELIMIT ? MCP_OK : rc; /* a partial clone has no contents */
}

/* Hands on an entry that differs. */
static int put_file(differing *d, const repo_entry *a, const repo_entry *b)
{
    mcp_str path = {d->path.ptr, d->path.len};
    if (!repo_path_fits(d->j->target.param[REPO_PARAM_PATH], path) ||
        !repo_path_within(d->j->target.path, path))
        return MCP_OK;
    a = seen_side(d, a, d->rev[0]);
    b = seen_side(d, b, d->rev[1]);
    if (!a && !b)
        return MCP_OK;
    if (d->only_counted) {
        d->full = ++d->files > d->max;
        return MCP_OK;
    }
    return d->patch ? repo_patch_file(d->patch, path, a, b, NULL) : name_file(d, path, a, b);
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
        rc = put_file(d, a, b);
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
    while (rc == MCP_OK && !d->j->code && !d->full && (has[0] || has[1])) {
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

/* Writes the patch, or only the names of the files if there are too many of them. */
static int compare_all(differing *d)
{
    d->only_counted = true;
    int rc = compare(d);
    d->only_counted = false;
    if (d->full)
        repo_patch_only_name(d->patch);
    d->full = false;
    d->path.len = 0;
    return rc == MCP_OK && !d->j->code ? compare(d) : rc;
}

int repo_run_diff(repo_job *j)
{
    differing d = {.j = j, .of = j->target, .max = REPO_PATCH_FILES};
    memset(d.of.param, 0, sizeof(d.of.param));
    common_buffer_init(&d.path, &j->r->base.alloc);
    int rc = repo_patch_begin(j, repo_patch_is_optional(&j->target), &d.patch);
    if (rc == MCP_OK)
        rc = find_revs(&d);
    if (rc == MCP_OK && !j->code)
        rc = compare_all(&d);
    rc = repo_patch_end(d.patch, rc);
    common_buffer_free(&d.path);
    return rc;
}

/* ---- files of a commit ----------------------------------------------------------------------- */

static int name_files(differing *d, const repo_commit *c)
{
    repo_commit first = {.n_parents = 0};
    git_oid id;
    char hex[2][GIT_OID_HEXSZ + 1];
    bool has = c->n_parents > 0;
    int rc = MCP_OK;
    if (has) {
        id = repo_commit_parent(c, 0);
        rc = repo_commit_read(&d->j->use, &id, &first);
    }
    if (rc == MCP_ENOTFOUND && repo_layout_is_shallow(d->j->use.layout)) {
        d->j->fixed = has = false; /* it may be fetched later */
        rc = MCP_OK;
    }
    if (rc != MCP_OK)
        return rc;
    d->rev[0] = has ? mcp_str_from(git_oid_tostr(hex[0], sizeof(hex[0]), &id)) : (mcp_str){"", 0};
    d->rev[1] = mcp_str_from(git_oid_tostr(hex[1], sizeof(hex[1]), &c->id));
    d->of = (repo_target){
        .kind = REPO_KIND_DIFF, .rev = d->rev[0], .other = d->rev[1], .path = {"", 0}};
    rc = compare_trees(d, has ? &first.tree : NULL, &c->tree, 0);
    if (has)
        repo_commit_free(&first);
    return rc;
}

int repo_put_files(repo_job *j, const repo_commit *c, bool counts, size_t max)
{
    int64_t deadline = j->use.deadline;
    differing d = {.j = j, .counts = counts, .max = max};
    common_buffer_init(&d.path, &j->r->base.alloc);
    mcp_json_put_array(j->json, "files");
    j->use.deadline -= (int64_t)(j->r->timeout_ms / 2);
    int rc = name_files(&d, c);
    j->use.deadline = deadline;
    mcp_json_end(j->json);
    bool some = rc == MCP_ETIMEOUT || rc == MCP_EIO || rc == MCP_ENOTFOUND || rc == MCP_ELIMIT;
    if (some || j->code || d.full)
        mcp_json_put_bool(j->json, "filesTruncated", true);
    if (some || j->code)
        j->fixed = false;
    j->code = 0; /* a tree that is too deep */
    common_buffer_free(&d.path);
    return some ? MCP_OK : rc;
}
