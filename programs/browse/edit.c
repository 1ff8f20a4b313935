/* edit.c: a line of text that is being typed. */
#include "edit.h"

#include <string.h>

void edit_set(edit *e, mcp_str text)
{
    e->len = text.len < EDIT_LONGEST ? text.len : EDIT_LONGEST;
    if (e->len)
        memcpy(e->text, text.ptr, e->len);
    e->text[e->len] = 0;
    e->at = e->len;
}

/* Returns where the character before, or behind, an offset begins. */
static size_t before(const edit *e, size_t at)
{
    while (at && ((unsigned char)e->text[--at] & 0xc0) == 0x80) {
    }
    return at;
}

static size_t behind(const edit *e, size_t at)
{
    while (at < e->len && ((unsigned char)e->text[++at] & 0xc0) == 0x80) {
    }
    return at;
}

static void cut(edit *e, size_t from, size_t to)
{
    memmove(e->text + from, e->text + to, e->len - to + 1);
    e->len -= to - from;
    e->at = from;
}

static size_t word_before(const edit *e)
{
    size_t at = e->at;
    while (at && e->text[at - 1] == ' ')
        at--;
    while (at && e->text[at - 1] != ' ')
        at--;
    return at;
}

static void insert(edit *e, unsigned code)
{
    char bytes[4];
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    if (e->len + n > EDIT_LONGEST)
        return;
    for (size_t i = n; i-- > 1; code >>= 6)
        bytes[i] = (char)(0x80 | (code & 0x3f));
    bytes[0] = (char)(leads[n] | code);
    memmove(e->text + e->at + n, e->text + e->at, e->len - e->at + 1);
    memcpy(e->text + e->at, bytes, n);
    e->len += n;
    e->at += n;
}

bool edit_key(edit *e, key k)
{
    switch (k.code) {
    case KEY_LEFT_:
    case CTRL('b'): e->at = before(e, e->at); return true;
    case KEY_RIGHT_:
    case CTRL('f'): e->at = behind(e, e->at); return true;
    case KEY_HOME_:
    case CTRL('a'): e->at = 0; return true;
    case KEY_END_:
    case CTRL('e'): e->at = e->len; return true;
    case KEY_BACKSPACE_: cut(e, before(e, e->at), e->at); return true;
    case KEY_DELETE_:
    case CTRL('d'): cut(e, e->at, behind(e, e->at)); return true;
    case CTRL('u'): cut(e, 0, e->at); return true;
    case CTRL('k'): cut(e, e->at, e->len); return true;
    case CTRL('w'): cut(e, word_before(e), e->at); return true;
    default: break;
    }
    if (k.code < 0x20 || k.code >= KEY_UP_ || (k.code >= 0x7f && k.code < 0xa0))
        return false;
    insert(e, k.code);
    return true;
}

void edit_draw(const edit *e, pen *p)
{
    size_t room = pen_room(p), from = 0;
    while (from < e->at && text_width((mcp_str){e->text + from, e->at - from}) + 1 > room)
        from = behind(e, from);
    pen rest = *p;
    pen_put(p, (mcp_str){e->text + from, e->at - from});
    p->screen->has_cursor = true;
    p->screen->cursor_row = p->row;
    p->screen->cursor_column = p->column < p->end ? p->column : p->end - 1;
    rest.column = p->column;
    pen_put(&rest, (mcp_str){e->text + e->at, e->len - e->at});
    p->column = rest.column;
}
