/* fields.h: asks for the values of the properties of a schema on the terminal. */
#ifndef MCPCTL_FIELDS_H
#define MCPCTL_FIELDS_H

#include <common/fields.h>

#include "mcpctl.h"

typedef enum field_answer {
    FIELD_TYPED,   /* *ret is JSON text, which the caller frees */
    FIELD_DEFAULT, /* the default; *ret as above */
    FIELD_LEFT_OUT,
    FIELD_END, /* end of input, or a signal */
} field_answer;

/* Prompts on the terminal, and repeats the prompt with the reason while the answer is invalid. */
field_answer field_ask(const field *f, char **ret);

#endif
