/* entry.c: the entry for a host's configuration file.
 *
 * JSON goes to stdout alone, so that it can be piped into a file or jq; what a person needs to
 * know besides goes to stderr. A host starts servers in a folder of its own choosing, so every
 * path is made absolute.
 */
#define _GNU_SOURCE
#include "entry.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mcp/json.h>

typedef struct host {
    const char *name;
    const char *key; /* the member that holds the servers */
    bool has_type;   /* "type": "stdio" is required */
    const char *where;
    const char *where_http; /* when the server is at an address; NULL: the same */
} host;

static const host hosts[] = {
    {"claude", "mcpServers", false,
     "Claude Desktop: merge it into claude_desktop_config.json (Settings, Developer, Edit Config;\n"
     "on Linux ~/.config/Claude/, on macOS ~/Library/Application Support/Claude/), then start it "
     "again.\n"
     "Claude Code: merge it into .mcp.json in the project's folder.",
     "Claude Code: merge it into .mcp.json in the project's folder.\n"
     "Claude Desktop's file takes commands alone: for it, print the entry without --http."},
    {"vscode", "servers", true,
     "VS Code: merge it into .vscode/mcp.json of the workspace, or into the user's mcp.json\n"
     "(command \"MCP: Open User Configuration\").",
     NULL},
    {"cursor", "mcpServers", false,
     "Cursor: merge it into ~/.cursor/mcp.json, or into .cursor/mcp.json of the project.", NULL},
};

/* Whether some component is "..". */
static bool climbs(const char *path)
{
    for (const char *p = path; *p; p += strcspn(p, "/"), p += strspn(p, "/"))
        if (strcspn(p, "/") == 2 && p[0] == '.' && p[1] == '.')
            return true;
    return false;
}

/* Appends the components of path to `to`, each after a slash, without "." and empty ones. */
static char *append(char *to, const char *path)
{
    for (const char *p = path + strspn(path, "/"); *p; p += strspn(p, "/")) {
        size_t len = strcspn(p, "/");
        if (len != 1 || *p != '.') {
            *to++ = '/';
            memcpy(to, p, len);
            to += len;
        }
        p += len;
    }
    *to = 0;
    return to;
}

char *absolute_path(const char *path)
{
    char *cwd = *path == '/' ? strdup("") : getcwd(NULL, 0);
    char *ret = NULL;
    if (climbs(path))
        ret = realpath(path, NULL);
    else if (cwd && (ret = malloc(strlen(cwd) + strlen(path) + 3)))
        if (append(append(ret, cwd), path) == ret)
            memcpy(ret, "/", 2);
    if (!ret)
        fprintf(stderr, "mcpd: %s: %s\n", path, strerror(errno));
    free(cwd);
    return ret;
}

/* Where this program lies, for a host whose PATH is not ours. */
static char *own_path(void)
{
    char *path = malloc(PATH_MAX);
    ssize_t len = path ? readlink("/proc/self/exe", path, PATH_MAX - 1) : -1;
    if (len < 0) {
        free(path);
        return strdup("mcpd");
    }
    path[len] = 0;
    return path;
}

/* One string as JSON; false when it is not UTF-8, which JSON cannot hold. */
static bool print_string(const char *text)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str json;
    mcp_json_add_string(w, text);
    int rc = w ? mcp_json_writer_finish(w, &json) : MCP_ENOMEM;
    if (rc == MCP_OK)
        printf("%.*s", (int)json.len, json.ptr);
    else
        fprintf(stderr, "mcpd: cannot be written as JSON: '%s': %s\n", text, mcp_error_text(rc));
    mcp_json_writer_free(w);
    return rc == MCP_OK;
}

static bool print_freed(char *text)
{
    bool ok = text && print_string(text);
    free(text);
    return ok;
}

static bool print_path(const char *name, const char *path, const char *before)
{
    printf("%s\"--%s\", ", before, name);
    return print_freed(absolute_path(path));
}

static bool print_source(const source *s, modules *m)
{
    return print_freed(source_is_module(s) ? modules_absolute(m, s->text, NULL)
                                           : absolute_path(s->text));
}

/* What the command line said; what the configuration file says is in there. Several sources are a line each. */
static bool print_arguments(const settings *s, modules *m)
{
    bool ok = true, lines = s->sources.count > 1;
    const char *before = lines ? "\n        " : "";
    const char *next = lines ? ",\n        " : ", ";
    if (s->config)
        ok = print_path("config", s->config, before), before = next;
    for (size_t i = 0; ok && i < s->kept.count; i++, before = next)
        printf("%s", before), ok = print_string(s->kept.items[i]);
    if (ok && s->prompts)
        ok = print_path("prompts", s->prompts, before), before = next;
    for (size_t i = 0; ok && i < s->modules.count; i++, before = next)
        ok = print_path("module", s->modules.items[i], before);
    for (size_t i = 0; ok && i < s->sources.count; i++, before = next)
        printf("%s", before), ok = print_source(&s->sources.items[i], m);
    printf("%s", lines ? "\n      " : "");
    return ok;
}

static bool print_stdio(const settings *line, modules *m, const host *h)
{
    if (h->has_type)
        printf("      \"type\": \"stdio\",\n");
    printf("      \"command\": ");
    bool ok = print_freed(own_path());
    printf(",\n      \"args\": [");
    ok = ok && print_arguments(line, m);
    printf("]");
    return ok;
}

/* An address that a host can name: of a socket that is not a file, with a port that is known before it listens. */
static const char *address_of(const settings *now)
{
    for (size_t i = 0; i < now->http.count; i++) {
        const char *address = now->http.items[i], *port = strrchr(address, ':');
        if (strncmp(address, "unix:", 5) != 0 && port && strcmp(port, ":0") != 0)
            return address;
    }
    return NULL;
}

/* A host on this machine gets everywhere by the loopback. */
static bool print_http(const settings *now, bool tokens)
{
    const char *address = address_of(now);
    char url[300];
    if (!address) {
        fprintf(stderr, "mcpd: a host needs an address with a port to reach it over HTTP\n");
        return false;
    }
    const char *port = strrchr(address, ':');
    bool any = *address == ':' || strncmp(address, "0.0.0.0:", 8) == 0 ||
               strncmp(address, "[::]:", 5) == 0;
    snprintf(url, sizeof url, "http%s://%.*s%s/mcp", now->tls_cert ? "s" : "",
             any ? 9 : (int)(port - address), any ? "127.0.0.1" : address, port);
    printf("      \"type\": \"http\",\n      \"url\": ");
    bool ok = print_string(url);
    if (tokens)
        printf(",\n      \"headers\": {\"Authorization\": \"Bearer TOKEN\"}");
    return ok;
}

int entry_print(const settings *line, const settings *now, bool tokens, modules *m)
{
    const host *h = hosts;
    while (strcmp(h->name, now->print_config) != 0)
        h++; /* the parser lets no other name through */
    bool http = now->http.count && !now->stdio;
    printf("{\n  \"%s\": {\n    ", h->key);
    bool ok = print_string(now->name ? now->name : "mcpd");
    printf(": {\n");
    ok = ok && (http ? print_http(now, tokens) : print_stdio(line, m, h));
    printf("\n    }\n  }\n}\n");
    fflush(stdout); /* what follows is about it, also where both are one pipe */
    if (ok)
        fprintf(stderr, "%s\n", http && h->where_http ? h->where_http : h->where);
    if (ok && http)
        fprintf(stderr, "mcpd has to be running already%s.\n",
                tokens ? "; put a token of its own in place of TOKEN" : "");
    return ok ? 0 : 1;
}
