/* roster.c: the set of names in a list. A server's list may have any length, so memory is limited.
 * Repeated names count once.
 */
#include "roster.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 200000, MOST_BYTES = 32 << 20 };

static bool grow(roster *r)
{
    if (r->count < r->room)
        return true;
    size_t room = r->room ? r->room * 2 : 64;
    char **grown = realloc(r->names, room * sizeof(*grown));
    if (!grown)
        return false;
    r->names = grown;
    r->room = room;
    return true;
}

void roster_add(roster *r, mcp_str name)
{
    bool fits = r->count < MOST_NAMES && name.len < MOST_BYTES - r->bytes && grow(r);
    char *copy = fits ? malloc(name.len + 1) : NULL;
    if (!copy) {
        r->is_incomplete = true;
        return;
    }
    if (name.len)
        memcpy(copy, name.ptr, name.len);
    copy[name.len] = 0;
    r->bytes += name.len + 1;
    r->names[r->count++] = copy;
    r->sorted = false;
}

void roster_clear(roster *r)
{
    for (size_t i = 0; i < r->count; i++)
        free(r->names[i]);
    free(r->names);
    *r = (roster){0};
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort(roster *r)
{
    size_t kept = 0;
    if (r->sorted || !r->count)
        return;
    qsort(r->names, r->count, sizeof(*r->names), by_bytes);
    for (size_t i = 0; i < r->count; i++) {
        if (kept && strcmp(r->names[kept - 1], r->names[i]) == 0)
            free(r->names[i]);
        else
            r->names[kept++] = r->names[i];
    }
    r->count = kept;
    r->sorted = true;
}

size_t roster_compare(roster *before, roster *after, roster_fn *fn, void *user)
{
    size_t i = 0, k = 0, differences = 0;
    sort(before);
    sort(after);
    while (i < before->count || k < after->count) {
        int order = i == before->count  ? 1
                    : k == after->count ? -1
                                        : strcmp(before->names[i], after->names[k]);
        if (order) {
            fn(order > 0, order > 0 ? after->names[k] : before->names[i], user);
            differences++;
        }
        i += order <= 0;
        k += order >= 0;
    }
    return differences;
}
