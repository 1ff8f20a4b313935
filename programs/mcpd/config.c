/* config.c: reads the configuration file and reports the places of its errors. */
#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <common/jsonc.h>
#include <mcp/schema.h>

#include "entry.h"
#include "modules.h"
#include "secrets.h"
#include "servers.h"
#include "source_write.h"

struct config {
    char *path, *folder;
    char *text; /* the file converted to JSON; offsets are the same as in the file */
    size_t len;
    mcp_json_doc *doc;
    mcp_json_doc *resolved; /* with the secrets that `doc` refers to; NULL if there are none */
    char **strings;         /* strings owned by the configuration */
    size_t n_strings;
    config_tell *tell;
};

const mcp_json *config_root(const config *c)
{
    return mcp_json_root(c->resolved ? c->resolved : c->doc);
}

const mcp_json *config_written(const config *c)
{
    return mcp_json_root(c->doc);
}

void config_free(config *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n_strings; i++)
        free(c->strings[i]);
    free(c->strings);
    mcp_json_free(c->resolved);
    mcp_json_free(c->doc);
    free(c->text);
    free(c->folder);
    free(c->path);
    free(c);
}

/* ---- reporting errors ------------------------------------------------------------------------ */

static int tell_at(const config *c, int code, size_t offset, const char *what)
{
    char line[1024];
    size_t row, column;
    jsonc_position((mcp_str){c->text, c->len}, offset, &row, &column);
    snprintf(line, sizeof(line), "%.300s:%zu:%zu: %s", c->path, row, column, what);
    c->tell(line);
    return code;
}

static int tell_file(const config *c, int code, const char *what)
{
    char line[1024];
    snprintf(line, sizeof(line), "%.300s: %s", c->path, what);
    c->tell(line);
    return code;
}

int config_wrong(const config *c, int code, const char *pointer, const char *format, ...)
{
    char what[600];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    size_t at = jsonc_find((mcp_str){c->text, c->len}, mcp_str_from(pointer), false);
    return tell_at(c, code, at, what);
}

/* ---- checks against a schema ----------------------------------------------------------------- */

/* Returns the member or element that one name of a JSON Pointer selects. */
static const mcp_json *step(const mcp_json *at, mcp_str name)
{
    char plain[256];
    size_t n = 0;
    if (mcp_json_is(at, MCP_JSON_ARRAY))
        return mcp_json_at(at, strtoul(name.ptr, NULL, 10));
    for (size_t i = 0; i < name.len && n < sizeof(plain); i++) {
        char c = name.ptr[i];
        if (c == '~' && i + 1 < name.len)
            c = name.ptr[++i] == '1' ? '/' : '~';
        plain[n++] = c;
    }
    return mcp_json_get_str(at, (mcp_str){plain, n});
}

const mcp_json *config_follow(const mcp_json *at, mcp_str pointer)
{
    for (size_t i = 0; at && i < pointer.len;) {
        size_t end = ++i;
        while (end < pointer.len && pointer.ptr[end] != '/')
            end++;
        at = step(at, (mcp_str){pointer.ptr + i, end - i});
        i = end;
    }
    return at;
}

/* A schema and the value that is checked with it. */
typedef struct checking {
    const config *c;
    const mcp_json *schema, *value;
    const char *pointer; /* the JSON Pointer of the value */
    int rc;
} checking;

enum { MOST_NAMES = 128 };

typedef struct names {
    char text[MOST_NAMES][64];
    size_t count;
} names;

static const char *name_at(size_t i, const void *user)
{
    return ((const names *)user)->text[i];
}

/* Collects the properties known to the schema object that contains the keyword. */
static void known_names(const checking *k, mcp_str keyword_at, names *ret)
{
    const char *hash = keyword_at.len ? memchr(keyword_at.ptr, '#', keyword_at.len) : NULL;
    mcp_str at = {0};
    mcp_json_iter it = {0};
    mcp_str key;
    if (hash)
        at = (mcp_str){hash + 1, keyword_at.len - (size_t)(hash + 1 - keyword_at.ptr)};
    while (at.len && at.ptr[at.len - 1] != '/')
        at.len--;
    at.len -= at.len > 0;
    const mcp_json *properties = mcp_json_get(config_follow(k->schema, at), "properties");
    ret->count = 0;
    while (ret->count < MOST_NAMES && mcp_json_next(properties, &it, &key))
        snprintf(ret->text[ret->count++], sizeof(ret->text[0]), "%.*s", (int)key.len, key.ptr);
}

/* Reports an unknown member. */
static void tell_unknown(checking *k, const mcp_schema_issue *issue, const char *pointer)
{
    char what[600];
    names known;
    const char *key = strrchr(pointer, '/') + 1;
    known_names(k, issue->schema_at, &known);
    const char *meant = nearest_name(key, strlen(key), name_at, known.count, &known);
    size_t len = (size_t)snprintf(what, sizeof(what), "unknown key \"%.100s\"", key);
    if (meant)
        snprintf(what + len, sizeof(what) - len, "; did you mean \"%s\"?", meant);
    else if (known.count)
        len += (size_t)snprintf(what + len, sizeof(what) - len, "; there are");
    for (size_t i = 0; !meant && i < known.count && len < 500; i++)
        len +=
            (size_t)snprintf(what + len, sizeof(what) - len, "%s %s", i ? "," : "", known.text[i]);
    tell_at(k->c, 0, jsonc_find((mcp_str){k->c->text, k->c->len}, mcp_str_from(pointer), true),
            what);
}

static void on_issue(const mcp_schema_issue *issue, void *user)
{
    static const char unknown[] = "unknown property";
    checking *k = user;
    char pointer[600], what[1300];
    k->rc = MCP_EINVAL;
    snprintf(pointer, sizeof(pointer), "%s%.*s", k->pointer,
             issue->path.len < 500 ? (int)issue->path.len : 500, issue->path.ptr);
    if (issue->path.len && issue->expected.len > sizeof(unknown) &&
        memcmp(issue->expected.ptr, unknown, sizeof(unknown) - 1) == 0) {
        tell_unknown(k, issue, pointer);
        return;
    }
    snprintf(what, sizeof(what), "%s%s%.*s", pointer[0] ? pointer + 1 : "", pointer[0] ? ": " : "",
             issue->expected.len < 600 ? (int)issue->expected.len : 600, issue->expected.ptr);
    size_t at = jsonc_find((mcp_str){k->c->text, k->c->len}, mcp_str_from(pointer), false);
    tell_at(k->c, 0, at, what);
}

static int check(checking *k, mcp_str text)
{
    mcp_json_doc *doc = NULL;
    mcp_schema *schema = NULL;
    mcp_error why = {0};
    int rc = mcp_json_parse(text, NULL, NULL, &doc, &why);
    k->schema = mcp_json_root(doc);
    if (rc == MCP_OK)
        rc = mcp_schema_compile(NULL, k->schema, NULL, &schema, &why);
    if (rc == MCP_OK)
        rc = mcp_schema_validate_all(schema, k->value, 0, on_issue, k, &why);
    if (rc != MCP_OK && k->rc == MCP_OK) /* no error was reported yet */
        config_wrong(k->c, rc, k->pointer, "%s", why.text);
    mcp_schema_free(schema);
    mcp_json_free(doc);
    return rc;
}

int config_check(const config *c, mcp_str schema, const char *pointer, const mcp_json *value)
{
    return check(&(checking){.c = c, .value = value, .pointer = pointer}, schema);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int parse(config *c)
{
    mcp_error error = {0};
    jsonc_strip(c->text, c->len);
    int rc = mcp_json_parse((mcp_str){c->text, c->len}, NULL, NULL, &c->doc, &error);
    if (rc != MCP_OK) {
        const char *byte = strstr(error.text, "at byte "); /* replaced with line and column */
        const char *what = byte ? strstr(byte, ": ") : NULL;
        return tell_at(c, rc, error.offset,
                       what            ? what + 2
                       : error.text[0] ? error.text
                                       : mcp_error_text(rc));
    }
    rc = config_check(c, (mcp_str){config_schema, config_schema_len}, "", config_written(c));
    if (rc == MCP_OK)
        rc = secrets_resolve(c, config_written(c), &c->resolved);
    return rc == MCP_ENOMEM ? tell_file(c, rc, "out of memory") : rc;
}

static config *make(const char *path, config_tell *tell)
{
    config *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->tell = tell;
    c->path = strdup(path);
    if (c->path)
        return c;
    free(c);
    return NULL;
}

static int finish(config *c, int rc, config **ret)
{
    if (rc == MCP_OK)
        *ret = c;
    else
        config_free(c);
    return rc;
}

/* Returns the folder of an absolute path. */
static char *folder_of(char *path)
{
    char *slash = path ? strrchr(path, '/') : NULL;
    if (slash)
        slash[slash == path] = 0;
    return path;
}

int config_read(const char *path, config_tell *tell, config **ret)
{
    mcp_error error = {0};
    struct stat st;
    config *c = make(path, tell);
    if (!c)
        return tell("out of memory"), MCP_ENOMEM;
    int rc = jsonc_load(path, FILE_NAMED, &c->text, &c->len, &error);
    if (rc != MCP_OK)
        return finish(c, tell_file(c, rc, error.text), ret);
    c->folder = folder_of(absolute_path(path));
    rc = c->folder ? parse(c) : tell_file(c, MCP_ENOMEM, "out of memory");
    if (rc == MCP_OK && secrets_in(config_written(c)) && stat(path, &st) == 0)
        secrets_warn(path, &st);
    return finish(c, rc, ret);
}

int config_read_text(const char *path, const char *folder, mcp_str text, config_tell *tell,
                     config **ret)
{
    config *c = make(path, tell);
    if (!c)
        return MCP_ENOMEM;
    c->folder = strdup(folder);
    c->text = malloc(text.len + 1);
    if (!c->folder || !c->text)
        return finish(c, MCP_ENOMEM, ret);
    if (text.len)
        memcpy(c->text, text.ptr, text.len);
    c->len = text.len;
    return finish(c, parse(c), ret);
}

/* ---- strings and paths ----------------------------------------------------------------------- */

const char *config_keep(config *c, char *text)
{
    char **grown = text ? realloc(c->strings, (c->n_strings + 1) * sizeof(*grown)) : NULL;
    if (!grown) {
        free(text);
        return NULL;
    }
    c->strings = grown;
    return c->strings[c->n_strings++] = text;
}

const char *config_text(config *c, const mcp_json *value)
{
    mcp_str text = mcp_json_string(value);
    return text.ptr ? config_keep(c, strndup(text.ptr, text.len)) : NULL;
}

const char *config_place(config *c, mcp_str path)
{
    const char *home = getenv("HOME"), *below = c->folder;
    char *text = NULL;
    if (path.len && path.ptr[0] == '/')
        return config_keep(c, strndup(path.ptr, path.len));
    bool of_home = path.len && path.ptr[0] == '~' && (path.len == 1 || path.ptr[1] == '/');
    if (of_home && home && *home) {
        below = home;
        path.ptr += path.len > 1 ? 2 : 1;
        path.len -= path.len > 1 ? 2 : 1;
    }
    while (path.len > 1 && path.ptr[0] == '.' && path.ptr[1] == '/') {
        path.ptr += 2;
        path.len -= 2;
    }
    if (path.len == 1 && path.ptr[0] == '.')
        path.len = 0;
    bool slash = path.len && below[strlen(below) - 1] != '/';
    if (asprintf(&text, "%s%s%.*s", below, slash ? "/" : "", (int)path.len, path.ptr) < 0)
        return NULL;
    return config_keep(c, text);
}

/* ---- options --------------------------------------------------------------------------------- */

static bool is_socket(mcp_str text)
{
    return text.len > 5 && memcmp(text.ptr, "unix:", 5) == 0;
}

/* Returns the text of an option's value. */
static const char *option_text(config *c, const option *o, const mcp_json *value)
{
    mcp_str text = mcp_json_string(value);
    if (o->is_path && !mcp_str_eq(text, MCP_STR("-"))) /* "-" is standard error */
        return config_place(c, text);
    if (strcmp(o->name, "http") != 0 || !is_socket(text))
        return config_text(c, value);
    const char *path = config_place(c, (mcp_str){text.ptr + 5, text.len - 5});
    char *address = NULL;
    if (!path || asprintf(&address, "unix:%s", path) < 0)
        return NULL;
    return config_keep(c, address);
}

static int fill_text(config *c, const option *o, const mcp_json *value, settings *s)
{
    const char *text = option_text(c, o, value);
    char pointer[80];
    snprintf(pointer, sizeof(pointer), "/%s", o->name);
    if (!text)
        return MCP_ENOMEM;
    if (strlen(text) < mcp_json_string(value).len && !o->is_path)
        return config_wrong(c, MCP_EINVAL, pointer, "%s: the text contains a NUL", o->name);
    if (option_take(o, s, text))
        return MCP_OK;
    return config_wrong(c, MCP_EINVAL, pointer, "%s: it must be a number from %llu to %llu%s",
                        o->name, (unsigned long long)o->min, (unsigned long long)o->max,
                        option_more(o));
}

static int fill_option(config *c, const option *o, const mcp_json *value, settings *s)
{
    char number[32];
    int rc = MCP_OK;
    mcp_json_iter it = {0};
    switch (mcp_json_typeof(value)) {
    case MCP_JSON_BOOL: *(bool *)((char *)s + o->at) = mcp_json_bool(value, false); return MCP_OK;
    case MCP_JSON_STRING: return fill_text(c, o, value, s);
    case MCP_JSON_ARRAY:
        for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(value, &it, NULL)) != NULL;)
            rc = fill_text(c, o, v, s);
        return rc;
    default:
        snprintf(number, sizeof(number), "%lld", (long long)mcp_json_int(value, 0));
        return option_take(o, s, number) ? MCP_OK : MCP_EINVAL; /* the schema has checked the
                                                                 * bounds */
    }
}

/* ---- sources --------------------------------------------------------------------------------- */

/* Reads the word of a folder or file, as on the command line. */
static const char *source_word(config *c, const char *word, source *one)
{
    size_t len = source_write_path(word);
    if (word[len])
        one->writes = word + len + 1;
    return config_place(c, (mcp_str){word, len});
}

static int fill_source(config *c, const mcp_json *value, size_t i, settings *s)
{
    source one = {.index = i, .base = c->folder};
    char pointer[64];
    snprintf(pointer, sizeof(pointer), "/sources/%zu", i);
    if (mcp_json_is(value, MCP_JSON_STRING)) {
        one.text = config_text(c, value);
        if (one.text && !modules_is_source(one.text))
            one.text = source_word(c, one.text, &one);
    } else if (mcp_json_get(value, "module")) {
        one.module = config_text(c, mcp_json_get(value, "module"));
        one.text = config_text(c, mcp_json_get(value, "source"));
        one.name = config_text(c, mcp_json_get(value, "name"));
        one.options = mcp_json_get(value, "options");
        one.written = mcp_json_at(mcp_json_get(config_written(c), "sources"), i);
        one.in_process = !mcp_json_bool(mcp_json_get(value, "isolate"), true);
    } else if (mcp_json_get(value, "path")) {
        one.text = config_place(c, mcp_json_string(mcp_json_get(value, "path")));
        one.write = mcp_json_get(value, "write");
    } else {
        return config_wrong(c, MCP_EINVAL, pointer,
                            "a source must have a path, or a module and a source");
    }
    if (mcp_json_get(value, "path") && one.module)
        return config_wrong(c, MCP_EINVAL, pointer,
                            "a source must have a path or a module, not both");
    return one.text && sources_add(&s->sources, &one) ? MCP_OK : MCP_ENOMEM;
}

int config_fill(config *c, settings *s)
{
    size_t count, i = 0;
    int rc = MCP_OK;
    const option *table = options_table(&count);
    mcp_json_iter it = {0};
    for (size_t k = 0; rc == MCP_OK && k < count; k++) {
        const mcp_json *value = mcp_json_get(config_root(c), table[k].name);
        if (value && !table[k].line_only)
            rc = fill_option(c, &table[k], value, s);
    }
    const mcp_json *list = mcp_json_get(config_root(c), "sources");
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(list, &it, NULL)) != NULL; i++)
        rc = fill_source(c, v, i, s);
    if (rc == MCP_ENOMEM)
        c->tell("out of memory");
    return rc;
}

/* For --doctor: if the command line has names of servers of hosts, only what it names remains. */
static void pick_servers(settings *now, size_t given)
{
    sources *list = &now->sources;
    bool picked = false;
    for (size_t i = 0; i < given; i++) {
        const source *known =
            sources_named(list->items + given, list->count - given, list->items[i].text);
        if (known)
            list->items[i] = *known;
        picked = picked || known;
    }
    if (picked)
        list->count = given;
}

int config_settings(const settings *line, bool strict, config_tell *tell, config **ret,
                    settings *now)
{
    int rc = line->config ? config_read(line->config, tell, ret) : MCP_OK;
    if (rc == MCP_OK && *ret)
        rc = config_fill(*ret, now);
    if (rc != MCP_OK)
        return rc;
    if (!options_over(now, line))
        return tell("out of memory"), MCP_ENOMEM;
    rc = servers_add(now, strict, tell);
    if (rc == MCP_OK && line->doctor)
        pick_servers(now, line->sources.count);
    return rc;
}
