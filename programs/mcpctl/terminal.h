/* terminal.h: prompts on the terminal, and the activity display. Both use stderr, so that stdout
 * contains only the requested output.
 */
#ifndef MCPCTL_TERMINAL_H
#define MCPCTL_TERMINAL_H

#include "mcpctl.h"

/* Whether the user can be asked: stdin and stderr are a terminal. */
bool terminal_can_ask(void);
/* Reads one line, without its newline. The caller frees it. NULL: end of input, or a signal.
 * `secret`: input is not echoed. The prompt is made safe. */
char *terminal_ask(const char *prompt, bool secret);
/* The same with line editing, if libedit is installed (editor.c). */
char *terminal_edit(const char *prompt);
/* Asks until the answer begins with one of the letters, in upper or lower case, and returns it. 0:
 * end of input, or a signal. */
char terminal_choose(const char *question, const char *letters);
/* Whether the answer begins with y; an empty answer means no. */
bool terminal_ask_yes(const char *question);

/* Writes an untrusted text to stderr, made safe; several lines are indented, long lines wrapped. */
void terminal_show(mcp_str text, int indent);
/* Writes text that users compare or copy, such as an address: including invisible characters, and
 * without wrapping. */
void terminal_show_exactly(mcp_str text, int indent);

/* The activity bar. It appears half a second after begin(), unless `quiet` or stderr is not a
 * terminal. `what` is copied. Nested calls have no effect. */
void bar_begin(const char *what, bool quiet);
/* total 0: unknown. `message` may be empty. */
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
