/* modules.c: see modules.h.
 *
 * The folder of modules is searched relative to the program first, so that an installed tree can be
 * moved and a build tree can be used, and then at the configured installation path.
 */
#define _GNU_SOURCE
#include "modules.h"

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

#ifdef MCP_STATIC_PROGRAMS
enum { IS_STATIC = true };
#else
enum { IS_STATIC = false };
#endif

struct modules {
    const mcp_module **items;
    size_t count;
};

/* Modules that are linked in, as X(name) X(name): cmake -DMCP_STATIC_MODULES=... */
#ifndef MCPD_STATIC_MODULES
#define MCPD_STATIC_MODULES
#endif
#define X(name) extern const mcp_module mcp_module_v1_##name;
MCPD_STATIC_MODULES
#undef X
#define X(name) &mcp_module_v1_##name,
static const mcp_module *const linked[] = {MCPD_STATIC_MODULES NULL};
#undef X

/* This project's modules, for helpful error messages. */
static const modules_known known[] = {
    {"git", "PATH", "MCP_MODULE_GIT", "libgit2", "libgit2-dev"},
    {"postgres", "CONNINFO", "MCP_MODULE_POSTGRES", "libpq", "libpq-dev"},
    {"sqlite", "FILE", "MCP_MODULE_SQLITE", "libsqlite3", "libsqlite3-dev"},
};

/* Names that users may type by mistake. */
static const struct {
    const char *name, *instead;
} slips[] = {
    {"postgresql", "write a PostgreSQL database as postgres:..."},
    {"sqlite3", "write a SQLite database as sqlite:FILE"},
    {"file", "write a file or folder as its path only"},
    {"http", "only local repositories can be served: write a clone as git:PATH"},
    {"https", "only local repositories can be served: write a clone as git:PATH"},
    {"ssh", "only local repositories can be served: write a clone as git:PATH"},
};

void modules_explain(mcp_error *error, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error->code = code;
    error->offset = 0;
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
}

/* A name has at least two letters, because "c:" is a drive. */
size_t modules_name_length(const char *word)
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
    return modules_name_length(word) > 0;
}

modules *modules_new(void)
{
    return calloc(1, sizeof(modules));
}

/* Modules are never unloaded: a thread of a module that hangs may outlive its server. */
void modules_free(modules *m)
{
    if (m)
        free(m->items);
    free(m);
}

/* ---- loading --------------------------------------------------------------------------------- */

static int keep(modules *m, const mcp_module *module, mcp_error *error)
{
    const mcp_module **grown = realloc(m->items, (m->count + 1) * sizeof(*grown));
    if (!grown)
        return MODULES_FAIL(error, MCP_ENOMEM, "out of memory");
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
    size_t n_linked = 0;
    for (; linked[n_linked]; n_linked++)
        if (n_linked == i)
            return linked[i];
    return i - n_linked < m->count ? m->items[i - n_linked] : NULL;
}

/* Checks the module. Only `size` and `abi` may be read before they are checked. */
static int check(const mcp_module *module, const char *path, mcp_error *error)
{
    if (module->size < offsetof(mcp_module, check) || module->abi < 1 ||
        module->abi > MCP_MODULE_ABI)
        return MODULES_FAIL(
            error, MCP_EINVAL,
            "the module %.150s was built for version %u of the module interface; this program "
            "takes versions 1 to %d: build it again",
            path, module->abi, MCP_MODULE_ABI);
    char named[40];
    snprintf(named, sizeof(named), "%.33s:", module->name ? module->name : "");
    if (!module->mount || !modules_is_source(named))
        return MODULES_FAIL(error, MCP_EINVAL,
                            "the module %.150s has no name of a-z and 0-9, or no mount", path);
    return MCP_OK;
}

static int open_module(modules *m, const char *path, const mcp_module **ret, mcp_error *error)
{
    if (IS_STATIC)
        return MODULES_FAIL(error, MCP_EUNSUPPORTED,
                            "this mcpd is a static program, which cannot load %.150s: its modules "
                            "are built in (--list-modules); one of your own needs mcpd from source",
                            path);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return MODULES_FAIL(error, MCP_EINVAL, "a module cannot be loaded: %.200s", dlerror());
    const mcp_module *module = dlsym(library, MCP_MODULE_SYMBOL);
    if (!module)
        return MODULES_FAIL(
            error, MCP_EINVAL,
            "%.150s is not a module for this program: it has no symbol " MCP_MODULE_SYMBOL, path);
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
        return MODULES_FAIL(error, MCP_ENOTFOUND, "the module %.180s: %s", path, strerror(errno));
    int rc = open_module(m, real, &module, error);
    free(real);
    if (rc == MCP_OK && find(m, mcp_str_from(module->name)) != module) {
        m->count--;
        rc = MODULES_FAIL(error, MCP_EINVAL, "the module %.150s has a name that is taken: %s", path,
                          module->name);
    }
    return rc;
}

/* ---- finding modules ------------------------------------------------------------------------- */

bool modules_folder(bool installed, char *to, size_t room)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self));
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

/* Makes the path DIR/NAME.so, in the folder beside this program or in the installed one. Returns
 * false if the file does not exist. */
static bool path_of(mcp_str name, bool installed, char to[PATH_MAX])
{
    char folder[PATH_MAX];
    if (!modules_folder(installed, folder, sizeof(folder)))
        return false;
    int n = snprintf(to, PATH_MAX, "%s/%.*s.so", folder, (int)name.len, name.ptr);
    return n > 0 && n < PATH_MAX && access(to, F_OK) == 0;
}

const modules_known *modules_known_at(size_t i)
{
    return i < sizeof(known) / sizeof(*known) ? &known[i] : NULL;
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
        return MODULES_FAIL(
            error, MCP_ENOTFOUND,
            "the module %s is not installed (%.100s): build libmcp with %s=ON where %s is "
            "(Debian, Ubuntu: %s)",
            k->name, path, k->option, k->library, k->package);
    for (size_t i = 0; i < sizeof(slips) / sizeof(*slips); i++)
        if (mcp_str_eq(name, mcp_str_from(slips[i].name)))
            return MODULES_FAIL(error, MCP_ENOTFOUND,
                                "there is no module %s: %s; write ./%s:... if that is a file",
                                slips[i].name, slips[i].instead, slips[i].name);
    return MODULES_FAIL(
        error, MCP_ENOTFOUND,
        "there is no module %.*s (%.80s), see --list-modules; name its file with --module, or "
        "write ./%.*s:... if that is a file",
        (int)name.len, name.ptr, path, (int)name.len, name.ptr);
}

/* Adds a hint if the module exists but a library that it needs does not. */
static void hint_library(mcp_str name, mcp_error *error)
{
    const modules_known *k = modules_know(name);
    size_t len = strlen(error->text);
    if (k && strstr(error->text, "cannot open shared object"))
        snprintf(error->text + len, sizeof(error->text) - len, " (it needs %s)", k->library);
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
        rc = MODULES_FAIL(error, MCP_EINVAL, "%.150s is the module %s", path, module->name);
    if (rc == MCP_OK)
        *ret = module;
    return rc;
}

/* ---- options --------------------------------------------------------------------------------- */

static int check_schema(const mcp_module *module, const mcp_json *options, mcp_error *error)
{
    mcp_schema *schema = NULL;
    mcp_error why = {0};
    int rc =
        mcp_schema_compile_text(NULL, mcp_str_from(module->options_schema), NULL, &schema, &why);
    if (rc == MCP_OK)
        rc = mcp_schema_validate(schema, options, &why);
    if (rc != MCP_OK)
        modules_explain(error, rc, "an option of %s: %.200s", module->name, why.text);
    mcp_schema_free(schema);
    return rc;
}

int modules_check_options(const mcp_module *module, const mcp_json *options, mcp_error *error)
{
    if (!options)
        return MCP_OK;
    if (module->options_schema)
        return check_schema(module, options, error);
    return mcp_json_count(options) == 0
               ? MCP_OK
               : MODULES_FAIL(error, MCP_EINVAL, "the module %s has no options", module->name);
}

/* With several sources, the error has to show which one it is about: "git: src: no git
 * repository". */
static void name_module(const mcp_module *module, mcp_error *error)
{
    size_t len = strlen(module->name);
    char text[sizeof(error->text)];
    if (!error->text[0] ||
        (strncmp(error->text, module->name, len) == 0 && error->text[len] == ':'))
        return;
    memcpy(text, error->text, sizeof(text));
    snprintf(error->text, sizeof(error->text), "%s: %.*s", module->name,
             (int)(sizeof(text) - len - 3), text);
}

bool modules_can_try(const mcp_module *module)
{
    return module->size >= offsetof(mcp_module, check) + sizeof(module->check) && module->check;
}

int modules_try(const mcp_module *module, const char *source, const mcp_json *options,
                const char *name, mcp_error *error)
{
    int rc = modules_check_options(module, options, error);
    if (rc != MCP_OK)
        return rc;
    if (!modules_can_try(module))
        return modules_look(module, source, options, name, error);
    rc = module->check(source, options, name, error);
    if (rc < 0)
        name_module(module, error);
    return rc;
}

bool modules_can_describe(const mcp_module *module)
{
    return module->abi >= 2 &&
           module->size >= offsetof(mcp_module, describe) + sizeof(module->describe) &&
           module->describe;
}

int modules_describe(const mcp_module *module, const char *source, const mcp_json *options,
                     const char *name, const mcp_description *to, mcp_error *error)
{
    int rc = modules_check_options(module, options, error);
    if (rc != MCP_OK)
        return rc;
    if (!modules_can_describe(module))
        return MODULES_FAIL(error, MCP_EUNSUPPORTED,
                            "the module %s says what it offers only when it is mounted",
                            module->name);
    rc = module->describe(source, options, name, to, error);
    if (rc < 0)
        name_module(module, error);
    return rc;
}

int modules_look(const mcp_module *module, const char *source, const mcp_json *options,
                 const char *name, mcp_error *error)
{
    bool can = module->abi >= 3 &&
               module->size >= offsetof(mcp_module, look) + sizeof(module->look) && module->look;
    int rc = can ? module->look(source, options, name, error) : MCP_OK;
    if (rc < 0)
        name_module(module, error);
    return rc;
}

int modules_mount(const mcp_module *module, mcp_server *server, const char *source,
                  const mcp_json *options, const char *name, mcp_error *error)
{
    int rc = modules_check_options(module, options, error);
    if (rc != MCP_OK)
        return rc;
    rc = module->mount(server, source, options, name, error);
    if (rc < 0)
        name_module(module, error);
    return rc;
}
