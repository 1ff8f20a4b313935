/* servers.c: the servers in the configuration files of MCP hosts, as sources.
 *
 * The name of a source depends only on the name of its entry. It is never changed because of other
 * entries, since the names of all its tools contain it.
 */
#define _GNU_SOURCE
#include "servers.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include <common/file.h>
#include <common/hosts/entry.h>
#include <common/hosts/source_name.h>
#include <common/text.h>

/* A server that has become a source. */
typedef struct one {
    struct one *next;
    char *entry; /* the name of its entry */
    char name[SOURCE_NAME_MAX + 1];
    char *source;
    mcp_json_doc *options;
} one;

struct servers {
    one *first;
};

/* One call of servers_add(). */
typedef struct adding {
    settings *to;
    config_tell *tell;
    bool strict, starved, failed;
    const server_file *file;
    const char *path;
    const char *entry; /* the name of the entry that is read */
} adding;

static void one_free(one *o)
{
    if (!o)
        return;
    mcp_json_free(o->options);
    free(o->source);
    free(o->entry);
    free(o);
}

void servers_free(struct servers *servers)
{
    for (one *o = servers ? servers->first : NULL, *next; o; o = next) {
        next = o->next;
        one_free(o);
    }
    free(servers);
}

static void report(const adding *a, const char *text, const char *end)
{
    char line[1024];
    snprintf(line, sizeof(line), "%.200s: the server '%.80s': %s%s", a->path, a->entry, text, end);
    a->tell(line);
}

/* Says why the current entry is left out although nothing is wrong with it. */
static void skip(const adding *a, const char *why)
{
    report(a, why, "; it is left out");
}

/* Reports an error of the current entry. */
static void tell(const adding *a, const char *format, ...) MCP_PRINTF(2, 3);
static void tell(const adding *a, const char *format, ...)
{
    char text[700];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    report(a, text, a->strict ? "" : "; it is left out");
}

/* ---- the name of a source -------------------------------------------------------------------- */

/* Returns the source with this name, or that of the same entry of another file. */
static const one *same(const adding *a, const char *name, bool entry)
{
    for (const one *o = a->to->hosted->first; o; o = o->next)
        if (strcmp(entry ? o->entry : o->name, name) == 0)
            return o;
    return NULL;
}

/* ---- ourselves ------------------------------------------------------------------------------- */

/* Returns whether a command starts this program. */
static bool is_own_command(const char *command)
{
    char own[PATH_MAX], path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);
    if (len < 0)
        return false;
    own[len] = 0;
    if (!strchr(command, '/') && !file_find_program(command, path, sizeof(path)))
        return false;
    char *real = realpath(strchr(command, '/') ? command : path, NULL);
    bool ret = real && strcmp(real, own) == 0;
    free(real);
    return ret;
}

static bool is_loopback(const char *host, size_t len)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; i < 3; i++)
        if (strlen(names[i]) == len && strncasecmp(names[i], host, len) == 0)
            return true;
    return false;
}

/* Returns whether a URL is an address of this program. */
static bool is_own_address(const settings *s, const char *url)
{
    const char *host = strstr(url, "://");
    if (!host)
        return false;
    host += 3;
    size_t len = strcspn(host, "/?#");
    const char *port = memrchr(host, ':', len);
    for (size_t i = 0; port && i < s->http.count; i++) {
        const char *address = s->http.items[i], *colon = strrchr(address, ':');
        size_t named = (size_t)(port - host);
        if (!colon || strlen(colon) != len - named || strncmp(colon, port, len - named) != 0)
            continue;
        bool same_host =
            (size_t)(colon - address) == named && strncasecmp(address, host, named) == 0;
        if (same_host || is_loopback(host, named))
            return true;
    }
    return false;
}

static bool is_own(const settings *s, const server *v)
{
    return v->url ? is_own_address(s, v->url) : is_own_command(v->argv[0]);
}

/* ---- a source -------------------------------------------------------------------------------- */

/* Returns a word that the module mcp does not split. */
static char *quoted(const char *word)
{
    char *ret = malloc(2 * strlen(word) + 1), *to = ret;
    for (; ret && *word; word++) {
        if (strchr(" \t'\"\\", *word))
            *to++ = '\\';
        *to++ = *word;
    }
    if (ret)
        *to = 0;
    return ret;
}

static void put_list(mcp_json_writer *w, const char *key, const char *const *items, size_t count)
{
    if (!count)
        return;
    mcp_json_key(w, key);
    mcp_json_begin_array(w);
    for (size_t i = 0; i < count; i++)
        mcp_json_add_string(w, items[i]);
    mcp_json_end(w);
}

/* Writes the first array of an entry that chooses tools, unless it means all. Hosts have different names
 * for it. */
static void put_tools(mcp_json_writer *w, const char *to, const mcp_json *entry,
                      const char *const *keys)
{
    for (; *keys; keys++) {
        const mcp_json *v = mcp_json_get(entry, *keys);
        if (!mcp_json_is(v, MCP_JSON_ARRAY) || !mcp_json_count(v) ||
            mcp_str_eq(mcp_json_string(mcp_json_at(v, 0)), MCP_STR("*")))
            continue;
        mcp_json_key(w, to);
        mcp_json_add_value(w, v);
        return;
    }
}

/* Writes the time that an entry allows for the start or for an answer. */
static void put_timeout(mcp_json_writer *w, const mcp_json *entry)
{
    enum { LEAST_MS = 100, MOST_S = 86400 };
    static const struct {
        const char *key;
        int64_t ms; /* of one unit */
    } times[] = {{"timeout", 1}, {"startup_timeout_ms", 1}, {"startup_timeout_sec", 1000}};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        int64_t n = mcp_json_int(mcp_json_get(entry, times[i].key), 0), unit = times[i].ms;
        if (n <= 0 || n > MOST_S * 1000 / unit)
            continue;
        mcp_json_key(w, "timeout_ms");
        mcp_json_add_int(w, n * unit < LEAST_MS ? LEAST_MS : n * unit);
        return;
    }
}

static int make_options(const server *v, const mcp_json *entry, mcp_json_doc **ret)
{
    static const char *const only[] = {"includeTools", "enabled_tools", "tools", NULL};
    static const char *const hide[] = {"excludeTools", "disabled_tools", NULL};
    mcp_str text;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_begin_object(w);
    if (!v->url) {
        put_list(w, "args", v->argv + 1, v->line.count - 1);
        put_list(w, "env_add", (const char *const *)(void *)v->env.items, v->env.count);
    }
    if (!v->url && v->cwd)
        mcp_json_put_string(w, "cwd", v->cwd);
    if (v->url)
        put_list(w, "headers", (const char *const *)(void *)v->headers.items, v->headers.count);
    put_tools(w, "only_tools", entry, only);
    put_tools(w, "hide_tools", entry, hide);
    put_timeout(w, entry);
    mcp_json_end(w);
    int rc = w ? mcp_json_writer_finish(w, &text) : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = mcp_json_parse(text, NULL, NULL, ret, NULL);
    mcp_json_writer_free(w);
    return rc;
}

/* Makes it a source, and takes ownership of it. */
static bool add_source(adding *a, one *o)
{
    o->next = a->to->hosted->first;
    a->to->hosted->first = o;
    return sources_add(&a->to->sources, &(source){.text = o->source,
                                                  .module = "mcp",
                                                  .name = o->name,
                                                  .options = mcp_json_root(o->options),
                                                  .of_host = true});
}

static int add(adding *a, const server *v, const mcp_json *entry)
{
    one *o = calloc(1, sizeof(*o));
    if (!o)
        return MCP_ENOMEM;
    o->entry = strdup(a->entry);
    o->source = v->url ? strdup(v->url) : quoted(v->argv[0]);
    source_name(a->entry, o->name);
    int rc = o->entry && o->source ? make_options(v, entry, &o->options) : MCP_ENOMEM;
    const one *other = rc == MCP_OK ? same(a, o->name, false) : NULL;
    if (other) {
        tell(a, "its name would be '%s', like that of '%s'; rename one of them", o->name,
             other->entry);
        rc = MCP_EEXIST;
    }
    if (rc == MCP_OK && strcmp(o->name, "mcpd") == 0) {
        tell(a, "no server may be called mcpd, because a person who is asked something has to see "
                "who asks; rename it");
        rc = MCP_EINVAL;
    }
    if (rc == MCP_OK)
        return add_source(a, o) ? MCP_OK : MCP_ENOMEM;
    one_free(o);
    return rc;
}

/* ---- entries --------------------------------------------------------------------------------- */

static void on_error(void *user, const char *line)
{
    tell(user, "%s", line);
}

static char *no_input(void *user, const server *v, const mcp_json *input, mcp_str id)
{
    (void)v;
    (void)input;
    tell(user,
         "mcpd cannot ask for the input '%.*s': put it into an environment variable, and write "
         "${env:NAME} instead",
         (int)(id.len < 100 ? id.len : 100), id.ptr);
    return NULL;
}

/* Returns whether the host does not use the server either. */
static bool is_disabled(const mcp_json *entry)
{
    return mcp_json_bool(mcp_json_get(entry, "disabled"), false) ||
           !mcp_json_bool(mcp_json_get(entry, "enabled"), true);
}

static int check(const adding *a, const server *v)
{
    if (v->url && strncmp(v->url, "http://", 7) != 0 && strncmp(v->url, "https://", 8) != 0) {
        tell(a, "its address is not an http or https URL");
        return MCP_EINVAL;
    }
    if (!v->url && !*v->argv[0]) {
        tell(a, "its command is empty");
        return MCP_EINVAL;
    }
    return MCP_OK;
}

static int read_entry(adding *a, const mcp_json *entry)
{
    entry_io io = {.tell = on_error, .ask = no_input, .user = a};
    server v = {.name = a->entry, .format = a->file->format, .file = strdup(a->path)};
    int rc =
        v.file ? entry_describe(&v, entry, mcp_json_get(a->file->root, "inputs"), &io) : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = entry_resolve(&v, &io);
    if (rc == MCP_OK)
        rc = check(a, &v);
    if (rc == MCP_OK && is_own(a->to, &v))
        skip(a, "it is this mcpd, to which its sources can be given instead");
    else if (rc == MCP_OK)
        rc = add(a, &v, entry);
    server_clear(&v);
    return rc;
}

static bool on_entry(const server_file *file, mcp_str name, const mcp_json *entry, void *user)
{
    adding *a = user;
    char *text = text_dup(name);
    int rc = text ? MCP_OK : MCP_ENOMEM;
    a->file = file;
    a->entry = text;
    /* The first of several entries with one name is used, as in hosts. */
    if (text && !is_disabled(entry) && !same(a, text, true))
        rc = read_entry(a, entry);
    a->starved = rc == MCP_ENOMEM;
    a->failed = a->failed || rc != MCP_OK;
    a->entry = NULL;
    free(text);
    return !a->starved;
}

static bool on_file(const server_file *file, void *user)
{
    return server_entries(file, on_entry, user);
}

static void on_file_error(void *user, const char *line)
{
    ((const adding *)user)->tell(line);
}

int servers_add(settings *s, bool strict, config_tell *tell_line)
{
    adding a = {.to = s, .tell = tell_line, .strict = strict};
    int rc = MCP_OK;
    if (!s->servers.count)
        return MCP_OK;
    s->hosted = calloc(1, sizeof(*s->hosted));
    a.starved = !s->hosted;
    for (size_t i = 0; rc == MCP_OK && !a.starved && i < s->servers.count; i++) {
        a.path = s->servers.items[i];
        rc = server_files(&a.path, 1, on_file_error, on_file, &a);
    }
    if (a.starved) {
        tell_line("out of memory");
        return MCP_ENOMEM;
    }
    return rc == MCP_OK && strict && a.failed ? MCP_EINVAL : rc;
}
