/* near.c: see near.h. */
#define _GNU_SOURCE
#include "near.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST = 64, FARTHEST = 3 };

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool is_same(mcp_str a, size_t i, mcp_str b, size_t j)
{
    return lower(a.ptr[i]) == lower(b.ptr[j]);
}

/* Returns the number of letters to insert, remove, change, or exchange with their neighbour. Both
 * strings have at most LONGEST letters. */
static size_t distance(mcp_str a, mcp_str b)
{
    size_t rows[3][LONGEST + 1]; /* the last three, in turn */
    for (size_t j = 0; j <= b.len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t *row = rows[i % 3], *before = rows[(i - 1) % 3], *first = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            row[j] = least(before[j - 1] + !is_same(a, i - 1, b, j - 1),
                           least(before[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && is_same(a, i - 1, b, j - 2) && is_same(a, i - 2, b, j - 1))
                row[j] = least(row[j], first[j - 2] + 1);
        }
    }
    return rows[a.len % 3][b.len];
}

/* Returns the distance of two names, or FARTHEST if they are not similar. Two letters of a short
 * name are too much of it: "pass.c" is not "passwd". */
static size_t name_distance(mcp_str wanted, mcp_str name)
{
    if (!wanted.len || !name.len || wanted.len > LONGEST || name.len > LONGEST)
        return FARTHEST;
    size_t most = wanted.len < 8 ? 1 : FARTHEST - 1, far = distance(wanted, name);
    if (far <= most)
        return far;
    bool part = wanted.len >= 4 && memmem(name.ptr, name.len, wanted.ptr, wanted.len);
    return part ? FARTHEST - 1 : FARTHEST;
}

void common_near_try(common_near *n, mcp_str name, mcp_str text)
{
    size_t far = name_distance(n->name, name), at = 0;
    if (far >= FARTHEST || text.len >= sizeof(n->text[0]))
        return;
    while (at < n->n && n->distance[at] <= far)
        at++;
    if (at == COMMON_NEAR)
        return;
    n->n += n->n < COMMON_NEAR;
    for (size_t i = n->n - 1; i > at; i--) {
        memcpy(n->text[i], n->text[i - 1], sizeof(n->text[i]));
        n->distance[i] = n->distance[i - 1];
    }
    memcpy(n->text[at], text.ptr, text.len);
    n->text[at][text.len] = 0;
    n->distance[at] = far;
}

const char *common_near_words(const common_near *n, char to[COMMON_NEAR_WORDS])
{
    size_t len = 0;
    *to = 0;
    for (size_t i = 0; i < n->n; i++)
        len += (size_t)snprintf(to + len, COMMON_NEAR_WORDS - len, "%s%s",
                                i ? ", or " : " Did you mean ", n->text[i]);
    if (len)
        snprintf(to + len, COMMON_NEAR_WORDS - len, "?");
    return to;
}
