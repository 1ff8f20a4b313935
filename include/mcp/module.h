/* mcp/module.h: a provider in a shared object of its own, which a program loads when a source asks for it.
 *
 * `mcpd sqlite:shop.db` loads the module "sqlite" and has it mount "shop.db"; a server that serves files
 * alone neither loads nor links what databases need. A module is an ordinary provider (mcp/provider.h)
 * with one exported symbol:
 *
 *     static int mount(mcp_server *server, const char *source, const mcp_json *options,
 *                      const char *name, mcp_error *error) { … }
 *     MCP_MODULE(notes, .about = "Notes as resources", .mount = mount);
 *
 *     cc -shared -fPIC notes.c $(pkg-config --cflags mcp) -o notes.so
 *     mcpd --module ./notes.so notes:SOURCE
 *
 * It is linked with its own libraries, and not with libmcp: what it calls of mcp/mcp.h is found in the
 * program that loads it, because two copies of libmcp in one process do not know each other's objects.
 */
#ifndef MCP_MODULE_H
#define MCP_MODULE_H

#include <mcp/mcp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a loader and a module have to agree on beside the struct's size: raised when a member changes its
 * meaning, never when one is appended. */
#define MCP_MODULE_ABI 1

typedef struct mcp_module {
    size_t size;
    unsigned abi; /* MCP_MODULE_ABI */
    const char
        *version;      /* MCP_VERSION_STRING of the headers that it was built with; for messages */
    const char *name;  /* the scheme of its sources: a-z 0-9, beginning with a letter */
    const char *about; /* one line for people; may be NULL */

    /* JSON Schema (mcp/schema.h) of the options, an object; NULL: there are none. Who loads the module
     * checks the options against it before `mount`; a configuration file is checked with it too. A property with
     * "format": "path" is a path, which whoever keeps it for later makes absolute. */
    const char *options_schema;

    /* The source is a path, which whoever keeps it for later (a configuration file) makes absolute. */
    bool source_is_path;

    /* Mounts one source: what stands behind "NAME:". It may be called several times for one server, with
     * other sources. `options` conform to the schema, NULL: none are given; `name` is what the source
     * shall be called in URIs, NULL: the module chooses. Everything is borrowed until the call returns.
     * Nothing may be left behind by a failure but what the server frees. MCP_OK, or a negative code and
     * the reason in *error: MCP_EINVAL, MCP_ENOTFOUND, MCP_EACCESS, MCP_EEXIST (the name is taken), …
     * Required. Called on the server's thread. */
    int (*mount)(mcp_server *server, const char *source, const mcp_json *options, const char *name,
                 mcp_error *error);

    /* Looks whether the source works now, with the same arguments, and mounts nothing: a database is connected to,
     * though its mount would wait for it. May block for some seconds; called where nothing is served yet (`mcpd
     * --doctor`). MCP_OK, or a negative code and the reason in *error: those of mount, MCP_EREMOTE and MCP_ETIMEOUT
     * when it does not answer. NULL: the module cannot tell. Not there where `size` ends before it. */
    int (*check)(const char *source, const mcp_json *options, const char *name, mcp_error *error);
} mcp_module;

/* The symbol that a loader looks for, a `const mcp_module`. */
#define MCP_MODULE_SYMBOL "mcp_module_v1"

/* Defines it: the scheme, then the members that are its own. A module that is linked into a
 * program is compiled with MCP_MODULE_STATIC, and its symbol ends in the name: mcp_module_v1_notes. */
#ifdef MCP_MODULE_STATIC
#define MCP_MODULE_SYMBOL_OF(scheme) mcp_module_v1_##scheme
#else
#define MCP_MODULE_SYMBOL_OF(scheme) mcp_module_v1
#endif
#define MCP_MODULE(scheme, ...)                                   \
    MCP_API extern const mcp_module MCP_MODULE_SYMBOL_OF(scheme); \
    const mcp_module MCP_MODULE_SYMBOL_OF(scheme) = {             \
        .size = sizeof(mcp_module),                               \
        .abi = MCP_MODULE_ABI,                                    \
        .version = MCP_VERSION_STRING,                            \
        .name = #scheme,                                          \
        __VA_ARGS__,                                              \
    }

#ifdef __cplusplus
}
#endif
#endif
