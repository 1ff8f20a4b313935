/* pattern.h: LIKE and GLOB, one text at a time, with a bound on time.
 *
 * SQLite's own like() and glob() take as long as the product of the lengths of text and pattern, in
 * one step that nothing interrupts. These take as long in the worst case, and end in between when
 * the caller says so.
 */
#ifndef SQLITE_PATTERN_H
#define SQLITE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the characters of a pattern mean; 0: no character means this. */
typedef struct sqlite_pattern {
    uint32_t any;    /* any characters, also none: '%' or '*' */
    uint32_t one;    /* one character: '_' or '?' */
    uint32_t set;    /* '[': one of those up to ']' */
    uint32_t escape; /* the next character is itself */
    bool fold;       /* ASCII letters match in either case */

    /* Called from time to time with the number of bytes that were compared since; false: stop. */
    bool (*spend)(void *user, size_t bytes);
    void *user;
} sqlite_pattern;

typedef enum sqlite_matched {
    SQLITE_MATCHED_NOT,
    SQLITE_MATCHED,
    SQLITE_MATCHED_STOPPED,
} sqlite_matched;

/* Whether the whole of `text` is what the pattern describes. Both end at their first NUL. */
sqlite_matched sqlite_pattern_match(const sqlite_pattern *rules, const char *pattern,
                                    const char *text);

/* The next character, as SQLite reads one where a text is not UTF-8, too; 0 at the end, which is
 * not passed. */
uint32_t sqlite_pattern_take(const char **text);

#endif
