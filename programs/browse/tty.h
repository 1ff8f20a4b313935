/* tty.h: the terminal. Only tty.c uses ncurses. */
#ifndef BROWSE_TTY_H
#define BROWSE_TTY_H

#include "keys.h"
#include "screen.h"

typedef enum theme { THEME_AUTO, THEME_DARK, THEME_LIGHT, THEME_NONE } theme;

/* tty_able.c: returns whether the terminal is known and can move its cursor. */
bool tty_can_move(int fd);

/* Takes the terminal. Returns false after reporting the error. THEME_NONE, NO_COLOR in the
 * environment and a terminal without colours give bold, underlined and reversed text. */
bool tty_open(theme t);
/* Gives it back. May be called twice. */
void tty_close(void);
bool tty_is_utf8(void);
void tty_size(size_t *rows, size_t *columns);
/* Asks the terminal for its size again. */
void tty_resized(void);
/* Returns the size of a cell in pixels; {0} if the terminal does not tell it. */
picture_cell tty_cell(void);
/* Shows the screen; only what has changed is written. */
void tty_show(const screen *s);
/* Writes the whole screen again with the next tty_show(). */
void tty_redraw(void);
/* Sends text to the terminal's clipboard (OSC 52). Terminals that have none ignore it. */
void tty_copy(const char *text);
/* Returns false if there is no further key. */
bool tty_key(key *ret);
/* Stops the process until it is continued, as Ctrl-Z does. */
void tty_suspend(void);
/* Gives the terminal back in its usual mode, until tty_resume(). */
void tty_pause(void);
void tty_resume(void);

#endif
