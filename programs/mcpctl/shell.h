/* shell.h: parsing and completing lines of the shell. */
#ifndef MCPCTL_SHELL_H
#define MCPCTL_SHELL_H

#include "servers.h"

/* Splits a line into words, with quotes and backslashes as in a Unix shell. *last is where the last
 * word begins (the end, if the line ends with a space). Returns false if out of memory. */
bool shell_split(const char *line, size_t len, words *ret, size_t *last);

/* Replaces "/greet" at index `at` by "prompt" and "greet". Returns false if out of memory. */
bool shell_translate(words *w, size_t at);

/* proposals.c: completes a line at `cursor`; *from is where the completed word begins. */
void shell_propose(void *ctl, const char *line, size_t cursor, words *ret, size_t *from);

#endif
