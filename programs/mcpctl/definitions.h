/* definitions.h: lists of prompts and tools: prints them, or searches them for one name. */
#ifndef MCPCTL_DEFINITIONS_H
#define MCPCTL_DEFINITIONS_H

#include "mcpctl.h"

/* Of --long, after the name. */
typedef struct definition_field {
    const char *title;
    void (*put)(FILE *to, const mcp_json *definition); /* as the server has it */
} definition_field;

enum { DEFINITION_FIELDS = 3 };

typedef struct definitions {
    const char *capability; /* "tools": of the server, and the member of the result */
    const char *method;     /* "tools/list" */
    const char *kind;       /* "tool" */
    void (*put)(const ctl *c, const mcp_json *definition); /* for people */
    definition_field fields[DEFINITION_FIELDS];
    size_t n_fields;
} definitions;

/* The name and a field behind it on a terminal; returns the column behind that. */
size_t definition_put_head(const ctl *c, const definition_field *field, const mcp_json *definition);
void definition_put_description(FILE *to, const mcp_json *definition);

int definitions_list(ctl *c, const definitions *d);
/* The definition of that name, in a document of its own: to be freed. EXIT_OK and *ret; EXIT_USAGE
 * after saying that there is none, or another failure. */
int definitions_find(ctl *c, const definitions *d, const char *name, mcp_json_doc **ret);

extern const definitions prompt_definitions, tool_definitions;

#endif
