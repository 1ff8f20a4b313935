/* log.c: the history of everything, or of a path, in pages.
 *
 * A position is the set of commits from which the walk goes on (?from=ID.ID): they are what the history is
 * made of, so a page costs what it looks at, and means the same for ever. Where the history is wider than
 * fits a URI, it is how many commits the pages before looked at (?offset=N), and they are looked at again.
 * A merge that took a path from one side as it was is left out, and only that side is followed (as git does).
 */
#include "provider.h"
#include "walk.h"

#include <stdio.h>

enum { LIMIT = 50, MAX_LIMIT = 1000, MAX_LOOKED_AT = 20000, WIDEST = 40 };

typedef struct logging {
    repo_job *j;
    repo_walk walk;
    uint64_t listed, limit, looked_at, skip;
    git_oid begin;
} logging;

/* ---- one commit ----------------------------------------------------------------------------------------- */

static void put_commit(logging *l, const repo_commit *c)
{
    char hex[GIT_OID_HEXSZ + 1];
    mcp_json_writer *w = l->j->json;
    repo_target t = {
        .kind = REPO_KIND_COMMIT, .rev = {hex, GIT_OID_HEXSZ}, .other = {"", 0}, .path = {"", 0}};
    git_oid_tostr(hex, sizeof hex, &c->id);
    mcp_json_begin_object(w);
    mcp_json_key(w, "id"), mcp_json_add_string(w, hex);
    mcp_json_key(w, "subject"), repo_put_text(w, repo_subject(c->message));
    mcp_json_key(w, "author"), repo_put_person(w, &c->author);
    mcp_json_key(w, "uri"), repo_put_uri(w, l->j->r, &t);
    mcp_json_end(w);
}

/* What the commit has at the path. */
static int look(logging *l, const repo_commit *c, repo_step *step)
{
    repo_entry e;
    step->id = c->id;
    step->time = c->committer.time;
    step->has = false;
    if (!l->j->target.path.len)
        return MCP_OK;
    int rc = repo_tree_find(&l->j->use, &c->tree, l->j->target.path, &e);
    step->has = rc == MCP_OK;
    if (step->has)
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
    return a->has == b->has && (!a->has || git_oid_equal(&a->at, &b->at));
}

/* Goes on to the parents. *is_listed: the commit changed something. */
static int follow(logging *l, const repo_step *step, const repo_commit *c, bool *is_listed)
{
    repo_step parent[REPO_PARENTS];
    size_t n = 0;
    bool pushed, by_path = l->j->target.path.len > 0;
    int rc = MCP_OK;
    *is_listed = !by_path || step->has || c->n_parents;
    for (size_t i = 0; rc == MCP_OK && i < c->n_parents; i++) {
        rc = look_by_id(l, &c->parent[i], &parent[n]);
        if (rc == MCP_ENOTFOUND) {
            rc = MCP_OK; /* here a shallow history ends */
            continue;
        }
        if (rc == MCP_OK && by_path && same(step, &parent[n])) {
            *is_listed = false;
            return repo_walk_push(&l->walk, &parent[n], &pushed);
        }
        n++;
    }
    if (!n && by_path)
        *is_listed = step->has;
    for (size_t i = 0; rc == MCP_OK && i < n; i++)
        rc = repo_walk_push(&l->walk, &parent[i], &pushed);
    return rc;
}

static int visit(logging *l, const repo_step *step)
{
    repo_commit c;
    bool is_listed;
    int rc = repo_commit_read(&l->j->use, &step->id, &c);
    if (rc != MCP_OK)
        return rc;
    rc = follow(l, step, &c, &is_listed);
    if (rc == MCP_OK && is_listed && l->looked_at >= l->skip) {
        put_commit(l, &c);
        l->listed++;
    }
    l->looked_at++;
    repo_commit_free(&c);
    return rc;
}

/* ---- positions -------------------------------------------------------------------------------------------- */

static int begin_at(logging *l, const git_oid *id)
{
    repo_step step;
    bool pushed;
    int rc = look_by_id(l, id, &step);
    return rc == MCP_OK ? repo_walk_push(&l->walk, &step, &pushed) : rc;
}

static int begin_from(logging *l, mcp_str from)
{
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < from.len; i += GIT_OID_HEXSZ + 1) {
        char hex[GIT_OID_HEXSZ + 1];
        git_oid id;
        mcp_str one = {from.ptr + i, from.len - i < GIT_OID_HEXSZ ? 0 : GIT_OID_HEXSZ};
        bool ends = i + GIT_OID_HEXSZ == from.len;
        if (!repo_rev_is_id(one) || (!ends && from.ptr[i + GIT_OID_HEXSZ] != '.'))
            return repo_job_fail(l->j, MCP_CODE_INVALID_PARAMS, "from is no position of a log");
        memcpy(hex, one.ptr, GIT_OID_HEXSZ);
        hex[GIT_OID_HEXSZ] = 0;
        rc = git_oid_fromstr(&id, hex) == 0 ? begin_at(l, &id) : MCP_ENOTFOUND;
    }
    return rc;
}

static void put_next(logging *l)
{
    char from[WIDEST * (GIT_OID_HEXSZ + 1) + 1], number[24], hex[GIT_OID_HEXSZ + 1];
    size_t len = 0;
    repo_target t = l->j->target;
    if (l->walk.n <= WIDEST) {
        for (size_t i = 0; i < l->walk.n; i++) {
            if (i)
                from[len++] = '.';
            git_oid_fmt(from + len, &l->walk.heap[i].id);
            len += GIT_OID_HEXSZ;
        }
        t.param[REPO_PARAM_FROM] = (mcp_str){from, len};
        t.param[REPO_PARAM_OFFSET] = (mcp_str){NULL, 0};
    } else {
        snprintf(number, sizeof number, "%llu", (unsigned long long)l->looked_at);
        t.param[REPO_PARAM_OFFSET] = mcp_str_from(number);
        t.rev =
            mcp_str_from(git_oid_tostr(hex, sizeof hex, &l->begin)); /* whatever moves meanwhile */
    }
    mcp_json_key(l->j->json, "next"), repo_put_uri(l->j->json, l->j->r, &t);
}

/* ---- a page ------------------------------------------------------------------------------------------------- */

static int put_page(logging *l)
{
    repo_step step;
    mcp_json_writer *w = l->j->json;
    int rc = MCP_OK;
    mcp_json_begin_object(w);
    mcp_json_key(w, "commits"), mcp_json_begin_array(w);
    while (rc == MCP_OK && l->listed < l->limit && l->looked_at < l->skip + MAX_LOOKED_AT &&
           repo_walk_pop(&l->walk, &step)) {
        rc = visit(l, &step);
        if (rc == MCP_OK && l->looked_at % 64 == 0)
            rc = repo_use_check(&l->j->use);
    }
    mcp_json_end(w);
    if (rc == MCP_OK && l->walk.n)
        put_next(l);
    mcp_json_end(w);
    return rc == MCP_ENOTFOUND ? MCP_EIO : rc;
}

int repo_run_log(repo_job *j)
{
    git_oid id;
    logging l = {.j = j};
    mcp_str from = j->target.param[REPO_PARAM_FROM];
    if (!repo_job_number(j, REPO_PARAM_LIMIT, 1, MAX_LIMIT, LIMIT, &l.limit) ||
        !repo_job_number(j, REPO_PARAM_OFFSET, 0, UINT32_MAX, 0, &l.skip))
        return MCP_OK;
    int rc = repo_rev_commit(&j->use, j->target.rev, &id, &j->fixed);
    if (rc != MCP_OK)
        return rc;
    l.begin = id;
    repo_walk_init(&l.walk, &j->r->alloc);
    rc = from.ptr ? begin_from(&l, from) : begin_at(&l, &id);
    if (rc == MCP_OK && !j->code)
        rc = put_page(&l);
    repo_walk_free(&l.walk);
    return rc;
}
