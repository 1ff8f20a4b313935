/* described.c: see described.h. */
#define _GNU_SOURCE
#include "described.h"

#include <stdlib.h>
#include <string.h>

#include "modules.h"

static bool has(const described_texts *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], text) == 0)
            return true;
    return false;
}

static int add(described_texts *list, const char *text, mcp_error *error)
{
    char **grown = realloc(list->items, (list->count + 1) * sizeof(*grown));
    list->items = grown ? grown : list->items;
    char *copy = grown ? strdup(text) : NULL;
    if (!copy)
        return MODULES_FAIL(error, MCP_ENOMEM, "out of memory");
    grown[list->count++] = copy;
    return MCP_OK;
}

static int add_source(const mcp_source *source, mcp_error *error, void *user)
{
    described *d = user;
    d->in_process = source->in_process;
    d->lists_items =
        source->size >= offsetof(mcp_source, items) + sizeof(source->items) && source->items;
    d->alone = d->alone || (source->size >= offsetof(mcp_source, alone) + sizeof(source->alone) &&
                            source->alone);
    bool named =
        source->size >= offsetof(mcp_source, names) + sizeof(source->names) && source->names;
    free(d->names);
    d->names = named ? strdup(source->names) : NULL;
    if (named && !d->names)
        return MODULES_FAIL(error, MCP_ENOMEM, "out of memory");
    return has(&d->prefixes, source->prefix)
               ? MODULES_FAIL(error, MCP_EEXIST, "another source has the prefix %.200s",
                              source->prefix)
               : add(&d->prefixes, source->prefix, error);
}

static int add_path(const mcp_source_path *path, mcp_error *error, void *user)
{
    described *d = user;
    return add(&d->paths, path->path, error);
}

static int add_template(const mcp_resource_template *tmpl, mcp_error *error, void *user)
{
    described *d = user;
    (void)tmpl, (void)error;
    d->n_templates++;
    return MCP_OK;
}

static int add_resource(const mcp_resource *resource, mcp_error *error, void *user)
{
    described *d = user;
    (void)resource, (void)error;
    d->n_resources++;
    return MCP_OK;
}

static int add_tool(const mcp_tool *tool, mcp_error *error, void *user)
{
    described *d = user;
    return has(&d->tools, tool->name)
               ? MODULES_FAIL(error, MCP_EEXIST, "another source has the tool %.128s", tool->name)
               : add(&d->tools, tool->name, error);
}

static int add_prompt(const mcp_prompt *prompt, mcp_error *error, void *user)
{
    described *d = user;
    d->n_prompts++;
    return add(&d->prompts, prompt->name, error);
}

mcp_description described_by(described *d)
{
    return (mcp_description){.size = sizeof(mcp_description),
                             .user = d,
                             .source = add_source,
                             .add_path = add_path,
                             .add_template = add_template,
                             .add_resource = add_resource,
                             .add_tool = add_tool,
                             .add_prompt = add_prompt};
}

static void clear(described_texts *list)
{
    while (list->count)
        free(list->items[--list->count]);
    free(list->items);
}

void described_clear(described *d)
{
    clear(&d->prefixes);
    clear(&d->tools);
    clear(&d->prompts);
    free(d->names);
    clear(&d->paths);
    *d = (described){.n_templates = 0};
}
