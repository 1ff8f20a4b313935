/* servers.c: finds the server for a command line.
 *
 * Files are searched in a fixed order, and the first one that contains the name is used: the files
 * of --config or, without this option, those of the current folder and then the user's own.
 * `"trusted": true` is accepted only in the user's own files, because the current folder may be
 * untrusted.
 */
#define _GNU_SOURCE
#include "entry.h"

#include <stdlib.h>
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

/* Visits one file. Returns EXIT_OK also if an optional file does not exist. */
static int visit(server_file *file, bool required, server_file_fn *fn, void *user, bool *go_on)
{
    mcp_json_doc *doc = NULL;
    mcp_error error = {0};
    size_t line = 0;
    file_trust trust = required ? FILE_NAMED : FILE_FOUND;
    int rc =
        (file->format->is_toml ? toml_read : jsonc_read)(file->path, trust, &doc, &line, &error);
    if (rc == MCP_OK) {
        file->root = mcp_json_root(doc);
        *go_on = fn(file, user);
        mcp_json_free(doc);
        return EXIT_OK;
    }
    if (rc == MCP_ENOTFOUND && !required)
        return EXIT_OK;
    if (rc == MCP_EPARSE)
        say("%s, line %zu: %s", file->path, line, error.text);
    else
        say("%s: %s", file->path, error.text);
    /* An invalid file that was not requested must not hide the other files. */
    return required ? EXIT_USAGE : EXIT_OK;
}

int server_files(const ctl *c, server_file_fn *fn, void *user)
{
    bool go_on = true;
    int code = EXIT_OK;
    for (size_t i = 0; code == EXIT_OK && go_on && i < c->set.config.count; i++) {
        const char *path = c->set.config.items[i];
        server_file file = {.path = path, .format = format_of(path)};
        code = visit(&file, true, fn, user, &go_on);
    }
    for (size_t i = 0; !c->set.config.count && go_on && i < sizeof(files) / sizeof(*files); i++) {
        char *path = file_path(i);
        server_file file = {path, files[i].below == PROJECT, files[i].format, NULL};
        if (path)
            visit(&file, false, fn, user, &go_on);
        free(path);
    }
    return code;
}

/* ---- an entry -------------------------------------------------------------------------------- */

/* State of searching for one name. */
typedef struct search {
    ctl *c;
    server *found;
    int code;
} search;

static const mcp_json *entry_of(const server_file *file, const char *name)
{
    const mcp_json *object, *entry = NULL;
    for (size_t i = 0; !entry && server_objects(file, i, &object); i++)
        entry = mcp_json_get(object, name);
    return mcp_json_is(entry, MCP_JSON_OBJECT) ? entry : NULL;
}

static bool look(const server_file *file, void *user)
{
    search *f = user;
    const mcp_json *entry = entry_of(file, f->c->set.server);
    if (!entry)
        return true;
    server *s = f->found = calloc(1, sizeof(*s));
    if (!s || !(s->file = strdup(file->path))) {
        f->code = EXIT_LOCAL;
        return false;
    }
    s->name = f->c->set.server;
    s->format = file->format;
    s->from_project = file->project;
    s->trusted = !file->project && mcp_json_bool(mcp_json_get(entry, "trusted"), false);
    f->code = entry_describe(s, entry, mcp_json_get(file->root, "inputs"));
    return false;
}

/* ---- finding the server ---------------------------------------------------------------------- */

bool is_address(const char *text)
{
    return strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0 ||
           strncmp(text, "unix:", 5) == 0;
}

static int find_name(ctl *c, server **ret)
{
    search f = {.c = c};
    int code = server_files(c, look, &f);
    code = code == EXIT_OK ? f.code : code;
    if (code == EXIT_OK && !f.found) {
        say("no configuration file has a server '%s'", c->set.server);
        hint("'mcpctl servers' lists the servers; a command follows --, an address begins with "
             "http://, https:// or unix:");
        return EXIT_USAGE;
    }
    if (code == EXIT_OK)
        code = server_confirm(c, f.found);
    if (code == EXIT_OK)
        code = entry_resolve(c, f.found);
    if (code == EXIT_LOCAL)
        say("out of memory");
    if (code == EXIT_OK)
        *ret = f.found;
    else
        server_free(f.found);
    return code;
}

static int add_headers(ctl *c, server *s)
{
    for (size_t i = 0; i < c->set.headers.count; i++) {
        if (!strchr(c->set.headers.items[i], ':')) {
            say("--header '%s' is not a header: write Name: value", c->set.headers.items[i]);
            return EXIT_USAGE;
        }
        if (!words_add(&s->headers, strdup(c->set.headers.items[i])))
            return EXIT_LOCAL;
    }
    return EXIT_OK;
}

int server_find(ctl *c, server **ret)
{
    if (!c->server && !is_address(c->set.server)) {
        int code = find_name(c, ret);
        return code == EXIT_OK ? add_headers(c, *ret) : code;
    }
    server *s = *ret = calloc(1, sizeof(*s));
    if (s && c->server)
        s->argv = c->server;
    else if (s)
        s->url = strdup(c->set.server);
    if (s && (s->argv || s->url))
        return add_headers(c, s);
    say("out of memory");
    return EXIT_LOCAL;
}

void server_free(server *s)
{
    if (!s)
        return;
    words_clear(&s->line);
    words_clear(&s->env);
    words_clear(&s->headers);
    words_clear(&s->oauth);
    words_clear(&s->shown);
    words_clear(&s->variables);
    mcp_json_free(s->entry);
    free(s->file);
    free(s->url);
    free(s->cwd);
    free(s);
}
