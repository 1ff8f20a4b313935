/* provider.c: mounts a repository with its templates. */
#include "expr.h"
#include "provider.h"

#include <stdio.h>

enum {
    CACHE = 16 << 20, /* bytes, for all repositories of the process */
    WITHIN = 4096,    /* size of the buffer for the option `within` */
};

/* ---- templates ------------------------------------------------------------------------------- */

/* The list is the same for every repository. In a bare repository, no resource matches the last two
 * templates. A path that may be empty has an additional template without it, because hosts make
 * forms from templates, and a form requires every variable of the path. */
static const common_template templates[] = {
    {"{rev}/{+path}{?offset,length,format}", "file", "File or folder at a revision",
     "rev: branch, tag, HEAD or commit id, with ~N or ^N for its ancestors. Of a large file: "
     "length bytes from offset on",
     NULL},
    {"{rev}/{?limit,format}", "tree", "Top folder at a revision", "Its entries with their URIs",
     "application/json"},
    {"-/branches{?limit,format}", "branches", "Branches", "Names, ids, URIs", "application/json"},
    {"-/tags{?limit,format}", "tags", "Tags", "Names, ids, URIs", "application/json"},
    {"-/commit/{rev}{?format}", "commit", "Commit", "Who, when, why, its files, and its parents",
     "application/json"},
    {"-/log/{rev}{?author,text,since,until,files,limit,format}", "log", "History of a revision",
     "Newest first; rev may be a range like v1..main. files: how many changed files are named of "
     "each "
     "commit. `next` leads to older ones",
     "application/json"},
    {"-/log/{rev}/{+path}{?author,text,since,until,files,limit,format}", "path_log",
     "History of a file or folder",
     "Newest first, with the parameters of log; `next` leads to older ones", "application/json"},
    {"-/diff/{range}{?path}", "diff", "Difference of a range",
     "Files and numbers of lines, then the patch; a long one only of path (a folder, or a glob "
     "like "
     "*.c). v1..main: from one to the other; v1...main: from their merge base",
     "text/x-diff"},
    {"-/diff/{from}/{to}{?path}", "revision_diff", "Difference between two revisions",
     "Files and numbers of lines, then the patch; a long one only of path", "text/x-diff"},
    {"-/diff/{from}/{to}/{+path}", "path_diff", "Difference of a file or folder",
     "Between two revisions, as a patch", "text/x-diff"},
    {"-/blame/{rev}/{+path}{?line,lines,format}", "blame", "Who wrote these lines",
     "lines of a file from line on: their text, and author, date and subject of the commit that "
     "last "
     "changed each",
     "application/json"},
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

static void clear(common_source *base)
{
    repo *r = (repo *)base;
    repo_layout_release(r->layout);
    common_release(&base->alloc, r->path);
    common_release(&base->alloc, r->within);
}

static int canonical(common_source *base, mcp_str rest, char *texts, common_buffer *to)
{
    repo_target t;
    (void)base;
    int rc = repo_uri_parse(rest, texts, &t);
    if (rc == MCP_OK && repo_target_refused(&t))
        rc = MCP_ENOTFOUND;
    if (rc != MCP_OK)
        return rc;
    memset(t.param, 0, sizeof(t.param));
    rc = common_buffer_reserve(to, repo_uri_room(&t));
    if (rc == MCP_OK)
        to->len += repo_uri_put(to->ptr + to->len, &t);
    return rc;
}

static int spell(const char *prefix, mcp_str uri, char *canonical, size_t room);

static const common_source_kind kind = {
    .provider = {.size = sizeof(mcp_provider),
                 .name = "git",
                 .list = repo_list,
                 .read = repo_read,
                 .resolve = common_source_resolve,
                 .watch = common_source_watch,
                 .unwatch = common_source_unwatch,
                 .watch_list = common_source_watch_list,
                 .unwatch_list = common_source_unwatch_list,
                 .release = common_source_free},
    .noun = "repository",
    .templates = {templates, sizeof(templates) / sizeof(*templates), repo_read_template,
                  repo_complete},
    .canonical = canonical,
    .spell = spell,
    .texts_room = REPO_URI_ROOM,
    .begin = repo_watch_begin,
    .look = repo_watch_look,
    .own_size = sizeof(repo_marks),
    .mark = repo_watch_mark,
    .mark_list = repo_watch_mark_list,
    .clear = clear,
};

static int spell(const char *prefix, mcp_str uri, char *canonical, size_t room)
{
    return common_source_spell(&kind, prefix, uri, canonical, room);
}

void repo_log(const repo *r, const char *what, const char *why)
{
    char line[320];
    snprintf(line, sizeof(line), "%.50s%.250s", what, why);
    common_source_log(&r->base, r->path, line);
}

repo_layout *repo_layout_now(repo *r, int *rc)
{
    mcp_error error = {0};
    repo_layout *l;
    if (!repo_layout_is_current(r->layout, r->path)) {
        *rc = repo_layout_open(r->path, r->within, &r->base.alloc, &l, &error);
        if (*rc == MCP_EFILES || *rc == MCP_ENOMEM)
            return NULL; /* a temporary lack of resources in the server */
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

/* Returns the folder's name without ".git"; for "project/.git", that of the project. */
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

/* Initializes libgit2 so that it reads no configuration of the user or the system. libgit2 is
 * never shut down, because the host's worker threads may end later and still hold thread-local
 * data of libgit2. */
static int start_libgit2(void)
{
    static const int levels[] = {GIT_CONFIG_LEVEL_PROGRAMDATA, GIT_CONFIG_LEVEL_SYSTEM,
                                 GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_GLOBAL};
    if (git_libgit2_init() < 0)
        return MCP_ENOMEM;
    for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
        git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "");
    git_libgit2_opts(GIT_OPT_SET_CACHE_MAX_SIZE, (ssize_t)CACHE);
    /* Verifies that the data from the reader has the requested id. Other settings of libgit2 do not
     * apply: its limits for packs belong to its own backends, which are not used, and its check of
     * owners belongs to repositories that it opens itself. */
    git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 1);
    return MCP_OK;
}

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_git_options, max_read, 10 << 20),
    MCP_DEFAULT(mcp_git_options, max_bytes, 1 << 20),
    MCP_DEFAULT(mcp_git_options, timeout_ms, 10000),
};

/* Makes the source without looking at the repository. *ret must be freed, also after a failure. */
static int make(mcp_server *server, const mcp_git_options *given, repo **ret, mcp_error *error)
{
    mcp_git_options filled = *given, *o = &filled;
    MCP_SET_DEFAULTS(o, defaults);
    *ret = NULL;
    if (!o->path || !*o->path)
        return common_refuse(error, MCP_EINVAL, "git", "no repository is named");
    repo *r = *ret = (repo *)common_source_new(&kind, sizeof(*r), server, o->allocator);
    if (!r)
        return MCP_ENOMEM;
    const mcp_allocator *alloc = &r->base.alloc;
    r->max_read = (size_t)o->max_read;
    r->max_bytes = (size_t)o->max_bytes;
    r->timeout_ms = o->timeout_ms;
    r->path = common_copy(alloc, o->path, strlen(o->path));
    r->within = o->within ? common_copy(alloc, o->within, strlen(o->within)) : NULL;
    if (!r->path || (!r->within && o->within))
        return MCP_ENOMEM;
    return common_set_name(alloc, "git", o->name ? mcp_str_from(o->name) : default_name(o->path),
                           o->path, &r->base.name, &r->base.prefix, error);
}

int mcp_git_mount(mcp_server *server, const mcp_git_options *options, mcp_error *error)
{
    repo *r;
    mcp_git_options o = {0};
    memcpy(&o, options, options->size < sizeof(o) ? options->size : sizeof(o));
    int rc = make(server, &o, &r, error);
    if (rc == MCP_OK)
        rc = start_libgit2();
    if (rc == MCP_OK)
        rc = repo_layout_open(r->path, r->within, &r->base.alloc, &r->layout, error);
    if (rc == MCP_OK)
        return common_source_mount(&r->base, NULL, o.path, error);
    common_source_free(r);
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

/* `within` is the buffer for the option of that name. */
static int read_options(const char *path, const mcp_json *json, const char *name,
                        const mcp_allocator *allocator, char within[WITHIN], mcp_git_options *ret,
                        mcp_error *error)
{
    *ret = (mcp_git_options){.size = sizeof(*ret),
                             .path = path,
                             .name = name,
                             .max_read = common_number(json, "max_read"),
                             .max_bytes = common_number(json, "max_bytes"),
                             .timeout_ms = common_number(json, "timeout_ms"),
                             .allocator = allocator};
    return common_text(json, "within", within, WITHIN, &ret->within, error);
}

int mcp_git_mount_json(mcp_server *server, const char *path, const mcp_json *options,
                       const char *name, const mcp_allocator *allocator, mcp_error *error)
{
    char within[WITHIN];
    mcp_git_options o;
    int rc = read_options(path, options, name, allocator, within, &o, error);
    return rc == MCP_OK ? mcp_git_mount(server, &o, error) : rc;
}

int mcp_git_describe_json(const char *path, const mcp_json *options, const char *name,
                          const mcp_allocator *allocator, const mcp_description *to,
                          mcp_error *error)
{
    char within[WITHIN];
    mcp_git_options o;
    repo *r = NULL;
    int rc = read_options(path, options, name, allocator, within, &o, error);
    if (rc == MCP_OK)
        rc = make(NULL, &o, &r, error);
    if (rc == MCP_OK) {
        mcp_source_path paths[] = {{.size = sizeof(*paths), .path = path},
                                   {.size = sizeof(*paths), .path = o.within}};
        return common_source_describe(&r->base, NULL, path, paths, o.within ? 2 : 1, to, error);
    }
    common_source_free(r);
    return rc;
}

int mcp_git_look_json(const char *path, const mcp_json *options, const char *name,
                      const mcp_allocator *allocator, mcp_error *error)
{
    char within[WITHIN];
    mcp_git_options o;
    mcp_allocator alloc = common_allocator(allocator);
    int rc = read_options(path, options, name, allocator, within, &o, error);
    return rc == MCP_OK ? repo_layout_open(path, o.within, &alloc, NULL, error) : rc;
}
