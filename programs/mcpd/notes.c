/* notes.c: applies the configuration's "annotations" to resources. */
#include <stdlib.h>

#include "access.h"
#include "glob.h"

typedef struct note {
    globs match;
    const char *title, *description; /* from the configuration */
    unsigned audience;
    bool has_priority;
    double priority;
} note;

struct notes {
    note *items;
    size_t count;
    mcp_annotations made; /* the annotations of the current resource */
};

void notes_free(notes *n)
{
    if (!n)
        return;
    for (size_t i = 0; i < n->count; i++)
        globs_clear(&n->items[i].match);
    free(n->items);
    free(n);
}

static int add_match(config *c, note *to, const mcp_json *value)
{
    mcp_str text = mcp_json_string(value);
    if (!glob_is_place(text))
        return globs_add_uri(&to->match, text);
    const char *path = config_place(c, text);
    return path ? globs_add_path(&to->match, path) : MCP_ENOMEM;
}

static int read_match(config *c, note *to, const mcp_json *value)
{
    mcp_json_iter it = {0};
    int rc = MCP_OK;
    if (mcp_json_is(value, MCP_JSON_STRING))
        return add_match(c, to, value);
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(value, &it, NULL)) != NULL;)
        rc = add_match(c, to, v);
    return rc;
}

static int read_note(config *c, const mcp_json *value, note *to)
{
    mcp_json_iter it = {0};
    const mcp_json *priority = mcp_json_get(value, "priority");
    const mcp_json *audience = mcp_json_get(value, "audience");
    to->title = config_text(c, mcp_json_get(value, "title"));
    to->description = config_text(c, mcp_json_get(value, "description"));
    to->has_priority = priority != NULL;
    to->priority = mcp_json_number(priority, 0);
    for (const mcp_json *v; (v = mcp_json_next(audience, &it, NULL)) != NULL;)
        to->audience |= mcp_str_eq(mcp_json_string(v), MCP_STR("user")) ? MCP_AUDIENCE_USER
                                                                        : MCP_AUDIENCE_ASSISTANT;
    return read_match(c, to, mcp_json_get(value, "match"));
}

int notes_read(config *c, notes **ret)
{
    const mcp_json *list = mcp_json_get(config_root(c), "annotations");
    size_t count = mcp_json_count(list);
    mcp_json_iter it = {0};
    int rc = MCP_OK;
    *ret = NULL;
    if (!count)
        return MCP_OK;
    notes *made = calloc(1, sizeof(*made));
    if (made)
        made->items = calloc(count, sizeof(*made->items));
    if (!made || !made->items)
        rc = MCP_ENOMEM;
    for (const mcp_json *v; rc == MCP_OK && (v = mcp_json_next(list, &it, NULL)) != NULL;) {
        rc = read_note(c, v, &made->items[made->count++]);
        if (rc == MCP_ELIMIT) {
            char pointer[64];
            snprintf(pointer, sizeof(pointer), "/annotations/%zu/match", made->count - 1);
            config_wrong(c, rc, pointer, "a glob is longer than 1024 bytes");
        }
    }
    if (rc == MCP_OK)
        *ret = made;
    else
        notes_free(made);
    return rc;
}

static void apply(notes *n, const note *one, mcp_resource *resource)
{
    resource->title = one->title ? one->title : resource->title;
    resource->description = one->description ? one->description : resource->description;
    if (one->audience)
        n->made.audience = one->audience;
    if (one->has_priority) {
        n->made.has_priority = true;
        n->made.priority = one->priority;
    }
    if (one->audience || one->has_priority)
        resource->annotations = &n->made;
}

void notes_apply(mcp_resource *resource, void *user)
{
    notes *n = user;
    mcp_str uri = mcp_str_from(resource->uri);
    n->made = (mcp_annotations){.size = sizeof(n->made)};
    if (resource->annotations && resource->annotations->size <= sizeof(n->made))
        memcpy(&n->made, resource->annotations, resource->annotations->size);
    n->made.size = sizeof(n->made);
    for (size_t i = 0; i < n->count; i++)
        if (globs_match(&n->items[i].match, uri))
            apply(n, &n->items[i], resource);
}
