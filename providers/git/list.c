/* list.c: resources/list: the repository, then the tree of HEAD, depth first in git's own order, which is the
 * order of the paths' bytes with a folder before what is in it.
 *
 * The position is the path that came last (a folder's with a "/"). Only the folders that it leads through
 * are read to find it again, so that a page costs what is on it, wherever it is.
 */
#include "provider.h"

#include "text.h"

enum { MAX_PATH = REPO_PATH_MAX };

typedef struct listing {
    repo *r;
    mcp_request *req;
    repo_use use;
    mcp_str after; /* of the request */
    size_t max, count;
    bool full;
    common_buffer texts; /* of each entry its mode (a byte: T or -), its path with a NUL */
    char path[MAX_PATH + 2];
    size_t len; /* of path */
    int rc;
} listing;

/* ---- collecting ------------------------------------------------------------------------------------- */

static int keep(listing *l, const repo_entry *e)
{
    if (l->count == l->max) {
        l->full = true;
        return MCP_OK;
    }
    l->count++;
    int rc = common_buffer_append(&l->texts, e->mode == REPO_MODE_TREE ? "T" : "-", 1);
    if (rc == MCP_OK)
        rc = common_buffer_append(&l->texts, l->path, l->len);
    return rc == MCP_OK ? common_buffer_append(&l->texts, "", 1) : rc;
}

static int walk(listing *l, const git_oid *tree, mcp_str after, int depth);

/* One entry that is not before the position; `below`: it is on the way there, and `after` is the rest. */
static int visit(listing *l, const repo_entry *e, bool below, mcp_str after, int depth)
{
    size_t before = l->len;
    int rc = MCP_OK;
    if (l->len + e->name.len + 2 > MAX_PATH)
        return MCP_OK;
    if (l->len)
        l->path[l->len++] = '/';
    memcpy(l->path + l->len, e->name.ptr, e->name.len);
    l->len += e->name.len;
    if (!below)
        rc = keep(l, e);
    if (rc == MCP_OK && !l->full && e->mode == REPO_MODE_TREE && depth < REPO_DEPTH_MAX)
        rc = walk(l, &e->id, after, depth + 1);
    l->len = before;
    return rc;
}

/* `depth`: how many parts the paths of its entries have. */
static int walk(listing *l, const git_oid *tree, mcp_str after, int depth)
{
    git_odb_object *o;
    repo_entry e;
    const char *slash = after.len ? memchr(after.ptr, '/', after.len) : NULL;
    mcp_str first = {after.ptr, slash ? (size_t)(slash - after.ptr) : after.len};
    mcp_str further = {slash ? slash + 1 : "", slash ? after.len - first.len - 1 : 0};
    int rc = repo_use_check(&l->use);
    if (rc == MCP_OK)
        rc = repo_object(&l->use, tree, GIT_OBJECT_TREE, &o);
    if (rc != MCP_OK)
        return rc == MCP_ENOTFOUND ? MCP_EIO : rc;
    mcp_str rest = repo_object_text(o);
    while (rc == MCP_OK && !l->full && repo_tree_next(&rest, &e)) {
        bool is_tree = e.mode == REPO_MODE_TREE;
        int order = after.len ? repo_entry_compare(e.name, is_tree, first, slash != NULL) : 1;
        if (order > 0)
            rc = visit(l, &e, false, (mcp_str){"", 0}, depth);
        else if (order == 0 && is_tree)
            rc = visit(l, &e, true, further, depth);
    }
    if (rc == MCP_OK && !l->full && rest.len)
        rc = MCP_EIO;
    git_odb_object_free(o);
    return rc;
}

static void work(void *user)
{
    listing *l = user;
    repo_layout *layout = l->use.layout;
    repo_entry e;
    bool fixed;
    l->rc = repo_use_begin(&l->use, layout, l->req, false, l->r->timeout_ms);
    if (l->rc != MCP_OK)
        return;
    l->rc = repo_find(&l->use, MCP_STR("HEAD"), (mcp_str){"", 0}, &e, &fixed);
    if (l->rc == MCP_ENOTFOUND) /* no commit yet */
        l->rc = MCP_OK;
    else if (l->rc == MCP_OK)
        l->rc = walk(l, &e.id, l->after, 1);
    repo_use_end(&l->use);
}

/* ---- replying ------------------------------------------------------------------------------------------- */

static int next_after(const listing *l, char mode, mcp_str path)
{
    char *at = mcp_request_alloc(l->req, path.len + 2);
    if (!at)
        return MCP_ENOMEM;
    at[0] = 'P';
    if (path.len)
        memcpy(at + 1, path.ptr, path.len);
    at[path.len + 1] = '/';
    return mcp_reply_next(l->req, (mcp_str){at, path.len + 1 + (mode == 'T')});
}

static int reply_repository(const listing *l)
{
    return mcp_reply_resource(
        l->req, MCP_OPTIONS(mcp_resource, .uri = l->r->prefix, .name = l->r->name,
                            .title = "git repository", .mime_type = "application/json",
                            .annotations = MCP_OPTIONS(mcp_annotations, .has_priority = true,
                                                       .priority = 0.9)));
}

static int reply_entry(const listing *l, char mode, mcp_str path, char *uri)
{
    size_t prefix = strlen(l->r->prefix);
    const char *name = path.ptr;
    memcpy(uri, l->r->prefix, prefix);
    memcpy(uri + prefix, "HEAD/", 5);
    size_t len = prefix + 5 + repo_uri_encode(uri + prefix + 5, path, true);
    uri[len] = 0;
    if (len > MCP_URI_MAX_LENGTH)
        return MCP_OK;           /* nobody could ask for it */
    if (!common_text_utf8(path)) /* JSON cannot have it; its URI shows it */
        name = uri + prefix + 5;
    return mcp_reply_resource(
        l->req, MCP_OPTIONS(mcp_resource, .uri = uri, .name = name,
                            .mime_type = mode == 'T' ? "application/json" : repo_mime(path)));
}

static int reply(const listing *l)
{
    const char *p = l->texts.ptr, *end = p ? p + l->texts.len : NULL;
    char mode = 0;
    mcp_str path = {"", 0};
    char *uri = mcp_request_alloc(l->req, strlen(l->r->prefix) + 3 * MAX_PATH + 8);
    if (l->rc == MCP_ETIMEOUT || l->rc == MCP_EIO)
        return mcp_reply_fail(
            l->req, MCP_CODE_INTERNAL, "The repository %.100s cannot be read now: %s", l->r->name,
            l->rc == MCP_EIO ? "something in it is damaged or missing" : "it took too long");
    int rc = uri ? l->rc : MCP_ENOMEM;
    if (rc == MCP_OK && !l->after.ptr)
        rc = reply_repository(l);
    while (rc == MCP_OK && p < end) {
        mode = *p++;
        path = mcp_str_from(p);
        rc = reply_entry(l, mode, path, uri);
        p += path.len + 1;
    }
    if (rc == MCP_OK && l->full)
        rc = next_after(l, mode, path);
    return rc;
}

static int finish(listing *l)
{
    int rc = reply(l);
    common_buffer_free(&l->texts);
    repo_layout_release(l->use.layout);
    return rc;
}

static void done(mcp_request *req, void *user)
{
    mcp_reply_finish(req, finish(user));
}

int repo_list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    repo *r = user;
    if (cursor.len && (*cursor.ptr != 'P' || cursor.len > MAX_PATH + 2))
        return MCP_EINVAL;
    listing *l = mcp_request_alloc(req, sizeof *l);
    if (!l)
        return MCP_ENOMEM;
    memset(l, 0, sizeof *l);
    l->r = r;
    l->req = req;
    l->rc = MCP_ECANCELLED;
    common_buffer_init(&l->texts, &r->alloc);
    if (cursor.len) {
        char *copy = mcp_request_strdup(req, (mcp_str){cursor.ptr + 1, cursor.len - 1});
        if (!copy)
            return MCP_ENOMEM;
        l->after = (mcp_str){copy, cursor.len - 1};
    }
    l->max = cursor.len ? max : max - 1; /* the repository itself */
    l->use.layout = repo_layout_now(r);
    if (!l->use.layout)
        return cursor.len ? MCP_OK : reply_repository(l);
    int rc = mcp_request_work(req, work, done, l);
    if (rc < 0)
        repo_layout_release(l->use.layout);
    return rc;
}
