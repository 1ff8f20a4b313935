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

/* The version of this interface, on which a loader and a module must agree. It is raised when a
 * member changes its meaning, but not when one is appended. */
#define MCP_MODULE_ABI 1

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
    constexpr operator mcp_module() const
    {
        return made;
    }
};
} // namespace mcp
#endif
#endif
