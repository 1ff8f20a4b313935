/* library.h: functions of a library that is loaded only when it is needed.
 *
 * Linking OpenSSL or libcurl would cost milliseconds at every start, even of programs that never
 * need them. A file that uses a library has a table of its functions. Macros generate from it the
 * struct, the names and, for a static program, the addresses:
 *
 *     #define FUNCTIONS(X) X(SSL_new) X(SSL_free)
 *     typedef struct functions { FUNCTIONS(MCP__LIBRARY_MEMBER) } functions;
 *
 * A library is never unloaded, because OpenSSL does not support it.
 */
#ifndef MCP_SRC_BASE_LIBRARY_H
#define MCP_SRC_BASE_LIBRARY_H

#include "base/base.h"

#define MCP__LIBRARY_MEMBER(name)  __typeof__(name) *name;
#define MCP__LIBRARY_NAME(name)    #name,
#define MCP__LIBRARY_ADDRESS(name) f->name = name;

typedef struct mcp__library {
    const char *files[2]; /* possible file names, in order of preference */
    /* The error text if the library is not available, for example "TLS needs OpenSSL 3". */
    const char *wanted;
    const char *const *names;
    size_t n_names;
} mcp__library;

/* Loads the library, and writes the addresses of its functions to `functions`, a struct of n_names
 * pointers. Returns MCP_OK or MCP_EUNSUPPORTED. */
MCP__SHARED int mcp__library_load(const mcp__library *library, void *functions, mcp_error *error);

/* Both define load(functions *f, mcp_error *error) for the table FUNCTIONS: of a library that a static
 * program is linked with, and of one that is loaded. */
#define MCP__LOAD_LINKED(functions, FUNCTIONS)      \
    static int load(functions *f, mcp_error *error) \
    {                                               \
        (void)error;                                \
        FUNCTIONS(MCP__LIBRARY_ADDRESS)             \
        return MCP_OK;                              \
    }
#define MCP__LOAD_LATE(functions, FUNCTIONS, file, what)                              \
    static int load(functions *f, mcp_error *error)                                   \
    {                                                                                 \
        static const char *const names[] = {FUNCTIONS(MCP__LIBRARY_NAME)};            \
        static const mcp__library library = {{file}, what, names, MCP__COUNT(names)}; \
        return mcp__library_load(&library, f, error);                                 \
    }

/* The same for the libraries of OpenSSL. */
#ifdef MCP_TLS_LINK
#define MCP__LOAD_OPENSSL(functions, FUNCTIONS, file, what) MCP__LOAD_LINKED(functions, FUNCTIONS)
#else
#define MCP__LOAD_OPENSSL(functions, FUNCTIONS, file, what) \
    MCP__LOAD_LATE(functions, FUNCTIONS, file, what)
#endif

#endif
