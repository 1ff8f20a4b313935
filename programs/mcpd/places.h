/* places.h: the URI prefixes of sources. Access rules are applied to them to decide which sources a
 * caller may see. */
#ifndef MCPD_PLACES_H
#define MCPD_PLACES_H

#include <mcp/provider.h>

#include "options.h"

typedef struct source_places {
    char **items; /* the prefix of each source; NULL if it is absent */
    char **paths; /* the file: URI of what a module's source reads; NULL if it is no path */
    size_t count;
} source_places;

/* Makes room for `count` sources, all absent. Returns MCP_OK or MCP_ENOMEM. */
int places_begin(source_places *p, size_t count);
/* Stores the prefix of the source at `index`: for a file or folder its own URI, for a module's
 * source the prefix of the server's last mount. Returns MCP_OK or MCP_ENOMEM. */
int places_keep(source_places *p, size_t index, const source *s, const mcp_server *server);
/* Stores the path that the source at `index` reads. Returns MCP_OK or MCP_ENOMEM. */
int places_keep_path(source_places *p, size_t index, const char *path);
/* Returns whether the caller may see the source; if `req` is NULL, whether it is present. */
bool places_may(const source_places *p, size_t index, const mcp_request *req);
void places_clear(source_places *p);

#endif
