/* absent.c: see absent.h. */
#define _GNU_SOURCE
#include "absent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool absent_is(const char *path)
{
    struct stat st;
    return *path && stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

bool absent_add(absent *list, const char *path, const char *text, size_t index)
{
    absent_source *grown = realloc(list->items, (list->count + 1) * sizeof(*grown));
    if (!grown)
        return false;
    list->items = grown;
    absent_source *made = &grown[list->count];
    *made = (absent_source){.path = strdup(path), .text = strdup(text), .index = index};
    list->count++;
    return made->path && made->text;
}

bool absent_has(const absent *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].text, text) == 0)
            return true;
    return false;
}

bool absent_is_at(const absent *list, size_t index)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].index == index)
            return true;
    return false;
}

bool absent_any_came(const absent *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (!absent_is(list->items[i].path))
            return true;
    return false;
}

void absent_clear(absent *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].path);
        free(list->items[i].text);
    }
    free(list->items);
    *list = (absent){0};
}
