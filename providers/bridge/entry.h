/* entry.h: one entry of the server's lists: filtering it, writing its line, and searching its
 * contents. */
#ifndef BRIDGE_ENTRY_H
#define BRIDGE_ENTRY_H

#include "walk.h"

/* Returns whether the entry or template matches the query. */
bool bridge_wants(bridge_walk *w, const mcp_json *entry);
bool bridge_wants_template(bridge_walk *w, const mcp_json *tmpl);
/* Adds the entry to the results. Returns the errors of search_put_entry(). */
int bridge_put_entry(bridge_walk *w, const mcp_json *entry);

bool bridge_needs_filters(const bridge_walk *w);
/* Returns whether a read failed because of the size of what was to be read. */
bool bridge_is_too_large(const mcp_json *error);
/* Ends the search of a resource before the part with this URI. */
int bridge_end_before(bridge_walk *w, mcp_str uri);
/* Requests the contents of w->entry. Returns MCP_PENDING, or MCP_OK if the contents are already
 * available or the entry is not read. */
int bridge_ask_entry(bridge_walk *w);
/* Handles the contents; the step becomes BRIDGE_AT_LINES if they can be searched. */
int bridge_take_entry(bridge_walk *w);
/* Searches the contents. May be called on any thread. */
void bridge_search_lines(void *way);
/* Handles the result of the search. If the resource has another part, the next step reads it,
 * unless `stop` is set or the resource takes too long. */
int bridge_take_lines(bridge_walk *w, bool stop);
/* Continues with the next entry. */
void bridge_next_entry(bridge_walk *w);

#endif
