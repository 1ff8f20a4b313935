/* app.c: the browser: its state, and keys. */
#define _GNU_SOURCE
#include "app.h"

#include <stdlib.h>
#include <string.h>

static void on_changed(peer *p, void *user)
{
    app *a = user;
    (void)p;
    a->is_dirty = true;
}

/* The question waits until those before it were answered. */
static void on_question(peer *p, mcp_question *question, void *user)
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

void app_ask(app *a)
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
    tail_add(&a->log, l, before, text);
    a->is_dirty = true;
}

static void on_traced(peer *p, bool sent, mcp_str message, void *user)
{
    app *a = user;
    (void)p;
    tail_add(&a->trace, sent ? LOOK_NAME : LOOK_PLAIN, sent ? "> " : "< ", message);
    a->is_dirty = a->is_dirty || a->bottom == BOTTOM_TRACE;
}

bool app_open(app *a)
{
    peer_events events = {.changed = on_changed,
                          .question = on_question,
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
            search_clear(&a->tabs[i][k].search), tree_clear(&a->tabs[i][k].tree);
    }
    tail_clear(&a->log);
    tail_clear(&a->trace);
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
        search_clear(&t->search);
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

/* ---- keys ------------------------------------------------------------------------------------ */

void app_show(app *a, mode m)
{
    if (m == MODE_HELP)
        a->before_help = a->mode, a->help.top = 0;
    a->mode = m;
}

static void move(app *a, long by)
{
    app_tab(a)->to_end = false;
    if (a->focus == FOCUS_PREVIEW)
        preview_move(a, by);
    else
        list_move(a, by);
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
    if (a->focus == FOCUS_PREVIEW)
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

static void toggle_bottom(app *a, bottom what)
{
    a->bottom = a->bottom == what ? BOTTOM_NONE : what;
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
    case ACTION_SEARCH: app_show(a, MODE_QUERY), a->focus = FOCUS_LIST; break;
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
    case ACTION_LOG: toggle_bottom(a, BOTTOM_LOG); break;
    case ACTION_TRACE: toggle_bottom(a, BOTTOM_TRACE); break;
    case ACTION_MARK: list_mark(a); break;
    case ACTION_CONTEXT: app_show(a, MODE_MARKS); break;
    case ACTION_HELP: app_show(a, MODE_HELP); break;
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
        app_show(a, MODE_LISTS);
    } else if (k.code == KEY_ESCAPE_ || k.code == CTRL('c')) {
        app_show(a, MODE_LISTS);
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

/* Keys that move, and the wheel, move the help; every other key or click ends it. */
static void help_key(app *a, key k)
{
    long by, most = (long)n_key_rows;
    switch (key_action(k.code)) {
    case ACTION_UP: by = -1; break;
    case ACTION_DOWN: by = 1; break;
    case ACTION_PAGE_UP: by = -page_of(a); break;
    case ACTION_PAGE_DOWN: by = page_of(a); break;
    case ACTION_FIRST: by = -most; break;
    case ACTION_LAST: by = most; break;
    default: by = k.code == KEY_WHEEL_UP_ ? -3 : k.code == KEY_WHEEL_DOWN_ ? 3 : 0; break;
    }
    if (!by) {
        app_show(a, a->before_help);
        return;
    }
    long top = (long)a->help.top + by;
    a->help.top = top < 0 ? 0 : top < most ? (size_t)top : n_key_rows - 1;
}

void app_key(app *a, key k)
{
    action what = key_action(k.code);
    bool is_mouse = k.code == KEY_CLICK_ || k.code == KEY_WHEEL_UP_ || k.code == KEY_WHEEL_DOWN_;
    a->is_dirty = true;
    *a->message = 0;
    if (what == ACTION_REDRAW || what == ACTION_SUSPEND)
        act(a, what);
    else if (app_dialog(a))
        dialog_key(app_dialog(a), k);
    else if (a->mode == MODE_MARKS)
        marks_key(a, k);
    else if (a->mode == MODE_HELP)
        help_key(a, k);
    else if (is_mouse)
        mouse(a, k);
    else if (a->mode == MODE_QUERY)
        type_query(a, k);
    else
        act(a, what);
}
