/* object.c: the objects in messages, in the form of each revision: first the members that several
 * kinds of objects share, then the contents of resources, tools and prompts.
 */
#include "protocol/object.h"

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

static void put_audience(mcp__buf *b, unsigned audience)
{
    static const char *const names[] = {"user", "assistant"};
    static const unsigned bits[] = {MCP_AUDIENCE_USER, MCP_AUDIENCE_ASSISTANT};
    mcp__json_list array = mcp__json_begin_array(b);
    for (size_t i = 0; i < MCP__COUNT(names); i++) {
        if (!(audience & bits[i]))
            continue;
        mcp__json_next(&array);
        mcp__json_put_str(b, mcp_str_from(names[i]));
    }
    mcp__json_end(&array);
}

void mcp__object_annotations(mcp__object *o, const mcp_annotations *given)
{
    mcp_annotations a;
    if (!given)
        return;
    int rc = MCP__TAKE(&a, given, mcp_annotations, NULL);
    if (rc != MCP_OK && !o->buf->failed)
        o->buf->failed = rc;
    unsigned audience = a.audience & (MCP_AUDIENCE_USER | MCP_AUDIENCE_ASSISTANT);
    const char *last_modified = o->revision->last_modified ? a.last_modified : NULL;
    if (!audience && !a.has_priority && !last_modified)
        return;
    mcp__object_key(o, "annotations");
    mcp__object inner = mcp__object_begin(o->buf, o->revision);
    if (audience) {
        mcp__object_key(&inner, "audience");
        put_audience(o->buf, audience);
    }
    if (a.has_priority) {
        mcp__object_key(&inner, "priority");
        mcp__json_put_real(o->buf, a.priority);
    }
    mcp__object_str(&inner, "lastModified", last_modified);
    mcp__object_end(&inner);
}

static void put_sizes(mcp__buf *b, const char *sizes)
{
    mcp__json_list array = mcp__json_begin_array(b);
    for (const char *at = sizes; *at;) {
        size_t len = strcspn(at, " ");
        if (len) {
            mcp__json_next(&array);
            mcp__json_put_str(b, (mcp_str){at, len});
        }
        at += len + (at[len] == ' ');
    }
    mcp__json_end(&array);
}

void mcp__object_icons(mcp__object *o, const mcp_icon *icons, size_t n)
{
    if (n == 0 || !o->revision->icons)
        return;
    int rc = mcp__check_array(icons, n, "mcp_icon", NULL);
    if (rc != MCP_OK) {
        o->buf->failed = o->buf->failed ? o->buf->failed : rc;
        return;
    }
    mcp__object_key(o, "icons");
    mcp__json_list array = mcp__json_begin_array(o->buf);
    for (size_t i = 0; i < n; i++) {
        mcp_icon from;
        mcp__take_element(&from, sizeof(from), icons, i);
        mcp__json_next(&array);
        mcp__object icon = mcp__object_begin(o->buf, o->revision);
        mcp__object_str(&icon, "src", from.src);
        mcp__object_str(&icon, "mimeType", from.mime_type);
        if (from.sizes) {
            mcp__object_key(&icon, "sizes");
            put_sizes(o->buf, from.sizes);
        }
        mcp__object_str(&icon, "theme", from.theme);
        mcp__object_end(&icon);
    }
    mcp__json_end(&array);
}

void mcp__object_meta(mcp__object *o, const char *json)
{
    if (!json || !o->revision->object_meta)
        return;
    mcp__object_key(o, "_meta");
    int rc = mcp__json_put_checked(o->buf, mcp_str_from(json), MCP_JSON_OBJECT, NULL);
    if (rc != MCP_OK && !o->buf->failed)
        o->buf->failed = rc == MCP_EPARSE ? MCP_EINVAL : rc;
}

void mcp__object_name(mcp__object *o, const char *name, const char *title)
{
    bool has_title = o->revision->title;
    bool empty = !name || !*name;
    mcp__object_str(o, "name", empty && !has_title && title ? title : name ? name : "");
    if (has_title)
        mcp__object_str(o, "title", title);
}

void mcp__object_resource(mcp__object *o, const mcp_resource *d)
{
    mcp__object_str(o, "uri", d->uri);
    mcp__object_name(o, d->name, d->title);
    mcp__object_str(o, "description", d->description);
    mcp__object_str(o, "mimeType", d->mime_type);
    if (d->has_size) {
        mcp__object_key(o, "size");
        mcp__json_put_uint(o->buf, d->resource_size);
    }
    mcp__object_annotations(o, d->annotations);
    mcp__object_icons(o, d->icons, d->n_icons);
    mcp__object_meta(o, d->meta);
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
    mcp__object_str(o, "type", "resource_link");
    mcp__object_str(o, "uri", c->uri);
    mcp__object_name(o, c->name, c->title);
    mcp__object_str(o, "description", c->description);
    mcp__object_str(o, "mimeType", c->mime_type);
    if (c->has_size) {
        mcp__object_key(o, "size");
        mcp__json_put_uint(o->buf, c->resource_size);
    }
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
