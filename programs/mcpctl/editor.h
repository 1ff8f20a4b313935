/* editor.h: reads lines from a terminal, with history and completion if libedit is installed.
 * libedit is loaded when the first line is read, so that other commands do not need the time.
 */
#ifndef MCPCTL_EDITOR_H
#define MCPCTL_EDITOR_H

#include "servers.h"

typedef struct editor editor;

typedef struct editor_options {
    const char *prompt;
    const char *history; /* the file for the history, or NULL */
    /* Proposes replacements for the text from byte *from to the cursor. */
    void (*propose)(void *user, const char *line, size_t cursor, words *ret, size_t *from);
    /* Called regularly while waiting for input. */
    void (*idle)(void *user);
    void *user;
    bool whole; /* proposals are complete lines, inserted unchanged */
} editor_options;

/* Without libedit, or if stdin or stderr is not a terminal, lines are read without editing. Returns
 * NULL if out of memory. */
editor *editor_new(const editor_options *options);
void editor_free(editor *e);
/* Returns a message for the user that says why there is no completion and history, or NULL if they
 * work. */
const char *editor_lacks(const editor *e);

/* Returns a line without its newline, valid until the next call, or NULL at the end of input.
 * *interrupted is set if a signal arrived instead. */
const char *editor_read(editor *e, bool *interrupted);
void editor_remember(editor *e, const char *line);

/* Like terminal_edit() (terminal.h), with completion. Returns NULL at the end of input, or after a
 * signal. */
char *editor_ask(const editor_options *options);

#endif
