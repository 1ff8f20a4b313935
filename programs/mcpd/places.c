/* places.c: see places.h. */
#define _GNU_SOURCE
#include "places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/access.h>
#include <mcp/uri.h>

int places_begin(source_places *p, size_t count)
{
    places_clear(p);
    p->items = calloc(count ? count : 1, sizeof(*p->items));
    p->paths = calloc(count ? count : 1, sizeof(*p->paths));
    p->count = p->items && p->paths ? count : 0;
    return p->items && p->paths ? MCP_OK : MCP_ENOMEM;
}

/* Returns "file://" and the path as in URIs. Returns NULL if out of memory, or if the path does not
 * exist. */
static char *place_of_path(const char *path)
{
    char *real = realpath(path, NULL), *uri = NULL;
    size_t len = real ? strlen(real) : 0;
    if (real && (uri = malloc(MCP_URI_ENCODED_SIZE(len) + sizeof("file://")))) {
        memcpy(uri, "file://", 7);
        uri[7 + mcp_uri_encode_path((mcp_str){real, len}, uri + 7)] = 0;
    }
    free(real);
    return uri;
}

int places_keep(source_places *p, size_t index, const source *s, const mcp_server *server)
{
    const char *last = "";
    for (size_t i = 0; mcp_server_mount_prefix(server, i); i++)
        last = mcp_server_mount_prefix(server, i);
    p->items[index] = source_is_module(s) ? strdup(last) : place_of_path(s->text);
    return p->items[index] ? MCP_OK : MCP_ENOMEM;
}

int places_keep_path(source_places *p, size_t index, const char *path)
{
    errno = 0;
    free(p->paths[index]);
    p->paths[index] = place_of_path(path);
    return p->paths[index] || errno != ENOMEM ? MCP_OK : MCP_ENOMEM;
}

bool places_may(const source_places *p, size_t index, const mcp_request *req)
{
    if (index >= p->count || !p->items[index])
        return false;
    return !req || mcp_request_may(req, MCP_ITEM_RESOURCE, mcp_str_from(p->items[index]));
}

void places_clear(source_places *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->items[i]), free(p->paths[i]);
    free(p->items);
    free(p->paths);
    *p = (source_places){0};
}
