/* shell.h: the shell's two halves. */
#ifndef MCPCTL_SHELL_H
#define MCPCTL_SHELL_H

#include "servers.h"

/* The words of a line: quotes and backslashes as in a shell, and nothing else of it. *last is where
 * the last word begins (the end, when a space is the last thing). False: no memory. */
bool shell_split(const char *line, size_t len, words *ret, size_t *last);

/* "/greet" as the word number `at` is "prompt", "greet". False: no memory. */
bool shell_translate(words *w, size_t at);

/* proposals.c: what may stand at the end of a line up to `cursor`; *from is where the word begins
 * that is completed. */
void shell_propose(void *ctl, const char *line, size_t cursor, words *ret, size_t *from);

#endif
