/* syntax.c: parses URIs (RFC 3986) with uriparser, and returns slices of the text.
 *
 * uriparser checks the syntax and finds the parts. It also accepts relative references and ports of
 * any size, which this file rejects. uriparser builds a list of path segments, which is not needed
 * here. The nodes of that list come from a small pool on the stack, so that parsing an ordinary URI
 * allocates no memory.
 */
#include <stdlib.h>

#include <uriparser/Uri.h>

#include "uri/uri.h"

/* room for 64 segments on 64-bit machines */
#define POOL_SIZE 2048

typedef struct pool {
    UriMemoryManager manager;
    size_t used;
    _Alignas(max_align_t) char bytes[POOL_SIZE];
} pool;

static bool in_pool(const pool *p, const void *ptr)
{
    uintptr_t at = (uintptr_t)ptr;
    return at >= (uintptr_t)p->bytes && at < (uintptr_t)p->bytes + POOL_SIZE;
}

static void *pool_malloc(UriMemoryManager *manager, size_t size)
{
    pool *p = manager->userData;
    size_t rounded = (size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (size > POOL_SIZE || rounded > POOL_SIZE - p->used)
        return malloc(size);
    void *ptr = p->bytes + p->used;
    p->used += rounded;
    return ptr;
}

static void *pool_calloc(UriMemoryManager *manager, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return NULL;
    void *ptr = pool_malloc(manager, count * size);
    if (ptr)
        memset(ptr, 0, count * size);
    return ptr;
}

/* Parsing never resizes memory, but uriparser requires that all functions are set. */
static void *pool_realloc(UriMemoryManager *manager, void *ptr, size_t size)
{
    (void)manager, (void)ptr, (void)size;
    return NULL;
}

static void *pool_reallocarray(UriMemoryManager *manager, void *ptr, size_t count, size_t size)
{
    (void)manager, (void)ptr, (void)count, (void)size;
    return NULL;
}

static void pool_free(UriMemoryManager *manager, void *ptr)
{
    if (!in_pool(manager->userData, ptr))
        free(ptr);
}

static mcp_str slice(UriTextRangeA range)
{
    mcp_str s = {"", 0};
    if (range.first && range.afterLast > range.first)
        s = (mcp_str){range.first, (size_t)(range.afterLast - range.first)};
    return s;
}

/* Returns the part between the authority and "?", "#" or the end. */
static mcp_str path_of(const mcp_uri *uri)
{
    const char *end = uri->text.ptr + uri->text.len;
    const char *at = uri->scheme.ptr + uri->scheme.len + 1;
    if (uri->has_authority) {
        at += 2;
        while (at < end && *at != '/' && *at != '?' && *at != '#')
            at++;
    }
    const char *stop = at;
    while (stop < end && *stop != '?' && *stop != '#')
        stop++;
    return (mcp_str){at, (size_t)(stop - at)};
}

static int parse_port(mcp_str digits, int *ret)
{
    int port = digits.len ? 0 : -1;
    for (size_t i = 0; i < digits.len; i++) {
        port = port * 10 + (digits.ptr[i] - '0');
        if (port > 65535)
            return MCP_ELIMIT;
    }
    *ret = port;
    return MCP_OK;
}

static int convert(const UriUriA *from, mcp_str text, mcp_uri *ret, mcp_error *error)
{
    mcp_uri uri = {.text = text};
    uri.scheme = slice(from->scheme);
    if (uri.scheme.len == 0)
        return mcp__fail(error, MCP_EPARSE, 0,
                         "a URI begins with a scheme; this is a relative reference");
    mcp_str rest = mcp__str_sub(text, uri.scheme.len + 1);
    uri.has_authority = mcp__str_starts(rest, MCP_STR("//"));
    uri.has_userinfo = from->userInfo.first != NULL;
    uri.has_query = from->query.first != NULL;
    uri.has_fragment = from->fragment.first != NULL;
    uri.userinfo = slice(from->userInfo);
    uri.host = slice(from->hostText);
    uri.query = slice(from->query);
    uri.fragment = slice(from->fragment);
    uri.is_ip_literal = from->hostData.ip6 || from->hostData.ipFuture.first;
    uri.path = path_of(&uri);
    if (parse_port(slice(from->portText), &uri.port) != MCP_OK)
        return mcp__fail(error, MCP_ELIMIT, (size_t)(from->portText.first - text.ptr),
                         "the port is above 65535");
    *ret = uri;
    return MCP_OK;
}

int mcp_uri_parse(mcp_str text, mcp_uri *ret, mcp_error *error)
{
    mcp__no_error(error);
    if (text.len > MCP_URI_MAX_LENGTH)
        return mcp__fail(error, MCP_ELIMIT, MCP_URI_MAX_LENGTH, "the URI is longer than %d bytes",
                         MCP_URI_MAX_LENGTH);
    if (text.len == 0)
        return mcp__fail(error, MCP_EPARSE, 0, "the URI is empty");
    pool p;
    p.manager = (UriMemoryManager){pool_malloc,       pool_calloc, pool_realloc,
                                   pool_reallocarray, pool_free,   &p};
    p.used = 0;
    UriUriA uri;
    const char *at = NULL;
    int rc = uriParseSingleUriExMmA(&uri, text.ptr, text.ptr + text.len, &at, &p.manager);
    if (rc == URI_ERROR_MALLOC)
        return mcp__fail(error, MCP_ENOMEM, 0, "out of memory");
    if (rc != URI_SUCCESS)
        return mcp__fail(error, MCP_EPARSE, at ? (size_t)(at - text.ptr) : 0, "this is not a URI");
    rc = convert(&uri, text, ret, error);
    uriFreeUriMembersMmA(&uri, &p.manager);
    return rc;
}

bool mcp_uri_scheme_is(const mcp_uri *uri, const char *scheme)
{
    size_t i = 0;
    while (i < uri->scheme.len && scheme[i] && mcp__lower(uri->scheme.ptr[i]) == scheme[i])
        i++;
    return i == uri->scheme.len && scheme[i] == '\0';
}
