/* entry.h: one entry of the server's lists: whether it is wanted, its line, and what is in it. */
#ifndef BRIDGE_ENTRY_H
#define BRIDGE_ENTRY_H

#include "way.h"

bool bridge_wants(bridge_way *w, const mcp_json *entry);
bool bridge_wants_template(bridge_way *w, const mcp_json *tmpl);
/* MCP_OK, or as search_put_entry(). */
int bridge_put_entry(bridge_way *w, const mcp_json *entry);

/* Asks for the contents of w->entry. MCP_PENDING; MCP_OK: they are at hand, or it is not read. */
int bridge_ask_entry(bridge_way *w);
/* Takes what was read: the step is BRIDGE_AT_LINES where it can be searched. */
int bridge_take_entry(bridge_way *w);
/* Searches it; on any thread. */
void bridge_search_lines(void *way);
/* Takes the outcome of that. */
int bridge_take_lines(bridge_way *w);
/* It is done with. */
void bridge_next_entry(bridge_way *w);

#endif
