/* definitions.h: lists of prompts and tools: prints them, or searches them for one name. */
#ifndef MCPCTL_DEFINITIONS_H
#define MCPCTL_DEFINITIONS_H

#include "mcpctl.h"

/* A field that --long prints after the name. */
typedef struct definition_field {
    const char *title;
    void (*put)(FILE *to, const mcp_json *definition); /* prints the server's value */
} definition_field;

enum { DEFINITION_FIELDS = 3 };

typedef struct definitions {
    const char *capability; /* "tools": the server's capability, and the member of the result */
    const char *method;     /* "tools/list" */
    const char *kind;       /* "tool" */
    void (*put)(const ctl *c, const mcp_json *definition); /* for people */
    definition_field fields[DEFINITION_FIELDS];
    size_t n_fields;
} definitions;

/* Prints the name and a field after it on a terminal; returns the column. */
size_t definition_put_head(const ctl *c, const definition_field *field, const mcp_json *definition);
void definition_put_description(FILE *to, const mcp_json *definition);

int definitions_list(ctl *c, const definitions *d);
/* The definition with that name, in a document that the caller frees. EXIT_OK and *ret; EXIT_USAGE
 * after reporting that there is none, or another error. */
int definitions_find(ctl *c, const definitions *d, const char *name, mcp_json_doc **ret);

extern const definitions prompt_definitions, tool_definitions;

#endif
