/* pattern.h: LIKE and GLOB for one text, with bounded time.
 *
 * SQLite's own like() and glob() take time proportional to the product of the lengths of text and
 * pattern, in one step that cannot be interrupted. These functions may take as long in the worst
 * case, but the caller can stop them.
 */
#ifndef SQLITE_PATTERN_H
#define SQLITE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The special characters of a pattern; 0 means that there is none. */
typedef struct sqlite_pattern {
    uint32_t any;    /* any sequence, also an empty one: '%' or '*' */
    uint32_t one;    /* one character: '_' or '?' */
    uint32_t set;    /* '[': one of the characters up to ']' */
    uint32_t escape; /* the next character stands for itself */
    bool fold;       /* ASCII letters match in both cases */

    /* Called regularly with the number of bytes compared since the last call. If it returns false,
     * matching stops. */
    bool (*spend)(void *user, size_t bytes);
    void *user;
} sqlite_pattern;

typedef enum sqlite_matched {
    SQLITE_MATCHED_NOT,
    SQLITE_MATCHED,
    SQLITE_MATCHED_STOPPED,
} sqlite_matched;

/* Matches the pattern with the whole text. Both end at their first NUL. */
sqlite_matched sqlite_pattern_match(const sqlite_pattern *rules, const char *pattern,
                                    const char *text);

/* Reads the next character as SQLite does, even if the text is not UTF-8. Returns 0 at the end,
 * without advancing. */
uint32_t sqlite_pattern_take(const char **text);

#endif
