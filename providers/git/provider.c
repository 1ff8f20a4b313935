/* provider.c: mounts a repository with its templates. */
#include "provider.h"

#include <stdio.h>

#include "mounting.h"

enum {
    MAX_READ = 10 << 20,
    MAX_BYTES = 1 << 20,
    TIMEOUT_MS = 10000,
    CACHE = 16 << 20, /* of libgit2, for all repositories of the process */
};

/* ---- templates ------------------------------------------------------------------------------- */

/* The last two are of a working tree. Where a path may be empty there is a template without one
 * too: hosts make forms of them, and a form wants every variable of the path. */
static const common_template templates[] = {
    {"{rev}/{+path}{?offset,length,format}", "file", "File or folder at a revision",
     "rev: branch, tag, HEAD or commit id, with ~N or ^N for its ancestors. Of a large file: "
     "length bytes from offset on",
     NULL},
    {"{rev}/{?limit,format}", "tree", "Top folder at a revision", "Its entries with their URIs",
     "application/json"},
    {"-/branches{?limit,format}", "branches", "Branches", "Names, ids, URIs", "application/json"},
    {"-/tags{?limit,format}", "tags", "Tags", "Names, ids, URIs", "application/json"},
    {"-/commit/{rev}{?format}", "commit", "Commit", "Who, when, why, and its parents",
     "application/json"},
    {"-/log/{rev}{?limit,format}", "log", "History of a revision",
     "Newest first; rev may be a range like v1..main. `next` leads to older ones",
     "application/json"},
    {"-/log/{rev}/{+path}{?limit,format}", "path_log", "History of a file or folder",
     "Newest first; `next` leads to older ones", "application/json"},
    {"-/diff/{range}", "diff", "Difference of a range",
     "As a patch. v1..main: from one to the other; v1...main: from their merge base",
     "text/x-diff"},
    {"-/diff/{from}/{to}", "revision_diff", "Difference between two revisions", "As a patch",
     "text/x-diff"},
    {"-/diff/{from}/{to}/{+path}", "path_diff", "Difference of a file or folder",
     "Between two revisions, as a patch", "text/x-diff"},
    {"-/blame/{rev}/{+path}{?line,lines,format}", "blame", "Who wrote these lines",
     "lines of a file from line on, each with the commit that last changed it", "application/json"},
    {"-/search/{rev}{?text,regex,path,limit,format}", "search", "Search in the files of a revision",
     "Lines with this text, or that match this regular expression (give one of the two); path: a "
     "folder, or a glob like *.c. `next` continues",
     "application/json"},
    {"-/staged/{+path}", "staged", "Staged difference of a file or folder",
     "Between HEAD and what is staged, as a patch; -/staged is all of it", "text/x-diff"},
    {"-/unstaged/{+path}", "unstaged", "Unstaged difference of a file or folder",
     "Between what is staged and the working tree, as a patch; -/unstaged is all of it",
     "text/x-diff"},
};

/* ---- mounting -------------------------------------------------------------------------------- */

static void release(void *user)
{
    repo *r = user;
    mcp_allocator alloc = r->alloc;
    repo_watch_free(r);
    repo_layout_release(r->layout);
    common_release(&alloc, r->path);
    common_release(&alloc, r->within);
    common_release(&alloc, r->name);
    common_release(&alloc, r->prefix);
    common_release(&alloc, r);
}

void repo_log(const repo *r, const char *what, const char *why)
{
    char line[600];
    const mcp_host *host = mcp_server_host(r->server);
    if (!host || !host->log)
        return;
    snprintf(line, sizeof(line), "%.250s: %.50s%.250s", r->path, what, why);
    host->log("warning", line, host->user);
}

repo_layout *repo_layout_now(repo *r, int *rc)
{
    mcp_error error = {0};
    repo_layout *l;
    if (!repo_layout_is_current(r->layout, r->path)) {
        *rc = repo_layout_open(r->path, r->within, &r->alloc, &l, &error);
        if (*rc == MCP_EFILES || *rc == MCP_ENOMEM)
            return NULL; /* it is the server that is short of something */
        if (*rc != MCP_OK) {
            *rc = MCP_ENOTFOUND;
            repo_log(r, "", error.text);
            return NULL;
        }
        repo_layout_release(r->layout);
        r->layout = l;
    }
    r->layout->uses++;
    return r->layout;
}

/* The folder's name without ".git"; of "project/.git" the project's. */
static mcp_str default_name(const char *path)
{
    mcp_str name = mcp_str_from(path), parts[2] = {{0}};
    for (int i = 0; i < 2; i++) {
        while (name.len && name.ptr[name.len - 1] == '/')
            name.len--;
        size_t begin = name.len;
        while (begin && name.ptr[begin - 1] != '/')
            begin--;
        parts[i] = (mcp_str){name.ptr + begin, name.len - begin};
        name.len = begin;
    }
    name = mcp_str_eq(parts[0], MCP_STR(".git")) ? parts[1] : parts[0];
    if (name.len > 4 && memcmp(name.ptr + name.len - 4, ".git", 4) == 0)
        name.len -= 4;
    return mcp_str_eq(name, MCP_STR(".")) || mcp_str_eq(name, MCP_STR("..")) ? MCP_STR("repository")
                                                                             : name;
}

/* libgit2 may read nothing of the user's or the system's, whatever it is asked for. It is never
 * shut down: the host's worker threads, which end later, still hold something of its own. */
static int start_libgit2(void)
{
    static const int levels[] = {GIT_CONFIG_LEVEL_PROGRAMDATA, GIT_CONFIG_LEVEL_SYSTEM,
                                 GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_GLOBAL};
    if (git_libgit2_init() < 0)
        return MCP_ENOMEM;
    for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
        git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "");
    git_libgit2_opts(GIT_OPT_SET_CACHE_MAX_SIZE, (ssize_t)CACHE);
    /* What the reader puts together has to have the id that it was asked for. libgit2's limits of
     * packs (windows, number and size of objects) are of its own backends, which see nothing;
     * neither does its validation of owners, which is of repositories that it opens. */
    git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 1);
    return MCP_OK;
}

static int make(mcp_server *server, const mcp_git_options *o, repo **ret, mcp_error *error)
{
    mcp_allocator alloc = common_allocator(o->allocator);
    if (!o->path || !*o->path)
        return common_refuse(error, MCP_EINVAL, "git", "no repository is named");
    repo *r = common_alloc(&alloc, sizeof(*r));
    if (!r)
        return MCP_ENOMEM;
    if (start_libgit2() != MCP_OK) {
        common_release(&alloc, r);
        return MCP_ENOMEM;
    }
    *r = (repo){.alloc = alloc,
                .server = server,
                .max_read = (size_t)common_or_default(o->max_read, MAX_READ),
                .max_bytes = (size_t)common_or_default(o->max_bytes, MAX_BYTES),
                .timeout_ms = common_or_default(o->timeout_ms, TIMEOUT_MS)};
    r->path = common_copy(&alloc, o->path, strlen(o->path));
    r->within = o->within ? common_copy(&alloc, o->within, strlen(o->within)) : NULL;
    int rc = r->path && (r->within || !o->within) ? MCP_OK : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = common_set_name(&alloc, "git", o->name ? mcp_str_from(o->name) : default_name(o->path),
                             o->path, &r->name, &r->prefix, error);
    if (rc == MCP_OK)
        rc = repo_layout_open(r->path, r->within, &r->alloc, &r->layout, error);
    if (rc == MCP_OK)
        *ret = r;
    else
        release(r);
    return rc;
}

static int mount(repo *r, mcp_error *error)
{
    static const mcp_provider provider = {.size = sizeof(provider),
                                          .name = "git",
                                          .list = repo_list,
                                          .read = repo_read,
                                          .resolve = repo_resolve,
                                          .watch = repo_watch_add,
                                          .unwatch = repo_watch_remove,
                                          .watch_list = repo_watch_list,
                                          .unwatch_list = repo_unwatch_list,
                                          .release = release};
    return mcp_server_mount(r->server, r->prefix, &provider, r, error);
}

int mcp_git_mount(mcp_server *server, const mcp_git_options *options, mcp_error *error)
{
    repo *r = NULL;
    mcp_git_options o = {0};
    memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
    int rc = make(server, &o, &r, error);
    if (!r)
        return rc;
    rc = mount(r, error); /* takes r over in every case */
    if (rc == MCP_EEXIST)
        return common_refuse(error, rc, o.path,
                             "another repository has its name; choose one: ?name=NAME");
    size_t n = sizeof(templates) / sizeof(*templates);
    if (rc == MCP_OK && !repo_layout_has_worktree(r->layout))
        n -= 2;
    if (rc == MCP_OK)
        rc = common_templates_add(
            &(common_templates){templates, n, repo_read_template, repo_complete}, server, &r->alloc,
            r->name, r->prefix, r, error);
    return rc;
}

/* ---- options as JSON ------------------------------------------------------------------------- */

const char mcp_git_schema[] =
    "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
    "\"within\":{\"type\":\"string\",\"format\":\"path\",\"minLength\":1,\"maxLength\":4095,"
    "\"description\":\"Folder that must contain all parts of the repository; default: the "
    "repository's own\"},"
    "\"max_read\":{\"type\":\"integer\",\"minimum\":1024,\"maximum\":67108864,"
    "\"description\":\"Bytes of a file that one read returns; default 10485760\"},"
    "\"max_bytes\":{\"type\":\"integer\",\"minimum\":1024,\"maximum\":16777216,"
    "\"description\":\"Bytes of a diff; default 1048576\"},"
    "\"timeout_ms\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":3600000,"
    "\"description\":\"How long one request may take; default 10000\"}}}";

int mcp_git_mount_json(mcp_server *server, const char *path, const mcp_json *options,
                       const char *name, const mcp_allocator *allocator, mcp_error *error)
{
    char folder[4096];
    const char *within;
    int rc = common_text(options, "within", folder, sizeof(folder), &within, error);
    if (rc != MCP_OK)
        return rc;
    return mcp_git_mount(server,
                         MCP_OPTIONS(mcp_git_options, .path = path, .name = name, .within = within,
                                     .max_read = common_number(options, "max_read"),
                                     .max_bytes = common_number(options, "max_bytes"),
                                     .timeout_ms = common_number(options, "timeout_ms"),
                                     .allocator = allocator),
                         error);
}
