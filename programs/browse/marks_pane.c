/* marks_pane.c: the context that the marks make: its budget as a bar, the marked resources in their
 * order, what is included of the selected one, and where the context is written to.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app.h"

enum { BAR_COLUMNS = 30, MOST_SHOWN = 64 << 10, LEAST_BUDGET = 1024, MOST_BUDGET = 1 << 30 };

static const char *const brief[SELECTED_OUTCOMES] = {
    [FATE_IN] = "in",
    [FATE_CUT] = "part",
    [FATE_FOLDER] = "folder",
    [FATE_BINARY] = "no text",
    [FATE_NO_MATCH] = "",
    [FATE_NOT_LOOKED_AT] = "…",
    [FATE_UNREADABLE] = "fails",
    [FATE_NO_ROOM] = "no room",
};

/* ---- writing --------------------------------------------------------------------------------- */

static void say_here(app *a, const char *format, ...) MCP_PRINTF(2, 3);
static void say_here(app *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(a->message, sizeof(a->message), format, args);
    va_end(args);
}

static bool write_and_close(FILE *f, const char *text, size_t len)
{
    bool ok = fwrite(text, 1, len, f) == len;
    return fclose(f) == 0 && ok;
}

/* An existing file is never replaced. */
static void write_file(app *a)
{
    const char *path = a->collect.path.text;
    char *text = *path ? marks_text(&a->marks) : NULL;
    size_t len = text ? strlen(text) : 0;
    int fd = text ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!text)
        say_here(a, "not written: %s", *path ? "nothing is included" : "no file was named");
    else if (!f)
        say_here(a, "not written: %.100s: %s", path, strerror(errno));
    else if (write_and_close(f, text, len))
        say_here(a, "%zu bytes written to %.100s", len, path);
    else
        say_here(a, "%.100s is not complete: %s", path, strerror(errno));
    if (!f && fd >= 0)
        close(fd);
    free(text);
}

static void copy(app *a)
{
    free(a->copy);
    a->copy = marks_text(&a->marks);
    if (a->copy)
        say_here(a, "%zu bytes sent to the terminal's clipboard, if it has one", strlen(a->copy));
    else
        say_here(a, "not copied: nothing is included");
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void type_text(app *a, key k)
{
    collecting *c = &a->collect;
    edit *e = c->typing == COLLECT_PATH ? &c->path : &a->marks.query;
    if (k.code == KEY_ESCAPE_ || k.code == CTRL('c')) {
        if (c->typing == COLLECT_QUERY)
            edit_set(e, (mcp_str){0});
        c->typing = COLLECT_NOTHING;
    } else if (k.code == KEY_RETURN_ || k.code == '\n') {
        if (c->typing == COLLECT_PATH)
            write_file(a);
        c->typing = COLLECT_NOTHING;
    } else {
        edit_key(e, k);
    }
    a->marks.is_stale = true;
}

static void set_budget(app *a, bool more)
{
    budget *b = &a->marks.chosen.budget;
    uint64_t limit = more ? b->limit * 2 : b->limit / 2;
    if (limit >= LEAST_BUDGET / 4 && limit <= MOST_BUDGET)
        b->limit = limit;
    a->marks.is_stale = true;
}

static void unmark(app *a)
{
    marks_arrange(&a->marks);
    if (a->collect.list.at < a->marks.chosen.count)
        marks_remove(&a->marks, a->marks.chosen.items[a->collect.list.at].place);
}

static void move(app *a, long by)
{
    scroll *c = &a->collect.list;
    size_t back = by < 0 ? (size_t)-by : 0, rows = a->marks.count;
    c->at = by < 0 ? (c->at > back ? c->at - back : 0) : c->at + (size_t)by;
    c->at = c->at < rows ? c->at : rows ? rows - 1 : 0;
}

static void click(app *a, key k)
{
    if (k.code != KEY_CLICK_)
        move(a, k.code == KEY_WHEEL_UP_ ? -3 : 3);
    else if (k.row >= a->list_area.row && k.column < a->list_area.columns)
        a->collect.list.at = a->collect.list.top + k.row - a->list_area.row;
}

void marks_key(app *a, key k)
{
    collecting *c = &a->collect;
    long height = a->list_area.rows > 1 ? (long)a->list_area.rows - 1 : 1;
    if (k.code >= KEY_CLICK_ && k.code <= KEY_WHEEL_DOWN_) {
        click(a, k);
        return;
    }
    if (c->typing) {
        type_text(a, k);
        return;
    }
    switch (k.code) {
    case ' ':
    case KEY_DELETE_: unmark(a); return;
    case '/': c->typing = COLLECT_QUERY; return;
    case 'w': c->typing = COLLECT_PATH; return;
    case 'y': copy(a); return;
    case 'p': a->prints = !a->prints; return;
    case '+':
    case '-': set_budget(a, k.code == '+'); return;
    default: break;
    }
    switch (key_action(k.code)) {
    case ACTION_UP: move(a, -1); break;
    case ACTION_DOWN: move(a, 1); break;
    case ACTION_PAGE_UP: move(a, -height); break;
    case ACTION_PAGE_DOWN: move(a, height); break;
    case ACTION_FIRST: c->list.at = 0; break;
    case ACTION_LAST: move(a, MOST_MARKS); break;
    case ACTION_LEFT:
    case ACTION_CONTEXT:
    case ACTION_QUIT: app_show(a, MODE_LISTS); break;
    case ACTION_HELP: app_show(a, MODE_HELP); break;
    default: break;
    }
}

/* ---- drawing --------------------------------------------------------------------------------- */

static void draw_bar(const app *a, pen *p)
{
    const budget *b = &a->marks.chosen.budget;
    double full = (double)b->used / (double)b->limit;
    size_t filled = (size_t)(full * BAR_COLUMNS + 0.5);
    char used[16], limit[16];
    format_size((int64_t)b->used, used);
    format_size((int64_t)b->limit, limit);
    pen_print(p, "  ");
    p->look = full > 0.9 ? LOOK_WARN : LOOK_GOOD;
    for (size_t i = 0; i < BAR_COLUMNS; i++) {
        p->look = i < filled ? p->look : LOOK_DIM;
        pen_symbol(p, i < filled ? "█" : "░", i < filled ? "#" : "-");
    }
    p->look = LOOK_PLAIN;
    pen_print(p, "  %s of %s %s", used, limit, b->tokens ? "tokens" : "bytes");
    if (a->prints)
        pen_print(p, ", printed at the end");
}

static void draw_mark(const app *a, screen *s, area where, size_t row, size_t at)
{
    const selected *k = &a->marks.chosen.items[at];
    char cost[16] = "";
    pen p = pen_at(s, where, row, LOOK_DIM);
    if (selected_is_in(k))
        format_size((int64_t)k->cost, cost);
    pen_print(&p, " %6s ", cost);
    p.look = k->outcome == FATE_IN ? LOOK_GOOD : k->outcome == FATE_CUT ? LOOK_WARN : LOOK_DIM;
    pen_print(&p, "%-8s", s->utf8 || k->outcome != FATE_NOT_LOOKED_AT ? brief[k->outcome] : "...");
    pen_to(&p, 16);
    p.look = LOOK_PLAIN;
    pen_put(&p, k->title.len ? k->title : k->name.len ? k->name : k->uri);
    if (at == a->collect.list.at) {
        pen_fill(&p);
        pen_look(&p, LOOK_CURSOR);
    }
}

/* What is included of the selected resource, or why nothing is. */
static void draw_section(const selected *k, screen *s, area where)
{
    lines l = {0};
    mcp_str text = k->section ? mcp_str_from(k->section) : (mcp_str){0};
    text.len = text.len < MOST_SHOWN ? text.len : MOST_SHOWN;
    lines_put(&l, LOOK_DIM, k->uri);
    lines_end(&l);
    lines_print(&l, LOOK_DIM, "priority %.2f, match %.2f: %s", k->priority, k->match,
                k->outcome == FATE_NOT_LOOKED_AT ? "is read" : selected_outcomes[k->outcome]);
    lines_end(&l);
    lines_put_text(&l, LOOK_PLAIN, text);
    lines_draw(&l, s, where, 0, SIZE_MAX);
    lines_clear(&l);
}

void marks_draw(app *a, screen *s, area where)
{
    scroll *c = &a->collect.list;
    const marks *m = &a->marks;
    size_t left = where.columns * 2 / 5;
    marks_arrange(&a->marks);
    pen p = pen_at(s, where, 0, LOOK_HEADING);
    pen_print(&p, " Context");
    p.look = LOOK_PLAIN;
    draw_bar(a, &p);
    area list = {where.row + 2, where.column, where.rows - 2, left};
    area right = {list.row, where.column + left, list.rows, where.columns - left};
    if (!m->count) {
        p = pen_at(s, list, 0, LOOK_DIM);
        p.end = where.columns;
        pen_print(&p, " Nothing is marked: press Space on resources.");
        return;
    }
    scroll_follow(c, m->count, list.rows);
    screen_divide(s, &right);
    for (size_t row = 0; row < list.rows && c->top + row < m->chosen.count; row++)
        draw_mark(a, s, list, row, c->top + row);
    a->list_area = list;
    if (c->at < m->chosen.count)
        draw_section(&m->chosen.items[c->at], s, right);
}

void marks_draw_bottom(app *a, pen *p)
{
    const collecting *c = &a->collect;
    if (c->typing) {
        pen_print(p, c->typing == COLLECT_PATH ? " write to the new file: " : " order by words: ");
        edit_draw(c->typing == COLLECT_PATH ? &c->path : &a->marks.query, p);
    } else if (*a->message) {
        pen_print(p, " ");
        pen_put(p, mcp_str_from(a->message));
    } else {
        pen_print(p, " Space unmark  / order  + - budget  w write  y copy  p print  Esc back");
    }
}
