/* editor.h: lines typed on a terminal, with history and completion, by libedit where it is
 * installed. It is loaded when the first line is read, so that no other command pays for it.
 */
#ifndef MCPCTL_EDITOR_H
#define MCPCTL_EDITOR_H

#include "servers.h"

typedef struct editor editor;

typedef struct editor_options {
    const char *prompt;
    const char *history; /* a file; NULL: none */
    /* What may stand at the cursor: proposals for the text from byte *from on. */
    void (*propose)(void *user, const char *line, size_t cursor, words *ret, size_t *from);
    /* Time passes while nobody types. */
    void (*idle)(void *user);
    void *user;
    bool whole; /* proposals are whole lines and not words: inserted as they are */
} editor_options;

/* Never fails: without libedit, or when stdin or stderr is no terminal, lines are read plainly.
 * NULL: no memory. */
editor *editor_new(const editor_options *options);
void editor_free(editor *e);
/* Why there is neither completion nor history, for a person; NULL: there is. */
const char *editor_lacks(const editor *e);

/* A line without its newline, until the next call; NULL: the end. *interrupted: a signal came
 * instead. */
const char *editor_read(editor *e, bool *interrupted);
void editor_remember(editor *e, const char *line);

/* terminal.h has terminal_edit(); this is the same with TAB. NULL: the end, or a signal. */
char *editor_ask(const editor_options *options);

#endif
