/* entry.c: the entry for a host's configuration file.
 *
 * Only the entry is written to stdout, so that it can be piped into a file or jq; further
 * information for the user is written to stderr. A host starts servers in any folder, so every path
 * is made absolute. Most hosts show only tools, so the entry enables the resource tools.
 */
#define _GNU_SOURCE
#include "entry.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <common/text.h>
#include <mcp/json.h>

#include "config.h"

/* Returns whether the path contains "..". */
static bool climbs(const char *path)
{
    for (const char *p = path; *p; p += strcspn(p, "/"), p += strspn(p, "/"))
        if (strcspn(p, "/") == 2 && p[0] == '.' && p[1] == '.')
            return true;
    return false;
}

/* Appends the components of a path, each after a slash, without "." and empty components. */
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
        say("%s: %s", path, strerror(errno));
    free(cwd);
    return ret;
}

/* ---- the command ----------------------------------------------------------------------------- */

bool entry_add_word(entry *e, char *word)
{
    char **grown = word ? realloc(e->words, (e->count + 1) * sizeof(*grown)) : NULL;
    if (!grown) {
        free(word);
        return false;
    }
    e->words = grown;
    e->words[e->count++] = word;
    return true;
}

static bool add_path(entry *e, const char *name, const char *path)
{
    return entry_add_word(e, strdup(name)) && entry_add_word(e, absolute_path(path));
}

/* Returns the word of a folder or file with its parameters. The caller frees it. */
static char *word_of_path(const source *s)
{
    char *path = absolute_path(s->text), *word = NULL;
    if (!path || !s->writes)
        return path;
    if (asprintf(&word, "%s?%s", path, s->writes) < 0)
        word = NULL;
    free(path);
    return word;
}

static bool add_source(entry *e, const source *s, modules *m)
{
    return entry_add_word(e, source_is_module(s) ? modules_absolute(m, s->text, NULL)
                                                 : word_of_path(s));
}

/* Adds the options of the command line; those of the configuration file stay there. */
static bool add_words(entry *e, const settings *line, const settings *now, modules *m)
{
    bool ok = via_add(e, line, m);
    if (ok && line->config)
        ok = add_path(e, "--config", line->config);
    for (size_t i = 0; ok && i < line->kept.count; i++)
        ok = entry_add_word(e, strdup(line->kept.items[i]));
    if (ok && !now->resource_tools && !now->no_resource_tools)
        ok = entry_add_word(e, strdup("--resource-tools"));
    if (ok && line->prompts)
        ok = add_path(e, "--prompts", line->prompts);
    if (ok && line->audit)
        ok = strcmp(line->audit, "-")
                 ? add_path(e, "--audit", line->audit)
                 : entry_add_word(e, strdup("--audit")) && entry_add_word(e, strdup("-"));
    for (size_t i = 0; ok && i < line->modules.count; i++)
        ok = add_path(e, "--module", line->modules.items[i]);
    for (size_t i = 0; ok && i < line->servers.count; i++)
        ok = add_path(e, "--servers", line->servers.items[i]);
    for (size_t i = 0; ok && i < line->sources.count; i++)
        ok = add_source(e, &line->sources.items[i], m);
    return ok;
}

/* ---- the address ----------------------------------------------------------------------------- */

/* Returns an address that a host can use, which has a fixed port and is not a Unix socket. */
static const char *address_of(const settings *now)
{
    for (size_t i = 0; i < now->http.count; i++) {
        const char *address = now->http.items[i], *port = strrchr(address, ':');
        if (strncmp(address, "unix:", 5) != 0 && port && strcmp(port, ":0") != 0)
            return address;
    }
    return NULL;
}

/* Makes the URL. A host on this machine can use the loopback address. */
static bool make_url(entry *e, const settings *now)
{
    const char *address = address_of(now);
    if (!e->host->url) {
        fprintf(stderr, "mcpd: %s supports only commands: print its entry without --http\n",
                e->host->title);
        return false;
    }
    if (!address) {
        fprintf(stderr, "mcpd: a host needs an address with a port to reach it over HTTP\n");
        return false;
    }
    const char *port = strrchr(address, ':');
    bool any = *address == ':' || strncmp(address, "0.0.0.0:", 8) == 0 ||
               strncmp(address, "[::]:", 5) == 0;
    if (asprintf(&e->url, "http%s://%.*s%s/mcp", now->tls_cert ? "s" : "",
                 any ? 9 : (int)(port - address), any ? "127.0.0.1" : address, port) < 0)
        e->url = NULL;
    return e->url != NULL;
}

bool entry_make(const char *name, const settings *line, const settings *now, bool tokens,
                modules *m, entry *ret)
{
    bool http = now->http.count && !now->stdio;
    *ret = (entry){.host = host_find(name), .name = now->name ? now->name : "mcpd"};
    ret->tokens = http && tokens;
    bool ok = http ? make_url(ret, now) : add_words(ret, line, now, m);
    if (!ok)
        entry_clear(ret);
    return ok;
}

void entry_clear(entry *e)
{
    for (size_t i = 0; i < e->count; i++)
        free(e->words[i]);
    free(e->words);
    free(e->url);
    *e = (entry){0};
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void put_words(mcp_json_writer *w, const entry *e, size_t from)
{
    mcp_json_begin_array(w);
    for (size_t i = from; i < e->count; i++)
        mcp_json_add_string(w, e->words[i]);
    mcp_json_end(w);
}

static void put_command(mcp_json_writer *w, const entry *e)
{
    const known_host *h = e->host;
    if (h->type)
        mcp_json_put_string(w, "type", h->type);
    mcp_json_key(w, "command");
    if (h->one_list) {
        put_words(w, e, 0);
    } else {
        mcp_json_add_string(w, e->words[0]);
        mcp_json_key(w, "args"), put_words(w, e, 1);
    }
    if (h->more_key)
        mcp_json_put_raw(w, h->more_key, mcp_str_from(h->more_value));
}

static void put_url(mcp_json_writer *w, const entry *e)
{
    const known_host *h = e->host;
    if (h->url_type)
        mcp_json_put_string(w, "type", h->url_type);
    mcp_json_put_string(w, h->url, e->url);
    if (e->tokens) {
        mcp_json_key(w, "headers");
        mcp_json_add_raw(w, MCP_STR("{\"Authorization\":\"Bearer TOKEN\"}"));
    }
    if (h->more_key && !h->more_of_commands)
        mcp_json_put_raw(w, h->more_key, mcp_str_from(h->more_value));
}

static void put_file(mcp_json_writer *w, const entry *e)
{
    mcp_json_begin_object(w);
    mcp_json_key(w, e->host->key);
    mcp_json_begin_object(w);
    mcp_json_key(w, e->name);
    mcp_json_begin_object(w);
    if (e->url)
        put_url(w, e);
    else
        put_command(w, e);
    mcp_json_end(w);
    mcp_json_end(w);
    mcp_json_end(w);
}

/* ---- as TOML --------------------------------------------------------------------------------- */

/* Returns whether a key needs no quotes. */
static bool is_bare(const char *key)
{
    return *key &&
           key[strspn(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")] ==
               0;
}

/* Writes a string with JSON's escapes, which TOML accepts too, and with one more that TOML
 * requires. */
static bool put_string(FILE *to, const char *text)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str json;
    mcp_json_add_string(w, text);
    bool ok = w && mcp_json_writer_finish(w, &json) == MCP_OK;
    for (size_t i = 0; ok && i < json.len; i++)
        if (json.ptr[i] == 0x7f)
            fputs("\\u007F", to);
        else
            putc(json.ptr[i], to);
    mcp_json_writer_free(w);
    return ok;
}

static bool put_table(FILE *to, const entry *e)
{
    bool ok = true;
    fprintf(to, "[%s.", e->host->key);
    if (is_bare(e->name))
        fputs(e->name, to);
    else
        ok = put_string(to, e->name);
    fputs(e->url ? "]\nurl = " : "]\ncommand = ", to);
    ok = ok && put_string(to, e->url ? e->url : e->words[0]);
    if (e->tokens)
        fputs("\nbearer_token_env_var = \"MCPD_TOKEN\"", to);
    if (!e->url)
        fputs("\nargs = [", to);
    for (size_t i = 1; ok && i < e->count; i++) {
        fputs(i > 1 ? ", " : "", to);
        ok = put_string(to, e->words[i]);
    }
    fputs(e->url ? "\n" : "]\n", to);
    return ok;
}

static bool put_json(FILE *to, const entry *e)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str json;
    put_file(w, e);
    bool ok = w && mcp_json_writer_finish(w, &json) == MCP_OK;
    if (ok)
        config_pretty(to, json);
    mcp_json_writer_free(w);
    return ok;
}

char *entry_text(const entry *e)
{
    char *made = NULL;
    size_t size;
    FILE *to = open_memstream(&made, &size);
    bool ok = to && (e->host->toml ? put_table(to, e) : put_json(to, e));
    if (to && fclose(to) != 0)
        ok = false;
    if (ok)
        return made;
    free(made);
    fprintf(stderr, "mcpd: the entry cannot be written: a name in it is not UTF-8\n");
    return NULL;
}

/* ---- further steps --------------------------------------------------------------------------- */

/* Writes a word after a blank, so that a shell reads it as one. */
static void put_shell_word(const char *word)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=@,+";
    bool is_plain = *word && !word[strspn(word, plain)];
    fputs(is_plain ? " " : " '", stderr);
    for (const char *p = word; *p; p++) {
        if (*p == '\'')
            fputs("'\\'", stderr);
        fputc(*p, stderr);
    }
    fputs(is_plain ? "" : "'", stderr);
}

/* Writes the host's own command with this entry, to copy into a shell. */
static void say_user_add(const entry *e)
{
    fprintf(stderr, "  %s", e->host->user_add);
    if (e->url) {
        fputs(" --transport http", stderr);
        put_shell_word(e->name);
        put_shell_word(e->url);
        fputs(e->tokens ? " --header 'Authorization: Bearer TOKEN'\n" : "\n", stderr);
        return;
    }
    put_shell_word(e->name);
    fputs(" --", stderr);
    for (size_t i = 0; i < e->count; i++)
        put_shell_word(e->words[i]);
    fputc('\n', stderr);
}

void entry_say_rest(const entry *e)
{
    if (e->host->note)
        fprintf(stderr, "%s\n", e->host->note);
    if (e->host->user_add)
        say_user_add(e);
    if (!e->url)
        return;
    fprintf(stderr,
            "mcpd has to be running already, with --resource-tools if the host shows tools only");
    if (e->tokens)
        fprintf(stderr, e->host->toml ? "; the variable MCPD_TOKEN has its token"
                                      : "; replace TOKEN with a token of its own");
    fprintf(stderr, ".\n");
}

int entry_print(const entry *e)
{
    char *text = entry_text(e), *file = host_usual_file(e->host);
    if (!text) {
        free(file);
        return 1;
    }
    fputs(text, stdout);
    fflush(stdout); /* keeps the order if both streams are the same pipe */
    if (file)
        fprintf(stderr,
                "%s: merge it into %s; mcpd --install %s instead of --print-config does that.\n",
                e->host->title, file, e->host->name);
    entry_say_rest(e);
    free(text);
    free(file);
    return 0;
}
