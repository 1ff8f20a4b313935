/* pages.c: a list of a server, of which only some pages are in memory. */
#include "pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_BYTES = 6 << 20, /* of entries in memory; one page may have more */
    MOST_PAGES = 200000,
    LONGEST_KEY = 64 << 10,
    LONGEST_TEXT = 4096,
};

/* ---- entries --------------------------------------------------------------------------------- */

item item_of(const mcp_json *definition, const char *key)
{
    const mcp_json *size = mcp_json_get(definition, "size");
    const mcp_json *notes = mcp_json_get(definition, "annotations");
    const mcp_json *priority = mcp_json_get(notes, "priority");
    item i = {.key = mcp_json_string(mcp_json_get(definition, key)),
              .name = mcp_json_string(mcp_json_get(definition, "name")),
              .title = mcp_json_string(mcp_json_get(definition, "title")),
              .type = mcp_json_string(mcp_json_get(definition, "mimeType")),
              .about = mcp_json_string(mcp_json_get(definition, "description")),
              .size = -1,
              .priority = priority ? mcp_json_number(priority, -1) : -1};
    if (size)
        i.size = mcp_json_int(size, -1);
    return i;
}

/* The fixed part of a packed entry; the strings follow it. */
typedef struct packed {
    int64_t size;
    uint32_t key, json, name;
    uint16_t title, type, about;
    int8_t priority; /* in percent */
    bool too_long;
} packed;

static mcp_str shortened(mcp_str s, size_t most)
{
    if (s.len <= most)
        return s;
    while (most && ((unsigned char)s.ptr[most] & 0xc0) == 0x80)
        most--;
    return (mcp_str){s.ptr, most};
}

static item within_limits(const item *from)
{
    item i = *from;
    i.too_long = i.too_long || i.key.len > LONGEST_KEY;
    i.key = shortened(i.key, LONGEST_KEY);
    i.name = mcp_str_eq(i.name, i.key) ? (mcp_str){0} : shortened(i.name, LONGEST_TEXT);
    i.title = mcp_str_eq(i.title, i.name) ? (mcp_str){0} : shortened(i.title, LONGEST_TEXT);
    i.type = shortened(i.type, LONGEST_TEXT);
    i.about = shortened(i.about, LONGEST_TEXT);
    return i;
}

size_t item_packed_size(const item *from)
{
    item i = within_limits(from);
    size_t size = sizeof(packed) + i.key.len + i.name.len + i.title.len + i.type.len + i.about.len +
                  i.json.len + 1;
    return (size + 7) / 8 * 8;
}

static char *put(char *to, mcp_str s)
{
    if (s.len)
        memcpy(to, s.ptr, s.len);
    return to + s.len;
}

void item_pack(const item *from, char *to)
{
    item i = within_limits(from);
    packed p = {.size = i.size,
                .key = (uint32_t)i.key.len,
                .json = (uint32_t)i.json.len,
                .name = (uint32_t)i.name.len,
                .title = (uint16_t)i.title.len,
                .type = (uint16_t)i.type.len,
                .about = (uint16_t)i.about.len,
                .priority = (int8_t)(i.priority >= 0 && i.priority <= 1 ? i.priority * 100 : -1),
                .too_long = i.too_long};
    memcpy(to, &p, sizeof(p));
    to = put(to + sizeof(p), i.key);
    *to++ = 0; /* so that a request can use the key as it is */
    to = put(put(put(put(to, i.name), i.title), i.type), i.about);
    put(to, i.json);
}

static mcp_str take(const char **from, size_t len)
{
    mcp_str s = {*from, len};
    *from += len;
    return s;
}

item item_unpack(const char *from)
{
    packed p;
    memcpy(&p, from, sizeof(p));
    from += sizeof(p);
    item i = {.size = p.size,
              .priority = p.priority < 0 ? -1 : p.priority / 100.0,
              .too_long = p.too_long};
    i.key = take(&from, p.key);
    from++;
    i.name = take(&from, p.name);
    i.title = take(&from, p.title);
    i.type = take(&from, p.type);
    i.about = take(&from, p.about);
    i.json = take(&from, p.json);
    return i;
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void drop(pages *p, page *g)
{
    if (g->block)
        p->bytes -= g->offsets[g->count];
    free(g->block);
    free(g->offsets);
    g->block = NULL;
    g->offsets = NULL;
}

void pages_init(pages *p, const pages_kind *kind)
{
    *p = (pages){.kind = kind, .most_bytes = MOST_BYTES};
}

void pages_reset(pages *p)
{
    for (size_t i = 0; i < p->count; i++) {
        drop(p, &p->items[i]);
        free(p->items[i].cursor);
    }
    free(p->items);
    *p = (pages){.kind = p->kind, .most_bytes = p->most_bytes, .generation = p->generation + 1};
}

void pages_break(pages *p, const char *why)
{
    snprintf(p->why, sizeof(p->why), "%s", why);
    p->is_broken = true;
}

static bool add_page(pages *p, mcp_str cursor)
{
    if (p->count == p->room) {
        size_t room = p->room ? p->room * 2 : 16;
        page *grown = realloc(p->items, room * sizeof(*grown));
        if (!grown)
            return false;
        p->items = grown;
        p->room = room;
    }
    page g = {.first = p->known};
    if (cursor.ptr && !(g.cursor = malloc(cursor.len + 1)))
        return false;
    if (cursor.ptr) {
        memcpy(g.cursor, cursor.ptr, cursor.len);
        g.cursor[cursor.len] = 0;
    }
    p->items[p->count++] = g;
    return true;
}

size_t pages_page_of(const pages *p, size_t at)
{
    size_t low = 0, high = p->count;
    if (at >= p->known)
        return p->count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (p->items[middle].first <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

size_t pages_wanted(pages *p, size_t from, size_t to)
{
    if (!p->count)
        return p->is_broken || !add_page(p, (mcp_str){0}) ? SIZE_MAX : 0;
    for (size_t i = pages_page_of(p, from); i < p->count && p->items[i].first < to; i++)
        if (!p->items[i].block && (p->items[i].is_read || !p->is_broken))
            return i;
    bool more = to > p->known && !p->is_complete && !p->is_broken;
    return more ? p->count - 1 : SIZE_MAX;
}

const char *pages_cursor(const pages *p, size_t index)
{
    return p->items[index].cursor;
}

/* Drops the pages that were not used for the longest time, but not this one. */
static void make_room(pages *p, const page *but)
{
    while (p->bytes > p->most_bytes) {
        page *oldest = NULL;
        for (size_t i = 0; i < p->count; i++) {
            page *g = &p->items[i];
            if (g->block && g != but && (!oldest || g->used < oldest->used))
                oldest = g;
        }
        if (!oldest)
            return;
        drop(p, oldest);
    }
}

/* Returns the value as text, which belongs to the writer. */
static mcp_str json_text(mcp_json_writer *w, const mcp_json *value)
{
    mcp_str text;
    mcp_json_add_value(w, value);
    return mcp_json_writer_finish(w, &text) == MCP_OK ? text : (mcp_str){0};
}

/* Appends an entry to the block. */
static bool add_item(page *g, size_t *room, const pages_kind *kind, const mcp_json *definition)
{
    item i = item_of(definition, kind->key);
    mcp_json_writer *w = kind->whole ? mcp_json_writer_new(NULL, 0) : NULL;
    if (w)
        i.json = json_text(w, definition);
    size_t at = g->offsets[g->count], need = at + item_packed_size(&i);
    if (need > *room) {
        size_t more = need + need / 2;
        char *grown = realloc(g->block, more);
        if (!grown) {
            mcp_json_writer_free(w);
            return false;
        }
        g->block = grown;
        *room = more;
    }
    item_pack(&i, g->block + at);
    g->offsets[++g->count] = need;
    mcp_json_writer_free(w);
    return true;
}

static bool read_page(page *g, const pages_kind *kind, const mcp_json *array)
{
    mcp_json_iter it = {0};
    size_t room = 4096;
    g->count = 0;
    g->offsets = calloc(mcp_json_count(array) + 1, sizeof(*g->offsets));
    g->block = malloc(room);
    bool ok = g->offsets && g->block;
    for (const mcp_json *v; ok && (v = mcp_json_next(array, &it, NULL)) != NULL;)
        if (mcp_json_is(v, MCP_JSON_OBJECT))
            ok = add_item(g, &room, kind, v);
    char *exact = ok ? realloc(g->block, g->offsets[g->count] + 1) : NULL;
    g->block = exact ? exact : g->block;
    return ok;
}

/* After a page has changed its number of entries, those of the pages behind it move. */
static void count_again(pages *p)
{
    p->known = 0;
    for (size_t i = 0; i < p->count; i++) {
        p->items[i].first = p->known;
        p->known += p->items[i].count;
    }
}

static void add_next(pages *p, const mcp_json *result, const char *cursor)
{
    mcp_str next = mcp_json_string(mcp_json_get(result, "nextCursor"));
    if (!next.ptr)
        p->is_complete = true;
    else if (cursor && mcp_str_eq(next, mcp_str_from(cursor)))
        pages_break(p, "the server returned the same cursor twice");
    else if (p->count >= MOST_PAGES)
        pages_break(p, "the list has too many pages");
    else if (!add_page(p, next))
        pages_break(p, "out of memory");
}

bool pages_take(pages *p, size_t index, const mcp_json *result)
{
    const mcp_json *array = mcp_json_get(result, p->kind->array);
    page *g = &p->items[index], old = *g;
    if (g->block)
        return true;
    g->used = ++p->clock;
    if (!read_page(g, p->kind, array)) {
        free(g->block);
        free(g->offsets);
        *g = old;
        return false;
    }
    g->is_read = true;
    p->bytes += g->offsets[g->count];
    count_again(p);
    if (index == p->count - 1 && !p->is_complete)
        add_next(p, result, old.cursor);
    make_room(p, &p->items[index]);
    return true;
}

bool pages_item(pages *p, size_t at, item *ret)
{
    size_t index = pages_page_of(p, at);
    if (index == p->count || !p->items[index].block)
        return false;
    page *g = &p->items[index];
    g->used = ++p->clock;
    *ret = item_unpack(g->block + g->offsets[at - g->first]);
    return true;
}
