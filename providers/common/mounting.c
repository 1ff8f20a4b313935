/* mounting.c: see mounting.h. */
#include "mounting.h"

#include <stdio.h>
#include <string.h>

#include "pieces.h"

void common_explain(mcp_error *error, int code, const char *what, const char *why)
{
    if (!error)
        return;
    size_t whys = strlen(why), most = sizeof(error->text) - 3;
    size_t room = whys + 40 < most ? most - whys : 40;
    error->code = code;
    error->offset = 0;
    snprintf(error->text, sizeof(error->text), "%.*s: %s", (int)room, what, why);
}

int common_set_name(const mcp_allocator *alloc, const char *scheme, mcp_str name,
                    const char *source, char **ret_name, char **ret_prefix, mcp_error *error)
{
    common_buffer prefix;
    if (!name.len || name.len > COMMON_NAME_MAX)
        return common_refuse(error, MCP_EINVAL, source,
                             "its name must have 1 to 64 bytes: ?name=NAME");
    common_buffer_init(&prefix, alloc);
    bool ok = common_put(&prefix, scheme) && common_put(&prefix, "://") &&
              common_pieces_put(&prefix, name) && common_put(&prefix, "/");
    *ret_prefix = ok ? common_copy(alloc, prefix.ptr, prefix.len) : NULL;
    *ret_name = common_copy(alloc, name.ptr, name.len);
    common_buffer_free(&prefix);
    return *ret_prefix && *ret_name ? MCP_OK : MCP_ENOMEM;
}

/* ---- what a source offers -------------------------------------------------------------------- */

int common_offer_template(common_offer offer, const mcp_resource_template *tmpl, void *user,
                          mcp_error *error)
{
    return offer.to ? offer.to->add_template(tmpl, error, offer.to->user)
                    : mcp_server_add_template(offer.server, tmpl, user, error);
}

int common_offer_tool(common_offer offer, const mcp_tool *tool, void *user, mcp_error *error)
{
    return offer.to ? offer.to->add_tool(tool, error, offer.to->user)
                    : mcp_server_add_tool(offer.server, tool, user, error);
}

/* ---- templates ------------------------------------------------------------------------------- */

bool common_template_name(common_buffer *to, const char *prefix, const char *name, const char *what)
{
    const char *end = strstr(prefix, "://");
    size_t len = end ? (size_t)(end - prefix) : 0;
    return common_buffer_append(to, prefix, len) == MCP_OK && common_put(to, ".") &&
           common_put(to, name) && common_put(to, ".") && common_put(to, what) &&
           common_buffer_append(to, "", 1) == MCP_OK;
}

static bool put_uri(common_buffer *to, const char *prefix, const char *rest)
{
    return common_put(to, prefix) && common_put(to, rest) &&
           common_buffer_append(to, "", 1) == MCP_OK;
}

int common_templates_add(const common_templates *all, common_offer offer,
                         const mcp_allocator *alloc, const char *name, const char *prefix,
                         void *user, mcp_error *error)
{
    common_buffer uri, full;
    int rc = MCP_OK;
    common_buffer_init(&uri, alloc);
    common_buffer_init(&full, alloc);
    for (size_t i = 0; rc == MCP_OK && i < all->n; i++) {
        const common_template *t = &all->template[i];
        uri.len = full.len = 0;
        rc = MCP_ENOMEM;
        if (put_uri(&uri, prefix, t->rest) && common_template_name(&full, prefix, name, t->name))
            rc = common_offer_template(
                offer,
                MCP_OPTIONS(mcp_resource_template, .uri_template = uri.ptr, .name = full.ptr,
                            .title = t->title, .description = t->description, .mime_type = t->mime,
                            .read = all->read, .complete = all->complete),
                user, error);
    }
    common_buffer_free(&uri);
    common_buffer_free(&full);
    return rc;
}

/* ---- options --------------------------------------------------------------------------------- */

uint64_t common_number(const mcp_json *options, const char *key)
{
    return (uint64_t)mcp_json_int(mcp_json_get(options, key), 0);
}

int common_text(const mcp_json *options, const char *key, char *room, size_t size, const char **ret,
                mcp_error *error)
{
    mcp_str text = mcp_json_string(mcp_json_get(options, key));
    *ret = NULL;
    if (!text.ptr)
        return MCP_OK;
    if (text.len >= size || memchr(text.ptr, 0, text.len))
        return common_refuse(error, MCP_EINVAL, key, "it is too long or contains NUL");
    memcpy(room, text.ptr, text.len);
    room[text.len] = 0;
    *ret = room;
    return MCP_OK;
}
