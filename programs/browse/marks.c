/* marks.c: resources that the user has marked, and the context that their texts make. */
#define _GNU_SOURCE
#include "marks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <common/text.h>

enum { MOST_TEXT = 4 << 20, MOST_BYTES = 16 << 20 };

static size_t find(const marks *m, const peer *p, mcp_str uri)
{
    size_t i = 0;
    while (i < m->count &&
           (m->items[i].peer != p || !mcp_str_eq(item_unpack(m->items[i].packed).key, uri)))
        i++;
    return i;
}

bool marks_has(const marks *m, const peer *p, mcp_str uri)
{
    return find(m, p, uri) < m->count;
}

/* The selection points into the marks, so it cannot stay when they change. */
static void change(marks *m)
{
    selection_clear(&m->chosen);
    m->chosen.count = 0;
    m->is_stale = true;
}

static void cancel(marks *m)
{
    mcp_call_id call = m->call;
    const peer *p = m->items[m->reading].peer;
    m->call = 0;
    if (call && p->client)
        m->leaving += mcp_client_cancel(p->client, call, "the mark was removed") == MCP_OK;
}

static void drop_text(marks *m, mark *k)
{
    m->bytes -= k->text ? k->len : 0;
    free(k->text);
    k->text = NULL;
    k->len = 0;
}

void marks_remove(marks *m, size_t at)
{
    mark *k = &m->items[at];
    change(m);
    if (m->call && m->reading == at)
        cancel(m);
    else if (m->reading > at)
        m->reading--;
    drop_text(m, k);
    free(k->packed);
    m->count--;
    memmove(k, k + 1, (m->count - at) * sizeof(*k));
}

bool marks_toggle(marks *m, peer *p, const item *i)
{
    size_t at = find(m, p, i->key);
    if (at < m->count) {
        marks_remove(m, at);
        return true;
    }
    char *packed = at < MOST_MARKS ? malloc(item_packed_size(i)) : NULL;
    if (!packed)
        return false;
    item_pack(i, packed);
    m->items[m->count++] =
        (mark){.peer = p, .packed = packed, .outcome = selected_first_look(i->type, i->key)};
    change(m);
    marks_read(m);
    return true;
}

void marks_forget(marks *m, const peer *p, mcp_str uri)
{
    size_t at = find(m, p, uri);
    if (at == m->count || m->items[at].outcome == FATE_FOLDER)
        return;
    change(m);
    if (m->call && m->reading == at)
        cancel(m);
    drop_text(m, &m->items[at]);
    m->items[at].outcome = FATE_NOT_LOOKED_AT;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void keep_text(marks *m, mark *k, const mcp_json *contents)
{
    mcp_json_iter it = {0};
    k->outcome = FATE_BINARY;
    for (const mcp_json *v; !k->text && (v = mcp_json_next(contents, &it, NULL)) != NULL;) {
        mcp_str text = mcp_json_string(mcp_json_get(v, "text"));
        if (!text.ptr)
            continue;
        k->outcome = FATE_NO_ROOM;
        text.len = text.len < MOST_TEXT ? text.len : MOST_TEXT;
        if (m->bytes + text.len > MOST_BYTES || !(k->text = text_dup(text)))
            return;
        k->len = text.len;
        m->bytes += k->len;
    }
}

static void on_text(mcp_client *client, int rc, const mcp_json *result, const mcp_error *error,
                    void *user)
{
    marks *m = user;
    (void)client, (void)error;
    if (rc == MCP_ECANCELLED && m->leaving) {
        m->leaving--;
        return;
    }
    mark *k = &m->items[m->reading];
    m->call = 0;
    change(m);
    k->outcome = FATE_UNREADABLE;
    if (rc == MCP_OK)
        keep_text(m, k, mcp_json_get(result, "contents"));
    marks_read(m);
    k->peer->events.changed(k->peer, k->peer->events.user);
}

void marks_read(marks *m)
{
    for (size_t i = 0; i < m->count && !m->call; i++) {
        mark *k = &m->items[i];
        if (k->outcome != FATE_NOT_LOOKED_AT || k->peer->state != PEER_READY)
            continue;
        m->reading = i;
        if (mcp_client_read(k->peer->client, item_unpack(k->packed).key.ptr,
                            MCP_OPTIONS(mcp_call_options, .done = on_text, .user = m),
                            &m->call) == MCP_OK)
            continue;
        m->call = 0;
        k->outcome = FATE_UNREADABLE;
        change(m);
    }
}

/* ---- the context ----------------------------------------------------------------------------- */

void marks_arrange(marks *m)
{
    selection *s = &m->chosen;
    if (!m->is_stale)
        return;
    selection_clear(s);
    s->items = s->items ? s->items : calloc(MOST_MARKS, sizeof(*s->items));
    s->count = s->items ? m->count : 0;
    s->query = m->query.text;
    s->keeps_all = true;
    for (size_t i = 0; i < s->count; i++) {
        const mark *k = &m->items[i];
        item e = item_unpack(k->packed);
        s->items[i] = (selected){.uri = e.key,
                                 .name = e.name,
                                 .title = e.title,
                                 .type = e.type,
                                 .about = e.about,
                                 .priority = e.priority >= 0 ? e.priority : 0.5,
                                 .place = i,
                                 .text = k->text,
                                 .len = k->len,
                                 .outcome = k->outcome};
    }
    m->is_stale = false;
    selection_score(s);
    selection_fill(s);
}

char *marks_text(marks *m)
{
    char *text = NULL;
    size_t len, n = 0;
    marks_arrange(m);
    FILE *f = open_memstream(&text, &len);
    if (!f)
        return NULL;
    fputs(selection_heading, f);
    for (size_t i = 0; i < m->chosen.count; i++)
        if (selected_is_in(&m->chosen.items[i]))
            fputs(m->chosen.items[i].section, f), n++;
    if (fclose(f) == 0 && n)
        return text;
    free(text);
    return NULL;
}

void marks_clear(marks *m)
{
    while (m->count)
        marks_remove(m, m->count - 1);
    free(m->chosen.items);
    m->chosen.items = NULL;
}
