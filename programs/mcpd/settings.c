/* settings.c: merges the options of the command line with those of the configuration file. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include <common/text.h>

#include "modules.h"
#include "options.h"
#include "servers.h"
#include "source_write.h"

bool sources_add(sources *list, const source *one)
{
    source *grown = realloc(list->items, (list->count + 1) * sizeof(*grown));
    if (!grown)
        return false;
    list->items = grown;
    list->items[list->count++] = *one;
    return true;
}

bool source_is_module(const source *s)
{
    return s->module || modules_is_source(s->text);
}

/* Cuts the parameters off the word of a folder. Returns false if out of memory. */
static bool cut_parameters(settings *s, source *one)
{
    size_t len = source_write_path(one->text);
    if (source_is_module(one) || !one->text[len])
        return true;
    char **grown = realloc(s->cut, (s->n_cut + 1) * sizeof(*grown));
    if (!grown)
        return false;
    s->cut = grown;
    char *path = s->cut[s->n_cut] = strndup(one->text, len);
    if (!path)
        return false;
    s->n_cut++;
    one->writes = one->text + len + 1;
    one->text = path;
    return true;
}

static int take_source(command_line *line, const char *word)
{
    settings *s = line->settings;
    source one = {.text = word};
    if (cut_parameters(s, &one) && sources_add(&s->sources, &one))
        return 0;
    say("out of memory");
    return 2;
}

int options_parse(int argc, char **argv, settings *ret)
{
    size_t count;
    const option *table = options_table(&count);
    *ret = (settings){0};
    command_line line = {
        .table = table,
        .count = count,
        .settings = ret,
        .word = take_source,
        .kept = &ret->kept,
    };
    return command_line_parse(&line, argc, argv);
}

static bool copy_texts(texts *to, const texts *from)
{
    texts_clear(to);
    for (size_t i = 0; i < from->count; i++)
        if (!texts_add(to, from->items[i]))
            return false;
    return true;
}

const source *sources_named(const source *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].text, name) == 0 || (list[i].name && strcmp(list[i].name, name) == 0))
            return &list[i];
    return NULL;
}

bool options_over(settings *file, const settings *line)
{
    size_t count;
    const sources configured = file->sources;
    const option *table = options_table(&count);
    bool ok = copy_texts(&file->kept, &line->kept);
    for (size_t i = 0; ok && i < count; i++)
        if (option_is_given(&table[i], line))
            ok = option_copy(&table[i], file, line);
    if (line->sources.count)
        file->sources = (sources){0};
    for (size_t i = 0; ok && i < line->sources.count; i++) {
        const source *given = &line->sources.items[i];
        const source *known =
            line->doctor ? sources_named(configured.items, configured.count, given->text) : NULL;
        ok = sources_add(&file->sources, known ? known : given);
    }
    if (line->sources.count)
        free(configured.items);
    texts_clear(&file->files);
    for (size_t i = 0; ok && i < file->sources.count; i++)
        if (!source_is_module(&file->sources.items[i]))
            ok = texts_add(&file->files, file->sources.items[i].text);
    return ok;
}

void options_clear(settings *s)
{
    texts *lists[] = {&s->include,       &s->exclude, &s->http,    &s->allow_host, &s->allow_origin,
                      &s->trusted_proxy, &s->modules, &s->servers, &s->files,      &s->kept};
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        texts_clear(lists[i]);
    servers_free(s->hosted);
    s->hosted = NULL;
    for (size_t i = 0; i < s->n_cut; i++)
        free(s->cut[i]);
    free(s->cut);
    s->cut = NULL;
    s->n_cut = 0;
    free(s->sources.items);
    s->sources = (sources){0};
}

const char *options_what(const settings *s)
{
    return s->sources.count ? s->sources.items[0].text : s->prompts;
}
