/* modules.c: see modules.h.
 *
 * The folder of modules is looked for from where this program lies, so that an installed tree can be moved
 * and a build tree works as it is; then where it was to be installed.
 */
#define _GNU_SOURCE
#include "modules.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <mcp/schema.h>

#ifndef MCPD_MODULE_DIR
#define MCPD_MODULE_DIR "/usr/local/lib/mcp"
#endif
#ifndef MCPD_MODULE_DIR_FROM_PROGRAM
#define MCPD_MODULE_DIR_FROM_PROGRAM "../lib/mcp"
#endif

struct modules {
    const mcp_module **items;
    size_t count;
};

/* What is linked in, as X(name) X(name): cmake -DMCP_STATIC_MODULES=... */
#ifndef MCPD_STATIC_MODULES
#define MCPD_STATIC_MODULES
#endif
#define X(name) extern const mcp_module mcp_module_v1_##name;
MCPD_STATIC_MODULES
#undef X
#define X(name) &mcp_module_v1_##name,
static const mcp_module *const linked[] = {MCPD_STATIC_MODULES NULL};
#undef X

/* Those of this project, for a message that helps. */
static const modules_known known[] = {
    {"git", "PATH", "MCP_MODULE_GIT", "libgit2", "libgit2-dev"},
    {"postgres", "CONNINFO", "MCP_MODULE_POSTGRES", "libpq", "libpq-dev"},
    {"sqlite", "FILE", "MCP_MODULE_SQLITE", "libsqlite3", "libsqlite3-dev"},
};

/* What people write who mean something else. */
static const struct {
    const char *name, *instead;
} slips[] = {
    {"postgresql", "a PostgreSQL database is postgres:..."},
    {"sqlite3", "a SQLite database is sqlite:FILE"},
    {"file", "a file or folder is named by its path alone"},
    {"http", "only what is on this machine can be served: a clone is git:PATH"},
    {"https", "only what is on this machine can be served: a clone is git:PATH"},
    {"ssh", "only what is on this machine can be served: a clone is git:PATH"},
};

static void explain(mcp_error *error, int code, const char *format, ...) MCP_PRINTF(3, 4);

static void explain(mcp_error *error, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error->code = code;
    error->offset = 0;
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
}

/* The code, so that readers and analyzers see that it is one. */
#define FAIL(error, code, ...) (explain(error, code, __VA_ARGS__), (code))

/* The length of NAME, 0 when there is none. Two letters at least: "c:" is somebody's drive. */
static size_t name_length(const char *word)
{
    size_t n = 0;
    if (word[0] < 'a' || word[0] > 'z')
        return 0;
    while ((word[n] >= 'a' && word[n] <= 'z') || (word[n] >= '0' && word[n] <= '9'))
        n++;
    return word[n] == ':' && n >= 2 && n <= 32 ? n : 0;
}

bool modules_is_source(const char *word)
{
    return name_length(word) > 0;
}

modules *modules_new(void)
{
    return calloc(1, sizeof(modules));
}

/* Nothing is unloaded: a thread of a module that hangs may outlive its server. */
void modules_free(modules *m)
{
    if (m)
        free(m->items);
    free(m);
}

/* ---- loading ------------------------------------------------------------------------------------- */

static int keep(modules *m, const mcp_module *module, mcp_error *error)
{
    const mcp_module **grown = realloc(m->items, (m->count + 1) * sizeof *grown);
    if (!grown)
        return FAIL(error, MCP_ENOMEM, "out of memory");
    m->items = grown;
    m->items[m->count++] = module;
    return MCP_OK;
}

static const mcp_module *find(const modules *m, mcp_str name)
{
    for (size_t i = 0; linked[i]; i++)
        if (mcp_str_eq(mcp_str_from(linked[i]->name), name))
            return linked[i];
    for (size_t i = 0; i < m->count; i++)
        if (mcp_str_eq(mcp_str_from(m->items[i]->name), name))
            return m->items[i];
    return NULL;
}

const mcp_module *modules_at(const modules *m, size_t i)
{
    size_t n_linked = sizeof linked / sizeof *linked - 1;
    if (i + 1 <= n_linked)
        return linked[i];
    return i - n_linked < m->count ? m->items[i - n_linked] : NULL;
}

/* Nothing but size and abi is looked at before they are known to be right. */
static int check(const mcp_module *module, const char *path, mcp_error *error)
{
    if (module->size < sizeof(mcp_module) || module->abi != MCP_MODULE_ABI)
        return FAIL(
            error, MCP_EINVAL,
            "the module %.150s was built for version %u of the module interface; this program "
            "has version %d: build it again",
            path, module->abi, MCP_MODULE_ABI);
    char named[40];
    snprintf(named, sizeof named, "%.33s:", module->name ? module->name : "");
    if (!module->mount || !modules_is_source(named))
        return FAIL(error, MCP_EINVAL, "the module %.150s has no name of a-z and 0-9, or no mount",
                    path);
    return MCP_OK;
}

static int open_module(modules *m, const char *path, const mcp_module **ret, mcp_error *error)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return FAIL(error, MCP_EINVAL, "a module cannot be loaded: %.200s", dlerror());
    const mcp_module *module = dlsym(library, MCP_MODULE_SYMBOL);
    if (!module)
        return FAIL(error, MCP_EINVAL,
                    "%.150s is no module for this program: it has no symbol " MCP_MODULE_SYMBOL,
                    path);
    int rc = check(module, path, error);
    if (rc == MCP_OK)
        rc = keep(m, module, error);
    if (rc == MCP_OK)
        *ret = module;
    return rc;
}

int modules_load(modules *m, const char *path, mcp_error *error)
{
    const mcp_module *module;
    char *real = realpath(path, NULL);
    if (!real)
        return FAIL(error, MCP_ENOTFOUND, "the module %.180s: %s", path, strerror(errno));
    int rc = open_module(m, real, &module, error);
    free(real);
    if (rc == MCP_OK && find(m, mcp_str_from(module->name)) != module) {
        m->count--;
        rc = FAIL(error, MCP_EINVAL, "the module %.150s has a name that is taken: %s", path,
                  module->name);
    }
    return rc;
}

/* ---- looking for it ------------------------------------------------------------------------------- */

bool modules_folder(bool installed, char *to, size_t room)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self);
    while (len > 0 && self[len - 1] != '/')
        len--;
    int n = installed ? snprintf(to, room, "%s", MCPD_MODULE_DIR)
                      : snprintf(to, room, "%.*s%s", len > 0 ? (int)len : 0, self,
                                 MCPD_MODULE_DIR_FROM_PROGRAM);
    char *real = realpath(to, NULL);
    if (real)
        n = snprintf(to, room, "%s", real);
    free(real);
    return n > 0 && (size_t)n < room && (installed || len > 0);
}

/* DIR/NAME.so, of the folder beside this program or of the other. False: there is none. */
static bool path_of(mcp_str name, bool installed, char to[PATH_MAX])
{
    char folder[PATH_MAX];
    if (!modules_folder(installed, folder, sizeof folder))
        return false;
    int n = snprintf(to, PATH_MAX, "%s/%.*s.so", folder, (int)name.len, name.ptr);
    return n > 0 && n < PATH_MAX && access(to, F_OK) == 0;
}

const modules_known *modules_known_at(size_t i)
{
    return i < sizeof known / sizeof *known ? &known[i] : NULL;
}

const modules_known *modules_know(mcp_str name)
{
    const modules_known *k;
    for (size_t i = 0; (k = modules_known_at(i)) != NULL; i++)
        if (mcp_str_eq(name, mcp_str_from(k->name)))
            break;
    return k;
}

static int not_there(mcp_str name, const char *path, mcp_error *error)
{
    const modules_known *k = modules_know(name);
    if (k)
        return FAIL(error, MCP_ENOTFOUND,
                    "the module %s is not installed (%.100s): build libmcp with %s=ON where %s is "
                    "(Debian, Ubuntu: %s)",
                    k->name, path, k->option, k->library, k->package);
    for (size_t i = 0; i < sizeof slips / sizeof *slips; i++)
        if (mcp_str_eq(name, mcp_str_from(slips[i].name)))
            return FAIL(error, MCP_ENOTFOUND,
                        "there is no module %s: %s; write ./%s:... if that is a file",
                        slips[i].name, slips[i].instead, slips[i].name);
    return FAIL(
        error, MCP_ENOTFOUND,
        "there is no module %.*s (%.80s), see --list-modules; name its file with --module, or "
        "write ./%.*s:... if that is a file",
        (int)name.len, name.ptr, path, (int)name.len, name.ptr);
}

/* It is there, and what it is linked with is not. */
static void hint_library(mcp_str name, mcp_error *error)
{
    const modules_known *k = modules_know(name);
    size_t len = strlen(error->text);
    if (k && strstr(error->text, "cannot open shared object"))
        snprintf(error->text + len, sizeof error->text - len, " (it needs %s)", k->library);
}

int modules_find(modules *m, mcp_str name, const mcp_module **ret, mcp_error *error)
{
    char path[PATH_MAX];
    const mcp_module *module = find(m, name);
    if (module) {
        *ret = module;
        return MCP_OK;
    }
    if (!path_of(name, false, path) && !path_of(name, true, path)) {
        path_of(name, false, path); /* for the message */
        return not_there(name, path, error);
    }
    int rc = open_module(m, path, &module, error);
    if (rc != MCP_OK)
        hint_library(name, error);
    if (rc == MCP_OK && !mcp_str_eq(mcp_str_from(module->name), name))
        rc = FAIL(error, MCP_EINVAL, "%.150s is the module %s", path, module->name);
    if (rc == MCP_OK)
        *ret = module;
    return rc;
}

/* ---- options -------------------------------------------------------------------------------------- */

static int check_schema(const mcp_module *module, const mcp_json *options, mcp_error *error)
{
    mcp_schema *schema = NULL;
    mcp_error why = {0};
    int rc =
        mcp_schema_compile_text(NULL, mcp_str_from(module->options_schema), NULL, &schema, &why);
    if (rc == MCP_OK)
        rc = mcp_schema_validate(schema, options, &why);
    if (rc != MCP_OK)
        explain(error, rc, "an option of %s: %.200s", module->name, why.text);
    mcp_schema_free(schema);
    return rc;
}

int modules_check(const mcp_module *module, const mcp_json *options, mcp_error *error)
{
    if (!options)
        return MCP_OK;
    if (module->options_schema)
        return check_schema(module, options, error);
    return mcp_json_count(options) == 0
               ? MCP_OK
               : FAIL(error, MCP_EINVAL, "the module %s has no options", module->name);
}

/* Of several sources a person should know whose path that is: "git: src: no git repository". */
static void name_module(const mcp_module *module, mcp_error *error)
{
    size_t len = strlen(module->name);
    char text[sizeof error->text];
    if (!error->text[0] ||
        (strncmp(error->text, module->name, len) == 0 && error->text[len] == ':'))
        return;
    memcpy(text, error->text, sizeof text);
    snprintf(error->text, sizeof error->text, "%s: %.*s", module->name,
             (int)(sizeof text - len - 3), text);
}

int modules_mount(const mcp_module *module, mcp_server *server, const char *source,
                  const mcp_json *options, const char *name, mcp_error *error)
{
    int rc = modules_check(module, options, error);
    if (rc != MCP_OK)
        return rc;
    rc = module->mount(server, source, options, name, error);
    if (rc < 0)
        name_module(module, error);
    return rc;
}

/* ---- words of the command line ----------------------------------------------------------------------- */

/* Where the options begin, or the end. */
static const char *options_of(const char *text)
{
    const char *end = text + strlen(text), *mark = strrchr(text, '?');
    const char *p = mark ? mark + 1 : end;
    while (islower((unsigned char)*p) || *p == '_')
        p++;
    return mark && p > mark + 1 && *p == '=' ? mark : end;
}

/* What the schema says the option is: "string" where it says nothing. */
static mcp_str type_of(const mcp_json *schema, mcp_str key)
{
    const mcp_json *properties = mcp_json_get(schema, "properties");
    mcp_str type = mcp_json_string(mcp_json_get(mcp_json_get_str(properties, key), "type"));
    return type.len ? type : MCP_STR("string");
}

static bool is_number(mcp_str value)
{
    size_t i = value.len && value.ptr[0] == '-';
    while (i < value.len && value.ptr[i] >= '0' && value.ptr[i] <= '9')
        i++;
    size_t first = value.len && value.ptr[0] == '-';
    return i == value.len && i > first && i < 19 && (value.ptr[first] != '0' || i == 1);
}

/* A value of another type than it should be stays a string, and the schema says so. */
static void add_option(mcp_json_writer *w, const mcp_json *schema, mcp_str key, mcp_str value)
{
    mcp_str type = type_of(schema, key);
    bool truth = mcp_str_eq(value, MCP_STR("true"));
    mcp_json_key_str(w, key);
    if (mcp_str_eq(type, MCP_STR("boolean")) && (truth || mcp_str_eq(value, MCP_STR("false"))))
        mcp_json_add_bool(w, truth);
    else if (mcp_str_eq(type, MCP_STR("integer")) && is_number(value))
        mcp_json_add_raw(w, value);
    else
        mcp_json_add_str(w, value);
}

/* With all that there are, because nobody knows them by heart. */
static int unknown_option(const mcp_module *module, const mcp_json *properties, const char *key,
                          mcp_error *error)
{
    mcp_json_iter it = {0};
    mcp_str name;
    explain(error, MCP_EINVAL, "an option of %s: unknown property \"%.40s\"; known are \"name\"",
            module->name, key);
    while (mcp_json_next(properties, &it, &name)) {
        size_t len = strlen(error->text);
        snprintf(error->text + len, sizeof error->text - len, ", \"%.*s\"", (int)name.len,
                 name.ptr);
    }
    return MCP_EINVAL;
}

static bool is_known(const mcp_json *schema, mcp_str key)
{
    return mcp_json_bool(mcp_json_get(schema, "additionalProperties"), true) ||
           mcp_json_get_str(mcp_json_get(schema, "properties"), key) != NULL;
}

/* A connection string may be a URI with a query of its own: "postgres://db/shop?sslmode=require&name=x". */
static bool has_own_query(const modules_word *word)
{
    return !word->module->source_is_path && strncmp(word->source, "//", 2) == 0;
}

static int leave_to_source(modules_word *word, const char *text, mcp_error *error)
{
    char *made = NULL;
    char before = strchr(word->source, '?') ? '&' : '?';
    if (asprintf(&made, "%s%c%s", word->source, before, text) < 0)
        return FAIL(error, MCP_ENOMEM, "out of memory");
    free(word->source);
    word->source = made;
    return MCP_OK;
}

/* One "key=value", decoded in place. */
static int take_option(mcp_json_writer *w, const mcp_json *schema, char *text, modules_word *word,
                       mcp_error *error)
{
    size_t len;
    char *value = strchr(text, '=');
    if (!value)
        return FAIL(error, MCP_EINVAL, "an option is written NAME=VALUE: %.150s", text);
    mcp_str key = {text, (size_t)(value - text)};
    bool ours = mcp_str_eq(key, MCP_STR("name")) || is_known(schema, key);
    if (!ours && has_own_query(word))
        return leave_to_source(word, text, error);
    *value++ = 0;
    if (mcp_uri_decode(mcp_str_from(value), value, strlen(value), &len) != MCP_OK)
        return FAIL(error, MCP_EINVAL, "the option %.100s has a %% without two hexadecimal digits",
                    text);
    value[len] = 0;
    if (strcmp(text, "name") != 0) {
        if (!ours)
            return unknown_option(word->module, mcp_json_get(schema, "properties"), text, error);
        add_option(w, schema, mcp_str_from(text), (mcp_str){value, len});
        return MCP_OK;
    }
    free(word->name);
    word->name = strdup(value);
    return word->name ? MCP_OK : FAIL(error, MCP_ENOMEM, "out of memory");
}

static int read_options(char *text, modules_word *word, mcp_error *error)
{
    mcp_json_doc *schema = NULL;
    mcp_str json;
    char *rest = NULL;
    int rc = MCP_OK;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    if (word->module->options_schema)
        rc = mcp_json_parse(mcp_str_from(word->module->options_schema), NULL, NULL, &schema, error);
    mcp_json_begin_object(w);
    for (char *one = strtok_r(text, "&", &rest); rc == MCP_OK && one;
         one = strtok_r(NULL, "&", &rest))
        rc = take_option(w, mcp_json_root(schema), one, word, error);
    mcp_json_end(w);
    if (rc == MCP_OK && (rc = mcp_json_writer_finish(w, &json)) != MCP_OK)
        explain(error, rc, "the options cannot be written as JSON: %s", mcp_error_text(rc));
    if (rc == MCP_OK)
        rc = mcp_json_parse(json, NULL, NULL, &word->options, error);
    mcp_json_writer_free(w);
    mcp_json_free(schema);
    return rc;
}

/* "git:~/src": no shell expands it there, and whoever writes it means it. */
static bool expand_home(modules_word *word)
{
    const char *home = getenv("HOME");
    char *path = NULL;
    if (!word->module->source_is_path || strncmp(word->source, "~/", 2) != 0 || !home || !*home)
        return true;
    if (asprintf(&path, "%s%s", home, word->source + 1) < 0)
        return false;
    free(word->source);
    word->source = path;
    return true;
}

int modules_read_word(modules *m, const char *word, modules_word *ret, mcp_error *error)
{
    size_t len = name_length(word);
    modules_word made = {0};
    int rc = modules_find(m, (mcp_str){word, len}, &made.module, error);
    if (rc != MCP_OK)
        return rc;
    const char *source = word + len + 1, *mark = options_of(source);
    char *options = strdup(mark + (*mark == '?'));
    made.source = strndup(source, (size_t)(mark - source));
    if (!made.source || !options)
        rc = FAIL(error, MCP_ENOMEM, "out of memory");
    if (rc == MCP_OK && *options)
        rc = read_options(options, &made, error);
    if (rc == MCP_OK && !expand_home(&made))
        rc = FAIL(error, MCP_ENOMEM, "out of memory");
    free(options);
    if (rc == MCP_OK)
        *ret = made;
    else
        modules_clear_word(&made);
    return rc;
}

void modules_clear_word(modules_word *word)
{
    free(word->source);
    free(word->name);
    mcp_json_free(word->options);
    *word = (modules_word){0};
}

int modules_mount_word(modules *m, mcp_server *server, const char *word, mcp_error *error)
{
    modules_word w;
    int rc = modules_read_word(m, word, &w, error);
    if (rc != MCP_OK)
        return rc;
    rc = modules_mount(w.module, server, w.source, mcp_json_root(w.options), w.name, error);
    modules_clear_word(&w);
    return rc;
}

/* The end of the words that are no "key = value": the rest of a password that should have been in quotes. */
static char *stray_words(char *p)
{
    for (;;) {
        char *word = p + strspn(p, " "), *after = word + strcspn(word, " =?");
        if (after == word || after[strspn(after, " ")] == '=')
            return p;
        p = after;
    }
}

/* "password=…", also in quotes: to the end of its value. NULL: no more of them. */
static char *find_password(char *from, char **end)
{
    char *word = strstr(from, "password"), *p = word ? word + strlen("password") : NULL;
    if (!word)
        return NULL;
    p += strspn(p, " ");
    if (*p != '=')
        return find_password(word + 1, end);
    p += 1 + strspn(p + 1, " ");
    bool quoted = *p == '\'';
    for (p += quoted; *p && (quoted ? *p != '\'' : !strchr(" ?", *p)); p++)
        p += *p == '\\' && p[1];
    *end = stray_words(p + (quoted && *p));
    while (word > from && isalnum((unsigned char)word[-1]))
        word--;
    return word;
}

/* Neither as one of many words nor in a URI, "//user:password@host": to the last "@", whatever should have been
 * encoded before it. */
void modules_remove_passwords(char *text)
{
    char *end;
    for (char *at = text; (at = find_password(at, &end)) != NULL;)
        memmove(at, end, strlen(end) + 1);
    char *user = strstr(text, "//");
    if (!user)
        return;
    user += 2;
    char *host = memrchr(user, '@', strcspn(user, "?"));
    char *colon = host ? memchr(user, ':', (size_t)(host - user)) : NULL;
    if (colon)
        memmove(colon, host, strlen(host) + 1);
}

char *modules_absolute(modules *m, const char *word, const char *base)
{
    modules_word w;
    mcp_error error;
    char *ret = NULL;
    if (modules_read_word(m, word, &w, &error) != MCP_OK)
        return NULL;
    const char *source = word + name_length(word) + 1, *mark = options_of(word);
    char *options = modules_place_words(w.module, mark, base);
    char *path = w.module->source_is_path ? modules_place(w.source, base)
                                          : strndup(source, (size_t)(mark - source));
    if (!path || !options || asprintf(&ret, "%s:%s%s", w.module->name, path, options) < 0)
        ret = NULL;
    if (ret && !w.module->source_is_path)
        modules_remove_passwords(ret);
    free(options);
    free(path);
    modules_clear_word(&w);
    return ret;
}
