/* changes.c: see changes.h.
 *
 * What mcpd reads is found in one place for all options: each path of the table of options, and each member of the
 * configuration file that names a file or a program. So a new option is on the list without anybody's thinking of it.
 */
#define _GNU_SOURCE
#include "changes.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mcp/uri.h>

#include "entry.h"

/* ---- files that mcpd reads ------------------------------------------------------------------- */

/* Absolute paths, ended by NULL. */
typedef struct sealing {
    const settings *s;
    config *c;
    char **items;
    size_t count;
    bool failed; /* out of memory */
} sealing;

static void keep(sealing *k, char *path)
{
    for (size_t i = 0; path && i < k->count; i++)
        if (strcmp(k->items[i], path) == 0) {
            free(path);
            return;
        }
    char **more = path ? realloc(k->items, (k->count + 2) * sizeof(*more)) : NULL;
    if (!more) {
        k->failed = true;
        free(path);
        return;
    }
    k->items = more;
    k->items[k->count++] = path;
    k->items[k->count] = NULL;
}

/* Returns the real path of something that may not exist yet, in a folder that does. */
static char *real_path(char *path)
{
    char *slash = strrchr(path, '/'), *folder, *made = NULL;
    char *real = realpath(path, NULL);
    if (real || !slash || slash == path)
        return real;
    *slash = '\0';
    folder = realpath(path, NULL);
    *slash = '/';
    if (folder && asprintf(&made, "%s%s", folder, slash) < 0)
        made = NULL;
    free(folder);
    return made;
}

/* A link is sealed, and what it leads to. */
static void seal(sealing *k, const char *path)
{
    char *whole = absolute_path(path);
    char *real = whole ? real_path(whole) : NULL;
    keep(k, whole);
    if (real)
        keep(k, real);
}

/* Seals a file, but not a folder, which may well be the one that is served. */
static void seal_file(sealing *k, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
        seal(k, path);
}

static void seal_options(sealing *k)
{
    size_t n;
    const option *table = options_table(&n);
    for (size_t i = 0; i < n; i++) {
        const char *at = (const char *)k->s + table[i].at;
        const char *what = table[i].argument ? table[i].argument : "";
        if (!table[i].is_path && strcmp(what, "FILE") != 0)
            continue;
        if (table[i].kind == OPTION_TEXT && *(const char *const *)(const void *)at)
            seal(k, *(const char *const *)(const void *)at);
        const texts *list = table[i].kind == OPTION_LIST ? (const texts *)(const void *)at : NULL;
        for (size_t j = 0; list && j < list->count; j++)
            seal(k, list->items[j]);
    }
}

/* A program that mcpd starts, and what it is told to run. */
static void seal_word(sealing *k, mcp_str word, const char *folder)
{
    char *path = NULL;
    if (!word.len || memchr(word.ptr, 0, word.len))
        return;
    if (asprintf(&path, "%s%s%.*s", word.ptr[0] == '/' ? "" : folder, word.ptr[0] == '/' ? "" : "/",
                 (int)word.len, word.ptr) < 0) {
        k->failed = true;
        return;
    }
    seal_file(k, path);
    free(path);
}

static bool names_file(mcp_str key)
{
    static const char end[] = "file";
    size_t len = sizeof(end) - 1;
    return key.len >= len && memcmp(key.ptr + key.len - len, end, len) == 0;
}

/* Walks through the whole configuration. */
static void seal_members(sealing *k, const mcp_json *value, const char *folder)
{
    mcp_json_iter it = {0};
    mcp_str key;
    const mcp_json *in = mcp_json_get(value, "folder");
    if (in)
        folder = config_place(k->c, mcp_json_string(in));
    for (const mcp_json *v; folder && (v = mcp_json_next(value, &it, &key)) != NULL;) {
        mcp_str text = mcp_json_string(v);
        bool words =
            key.len && (mcp_str_eq(key, MCP_STR("command")) || mcp_str_eq(key, MCP_STR("args")));
        if (text.len && names_file(key)) {
            const char *path = config_place(k->c, text);
            if (path)
                seal(k, path);
        } else if (words) {
            mcp_json_iter each = {0};
            for (const mcp_json *word; (word = mcp_json_next(v, &each, NULL)) != NULL;)
                seal_word(k, mcp_json_string(word), folder);
        } else if (!text.len) {
            seal_members(k, v, folder);
        }
    }
    k->failed = k->failed || !folder;
}

/* A file that another source serves, and what SQLite has beside it. */
static void seal_served(sealing *k, const char *text)
{
    static const char *const beside[] = {"", "-journal", "-wal", "-shm"};
    struct stat st;
    bool file = stat(text, &st) == 0 && S_ISREG(st.st_mode);
    for (size_t i = 0; file && i < sizeof(beside) / sizeof(*beside); i++) {
        char *path = NULL;
        if (asprintf(&path, "%s%s", text, beside[i]) < 0) {
            k->failed = true;
            return;
        }
        seal(k, path);
        free(path);
    }
}

/* The words of a command line that are files: a program, and what it is told to run. */
static void seal_command(sealing *k, const char *words, const char *folder)
{
    static const char between[] = " \t'\"?";
    while (*words) {
        size_t skip = strspn(words, between), len = strcspn(words + skip, between);
        seal_word(k, (mcp_str){words + skip, len}, folder);
        words += skip + len;
    }
}

static void seal_place(sealing *k, const char *uri)
{
    mcp_str path = mcp_str_from(uri + strlen("file://"));
    char *text = malloc(path.len + 1);
    size_t len;
    if (text && mcp_uri_decode(path, text, path.len, &len) == MCP_OK) {
        text[len] = '\0';
        seal_served(k, text);
    }
    k->failed = k->failed || !text;
    free(text);
}

static bool seal_all(sealing *k, const source_places *places)
{
    seal_options(k);
    if (k->c)
        seal_members(k, config_root(k->c), config_place(k->c, MCP_STR(".")));
    for (size_t i = 0; i < places->count; i++)
        if (places->paths[i])
            seal_place(k, places->paths[i]);
    for (size_t i = 0; i < k->s->sources.count; i++) {
        const source *s = &k->s->sources.items[i];
        if (source_is_module(s))
            seal_command(k, s->text, s->base ? s->base : ".");
    }
    return !k->failed;
}

static void unseal(sealing *k)
{
    for (size_t i = 0; i < k->count; i++)
        free(k->items[i]);
    free(k->items);
}

/* ---- the journal ----------------------------------------------------------------------------- */

/* Returns the folder, which the caller frees, or NULL if out of memory. */
static char *journal_of(const settings *s)
{
    const char *unit = getenv("STATE_DIRECTORY"), *state = getenv("XDG_STATE_HOME"),
               *home = getenv("HOME");
    char *path = NULL;
    int n = s->journal      ? asprintf(&path, "%s", s->journal)
            : unit && *unit ? asprintf(&path, "%.*s/journal", (int)strcspn(unit, ":"), unit)
            : state && *state == '/'
                ? asprintf(&path, "%s/mcpd/journal", state)
                : asprintf(&path, "%s/.local/state/mcpd/journal", home ? home : "");
    char *whole = n < 0 ? NULL : absolute_path(path);
    free(n < 0 ? NULL : path);
    return whole;
}

/* Makes the folders above the journal, which makes its own. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
}

static bool holds(const char *folder, const char *path)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (len == 1 || !path[len] || path[len] == '/');
}

/* What was changed must not be served, or it could be read without the rights of today. */
static int check_outside(const settings *s, const char *journal, mcp_error *error)
{
    for (size_t i = 0; i < s->files.count; i++) {
        char *root = realpath(s->files.items[i], NULL);
        bool inside = root && holds(root, journal);
        free(root);
        if (inside)
            return MODULES_FAIL(error, MCP_EINVAL,
                                "the journal of changes would be in %.120s, which is served: give "
                                "another folder with "
                                "--journal",
                                s->files.items[i]);
    }
    return MCP_OK;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static bool offered(const mcp_request *req, void *user)
{
    const offer *o = user;
    const access_rules *rules = o->building_all ? o->building_all : o->all_rules;
    return access_grants(rules, mcp_request_identity(req));
}

int changes_add(const offer *o, mcp_files *files, mcp_error *error)
{
    const settings *s = o->now;
    sealing k = {.s = s, .c = o->config};
    if (!files || !access_grants_any(o->building_all))
        return MCP_OK;
    char *journal = journal_of(s);
    int rc = journal && seal_all(&k, &o->placing)
                 ? MCP_OK
                 : MODULES_FAIL(error, MCP_ENOMEM, "out of memory");
    if (rc == MCP_OK)
        rc = check_outside(s, journal, error);
    if (rc == MCP_OK) {
        make_folders(journal);
        rc = mcp_files_add_changes(files,
                                   MCP_OPTIONS(mcp_files_changes, .journal = journal,
                                               .journal_size = s->journal_size,
                                               .sealed = (const char *const *)k.items,
                                               .offered = offered, .user = (void *)(uintptr_t)o),
                                   error);
    }
    unseal(&k);
    free(journal);
    return rc;
}
