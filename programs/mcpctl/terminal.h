/* terminal.h: questions to the user at the terminal, and the display of activity. Both use stderr,
 * so that stdout contains only the requested output.
 */
#ifndef MCPCTL_TERMINAL_H
#define MCPCTL_TERMINAL_H

#include "mcpctl.h"

/* Whether there is somebody to ask: stdin and stderr are a terminal. */
bool terminal_can_ask(void);
/* One line without its newline, to be freed; NULL: the end of input, or a signal. `secret`: what is
 * typed is not shown. The prompt is shown safely. */
char *terminal_ask(const char *prompt, bool secret);
/* The same for a value: with the keys of a line editor, where libedit is installed (editor.c). */
char *terminal_edit(const char *prompt);
/* One of the letters: what an answer begins with, in capitals or not; another is asked again. 0:
 * the end of input, or a signal. */
char terminal_choose(const char *question, const char *letters);
/* Whether the answer begins with y; an empty one is a no. */
bool terminal_ask_yes(const char *question);

/* A text of a stranger's on stderr, made safe, several lines indented; long ones are wrapped. */
void terminal_show(mcp_str text, int indent);
/* What is compared or copied, such as an address: with all that is invisible in it, and as long as
 * it is. */
void terminal_show_exactly(mcp_str text, int indent);

/* The bar. After begin() something is shown once half a second has passed, unless `quiet` or stderr
 * is no terminal. `what` is copied. Within another begin() and end() they do nothing. */
void bar_begin(const char *what, bool quiet);
/* total 0: unknown. message may be empty. */
void bar_set(double progress, double total, mcp_str message);
/* The message alone; how far it is stays as it was. */
void bar_set_message(mcp_str message);
/* How long may be waited before the bar has to move, in ms; and moves it. */
uint64_t bar_wait_ms(void);
void bar_tick(void);
/* Takes it from the screen: before something else is written. The next tick shows it again. */
void bar_clear(void);
void bar_end(void);

#endif
