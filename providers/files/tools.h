/* tools.h: the tools that take more than a look: see tools.c, which registers them. */
#ifndef FILES_TOOLS_H
#define FILES_TOOLS_H

#include "provider.h"

/* tools_list.c: list_resources and find_resources. */
extern const char files_list_input[], files_find_input[], files_list_output[];
int files_call_list(mcp_request *req, const mcp_json *arguments, void *user);
int files_call_find(mcp_request *req, const mcp_json *arguments, void *user);

/* tools_search.c: search_resources. */
extern const char files_search_input[], files_search_output[];
int files_call_search(mcp_request *req, const mcp_json *arguments, void *user);

#endif
