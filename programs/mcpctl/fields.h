/* fields.h: gets values for the properties of a schema (of a server's form or of a tool) from
 * prompts or strings.
 */
#ifndef MCPCTL_FIELDS_H
#define MCPCTL_FIELDS_H

#include "mcpctl.h"

typedef struct field {
    const mcp_json *root; /* the schema of the whole object */
    mcp_str name;
    const mcp_json *schema;
    bool required;
} field;

/* Iterates over the properties of an object's schema in their order; *it is zero at first. Returns
 * false at the end. */
bool field_next(const mcp_json *root, mcp_json_iter *it, field *ret);

/* Returns the default of a property, or NULL if there is none. A default of null counts as none. */
const mcp_json *field_default(const field *f);

typedef struct field_reason {
    char text[320];
} field_reason;

/* Converts a string to the JSON text of a value: a choice by its value or title, yes or no, a
 * number, or several values separated by commas. The caller frees the result. Returns NULL with the
 * reason in *why if the string is invalid. */
char *field_value(const field *f, const char *text, field_reason *why);
/* Returns whether a value is valid. If the schema cannot be used, every value counts as
 * valid. */
bool field_fits(const field *f, mcp_str json, field_reason *why);

typedef enum field_answer {
    FIELD_TYPED,   /* *ret is JSON text, which the caller frees */
    FIELD_DEFAULT, /* the default; *ret as above */
    FIELD_LEFT_OUT,
    FIELD_END, /* end of input, or a signal */
} field_answer;

/* Prompts on the terminal, and repeats the prompt with the reason while the answer is invalid. */
field_answer field_ask(const field *f, char **ret);

#endif
