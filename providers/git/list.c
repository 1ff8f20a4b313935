/* list.c: resources/list. It lists the repository and its entry points, because many hosts read
 * only listed resources. The tree of HEAD follows depth-first in git's order, which is the byte
 * order of the paths with a folder before its entries. Titles contain the repository's name, so
 * that the entries of several repositories can be distinguished in one list.
 *
 * A position is "E" and the number of the next entry point, or "P" and the last path of the
 * previous page (with a "/" if it is a folder). Only the folders on this path are read to find the
 * position again, so the cost of a page does not depend on its position.
 */
#include "provider.h"

#include <stdio.h>

#include "mounting.h"
#include "text.h"

enum { MAX_PATH = REPO_PATH_MAX, MAX_TITLE = 512 };

static const struct {
    const char *rest, *name, *title, *description, *mime;
    double priority;
} points[] = {
    {"", "", "git repository", "Its branch, its commit, and where to continue", "application/json",
     0.9},
    {"-/log/HEAD", " log", "history", "The commits of HEAD, newest first", "application/json", 0.8},
    {"-/branches", " branches", "branches", "Names, ids, URIs", "application/json", 0.7},
    {"-/tags", " tags", "tags", "Names, ids, URIs", "application/json", 0.7},
    {"-/status", " status", "working tree", "Tracked files that are changed or staged",
     "application/json", 0.8},
};
enum { POINTS = sizeof(points) / sizeof(*points) }; /* the last exists only with a working tree */

typedef struct listing {
    repo *r;
    mcp_request *req;
    repo_use use;
    mcp_str after;     /* position from the request */
    size_t points;     /* number of entry points */
    size_t point;      /* the first entry point of the page; `points` if none is left */
    size_t whole;      /* limit of entries on the page */
    size_t max, count; /* limit and number of entries of the tree */
    bool full;
    common_buffer texts; /* for each entry its type (T or -), its path, and NUL */
    char path[MAX_PATH + 2];
    size_t len; /* length of `path` */
    int rc;
} listing;

/* ---- collecting ------------------------------------------------------------------------------ */

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

/* Visits an entry that is not before the position. With `below`, the entry is an ancestor of the
 * position, and `after` is the rest of it. */
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

/* Visits the entries of a tree. `depth` is the number of components in their paths. */
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

/* ---- reply ----------------------------------------------------------------------------------- */

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

/* Writes a title, truncated if it is too long. */
static const char *put_title(char title[MAX_TITLE], const char *name, const char *between,
                             const char *what)
{
    snprintf(title, MAX_TITLE, "%s%s%s", name, between, what);
    size_t len = strlen(title);
    while (!common_text_utf8((mcp_str){title, len}))
        title[--len] = 0; /* removes an incomplete character */
    return title;
}

static int reply_point(const listing *l, size_t i)
{
    char uri[3 * COMMON_NAME_MAX + 64], name[COMMON_NAME_MAX + 32], title[MAX_TITLE];
    snprintf(uri, sizeof(uri), "%s%s", l->r->base.prefix, points[i].rest);
    snprintf(name, sizeof(name), "%s%s", l->r->base.name, points[i].name);
    return mcp_reply_resource(
        l->req, MCP_OPTIONS(mcp_resource, .uri = uri, .name = name,
                            .title = put_title(title, l->r->base.name, ": ", points[i].title),
                            .description = points[i].description, .mime_type = points[i].mime,
                            .annotations = MCP_OPTIONS(mcp_annotations, .has_priority = true,
                                                       .priority = points[i].priority)));
}

/* Adds the entry points of the page. If they fill it, the tree begins on the next page. */
static int reply_points(const listing *l)
{
    char next[3] = {'E', 0, 0};
    size_t end = l->point + l->whole < l->points ? l->point + l->whole : l->points;
    int rc = MCP_OK;
    for (size_t i = l->point; rc == MCP_OK && i < end; i++)
        rc = reply_point(l, i);
    next[1] = (char)('0' + end);
    if (rc == MCP_OK && end > l->point && end - l->point == l->whole)
        rc = mcp_reply_next(l->req, (mcp_str){next, 2});
    return rc;
}

static int reply_entry(const listing *l, char mode, mcp_str path, char *uri)
{
    char title[MAX_TITLE];
    size_t prefix = strlen(l->r->base.prefix);
    const char *name = path.ptr;
    memcpy(uri, l->r->base.prefix, prefix);
    memcpy(uri + prefix, "HEAD/", 5);
    size_t len = prefix + 5 + repo_uri_encode(uri + prefix + 5, path, true);
    uri[len] = 0;
    if (len > MCP_URI_MAX_LENGTH)
        return MCP_OK;           /* too long to be requested */
    if (!common_text_utf8(path)) /* not valid in JSON; the URI shows it encoded */
        name = uri + prefix + 5;
    return mcp_reply_resource(
        l->req, MCP_OPTIONS(mcp_resource, .uri = uri, .name = name,
                            .title = put_title(title, l->r->base.name, "/", name),
                            .mime_type = mode == 'T' ? "application/json" : repo_mime(path)));
}

static int unreadable(const listing *l, const char *why)
{
    return mcp_reply_fail(l->req, MCP_CODE_INTERNAL, "The repository %.100s cannot be read now: %s",
                          l->r->base.name, why);
}

static int reply(const listing *l)
{
    const char *p = l->texts.ptr, *end = p ? p + l->texts.len : NULL;
    char mode = 0;
    mcp_str path = {"", 0};
    char *uri = mcp_request_alloc(l->req, strlen(l->r->base.prefix) + 3 * MAX_PATH + 8);
    if (l->rc == MCP_ETIMEOUT || l->rc == MCP_EIO || l->rc == MCP_EACCESS)
        return unreadable(l, l->rc == MCP_ETIMEOUT ? "it took too long"
                                                   : "something in it is damaged or missing");
    int rc = uri ? l->rc : MCP_ENOMEM;
    if (rc == MCP_OK && l->point < l->points)
        rc = reply_points(l);
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

/* Parses a position. Returns false if it is invalid. */
static bool take_cursor(listing *l, mcp_str cursor)
{
    l->point = cursor.len ? l->points : 0;
    if (!cursor.len)
        return true;
    if (*cursor.ptr == 'P' && cursor.len <= MAX_PATH + 2) {
        l->after = (mcp_str){cursor.ptr + 1, cursor.len - 1};
        return true;
    }
    l->point = cursor.len == 2 ? (size_t)(unsigned char)cursor.ptr[1] - '0' : l->points + 1;
    return *cursor.ptr == 'E' && l->point <= l->points;
}

int repo_list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    repo *r = user;
    listing *l = mcp_request_alloc(req, sizeof(*l));
    char *copy = mcp_request_strdup(req, cursor);
    if (!l || !copy)
        return MCP_ENOMEM;
    memset(l, 0, sizeof(*l));
    l->r = r;
    l->req = req;
    l->rc = MCP_ECANCELLED;
    l->whole = max;
    l->points = POINTS - !repo_layout_has_worktree(r->layout);
    common_buffer_init(&l->texts, &r->base.alloc);
    if (!take_cursor(l, (mcp_str){copy, cursor.len}))
        return MCP_EINVAL;
    size_t left = l->points - l->point;
    l->max = max > left ? max - left : 0; /* entries of the tree */
    if (!l->max)
        return reply_points(l);
    int rc = MCP_OK;
    l->use.layout = repo_layout_now(r, &rc);
    if (!l->use.layout)
        return rc == MCP_ENOTFOUND ? unreadable(l, "it is not there") : rc;
    rc = mcp_request_work(req, work, done, l);
    if (rc < 0)
        repo_layout_release(l->use.layout);
    return rc;
}
