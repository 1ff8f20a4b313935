/* origin.c: origins that a header can name. */
#define _GNU_SOURCE
#include "origin.h"

#include <string.h>

bool origin_is(const char *text)
{
    static const char fine[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]";
    size_t scheme = strncmp(text, "https://", 8) == 0  ? 8
                    : strncmp(text, "http://", 7) == 0 ? 7
                                                       : 0;
    return scheme && text[scheme] && text[scheme + strspn(text + scheme, fine)] == 0;
}

bool origin_of(mcp_str url, char to[ORIGIN_ROOM])
{
    const char *host = url.len ? memmem(url.ptr, url.len, "://", 3) : NULL;
    if (!host)
        return false;
    size_t before = (size_t)(host - url.ptr) + 3;
    const char *path = memchr(url.ptr + before, '/', url.len - before);
    size_t len = path ? (size_t)(path - url.ptr) : url.len;
    if (len >= ORIGIN_ROOM)
        return false;
    memcpy(to, url.ptr, len);
    to[len] = '\0';
    return origin_is(to);
}
