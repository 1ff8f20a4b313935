/* worktree.c: compares the working tree with the index and the index with HEAD, as a list and as
 * patches.
 *
 * Files are compared as they are. No filter, attribute or setting of the repository is obeyed, so
 * no program is run, and differences in line ends count. A file is opened beneath the working tree,
 * never through a link, and never in a ".git", whatever the index contains. Untracked files are not
 * included, because they belong to no revision.
 */
#define _GNU_SOURCE
#include "index.h"
#include "provider.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

enum { MAX_FILES = 5000 };

typedef struct comparing {
    repo_job *j;
    repo_patch *patch; /* NULL if a list is requested */
    repo_index index;
    repo_tracked entry; /* the next entry of the index */
    bool have, truncated;
    common_buffer text; /* contents of the file in the working tree */
    size_t n;
    char path[REPO_PATH_MAX + 2]; /* position of the walk through HEAD */
    size_t len;
} comparing;

/* ---- files of the working tree --------------------------------------------------------------- */

typedef enum state { SAME, MODIFIED, DELETED, UNREADABLE, ADDED } state;

static bool is_safe(mcp_str path)
{
    while (path.len) {
        const char *slash = memchr(path.ptr, '/', path.len);
        size_t len = slash ? (size_t)(slash - path.ptr) : path.len;
        if (!len || (len == 1 && *path.ptr == '.') ||
            (len == 2 && memcmp(path.ptr, "..", 2) == 0) ||
            (len == 4 && strncasecmp(path.ptr, ".git", 4) == 0))
            return false;
        size_t used = len + (slash != NULL);
        path = (mcp_str){path.ptr + used, path.len - used};
    }
    return true;
}

static int read_file(comparing *c, int fd, size_t size)
{
    int rc = common_buffer_reserve(&c->text, size + 1);
    for (ssize_t n = 1; rc == MCP_OK && n != 0 && c->text.len < size;) {
        n = read(fd, c->text.ptr + c->text.len, size - c->text.len);
        if (n < 0 && errno != EINTR)
            rc = MCP_EIO;
        c->text.len += n > 0 ? (size_t)n : 0;
    }
    return rc;
}

/* Reads the target of a symbolic link. */
static int read_link(comparing *c, common_beneath root, const char *path)
{
    char folder[REPO_PATH_MAX + 1];
    const char *slash = strrchr(path, '/');
    int fd, rc = common_buffer_reserve(&c->text, COMMON_PATH_MAX);
    snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) : 0, path);
    if (rc == MCP_OK)
        rc = common_beneath_open_dir(root, folder, &fd);
    if (rc != MCP_OK)
        return rc;
    ssize_t n = readlinkat(fd, slash ? slash + 1 : path, c->text.ptr, COMMON_PATH_MAX);
    rc = n >= 0 ? MCP_OK : errno == ENOENT ? MCP_ENOTFOUND : MCP_EACCESS;
    c->text.len = n > 0 ? (size_t)n : 0;
    close(fd);
    return rc;
}

/* Returns whether size and times are as git recorded them, and older than the index. A file changed
 * at the time when the index was written could look unchanged, so it is compared. */
static bool is_unchanged(const comparing *c, const repo_tracked *e, const struct stat *st)
{
    return (uint32_t)st->st_size == e->size && (uint32_t)st->st_mtim.tv_sec == e->seconds &&
           (uint32_t)st->st_mtim.tv_nsec == e->nanoseconds && st->st_mtim.tv_sec < c->index.written;
}

/* Reads the contents of a tracked file; `now` becomes its entry as if it were in a tree. Returns
 * MCP_ELIMIT if it is too large to be compared. */
static int read_tracked(comparing *c, const repo_tracked *e, repo_entry *now, bool *unchanged)
{
    struct stat st;
    int fd, root_fd = c->j->use.layout->root;
    common_beneath root = {.fd = root_fd, .walk = c->j->use.layout->git.walk};
    *unchanged = false;
    if ((e->mode & 0170000) == REPO_MODE_LINK)
        return read_link(c, root, e->path.ptr);
    int rc = common_beneath_open(root, e->path.ptr, &fd, &st);
    if (rc != MCP_OK)
        return rc == COMMON_IS_LINK ? MCP_ENOTFOUND : rc; /* the path no longer has
                                                           * the tracked file */
    now->mode = st.st_mode & 0100 ? 0100755 : 0100644;
    *unchanged =
        S_ISREG(st.st_mode) && now->mode == e->mode && !e->intended && is_unchanged(c, e, &st);
    if (!S_ISREG(st.st_mode))
        rc = MCP_ENOTFOUND;
    else if (!*unchanged)
        rc = st.st_size > REPO_COMPARE_MAX ? MCP_ELIMIT : read_file(c, fd, (size_t)st.st_size);
    close(fd);
    return rc;
}

static int look_at(comparing *c, const repo_tracked *e, repo_entry *now, state *ret)
{
    bool unchanged;
    c->text.len = 0;
    *now = (repo_entry){.mode = e->mode, .name = e->path, .id = e->id};
    *ret = SAME;
    if (e->conflict || e->skipped || e->mode == REPO_MODE_COMMIT || !is_safe(e->path))
        return MCP_OK;
    int rc = read_tracked(c, e, now, &unchanged);
    if (rc == MCP_OK && !unchanged) {
        if (git_odb_hash(&now->id, c->text.ptr, c->text.len, GIT_OBJECT_BLOB) < 0)
            return MCP_ENOMEM;
        *ret = e->intended                                               ? ADDED
               : git_oid_equal(&now->id, &e->id) && now->mode == e->mode ? SAME
                                                                         : MODIFIED;
    } else if (rc == MCP_ELIMIT) {
        *ret = e->intended ? ADDED : MODIFIED;
    } else if (rc != MCP_OK) {
        *ret = rc == MCP_ENOTFOUND ? DELETED : UNREADABLE;
    }
    return rc == MCP_ENOMEM || rc == MCP_EFILES ? rc : MCP_OK;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static bool may_show(comparing *c, mcp_str path)
{
    repo_target file = {
        .kind = REPO_KIND_FILE, .rev = MCP_STR("HEAD"), .other = {"", 0}, .path = path};
    repo_target own = c->j->target;
    own.path = path;
    memset(own.param, 0, sizeof(own.param));
    return repo_job_may(c->j, &file) && (own.kind == REPO_KIND_STATUS || repo_job_may(c->j, &own));
}

static bool is_asked_for(const comparing *c, mcp_str path)
{
    const repo_target *t = &c->j->target;
    return repo_path_within(t->path, path) && repo_path_fits(t->param[REPO_PARAM_PATH], path);
}

static const char *staged_state(const repo_entry *head, const repo_tracked *e)
{
    if (e && e->conflict)
        return "conflict";
    if (!head || !e)
        return head ? "deleted" : e ? "added" : NULL;
    return head->mode == e->mode && git_oid_equal(&head->id, &e->id) ? NULL : "modified";
}

static void put_state(mcp_json_writer *w, const char *name, const char *word)
{
    if (word)
        mcp_json_put_string(w, name, word);
    else
        mcp_json_put_null(w, name);
}

static int list(comparing *c, mcp_str path, const char *staged, state unstaged)
{
    static const char *const words[] = {NULL, "modified", "deleted", "unreadable", "added"};
    mcp_json_writer *w = c->j->json;
    if ((!staged && unstaged == SAME) || c->truncated || !may_show(c, path))
        return MCP_OK;
    if (c->n++ == MAX_FILES) {
        c->truncated = true;
        return MCP_OK;
    }
    mcp_json_begin_object(w);
    mcp_json_key(w, "path"), repo_put_text(w, path);
    put_state(w, "staged", staged);
    put_state(w, "unstaged", words[unstaged]);
    mcp_json_end(w);
    return MCP_OK;
}

static int patch_unstaged(comparing *c, const repo_tracked *e, repo_entry *now, state s)
{
    repo_entry before = {.mode = e->mode, .name = e->path, .id = e->id};
    mcp_str text = {c->text.len ? c->text.ptr : "", c->text.len};
    if (s == SAME || s == UNREADABLE || !may_show(c, e->path))
        return MCP_OK;
    return repo_patch_file(c->patch, e->path, s == ADDED ? NULL : &before,
                           s == DELETED ? NULL : now, &text);
}

static int patch_staged(comparing *c, mcp_str path, const repo_entry *head, const repo_tracked *e)
{
    const char *staged = staged_state(head, e);
    if (!staged || (e && e->conflict) || !may_show(c, path))
        return MCP_OK;
    repo_entry after = {.name = path};
    if (e) {
        after.mode = e->mode;
        after.id = e->id;
    }
    return repo_patch_file(c->patch, path, head, e ? &after : NULL, NULL);
}

/* Compares one path; `head` or `e` may be NULL. */
static int compare_path(comparing *c, mcp_str path, const repo_entry *head, const repo_tracked *e)
{
    repo_entry now;
    state unstaged = SAME;
    int rc = repo_use_check(&c->j->use);
    if (rc != MCP_OK || !is_asked_for(c, path))
        return rc;
    const repo_tracked *staged = e && e->intended ? NULL : e;
    if (c->j->target.kind == REPO_KIND_STAGED)
        return patch_staged(c, path, head, staged);
    if (e)
        rc = look_at(c, e, &now, &unstaged);
    if (rc != MCP_OK)
        return rc;
    if (c->patch)
        return e ? patch_unstaged(c, e, &now, unstaged) : MCP_OK;
    return list(c, path, staged_state(head, staged), unstaged);
}

/* ---- all paths: the index and the tree of HEAD, both in byte order --------------------------- */

static int take_entry(comparing *c)
{
    int rc = repo_index_next(&c->index, &c->entry);
    c->have = rc == MCP_OK;
    return rc == MCP_ENOTFOUND ? MCP_OK : rc;
}

/* Handles all entries of a path. A path with a conflict has several. */
static int take_path(comparing *c, mcp_str path, const repo_entry *head)
{
    int rc = compare_path(c, path, head, &c->entry);
    char before[REPO_PATH_MAX + 1];
    memcpy(before, path.ptr, path.len);
    mcp_str same = {before, path.len};
    do
        rc = rc == MCP_OK ? take_entry(c) : rc;
    while (rc == MCP_OK && c->have && mcp_str_eq(c->entry.path, same));
    return rc;
}

static int order_of(mcp_str a, mcp_str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* Handles entries that are tracked but not in HEAD, up to this path, or all remaining ones if the
 * path is empty. */
static int take_added(comparing *c, mcp_str path)
{
    int rc = MCP_OK;
    while (rc == MCP_OK && c->have && (!path.len || order_of(c->entry.path, path) < 0))
        rc = take_path(c, c->entry.path, NULL);
    return rc;
}

static int on_file(comparing *c, const repo_entry *head)
{
    mcp_str path = {c->path, c->len};
    int rc = take_added(c, path);
    if (rc != MCP_OK)
        return rc;
    bool both = c->have && mcp_str_eq(c->entry.path, path);
    return both ? take_path(c, path, head) : compare_path(c, path, head, NULL);
}

static int walk(comparing *c, const git_oid *tree, int depth)
{
    git_odb_object *o;
    repo_entry e;
    int rc = depth > REPO_DEPTH_MAX ? MCP_EIO : repo_object(&c->j->use, tree, GIT_OBJECT_TREE, &o);
    if (rc != MCP_OK)
        return rc == MCP_ENOTFOUND ? MCP_EIO : rc;
    mcp_str rest = repo_object_text(o);
    while (rc == MCP_OK && repo_tree_next(&rest, &e)) {
        size_t before = c->len;
        if (c->len + e.name.len + 2 > REPO_PATH_MAX)
            continue;
        if (c->len)
            c->path[c->len++] = '/';
        memcpy(c->path + c->len, e.name.ptr, e.name.len);
        c->len += e.name.len;
        rc = e.mode == REPO_MODE_TREE ? walk(c, &e.id, depth + 1) : on_file(c, &e);
        c->len = before;
    }
    git_odb_object_free(o);
    return rc;
}

static int compare_all(comparing *c)
{
    repo_entry top;
    bool fixed;
    const mcp_str none = {"", 0};
    int rc = repo_index_open(c->j->use.layout, &c->index);
    if (rc == MCP_OK)
        rc = take_entry(c);
    else if (rc == MCP_ENOTFOUND)
        rc = MCP_OK; /* no file was ever added */
    if (rc != MCP_OK)
        return rc;
    rc = repo_find(&c->j->use, MCP_STR("HEAD"), none, &top, &fixed);
    if (rc == MCP_OK)
        rc = walk(c, &top.id, 1);
    else if (rc == MCP_ENOTFOUND)
        rc = MCP_OK; /* no commit yet */
    return rc == MCP_OK ? take_added(c, none) : rc;
}

static int run_list(comparing *c)
{
    mcp_json_writer *w = c->j->json;
    char full[REPO_REF_MAX + 1] = "";
    git_oid id;
    (void)repo_ref_read(&c->j->use, MCP_STR("HEAD"), &id, full);
    mcp_json_begin_object(w);
    repo_target branch = {.kind = REPO_KIND_FILE,
                          .rev = mcp_str_from(full + (strncmp(full, "refs/heads/", 11) ? 0 : 11)),
                          .other = {"", 0},
                          .path = {"", 0}};
    if (*full && repo_job_may(c->j, &branch))
        mcp_json_key(w, "head"), repo_put_text(w, branch.rev);
    mcp_json_put_array(w, "files");
    int rc = compare_all(c);
    mcp_json_end(w);
    repo_target patch = {
        .kind = REPO_KIND_STAGED, .rev = {"", 0}, .other = {"", 0}, .path = {"", 0}};
    repo_put_link(c->j, "stagedPatch", &patch);
    patch.kind = REPO_KIND_UNSTAGED;
    repo_put_link(c->j, "unstagedPatch", &patch);
    if (c->truncated)
        mcp_json_put_bool(w, "truncated", true);
    mcp_json_end(w);
    return rc;
}

int repo_run_worktree(repo_job *j)
{
    comparing *c;
    if (!repo_layout_has_worktree(j->use.layout))
        return MCP_ENOTFOUND;
    if (!(c = common_alloc(&j->r->base.alloc, sizeof(*c))))
        return MCP_ENOMEM;
    memset(c, 0, sizeof(*c));
    c->j = j;
    common_buffer_init(&c->text, &j->r->base.alloc);
    common_buffer_init(&c->index.bytes, &j->r->base.alloc);
    int rc = j->target.kind == REPO_KIND_STATUS
                 ? MCP_OK
                 : repo_patch_begin(j, repo_patch_is_optional(&j->target), &c->patch);
    if (rc == MCP_OK)
        rc = c->patch ? compare_all(c) : run_list(c);
    if (rc == MCP_EUNSUPPORTED)
        rc = repo_job_fail(j, MCP_CODE_INTERNAL,
                           "The index of this working tree is split, sparse or of another version: "
                           "that is not supported");
    rc = repo_patch_end(c->patch, rc);
    repo_index_free(&c->index);
    common_buffer_free(&c->text);
    common_release(&j->r->base.alloc, c);
    return rc;
}
