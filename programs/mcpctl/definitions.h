/* definitions.h: lists of prompts and tools: printed, or looked through for one name. */
#ifndef MCPCTL_DEFINITIONS_H
#define MCPCTL_DEFINITIONS_H

#include "mcpctl.h"

typedef struct definitions {
    const char *capability; /* "tools": of the server, and the member of the result */
    const char *method;     /* "tools/list" */
    const char *kind;       /* "tool" */
    void (*put)(const ctl *c, const mcp_json *definition);        /* for people */
    void (*put_fields)(const ctl *c, const mcp_json *definition); /* of --long, after the name */
} definitions;

int definitions_list(ctl *c, const definitions *d);
/* The definition of that name, in a document of its own: to be freed. EXIT_OK and *ret; EXIT_USAGE
 * after saying that there is none, or another failure. */
int definitions_find(ctl *c, const definitions *d, const char *name, mcp_json_doc **ret);

extern const definitions prompt_definitions, tool_definitions;

#endif
