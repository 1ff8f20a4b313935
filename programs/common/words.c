/* words.c: see words.h. */
#include "words.h"

#include <stdlib.h>

bool words_add(words *w, char *text)
{
    /* There is room for a power of two, of which one is the NULL. */
    bool full = (w->count & (w->count + 1)) == 0;
    char **items = full && text ? realloc(w->items, 2 * (w->count + 1) * sizeof(*items)) : w->items;
    if (!text || !items) {
        free(text);
        return false;
    }
    w->items = items;
    w->items[w->count++] = text;
    w->items[w->count] = NULL;
    return true;
}

void words_clear(words *w)
{
    for (size_t i = 0; i < w->count; i++)
        free(w->items[i]);
    free(w->items);
    *w = (words){0};
}
