/* source_name.c: the name of a source for a server in a host's configuration file. */
#include "source_name.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { CUT = 19 /* of a name that is too long; the rest is "-" and four digits of its hash */ };

static unsigned hash_of(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325U;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3U;
    hash ^= hash >> 32;
    return (unsigned)(hash ^ hash >> 16) & 0xffff;
}

typedef struct naming {
    char *to;
    size_t n;
    bool cut;
} naming;

static void put(naming *n, char c)
{
    n->cut = n->cut || n->n == SOURCE_NAME_MAX;
    if (n->n < SOURCE_NAME_MAX)
        n->to[n->n++] = c;
}

void source_name(const char *entry, char to[SOURCE_NAME_MAX + 1])
{
    naming n = {.to = to};
    bool gap = false;
    for (const char *p = entry; *p; p++) {
        char c = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
        bool digit = c >= '0' && c <= '9';
        if (!digit && (c < 'a' || c > 'z')) {
            gap = true;
            continue;
        }
        if (digit && !n.n)
            put(&n, 's'), gap = true;
        if (gap && n.n)
            put(&n, '-');
        put(&n, c);
        gap = false;
    }
    if (n.cut || !n.n) {
        n.n = n.n < CUT ? n.n : CUT;
        while (n.n && to[n.n - 1] == '-')
            n.n--;
        snprintf(to + n.n, SOURCE_NAME_MAX + 1 - n.n, "%s%04x", n.n ? "-" : "s-", hash_of(entry));
    } else {
        to[n.n] = 0;
    }
}
