/* completion.h: completion of a program's commands and options in bash, zsh and fish. */
#ifndef PROGRAM_COMPLETION_H
#define PROGRAM_COMPLETION_H

#include "options.h"

#define COMPLETION_SHELLS "bash|zsh|fish"

typedef struct completion_command {
    const char *name, *summary;
} completion_command;

typedef struct completion {
    const option *table;
    size_t count;
    const completion_command *commands; /* NULL if the program has no commands */
    size_t n_commands;
    const char *values_of; /* the option that `values` completes, or NULL */
    const char *values;    /* a shell command that prints one value per line */
} completion;

/* Prints the script for one of COMPLETION_SHELLS. */
void completion_print(FILE *to, const completion *c, const char *shell);

#endif
