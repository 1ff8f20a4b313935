/* app_draw.c: the layout of the screen, and the bars at its top and bottom. */
#define _GNU_SOURCE
#include "app.h"

#include <string.h>

enum { HINT_COLUMNS = 12 };

static const char *const tab_names[LISTS] = {
    [LIST_RESOURCES] = "Resources",
    [LIST_TEMPLATES] = "Templates",
    [LIST_PROMPTS] = "Prompts",
    [LIST_TOOLS] = "Tools",
};

static void put_count(const app *a, pen *p, list_kind kind)
{
    const pages *list = &app_peer(a)->lists[kind].pages;
    if (app_peer(a)->lists[kind].is_offered && list->known)
        pen_print(p, " %zu%s", list->known, list->is_complete ? "" : "+");
}

/* Each server gets the same share of the bar, and what those before it have left. */
static void draw_labels(app *a, pen *p)
{
    size_t room = pen_room(p);
    for (size_t i = 0; i < a->n_peers; i++) {
        pen one = *p;
        one.end = one.begin + room * (i + 1) / a->n_peers;
        one.is_cut = false;
        pen_put_as(&one, LOOK_BAR, MCP_STR(" "));
        pen_put_as(&one, i == a->peer ? LOOK_BAR : LOOK_DIM, mcp_str_from(a->peers[i].label));
        p->column = one.column;
        a->peers[i].label_end = one.column;
    }
    pen_fill(p);
}

static void draw_top(app *a, screen *s, area where)
{
    pen p = pen_at(s, where, 0, LOOK_BAR);
    draw_labels(a, &p);
    p = pen_at(s, where, 1, LOOK_PLAIN);
    for (list_kind i = 0; i < LISTS; i++) {
        p.look = i == a->kind ? LOOK_HEADING : LOOK_DIM;
        pen_print(&p, " %d %s", (int)i + 1, tab_names[i]);
        put_count(a, &p, i);
        a->tab_ends[i] = p.column;
        p.look = LOOK_PLAIN;
        pen_print(&p, "  ");
    }
    if (a->marks.count) {
        p.look = LOOK_WARN;
        pen_print(&p, " * %zu", a->marks.count);
    }
}

/* "/query   12 of 1000", with the cursor while it is typed. */
static void draw_query(const app *a, pen *p)
{
    const tab *t = app_tab(a);
    const pages *list = app_pages(a);
    char found[96];
    int n = snprintf(found, sizeof(found), "  %zu of %zu%s ", t->search.total, list->known,
                     search_is_done(&t->search, list) ? "" : " …");
    pen text = *p;
    text.end -= (size_t)n < text.end - text.begin ? (size_t)n : 0;
    pen_print(&text, " /");
    if (a->mode == MODE_QUERY)
        edit_draw(&t->query, &text);
    else
        pen_put(&text, edit_text(&t->query));
    pen_fill(&text);
    p->column = text.column;
    if (t->search.is_on)
        pen_put(p, mcp_str_from(found));
    pen_fill(p);
}

static void draw_bottom(app *a, screen *s, area where)
{
    pen p = pen_at(s, where, where.rows - 1, LOOK_BAR);
    const tab *t = app_tab(a);
    bool is_tree = t->tree.is_on && !t->search.is_on;
    size_t rows = is_tree ? tree_rows(&t->tree) : app_pages(a)->known, at = t->list.at;
    pen right = p;
    if (app_dialog(a)) {
        pen_print(&p, "%s", dialog_hint(app_dialog(a)));
        pen_fill(&p);
        return;
    }
    if (a->mode == MODE_MARKS) {
        marks_draw_bottom(a, &p);
        pen_fill(&p);
        return;
    }
    if (a->mode == MODE_QUERY || (app_tab(a)->search.is_on && a->focus == FOCUS_LIST)) {
        draw_query(a, &p);
        return;
    }
    if (*a->message) {
        pen_print(&p, " ");
        pen_put(&p, mcp_str_from(a->message));
        pen_fill(&p);
        return;
    }
    for (size_t i = 0; i < n_key_rows; i++)
        if (key_rows[i].brief)
            pen_print(&p, " %.*s %s ", (int)strcspn(key_rows[i].shown, " "), key_rows[i].shown,
                      key_rows[i].brief);
    pen_fill(&p);
    if (rows && where.columns > 60) {
        char place[64];
        size_t n = (size_t)snprintf(place, sizeof(place), " %zu/%zu%s ", at < rows ? at + 1 : rows,
                                    rows, app_pages(a)->is_complete ? "" : "+");
        right.column = right.end - n;
        pen_put(&right, mcp_str_from(place));
    }
}

static void draw_help(app *a, screen *s, area where)
{
    size_t row = 0;
    pen p = pen_at(s, where, row++, LOOK_HEADING);
    pen_print(&p, " Keys");
    for (size_t i = a->help.top; i < n_key_rows && row < where.rows; i++) {
        p = pen_at(s, where, row++, LOOK_NAME);
        pen_print(&p, "  %s", key_rows[i].shown);
        pen_to(&p, HINT_COLUMNS + 4);
        p.look = LOOK_PLAIN;
        pen_print(&p, "%s", key_rows[i].help);
    }
    if (row < where.rows) {
        p = pen_at(s, where, row, LOOK_DIM);
        pen_print(&p, "  For screen readers: 'mcpctl shell' works line by line.");
    }
}

void app_draw(app *a, screen *s)
{
    area all = {0, 0, s->rows, s->columns};
    a->is_dirty = false;
    if (s->rows < 4 || s->columns < 20) {
        pen p = pen_at(s, all, 0, LOOK_PLAIN);
        pen_print(&p, "too small");
        return;
    }
    area body = {2, 0, s->rows - 3, s->columns};
    size_t left = s->columns * 2 / 5;
    left = left > 80 ? 80 : left;
    draw_top(a, s, all);
    if (a->bottom != BOTTOM_NONE) {
        size_t rows = body.rows / 3;
        area below = {body.row + body.rows - rows, 0, rows, body.columns};
        body.rows -= rows;
        tail_draw(a->bottom == BOTTOM_LOG ? &a->log : &a->trace, s, below,
                  a->bottom == BOTTOM_LOG ? "Log" : "Messages");
    }
    app_ask(a);
    if (app_dialog(a)) {
        dialog_draw(app_dialog(a), s, body);
    } else if (a->mode == MODE_HELP) {
        draw_help(a, s, body);
    } else if (a->mode == MODE_MARKS) {
        marks_draw(a, s, body);
    } else if (a->is_beside && a->n_peers > 1) {
        beside_draw(a, s, body);
    } else {
        area right = {body.row, left, body.rows, body.columns - left};
        screen_divide(s, &right);
        list_draw(a, s, (area){body.row, 0, body.rows, left});
        preview_follow(a);
        preview_draw(a, s, right);
    }
    draw_bottom(a, s, all);
    a->is_dirty = false;
}
