/* sized.c: structs of the program that begin with their size.
 *
 * A program may have been built with headers that have fewer members than this library, or more.
 * Members that the program does not have are zero here, and members that the library does not have
 * are ignored. The distance between the elements of an array is the `size` of the first one.
 */
#include "base/base.h"

enum { MAX_SIZE = 1 << 16 }; /* larger than any struct; most uninitialized sizes exceed it */

static size_t size_of(const void *given)
{
    size_t size;
    memcpy(&size, given, sizeof(size));
    return size;
}

static bool is_size(size_t size)
{
    return size >= sizeof(size_t) && size <= MAX_SIZE;
}

static void copy(void *to, size_t to_size, const void *from)
{
    size_t given = MCP__MIN(size_of(from), to_size);
    memcpy(to, from, given);
    if (given < to_size)
        memset((char *)to + given, 0, to_size - given);
    memcpy(to, &to_size, sizeof(to_size));
}

static int no_size(const char *type, mcp_error *error)
{
    return mcp__fail(
        error, MCP_EINVAL, 0,
        "the member \"size\" of a %s is not set: use MCP_OPTIONS(%s, ...), or .size = sizeof(%s)",
        type, type, type);
}

int mcp__take(void *to, size_t to_size, const void *from, const char *type, mcp_error *error)
{
    if (from && is_size(size_of(from))) {
        copy(to, to_size, from);
        return MCP_OK;
    }
    memset(to, 0, to_size);
    return from ? no_size(type, error)
                : mcp__fail(error, MCP_EINVAL, 0, "a %s is required, and NULL was given", type);
}

int mcp__take_optional(void *to, size_t to_size, const void *from, const char *type,
                       mcp_error *error)
{
    if (from)
        return mcp__take(to, to_size, from, type, error);
    memset(to, 0, to_size);
    memcpy(to, &to_size, sizeof(to_size));
    return MCP_OK;
}

int mcp__check_array(const void *array, size_t n, const char *type, mcp_error *error)
{
    if (n && !array)
        return mcp__fail(error, MCP_EINVAL, 0, "an array of %s is required, and NULL was given",
                         type);
    size_t stride = n ? size_of(array) : 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_size(stride))
            return no_size(type, error);
        if (size_of((const char *)array + i * stride) != stride)
            return mcp__fail(error, MCP_EINVAL, 0,
                             "\"size\" must be sizeof(%s) in every element of an array: element "
                             "%zu has another size",
                             type, i);
    }
    return MCP_OK;
}

void mcp__take_element(void *to, size_t to_size, const void *array, size_t i)
{
    copy(to, to_size, (const char *)array + i * size_of(array));
}
