/* near.h: the names that are most similar to one that does not exist, for "Did you mean …?". Names are
 * similar if they differ only in case or in a few letters, or if one contains the other.
 */
#ifndef COMMON_NEAR_H
#define COMMON_NEAR_H

#include <mcp/base.h>

enum {
    COMMON_NEAR = 3,
    COMMON_NEAR_TEXT = 512, /* bytes, with the NUL; longer ones are left out */
    COMMON_NEAR_WORDS = COMMON_NEAR * COMMON_NEAR_TEXT + 40,
};

typedef struct common_near {
    mcp_str name; /* the one that does not exist */
    size_t n;
    size_t distance[COMMON_NEAR]; /* ascending */
    char text[COMMON_NEAR][COMMON_NEAR_TEXT];
} common_near;

/* Adds `text`, by which the caller refers to a thing of this name, if the name is similar. */
void common_near_try(common_near *near, mcp_str name, mcp_str text);

/* Writes " Did you mean A, or B?", or "" if there is nothing similar. Returns `to`. */
const char *common_near_words(const common_near *near, char to[COMMON_NEAR_WORDS]);

#endif
