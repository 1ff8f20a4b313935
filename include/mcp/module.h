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
 * Link a module with the libraries that it needs, but not with libmcp. A module must use the libmcp
 * of the program that loads it, because one copy of libmcp cannot use the objects of another.
 */
#ifndef MCP_MODULE_H
#define MCP_MODULE_H

#include <mcp/mcp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. A loader accepts modules of this version and of all earlier ones,
 * beginning with 1. Version 2 adds `describe`, and version 3 adds `look`; other members did not
 * change. */
#define MCP_MODULE_ABI 3

/* ---- what a source offers -------------------------------------------------------------------- */

/* A source as a whole. */
typedef struct mcp_source {
    size_t size;
    /* The prefix of its URIs, as for mcp_server_mount(), for example "git://project/". Required. */
    const char *prefix;
    bool lists;        /* whether the provider has `list` (mcp_provider) */
    bool subscribe;    /* whether its resources can be watched: `watch` or `watch_as` */
    bool list_changed; /* whether it announces changes to its list: `watch_list` or
                        * `watch_list_as` */
    /* Whether the module requests to run in the server's process, because it parses no data that
     * others may have prepared, or needs access that a sandbox denies (network, environment,
     * programs). The operator's choice takes precedence. */
    bool in_process;
    /* As in mcp_provider: the lists that the provider serves itself, and the prefix of the names of
     * its tools and prompts. The entries of these lists are not described. */
    unsigned items;
    const char *names;
    /* Not 0 if its URIs and names have no prefix. It must then be the only source, and `prefix` is
     * only its name. */
    size_t alone;
    /* Writes the canonical spelling of a URI below `prefix`, exactly as mcp_provider.resolve of the
     * mounted source does (for a URI that names nothing, it may write any). It depends on its
     * arguments alone. A program that lets another process mount the source checks access rules,
     * and tells apart what is subscribed to, with this function. If it is NULL, or beyond `size`,
     * such a program cannot know which URIs mean the same resource: with access rules, resources
     * of the source can then be read but not watched. */
    int (*resolve)(const char *prefix, mcp_str uri, char *canonical, size_t room);
} mcp_source;

/* A path that the module opens for a source. Shared libraries and their data need not be named. */
typedef struct mcp_source_path {
    size_t size;
    bool write; /* whether the module also writes to it */
    /* Whether it may be created or replaced while the source is used, like the -wal file of a
     * SQLite database. A sandbox that gives access to existing files, and not to paths
     * (mcp_sandbox_enter()), does not give access to the new file. */
    bool replaced;
    /* The path of a file, or of a folder, which includes everything in it. It need not exist. A
     * relative path is relative to the current folder. Required. */
    const char *path;
} mcp_source_path;

/* Functions of the loader that `describe` calls. None of them is NULL. Their arguments are borrowed
 * until they return. Each returns MCP_OK, or a negative code with the reason in *error, for example
 * MCP_EEXIST (a name is taken), MCP_EINVAL or MCP_ENOMEM; `describe` then returns that code without
 * further calls. */
typedef struct mcp_description {
    size_t size;
    void *user; /* passed to each function */
    /* Describes the source as a whole. Must be called first, and only once. */
    int (*source)(const mcp_source *source, mcp_error *error, void *user);
    int (*add_path)(const mcp_source_path *path, mcp_error *error, void *user);
    /* Describe the registrations that `mount` makes, in the same order. The handlers are not
     * called; if `complete` is not NULL, completion is supported. */
    int (*add_template)(const mcp_resource_template *tmpl, mcp_error *error, void *user);
    int (*add_resource)(const mcp_resource *resource, mcp_error *error, void *user);
    int (*add_tool)(const mcp_tool *tool, mcp_error *error, void *user);
    int (*add_prompt)(const mcp_prompt *prompt, mcp_error *error, void *user);
} mcp_description;

/* ---- the module ------------------------------------------------------------------------------ */

typedef struct mcp_module {
    size_t size;
    unsigned abi; /* MCP_MODULE_ABI */
    /* MCP_VERSION_STRING of the headers that it was built with; for messages. */
    const char *version;
    const char *name;  /* the scheme of its sources: a-z 0-9, beginning with a letter */
    const char *about; /* one line for people; may be NULL */

    /* JSON Schema (mcp/schema.h) of the options, which are an object. NULL means no options. The
     * loader validates the options against it before it calls `mount`; a configuration file is
     * validated with it too. A property with "format": "path" is a path; a program that stores it
     * for later use makes it absolute. */
    const char *options_schema;

    /* The source is a path; a program that stores it for later use (in a configuration file) makes
     * it absolute. */
    bool source_is_path;

    /* Mounts one source, the text after "NAME:". Required. Called on the server's thread, possibly
     * several times for one server, with different sources. `options` conform to the schema, or are
     * NULL if there are none. `name` is the name of the source in URIs; if it is NULL, the module
     * chooses it. All arguments are borrowed until the call returns. After a failure the module
     * must have freed everything that the server does not free. Returns MCP_OK, or a negative code
     * with the reason in *error: MCP_EINVAL, MCP_ENOTFOUND, MCP_EACCESS, MCP_EEXIST (the name is
     * taken), … */
    int (*mount)(mcp_server *server, const char *source, const mcp_json *options, const char *name,
                 mcp_error *error);

    /* Checks whether the source works now, with the arguments of `mount`, but without mounting it.
     * For example, it connects to a database, which `mount` would do later. It may block for some
     * seconds, because it is called when nothing is being served (`mcpd --doctor`). Returns the
     * codes of `mount`, and MCP_EREMOTE or MCP_ETIMEOUT if the source does not answer. If this is
     * NULL, or beyond `size`, the module cannot check sources. */
    int (*check)(const char *source, const mcp_json *options, const char *name, mcp_error *error);

    /* Describes what the source offers, with the arguments of `mount`, by calling the functions of
     * `to`. It must not read files, make connections or keep state. The result therefore depends on
     * the arguments alone, and is the same for a source that does not exist yet. (The text of a
     * source may refer to the environment. Paths may have their symbolic links resolved, so a
     * program describes a source again before it starts a process for it.) `mount` must register
     * exactly what was described; items that depend on the contents of the source are listed by the
     * provider.
     *
     * A program uses `describe` to offer a source that another process, in a sandbox, will mount
     * later, and to check a configuration. Called on the server's thread, any number of times, also
     * in a process that never calls `mount`. Returns MCP_OK, or a negative code with the reason in
     * *error: MCP_EINVAL (the options contradict each other, or the source has no usable name),
     * MCP_ENOMEM, or the code that a function of `to` returned. If this is NULL, or beyond `size`
     * in a module of version 1, the items of the source are not known before `mount`. */
    int (*describe)(const char *source, const mcp_json *options, const char *name,
                    const mcp_description *to, mcp_error *error);

    /* Looks for mistakes that people make in the text of a source, such as a path that does not
     * exist or does not lead to a source of this kind. Gets the arguments of `mount`. If a program
     * lets another process mount the source later, it calls this function after `describe`, so that
     * such a mistake is reported before anything is served.
     *
     * The function must not parse data that may be hostile, and must return within some
     * milliseconds. It may examine names and types of files, and compare the first bytes of a
     * regular file with constants. It must not open anything that could block, such as a FIFO.
     * Called on the server's thread. Returns the code of `mount` with the same text in *error, or
     * MCP_OK if it found no mistake. If this is NULL, or beyond `size` in a module of an earlier
     * version, the first request for the source finds these mistakes. */
    int (*look)(const char *source, const mcp_json *options, const char *name, mcp_error *error);

    /* What a model may do with a source, for the instructions of a server: the URIs and URI
     * templates that are needed most, without the prefix of the source, separated by ", ". Each
     * conversation pays for them. If this is NULL, or beyond `size`, the instructions name only the
     * prefix. */
    const char *uses;
} mcp_module;

/* The symbol that a loader looks up, a `const mcp_module`. */
#define MCP_MODULE_SYMBOL "mcp_module_v1"

/* Defines that symbol. The arguments are the scheme and at least one initializer of another member.
 * In C++ the initializers are calls, joined by dots:
 *     MCP_MODULE(notes, .about("Notes as resources").mount(mount));
 * A module that is linked into a program is compiled with MCP_MODULE_STATIC. The name of its symbol
 * then ends with the scheme, as in mcp_module_v1_notes. */
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
/* What MCP_MODULE() produces in C++: an mcp_module with one function for each member that a module
 * may set. */
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
    constexpr module_builder look(decltype(mcp_module::look) value)
    {
        made.look = value;
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
