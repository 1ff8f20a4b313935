/* editor.h: reads lines from a terminal, with history and completion if libedit is installed. It is
 * loaded when the first line is read, so that no other command pays for it.
 */
#ifndef MCPCTL_EDITOR_H
#define MCPCTL_EDITOR_H

#include "servers.h"

typedef struct editor editor;

typedef struct editor_options {
    const char *prompt;
    const char *history; /* a file; NULL: none */
    /* Proposes replacements for the text from byte *from to the cursor. */
    void (*propose)(void *user, const char *line, size_t cursor, words *ret, size_t *from);
    /* Called regularly while waiting for input. */
    void (*idle)(void *user);
    void *user;
    bool whole; /* proposals are complete lines, inserted unchanged */
} editor_options;

/* Without libedit, or if stdin or stderr is not a terminal, lines are read without editing. NULL:
 * no memory. */
editor *editor_new(const editor_options *options);
void editor_free(editor *e);
/* For the user: why there is no completion and history; NULL: they work. */
const char *editor_lacks(const editor *e);

/* A line without its newline, valid until the next call; NULL: end of input. *interrupted: a signal
 * arrived instead. */
const char *editor_read(editor *e, bool *interrupted);
void editor_remember(editor *e, const char *line);

/* As terminal_edit() (terminal.h), with completion. NULL: end of input, or a signal. */
char *editor_ask(const editor_options *options);

#endif
