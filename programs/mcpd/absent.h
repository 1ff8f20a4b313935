/* absent.h: keeps a list of missing sources, which offer.c polls until they exist.
 *
 * At the start, and when the configuration is reloaded, a source whose path does not exist is left
 * out if there is another source. This is logged, and the source is served within two seconds after
 * it appears. Any other problem with a source is an error. With --check-config, a missing source is
 * an error too.
 */
#ifndef MCPD_ABSENT_H
#define MCPD_ABSENT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct absent_source {
    char *path, *text; /* the missing path, and the message about it */
    size_t index;      /* index in the list of all sources */
} absent_source;

typedef struct absent {
    absent_source *items;
    size_t count;
} absent;

/* Returns whether nothing exists at the path. */
bool absent_is(const char *path);
/* Adds an entry; copies both texts. Returns false if out of memory. */
bool absent_add(absent *list, const char *path, const char *text, size_t index);
/* Returns whether an entry has that text. */
bool absent_has(const absent *list, const char *text);
/* Returns whether the source with that index is in the list. */
bool absent_is_at(const absent *list, size_t index);
/* Returns whether any path in the list exists now. */
bool absent_any_came(const absent *list);
void absent_clear(absent *list);

#endif
