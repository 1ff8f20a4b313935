/* preview_pane.c: the contents of the selected entry, on the right.
 *
 * The contents are requested when the selection has stayed the same for a moment, so that scrolling
 * does not request everything that it passes.
 */
#define _GNU_SOURCE
#include "app.h"

#include <stdlib.h>
#include <string.h>

enum { PAUSE_MS = 60, LARGEST = 16 << 20 };

void preview_clear(app *a)
{
    preview *v = &a->preview;
    unsigned leaving = v->leaving;
    if (v->call && v->peer->client)
        leaving +=
            mcp_client_cancel(v->peer->client, v->call, "another entry was selected") == MCP_OK;
    free(v->key);
    lines_clear(&v->lines);
    *v = (preview){.leaving = leaving};
    a->is_dirty = true;
}

static bool is_shown(const app *a, const item *i)
{
    const preview *v = &a->preview;
    return v->key && v->peer == app_peer(a) && v->kind == a->kind &&
           mcp_str_eq(mcp_str_from(v->key), i->key);
}

/* Reads the contents again if the server said that they have changed. */
static void read_again(app *a)
{
    preview *v = &a->preview;
    bool is_watched =
        v->peer->watched && v->kind == LIST_RESOURCES && strcmp(v->peer->watched, v->key) == 0;
    if (!is_watched || v->updates == v->peer->updates || v->call)
        return;
    v->updates = v->peer->updates;
    v->due = mcp_loop_now(a->loop) + PAUSE_MS;
}

void preview_follow(app *a)
{
    item i;
    preview *v = &a->preview;
    bool any = list_selected(a, &i);
    if (any && is_shown(a, &i)) {
        read_again(a);
        return;
    }
    if (!any && !v->key)
        return;
    preview_clear(a);
    if (!any)
        return;
    v->key = text_dup(i.key);
    v->peer = app_peer(a);
    v->kind = a->kind;
    content_entry(&v->lines, &i);
    if (a->kind == LIST_RESOURCES && !i.too_long)
        peer_watch(v->peer, v->key);
    if (a->kind == LIST_RESOURCES && i.size <= LARGEST && !i.too_long)
        v->due = mcp_loop_now(a->loop) + PAUSE_MS;
}

/* Makes room for contents that have changed, and returns those before. The place in them stays the
 * same. */
static lines begin_again(app *a)
{
    preview *v = &a->preview;
    lines before = v->lines;
    item i;
    v->lines = (lines){0};
    if (list_selected(a, &i) && is_shown(a, &i))
        content_entry(&v->lines, &i);
    lines_print(&v->lines, LOOK_WARN, "changed %llu time%s since it was selected",
                (unsigned long long)v->updates, v->updates == 1 ? "" : "s");
    lines_end(&v->lines);
    return before;
}

static void on_read(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                    void *user)
{
    app *a = user;
    preview *v = &a->preview;
    (void)client;
    if (rc == MCP_ECANCELLED && v->leaving) {
        v->leaving--;
        return;
    }
    v->call = 0;
    bool is_again = v->is_again;
    lines before = is_again ? begin_again(a) : (lines){0};
    size_t first = v->lines.count;
    if (rc == MCP_OK)
        content_put(&v->lines, mcp_json_get(result, "contents"));
    else
        lines_print(&v->lines, LOOK_BAD, "%s", error ? error->text : mcp_error_text(rc));
    if (v->lines.is_open)
        lines_end(&v->lines);
    if (is_again)
        lines_compare(&v->lines, &before, first);
    lines_clear(&before);
    a->is_dirty = true;
}

void preview_request(app *a)
{
    preview *v = &a->preview;
    v->due = 0;
    if (!v->key || v->kind != LIST_RESOURCES || v->call || !v->peer->client)
        return;
    v->is_again = v->updates != 0;
    mcp_client_read(v->peer->client, v->key,
                    MCP_OPTIONS(mcp_call_options, .done = on_read, .user = a), &v->call);
}

void preview_move(app *a, long by)
{
    scroll *c = &a->preview.scroll;
    size_t back = by < 0 ? (size_t)-by : 0, rows = a->preview.lines.n_rows;
    c->at = by < 0 ? (c->at > back ? c->at - back : 0) : c->at + (size_t)by;
    c->at = c->at < rows ? c->at : rows ? rows - 1 : 0; /* several keys may come before a frame */
    a->is_dirty = true;
}

void preview_draw(app *a, screen *s, area where)
{
    preview *v = &a->preview;
    bool has_focus = a->focus == FOCUS_PREVIEW;
    a->preview_area = where;
    lines_layout(&v->lines, s, where.columns);
    size_t rows = v->lines.n_rows;
    scroll *c = &v->scroll;
    if (c->at >= rows)
        c->at = rows ? rows - 1 : 0;
    if (c->at < c->top)
        c->top = c->at;
    if (where.rows && c->at >= c->top + where.rows)
        c->top = c->at - where.rows + 1;
    lines_draw(&v->lines, s, where, c->top, has_focus ? c->at : SIZE_MAX);
}
