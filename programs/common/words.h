/* words.h: a list of owned strings. */
#ifndef PROGRAM_WORDS_H
#define PROGRAM_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* `items` ends with NULL. Only words_add() adds to it. */
typedef struct words {
    char **items;
    size_t count;
} words;

/* Takes ownership of `text`. Returns false if out of memory, or if `text` is NULL. */
bool words_add(words *w, char *text);
void words_clear(words *w);

#endif
