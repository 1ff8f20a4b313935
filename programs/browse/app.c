/* app.c: the browser: keys, and the layout of the screen. */
#define _GNU_SOURCE
#include "app.h"

#include <stdlib.h>
#include <string.h>

enum { HINT_COLUMNS = 12 };

static const char *const tab_names[LISTS] = {
    [LIST_RESOURCES] = "Resources",
    [LIST_TEMPLATES] = "Templates",
    [LIST_PROMPTS] = "Prompts",
    [LIST_TOOLS] = "Tools",
};

static void on_changed(peer *p, void *user)
{
    app *a = user;
    (void)p;
    a->is_dirty = true;
}

/* The question waits until those before it were answered. */
static void on_asked(peer *p, mcp_question *question, void *user)
{
    app *a = user;
    size_t most = sizeof(a->questions) / sizeof(a->questions[0]);
    a->is_dirty = true;
    if (a->n_questions == most) {
        mcp_question_fail(question, 0, "too many questions at once");
        return;
    }
    a->questions[a->n_questions].peer = p;
    a->questions[a->n_questions++].question = question;
}

static void ask_next(app *a)
{
    if (!a->n_questions || a->asking.state != DIALOG_NONE)
        return;
    dialog_ask(&a->asking, a->questions[0].peer, a->questions[0].question);
    memmove(a->questions, a->questions + 1, --a->n_questions * sizeof(a->questions[0]));
}

static void on_logged(peer *p, look l, const char *before, mcp_str text, void *user)
{
    app *a = user;
    (void)p;
    journal_add(&a->log, l, before, text);
    a->is_dirty = true;
}

static void on_traced(peer *p, bool sent, mcp_str message, void *user)
{
    app *a = user;
    (void)p;
    journal_add(&a->trace, sent ? LOOK_NAME : LOOK_PLAIN, sent ? "> " : "< ", message);
    a->is_dirty = a->is_dirty || a->shows_trace;
}

bool app_open(app *a)
{
    peer_events events = {.changed = on_changed,
                          .asked = on_asked,
                          .logged = on_logged,
                          .traced = on_traced,
                          .user = a};
    a->tabs = calloc(a->n_peers, sizeof(*a->tabs));
    if (!a->tabs)
        return false;
    for (size_t i = 0; i < a->n_peers; i++)
        peer_open(&a->peers[i], a->loop, &events);
    a->is_dirty = true;
    return true;
}

void app_close(app *a)
{
    preview_clear(a);
    marks_clear(&a->marks);
    free(a->copy);
    dialog_close(&a->dialog);
    dialog_close(&a->asking);
    while (a->n_questions)
        mcp_question_cancel(a->questions[--a->n_questions].question);
    for (size_t i = 0; i < a->n_peers; i++) {
        peer_close(&a->peers[i]);
        for (size_t k = 0; k < LISTS; k++)
            search_end(&a->tabs[i][k].search), tree_clear(&a->tabs[i][k].tree);
    }
    journal_clear(&a->log);
    journal_clear(&a->trace);
    free(a->tabs);
}

void app_reopen(app *a)
{
    preview_clear(a);
    for (size_t i = 0; i < 2; i++) {
        dialog *d = i == 0 ? &a->dialog : &a->asking;
        if (d->state != DIALOG_NONE && d->peer == app_peer(a))
            dialog_close(d);
    }
    for (size_t k = 0; k < LISTS; k++) {
        tab *t = &a->tabs[a->peer][k];
        search_end(&t->search);
        tree_clear(&t->tree);
        *t = (tab){.missing = TREE_NONE};
    }
    peer_reopen(app_peer(a));
    a->is_dirty = true;
}

uint64_t app_tick(app *a, int64_t now)
{
    preview *v = &a->preview;
    marks_read(&a->marks);
    if (list_work(a))
        return 0;
    if (!v->due)
        return 60000;
    if (v->due > now)
        return (uint64_t)(v->due - now);
    preview_request(a);
    return 60000;
}

/* ---- drawing --------------------------------------------------------------------------------- */

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
    if (a->is_typing)
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
    if (a->shows_marks) {
        marks_draw_bottom(a, &p);
        pen_fill(&p);
        return;
    }
    if (a->is_typing || (app_tab(a)->search.is_on && a->focus == FOCUS_LIST)) {
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
    if (a->shows_log || a->shows_trace) {
        size_t rows = body.rows / 3;
        area below = {body.row + body.rows - rows, 0, rows, body.columns};
        body.rows -= rows;
        journal_draw(a->shows_log ? &a->log : &a->trace, s, below,
                     a->shows_log ? "Log" : "Messages");
    }
    ask_next(a);
    if (a->shows_help) {
        draw_help(a, s, body);
    } else if (app_dialog(a)) {
        dialog_draw(app_dialog(a), s, body);
    } else if (a->shows_marks) {
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

/* ---- keys ------------------------------------------------------------------------------------ */

static void move(app *a, long by)
{
    app_tab(a)->to_end = false;
    if (a->shows_help) {
        long top = (long)a->help.top + by;
        a->help.top = top < 0 ? 0 : (size_t)top < n_key_rows ? (size_t)top : n_key_rows - 1;
    } else if (a->focus == FOCUS_PREVIEW) {
        preview_move(a, by);
    } else {
        list_move(a, by);
    }
}

static long page_of(const app *a)
{
    size_t rows = a->focus == FOCUS_PREVIEW ? a->preview_area.rows : a->list_area.rows;
    return rows > 1 ? (long)rows - 1 : 1;
}

static void choose_list(app *a, list_kind kind)
{
    a->kind = kind;
    a->focus = FOCUS_LIST;
}

static void open_dialog(app *a)
{
    item i;
    size_t at = 0;
    if (!list_selected(a, &i) || i.too_long)
        return;
    at = list_place(a);
    dialog_open(&a->dialog, app_peer(a), a->kind, &i, pages_page_of(app_pages(a), at));
}

static void open_entry(app *a)
{
    preview *v = &a->preview;
    if (a->focus == FOCUS_PREVIEW)
        lines_fold(&v->lines, v->scroll.at);
    else if (list_toggle_folder(a))
        return;
    else if (a->kind == LIST_RESOURCES)
        preview_request(a), a->focus = FOCUS_PREVIEW, a->is_beside = false;
    else
        open_dialog(a);
}

static void go_last(app *a)
{
    if (a->focus == FOCUS_PREVIEW && !a->shows_help)
        preview_move(a, 1L << 40);
    else
        list_go(a, SIZE_MAX), app_tab(a)->to_end = true;
}

static void enter(app *a)
{
    if (a->focus == FOCUS_PREVIEW || !list_toggle_folder(a))
        a->focus = FOCUS_PREVIEW, a->is_beside = false;
}

static void leave(app *a)
{
    if (a->focus == FOCUS_LIST && app_tab(a)->search.is_on)
        list_end_search(a);
    else if (a->focus == FOCUS_LIST)
        list_close_folder(a);
    a->focus = FOCUS_LIST;
}

/* A server that has ended is started again. */
static void reload(app *a)
{
    preview_clear(a);
    if (app_peer(a)->state == PEER_ENDED)
        a->wants_open = true;
    else
        peer_reload(app_peer(a), a->kind);
}

static void log_in(app *a)
{
    if (app_peer(a)->account)
        a->wants_login = true;
    else
        snprintf(a->message, sizeof(a->message), "there is no login at this server");
}

static void act(app *a, action what)
{
    switch (what) {
    case ACTION_UP: move(a, -1); break;
    case ACTION_DOWN: move(a, 1); break;
    case ACTION_PAGE_UP: move(a, -page_of(a)); break;
    case ACTION_PAGE_DOWN: move(a, page_of(a)); break;
    case ACTION_FIRST: move(a, -(1L << 40)); break;
    case ACTION_LAST: go_last(a); break;
    case ACTION_OPEN: open_entry(a); break;
    case ACTION_FOCUS:
        a->is_beside = false, a->focus = a->focus == FOCUS_LIST ? FOCUS_PREVIEW : FOCUS_LIST;
        break;
    case ACTION_RIGHT: enter(a); break;
    case ACTION_TREE: list_toggle_tree(a); break;
    case ACTION_LEFT: leave(a); break;
    case ACTION_SEARCH: a->is_typing = true, a->focus = FOCUS_LIST; break;
    case ACTION_RESOURCES:
    case ACTION_TEMPLATES:
    case ACTION_PROMPTS:
    case ACTION_TOOLS: choose_list(a, (list_kind)(what - ACTION_RESOURCES)); break;
    case ACTION_NEXT_TAB: choose_list(a, (list_kind)((a->kind + 1) % LISTS)); break;
    case ACTION_LAST_TAB: choose_list(a, (list_kind)((a->kind + LISTS - 1) % LISTS)); break;
    case ACTION_NEXT_SERVER: a->peer = (a->peer + 1) % a->n_peers; break;
    case ACTION_BESIDE:
        a->is_beside = !a->is_beside, a->focus = FOCUS_LIST;
        if (a->n_peers == 1)
            snprintf(a->message, sizeof(a->message), "there is only one server");
        break;
    case ACTION_RELOAD: reload(a); break;
    case ACTION_LOGIN: log_in(a); break;
    case ACTION_LOG: a->shows_log = !a->shows_log, a->shows_trace = false; break;
    case ACTION_TRACE: a->shows_trace = !a->shows_trace, a->shows_log = false; break;
    case ACTION_MARK: list_mark(a); break;
    case ACTION_CONTEXT: a->shows_marks = true; break;
    case ACTION_HELP: a->shows_help = true, a->help.top = 0; break;
    case ACTION_REDRAW: a->wants_redraw = true; break;
    case ACTION_SUSPEND: a->wants_suspend = true; break;
    case ACTION_QUIT: a->wants_end = true; break;
    case ACTION_NONE: break;
    }
}

static bool is_in(area where, key k)
{
    return k.row >= where.row && k.row < where.row + where.rows && k.column >= where.column &&
           k.column < where.column + where.columns;
}

/* A click on the name of a server or of a list. */
static void click_top(app *a, key k)
{
    for (size_t i = 0; k.row == 0 && i < a->n_peers; i++) {
        if (k.column < a->peers[i].label_end) {
            a->peer = i;
            return;
        }
    }
    for (list_kind i = 0; k.row == 1 && i < LISTS; i++) {
        if (k.column < a->tab_ends[i]) {
            choose_list(a, i);
            return;
        }
    }
}

static void mouse(app *a, key k)
{
    if (k.code == KEY_CLICK_ && k.row < 2) {
        click_top(a, k);
        return;
    }
    a->focus = is_in(a->preview_area, k) ? FOCUS_PREVIEW : FOCUS_LIST;
    if (k.code != KEY_CLICK_)
        move(a, k.code == KEY_WHEEL_UP_ ? -3 : 3);
    else if (is_in(a->list_area, k))
        list_go(a, app_tab(a)->list.top + k.row - a->list_area.row);
    else if (is_in(a->preview_area, k))
        a->preview.scroll.at = a->preview.scroll.top + k.row - a->preview_area.row;
}

/* Keys while a query is typed. Those that move, move in the list. */
static void type_query(app *a, key k)
{
    edit *query = &app_tab(a)->query, before = *query;
    action what = key_action(k.code);
    if (k.code == KEY_RETURN_ || k.code == '\n' || k.code == KEY_TAB_) {
        a->is_typing = false;
    } else if (k.code == KEY_ESCAPE_ || k.code == CTRL('c')) {
        a->is_typing = false;
        list_end_search(a);
    } else if (k.code >= KEY_UP_ && k.code <= KEY_DOWN_) {
        list_move(a, k.code == KEY_UP_ ? -1 : 1);
    } else if (edit_key(query, k)) {
        if (!mcp_str_eq(edit_text(query), edit_text(&before)))
            list_query(a, edit_text(&before));
    } else if (what == ACTION_UP || what == ACTION_DOWN) {
        list_move(a, what == ACTION_UP ? -1 : 1);
    }
}

void app_key(app *a, key k)
{
    action what = key_action(k.code);
    bool moves = what >= ACTION_UP && what <= ACTION_LAST;
    a->is_dirty = true;
    *a->message = 0;
    bool is_mouse = k.code == KEY_CLICK_ || k.code == KEY_WHEEL_UP_ || k.code == KEY_WHEEL_DOWN_;
    if (is_mouse && !app_dialog(a) && !a->shows_marks)
        mouse(a, k);
    else if (what == ACTION_REDRAW || what == ACTION_SUSPEND)
        act(a, what);
    else if (app_dialog(a))
        dialog_key(app_dialog(a), k);
    else if (a->shows_marks && !a->shows_help)
        marks_key(a, k);
    else if (a->is_typing)
        type_query(a, k);
    else if (a->shows_help && !moves)
        a->shows_help = false;
    else
        act(a, what);
}
