/* object.c: the members that several kinds of objects share. */
#include "protocol/object.h"

void mcp__object_key(mcp__object *o, const char *name)
{
    mcp__buf_char(o->buf, o->separator);
    o->separator = ',';
    mcp__buf_char(o->buf, '"');
    mcp__buf_add(o->buf, name, strlen(name));
    mcp__buf_lit(o->buf, "\":");
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
    if (o->separator == '{')
        mcp__buf_char(o->buf, '{');
    mcp__buf_char(o->buf, '}');
}

static void put_audience(mcp__buf *b, unsigned audience)
{
    char separator = '[';
    if (audience & MCP_AUDIENCE_USER) {
        mcp__buf_lit(b, "[\"user\"");
        separator = ',';
    }
    if (audience & MCP_AUDIENCE_ASSISTANT) {
        mcp__buf_char(b, separator);
        mcp__buf_lit(b, "\"assistant\"");
    }
    mcp__buf_char(b, ']');
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
    char separator = '[';
    for (const char *at = sizes; *at;) {
        size_t len = strcspn(at, " ");
        if (len) {
            mcp__buf_char(b, separator);
            mcp__json_put_str(b, (mcp_str){at, len});
            separator = ',';
        }
        at += len + (at[len] == ' ');
    }
    if (separator == '[')
        mcp__buf_char(b, '[');
    mcp__buf_char(b, ']');
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
    for (size_t i = 0; i < n; i++) {
        mcp_icon from;
        mcp__take_element(&from, sizeof(from), icons, i);
        mcp__buf_char(o->buf, i ? ',' : '[');
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
    mcp__buf_char(o->buf, ']');
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
