/* commit.c: reads a commit, and the lists of branches and tags. */
#include "provider.h"

enum { REFS_LIMIT = 1000, MAX_REFS_LIMIT = 10000, FILES = 500 };

static void put_commit_link(repo_job *j, const char *key, repo_kind kind, const git_oid *id,
                            const git_oid *other)
{
    char hex[2][GIT_OID_HEXSZ + 1];
    repo_target t = {
        .kind = kind, .rev = {hex[0], GIT_OID_HEXSZ}, .other = {"", 0}, .path = {"", 0}};
    git_oid_tostr(hex[0], sizeof(hex[0]), id);
    if (other) {
        git_oid_tostr(hex[1], sizeof(hex[1]), other);
        t.other = (mcp_str){hex[1], GIT_OID_HEXSZ};
    }
    repo_put_link(j, key, &t);
}

/* Adds the parents that the caller may read. */
static void put_parents(repo_job *j, const repo_commit *c)
{
    mcp_json_writer *w = j->json;
    mcp_json_put_array(w, "parents");
    for (size_t i = 0; i < c->n_parents; i++) {
        git_oid parent = repo_commit_parent(c, i);
        if (!repo_job_may_commit(j, &parent))
            continue;
        mcp_json_begin_object(w);
        mcp_json_key(w, "id"), repo_put_id(w, &parent);
        put_commit_link(j, "uri", REPO_KIND_COMMIT, &parent, NULL);
        put_commit_link(j, "diff", REPO_KIND_DIFF, &parent, &c->id);
        mcp_json_end(w);
    }
    mcp_json_end(w);
}

int repo_run_commit(repo_job *j)
{
    git_oid id;
    repo_commit c;
    mcp_json_writer *w = j->json;
    int rc = repo_rev_commit(&j->use, j->target.rev, &id, &j->fixed);
    if (rc == MCP_OK)
        rc = repo_commit_read(&j->use, &id, &c);
    if (rc != MCP_OK)
        return rc;
    rc = repo_commit_decode(&c, &j->r->base.alloc);
    if (c.message.len > j->r->max_read) {
        rc = repo_job_fail(j, MCP_CODE_INTERNAL,
                           "Its message has %zu bytes, more than the limit of %zu for one read",
                           c.message.len, j->r->max_read);
        repo_commit_free(&c);
        return rc;
    }
    mcp_json_begin_object(w);
    mcp_json_key(w, "id"), repo_put_id(w, &id);
    mcp_json_key(w, "author"), repo_put_person(w, &c.author);
    mcp_json_key(w, "committer"), repo_put_person(w, &c.committer);
    mcp_json_key(w, "message"), repo_put_long_text(w, j->r, c.message);
    put_commit_link(j, "tree", REPO_KIND_FILE, &id, NULL);
    repo_put_encoding(w, &c);
    put_parents(j, &c);
    if (rc == MCP_OK)
        rc = repo_put_files(j, &c, true, FILES);
    mcp_json_end(w);
    repo_commit_free(&c);
    return rc;
}

/* ---- branches and tags ----------------------------------------------------------------------- */

static int put_ref(repo_job *j, const repo_ref *ref, const repo_target *t)
{
    mcp_json_writer *w = j->json;
    git_oid target = ref->id;
    git_object_t type;
    int rc = repo_peel(&j->use, &target, &type);
    mcp_json_begin_object(w);
    mcp_json_key(w, "name"), repo_put_text(w, mcp_str_from(strchr(ref->name, '/') + 1));
    mcp_json_key(w, "id"), repo_put_id(w, &ref->id);
    if (rc == MCP_OK && type == GIT_OBJECT_COMMIT)
        put_commit_link(j, "commit", REPO_KIND_COMMIT, &target, NULL);
    mcp_json_key(w, "uri"), repo_put_uri(w, j->r, t);
    mcp_json_end(w);
    return repo_use_check(&j->use);
}

static int put_refs(repo_job *j, const common_buffer *refs, uint64_t limit)
{
    mcp_str after = j->target.param[REPO_PARAM_AFTER];
    const char *last = NULL;
    size_t at = 0;
    uint64_t n = 0;
    repo_ref ref;
    bool more = false;
    int rc = MCP_OK;
    while (rc == MCP_OK && !more && repo_refs_next(refs, &at, &ref)) {
        if (after.ptr && strcmp(ref.name, after.ptr) <= 0)
            continue;
        const char *name = repo_ref_short(&j->use, ref.name);
        repo_target t = {
            .kind = REPO_KIND_FILE, .rev = mcp_str_from(name), .other = {"", 0}, .path = {"", 0}};
        if (!repo_job_may(j, &t))
            continue;
        if (n++ == limit) {
            more = true;
            continue;
        }
        last = ref.name;
        rc = put_ref(j, &ref, &t);
    }
    mcp_json_end(j->json);
    if (more) {
        repo_target t = j->target;
        t.param[REPO_PARAM_AFTER] = mcp_str_from(last);
        mcp_json_key(j->json, "next"), repo_put_uri(j->json, j->r, &t);
    }
    return rc;
}

int repo_run_refs(repo_job *j)
{
    bool branches = j->target.kind == REPO_KIND_BRANCHES;
    common_buffer refs;
    uint64_t limit;
    if (!repo_job_number(j, REPO_PARAM_LIMIT, 1, MAX_REFS_LIMIT, REFS_LIMIT, &limit))
        return MCP_OK;
    common_buffer_init(&refs, &j->r->base.alloc);
    int rc = repo_refs_collect(&j->use, branches ? "refs/heads/" : "refs/tags/", &refs);
    if (rc == MCP_OK && branches)
        rc = repo_refs_collect(&j->use, "refs/remotes/", &refs); /* remote branches
                                                                  * follow local ones */
    mcp_json_begin_object(j->json);
    mcp_json_put_array(j->json, branches ? "branches" : "tags");
    if (rc == MCP_OK)
        rc = put_refs(j, &refs, limit);
    mcp_json_end(j->json);
    common_buffer_free(&refs);
    return rc;
}
