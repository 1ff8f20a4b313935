/* beside.c: the current list of several servers side by side. Each has its own cursor; the server that was
 * chosen has the focus.
 */
#include "app.h"

enum { LEAST_COLUMNS = 24 };

static void draw_one(app *a, screen *s, area where, size_t at)
{
    size_t chosen = a->peer;
    focus before = a->focus;
    pen p = pen_at(s, where, 0, at == chosen ? LOOK_BOLD : LOOK_DIM);
    pen_print(&p, " ");
    pen_put(&p, mcp_str_from(a->peers[at].label));
    where.row++;
    where.rows -= where.rows > 0;
    area list = a->list_area;
    a->peer = at;
    a->focus = at == chosen ? FOCUS_LIST : FOCUS_PREVIEW;
    list_draw(a, s, where);
    a->peer = chosen;
    a->focus = before;
    if (at != chosen)
        a->list_area = list;
}

void beside_draw(app *a, screen *s, area where)
{
    size_t most = where.columns / LEAST_COLUMNS;
    size_t n = a->n_peers < most || !most ? a->n_peers : most;
    size_t first = a->peer >= n ? a->peer - n + 1 : 0;
    a->preview_area = (area){0};
    for (size_t i = 0; i < n; i++) {
        size_t from = where.columns * i / n, to = where.columns * (i + 1) / n;
        area one = {where.row, where.column + from, where.rows, to - from};
        if (i)
            screen_divide(s, &one);
        draw_one(a, s, one, first + i);
    }
}
