/* mcp/base.h: the basis of all other public headers: strings, memory, errors, version.
 *
 * libmcp never logs, prints, reads the environment, installs signal handlers or keeps global state.
 * A function that can fail returns an int: MCP_OK, a positive outcome that its comment names, or a
 * negative MCP_E* code. An out parameter named `ret` is written only on success. An `mcp_error`
 * says why a call failed and is empty after a call that succeeded. The caller provides its memory;
 * nothing is thread-local. A function that gets NULL for a required argument returns MCP_EINVAL.
 */
#ifndef MCP_BASE_H
#define MCP_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__) || defined(__clang__)
#define MCP_API             __attribute__((visibility("default")))
#define MCP_PRINTF(fmt, va) __attribute__((format(printf, fmt, va)))
#else
#define MCP_API
#define MCP_PRINTF(fmt, va)
#endif

#define MCP_VERSION_MAJOR  0
#define MCP_VERSION_MINOR  1
#define MCP_VERSION_PATCH  0
#define MCP_VERSION_STRING "0.1.0"

/* Returns the version of the library that is running, for example "0.1.0". The string has static
 * storage. */
MCP_API const char *mcp_version(void);
/* Returns the i-th protocol revision that the library supports, for example "2026-07-28", or NULL
 * past the end. The newest revision has index 0. The string has static storage. */
MCP_API const char *mcp_revision(size_t i);

/* ---- strings --------------------------------------------------------------------------------- */

/* A borrowed run of bytes, not NUL-terminated unless the function that returns it says so. `ptr`
 * may be NULL only if `len` is 0. An mcp_str is passed by value. */
typedef struct mcp_str {
    const char *ptr;
    size_t len;
} mcp_str;

/* Makes an mcp_str of a string literal, at compile time. */
#ifdef __cplusplus
#define MCP_STR(literal) (mcp_str{"" literal, sizeof(literal) - 1})
#else
#define MCP_STR(literal) ((mcp_str){"" literal, sizeof(literal) - 1})
#endif

/* Makes an mcp_str that points to a NUL-terminated string; NULL gives the empty string. */
static inline mcp_str mcp_str_from(const char *s)
{
    mcp_str r = {s, s ? strlen(s) : 0};
    return r;
}

/* Returns whether two strings have the same bytes. */
static inline bool mcp_str_eq(mcp_str a, mcp_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* One character of a text that anybody may have written, for a program that shows the text. */
typedef struct mcp_char {
    uint32_t code; /* for a byte that is not UTF-8, that byte */
    size_t size;   /* in bytes */
    /* What to show instead, such as "\x1b" or "\u202e": for a control character, for one that is
     * invisible or changes the order of a text (Unicode's classes Cc, Cf, Zl, Zp and
     * Default_Ignorable_Code_Point), and for a byte that is not UTF-8. Otherwise "". */
    char escape[12];
} mcp_char;

/* Returns the first character of a text that is not empty. */
MCP_API mcp_char mcp_char_at(mcp_str text);
/* Copies a text for a log or a terminal, with the escapes of mcp_char. If there is not enough room,
 * the copy is truncated between characters. Writes at most `room` bytes, at least one, with the
 * terminating NUL. Returns the length without the NUL. */
MCP_API size_t mcp_text_escape(char *to, size_t room, mcp_str text);

/* ---- memory ---------------------------------------------------------------------------------- */

/* The memory functions of an object. All three are required and behave like malloc, realloc and
 * free. If `allocate` or `resize` returns NULL, the library reports MCP_ENOMEM; it never calls
 * abort(). `release` must accept NULL. The struct is copied; `user` must outlive every object that
 * uses it. If the program uses worker threads or posts from other threads (mcp/provider.h), the
 * functions are called from any thread, possibly concurrently. */
typedef struct mcp_allocator {
    void *(*allocate)(size_t size, void *user);
    void *(*resize)(void *ptr, size_t size, void *user);
    void (*release)(void *ptr, void *user);
    void *user;
} mcp_allocator;

/* ---- errors ---------------------------------------------------------------------------------- */

/* All error codes of the library, from which their names and texts are generated. The errors that a
 * peer receives are separate: see mcp_reply_fail() in mcp/request.h. */
#define MCP_ERROR_MAP(X)                              \
    X(ENOMEM, 1, "out of memory")                     \
    X(EINVAL, 2, "invalid argument")                  \
    X(ELIMIT, 3, "a limit was exceeded")              \
    X(EPARSE, 4, "malformed input")                   \
    X(ESTATE, 5, "not possible in this state")        \
    X(ENOTFOUND, 6, "not found")                      \
    X(EEXIST, 7, "already exists")                    \
    X(EACCESS, 8, "access denied")                    \
    X(EIO, 9, "input or output failed")               \
    X(ECLOSED, 10, "the other side is gone")          \
    X(ETIMEOUT, 11, "time-out")                       \
    X(ECANCELLED, 12, "cancelled")                    \
    X(EUNSUPPORTED, 13, "not supported")              \
    X(EREMOTE, 14, "the peer answered with an error") \
    X(EPROTOCOL, 15, "the peer broke the protocol")   \
    X(EFILES, 16, "no file descriptor is left")

/* What functions return, as an int. */
typedef enum mcp_outcome {
    /* Positive outcomes. Each function documents the ones that it can return. */
    MCP_OK = 0,
    MCP_PENDING = 1,
    MCP_INPUT_REQUIRED = 2,
/* Failures. */
#define MCP_ERROR_ENUM(name, number, text) MCP_##name = -(number),
    MCP_ERROR_MAP(MCP_ERROR_ENUM)
#undef MCP_ERROR_ENUM
} mcp_outcome;

/* Return the name and the text of a code, for example "MCP_ENOMEM" and "out of memory". An unknown
 * code gives "MCP_E?" and "unknown error". Both strings have static storage. */
MCP_API const char *mcp_error_name(int code);
MCP_API const char *mcp_error_text(int code);

/* The reason why a call failed. The caller provides the struct and may pass NULL instead. `code` is
 * the MCP_E* code that the call returns. `offset` is the byte offset of the error in the input, or
 * 0 if the error has no position. `text` is a message for people: one sentence in UTF-8 without a
 * full stop, NUL-terminated, truncated at a character boundary if it is too long. After a
 * successful call `code` is MCP_OK and `text` is empty. */
typedef struct mcp_error {
    int code;
    size_t offset;
    char text[256];
} mcp_error;

/* ---- options --------------------------------------------------------------------------------- */

/* Every option or descriptor struct begins with `size`. Zero in any other field selects its
 * default. Fields are only ever appended, so that a program built against an older header keeps
 * working. A function that gets a struct whose `size` is not set returns MCP_EINVAL. All elements
 * of an array have the same `size`. In a struct that the library passes to the program, `size`
 * tells which fields the library has set. docs/api-stability.md has the complete guarantees.
 *     mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "hello"), &server, &err); */
#ifndef __cplusplus
#define MCP_OPTIONS(type, ...) (&(type){.size = sizeof(type), __VA_ARGS__})

/* A row of a table of defaults: the value of a member that is zero, and the largest value that the
 * member may have (0: any). The member is an unsigned integer of 32 or 64 bits.
 *     static const mcp_default defaults[] = {
 *         MCP_DEFAULT(my_options, max_depth, 64, .maximum = 1024),
 *         MCP_DEFAULT(my_options, timeout_ms, 60000),
 *     };
 *     MCP_SET_DEFAULTS(&options, defaults); */
typedef struct mcp_default {
    size_t offset, width;
    uint64_t value, maximum;
} mcp_default;

#define MCP_DEFAULT(type, member, ...)                                          \
    {                                                                           \
        .offset = offsetof(type, member), .width = sizeof(((type *)0)->member), \
        .value = __VA_ARGS__                                                    \
    }
#define MCP_SET_DEFAULTS(options, rows) \
    mcp_set_defaults((options), (rows), sizeof(rows) / sizeof((rows)[0]))

/* Gives each member that a row names its default if it is zero, and at most its maximum. */
static inline void mcp_set_defaults(void *options, const mcp_default *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *at = (char *)options + rows[i].offset;
        uint32_t narrow = 0;
        uint64_t wide = 0;
        bool is_wide = rows[i].width == sizeof(wide);
        memcpy(is_wide ? (void *)&wide : (void *)&narrow, at, rows[i].width);
        if (!is_wide)
            wide = narrow;
        if (wide == 0)
            wide = rows[i].value;
        if (rows[i].maximum && wide > rows[i].maximum)
            wide = rows[i].maximum;
        narrow = (uint32_t)wide;
        memcpy(at, is_wide ? (const void *)&wide : (const void *)&narrow, rows[i].width);
    }
}
#endif

#ifdef __cplusplus
}

/* ---- C++ ------------------------------------------------------------------------------------- */

/* A callback must not throw: the library that calls it is C. */

namespace mcp
{
/* MCP_OPTIONS() for C++: a struct whose `size` is set and whose other fields are zero.
 *     mcp::sized<mcp_server_options> options;
 *     options.name = "hello";
 *     mcp_server_new(&options, &server, &err); */
template <class T> struct sized : T {
    sized() : T()
    {
        this->size = sizeof(T);
    }
};
} // namespace mcp
#endif
#endif
