/* files.c: the table of hosts, and reading their files.
 *
 * Files are searched in a fixed order: those that the user names or, if none is named, those of the
 * current folder and then the user's own. A file that is both, as in $HOME, is the user's own.
 */
#define _GNU_SOURCE
#include "files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <common/jsonc.h>
#include <common/toml.h>

/* ---- the hosts ------------------------------------------------------------------------------- */

static const file_format common = {
    .expands = EXPAND_BRACES,
    .objects = {"projects/$PWD/mcpServers", "mcpServers", "servers", "mcp/servers"},
};
static const file_format gemini = {
    .expands = EXPAND_BRACES | EXPAND_DOLLAR,
    .objects = {"mcpServers"},
};
static const file_format opencode = {
    .expands = EXPAND_ENV,
    .objects = {"mcp/servers", "mcp"},
};
static const file_format codex = {.is_toml = true, .objects = {"mcp_servers"}};

static const struct {
    const char *path; /* relative to the current folder, $HOME or $XDG_CONFIG_HOME */
    enum { PROJECT, HOME, CONFIG } below;
    const file_format *format;
} files[] = {
    {".mcp.json", PROJECT, &common},
    {".vscode/mcp.json", PROJECT, &common},
    {".cursor/mcp.json", PROJECT, &common},
    {".gemini/settings.json", PROJECT, &gemini},
    {".codex/config.toml", PROJECT, &codex},
    {"opencode.json", PROJECT, &opencode},
    {"opencode.jsonc", PROJECT, &opencode},
    {".github/mcp.json", PROJECT, &common},
    {"mcpctl/servers.json", CONFIG, &common},
    {".claude.json", HOME, &common},
    {"Claude/claude_desktop_config.json", CONFIG, &common},
    {".cursor/mcp.json", HOME, &common},
    {"Code/User/mcp.json", CONFIG, &common},
    {".codex/config.toml", HOME, &codex},
    {".gemini/settings.json", HOME, &gemini},
    {"opencode/opencode.json", CONFIG, &opencode},
    {"opencode/opencode.jsonc", CONFIG, &opencode},
    {".copilot/mcp-config.json", HOME, &common},
};

/* Returns the format of a file given by the user, recognized by the end of its path. */
static const file_format *format_of(const char *path)
{
    static const struct {
        const char *end;
        const file_format *format;
    } table[] = {{".toml", &codex},
                 {"opencode.json", &opencode},
                 {"opencode.jsonc", &opencode},
                 {".gemini/settings.json", &gemini}};
    size_t len = strlen(path);
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        size_t n = strlen(table[i].end);
        if (len >= n && strcmp(path + len - n, table[i].end) == 0)
            return table[i].format;
    }
    return &common;
}

/* ---- files ----------------------------------------------------------------------------------- */

static char *file_path(size_t i)
{
    const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");
    char *path = NULL;
    int n = -1;
    if (files[i].below == PROJECT)
        return strdup(files[i].path);
    if (files[i].below == CONFIG && config && *config)
        n = asprintf(&path, "%s/%s", config, files[i].path);
    else if (home && *home)
        n = asprintf(&path, "%s/%s%s", home, files[i].below == CONFIG ? ".config/" : "",
                     files[i].path);
    return n < 0 ? NULL : path;
}

/* Returns whether a file of the current folder is one of the user's own, as in $HOME or through a link. */
static bool is_own(const char *path)
{
    struct stat here, own;
    bool same = false;
    if (stat(path, &here) < 0)
        return false;
    for (size_t i = 0; !same && i < sizeof(files) / sizeof(*files); i++) {
        char *other = files[i].below == PROJECT ? NULL : file_path(i);
        same = other && stat(other, &own) == 0 && own.st_dev == here.st_dev &&
               own.st_ino == here.st_ino;
        free(other);
    }
    return same;
}

/* Returns the value at a path of keys, separated by "/". */
static const mcp_json *follow(const mcp_json *at, const char *keys)
{
    while (at && *keys) {
        size_t len = strcspn(keys, "/");
        bool here = len == 4 && strncmp(keys, "$PWD", 4) == 0;
        char *folder = here ? getcwd(NULL, 0) : NULL;
        mcp_str key = folder ? mcp_str_from(folder) : (mcp_str){keys, len};
        at = mcp_json_get_str(at, key);
        free(folder);
        keys += len;
        keys += *keys == '/';
    }
    return mcp_json_is(at, MCP_JSON_OBJECT) ? at : NULL;
}

bool server_objects(const server_file *file, size_t i, const mcp_json **ret)
{
    const char *keys = file->format->objects[i];
    *ret = keys ? follow(file->root, keys) : NULL;
    return keys != NULL;
}

static bool is_object_of(const server_file *file, const mcp_json *v)
{
    const mcp_json *object;
    for (size_t i = 0; server_objects(file, i, &object); i++)
        if (object == v)
            return true;
    return false;
}

bool server_entries(const server_file *file, server_entry_fn *fn, void *user)
{
    const mcp_json *object;
    mcp_str name;
    for (size_t i = 0; server_objects(file, i, &object); i++) {
        mcp_json_iter it = {0};
        for (const mcp_json *v; (v = mcp_json_next(object, &it, &name)) != NULL;) {
            /* In opencode's "mcp", servers may be one level deeper. */
            bool is_entry = mcp_json_is(v, MCP_JSON_OBJECT) && !is_object_of(file, v);
            if (is_entry && !fn(file, name, v, user))
                return false;
        }
    }
    return true;
}

/* A walk through the files. */
typedef struct visiting {
    server_tell *tell;
    server_file_fn *fn;
    void *user;
    bool go_on;
} visiting;

static void report(const visiting *v, const char *path, int rc, size_t line, const char *why)
{
    char text[1024];
    if (rc == MCP_EPARSE)
        snprintf(text, sizeof(text), "%.500s, line %zu: %s", path, line, why);
    else
        snprintf(text, sizeof(text), "%.500s: %s", path, why);
    v->tell(v->user, text);
}

/* Visits one file. Returns MCP_OK also if an optional file cannot be used. */
static int visit(visiting *v, server_file *file, bool required)
{
    mcp_json_doc *doc = NULL;
    mcp_error error = {0};
    size_t line = 0;
    file_trust trust = required ? FILE_NAMED : FILE_FOUND;
    int rc =
        (file->format->is_toml ? toml_read : jsonc_read)(file->path, trust, &doc, &line, &error);
    if (rc == MCP_OK) {
        file->root = mcp_json_root(doc);
        v->go_on = v->fn(file, v->user);
        mcp_json_free(doc);
        return MCP_OK;
    }
    if (rc != MCP_ENOTFOUND || required)
        report(v, file->path, rc, line, error.text);
    /* An invalid file that was not requested must not hide the other files. */
    return required ? rc : MCP_OK;
}

int server_files(const char *const *named, size_t count, server_tell *tell, server_file_fn *fn,
                 void *user)
{
    visiting v = {.tell = tell, .fn = fn, .user = user, .go_on = true};
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && v.go_on && i < count; i++) {
        server_file file = {.path = named[i], .format = format_of(named[i])};
        rc = visit(&v, &file, true);
    }
    for (size_t i = 0; !count && v.go_on && i < sizeof(files) / sizeof(*files); i++) {
        char *path = file_path(i);
        bool project = files[i].below == PROJECT;
        server_file file = {path, project, files[i].format, NULL};
        if (path && !(project && is_own(path)))
            visit(&v, &file, false);
        free(path);
    }
    return rc;
}
