/* edit.h: a line of text that is being typed. */
#ifndef BROWSE_EDIT_H
#define BROWSE_EDIT_H

#include "keys.h"
#include "screen.h"

enum { EDIT_LONGEST = 4096 };

typedef struct edit {
    char text[EDIT_LONGEST + 1];
    size_t len, at; /* at: where the next character is inserted */
} edit;

void edit_set(edit *e, mcp_str text);
/* Returns whether the key belongs to editing; other keys are those of the caller. */
bool edit_key(edit *e, key k);
/* Draws the text with the pen, which may show only a part of it, and sets the screen's cursor. */
void edit_draw(const edit *e, pen *p);

static inline mcp_str edit_text(const edit *e)
{
    return (mcp_str){e->text, e->len};
}

#endif
