/* keys.c: the table of keys. Those of less, vi, lazygit, k9s and fzf, where they agree. */
#include "keys.h"

const key_row key_rows[] = {
    {ACTION_UP, {KEY_UP_, 'k', CTRL('p')}, "Up k ^P", "one line up", NULL},
    {ACTION_DOWN, {KEY_DOWN_, 'j', CTRL('n')}, "Down j ^N", "one line down", NULL},
    {ACTION_PAGE_UP, {KEY_PAGE_UP_, CTRL('b'), CTRL('u')}, "PgUp ^B ^U", "one page up", NULL},
    {ACTION_PAGE_DOWN, {KEY_PAGE_DOWN_, CTRL('f'), CTRL('d')}, "PgDn ^F ^D", "one page down", NULL},
    {ACTION_FIRST, {KEY_HOME_, 'g'}, "Home g", "to the beginning", NULL},
    {ACTION_LAST, {KEY_END_, 'G'}, "End G", "to the end; a list is read until then", NULL},
    {ACTION_OPEN, {KEY_RETURN_, '\n'}, "Enter", "open: read, fold or unfold", "open"},
    {ACTION_FOCUS, {KEY_TAB_}, "Tab", "to the other pane", "pane"},
    {ACTION_RIGHT, {KEY_RIGHT_, 'l'}, "Right l", "into the preview; opens a folder", NULL},
    {ACTION_LEFT,
     {KEY_LEFT_, 'h', KEY_ESCAPE_},
     "Left h Esc",
     "back to the list; ends a search; closes a folder",
     NULL},
    {ACTION_RESOURCES, {'1'}, "1", "resources", NULL},
    {ACTION_TEMPLATES, {'2'}, "2", "resource templates", NULL},
    {ACTION_PROMPTS, {'3'}, "3", "prompts", NULL},
    {ACTION_TOOLS, {'4'}, "4", "tools", NULL},
    {ACTION_NEXT_TAB, {']'}, "]", "the next list", NULL},
    {ACTION_LAST_TAB, {'['}, "[", "the list before", NULL},
    {ACTION_NEXT_SERVER, {'s'}, "s", "the next server", NULL},
    {ACTION_BESIDE, {'S', '|'}, "S |", "the lists of all servers side by side", NULL},
    {ACTION_SEARCH, {'/'}, "/", "search as you type; Enter keeps it, Esc ends it", "search"},
    {ACTION_RELOAD,
     {'r', CTRL('r')},
     "r",
     "read the list again; start a server again that has ended",
     NULL},
    {ACTION_LOGIN, {'i'}, "i", "log in at the server, if it requires that", NULL},
    {ACTION_TREE, {'t'}, "t", "resources as a tree, or as a list", "tree"},
    {ACTION_MARK, {' '}, "Space", "mark a resource for the context, or remove its mark", "mark"},
    {ACTION_CONTEXT, {'c'}, "c", "the context that the marks make: order, budget, output", NULL},
    {ACTION_LOG, {'L'}, "L", "show what the servers log, and their stderr", NULL},
    {ACTION_TRACE, {'T'}, "T", "show the messages of the protocol", NULL},
    {ACTION_HELP, {'?', KEY_F1_}, "? F1", "this help", "help"},
    {ACTION_REDRAW, {CTRL('l')}, "^L", "draw the screen again", NULL},
    {ACTION_SUSPEND, {CTRL('z')}, "^Z", "back to the shell; fg continues", NULL},
    {ACTION_QUIT, {'q', CTRL('c')}, "q ^C", "end", "quit"},
};
const size_t n_key_rows = sizeof(key_rows) / sizeof(key_rows[0]);

action key_action(unsigned code)
{
    for (size_t i = 0; i < n_key_rows; i++)
        for (size_t k = 0; k < 4 && key_rows[i].codes[k]; k++)
            if (key_rows[i].codes[k] == code)
                return key_rows[i].action;
    return ACTION_NONE;
}
