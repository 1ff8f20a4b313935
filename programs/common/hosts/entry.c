/* entry.c: the entry of a server in a configuration file, in the format of any host.
 *
 * The entry is untrusted, so it is processed in two steps. The first step produces the text that
 * the user is shown, and opens no file, asks no questions and reads no environment variable. The
 * second step fills in the values, after the user has confirmed.
 */
#define _GNU_SOURCE
#include "entry.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <common/file.h>
#include <common/text.h>

/* ---- the parts of an entry ------------------------------------------------------------------- */

/* Gets the text of a string or number. */
static bool text_of(const mcp_json *v, char number[32], mcp_str *ret)
{
    *ret = mcp_json_string(v);
    if (mcp_json_is(v, MCP_JSON_INT)) {
        snprintf(number, 32, "%lld", (long long)mcp_json_int(v, 0));
        *ret = mcp_str_from(number);
    }
    return mcp_json_is(v, MCP_JSON_STRING) || mcp_json_is(v, MCP_JSON_INT);
}

/* Visits the items of an array, or the members of an object. In an object, values that are neither
 * strings nor numbers are skipped. In an array, where positions matter, they count as empty
 * strings. */
static int walk_list(const mcp_json *list, entry_part part, entry_fn *fn, void *user)
{
    mcp_json_iter it = {0};
    mcp_str key = {0}, text;
    int code = MCP_OK;
    for (const mcp_json *v; code == MCP_OK && (v = mcp_json_next(list, &it, &key)) != NULL;) {
        char number[32];
        if (text_of(v, number, &text) || part == ENTRY_WORD)
            code = fn(user, part, part == ENTRY_WORD ? (mcp_str){0} : key, text);
    }
    return code;
}

static int walk_text(const mcp_json *entry, const char *key, entry_part part, entry_fn *fn,
                     void *user)
{
    mcp_str text = mcp_json_string(mcp_json_get(entry, key));
    return text.len ? fn(user, part, (mcp_str){0}, text) : MCP_OK;
}

/* Members of one kind, in the order in which they are visited. */
typedef struct entry_key {
    const char *key;
    entry_part part;
} entry_key;

static int walk_keys(const mcp_json *entry, const entry_key *keys, size_t count, entry_fn *fn,
                     void *user)
{
    int code = MCP_OK;
    for (size_t i = 0; code == MCP_OK && i < count; i++) {
        const mcp_json *v = mcp_json_get(entry, keys[i].key);
        if (mcp_json_is(v, keys[i].part == ENTRY_WORD ? MCP_JSON_ARRAY : MCP_JSON_OBJECT))
            code = walk_list(v, keys[i].part, fn, user);
        else
            code = walk_text(entry, keys[i].key, keys[i].part, fn, user);
    }
    return code;
}

static bool has_command(const mcp_json *entry)
{
    const mcp_json *v = mcp_json_get(entry, "command");
    return mcp_json_string(v).len || mcp_json_string(mcp_json_at(v, 0)).len;
}

/* Visits a header whose value comes from an environment variable (Codex). */
static int walk_secret(mcp_str name, const char *before, mcp_str variable, entry_fn *fn, void *user)
{
    char *text = NULL;
    if (!variable.len)
        return MCP_OK;
    if (asprintf(&text, "%s${%.*s}", before, (int)variable.len, variable.ptr) < 0)
        return MCP_ENOMEM;
    int code = fn(user, ENTRY_SECRET_HEADER, name, mcp_str_from(text));
    free(text);
    return code;
}

static int walk_secrets(const mcp_json *entry, entry_fn *fn, void *user)
{
    mcp_json_iter it = {0};
    mcp_str name;
    const mcp_json *headers = mcp_json_get(entry, "env_http_headers");
    int code = walk_secret(MCP_STR("Authorization"), "Bearer ",
                           mcp_json_string(mcp_json_get(entry, "bearer_token_env_var")), fn, user);
    for (const mcp_json *v; code == MCP_OK && (v = mcp_json_next(headers, &it, &name)) != NULL;)
        code = walk_secret(name, "", mcp_json_string(v), fn, user);
    return code;
}

/* Visits a member of "oauth": true, or the items of an array joined by spaces. */
static int walk_oauth_value(mcp_str name, const mcp_json *v, entry_fn *fn, void *user)
{
    char *text = NULL;
    size_t size = 0;
    mcp_json_iter it = {0};
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return MCP_ENOMEM;
    if (mcp_json_bool(v, false))
        fputs("true", f);
    for (const mcp_json *item;
         mcp_json_is(v, MCP_JSON_ARRAY) && (item = mcp_json_next(v, &it, NULL));)
        fprintf(f, "%s%.*s", ftello(f) ? " " : "", (int)mcp_json_string(item).len,
                mcp_json_string(item).len ? mcp_json_string(item).ptr : "");
    int code = fclose(f) == 0 ? MCP_OK : MCP_ENOMEM;
    if (code == MCP_OK && size)
        code = fn(user, ENTRY_OAUTH, name, (mcp_str){text, size});
    free(text);
    return code;
}

static int walk_oauth(const mcp_json *entry, entry_fn *fn, void *user)
{
    const mcp_json *oauth = mcp_json_get(entry, "oauth");
    mcp_json_iter it = {0};
    mcp_str name, text;
    int code = MCP_OK;
    if (!mcp_json_is(oauth, MCP_JSON_OBJECT))
        return MCP_OK;
    for (const mcp_json *v; code == MCP_OK && (v = mcp_json_next(oauth, &it, &name)) != NULL;) {
        char number[32];
        code = text_of(v, number, &text) ? fn(user, ENTRY_OAUTH, name, text)
                                         : walk_oauth_value(name, v, fn, user);
    }
    return code;
}

int entry_walk(const mcp_json *entry, entry_fn *fn, void *user)
{
    static const entry_key child[] = {{"command", ENTRY_WORD}, {"args", ENTRY_WORD},
                                      {"cwd", ENTRY_FOLDER},   {"envFile", ENTRY_ENV_FILE},
                                      {"env", ENTRY_VARIABLE}, {"environment", ENTRY_VARIABLE}};
    static const entry_key headers[] = {{"headers", ENTRY_HEADER}, {"http_headers", ENTRY_HEADER}};
    static const char *const urls[] = {"url", "serverUrl", "httpUrl"};
    int code = MCP_OK;
    if (has_command(entry))
        return walk_keys(entry, child, sizeof(child) / sizeof(*child), fn, user);
    for (size_t i = 0; i < 3; i++) {
        if (mcp_json_string(mcp_json_get(entry, urls[i])).len) {
            code = walk_text(entry, urls[i], ENTRY_URL, fn, user);
            break;
        }
    }
    if (code == MCP_OK)
        code = walk_keys(entry, headers, sizeof(headers) / sizeof(*headers), fn, user);
    if (code == MCP_OK)
        code = walk_oauth(entry, fn, user);
    return code == MCP_OK ? walk_secrets(entry, fn, user) : code;
}

/* ---- what the user is shown ------------------------------------------------------------------ */

static const char *between(entry_part part)
{
    return part == ENTRY_HEADER || part == ENTRY_SECRET_HEADER ? ": "
           : part == ENTRY_VARIABLE || part == ENTRY_OAUTH     ? "="
                                                               : "";
}

static unsigned kinds_of(const server *s, entry_part part)
{
    return part == ENTRY_SECRET_HEADER ? EXPAND_BRACES : s->format->expands;
}

typedef struct describing {
    server *s;
    expansion expansion;
} describing;

static int describe_part(void *user, entry_part part, mcp_str name, mcp_str text)
{
    static const char *const labels[] = {[ENTRY_WORD] = "",
                                         [ENTRY_URL] = "",
                                         [ENTRY_FOLDER] = "in ",
                                         [ENTRY_ENV_FILE] = "env file ",
                                         [ENTRY_VARIABLE] = "with ",
                                         [ENTRY_HEADER] = "with ",
                                         [ENTRY_OAUTH] = "login with ",
                                         [ENTRY_SECRET_HEADER] = "with "};
    describing *d = user;
    char *value = NULL, *line = NULL;
    d->expansion.kinds = kinds_of(d->s, part);
    int code = expand_text(&d->expansion, text, &value);
    if (code != MCP_OK)
        return code;
    d->s->n_first += part == ENTRY_WORD || part == ENTRY_URL;
    d->s->is_address = d->s->is_address || part == ENTRY_URL;
    if (asprintf(&line, "%s%.*s%s%s", labels[part], (int)name.len, name.len ? name.ptr : "",
                 between(part), value) < 0)
        line = NULL;
    free(value);
    return words_add(&d->s->shown, line) ? MCP_OK : MCP_ENOMEM;
}

/* Makes a document {"entry": …, "inputs": …} that outlives the document of the file. */
static mcp_json_doc *keep(const mcp_json *entry, const mcp_json *inputs)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_doc *doc = NULL;
    mcp_str text;
    mcp_json_begin_object(w);
    mcp_json_put_value(w, "entry", entry);
    if (inputs)
        mcp_json_put_value(w, "inputs", inputs);
    mcp_json_end(w);
    if (w && mcp_json_writer_finish(w, &text) == MCP_OK)
        mcp_json_parse(text, NULL, NULL, &doc, NULL);
    mcp_json_writer_free(w);
    return doc;
}

int entry_describe(server *s, const mcp_json *entry, const mcp_json *inputs, const entry_io *io)
{
    describing d = {.s = s, .expansion = {.only_shown = true, .server = s, .io = io}};
    s->entry = keep(entry, inputs);
    int code = s->entry ? entry_walk(entry, describe_part, &d) : MCP_ENOMEM;
    if (code == MCP_OK && !s->n_first) {
        entry_tell(io, "%s: the entry '%s' has neither \"command\" nor \"url\"", s->file, s->name);
        code = MCP_EINVAL;
    }
    return code;
}

/* ---- the actual values ----------------------------------------------------------------------- */

typedef struct resolving {
    server *s;
    expansion expansion;
} resolving;

/* Adds NAME=value from a file of variables. Only the name is shown, because the value may be
 * secret. */
static bool add_file_variable(server *s, const char *p, size_t len)
{
    char *shown = NULL;
    if (asprintf(&shown, "with %.*s, as it says", (int)(strcspn(p, "=")), p) < 0)
        shown = NULL;
    return words_add(&s->variables, shown) && words_add(&s->env, text_dup((mcp_str){p, len}));
}

static int take_variables(server *s, const char *text)
{
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\r\n"), space = strspn(line, " \t");
        const char *p = line + space;
        if (space < len && *p != '#' && memchr(p, '=', len - space) &&
            !add_file_variable(s, p, len - space))
            return MCP_ENOMEM;
        line += len;
        line += *line != 0;
    }
    s->n_file_env = s->env.count;
    return MCP_OK;
}

static int read_variables(server *s, const entry_io *io, const char *path)
{
    enum { MOST = 256 << 10 };
    char *text = NULL;
    size_t len = 0;
    mcp_error error;
    int rc = file_load(path, FILE_FOUND, MOST, &text, &len, &error);
    if (rc != MCP_OK || memchr(text, 0, len)) {
        entry_tell(io, "the file of variables %s cannot be used: %s", path,
                   rc == MCP_OK ? "it contains a NUL character" : error.text);
        free(text);
        return MCP_EINVAL;
    }
    int code = take_variables(s, text);
    free(text);
    return code == MCP_OK && io->variables ? io->variables(io->user, s) : code;
}

static int resolve_part(void *user, entry_part part, mcp_str name, mcp_str text)
{
    resolving *r = user;
    server *s = r->s;
    char *value = NULL, *joined = NULL;
    words *lists[] = {[ENTRY_WORD] = &s->line,
                      [ENTRY_VARIABLE] = &s->env,
                      [ENTRY_HEADER] = &s->headers,
                      [ENTRY_OAUTH] = &s->oauth,
                      [ENTRY_SECRET_HEADER] = &s->headers};
    r->expansion.kinds = kinds_of(s, part);
    int code = expand_text(&r->expansion, text, &value);
    if (code != MCP_OK)
        return code;
    if (part == ENTRY_ENV_FILE) {
        code = read_variables(s, r->expansion.io, value);
    } else if (part == ENTRY_URL || part == ENTRY_FOLDER) {
        char **to = part == ENTRY_URL ? &s->url : &s->cwd;
        free(*to);
        *to = value;
        return MCP_OK;
    } else {
        if (asprintf(&joined, "%.*s%s%s", (int)name.len, name.len ? name.ptr : "", between(part),
                     value) < 0)
            joined = NULL;
        code = words_add(lists[part], joined) ? MCP_OK : MCP_ENOMEM;
    }
    free(value);
    return code;
}

int entry_resolve(server *s, const entry_io *io)
{
    const mcp_json *root = mcp_json_root(s->entry), *entry = mcp_json_get(root, "entry");
    resolving r = {.s = s,
                   .expansion = {.server = s, .inputs = mcp_json_get(root, "inputs"), .io = io}};
    int code = entry_walk(entry, resolve_part, &r);
    words_clear(&r.expansion.asked);
    if (s->line.count)
        s->argv = (const char *const *)(void *)s->line.items;
    s->sse = mcp_str_eq(mcp_json_string(mcp_json_get(entry, "type")), MCP_STR("sse"));
    return code;
}

void server_clear(server *s)
{
    words *lists[] = {&s->line, &s->env, &s->headers, &s->oauth, &s->shown, &s->variables};
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        words_clear(lists[i]);
    mcp_json_free(s->entry);
    free(s->file);
    free(s->url);
    free(s->cwd);
    *s = (server){0};
}

void entry_tell(const entry_io *io, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    io->tell(io->user, text);
}
