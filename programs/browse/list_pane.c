/* list_pane.c: the list of entries on the left. */
#include "app.h"

#include <time.h>

enum { SEARCH_US = 5000 };
enum { AHEAD = 200 }; /* entries that are requested before and behind those on the screen */

static bool has_more(const pages *p)
{
    return !p->is_complete && !p->is_broken;
}

/* The result of a search is a list. */
static bool is_tree(const app *a)
{
    const tab *t = app_tab(a);
    return t->tree.is_on && !t->search.is_on;
}

size_t list_rows(app *a)
{
    const pages *p = app_pages(a);
    const search_state *s = &app_tab(a)->search;
    if (is_tree(a))
        return tree_rows(&app_tab(a)->tree) + has_more(p);
    return s->is_on ? s->count : p->known + has_more(p);
}

/* Gets the entry of a row. */
static bool item_at(app *a, size_t row, item *ret)
{
    const search_state *s = &app_tab(a)->search;
    tree_row r;
    if (is_tree(a)) {
        if (!tree_row_at(&app_tab(a)->tree, row, &r))
            return false;
        row = r.entry != TREE_NONE ? r.entry : app_tab(a)->tree.nodes[r.node].self;
        return row != TREE_NONE && pages_item(app_pages(a), row, ret);
    }
    if (!s->is_on)
        return pages_item(app_pages(a), row, ret);
    if (row < s->count)
        *ret = item_unpack(s->items[row].packed);
    return row < s->count;
}

bool list_selected(app *a, item *ret)
{
    return item_at(a, app_tab(a)->list.at, ret);
}

size_t list_place(const app *a)
{
    const tab *t = app_tab(a);
    tree_row r;
    if (is_tree(a) && tree_row_at(&t->tree, t->list.at, &r))
        return r.entry;
    return t->search.is_on && t->list.at < t->search.count ? t->search.items[t->list.at].at
                                                           : t->list.at;
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

void list_mark(app *a)
{
    item i;
    if (a->kind != LIST_RESOURCES)
        snprintf(a->message, sizeof(a->message), "only resources can be marked");
    else if (!list_selected(a, &i) || i.too_long)
        return;
    else if (!marks_toggle(&a->marks, app_peer(a), &i))
        snprintf(a->message, sizeof(a->message), "there are too many marks");
    else
        list_move(a, 1);
}

/* ---- searching ------------------------------------------------------------------------------- */

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static bool is_late(void *until)
{
    return now_us() >= *(int64_t *)until;
}

/* Adds entries to the tree, and requests what is missing: first on the screen, then at its end. */
static bool grow_tree(app *a)
{
    tab *t = app_tab(a);
    pages *p = app_pages(a);
    int64_t until = now_us() + SEARCH_US;
    size_t before = t->tree.next;
    item i;
    tree_step(&t->tree, p, is_late, &until);
    if (t->tree.next != before)
        a->is_dirty = true;
    size_t wanted = t->missing != TREE_NONE ? t->missing : t->tree.next;
    t->missing = TREE_NONE;
    peer_look(app_peer(a), a->kind, wanted, wanted + 1);
    return t->tree.next != before && pages_item(p, t->tree.next, &i);
}

bool list_work(app *a)
{
    search_state *s = &app_tab(a)->search;
    pages *p = app_pages(a);
    int64_t until = now_us() + SEARCH_US;
    if (is_tree(a))
        return grow_tree(a);
    if (!s->is_on || search_is_done(s, p))
        return false;
    if (search_step(s, p, is_late, &until))
        a->is_dirty = true;
    /* what is not in memory is requested; its arrival continues the search */
    peer_look(app_peer(a), a->kind, s->next, s->next + 1);
    item i;
    return s->next < p->known && pages_item(p, s->next, &i);
}

void list_query(app *a, mcp_str before)
{
    tab *t = app_tab(a);
    if (t->query.len)
        search_begin(&t->search, edit_text(&t->query), before);
    else
        search_clear(&t->search);
    t->list = (scroll){0};
    t->to_end = false;
    a->is_dirty = true;
    list_work(a); /* the next key may already open what is found */
}

void list_end_search(app *a)
{
    tab *t = app_tab(a);
    t->list.at = t->tree.is_on ? 0 : list_place(a); /* the selected entry stays selected */
    edit_set(&t->query, (mcp_str){0});
    search_clear(&t->search);
    a->is_dirty = true;
}

/* ---- the tree -------------------------------------------------------------------------------- */

void list_toggle_tree(app *a)
{
    tab *t = app_tab(a);
    if (a->kind != LIST_RESOURCES)
        return;
    list_end_search(a);
    t->tree.is_on = !t->tree.is_on;
    t->missing = TREE_NONE;
    tree_clear(&t->tree);
    t->list = (scroll){0};
    t->to_end = false;
    list_work(a);
}

bool list_toggle_folder(app *a)
{
    tab *t = app_tab(a);
    tree_row r;
    if (!is_tree(a) || !tree_row_at(&t->tree, t->list.at, &r) || r.entry != TREE_NONE)
        return false;
    tree_toggle(&t->tree, r.node);
    return true;
}

bool list_close_folder(app *a)
{
    tab *t = app_tab(a);
    tree_row r;
    if (!is_tree(a) || !tree_row_at(&t->tree, t->list.at, &r))
        return false;
    bool is_folder = r.entry == TREE_NONE;
    size_t node =
        is_folder && !t->tree.nodes[r.node].is_open ? t->tree.nodes[r.node].parent : r.node;
    if (node == 0)
        return false;
    if (is_folder && node == r.node)
        tree_toggle(&t->tree, node);
    list_go(a, tree_row_of(&t->tree, node));
    return true;
}

/* ---- drawing --------------------------------------------------------------------------------- */

void format_size(int64_t size, char to[16])
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

/* Writes a label, in which the letters that were found differ. */
static void put_label(app *a, pen *p, mcp_str label, look k)
{
    const search_state *s = &app_tab(a)->search;
    bool found[1024] = {false};
    size_t places[FUZZY_LETTERS], n = 0;
    if (s->is_on && fuzzy_score(&s->query, label, places, &n) >= 0)
        for (size_t i = 0; i < n; i++)
            if (places[i] < sizeof(found))
                found[places[i]] = true;
    for (size_t at = 0, end = 0; at < label.len && !p->is_cut; at = end) {
        bool is_found = at < sizeof(found) && found[at];
        end = n ? at + 1 : label.len;
        while (end < label.len && (((unsigned char)label.ptr[end] & 0xc0) == 0x80 ||
                                   (end < sizeof(found) && found[end]) == is_found))
            end++;
        pen_put_as(p, is_found ? LOOK_MATCH : k, (mcp_str){label.ptr + at, end - at});
    }
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
    bool is_marked = a->kind == LIST_RESOURCES && marks_has(&a->marks, app_peer(a), i->key);
    pen_put_as(&name, LOOK_WARN, is_marked ? MCP_STR("*") : MCP_STR(" "));
    put_label(a, &name, item_label(i), is_folder ? LOOK_NAME : LOOK_PLAIN);
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

static void draw_folder(const tree *t, pen *p, const tree_row *r)
{
    pen_print(p, " %*s", (int)(r->depth - 1) * 2, "");
    pen_symbol(p, t->nodes[r->node].is_open ? "▾ " : "▸ ", t->nodes[r->node].is_open ? "- " : "+ ");
    pen_put_as(p, LOOK_NAME, tree_name(t, r->node));
    pen_print(p, "/");
}

static void draw_tree_row(app *a, pen *p, size_t at)
{
    tab *t = app_tab(a);
    tree_row r;
    item i;
    if (!tree_row_at(&t->tree, at, &r)) {
        p->look = LOOK_DIM;
        pen_print(p, " reading more …");
    } else if (r.entry == TREE_NONE) {
        draw_folder(&t->tree, p, &r);
    } else if (pages_item(app_pages(a), r.entry, &i)) {
        pen_print(p, " %*s", (int)r.depth * 2, "");
        i.title = i.name.len ? i.name : tree_leaf(i.key);
        p->begin = p->column; /* for the place of the size */
        draw_item(a, p, &i);
    } else {
        t->missing = t->missing == TREE_NONE ? r.entry : t->missing;
        p->look = LOOK_DIM;
        pen_print(p, " reading …");
    }
}

static void draw_row(app *a, screen *s, area where, size_t row, size_t at)
{
    item i;
    pen p = pen_at(s, where, row, LOOK_PLAIN);
    const pages *list = app_pages(a);
    if (is_tree(a)) {
        draw_tree_row(a, &p, at);
        p.begin = pen_at(s, where, row, LOOK_PLAIN).begin;
    } else if (item_at(a, at, &i)) {
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

/* Why the server cannot be used, on as many rows as that takes, and what the user can do. */
static void draw_end(const peer *p, screen *s, area where)
{
    lines l = {0};
    lines_put_text(&l, LOOK_BAD, mcp_str_from(p->why));
    lines_put(&l, LOOK_BOLD, p->wants_login ? MCP_STR("i logs in") : MCP_STR("r starts it again"));
    lines_end(&l);
    lines_layout(&l, s, where.columns);
    size_t rows = l.n_rows < where.rows ? l.n_rows : where.rows;
    for (size_t row = where.rows - rows; row < where.rows; row++) {
        pen p_row = pen_at(s, where, row, LOOK_PLAIN);
        pen_fill(&p_row);
    }
    where.row += where.rows - rows;
    where.rows = rows;
    lines_draw(&l, s, where, 0, SIZE_MAX);
    lines_clear(&l);
}

void scroll_follow(scroll *c, size_t rows, size_t height)
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
        t->to_end = has_more(list) && !t->search.is_on;
    }
    scroll_follow(&t->list, rows, where.rows);
    app_peer(a)->lists[a->kind].to_end = t->to_end && !t->search.is_on && !is_tree(a);
    if (!t->search.is_on && !is_tree(a))
        peer_look(app_peer(a), a->kind, t->list.top > AHEAD ? t->list.top - AHEAD : 0,
                  t->list.top + where.rows + AHEAD);
    size_t row = 0;
    if (app_peer(a)->state == PEER_READY)
        for (; row < where.rows && t->list.top + row < rows && list->count > 0; row++)
            if (list->known || !has_more(list))
                draw_row(a, s, where, row, t->list.top + row);
    if (!list->known)
        draw_empty(a, s, where);
    if (t->search.is_on && !t->search.count && list->known)
        draw_note(s, where, 0, LOOK_DIM,
                  search_is_done(&t->search, list) ? "nothing matches" : "searching …");
    if (list->is_broken && row < where.rows)
        draw_note(s, where, row, LOOK_BAD, list->why);
    if (app_peer(a)->state == PEER_ENDED)
        draw_end(app_peer(a), s, where);
}
