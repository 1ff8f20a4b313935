/* list_pane.c: the list of entries on the left. */
#include "app.h"

enum { AHEAD = 200 }; /* entries that are requested before and behind those on the screen */

static bool has_more(const pages *p)
{
    return !p->is_complete && !p->is_broken;
}

size_t list_rows(app *a)
{
    const pages *p = app_pages(a);
    return p->known + has_more(p);
}

bool list_selected(app *a, item *ret)
{
    return pages_item(app_pages(a), app_tab(a)->list.at, ret);
}

void list_go(app *a, size_t row)
{
    tab *t = app_tab(a);
    size_t rows = list_rows(a);
    t->list.at = row < rows ? row : rows ? rows - 1 : 0;
    a->is_dirty = true;
    preview_follow(a);
}

void list_move(app *a, long by)
{
    size_t at = app_tab(a)->list.at, back = by < 0 ? (size_t)-by : 0;
    list_go(a, by < 0 ? (at > back ? at - back : 0) : at + (size_t)by);
}

/* ---- drawing --------------------------------------------------------------------------------- */

static mcp_str label_of(const item *i, list_kind kind)
{
    if (kind == LIST_RESOURCES && i->title.len)
        return i->title;
    return i->name.len ? i->name : i->key;
}

static void format_size(int64_t size, char to[16])
{
    static const char units[] = "KMGTP";
    double value = (double)size;
    size_t unit = 0;
    if (size < 1024) {
        snprintf(to, 16, "%d", (int)size);
        return;
    }
    for (value /= 1024; value >= 1024 && unit < sizeof(units) - 2; unit++)
        value /= 1024;
    snprintf(to, 16, value < 10 ? "%.1f%c" : "%.0f%c", value, units[unit]);
}

static void draw_item(app *a, pen *p, const item *i)
{
    char size[16] = "";
    bool is_folder = mcp_str_eq(i->type, MCP_STR("inode/directory"));
    size_t width = pen_room(p);
    pen name = *p;
    if (a->kind == LIST_RESOURCES && i->size >= 0)
        format_size(i->size, size);
    if (*size && width > 30)
        name.end -= 7;
    pen_print(&name, " ");
    pen_put_as(&name, is_folder ? LOOK_NAME : LOOK_PLAIN, label_of(i, a->kind));
    if (is_folder)
        pen_print(&name, "/");
    if (i->too_long)
        pen_put_as(&name, LOOK_BAD, MCP_STR(" (too long to use)"));
    if (*size && width > 30) {
        pen_fill(&name);
        p->column = name.column;
        p->look = LOOK_DIM;
        pen_print(p, " %6s", size);
    } else {
        p->column = name.column;
        p->is_cut = name.is_cut;
    }
}

static void draw_row(app *a, screen *s, area where, size_t row, size_t at)
{
    item i;
    pen p = pen_at(s, where, row, LOOK_PLAIN);
    pages *list = app_pages(a);
    if (pages_item(list, at, &i)) {
        draw_item(a, &p, &i);
    } else {
        p.look = LOOK_DIM;
        pen_print(&p, at < list->known ? " reading …" : " reading more …");
    }
    if (at == app_tab(a)->list.at) {
        pen_fill(&p);
        pen_look(&p, a->focus == FOCUS_LIST ? LOOK_CURSOR : LOOK_CURSOR_AWAY);
    }
}

static void draw_note(screen *s, area where, size_t row, look l, const char *text)
{
    pen p = pen_at(s, where, row, l);
    pen_print(&p, " ");
    pen_put(&p, mcp_str_from(text));
}

static void draw_empty(const app *a, screen *s, area where)
{
    const peer *p = app_peer(a);
    if (p->state == PEER_STARTING)
        draw_note(s, where, 0, LOOK_DIM, "connecting …");
    else if (!p->lists[a->kind].is_offered && p->state == PEER_READY)
        draw_note(s, where, 0, LOOK_DIM, "the server offers none");
    else if (!app_pages(a)->is_broken && p->state == PEER_READY)
        draw_note(s, where, 0, LOOK_DIM,
                  app_pages(a)->is_complete ? "the list is empty" : "reading …");
}

/* Moves the window so that it contains the cursor. */
static void follow(scroll *c, size_t rows, size_t height)
{
    if (c->at >= rows)
        c->at = rows ? rows - 1 : 0;
    if (c->at < c->top)
        c->top = c->at;
    if (height && c->at >= c->top + height)
        c->top = c->at - height + 1;
    if (rows <= height)
        c->top = 0;
}

void list_draw(app *a, screen *s, area where)
{
    tab *t = app_tab(a);
    const pages *list = app_pages(a);
    size_t rows = list_rows(a);
    a->list_area = where;
    if (t->to_end) {
        t->list.at = rows ? rows - 1 : 0;
        t->to_end = has_more(list);
    }
    follow(&t->list, rows, where.rows);
    app_peer(a)->lists[a->kind].to_end = t->to_end;
    peer_look(app_peer(a), a->kind, t->list.top > AHEAD ? t->list.top - AHEAD : 0,
              t->list.top + where.rows + AHEAD);
    size_t row = 0;
    if (app_peer(a)->state == PEER_READY)
        for (; row < where.rows && t->list.top + row < rows && list->count > 0; row++)
            if (list->known || !has_more(list))
                draw_row(a, s, where, row, t->list.top + row);
    if (!list->known)
        draw_empty(a, s, where);
    if (list->is_broken && row < where.rows)
        draw_note(s, where, row, LOOK_BAD, list->why);
    if (app_peer(a)->state == PEER_ENDED && where.rows)
        draw_note(s, where, where.rows - 1, LOOK_BAD, app_peer(a)->why);
}
