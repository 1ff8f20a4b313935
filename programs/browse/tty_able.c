/* tty_able.c: what a terminal can do. It is a file of its own because <term.h> defines macros with
 * ordinary names, such as `lines` and `columns`.
 */
#include "tty.h"

#include <curses.h>
#include <term.h>

bool tty_can_move(int fd)
{
    int unused;
    if (setupterm(NULL, fd, &unused) != OK)
        return false;
    bool can_move = cursor_address != NULL;
    del_curterm(cur_term);
    return can_move;
}
