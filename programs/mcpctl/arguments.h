/* arguments.h: words name=value of a command line, as JSON. */
#ifndef MCPCTL_ARGUMENTS_H
#define MCPCTL_ARGUMENTS_H

#include "mcpctl.h"

/* "name=text", or "name:=JSON". */
typedef struct argument {
    mcp_str name;
    const char *value;
    bool is_json;
} argument;

/* False, after saying so: it is no such word. */
bool argument_parse(const char *word, argument *ret);
/* The last word for a name, or NULL. */
const char *argument_value(const char *const *words, size_t count, mcp_str name);

/* The JSON text of an object, of --args and of words, each as the property's schema wants it
 * (schema NULL: texts). To be freed; NULL after saying why not. */
char *arguments_make(const ctl *c, const char *const *words, size_t count, const mcp_json *schema);

/* Whether they fit: EXIT_OK; EXIT_USAGE after saying what does not. A schema that cannot be checked
 * gets a warning and is no obstacle. */
int arguments_check(const ctl *c, const char *what, const char *arguments, const mcp_json *schema);

/* missing.c: adds what a tool requires and was not given: the default of its schema, or what the
 * person types when asked. EXIT_OK; EXIT_USAGE after naming what is missing; EXIT_REFUSED when the
 * person ended the questions. */
int arguments_complete(ctl *c, const char *tool, const mcp_json *schema, char **arguments);

/* Whether the structured content of a tool's result is what its outputSchema (NULL: it has none)
 * promises: EXIT_OK; EXIT_PROTOCOL after saying what is not (2026-07-28, server/tools, "Output
 * Schema"). */
int result_check(const ctl *c, const char *what, const mcp_json *result, const mcp_json *schema);

/* The JSON types that a schema allows, as bits 1 << mcp_json_type; 0: it does not say. `root` is
 * where its references lead. */
unsigned schema_types(const mcp_json *root, const mcp_json *schema);
/* Adds a text as the first of those types that it can be. */
void add_typed(mcp_json_writer *w, const mcp_json *root, const mcp_json *schema, const char *text);

#endif
