/* terminal.h: prompts on the terminal, and the activity display. Both use stderr, so that stdout
 * contains only the requested output.
 */
#ifndef MCPCTL_TERMINAL_H
#define MCPCTL_TERMINAL_H

#include "mcpctl.h"

/* Returns whether the user can be asked, which requires that stdin and stderr are a terminal. */
bool terminal_can_ask(void);
/* Reads one line, without its newline, which the caller frees. Returns NULL at the end of input, or
 * after a signal. If `secret` is set, the input is not echoed. Control characters in the prompt are
 * escaped. */
char *terminal_ask(const char *prompt, bool secret);
/* Like terminal_ask() with echo, but with line editing if libedit is installed (editor.c). */
char *terminal_edit(const char *prompt);
/* Asks until the answer begins with one of the letters, in upper or lower case, and returns the
 * letter. Returns 0 at the end of input, or after a signal. */
char terminal_choose(const char *question, const char *letters);
/* Asks, and returns whether the answer begins with y. An empty answer means no. */
bool terminal_ask_yes(const char *question);

/* Writes untrusted text to stderr with control characters escaped. Several lines are indented, and
 * long lines are wrapped. */
void terminal_show(mcp_str text, int indent);
/* Like terminal_show(), but for text that users compare or copy, such as an address. Invisible
 * characters are shown too, and lines are not wrapped. */
void terminal_show_exactly(mcp_str text, int indent);

/* The same for text in which tabs are usual, such as the difference of two files. */
void terminal_show_lines(mcp_str text, int indent);

/* The activity bar. It appears half a second after begin(), unless `quiet` or stderr is not a
 * terminal. `what` is copied. Nested calls have no effect. */
void bar_begin(const char *what, bool quiet);
/* Sets the progress. A total of 0 means unknown. `message` may be empty. */
void bar_set(double progress, double total, mcp_str message);
/* Changes only the message. */
void bar_set_message(mcp_str message);
/* Updates the bar; returns the time in ms until the next update. */
uint64_t bar_wait_ms(void);
void bar_tick(void);
/* Removes the bar from the screen before other output. The next update shows it again. */
void bar_clear(void);
void bar_end(void);

#endif
