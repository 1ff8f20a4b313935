/* keys.h: keys, and the table of what they do. The help, the manual page and the bar at the bottom are
 * made of the table.
 */
#ifndef BROWSE_KEYS_H
#define BROWSE_KEYS_H

#include <stddef.h>

/* A key: a character, or one of these. Control characters are characters: Ctrl-C is 3. */
typedef enum key_code {
    KEY_TAB_ = 9,
    KEY_RETURN_ = 13,
    KEY_ESCAPE_ = 27,
    KEY_UP_ = 0x110000, /* beyond Unicode */
    KEY_DOWN_,
    KEY_LEFT_,
    KEY_RIGHT_,
    KEY_PAGE_UP_,
    KEY_PAGE_DOWN_,
    KEY_HOME_,
    KEY_END_,
    KEY_BACKSPACE_,
    KEY_DELETE_,
    KEY_BACK_TAB_,
    KEY_F1_,
    KEY_CLICK_,
    KEY_WHEEL_UP_,
    KEY_WHEEL_DOWN_,
} key_code;

typedef struct key {
    unsigned code;
    size_t row, column; /* of the mouse */
} key;

#define CTRL(letter) ((letter)&0x1fu)

typedef enum action {
    ACTION_NONE,
    ACTION_UP,
    ACTION_DOWN,
    ACTION_PAGE_UP,
    ACTION_PAGE_DOWN,
    ACTION_FIRST,
    ACTION_LAST,
    ACTION_LEFT,
    ACTION_RIGHT,
    ACTION_FOCUS,
    ACTION_OPEN,
    ACTION_RESOURCES,
    ACTION_TEMPLATES,
    ACTION_PROMPTS,
    ACTION_TOOLS,
    ACTION_NEXT_TAB,
    ACTION_LAST_TAB,
    ACTION_NEXT_SERVER,
    ACTION_BESIDE,
    ACTION_SEARCH,
    ACTION_RELOAD,
    ACTION_LOGIN,
    ACTION_TREE,
    ACTION_MARK,
    ACTION_CONTEXT,
    ACTION_LOG,
    ACTION_TRACE,
    ACTION_HELP,
    ACTION_REDRAW,
    ACTION_SUSPEND,
    ACTION_QUIT,
} action;

typedef struct key_row {
    action action;
    unsigned codes[4];
    const char *shown; /* the keys, in the help */
    const char *help;
    const char *brief; /* in the bar at the bottom; NULL to leave it out */
} key_row;

extern const key_row key_rows[];
extern const size_t n_key_rows;

action key_action(unsigned code);

#endif
