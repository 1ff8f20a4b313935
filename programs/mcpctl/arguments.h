/* arguments.h: converts words name=value of a command line to JSON. */
#ifndef MCPCTL_ARGUMENTS_H
#define MCPCTL_ARGUMENTS_H

#include <common/fields.h>

#include "mcpctl.h"

/* "name=text", or "name:=JSON". */
typedef struct argument {
    mcp_str name;
    const char *value;
    bool is_json;
} argument;

/* Parses a word. Returns false after reporting that the word has neither form. */
bool argument_parse(const char *word, argument *ret);
/* Returns the last value given for a name, or NULL. */
const char *argument_value(const char *const *words, size_t count, mcp_str name);

/* Returns the JSON text of an object made of --args and the words. Each value gets the type in its
 * property's schema; without a schema, values are strings. The caller frees the text. Returns NULL
 * after reporting the error. */
char *arguments_make(const ctl *c, const char *const *words, size_t count, const mcp_json *schema);

/* Checks the arguments against the schema. Returns EXIT_OK, or EXIT_USAGE after reporting what is
 * wrong. A schema that cannot be used causes only a warning. */
int arguments_check(const ctl *c, const char *what, const char *arguments, const mcp_json *schema);

/* missing.c: adds arguments that a tool requires and that were not given: the default in its
 * schema, or the user's answer. Returns EXIT_OK, EXIT_USAGE after naming the missing arguments, or
 * EXIT_REFUSED if the user ended the prompt. */
int arguments_complete(ctl *c, const char *tool, const mcp_json *schema, char **arguments);

/* Checks the structured content of a tool's result against its outputSchema, which may be NULL.
 * Returns EXIT_OK, or EXIT_PROTOCOL after reporting the difference (2026-07-28, server/tools,
 * "Output Schema"). */
int result_check(const ctl *c, const char *what, const mcp_json *result, const mcp_json *schema);

#endif
