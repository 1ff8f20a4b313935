/* fields.h: values for the properties of a schema (of a server's form or of a tool), made of strings. */
#ifndef PROGRAM_FIELDS_H
#define PROGRAM_FIELDS_H

#include <mcp/json.h>

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

/* The choices of a schema: {"enum": […], "enumNames": […]}, or alternatives with "const" and
 * "title"; for an array, those of its items. */
typedef struct field_choices {
    const mcp_json *list, *names; /* list: NULL if every value is allowed */
    mcp_json_iter it;
    size_t i;
    bool titled, several; /* several: the value is an array of choices */
} field_choices;

typedef struct field_choice {
    const mcp_json *value;
    mcp_str title;
} field_choice;

field_choices field_choices_of(const mcp_json *schema);
/* Returns false at the end. */
bool field_choices_next(field_choices *c, field_choice *ret);

/* Returns a value as JSON text, which the caller frees, or NULL if out of memory. */
char *field_json(const mcp_json *value);

/* Returns the JSON types that a schema allows, as bits 1 << mcp_json_type, or 0 if it restricts
 * nothing. References are resolved in `root`. */
unsigned schema_types(const mcp_json *root, const mcp_json *schema);
/* Adds a string as a value of the first of those types to which it can be converted. */
void add_typed(mcp_json_writer *w, const mcp_json *root, const mcp_json *schema, const char *text);

#endif
