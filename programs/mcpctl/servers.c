/* servers.c: finds the server that a command line names.
 *
 * Files are looked at in one order, the first that has the name wins: those of --config alone, or
 * else the present folder's, then the user's. What may surprise: `"trusted": true` counts only in
 * files that are the user's own, because the present folder may be a stranger's.
 */
#define _GNU_SOURCE
#include "servers.h"

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
    int rc = jsonc_read(path, &doc, &line, &error);
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
    expansion expansion;
    int code;
} search;

/* The text of an entry, expanded, at the end of `to`; what is shown of it follows `label` in
 * s->shown. */
static void take(search *f, words *to, const char *label, mcp_str name, mcp_str text)
{
    char *value = NULL, *shown = NULL, *joined = NULL, *line = NULL;
    if (f->code == EXIT_OK)
        f->code = expand_text(&f->expansion, text, &value, &shown);
    if (f->code != EXIT_OK)
        return;
    const char *between = !name.len ? "" : to == &f->found->headers ? ": " : "=";
    bool ok = asprintf(&joined, "%.*s%s%s", (int)name.len, name.ptr, between, value) >= 0 &&
              asprintf(&line, "%s%.*s%s%s", label, (int)name.len, name.ptr, between, shown) >= 0;
    if (!ok || !words_add(to, joined) || !words_add(&f->found->shown, line))
        f->code = EXIT_LOCAL;
    free(value);
    free(shown);
}

static void take_map(search *f, words *to, const char *label, const mcp_json *map)
{
    mcp_json_iter it = {0};
    mcp_str key;
    for (const mcp_json *v; (v = mcp_json_next(map, &it, &key)) != NULL;) {
        char number[32];
        mcp_str text = mcp_json_string(v);
        if (mcp_json_is(v, MCP_JSON_INT)) {
            snprintf(number, sizeof(number), "%lld", (long long)mcp_json_int(v, 0));
            text = mcp_str_from(number);
        }
        if (mcp_json_is(v, MCP_JSON_STRING) || mcp_json_is(v, MCP_JSON_INT))
            take(f, to, label, key, text);
    }
}

/* NAME=value of a file: what it is may be a secret, which variables are set is not. */
static bool take_env_line(server *s, const char *p)
{
    char *shown = NULL;
    if (asprintf(&shown, "with %.*s, as it says", (int)strcspn(p, "="), p) < 0)
        shown = NULL;
    return words_add(&s->shown, shown) && words_add(&s->env, strdup(p));
}

/* Lines NAME=value of a file. */
static void take_env_file(search *f, mcp_str text)
{
    words path = {0};
    take(f, &path, "env file ", (mcp_str){0}, text);
    FILE *file = path.count ? fopen(path.items[0], "re") : NULL;
    if (path.count && !file) {
        say("%s: cannot be read", path.items[0]);
        f->code = EXIT_USAGE;
    }
    char *line = NULL;
    size_t room = 0;
    while (file && getline(&line, &room, file) > 0) {
        line[strcspn(line, "\r\n")] = 0;
        const char *p = line + strspn(line, " \t");
        if (*p && *p != '#' && strchr(p, '=') && !take_env_line(f->found, p))
            f->code = EXIT_LOCAL;
    }
    f->found->n_file_env = f->found->env.count;
    free(line);
    if (file)
        fclose(file);
    words_clear(&path);
}

static void take_command(search *f, const mcp_json *entry)
{
    server *s = f->found;
    mcp_json_iter it = {0};
    take(f, &s->line, "", (mcp_str){0}, mcp_json_string(mcp_json_get(entry, "command")));
    const mcp_json *args = mcp_json_get(entry, "args");
    for (const mcp_json *v; (v = mcp_json_next(args, &it, NULL)) != NULL;)
        take(f, &s->line, "", (mcp_str){0}, mcp_json_string(v));
    s->argv = (const char *const *)(void *)s->line.items;
    mcp_str cwd = mcp_json_string(mcp_json_get(entry, "cwd"));
    mcp_str env_file = mcp_json_string(mcp_json_get(entry, "envFile"));
    words folder = {0};
    if (cwd.len)
        take(f, &folder, "in ", (mcp_str){0}, cwd);
    s->cwd = folder.count ? strdup(folder.items[0]) : NULL;
    words_clear(&folder);
    if (env_file.len)
        take_env_file(f, env_file);
    take_map(f, &s->env, "with ", mcp_json_get(entry, "env"));
}

static void take_address(search *f, const mcp_json *entry)
{
    words url = {0};
    mcp_str address = mcp_json_string(mcp_json_get(entry, "url"));
    if (!address.len)
        address = mcp_json_string(mcp_json_get(entry, "serverUrl"));
    take(f, &url, "", (mcp_str){0}, address);
    f->found->url = url.count ? strdup(url.items[0]) : NULL;
    f->found->sse = mcp_str_eq(mcp_json_string(mcp_json_get(entry, "type")), MCP_STR("sse"));
    words_clear(&url);
    take_map(f, &f->found->headers, "with ", mcp_json_get(entry, "headers"));
}

static bool look(const char *path, bool project, const mcp_json *root, void *user)
{
    search *f = user;
    const mcp_json *entry = mcp_json_get(server_entries(root), f->c->set.server);
    if (!entry) {
        char *here = getcwd(NULL, 0); /* ~/.claude.json has each project's servers too */
        const mcp_json *projects = here ? mcp_json_get(root, "projects") : NULL;
        entry = mcp_json_get(server_entries(mcp_json_get(projects, here ? here : "")),
                             f->c->set.server);
        free(here);
    }
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
    f->expansion.inputs = mcp_json_get(root, "inputs");
    if (mcp_json_string(mcp_json_get(entry, "command")).len) {
        take_command(f, entry);
    } else if (mcp_json_get(entry, "url") || mcp_json_get(entry, "serverUrl")) {
        take_address(f, entry);
    } else {
        say("%s: the entry '%s' has neither \"command\" nor \"url\"", path, s->name);
        f->code = EXIT_USAGE;
    }
    return false;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static bool is_address(const char *text)
{
    return strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0 ||
           strncmp(text, "unix:", 5) == 0;
}

static int find_name(ctl *c, server **ret)
{
    search f = {.c = c};
    int code = server_files(c, look, &f);
    words_clear(&f.expansion.asked);
    code = code == EXIT_OK ? f.code : code;
    if (code == EXIT_OK && !f.found) {
        say("no configuration file has a server '%s'", c->set.server);
        hint("'mcpctl servers' lists what there is; a command goes behind --, an address begins "
             "with "
             "http:// or https://");
        return EXIT_USAGE;
    }
    if (code == EXIT_LOCAL)
        say("out of memory");
    if (code != EXIT_OK) {
        server_free(f.found);
        return code;
    }
    *ret = f.found;
    return server_confirm(c, f.found);
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
    free(s->file);
    free(s->url);
    free(s->cwd);
    free(s);
}
