/* definitions.h: prints lists of prompts and tools, or searches them for a name. */
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
    const char
        *capability;    /* such as "tools": the server's capability and the member of the result */
    const char *method; /* "tools/list" */
    const char *kind;   /* "tool" */
    void (*put)(const ctl *c, const mcp_json *definition); /* for people */
    definition_field fields[DEFINITION_FIELDS];
    size_t n_fields;
} definitions;

/* Prints the name and a field after it on a terminal; returns the column. */
size_t definition_put_head(const ctl *c, const definition_field *field, const mcp_json *definition);
void definition_put_description(FILE *to, const mcp_json *definition);

int definitions_list(ctl *c, const definitions *d);
/* Gets the definition with that name, in the document *ret, which the caller frees. Returns
 * EXIT_OK, EXIT_USAGE after reporting that there is none, or the code of another error. */
int definitions_find(ctl *c, const definitions *d, const char *name, mcp_json_doc **ret);

/* Says on stderr that the server has none of these, and what it has instead. */
void definitions_say_instead(ctl *c, const char *lacking);

extern const definitions prompt_definitions, tool_definitions;

#endif
