/* absent.h: missing sources: which they are, and polling until they exist.
 *
 * The rule: at the start, and when the configuration is reloaded, a source whose path does not
 * exist is left out if there is another source; the log says so, and the source is served within
 * two seconds after it appears. Any other problem with a source is an error, and so is a missing
 * source for --check-config.
 */
#ifndef MCPD_ABSENT_H
#define MCPD_ABSENT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct absent_source {
    char *path, *text; /* where it should be, and the message about it */
    size_t index;      /* of all sources */
} absent_source;

typedef struct absent {
    absent_source *items;
    size_t count;
} absent;

/* Whether nothing exists at the path. */
bool absent_is(const char *path);
/* Adds an entry; copies both texts. False: no memory. */
bool absent_add(absent *list, const char *path, const char *text, size_t index);
/* Whether an entry has that text. */
bool absent_has(const absent *list, const char *text);
/* Whether the source with that index is in the list. */
bool absent_is_at(const absent *list, size_t index);
/* Whether any of them exists now. */
bool absent_any_came(const absent *list);
void absent_clear(absent *list);

#endif
