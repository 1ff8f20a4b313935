/* fields.h: values for the properties of a schema (of a server's form or of a tool), from prompts
 * or texts.
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

/* Iterates over the properties of an object's schema in their order; *it is zero at first. False:
 * no more. */
bool field_next(const mcp_json *root, mcp_json_iter *it, field *ret);

/* The value used if a property is left open; NULL: none. A default of null counts as none. */
const mcp_json *field_default(const field *f);

typedef struct field_reason {
    char text[320];
} field_reason;

/* Converts a text to the JSON text of a value: a choice by its value or title, yes or no, a number,
 * or several values separated by commas. The caller frees it. NULL: the text is invalid, and *why
 * has the reason. */
char *field_value(const field *f, const char *text, field_reason *why);
/* Whether a value is valid. It is if the schema cannot be used. */
bool field_fits(const field *f, mcp_str json, field_reason *why);

typedef enum field_answer {
    FIELD_TYPED,   /* *ret is JSON text, which the caller frees */
    FIELD_DEFAULT, /* *ret too */
    FIELD_LEFT_OUT,
    FIELD_END, /* end of input, or a signal */
} field_answer;

/* Prompts on the terminal, and repeats the prompt with the reason while the answer is invalid. */
field_answer field_ask(const field *f, char **ret);

#endif
