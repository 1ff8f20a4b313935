/* servers.c: finds the server that a command line names.
 *
 * Files are looked at in one order, the first that has the name wins: those of --config alone, or
 * else the present folder's, then the user's. What may surprise: `"trusted": true` counts only in
 * files that are the user's own, because the present folder may be a stranger's.
 */
#define _GNU_SOURCE
#include "entry.h"

#include <stdlib.h>
#include <unistd.h>

#include <common/jsonc.h>

static const struct {
    const char *path; /* below the present folder, $HOME or $XDG_CONFIG_HOME */
    enum { PROJECT, HOME, CONFIG } below;
} files[] = {
    {".mcp.json", PROJECT},        {".vscode/mcp.json", PROJECT},
    {".cursor/mcp.json", PROJECT}, {"mcpctl/servers.json", CONFIG},
    {".claude.json", HOME},        {"Claude/claude_desktop_config.json", CONFIG},
    {".cursor/mcp.json", HOME},    {"Code/User/mcp.json", CONFIG},
};

/* ---- files ------------------------------------------------------------------------------------------ */

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

const mcp_json *server_entries(const mcp_json *root)
{
    const mcp_json *found = mcp_json_get(root, "mcpServers");
    if (!found)
        found = mcp_json_get(root, "servers");
    if (!found) /* VS Code's settings.json */
        found = mcp_json_get(mcp_json_get(root, "mcp"), "servers");
    return mcp_json_is(found, MCP_JSON_OBJECT) ? found : NULL;
}

/* EXIT_OK also when the file is not there and need not be. */
static int visit(const char *path, bool project, bool required, server_file_fn *fn, void *user,
                 bool *go_on)
{
    mcp_json_doc *doc = NULL;
    mcp_error error = {0};
    size_t line = 0;
    int rc = jsonc_read(path, required ? FILE_NAMED : FILE_FOUND, &doc, &line, &error);
    if (rc == MCP_OK) {
        *go_on = fn(path, project, mcp_json_root(doc), user);
        mcp_json_free(doc);
        return EXIT_OK;
    }
    if (rc == MCP_ENOTFOUND && !required)
        return EXIT_OK;
    if (rc == MCP_EPARSE)
        say("%s, line %zu: %s", path, line, error.text);
    else
        say("%s: %s", path, error.text);
    /* A file that nobody asked for, and that somebody else broke, hides no other. */
    return required ? EXIT_USAGE : EXIT_OK;
}

int server_files(const ctl *c, server_file_fn *fn, void *user)
{
    bool go_on = true;
    int code = EXIT_OK;
    for (size_t i = 0; code == EXIT_OK && go_on && i < c->set.config.count; i++)
        code = visit(c->set.config.items[i], false, true, fn, user, &go_on);
    for (size_t i = 0; !c->set.config.count && go_on && i < sizeof(files) / sizeof(*files); i++) {
        char *path = file_path(i);
        if (path)
            visit(path, files[i].below == PROJECT, false, fn, user, &go_on);
        free(path);
    }
    return code;
}

/* ---- an entry --------------------------------------------------------------------------------------- */

/* Looking for one name. */
typedef struct search {
    ctl *c;
    server *found;
    int code;
} search;

static const mcp_json *entry_of(const mcp_json *root, const char *name)
{
    const mcp_json *entry = mcp_json_get(server_entries(root), name);
    if (entry)
        return entry;
    char *here = getcwd(NULL, 0); /* ~/.claude.json has each project's servers too */
    const mcp_json *projects = here ? mcp_json_get(root, "projects") : NULL;
    entry = mcp_json_get(server_entries(mcp_json_get(projects, here ? here : "")), name);
    free(here);
    return entry;
}

static bool look(const char *path, bool project, const mcp_json *root, void *user)
{
    search *f = user;
    const mcp_json *entry = entry_of(root, f->c->set.server);
    if (!entry)
        return true;
    server *s = f->found = calloc(1, sizeof(*s));
    if (!s || !(s->file = strdup(path))) {
        f->code = EXIT_LOCAL;
        return false;
    }
    s->name = f->c->set.server;
    s->from_project = project;
    s->trusted = !project && mcp_json_bool(mcp_json_get(entry, "trusted"), false);
    f->code = entry_describe(s, entry, mcp_json_get(root, "inputs"));
    return false;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

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
        hint("'mcpctl servers' lists what there is; a command goes behind --, an address begins "
             "with http://, https:// or unix:");
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
            say("--header '%s' is no header: Name: value", c->set.headers.items[i]);
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
    words_clear(&s->shown);
    words_clear(&s->variables);
    mcp_json_free(s->entry);
    free(s->file);
    free(s->url);
    free(s->cwd);
    free(s);
}
