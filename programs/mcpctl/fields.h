/* fields.h: values for the properties of a schema, typed by a person or given as texts: of a
 * server's form, or of a tool.
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

/* The properties of an object's schema in their order; *it is zero at first. False: no further
 * one. */
bool field_next(const mcp_json *root, mcp_json_iter *it, field *ret);

/* What stands for a property that is left open; NULL: nothing does. A default of null is none. */
const mcp_json *field_default(const field *f);

typedef struct field_reason {
    char text[320];
} field_reason;

/* The JSON text of the value that this text means, to be freed: a choice by its value or title, yes
 * or no, a number, several separated by commas. NULL: it does not fit; *why says why not. */
char *field_value(const field *f, const char *text, field_reason *why);
/* Whether a value fits. One whose schema cannot be used does. */
bool field_fits(const field *f, mcp_str json, field_reason *why);

typedef enum field_answer {
    FIELD_TYPED,   /* *ret is JSON text, to be freed */
    FIELD_DEFAULT, /* *ret too */
    FIELD_LEFT_OUT,
    FIELD_END, /* of input, or a signal */
} field_answer;

/* Asks on the terminal, again with the reason for as long as the answer does not fit. */
field_answer field_ask(const field *f, char **ret);

#endif
