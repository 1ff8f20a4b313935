/* web.c: mcpctl web: finds the servers, and runs mcpctl-web, a program of its own, which serves the
 * page and is the gateway to them.
 *
 * Commands, variables and headers may contain secrets, so they are passed in a file in memory
 * instead of on the command line, which others can see.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <common/hosts/source_name.h>
#include <common/sibling.h>

#include "login.h"
#include "servers.h"

enum { MOST_SERVERS = 200 };

typedef struct gathered {
    ctl *c;
    mcp_json_writer *w;
    char names[MOST_SERVERS][SOURCE_NAME_MAX + 1];
    size_t count;
    const char *file; /* of --servers, while it is read */
    int code;
} gathered;

/* ---- one server ------------------------------------------------------------------------------- */

static void put(mcp_json_writer *w, const char *key, const char *value)
{
    if (value)
        mcp_json_put_string(w, key, value);
}

static void put_all(mcp_json_writer *w, const char *key, const char *const *items, size_t count)
{
    mcp_json_put_array(w, key);
    for (size_t i = 0; i < count; i++)
        mcp_json_add_string(w, items[i]);
    mcp_json_end(w);
}

static size_t count_of(const char *const *items)
{
    size_t n = 0;
    while (items && items[n])
        n++;
    return n;
}

/* Writes the command line as it was given, for people. */
static void put_title(mcp_json_writer *w, const server *s)
{
    char *text = NULL;
    size_t len;
    FILE *f = s->argv ? open_memstream(&text, &len) : NULL;
    for (size_t i = 0; f && s->argv[i]; i++)
        fprintf(f, "%s%s", i ? " " : "", s->argv[i]);
    if (f && fclose(f) != 0)
        *text = 0;
    put(w, "title", s->name ? s->name : s->argv ? text : s->url);
    put(w, "command", text);
    free(text);
}

/* Writes the arguments of mcpctl login for this server, if it may need one. */
static int put_login(gathered *g, const server *s)
{
    login *l = NULL;
    int code = login_open(g->c, s, NULL, &l);
    if (code != EXIT_OK || !l)
        return code;
    login_close(l);
    mcp_json_put_array(g->w, "login");
    mcp_json_add_string(g->w, s->name ? s->name : s->url);
    if (s->name)
        mcp_json_add_string(g->w, "--config"), mcp_json_add_string(g->w, s->file);
    for (size_t i = 0; i < n_options; i++) {
        const option *o = &options[i];
        size_t first = offsetof(ctl, set.login), end = first + sizeof(g->c->set.login);
        bool is_given = o->kind == OPTION_TEXT || o->kind == OPTION_CHOICE;
        if (!is_given || o->at < first || o->at >= end || !option_is_given(o, &g->c->set))
            continue;
        char name[64];
        snprintf(name, sizeof(name), "--%s", o->name);
        mcp_json_add_string(g->w, name);
        mcp_json_add_string(g->w, *(const char *const *)((const char *)&g->c->set + o->at));
    }
    mcp_json_end(g->w);
    return EXIT_OK;
}

/* Returns what a server is called: its entry, the host of its address, or its program. */
static const char *label_of(const server *s)
{
    const char *text = s->name ? s->name : s->url ? s->url : s->argv ? s->argv[0] : "";
    const char *host = s->name ? NULL : strstr(text, "://"), *slash = strrchr(text, '/');
    if (host)
        return host + 3;
    return s->name || s->url || !slash ? text : slash + 1;
}

/* Chooses a name that no other server has. */
static void name_it(gathered *g, const server *s)
{
    char *to = g->names[g->count], other[64];
    source_name(label_of(s), to);
    for (size_t i = 0; i < g->count; i++) {
        if (strcmp(g->names[i], to) != 0)
            continue;
        snprintf(other, sizeof(other), "server-%zu", g->count + 1);
        source_name(other, to);
    }
}

static int put_server(gathered *g, const server *s)
{
    if (g->count == MOST_SERVERS) {
        say("there are more than %d servers", MOST_SERVERS);
        return EXIT_USAGE;
    }
    name_it(g, s);
    mcp_json_begin_object(g->w);
    put(g->w, "name", g->names[g->count++]);
    put_title(g->w, s);
    put(g->w, "cwd", s->cwd);
    if (s->url)
        put(g->w, "url", s->url);
    else
        put_all(g->w, "argv", s->argv, count_of(s->argv));
    put_all(g->w, "env", (const char *const *)(void *)s->env.items, s->env.count);
    put_all(g->w, "headers", (const char *const *)(void *)s->headers.items, s->headers.count);
    int code = put_login(g, s);
    mcp_json_end(g->w);
    return code;
}

/* ---- all servers ------------------------------------------------------------------------------ */

/* Adds a server of the command line or, with a name, of a configuration file: `file`, or those that
 * other commands search. Commands of files are confirmed as for other commands. */
static int add(gathered *g, const char *name, const char *file)
{
    ctl one = *g->c;
    server *s = NULL;
    one.server = name ? NULL : g->c->server;
    one.set.server = name;
    if (file)
        one.set.config = (texts){&file, 1};
    int code = server_find(&one, &s);
    if (code == EXIT_OK)
        code = put_server(g, s);
    server_free(s);
    return code;
}

static bool is_disabled(const mcp_json *entry)
{
    return mcp_json_bool(mcp_json_get(entry, "disabled"), false) ||
           !mcp_json_bool(mcp_json_get(entry, "enabled"), true);
}

static bool on_entry(const server_file *file, mcp_str name, const mcp_json *entry, void *user)
{
    gathered *g = user;
    char *text = text_dup(name);
    (void)file;
    if (text && !is_disabled(entry))
        g->code = add(g, text, g->file);
    free(text);
    return g->code == EXIT_OK;
}

static bool on_file(const server_file *file, void *user)
{
    return server_entries(file, on_entry, user);
}

static int add_file(gathered *g, const char *path)
{
    g->file = path;
    int rc = server_files(&path, 1, server_say, on_file, g);
    return rc == MCP_OK || g->code != EXIT_OK ? g->code : EXIT_USAGE;
}

static int add_all(gathered *g)
{
    const ctl *c = g->c;
    int code = c->set.server ? add(g, c->set.server, NULL) : EXIT_OK;
    for (size_t i = 0; code == EXIT_OK && i < c->n_args; i++)
        code = add(g, c->args[i], NULL);
    for (size_t i = 0; code == EXIT_OK && i < c->set.servers.count; i++)
        code = add_file(g, c->set.servers.items[i]);
    if (code == EXIT_OK && c->server && c->server[0])
        code = add(g, NULL, NULL);
    if (code == EXIT_OK && g->count > 1 && c->set.headers.count) {
        say("headers would be sent to all servers, and may contain a secret of one");
        hint("open a server with headers alone, or put them into its entry of a configuration "
             "file");
        return EXIT_USAGE;
    }
    if (code != EXIT_OK || g->count)
        return code;
    say(c->set.servers.count ? "the files of --servers have no server" : "no server is given");
    hint("write mcpctl web -- COMMAND, mcpctl web NAME or URL, or mcpctl web --servers FILE");
    return EXIT_USAGE;
}

/* ---- the program ------------------------------------------------------------------------------ */

/* Writes the text to a file in memory, and returns its descriptor, which the program inherits. */
static int to_memory(mcp_str text)
{
    int fd = memfd_create("mcpctl-web", 0);
    for (size_t at = 0; fd >= 0 && at < text.len;) {
        ssize_t n = write(fd, text.ptr + at, text.len - at);
        if (n < 0 && errno != EINTR) {
            close(fd);
            return -1;
        }
        at += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0 && lseek(fd, 0, SEEK_SET) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int run_program(const char *path, mcp_json_writer *w)
{
    mcp_str text;
    char number[16];
    int fd = mcp_json_writer_finish(w, &text) == MCP_OK ? to_memory(text) : -1;
    if (fd >= 0) {
        snprintf(number, sizeof(number), "%d", fd);
        execl(path, "mcpctl-web", "--servers-from", number, (char *)NULL);
    }
    say("cannot run %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return EXIT_LOCAL;
}

int run_web(ctl *c)
{
    char path[PATH_MAX];
    gathered g = {.c = c};
    if (!sibling_find("mcpctl-web", path)) {
        say("mcpctl-web is not installed: mcpctl was built without it");
        hint("'mcpctl browse' and 'mcpctl shell' show the same in a terminal");
        return EXIT_LOCAL;
    }
    g.w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(g.w);
    mcp_json_put_bool(g.w, "open", !c->set.no_open && !c->set.no_browser);
    mcp_json_put_array(g.w, "servers");
    int code = add_all(&g);
    mcp_json_end(g.w), mcp_json_end(g.w);
    if (code == EXIT_OK)
        code = run_program(path, g.w);
    mcp_json_writer_free(g.w);
    return code;
}
