/* words.c: see words.h. */
#include "words.h"

#include <stdlib.h>

bool words_add(words *w, char *text)
{
    char **grown = text ? realloc(w->items, (w->count + 2) * sizeof(*grown)) : NULL;
    if (!grown) {
        free(text);
        return false;
    }
    w->items = grown;
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
