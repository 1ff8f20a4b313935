/* filter.h: resources that look through their contents themselves, such as rows of a table: a search
 * asks them for what contains its text, instead of reading all their parts. Databases are asked for
 * the names of columns in the same way, by the variable `named` (common/naming.h).
 *
 * Such a resource fits a template with the variable `contains` (with `icontains`, ignoring case), and
 * answers with a JSON object with "rows". Only the server's templates and reads are used, so a caller
 * finds nothing that it could not read, and sources in processes of their own need nothing else.
 */
#ifndef BRIDGE_FILTER_H
#define BRIDGE_FILTER_H

#include "walk.h"

/* Asks for the templates, until w->filters_known. Returns the codes of common_loopback_ask(). */
int bridge_ask_filters(bridge_walk *w);
int bridge_take_filters(bridge_walk *w);
void bridge_free_filters(bridge_walk *w);

/* Writes the URI of what contains the text to w->filter, which is empty if the current entry does not
 * look through its contents. Returns MCP_OK or MCP_ENOMEM. */
int bridge_filter_entry(bridge_walk *w, mcp_str uri);
/* Handles the error of such a read: sets *again if the entry is to be searched like any other. */
int bridge_filter_failed(bridge_walk *w, bool *again);

/* ---- names, for find_resources ---------------------------------------------------------------- */

/* Returns whether the current entry may know names that lists do not have. */
bool bridge_may_have_names(const bridge_walk *w);
/* Asks for them. Returns MCP_OK without a request if the entry knows none. */
int bridge_ask_names(bridge_walk *w);
int bridge_take_names(bridge_walk *w);

#endif
