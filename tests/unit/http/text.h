/* text.h: a request, or several, to which a generated test adds bytes. */
#ifndef MCP_TESTS_HTTP_TEXT_H
#define MCP_TESTS_HTTP_TEXT_H

#include "rig.h"

enum { TEXT_ROOM = 16 << 10 };

typedef struct text {
    size_t len;
    char bytes[TEXT_ROOM]; /* NUL-terminated */
} text;

static inline void put(text *t, const char *bytes, size_t len)
{
    assert_true(t->len + len < TEXT_ROOM);
    memcpy(t->bytes + t->len, bytes, len);
    t->bytes[t->len += len] = 0;
}

static inline void put_str(text *t, const char *string)
{
    put(t, string, strlen(string));
}

#endif
