/* roots.c: the folders that the server gets as roots (2025-11-25 and 2026-07-28, client/roots).
 *
 * Roots are only information and grant no permission. The library answers the server's requests in
 * both eras and sends notifications if the server wants them. This file only manages the folders,
 * as absolute paths without links, and their URIs.
 */
#define _GNU_SOURCE
#include "roots.h"

#include <errno.h>
#include <mcp/uri.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "servers.h"
#include "session.h"

struct roots {
    words paths;
    bool declared; /* the capability was declared to the server */
};

/* ---- folders --------------------------------------------------------------------------------- */

/* Returns the real path, which the caller frees; NULL after reporting the error. */
static char *find_folder(const char *dir)
{
    struct stat st = {0};
    char *path = realpath(dir, NULL);
    int error = path && stat(path, &st) == 0 ? 0 : errno;
    if (!error && !S_ISDIR(st.st_mode))
        error = ENOTDIR;
    if (!error)
        return path;
    say("root %s: %s", dir, strerror(error));
    free(path);
    return NULL;
}

static size_t index_of(const roots *r, const char *path)
{
    size_t i = 0;
    while (i < r->paths.count && strcmp(r->paths.items[i], path) != 0)
        i++;
    return i;
}

static int add(roots *r, const char *dir)
{
    char *path = find_folder(dir);
    if (!path)
        return EXIT_USAGE;
    if (index_of(r, path) < r->paths.count) {
        free(path);
        return EXIT_OK;
    }
    if (words_add(&r->paths, path))
        return EXIT_OK;
    say("out of memory");
    return EXIT_LOCAL;
}

/* Removes a folder. A folder that no longer exists can be given by the path that `roots` shows. */
static int take_away(roots *r, const char *dir)
{
    char *path = realpath(dir, NULL);
    size_t i = index_of(r, path ? path : dir);
    free(path);
    if (i == r->paths.count) {
        say("%s is not one of the roots", dir);
        hint("'roots' lists them");
        return EXIT_USAGE;
    }
    free(r->paths.items[i]);
    memmove(r->paths.items + i, r->paths.items + i + 1,
            (--r->paths.count - i) * sizeof(*r->paths.items));
    return EXIT_OK;
}

int roots_load(const ctl *c, roots **ret)
{
    roots *r = calloc(1, sizeof(*r));
    int code = r ? EXIT_OK : EXIT_LOCAL;
    *ret = r;
    for (size_t i = 0; code == EXIT_OK && i < c->set.roots.count; i++)
        code = add(r, c->set.roots.items[i]);
    return code;
}

void roots_free(roots *r)
{
    if (r)
        words_clear(&r->paths);
    free(r);
}

const char *roots_path(const session *s, size_t i)
{
    return s->roots && i < s->roots->paths.count ? s->roots->paths.items[i] : NULL;
}

/* ---- notifying the server -------------------------------------------------------------------- */

/* Returns the file:// URI of a path, which the caller frees, or NULL if out of memory. */
static char *uri_of(const char *path)
{
    size_t len = strlen(path), scheme = strlen("file://");
    char *uri = malloc(scheme + MCP_URI_ENCODED_SIZE(len) + 1);
    if (!uri)
        return NULL;
    memcpy(uri, "file://", scheme);
    uri[scheme + mcp_uri_encode_path((mcp_str){path, len}, uri + scheme)] = 0;
    return uri;
}

/* Returns whether the name is UTF-8, as JSON requires. */
static bool is_text(const char *name)
{
    mcp_str unused;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_add_string(w, name);
    bool is = w && mcp_json_writer_finish(w, &unused) == MCP_OK;
    mcp_json_writer_free(w);
    return is;
}

/* Returns the last segment of the path, or NULL if there is none or if it is not UTF-8. */
static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash && slash[1] ? slash + 1 : path;
    return is_text(name) ? name : NULL;
}

static int tell(session *s)
{
    const words *paths = &s->roots->paths;
    words uris = {0};
    mcp_root *list = calloc(paths->count + 1, sizeof(*list));
    int rc = list ? MCP_OK : MCP_ENOMEM;
    for (size_t i = 0; rc == MCP_OK && i < paths->count; i++) {
        rc = words_add(&uris, uri_of(paths->items[i])) ? MCP_OK : MCP_ENOMEM;
        if (rc == MCP_OK)
            list[i] = (mcp_root){
                .size = sizeof(*list), .uri = uris.items[i], .name = name_of(paths->items[i])};
    }
    if (rc == MCP_OK)
        rc = mcp_client_set_roots(s->client, list, paths->count);
    free(list);
    words_clear(&uris);
    if (rc == MCP_OK)
        return EXIT_OK;
    say("roots: %s", mcp_error_text(rc));
    return EXIT_LOCAL;
}

int roots_declare(session *s)
{
    s->roots->declared |= s->roots->paths.count != 0;
    return s->roots->declared ? tell(s) : EXIT_OK;
}

/* ---- the shell's commands -------------------------------------------------------------------- */

static int put_paths(ctl *c)
{
    const words *paths = &c->session->roots->paths;
    for (size_t i = 0; i < paths->count; i++) {
        put_field(c, mcp_str_from(paths->items[i]));
        putchar('\n');
    }
    if (!paths->count && !c->set.quiet)
        hint("there are none; 'root add DIR' adds one");
    return EXIT_OK;
}

/* Applies a change. Modern requests declare the capability each time, but a legacy server gets it
 * only in initialize. */
static int change(ctl *c)
{
    session *s = c->session;
    if (!s->client)
        return EXIT_OK; /* the next session gets the roots */
    if (mcp_client_is_modern(s->client))
        s->roots->declared = true;
    if (s->roots->declared)
        return tell(s);
    if (!c->set.quiet)
        hint("this server does not ask for roots, because it was started without any: start with "
             "'mcpctl shell --root DIR'");
    return EXIT_OK;
}

int roots_run(ctl *c, const char *const *line, size_t n)
{
    roots *r = c->session->roots;
    if (n == 1 && strcmp(line[0], "roots") == 0)
        return put_paths(c);
    bool adds = n == 3 && strcmp(line[1], "add") == 0;
    bool removes = n == 3 && strcmp(line[1], "remove") == 0;
    if (strcmp(line[0], "root") != 0 || (!adds && !removes)) {
        say("%s: it is roots, root add DIR or root remove DIR", line[0]);
        return EXIT_USAGE;
    }
    int code = adds ? add(r, line[2]) : take_away(r, line[2]);
    return code == EXIT_OK ? change(c) : code;
}
