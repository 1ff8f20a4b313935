/* form.h: a form with a field for each argument of a tool or a prompt, each variable of a template, or
 * each property of a question.
 */
#ifndef BROWSE_FORM_H
#define BROWSE_FORM_H

#include <common/fields.h>

#include "edit.h"

enum { FORM_FIELDS = 100 };

typedef struct form_field {
    mcp_str name, about;    /* of the definition */
    const mcp_json *schema; /* NULL: a string */
    bool required;
    edit value;
    char error[160];
} form_field;

/* Zero-initialize it, then use one of the form_of functions. */
typedef struct form {
    form_field *fields;
    size_t count, at, top;
    const mcp_json *root; /* the schema of the object */
    bool has_more;        /* properties beyond FORM_FIELDS are left out */
} form;

/* The definition must outlive the form. Return false if out of memory. */
bool form_of_schema(form *f, const mcp_json *schema);
bool form_of_prompt(form *f, const mcp_json *prompt);
/* Adds a field for a string. */
bool form_add(form *f, mcp_str name);
void form_clear(form *f);

typedef enum form_event { FORM_OTHER, FORM_EDITED, FORM_MOVED, FORM_SUBMITTED } form_event;
form_event form_key(form *f, key k);
/* Returns the number of rows that it has used. */
size_t form_draw(form *f, screen *s, area where);
/* Returns the JSON text of an object with the values, which the caller frees. Returns NULL if a value
 * is wrong; its field has the reason then, and the cursor. Strings are kept as they are if
 * `only_strings` is set. */
char *form_json(form *f, bool only_strings);

#endif
