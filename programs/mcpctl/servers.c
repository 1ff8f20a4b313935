/* servers.c: finds the server for a command line.
 *
 * Files are searched in a fixed order, and the first one that contains the name is used: the files
 * of --config or, without this option, those of the current folder and then the user's own.
 * `"trusted": true` is accepted only in the user's own files, because the current folder may be
 * untrusted.
 */
#define _GNU_SOURCE
#include "servers.h"

#include <stdlib.h>

#include "terminal.h"

/* ---- errors and questions -------------------------------------------------------------------- */

void server_say(void *user, const char *line)
{
    (void)user;
    say("%s", line);
}

/* Returns the exit code for a code of common/hosts; an exit code stays as it is. */
static int exit_of(int code)
{
    return code >= 0             ? code
           : code == MCP_ENOMEM  ? EXIT_LOCAL
           : code == MCP_EACCESS ? EXIT_REFUSED
                                 : EXIT_USAGE;
}

/* Asks the user for an input. The prompt names the file that defines it, because any file may
 * contain "Your password for example.com". */
static char *ask_input(const server *s, const mcp_json *input, mcp_str id)
{
    enum { LONGEST = 400 };
    char prompt[512];
    bool secret = mcp_json_bool(mcp_json_get(input, "password"), false);
    mcp_str about = mcp_json_string(mcp_json_get(input, "description"));
    mcp_str fallback = mcp_json_string(mcp_json_get(input, "default"));
    say("%s requires a value for the server '%s'%s", s->file, s->name,
        about.len ? ", and says of it:" : "");
    about.len = about.len < LONGEST ? about.len : LONGEST;
    terminal_show(about, 4);
    hint("what you type goes to that server%s", secret ? "; it is not shown" : "");
    snprintf(prompt, sizeof(prompt), "  %.*s%s%.*s%s: ", (int)(id.len < 100 ? id.len : 100), id.ptr,
             fallback.len ? " [" : "", (int)(fallback.len < 100 ? fallback.len : 100),
             fallback.len ? fallback.ptr : "", fallback.len ? "]" : "");
    char *line = terminal_ask(prompt, secret);
    if (line && !*line && fallback.len) {
        free(line);
        line = text_dup(fallback);
    }
    return line;
}

static char *input_value(void *user, const server *s, const mcp_json *input, mcp_str id)
{
    (void)user;
    if (terminal_can_ask())
        return ask_input(s, input, id);
    say("the configuration requires the input '%.*s', which cannot be asked for without a "
        "terminal",
        (int)id.len, id.ptr);
    hint("run it on a terminal, or put the value into an environment variable: ${env:NAME}");
    return NULL;
}

static int confirm_variables(void *user, const server *s)
{
    return server_confirm_variables(user, s);
}

static entry_io io_of(ctl *c)
{
    return (entry_io){
        .tell = server_say, .ask = input_value, .variables = confirm_variables, .user = c};
}

/* ---- an entry -------------------------------------------------------------------------------- */

/* State of searching for one name. */
typedef struct search {
    ctl *c;
    server *found;
    int code;
} search;

static const mcp_json *find_entry(const server_file *file, const char *name)
{
    const mcp_json *object, *entry = NULL;
    for (size_t i = 0; !entry && server_objects(file, i, &object); i++)
        entry = mcp_json_get(object, name);
    return mcp_json_is(entry, MCP_JSON_OBJECT) ? entry : NULL;
}

static bool look(const server_file *file, void *user)
{
    search *f = user;
    const mcp_json *entry = find_entry(file, f->c->set.server);
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
    entry_io io = io_of(f->c);
    f->code = exit_of(entry_describe(s, entry, mcp_json_get(file->root, "inputs"), &io));
    return false;
}

/* ---- finding the server ---------------------------------------------------------------------- */

bool is_address(const char *text)
{
    return strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0 ||
           strncmp(text, "unix:", 5) == 0;
}

/* Copies an address with scheme and host in lower case, as URLs are compared, for logins too. */
static char *copy_address(const char *text)
{
    char *url = strdup(text), *authority = url ? strstr(url, "://") : NULL;
    if (!authority)
        return url;
    authority += 3;
    char *end = authority + strcspn(authority, "/?#");
    const char *user = memchr(authority, '@', (size_t)(end - authority));
    for (char *c = url; c < end; c++) {
        if ((c < authority || !user || c > user) && *c >= 'A' && *c <= 'Z')
            *c = (char)(*c + ('a' - 'A'));
    }
    return url;
}

static int find_name(ctl *c, server **ret)
{
    search f = {.c = c};
    entry_io io = io_of(c);
    int code =
        exit_of(server_files(c->set.config.items, c->set.config.count, server_say, look, &f));
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
        code = exit_of(entry_resolve(f.found, &io));
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
        s->url = copy_address(c->set.server);
    if (s && (s->argv || s->url))
        return add_headers(c, s);
    say("out of memory");
    return EXIT_LOCAL;
}

void server_free(server *s)
{
    if (!s)
        return;
    server_clear(s);
    free(s);
}
