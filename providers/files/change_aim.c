/* change_aim.c: which file a call means, and whether anybody may write it.
 *
 * A file is named by its URI, by an absolute path, or by one that is relative to a folder. What is outside of the folders,
 * hidden, ignored, excluded or invisible to the caller gets one and the same answer, whether it exists or not.
 *
 * Beside the rules of the operator there is what no general rule opens: names that programs obey (guarded.h), which need a
 * rule with the exact path, and what nothing opens: version control, and what the program itself reads.
 */
#define _GNU_SOURCE
#include "change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#include <mcp/audit.h>

#include <guarded.h>
#include <hooks.h>
#include <words.h>

#include "dirs.h"

static int refuse(files_change *c, bool *replied, int code, const char *format, ...)
    MCP_PRINTF(4, 5);

static int refuse(files_change *c, bool *replied, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->error.text, sizeof(c->error.text), format, args);
    va_end(args);
    *replied = true;
    return files_change_refuse(c, code);
}

static int not_served(files_change *c, mcp_str name, bool *replied)
{
    int len = name.len < 300 ? (int)name.len : 300;
    mcp_request_note_denied(c->req);
    return refuse(c, replied, MCP_ENOTFOUND,
                  "%.*s: no such file is served here, or it may not be written by you. "
                  "list_resources shows the "
                  "folders",
                  len, name.ptr);
}

/* The file system failed, which is not what "not served" means. */
static int not_seen(files_change *c, const char *uri, int error, bool *replied)
{
    *replied = true;
    return files_change_refuse(c, editing_failed(&c->error, uri, "looking at it", error));
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *uri_of(files_change *c, const files_target *t)
{
    common_buffer uri;
    const char *ret = NULL;
    common_buffer_init(&uri, &c->f->alloc);
    if (files_put_uri(c->f, t->root, (mcp_str){t->rel, t->rel_len}, &uri) == MCP_OK)
        ret = mcp_request_strdup(c->req, (mcp_str){uri.ptr, uri.len});
    common_buffer_free(&uri);
    return ret;
}

static int below(files_change *c, size_t root, mcp_str name, files_target *ret)
{
    common_buffer path;
    int rc;
    common_buffer_init(&path, &c->f->alloc);
    rc = files_put_path(c->f, root, name, &path);
    if (rc == MCP_OK)
        rc = files_path_parse(&c->f->roots, (mcp_str){path.ptr, path.len}, ret);
    common_buffer_free(&path);
    return rc;
}

/* Asks twice, because a file that could not be looked at for a moment counts as denied. */
static bool may_see(const files_change *c, const char *uri)
{
    mcp_str name = mcp_str_from(uri ? uri : "");
    return uri && (mcp_request_may(c->req, MCP_ITEM_RESOURCE, name) ||
                   mcp_request_may(c->req, MCP_ITEM_RESOURCE, name));
}

/* A relative name means the file of the folder that has it. If it is to be made, the folder must be the only one. */
static int find_relative(files_change *c, mcp_str name, files_target *ret, size_t *n_found)
{
    int rc = MCP_ENOTFOUND;
    files_target one;
    struct stat st;
    size_t n_folders = 0;
    *n_found = 0;
    for (size_t i = 0; i < c->f->roots.count; i++) {
        const files_root *root = &c->f->roots.items[i];
        if (root->only || below(c, i, name, &one) != MCP_OK || !may_see(c, uri_of(c, &one)))
            continue;
        bool exists = files_root_stat(&c->f->roots.items[one.root], one.rel, &st) == MCP_OK;
        if ((exists && *n_found == 0) || (!exists && n_folders == 0)) {
            *ret = one;
            ret->rel = ret->path + (one.rel - one.path);
            rc = MCP_OK;
        }
        *n_found += exists;
        n_folders++;
    }
    if (*n_found == 0)
        *n_found = n_folders;
    return rc;
}

static bool is_uri(mcp_str name)
{
    return name.len >= 5 && strncasecmp(name.ptr, "file:", 5) == 0;
}

static int find(files_change *c, mcp_str name, files_target *ret, const char **uri, bool *replied)
{
    size_t n = 1;
    int rc = is_uri(name)                     ? files_uri_parse(&c->f->roots, name, ret)
             : name.len && name.ptr[0] == '/' ? files_path_parse(&c->f->roots, name, ret)
             : files_rel_valid(name)          ? find_relative(c, name, ret, &n)
                                              : MCP_ENOTFOUND;
    if (rc == MCP_ENOMEM)
        return rc;
    if (rc == MCP_OK && n > 1)
        return refuse(c, replied, MCP_EINVAL,
                      "%.300s may be in %zu folders. Give its URI, or its absolute path", ret->rel,
                      n);
    if (rc != MCP_OK || ret->slash || (!ret->rel_len && !files_change_root(c, ret)->only))
        return not_served(c, name, replied);
    *uri = uri_of(c, ret);
    return *uri ? MCP_OK : MCP_ENOMEM;
}

const files_root *files_change_root(const files_change *c, const files_target *t)
{
    return &c->f->roots.items[t->root];
}

const char *files_change_rel(const files_change *c, const files_target *t)
{
    const files_root *root = files_change_root(c, t);
    return root->only && !t->rel_len ? root->only : t->rel;
}

/* ---- what may be written at all -------------------------------------------------------------- */

/* The folders from the top of the root down to the one of the file must not be a repository without a working tree.
 * Returns 0, or an errno. */
static int in_bare(const files_root *root, const char *rel, bool *bare)
{
    char folder[COMMON_PATH_MAX] = "";
    size_t at = 0;
    *bare = false;
    for (const char *slash = rel;; slash++) {
        int fd, rc = common_beneath_open_dir(root->at, folder, &fd);
        if (rc == MCP_OK) {
            *bare = editing_guarded_bare(fd);
            close(fd);
        } else if (files_failed(rc))
            return errno;
        slash = strchr(slash, '/');
        if (*bare || !slash)
            return 0;
        at = (size_t)(slash - rel);
        memcpy(folder, rel, at);
        folder[at] = '\0';
    }
}

static bool is_below(const char *path, const char *above)
{
    return files_path_below(path, strlen(path), above, strlen(above));
}

/* Returns whether the program reads the file itself, by its path or by another name of it. */
static bool is_sealed(const files_change *c, const files_root *root, const char *path,
                      const char *rel)
{
    const mcp_files_changes *o = &c->f->changes->options;
    struct stat own, other;
    bool exists = fstatat(root->at.fd, rel, &own, AT_SYMLINK_NOFOLLOW) == 0;
    for (size_t i = 0; o->sealed && o->sealed[i]; i++) {
        if (is_below(path, o->sealed[i]))
            return true;
        if (exists && stat(o->sealed[i], &other) == 0 && own.st_dev == other.st_dev &&
            own.st_ino == other.st_ino)
            return true;
    }
    return is_below(path, o->journal);
}

static int check_name(files_change *c, const files_target *t, const char *path, bool *replied)
{
    const editing_guarded *row;
    const char *rel = files_change_rel(c, t), *slash = strrchr(rel, '/');
    bool bare, hooks;
    editing_guard guard = editing_guarded_look(mcp_str_from(path + 1), &row);
    if (guard == EDITING_NEVER || guard == EDITING_NOT_TEXT) {
        editing_guarded_say(guard, row, &c->error);
        *replied = true;
        return files_change_refuse(c, MCP_EACCESS);
    }
    c->exact = c->exact || guard == EDITING_LIFTED;
    if (editing_is_neighbour(slash ? slash + 1 : rel))
        return refuse(c, replied, MCP_EACCESS,
                      "%.300s: a file with such a name is made for a change, and removed again",
                      rel);
    int error = in_bare(files_change_root(c, t), rel, &bare);
    if (!error)
        error = editing_in_hooks(path, &hooks);
    if (error)
        return not_seen(c, rel, error, replied);
    if (bare)
        return refuse(c, replied, MCP_EACCESS,
                      "%.300s is in a repository of git, which only git writes", rel);
    if (hooks)
        return refuse(c, replied, MCP_EACCESS,
                      "%.300s is in the folder from which git takes the hooks of a repository "
                      "(core.hooksPath); it is never written by a tool",
                      rel);
    if (is_sealed(c, files_change_root(c, t), path, rel))
        return refuse(c, replied, MCP_EACCESS,
                      "%.300s is a file that this server itself reads, or keeps; it is never "
                      "written by a tool",
                      rel);
    return MCP_OK;
}

/* Nothing is said about what is not served: it gets the answer of what does not exist. */
static int check_served(files_change *c, const files_target *t, const char *uri, bool *replied)
{
    const files_root *root = files_change_root(c, t);
    files_renew_old(c->f, t->root);
    int rc = files_root_stat(root, t->rel, &c->st);
    c->exists = rc == MCP_OK;
    if (rc == MCP_ENOTFOUND)
        rc = files_root_awaits(root, t->rel);
    if (rc == MCP_ENOMEM)
        return rc;
    if (files_failed(rc))
        return not_seen(c, uri, errno, replied);
    if (rc != MCP_OK || !may_see(c, uri))
        return not_served(c, mcp_str_from(uri), replied);
    if (c->exists && S_ISDIR(c->st.st_mode))
        return refuse(c, replied, MCP_EINVAL, "%.300s is a folder; these tools change files", uri);
    return MCP_OK;
}

static int check(files_change *c, const files_target *t, const char *uri, const char **ret_path,
                 bool *replied)
{
    common_buffer path;
    int rc = check_served(c, t, uri, replied);
    if (rc != MCP_OK || *replied)
        return rc;
    common_buffer_init(&path, &c->f->alloc);
    rc = files_put_path(c->f, t->root, (mcp_str){t->rel, t->rel_len}, &path);
    if (rc == MCP_OK)
        rc = check_name(c, t, path.ptr, replied);
    if (rc == MCP_OK && !*replied &&
        !(*ret_path = mcp_request_strdup(c->req, mcp_str_from(path.ptr))))
        rc = MCP_ENOMEM;
    common_buffer_free(&path);
    return rc;
}

typedef struct place {
    files_target *target;
    const char **uri, **path;
} place;

static int aim_at(files_change *c, mcp_str name, place at, bool *replied)
{
    if (name.len && memchr(name.ptr, 0, name.len))
        return not_served(c, MCP_STR("the name"), replied);
    int rc = find(c, name, at.target, at.uri, replied);
    return rc == MCP_OK && !*replied ? check(c, at.target, *at.uri, at.path, replied) : rc;
}

/* A move is taken back by moving the file from where it came to. */
static mcp_str name_of(const files_change *c, bool to)
{
    if (!c->undo)
        return mcp_json_string(mcp_json_get(c->arguments, to ? "to" : "uri"));
    return c->undo->to.len && !to ? c->undo->to : c->undo->path;
}

int files_change_aim(files_change *c, bool *replied)
{
    int rc = MCP_OK;
    if (c->operation == MCP_OPERATION_MOVE)
        rc = aim_at(c, name_of(c, true), (place){&c->to, &c->to_uri, &c->to_path}, replied);
    if (rc == MCP_OK && !*replied)
        rc = aim_at(c, name_of(c, false), (place){&c->target, &c->uri, &c->path}, replied);
    return rc;
}
