/* mcp/module.h: a provider in a shared object, which a program loads when a source needs it.
 *
 * `mcpd sqlite:shop.db` loads the module "sqlite", which mounts "shop.db". A server that serves
 * only files neither loads nor links database libraries. A module is an ordinary provider
 * (mcp/provider.h) with one exported symbol:
 *
 *     static int mount(mcp_server *server, const char *source, const mcp_json *options,
 *                      const char *name, mcp_error *error) { … }
 *     MCP_MODULE(notes, .about = "Notes as resources", .mount = mount);
 *
 *     cc -shared -fPIC notes.c $(pkg-config --cflags mcp) -o notes.so
 *     mcpd --module ./notes.so notes:SOURCE
 *
 * Link a module with the libraries that it needs, but not with libmcp: it uses the libmcp of the
 * program that loads it, because two copies of libmcp in one process do not know each other's
 * objects.
 */
#ifndef MCP_MODULE_H
#define MCP_MODULE_H

#include <mcp/mcp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. A loader takes modules of this version and of all earlier ones,
 * from 1 on. Version 2 adds `describe` and changes no other member. */
#define MCP_MODULE_ABI 2

/* ---- what a source offers ---------------------------------------------------------------------- */

/* A source as a whole. */
typedef struct mcp_source {
    size_t size;
    const char *prefix; /* of its URIs, as for mcp_server_mount(): "git://project/"; required */
    bool lists;         /* whether the provider has `list` (mcp_provider) */
    bool subscribe;     /* whether its resources can be watched: `watch` or `watch_for` */
    bool list_changed;  /* whether it announces changes of its list: `watch_list` */
    /* Whether the module asks to stay in the server's process, because it parses nothing that
     * others may have prepared, or needs what a sandbox denies (network, environment, programs).
     * The operator's choice has precedence. */
    bool in_process;
    /* As in mcp_provider: the lists that the provider serves itself, and what the names of its
     * tools and prompts begin with. The entries of these lists are not described. */
    unsigned items;
    const char *names;
} mcp_source;

/* A path that the module opens for a source. Shared libraries and their data need not be named. */
typedef struct mcp_source_path {
    size_t size;
    bool write; /* whether the module writes to it as well */
    /* Whether it may be created or replaced while the source is used, like the -wal file of a SQLite
     * database. A sandbox that allows files instead of their names (mcp_sandbox_enter()) does not
     * allow the new file. */
    bool replaced;
    /* A file, or a folder with all that is in it. It need not exist. If it is relative, it is
     * relative to the current folder. Required. */
    const char *path;
} mcp_source_path;

/* Functions of the loader that `describe` calls, all of them set. Their arguments are borrowed until
 * they return. Each returns MCP_OK, or a negative code with the reason in *error, for example
 * MCP_EEXIST (a name is taken), MCP_EINVAL or MCP_ENOMEM; `describe` then returns that code without
 * further calls. */
typedef struct mcp_description {
    size_t size;
    void *user; /* is passed to each function */
    /* Is called first, and once. */
    int (*source)(const mcp_source *source, mcp_error *error, void *user);
    int (*add_path)(const mcp_source_path *path, mcp_error *error, void *user);
    /* What `mount` registers, in the same order. The handlers are not called; a `complete` that is
     * not NULL says that there is completion. */
    int (*add_template)(const mcp_resource_template *tmpl, mcp_error *error, void *user);
    int (*add_resource)(const mcp_resource *resource, mcp_error *error, void *user);
    int (*add_tool)(const mcp_tool *tool, mcp_error *error, void *user);
    int (*add_prompt)(const mcp_prompt *prompt, mcp_error *error, void *user);
} mcp_description;

/* ---- the module -------------------------------------------------------------------------------- */

typedef struct mcp_module {
    size_t size;
    unsigned abi; /* MCP_MODULE_ABI */
    /* MCP_VERSION_STRING of the headers that it was built with; for messages. */
    const char *version;
    const char *name;  /* the scheme of its sources: a-z 0-9, beginning with a letter */
    const char *about; /* one line for people; may be NULL */

    /* JSON Schema (mcp/schema.h) of the options, an object; NULL: no options. The loader validates
     * the options against it before it calls `mount`; a configuration file is validated with it
     * too. A property with "format": "path" is a path; a program that stores it for later use makes
     * it absolute. */
    const char *options_schema;

    /* The source is a path; a program that stores it for later use (in a configuration file) makes
     * it absolute. */
    bool source_is_path;

    /* Mounts one source, the text after "NAME:". Required. Called on the server's thread, possibly
     * several times for one server, with different sources. `options` conform to the schema; NULL:
     * none are given. `name` is the name of the source in URIs; NULL: the module chooses it.
     * Everything is borrowed until the call returns. After a failure nothing may remain except what
     * the server frees. MCP_OK, or a negative code and the reason in *error: MCP_EINVAL,
     * MCP_ENOTFOUND, MCP_EACCESS, MCP_EEXIST (the name is taken), … */
    int (*mount)(mcp_server *server, const char *source, const mcp_json *options, const char *name,
                 mcp_error *error);

    /* Checks whether the source works now, with the same arguments, without mounting it: for
     * example connects to a database, which `mount` would do later. May block for some seconds;
     * called when nothing is being served (`mcpd --doctor`). MCP_OK, or a negative code and the
     * reason in *error: those of mount, and MCP_EREMOTE or MCP_ETIMEOUT if the source does not
     * answer. NULL, or beyond `size`: the module cannot check. */
    int (*check)(const char *source, const mcp_json *options, const char *name, mcp_error *error);

    /* Describes what the source offers, with the arguments of `mount`, by calling the functions of
     * `to`. It opens nothing: it reads no file, makes no connection and keeps no state. The result
     * therefore depends on the arguments alone, and is the same for a source that does not exist
     * yet. (The text of a source may refer to the environment. Paths may have their symbolic links
     * resolved, so a program describes a source again before it starts a process for it.) `mount`
     * has to offer exactly the same; what depends on the contents of the source is listed by the
     * provider.
     *
     * A program uses it to offer a source that another process, in a sandbox, will mount later, and
     * to check a configuration. Called on the server's thread, any number of times, also in a
     * process that never calls `mount`. Returns MCP_OK, or a negative code with the reason in
     * *error: MCP_EINVAL (the options contradict each other, or the source has no usable name),
     * MCP_ENOMEM, or the code that a function of `to` returned. NULL, or beyond `size` in a module
     * of version 1: what the source offers is known only after `mount`. */
    int (*describe)(const char *source, const mcp_json *options, const char *name,
                    const mcp_description *to, mcp_error *error);
} mcp_module;

/* The symbol that a loader looks up, a `const mcp_module`. */
#define MCP_MODULE_SYMBOL "mcp_module_v1"

/* Defines that symbol: takes the scheme and then initializers of the members that the module sets,
 * at least one. In C++ they are calls, joined by dots:
 *     MCP_MODULE(notes, .about("Notes as resources").mount(mount));
 * A module that is linked into a program is compiled with MCP_MODULE_STATIC; the name of its symbol
 * then ends with the scheme: mcp_module_v1_notes. */
#ifdef MCP_MODULE_STATIC
#define MCP_MODULE_SYMBOL_OF(scheme) mcp_module_v1_##scheme
#else
#define MCP_MODULE_SYMBOL_OF(scheme) mcp_module_v1
#endif
#ifndef __cplusplus
#define MCP_MODULE(scheme, ...)                                   \
    MCP_API extern const mcp_module MCP_MODULE_SYMBOL_OF(scheme); \
    const mcp_module MCP_MODULE_SYMBOL_OF(scheme) = {             \
        .size = sizeof(mcp_module),                               \
        .abi = MCP_MODULE_ABI,                                    \
        .version = MCP_VERSION_STRING,                            \
        .name = #scheme,                                          \
        __VA_ARGS__,                                              \
    }
#else
#define MCP_MODULE(scheme, ...)                                       \
    extern "C" MCP_API const mcp_module MCP_MODULE_SYMBOL_OF(scheme); \
    const mcp_module MCP_MODULE_SYMBOL_OF(scheme) = mcp::module_builder(#scheme) __VA_ARGS__
#endif

#ifdef __cplusplus
}

namespace mcp
{
/* What MCP_MODULE() makes in C++: a mcp_module, and a call for each member that a module may set. */
class module_builder
{
    mcp_module made = {};

  public:
    explicit constexpr module_builder(const char *name)
    {
        made.size = sizeof(mcp_module);
        made.abi = MCP_MODULE_ABI;
        made.version = MCP_VERSION_STRING;
        made.name = name;
    }
    constexpr module_builder about(const char *value)
    {
        made.about = value;
        return *this;
    }
    constexpr module_builder options_schema(const char *value)
    {
        made.options_schema = value;
        return *this;
    }
    constexpr module_builder source_is_path(bool value = true)
    {
        made.source_is_path = value;
        return *this;
    }
    constexpr module_builder mount(decltype(mcp_module::mount) value)
    {
        made.mount = value;
        return *this;
    }
    constexpr module_builder check(decltype(mcp_module::check) value)
    {
        made.check = value;
        return *this;
    }
    constexpr module_builder describe(decltype(mcp_module::describe) value)
    {
        made.describe = value;
        return *this;
    }
    constexpr operator mcp_module() const
    {
        return made;
    }
};
} // namespace mcp
#endif
#endif
