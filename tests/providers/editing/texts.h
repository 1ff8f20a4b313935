/* texts.h: what the tests of texts have in common. */
#ifndef TESTS_EDITING_TEXTS_H
#define TESTS_EDITING_TEXTS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edit.h"
#include "failalloc.h"
#include "filetext.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BYTES(literal)                  \
    {                                   \
        "" literal, sizeof(literal) - 1 \
    }
#define ANY ((size_t)1 << 30)

/* A copy of exactly its size, so that the sanitizer detects reads beyond its end. */
static inline mcp_str exactly(mcp_str s)
{
    char *copy = malloc(s.len ? s.len : 1);
    if (!copy)
        abort();
    if (s.len)
        memcpy(copy, s.ptr, s.len);
    return (mcp_str){copy, s.len};
}

static inline void drop(mcp_str s)
{
    free((void *)(uintptr_t)s.ptr);
}

/* Bytes as they are shown in a message: "a\r\n". */
static inline const char *show(mcp_str s)
{
    static char room[4][600];
    static unsigned next;
    char *to = room[next++ % 4];
    mcp_text_escape(to, sizeof(room[0]), s);
    return to;
}

#endif
