/* job.c: one read, from its URI to its reply. It runs on the server's thread if it reads little,
 * otherwise on a worker. */
#include "expr.h"
#include "provider.h"

#include <stdarg.h>
#include <stdio.h>

#include "pieces.h"
#include "replies.h"
#include "text.h"

enum { MOVING_TTL_MS = 1000 };
static const uint64_t fixed_ttl_ms = 30ULL * 24 * 3600 * 1000;

static int (*const runs[])(repo_job *) = {
    [REPO_KIND_REPOSITORY] = repo_run_repository,
    [REPO_KIND_FILE] = repo_run_file,
    [REPO_KIND_BRANCHES] = repo_run_refs,
    [REPO_KIND_TAGS] = repo_run_refs,
    [REPO_KIND_COMMIT] = repo_run_commit,
    [REPO_KIND_LOG] = repo_run_log,
    [REPO_KIND_DIFF] = repo_run_diff,
    [REPO_KIND_BLAME] = repo_run_blame,
    [REPO_KIND_SEARCH] = repo_run_search,
    [REPO_KIND_STATUS] = repo_run_worktree,
    [REPO_KIND_STAGED] = repo_run_worktree,
    [REPO_KIND_UNSTAGED] = repo_run_worktree,
};

/* ---- helpers of the jobs --------------------------------------------------------------------- */

int repo_job_fail(repo_job *j, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(j->message, sizeof(j->message), format, args);
    va_end(args);
    j->code = code;
    return MCP_OK;
}

bool repo_job_number(repo_job *j, repo_param param, uint64_t min, uint64_t max, uint64_t fallback,
                     uint64_t *ret)
{
    mcp_str text = j->target.param[param];
    *ret = fallback;
    if (!text.ptr || common_pieces_number(text, min, max, ret))
        return true;
    repo_job_fail(j, MCP_CODE_INVALID_PARAMS, "%s must be a whole number from %llu to %llu",
                  repo_param_name(param), (unsigned long long)min, (unsigned long long)max);
    return false;
}

int repo_find(repo_use *u, mcp_str rev, mcp_str path, repo_entry *ret, bool *fixed)
{
    git_oid id;
    git_object_t type;
    repo_commit commit;
    int rc = repo_rev_find(u, rev, &id, fixed, NULL);
    if (rc == MCP_OK)
        rc = repo_peel(u, &id, &type);
    if (rc != MCP_OK)
        return rc;
    if (type == GIT_OBJECT_COMMIT) {
        if ((rc = repo_commit_read(u, &id, &commit)) != MCP_OK)
            return rc;
        id = commit.tree;
        repo_commit_free(&commit);
    } else if (type == GIT_OBJECT_BLOB) {
        *ret = (repo_entry){.mode = 0100644, .name = {"", 0}, .id = id};
        return path.len ? MCP_ENOTFOUND : MCP_OK;
    }
    return repo_tree_find(u, &id, path, ret);
}

/* ---- reply ----------------------------------------------------------------------------------- */

/* Replies with an error to the client. */
static int refuse(const repo_job *j, int code, const char *format, ...) MCP_PRINTF(3, 4);

static int refuse(const repo_job *j, int code, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return common_reply_fail(j->req, &j->r->base.alloc, false, j->uri, code, text);
}

static int too_large(const repo_job *j)
{
    return common_reply_too_large(
        j->req, &j->r->base.alloc, false,
        &(common_too_large){.uri = j->uri,
                            .what = "The file",
                            .where = "",
                            .size = j->size,
                            .limit = j->r->max_read,
                            .prefix = j->r->base.prefix,
                            .rest = "{rev}/{+path}{?offset,length,format}"});
}

static int failed(const repo_job *j)
{
    switch (j->rc) {
    case MCP_ETIMEOUT:
    case MCP_PENDING:
        return refuse(
            j, MCP_CODE_INTERNAL,
            "It took too long: too much has to be read. Ask for less: a path, fewer lines");
    case MCP_ELIMIT:
        if (!j->use.too_large)
            return refuse(j, MCP_CODE_INTERNAL,
                          "There are too many references to list: ask for one by its name");
        return refuse(j, MCP_CODE_INTERNAL,
                      "It needs an object of %llu bytes, which is too large to be read",
                      (unsigned long long)j->use.too_large);
    case MCP_EACCESS:
    case MCP_EIO:
        repo_log(j->r, "damaged, or a link: ", j->uri.ptr);
        return refuse(j, MCP_CODE_INTERNAL,
                      "The repository %.100s cannot be read now: something in it is "
                      "damaged or missing",
                      j->r->base.name);
    default: return j->rc;
    }
}

static int reply_bytes(const repo_job *j)
{
    mcp_str bytes = j->has_text ? (mcp_str){j->text.ptr ? j->text.ptr : "", j->text.len} : j->bytes;
    bool text = common_text_check(bytes);
    const char *mime = j->mime ? j->mime : text ? "text/plain" : "application/octet-stream";
    if (j->as_text && text)
        mime = "text/plain";
    if (text)
        return mcp_reply_str(j->req, bytes, mime);
    return mcp_reply_bytes(j->req, bytes.ptr, bytes.len, mime);
}

static int reply(const repo_job *j)
{
    mcp_str text;
    if (j->rc != MCP_OK)
        return failed(j);
    if (j->size)
        return too_large(j);
    if (j->code)
        return refuse(j, j->code, "%s", j->message);
    mcp_reply_cache(j->req, j->fixed ? fixed_ttl_ms : MOVING_TTL_MS, j->fixed);
    if (j->object || j->has_text)
        return reply_bytes(j);
    int rc = mcp_json_writer_finish(j->json, &text);
    return rc == MCP_OK ? mcp_reply_str(j->req, text, "application/json") : rc;
}

static void clear(repo_job *j)
{
    git_odb_object_free(j->object);
    j->object = NULL;
    j->bytes = (mcp_str){NULL, 0};
    common_buffer_free(&j->text);
    mcp_json_writer_free(j->json);
    j->json = NULL;
}

static int finish(repo_job *j)
{
    int rc = reply(j);
    clear(j);
    common_asking_free(&j->asking);
    repo_layout_release(j->use.layout);
    return rc;
}

/* ---- running --------------------------------------------------------------------------------- */

static void run(repo_job *j, bool near)
{
    repo_layout *l = j->use.layout;
    clear(j);
    j->has_text = j->fixed = false;
    j->mime = NULL;
    j->code = 0;
    j->size = 0;
    j->named = 0;
    j->json = mcp_json_writer_new(&j->r->base.alloc, 0);
    j->rc = j->json ? repo_use_begin(&j->use, l, near ? NULL : j->req, near, j->r->timeout_ms)
                    : MCP_ENOMEM;
    if (j->rc != MCP_OK)
        return;
    j->asking.here = near;
    j->deadline = j->asking.turn && !near ? j->deadline : j->use.deadline;
    j->use.deadline = j->deadline; /* one deadline for all runs */
    j->rc = j->run(j);
    if (j->rc == MCP_OK && !j->code && !j->size && !j->object && !j->has_text && j->as_text)
        j->rc = repo_job_to_text(j);
    if (j->asking.rc != MCP_OK)
        j->rc = j->asking.rc;
    repo_use_end(&j->use);
}

static void work(void *user)
{
    run(user, false);
}

static int run_far(repo_job *j);

static void done(mcp_request *req, void *user)
{
    repo_job *j = user;
    int rc;
    if (!common_asking_again(&j->asking, &j->rc))
        rc = finish(j);
    else if ((rc = run_far(j)) >= 0)
        return;
    mcp_reply_finish(req, rc);
}

/* Returns the largest number of bytes that the job may hold in memory. */
static size_t to_hold(const repo_job *j)
{
    bool whole = j->target.kind == REPO_KIND_FILE || j->target.kind == REPO_KIND_BLAME ||
                 j->target.kind == REPO_KIND_SEARCH;
    return (size_t)(whole ? j->r->max_read : j->r->max_bytes);
}

static int run_far(repo_job *j)
{
    j->rc = MCP_ECANCELLED; /* in case the work never starts */
    int rc = mcp_request_work_sized(j->req, to_hold(j), work, done, j);
    if (rc < 0) {
        clear(j);
        common_asking_free(&j->asking);
        repo_layout_release(j->use.layout);
    }
    return rc;
}

static bool is_long(const repo_job *j)
{
    return j->target.kind != REPO_KIND_FILE;
}

static int start(repo_job *j)
{
    int rc;
    j->use.layout = repo_layout_now(j->r, &rc);
    if (!j->use.layout)
        return rc; /* the reason has been logged for the operator */
    if (is_long(j))
        return run_far(j);
    run(j, true);
    return j->rc == MCP_PENDING ? run_far(j) : finish(j);
}

/* ---- callbacks of the server ----------------------------------------------------------------- */

static int check_revs(repo_job *j)
{
    const char *why = repo_target_refused(&j->target);
    if (!why)
        return MCP_OK;
    return refuse(j, MCP_CODE_INVALID_PARAMS, "This revision is refused: %s", why);
}

/* Replies that the query is invalid, if the URI without its query would be valid. */
static int check_query(repo_job *j, mcp_str rest)
{
    const char *mark = memchr(rest.ptr, '?', rest.len);
    if (!mark || repo_uri_parse((mcp_str){rest.ptr, (size_t)(mark - rest.ptr)}, j->room,
                                &j->target) != MCP_OK)
        return MCP_ENOTFOUND;
    size_t len = rest.len - (size_t)(mark - rest.ptr);
    return refuse(
        j, MCP_CODE_INVALID_PARAMS,
        "This parameter is not supported here: %.*s. The template lists the parameters of the URI",
        len < 100 ? (int)len : 100, mark);
}

/* Returns whether the caller may see the path. The history of a path or of its lines
 * reveals its contents. */
static bool may_see_path(repo_job *j)
{
    repo_target t = {
        .kind = REPO_KIND_FILE, .rev = j->target.rev, .other = {"", 0}, .path = j->target.path};
    bool of_path = j->target.kind == REPO_KIND_LOG || j->target.kind == REPO_KIND_BLAME;
    repo_range range = {.to = j->target.rev};
    if (!of_path || !t.path.len)
        return true;
    if (repo_range_split(j->target.rev, &range)) {
        t.rev = range.from;
        if (!repo_job_may(j, &t))
            return false;
    }
    t.rev = range.to;
    return repo_job_may(j, &t);
}

int repo_read(mcp_request *req, mcp_str uri, void *user)
{
    repo *r = user;
    mcp_str rest;
    if (!common_pieces_behind(uri, r->base.prefix, &rest))
        return MCP_ENOTFOUND;
    repo_job *j = mcp_request_alloc(req, sizeof(*j) + uri.len + REPO_URI_ROOM);
    if (!j)
        return MCP_ENOMEM;
    memset(j, 0, sizeof(*j));
    j->r = r;
    j->req = req;
    j->uri = uri;
    common_buffer_init(&j->text, &r->base.alloc);
    int rc = repo_uri_parse(rest, j->room, &j->target);
    if (rc == MCP_ENOTFOUND)
        rc = check_query(j, rest);
    if (rc == MCP_OK)
        rc = check_revs(j);
    if (rc != MCP_OK)
        return rc;
    if (!repo_job_format(j))
        return refuse(j, j->code, "%s", j->message);
    j->run = runs[j->target.kind];
    common_asking_init(&j->asking, req, &r->base.alloc);
    return may_see_path(j) ? start(j) : MCP_ENOTFOUND;
}

int repo_read_template(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)match; /* its variables are decoded, so "/" and "%2F" are the same in them */
    return repo_read(req, uri, user);
}
