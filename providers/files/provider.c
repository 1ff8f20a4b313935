/* provider.c: mounts the sources at "file:", and connects watching to subscriptions.
 *
 * There is one mount for all sources: lists iterate over them in the given order, and the path of a
 * URI determines its source. Nothing is read, watched or started before a request needs it.
 */
#define _GNU_SOURCE
#include "change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "text.h"

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_files_options, max_read, 10 << 20),
};

/* ---- strings --------------------------------------------------------------------------------- */

/* Returns the length of the first character in bytes, or 0 if it is invalid. */
static size_t character(mcp_str s)
{
    unsigned char c = (unsigned char)s.ptr[0];
    size_t len = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    return len <= s.len && common_text_utf8((mcp_str){s.ptr, len}) ? len : 0;
}

int files_put_text(common_buffer *out, mcp_str bytes)
{
    int rc = common_buffer_reserve(out, bytes.len * 3 + 1);
    if (rc != MCP_OK)
        return rc;
    if (common_text_utf8(bytes)) {
        if (bytes.len)
            memcpy(out->ptr + out->len, bytes.ptr, bytes.len);
        out->len += bytes.len;
        bytes.len = 0;
    }
    while (bytes.len) {
        size_t len = character(bytes);
        memcpy(out->ptr + out->len, len ? bytes.ptr : "\xef\xbf\xbd", len ? len : 3);
        out->len += len ? len : 3;
        bytes.ptr += len ? len : 1;
        bytes.len -= len ? len : 1;
    }
    out->ptr[out->len] = 0;
    return MCP_OK;
}

static int terminate(common_buffer *out, int rc)
{
    if (rc == MCP_OK && (rc = common_buffer_reserve(out, 1)) == MCP_OK)
        out->ptr[out->len] = 0;
    return rc;
}

int files_put_uri(const files *f, size_t root, mcp_str rel, common_buffer *out)
{
    return terminate(out, files_uri_write(&f->roots.items[root], rel, out));
}

int files_put_path(const files *f, size_t root, mcp_str rel, common_buffer *out)
{
    const files_root *r = &f->roots.items[root];
    int rc = common_buffer_append(out, r->path, r->path_len);
    if (rc == MCP_OK && (rel.len || !r->path_len))
        rc = common_buffer_append(out, "/", 1);
    if (rc == MCP_OK && rel.len)
        rc = common_buffer_append(out, rel.ptr, rel.len);
    return terminate(out, rc);
}

int files_put_line(const files *f, const files_entry *e, common_buffer *out)
{
    char head[48];
    int n = e->is_dir ? snprintf(head, sizeof(head), "folder\t-\t")
                      : snprintf(head, sizeof(head), "file\t%llu\t", (unsigned long long)e->size);
    int rc = common_buffer_append(out, head, (size_t)n);
    if (rc == MCP_OK)
        rc = files_uri_write(&f->roots.items[e->root], e->rel, out);
    return rc == MCP_OK ? common_buffer_append(out, "\n", 1) : rc;
}

void files_log(const files *f, const char *what, mcp_str uri, int code)
{
    char line[512];
    const mcp_host *host = mcp_server_host(f->server);
    if (!host || !host->log)
        return;
    snprintf(line, sizeof(line), "%.*s: %s: %s", uri.len < 400 ? (int)uri.len : 400, uri.ptr, what,
             mcp_error_text(code));
    host->log("info", line, host->user);
}

/* ---- watching -------------------------------------------------------------------------------- */

/* Returns whether an encoded name in a query is a variable of a template. */
static bool is_part_name(mcp_str name)
{
    char decoded[16];
    size_t len;
    return mcp_uri_decode(name, decoded, sizeof(decoded), &len) == MCP_OK &&
           files_is_part_name((mcp_str){decoded, len});
}

/* Removes the query from the URI. Returns false if no template could match the query. */
static bool without_query(mcp_str uri, mcp_str *ret)
{
    const char *query = uri.len ? memchr(uri.ptr, '?', uri.len) : NULL;
    *ret = uri;
    if (!query)
        return true;
    ret->len = (size_t)(query - uri.ptr);
    for (const char *p = query + 1, *end = uri.ptr + uri.len; p < end;) {
        const char *name = p;
        while (p < end && *p != '=' && *p != '&')
            p++;
        if (!is_part_name((mcp_str){name, (size_t)(p - name)}))
            return false;
        while (p < end && *p++ != '&')
            ;
    }
    return true;
}

/* Checks whether a path can be served, now or after it is created. */
static int could_be_served(const files *f, const files_target *t)
{
    const files_root *root = &f->roots.items[t->root];
    struct stat st;
    int rc = files_root_stat(root, t->rel, &st);
    if (rc == MCP_ENOTFOUND)
        rc = files_root_awaits(root, t->rel);
    return rc == MCP_OK || rc == MCP_ENOMEM ? rc : MCP_ENOTFOUND;
}

static int resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    files *f = user;
    files_target target;
    common_buffer out;
    mcp_str plain;
    if (!without_query(uri, &plain) || files_uri_parse(&f->roots, plain, &target) != MCP_OK)
        return MCP_ENOTFOUND;
    int rc = could_be_served(f, &target);
    if (rc != MCP_OK)
        return rc;
    common_buffer_init(&out, &f->alloc);
    rc = files_put_uri(f, target.root, (mcp_str){target.rel, target.rel_len}, &out);
    if (rc == MCP_OK && out.len >= room)
        rc = MCP_ELIMIT;
    if (rc == MCP_OK)
        memcpy(canonical, out.ptr, out.len + 1);
    common_buffer_free(&out);
    return rc;
}

/* Calls `fn` with the URI of a path, if it could be served. */
static void tell(files *f, const char *path, void (*fn)(mcp_server *server, const char *uri))
{
    files_target target;
    common_buffer uri;
    if (files_path_parse(&f->roots, mcp_str_from(path), &target) != MCP_OK ||
        could_be_served(f, &target) != MCP_OK)
        return;
    common_buffer_init(&uri, &f->alloc);
    if (files_put_uri(f, target.root, (mcp_str){target.rel, target.rel_len}, &uri) == MCP_OK)
        fn(f->server, uri.ptr);
    common_buffer_free(&uri);
}

static void on_updated(const char *path, void *user)
{
    tell(user, path, mcp_server_resource_updated);
}

static void on_list_changed(const char *path, void *user)
{
    files *f = user;
    if (path)
        tell(f, path, mcp_server_resources_changed_by);
    else
        mcp_server_resources_changed(f->server);
}

static void say_renewed(const files *f, const files_root *root, bool was_gone)
{
    const mcp_host *host = mcp_server_host(f->server);
    const char *what = root->gone ? ": lists of resources are without it: "
                       : was_gone ? ": lists of resources have it again"
                                  : ": another folder is at its path now, and is served instead";
    common_buffer line;
    common_buffer_init(&line, &f->alloc);
    if (host && host->log && files_uri_write(root, MCP_STR(""), &line) == MCP_OK &&
        common_put(&line, what) && common_put(&line, root->gone ? files_root_why(root) : "") &&
        terminate(&line, MCP_OK) == MCP_OK)
        host->log(root->gone ? "warning" : "info", line.ptr, host->user);
    common_buffer_free(&line);
}

bool files_renew(files *f, size_t index)
{
    files_root *root = &f->roots.items[index];
    bool was_gone = root->gone != MCP_OK;
    if (!files_root_renew(root))
        return false;
    files_cache_free(f->cache); /* its files may be in the folder that was there before */
    f->cache = NULL;
    say_renewed(f, root, was_gone);
    if (f->watch)
        files_watch_renewed(f->watch, index);
    return true;
}

void files_renew_old(files *f, size_t index)
{
    files_root *root = &f->roots.items[index];
    int64_t now = files_cache_now();
    if (now - root->looked <= FILES_CACHE_MS)
        return;
    root->looked = now;
    files_renew(f, index);
}

static void look(size_t root, void *user)
{
    files_renew(user, root);
}

static int ensure_watch(files *f)
{
    if (f->watch)
        return MCP_OK;
    files_watch_options options = {.roots = &f->roots,
                                   .host = mcp_server_host(f->server),
                                   .alloc = &f->alloc,
                                   .budget = f->watch_budget,
                                   .rules = f->rules,
                                   .updated = on_updated,
                                   .list_changed = on_list_changed,
                                   .look = look,
                                   .user = f};
    return files_watch_new(&options, &f->watch);
}

/* Writes the path of a canonical URI of this provider. */
static int path_of(files *f, const char *canonical, common_buffer *path)
{
    files_target target;
    int rc = files_uri_parse(&f->roots, mcp_str_from(canonical), &target);
    common_buffer_init(path, &f->alloc);
    if (rc == MCP_OK)
        rc = files_put_path(f, target.root, (mcp_str){target.rel, target.rel_len}, path);
    return rc;
}

static int watch(const char *canonical, void *user)
{
    files *f = user;
    common_buffer path;
    int rc = path_of(f, canonical, &path);
    if (rc == MCP_OK)
        rc = ensure_watch(f);
    if (rc == MCP_OK)
        rc = files_watch_add(f->watch, path.ptr);
    common_buffer_free(&path);
    return rc;
}

static void unwatch(const char *canonical, void *user)
{
    files *f = user;
    common_buffer path;
    if (path_of(f, canonical, &path) == MCP_OK && f->watch)
        files_watch_remove(f->watch, path.ptr);
    common_buffer_free(&path);
}

static int watch_list(void *user)
{
    files *f = user;
    int rc = ensure_watch(f);
    return rc == MCP_OK ? files_watch_list_start(f->watch) : rc;
}

static void unwatch_list(void *user)
{
    files *f = user;
    if (f->watch)
        files_watch_list_stop(f->watch);
}

/* ---- mounting -------------------------------------------------------------------------------- */

static void release(void *user)
{
    files *f = user;
    mcp_allocator alloc = f->alloc;
    files_watch_free(f->watch);
    files_changes_free(f);
    files_roots_close(&f->roots);
    files_mime_free(f->mime);
    files_cache_free(f->cache);
    common_buffer_free(&f->uri);
    common_buffer_free(&f->name);
    common_buffer_free(&f->title);
    common_release(&alloc, f);
}

static int refuse(mcp_error *error, int code, const char *source, const char *why)
{
    if (error) {
        error->code = code;
        error->offset = 0;
        snprintf(error->text, sizeof(error->text), "%.180s: %s", source, why);
    }
    return code;
}

/* Explains why a source cannot be served. This check is only for the error message: whether the
 * source can be served is decided when it is opened. */
static int check_source(const char *source, mcp_error *error)
{
    struct stat st;
    if (!*source)
        return refuse(error, MCP_EINVAL, "''", "the name of a source is empty");
    if (stat(source, &st) != 0)
        return refuse(error, common_code_of_errno(errno), source, strerror(errno));
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        return refuse(error, MCP_EACCESS, source, "neither a folder nor a regular file");
    if (faccessat(AT_FDCWD, source, S_ISDIR(st.st_mode) ? R_OK | X_OK : R_OK, AT_EACCESS) != 0)
        return refuse(error, common_code_of_errno(errno), source, strerror(errno));
    return MCP_OK;
}

static int open_sources(files *f, const mcp_files_options *o, mcp_error *error)
{
    files_ignore_options ignore = {.hidden = o->hidden,
                                   .no_ignore = o->no_ignore,
                                   .include = o->include,
                                   .include_count = o->n_include,
                                   .exclude = o->exclude,
                                   .exclude_count = o->n_exclude};
    if (!o->n_sources)
        return refuse(error, MCP_EINVAL, "files", "no source is named");
    for (size_t i = 0; i < o->n_sources; i++) {
        int rc = check_source(o->sources[i], error);
        if (rc != MCP_OK)
            return rc;
    }
    return files_roots_open(o->sources, o->n_sources, &ignore, &f->alloc, &f->roots, error);
}

static int make(mcp_server *server, const mcp_files_options *given, files **ret, mcp_error *error)
{
    mcp_files_options filled = *given, *o = &filled;
    MCP_SET_DEFAULTS(o, defaults);
    mcp_allocator alloc = common_allocator(o->allocator);
    files *f = common_alloc(&alloc, sizeof(*f));
    if (!f)
        return MCP_ENOMEM;
    *f = (files){.alloc = alloc,
                 .server = server,
                 .max_read = o->max_read,
                 .watch_budget = o->watch_budget,
                 .no_watch = o->no_watch,
                 .rules = !o->no_ignore};
    common_buffer_init(&f->uri, &alloc);
    common_buffer_init(&f->name, &alloc);
    common_buffer_init(&f->title, &alloc);
    int rc = open_sources(f, o, error);
    if (rc == MCP_OK)
        rc = files_mime_new(o->data_home, o->data_dirs, &f->alloc, &f->mime);
    if (rc == MCP_OK)
        *ret = f;
    else
        release(f);
    return rc;
}

mcp_files_counts mcp_files_watching(const mcp_files *handle)
{
    const files *f = (const files *)handle;
    if (!f->watch)
        return (mcp_files_counts){0};
    files_watch_counts c = files_watch_count(f->watch);
    return (mcp_files_counts){c.watched, c.budget, c.polled, c.subscriptions};
}

int mcp_files_mount(mcp_server *server, const mcp_files_options *options, mcp_error *error)
{
    mcp_provider provider = {.size = sizeof(provider),
                             .name = "files",
                             .list = files_list,
                             .read = files_read_resource,
                             .read_cached = files_read_cached,
                             .resolve = resolve, /* also used for access rules */
                             .other = files_undo_methods,
                             .release = release};
    files *f;
    int rc = make(server, options, &f, error);
    if (rc != MCP_OK)
        return rc;
    if (!f->no_watch) {
        provider.watch = watch, provider.unwatch = unwatch;
        provider.watch_list = watch_list, provider.unwatch_list = unwatch_list;
    }
    rc = mcp_server_mount(server, "file:", &provider, f, error); /* takes ownership of f even
                                                                  * if it fails */
    if (rc == MCP_OK && options->handle)
        *options->handle = (mcp_files *)f;
    return rc == MCP_OK ? files_add_templates(f, error) : rc;
}
