/* view_sources.h: tells the views of the configuration which sources there are, and what they have. */
#ifndef MCPD_VIEW_SOURCES_H
#define MCPD_VIEW_SOURCES_H

#include "offer.h"

/* Binds the views of the build to the sources that were mounted (o->placing). Does nothing without
 * views. Returns MCP_OK, or a negative code after reporting the error, or with *error set. */
int view_sources_bind(offer *o, mcp_error *error);

#endif
