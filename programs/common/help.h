/* help.h: formats the texts for --help and the manual page from a table of options. */
#ifndef PROGRAM_HELP_H
#define PROGRAM_HELP_H

#include "options.h"

/* Wraps words in lines of at most 78 columns. The first line already contains `column` columns; the
 * others are indented by `indent` spaces. A newline in the text starts a new line. The output ends
 * with a newline. */
void help_wrap(FILE *to, const char *text, int indent, int column);

/* Writes one entry, such as "  --name VALUE, -n     Text.": `left`, and at `column` the text that
 * explains it. */
void help_entry(FILE *to, const char *left, const char *text, int column);
/* Writes one option, or the options of the command; if `command` is NULL, those that all commands have. */
void help_option(FILE *to, const option *o);
void help_options(FILE *to, const option *table, size_t count, const char *command);

void man_line(FILE *to, const char *text);
/* Writes all options for the manual page, each with the commands that have it. */
void man_options(FILE *to, const option *table, size_t count);

#endif
