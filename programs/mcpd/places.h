/* places.h: the URI prefixes of sources, by which access rules decide who may see them. */
#ifndef MCPD_PLACES_H
#define MCPD_PLACES_H

#include <mcp/provider.h>

#include "options.h"

typedef struct source_places {
    char **items; /* of each source; NULL: it is not there */
    size_t count;
} source_places;

/* Room for as many, none of them there. MCP_OK, MCP_ENOMEM. */
int places_begin(source_places *p, size_t count);
/* Keeps that of the source with this index: of a file or folder its own, of a module's what the
 * server has mounted last. MCP_OK, MCP_ENOMEM. */
int places_keep(source_places *p, size_t index, const source *s, const mcp_server *server);
/* Whether the caller may see the source; `req` NULL: whether it is there. */
bool places_may(const source_places *p, size_t index, const mcp_request *req);
void places_clear(source_places *p);

#endif
