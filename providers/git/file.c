/* file.c: reads a file or a folder at a revision, and the repository itself. */
#include "provider.h"

#include <stdio.h>

enum { TREE_LIMIT = 1000, MAX_TREE_LIMIT = 10000 };

/* ---- files ----------------------------------------------------------------------------------- */

static int run_blob(repo_job *j, const repo_entry *e)
{
    uint64_t offset, length;
    int rc = MCP_OK;
    bool part = j->target.param[REPO_PARAM_OFFSET].ptr || j->target.param[REPO_PARAM_LENGTH].ptr;
    if (!repo_job_number(j, REPO_PARAM_OFFSET, 0, UINT64_MAX / 4, 0, &offset) ||
        !repo_job_number(j, REPO_PARAM_LENGTH, 1, j->r->max_read, j->r->max_read, &length))
        return MCP_OK;
    /* Checks the size before reading the contents. A read on the server's thread has a smaller limit
     * of its own. */
    bool limited = j->use.near && j->use.budget <= j->r->max_read;
    if (!part && !limited) {
        size_t size;
        rc = repo_blob_size(&j->use, &e->id, &size);
        if (rc == MCP_OK && size > j->r->max_read) {
            j->size = size;
            return MCP_OK;
        }
    }
    if (rc == MCP_OK)
        rc = repo_object(&j->use, &e->id, GIT_OBJECT_BLOB, &j->object);
    if (rc != MCP_OK)
        return rc == MCP_ENOTFOUND ? MCP_EIO : rc;
    j->bytes = repo_object_text(j->object);
    offset = offset < j->bytes.len ? offset : j->bytes.len;
    j->bytes.ptr += offset;
    j->bytes.len -= (size_t)offset;
    j->bytes.len = j->bytes.len < length ? j->bytes.len : (size_t)length;
    j->mime = e->mode == REPO_MODE_LINK ? "inode/symlink" : repo_mime(e->name);
    return MCP_OK;
}

/* ---- folders --------------------------------------------------------------------------------- */

static const char *type_of(unsigned mode)
{
    switch (mode & 0170000) {
    case REPO_MODE_TREE: return "folder";
    case REPO_MODE_LINK: return "link";
    case REPO_MODE_COMMIT: return "submodule";
    default: return "file";
    }
}

/* Builds the target of an entry; its path is stored in `room`. */
static repo_target target_of(const repo_job *j, const repo_entry *e, char *room)
{
    repo_target t = {.kind = REPO_KIND_FILE, .rev = j->target.rev, .other = {"", 0}};
    size_t len = j->target.path.len;
    memcpy(room, j->target.path.ptr, len);
    if (len)
        room[len++] = '/';
    memcpy(room + len, e->name.ptr, e->name.len);
    t.path = (mcp_str){room, len + e->name.len};
    return t;
}

static void put_entry(repo_job *j, const repo_entry *e, const repo_target *t)
{
    char mode[16];
    mcp_json_writer *w = j->json;
    snprintf(mode, sizeof(mode), "%06o", e->mode);
    mcp_json_begin_object(w);
    mcp_json_key(w, "name"), repo_put_text(w, e->name);
    mcp_json_put_string(w, "type", type_of(e->mode));
    mcp_json_put_string(w, "mode", mode);
    mcp_json_key(w, "id"), repo_put_id(w, &e->id);
    mcp_json_key(w, "uri"), repo_put_uri(w, j->r, t);
    mcp_json_end(w);
}

/* Returns whether the entry comes after `after`, the last name of the previous page. The name of a
 * folder ends with "/". */
static bool is_behind(const repo_entry *e, mcp_str after)
{
    bool tree = after.len && after.ptr[after.len - 1] == '/';
    return !after.len || repo_entry_compare(e->name, e->mode == REPO_MODE_TREE,
                                            (mcp_str){after.ptr, after.len - tree}, tree) > 0;
}

static void put_next(repo_job *j, const repo_entry *last, char *room)
{
    repo_target t = j->target;
    if (last->name.len)
        memcpy(room, last->name.ptr, last->name.len);
    room[last->name.len] = '/';
    t.param[REPO_PARAM_AFTER] = (mcp_str){room, last->name.len + (last->mode == REPO_MODE_TREE)};
    mcp_json_key(j->json, "next"), repo_put_uri(j->json, j->r, &t);
}

static int put_entries(repo_job *j, mcp_str rest, uint64_t limit)
{
    repo_entry e, last = {0};
    uint64_t n = 0;
    bool more = false;
    char *room = common_alloc(&j->r->base.alloc, j->target.path.len + rest.len + 2);
    if (!room)
        return MCP_ENOMEM;
    while (!more && repo_tree_next(&rest, &e)) {
        if (!is_behind(&e, j->target.param[REPO_PARAM_AFTER]))
            continue;
        repo_target t = target_of(j, &e, room);
        if (!repo_job_may(j, &t))
            continue;
        if (n++ == limit) {
            more = true;
            continue;
        }
        last = e;
        put_entry(j, &e, &t);
    }
    mcp_json_end(j->json);
    if (more)
        put_next(j, &last, room);
    common_release(&j->r->base.alloc, room);
    return rest.len && !more ? MCP_EIO : MCP_OK;
}

static int run_tree(repo_job *j, const repo_entry *e)
{
    git_odb_object *o;
    uint64_t limit;
    mcp_json_writer *w = j->json;
    if (!repo_job_number(j, REPO_PARAM_LIMIT, 1, MAX_TREE_LIMIT, TREE_LIMIT, &limit))
        return MCP_OK;
    int rc = repo_object(&j->use, &e->id, GIT_OBJECT_TREE, &o);
    if (rc != MCP_OK)
        return rc == MCP_ENOTFOUND ? MCP_EIO : rc;
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "type", "folder");
    mcp_json_key(w, "path"), repo_put_text(w, j->target.path);
    mcp_json_key(w, "id"), repo_put_id(w, &e->id);
    mcp_json_put_array(w, "entries");
    rc = put_entries(j, repo_object_text(o), limit);
    mcp_json_end(w);
    git_odb_object_free(o);
    return rc;
}

static int run_submodule(repo_job *j, const repo_entry *e)
{
    mcp_json_begin_object(j->json);
    mcp_json_put_string(j->json, "type", "submodule");
    mcp_json_key(j->json, "path"), repo_put_text(j->json, j->target.path);
    mcp_json_key(j->json, "commit"), repo_put_id(j->json, &e->id);
    mcp_json_end(j->json);
    return MCP_OK;
}

int repo_run_file(repo_job *j)
{
    repo_entry e;
    int rc = repo_find(&j->use, j->target.rev, j->target.path, &e, &j->fixed);
    if (rc != MCP_OK)
        return rc;
    switch (e.mode & 0170000) {
    case REPO_MODE_TREE: return run_tree(j, &e);
    case REPO_MODE_COMMIT: return run_submodule(j, &e);
    default: return run_blob(j, &e);
    }
}

/* ---- repository ------------------------------------------------------------------------------ */

static void put_link(repo_job *j, const char *key, repo_target t)
{
    t.other = t.path = (mcp_str){"", 0};
    repo_put_link(j, key, &t);
}

/* Adds the branch and the commit of HEAD, each only if the caller may read it. */
static void put_head(repo_job *j, const char *full, const git_oid *id)
{
    char hex[GIT_OID_HEXSZ + 1] = "";
    mcp_json_writer *w = j->json;
    bool branch = strncmp(full, "refs/heads/", 11) == 0;
    repo_target t = {.kind = REPO_KIND_FILE, .other = {"", 0}, .path = {"", 0}};
    mcp_json_put_object(w, "head");
    t.rev = branch ? mcp_str_from(full + 11) : t.path;
    if (branch && repo_job_may(j, &t))
        mcp_json_key(w, "branch"), repo_put_text(w, t.rev);
    t.kind = REPO_KIND_COMMIT;
    t.rev = id ? mcp_str_from(git_oid_tostr(hex, sizeof(hex), id)) : t.path;
    if (!id || repo_job_may(j, &t)) {
        mcp_json_key(w, "commit");
        if (id)
            repo_put_id(w, id);
        else
            mcp_json_add_null(w); /* there is no commit yet */
    }
    mcp_json_end(w);
}

int repo_run_repository(repo_job *j)
{
    char full[REPO_REF_MAX + 1] = "";
    git_oid id;
    mcp_json_writer *w = j->json;
    const mcp_str head = MCP_STR("HEAD"), none = {"", 0};
    int rc = repo_ref_read(&j->use, head, &id, full);
    if (rc != MCP_OK && rc != MCP_ENOTFOUND)
        return rc;
    mcp_json_begin_object(w);
    mcp_json_key(w, "name"), repo_put_text(w, mcp_str_from(j->r->base.name));
    put_head(j, full, rc == MCP_OK ? &id : NULL);
    put_link(j, "tree", (repo_target){.kind = REPO_KIND_FILE, .rev = head});
    put_link(j, "log", (repo_target){.kind = REPO_KIND_LOG, .rev = head});
    put_link(j, "branches", (repo_target){.kind = REPO_KIND_BRANCHES, .rev = none});
    put_link(j, "tags", (repo_target){.kind = REPO_KIND_TAGS, .rev = none});
    mcp_json_end(w);
    return MCP_OK;
}
