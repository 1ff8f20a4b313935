/* near.c: finds similar URIs; see tools.h. Names are similar if they differ only in case or in a
 * few letters, or if one contains the other. */
#define _GNU_SOURCE
#include "tools.h"

enum { LONGEST = 64, FARTHEST = 3 };

mcp_str bridge_last_piece(mcp_str uri)
{
    const char *query = uri.len ? memchr(uri.ptr, '?', uri.len) : NULL;
    size_t len = query ? (size_t)(query - uri.ptr) : uri.len;
    len -= len && uri.ptr[len - 1] == '/';
    const char *slash = len ? memrchr(uri.ptr, '/', len) : NULL;
    size_t at = slash ? (size_t)(slash - uri.ptr) + 1 : 0;
    return (mcp_str){uri.ptr + at, len - at};
}

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

int bridge_near_try(bridge_near *n, mcp_request *req, mcp_str uri)
{
    size_t far = name_distance(n->name, bridge_last_piece(uri)), at = 0;
    if (far >= FARTHEST || uri.len > 500)
        return MCP_OK;
    while (at < n->n && n->distance[at] <= far)
        at++;
    if (at == BRIDGE_NEAR)
        return MCP_OK;
    char *copy = mcp_request_strdup(req, uri);
    if (!copy)
        return MCP_ENOMEM;
    n->n += n->n < BRIDGE_NEAR;
    for (size_t i = n->n - 1; i > at; i--)
        n->uris[i] = n->uris[i - 1], n->distance[i] = n->distance[i - 1];
    n->uris[at] = copy;
    n->distance[at] = far;
    return MCP_OK;
}
