/* entry.c: converts an entry of a list to the descriptor for its registration. */
#include <stdio.h>

#include "provider.h"

static const char *text_of(const mcp_json *from, const char *key)
{
    return mcp_json_string(mcp_json_get(from, key)).ptr;
}

char *isolated_text(const mcp_allocator *alloc, const mcp_json *value)
{
    mcp_str text;
    mcp_json_writer *w = value ? mcp_json_writer_new(alloc, 0) : NULL;
    mcp_json_add_value(w, value);
    char *made =
        mcp_json_writer_finish(w, &text) == MCP_OK ? common_copy(alloc, text.ptr, text.len) : NULL;
    mcp_json_writer_free(w);
    return made;
}

static void read_annotations(mcp_annotations *to, const mcp_json *from)
{
    const mcp_json *priority = mcp_json_get(from, "priority"), *v;
    mcp_json_iter it = {0};
    *to = (mcp_annotations){.size = sizeof(*to),
                            .has_priority = priority != NULL,
                            .priority = mcp_json_number(priority, 0),
                            .last_modified = text_of(from, "lastModified")};
    while ((v = mcp_json_next(mcp_json_get(from, "audience"), &it, NULL)) != NULL)
        to->audience |= mcp_str_eq(mcp_json_string(v), MCP_STR("user")) ? MCP_AUDIENCE_USER
                                                                        : MCP_AUDIENCE_ASSISTANT;
}

static void read_icon(mcp_icon *to, char sizes[64], const mcp_json *from)
{
    const mcp_json *v;
    mcp_json_iter it = {0};
    size_t len = 0;
    sizes[0] = 0;
    while ((v = mcp_json_next(mcp_json_get(from, "sizes"), &it, NULL)) != NULL && len < 64) {
        const char *size = mcp_json_string(v).ptr;
        int n = size ? snprintf(sizes + len, 64 - len, "%s%s", len ? " " : "", size) : 0;
        len += n > 0 ? (size_t)n : 0;
    }
    *to = (mcp_icon){.size = sizeof(*to),
                     .src = text_of(from, "src"),
                     .mime_type = text_of(from, "mimeType"),
                     .sizes = sizes[0] ? sizes : NULL,
                     .theme = text_of(from, "theme")};
}

static size_t read_icons(isolated_entry *e, const mcp_json *from)
{
    size_t n = mcp_json_count(from), most = sizeof(e->icons) / sizeof(*e->icons);
    n = n < most ? n : most;
    for (size_t i = 0; i < n; i++)
        read_icon(&e->icons[i], e->sizes[i], mcp_json_at(from, i));
    return n;
}

void isolated_entry_read(isolated_entry *e, const mcp_json *from, const mcp_allocator *alloc)
{
    const mcp_json *annotations = mcp_json_get(from, "annotations");
    const mcp_json *icons = mcp_json_get(from, "icons");
    int64_t size = mcp_json_int(mcp_json_get(from, "size"), -1);
    e->resource = (mcp_resource){.size = sizeof(e->resource),
                                 .uri = text_of(from, "uri"),
                                 .name = text_of(from, "name"),
                                 .title = text_of(from, "title"),
                                 .description = text_of(from, "description"),
                                 .mime_type = text_of(from, "mimeType"),
                                 .has_size = size >= 0,
                                 .resource_size = size >= 0 ? (uint64_t)size : 0};
    if (annotations) {
        read_annotations(&e->annotations, annotations);
        e->resource.annotations = &e->annotations;
    }
    e->resource.n_icons = read_icons(e, icons);
    e->resource.icons = e->resource.n_icons ? e->icons : NULL;
    e->alloc = *alloc;
    e->meta = isolated_text(alloc, mcp_json_get(from, "_meta"));
    e->resource.meta = e->meta;
}

void isolated_entry_free(isolated_entry *e)
{
    common_release(&e->alloc, e->meta);
    e->meta = NULL;
}
