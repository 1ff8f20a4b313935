/* contents.c: the contents of resources, tools and prompts in the form of each revision. The
 * entries of lists are in entry.c. */
#include "protocol/entry.h"

void mcp__object_key(mcp__object *o, const char *name)
{
    mcp__json_name(&o->members, name);
}

void mcp__object_str(mcp__object *o, const char *name, const char *value)
{
    if (!value)
        return;
    mcp__object_key(o, name);
    mcp__json_put_str(o->buf, mcp_str_from(value));
}

void mcp__object_end(mcp__object *o)
{
    mcp__json_end(&o->members);
}

/* ---- contents -------------------------------------------------------------------------------- */

static void put_data(mcp__object *o, const char *key, const mcp_content *c)
{
    mcp__object_key(o, key);
    mcp__json_put_base64(o->buf, c->bytes, c->bytes_len);
}

static void put_text(mcp__object *o, mcp_str text)
{
    mcp__object_key(o, "text");
    mcp__json_put_str(o->buf, text);
}

void mcp__put_resource_contents(mcp__buf *b, const mcp__revision *r, const mcp_content *c)
{
    mcp__object o = mcp__object_begin(b, r);
    mcp__object_str(&o, "uri", c->uri);
    mcp__object_str(&o, "mimeType", c->mime_type);
    if (c->bytes)
        put_data(&o, "blob", c);
    else
        put_text(&o, c->text);
    mcp__object_meta(&o, c->meta);
    mcp__object_end(&o);
}

static void put_media(mcp__object *o, const char *type, const mcp_content *c)
{
    mcp__object_str(o, "type", type);
    put_data(o, "data", c);
    mcp__object_str(o, "mimeType", c->mime_type ? c->mime_type : "application/octet-stream");
}

static void put_link(mcp__object *o, const mcp_content *c)
{
    const mcp_resource r = {.size = sizeof(r),
                            .uri = c->uri,
                            .name = c->name,
                            .title = c->title,
                            .description = c->description,
                            .mime_type = c->mime_type,
                            .has_size = c->has_size,
                            .resource_size = c->resource_size};
    mcp__object_str(o, "type", "resource_link");
    mcp__object_entry(o, MCP_ITEM_RESOURCE, &r);
}

static void put_embedded(mcp__object *o, const mcp_content *c)
{
    mcp__object_str(o, "type", "resource");
    mcp__object_key(o, "resource");
    mcp_content inner = *c;
    inner.meta = NULL;
    mcp__put_resource_contents(o->buf, o->revision, &inner);
}

/* Writes a text in place of the content, such as "[audio, audio/wav, 1234 bytes]" or "[resource
 * link, text/plain] file:///a". */
static void put_stand_in(mcp__object *o, const char *what, const mcp_content *c)
{
    mcp__buf text;
    mcp__buf_init(&text, o->buf->allocator, o->buf->limit);
    mcp__buf_printf(&text, "[%s", what);
    if (c->mime_type)
        mcp__buf_printf(&text, ", %s", c->mime_type);
    if (c->bytes)
        mcp__buf_printf(&text, ", %zu bytes", c->bytes_len);
    mcp__buf_lit(&text, "]");
    if (c->uri)
        mcp__buf_printf(&text, " %s", c->uri);
    if (text.failed && !o->buf->failed)
        o->buf->failed = text.failed;
    mcp__object_str(o, "type", "text");
    put_text(o, mcp__buf_view(&text));
    mcp__buf_free(&text);
}

void mcp__put_content_block(mcp__buf *b, const mcp__revision *r, const mcp_content *c)
{
    mcp__object o = mcp__object_begin(b, r);
    switch (c->kind) {
    case MCP_CONTENT_TEXT:
        mcp__object_str(&o, "type", "text");
        put_text(&o, c->text);
        break;
    case MCP_CONTENT_IMAGE: put_media(&o, "image", c); break;
    case MCP_CONTENT_AUDIO:
        if (r->audio)
            put_media(&o, "audio", c);
        else
            put_stand_in(&o, "audio", c);
        break;
    case MCP_CONTENT_LINK:
        if (r->resource_link)
            put_link(&o, c);
        else
            put_stand_in(&o, "resource link", c);
        break;
    case MCP_CONTENT_RESOURCE: put_embedded(&o, c); break;
    }
    mcp__object_annotations(&o, c->annotations);
    mcp__object_meta(&o, c->meta);
    mcp__object_end(&o);
}
