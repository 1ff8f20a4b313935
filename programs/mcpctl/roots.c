/* roots.c: the folders that the server gets as roots (2025-11-25 and 2026-07-28, client/roots).
 *
 * Roots are only information and grant no permission. The library answers the server's requests in
 * both eras and sends notifications if the server wants them. This file only manages the folders,
 * as absolute paths without links, and their URIs. A folder that is deleted, replaced or may no longer be
 * entered is left out until it is back (2025-11-25, client/roots, "Security
 * Considerations").
 */
#define _GNU_SOURCE
#include "roots.h"

#include <errno.h>
#include <mcp/uri.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "servers.h"
#include "session.h"
#include "terminal.h"

struct roots {
    words paths;
    words shown;   /* those of them that the server may see */
    bool declared; /* the capability was declared to the server */
};

/* ---- folders --------------------------------------------------------------------------------- */

/* Returns the real path of a folder that may be entered, which the caller frees; NULL with errno. */
static char *open_folder(const char *dir)
{
    struct stat st = {0};
    char *path = realpath(dir, NULL);
    int error = path && stat(path, &st) == 0 && access(path, X_OK) == 0 ? 0 : errno;
    if (!error && !S_ISDIR(st.st_mode))
        error = ENOTDIR;
    if (!error)
        return path;
    free(path);
    errno = error;
    return NULL;
}

/* The same, after reporting the error. */
static char *find_folder(const char *dir)
{
    char *path = open_folder(dir);
    if (!path)
        say("root %s: %s", dir, strerror(errno));
    return path;
}

static size_t find(const words *w, const char *path)
{
    size_t i = 0;
    while (i < w->count && strcmp(w->items[i], path) != 0)
        i++;
    return i;
}

static size_t index_of(const roots *r, const char *path)
{
    return find(&r->paths, path);
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
    if (r) {
        words_clear(&r->paths);
        words_clear(&r->shown);
    }
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

/* Roots as the library takes them. */
typedef struct list {
    mcp_root *items;
    words uris;
} list;

static int list_make(const words *paths, list *ret)
{
    *ret = (list){.items = calloc(paths->count + 1, sizeof(*ret->items))};
    int rc = ret->items ? MCP_OK : MCP_ENOMEM;
    for (size_t i = 0; rc == MCP_OK && i < paths->count; i++) {
        rc = words_add(&ret->uris, uri_of(paths->items[i])) ? MCP_OK : MCP_ENOMEM;
        if (rc == MCP_OK)
            ret->items[i] = (mcp_root){.size = sizeof(*ret->items),
                                       .uri = ret->uris.items[i],
                                       .name = name_of(paths->items[i])};
    }
    return rc;
}

static void list_clear(list *l)
{
    free(l->items);
    words_clear(&l->uris);
}

static int tell(session *s)
{
    list l;
    int rc = list_make(&s->roots->shown, &l);
    if (rc == MCP_OK)
        rc = mcp_client_set_roots(s->client, l.items, s->roots->shown.count);
    list_clear(&l);
    if (rc == MCP_OK)
        return EXIT_OK;
    say("roots: %s", mcp_error_text(rc));
    return EXIT_LOCAL;
}

/* ---- watching the folders -------------------------------------------------------------------- */

/* Appends a path that still leads to the same folder. Returns why it does not, or 0. */
static int add_shown(words *shown, const char *path)
{
    char *now = open_folder(path);
    int error = now ? 0 : errno;
    if (now && strcmp(now, path) != 0) /* a link is in its place */
        error = ENOENT;
    if (error)
        free(now);
    else if (!words_add(shown, now))
        error = ENOMEM;
    return error;
}

/* Finds out again what the server may see. Returns whether that has changed. */
static bool look(roots *r, bool quiet)
{
    words shown = {0};
    bool changed = false;
    for (size_t i = 0; i < r->paths.count; i++) {
        const char *path = r->paths.items[i];
        bool before = find(&r->shown, path) < r->shown.count;
        int error = add_shown(&shown, path);
        changed = changed || before == (error != 0);
        if (before && error && !quiet) {
            bar_clear();
            say("root %s: %s; the server no longer gets it", path, strerror(error));
        }
    }
    for (size_t i = 0; i < r->shown.count; i++) /* those that the user has removed */
        changed = changed || index_of(r, r->shown.items[i]) == r->paths.count;
    words_clear(&r->shown);
    r->shown = shown;
    return changed;
}

uint64_t roots_check(session *s)
{
    enum { EVERY_MS = 1000, NEVER_MS = 10000 };
    roots *r = s->roots;
    if (!r || !r->declared || !s->client)
        return NEVER_MS;
    if (look(r, s->quiet))
        (void)tell(s);
    return EVERY_MS;
}

void roots_answer(session *s, mcp_question *q)
{
    roots_check(s);
    list l;
    int rc = list_make(&s->roots->shown, &l);
    if (rc != MCP_OK || mcp_question_roots(q, l.items, s->roots->shown.count, NULL) != MCP_OK)
        mcp_question_fail(q, 0, mcp_error_text(rc));
    list_clear(&l);
}

/* ---- declaring ------------------------------------------------------------------------------- */

int roots_declare(session *s)
{
    s->roots->declared |= s->roots->paths.count != 0;
    (void)look(s->roots, s->quiet);
    return s->roots->declared ? tell(s) : EXIT_OK;
}

/* ---- the shell's commands -------------------------------------------------------------------- */

static int put_paths(ctl *c)
{
    const words *paths = &c->session->roots->shown;
    (void)look(c->session->roots, c->set.quiet);
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
    (void)look(s->roots, c->set.quiet);
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
