/* kept.c: the pages of lists that the other server sent last, for the time when it does not answer.
 *
 * They belong to one principal, because the other server may show each one something else. If they
 * take too much memory, those that were used least recently are dropped.
 */
#include <string.h>

#include "listing.h"

enum { MOST_BYTES = 2 << 20, OWN_BYTES = 256 /* of memory besides the text, about */ };

struct upstream_kept {
    upstream_kept *next;
    bool named; /* false for the anonymous principal */
    bool apps;
    mcp_item item;
    char *cursor;
    mcp_str text;        /* owned */
    size_t from, length; /* the array of entries in `text` */
    uint64_t used;       /* upstream.n_kept_uses at its last use */
    char principal[];
};

static size_t size_of(const upstream_kept *k)
{
    return OWN_BYTES + k->text.len + strlen(k->principal) + strlen(k->cursor);
}

static void drop(upstream *up, upstream_kept **at)
{
    upstream_kept *k = *at;
    *at = k->next;
    up->kept_bytes -= size_of(k);
    common_release(&up->alloc, k->cursor);
    common_release(&up->alloc, (void *)(uintptr_t)k->text.ptr);
    common_release(&up->alloc, k);
}

void upstream_kept_clear(upstream *up)
{
    while (up->kept)
        drop(up, &up->kept);
}

static bool is_list(const upstream_kept *k, const upstream_key *key)
{
    return k->item == key->item && k->apps == key->apps && k->named == (key->principal != NULL) &&
           (!key->principal || strcmp(k->principal, key->principal) == 0);
}

static upstream_kept **find(upstream *up, const upstream_key *key)
{
    upstream_kept **at = &up->kept;
    while (*at && !(is_list(*at, key) && strcmp((*at)->cursor, key->cursor) == 0))
        at = &(*at)->next;
    return at;
}

mcp_str upstream_kept_find(upstream *up, const upstream_key *key)
{
    upstream_kept *k = *find(up, key);
    if (!k)
        return (mcp_str){NULL, 0};
    k->used = ++up->n_kept_uses;
    return k->text;
}

/* Finds the array of entries in the text of a page. */
static mcp_str entries_of(const mcp_json *value, mcp_str text, mcp_item item)
{
    static const char *const arrays[] = {[MCP_ITEM_RESOURCE] = "resources",
                                         [MCP_ITEM_TEMPLATE] = "resourceTemplates",
                                         [MCP_ITEM_PROMPT] = "prompts",
                                         [MCP_ITEM_TOOL] = "tools"};
    mcp_json_iter it = {0};
    mcp_json_text_iter texts = {0};
    mcp_str key, part;
    while (mcp_json_next(value, &it, &key) && mcp_json_text_next(text, &texts, NULL, &part)) {
        if (mcp_str_eq(key, mcp_str_from(arrays[item])))
            return part;
    }
    return (mcp_str){text.ptr, 0};
}

static upstream_kept *make(const upstream *up, const upstream_key *key, mcp_str text,
                           mcp_str entries)
{
    const char *principal = key->principal ? key->principal : "";
    size_t len = strlen(principal);
    upstream_kept *k = common_alloc(&up->alloc, sizeof(*k) + len + 1);
    if (!k)
        return NULL;
    *k = (upstream_kept){.named = key->principal != NULL,
                         .apps = key->apps,
                         .item = key->item,
                         .from = (size_t)(entries.ptr - text.ptr),
                         .length = entries.len};
    memcpy(k->principal, principal, len + 1);
    k->cursor = common_copy(&up->alloc, key->cursor, strlen(key->cursor));
    k->text = (mcp_str){common_copy(&up->alloc, text.ptr, text.len), text.len};
    if (k->cursor && k->text.ptr)
        return k;
    common_release(&up->alloc, k->cursor);
    common_release(&up->alloc, (void *)(uintptr_t)k->text.ptr);
    common_release(&up->alloc, k);
    return NULL;
}

/* Drops the pages that were used least recently. */
static void limit(upstream *up)
{
    while (up->kept && up->kept_bytes > MOST_BYTES) {
        upstream_kept **oldest = &up->kept;
        for (upstream_kept **at = &up->kept; *at; at = &(*at)->next)
            oldest = (*at)->used < (*oldest)->used ? at : oldest;
        drop(up, oldest);
    }
}

/* Drops the pages of a list whose first page has changed: their cursors lead on from the old one. */
static void drop_list(upstream *up, const upstream_key *key)
{
    for (upstream_kept **at = &up->kept; *at;) {
        if (is_list(*at, key))
            drop(up, at);
        else
            at = &(*at)->next;
    }
}

bool upstream_kept_put(upstream *up, const upstream_key *key, const mcp_json *value, mcp_str text)
{
    mcp_str entries = entries_of(value, text, key->item);
    upstream_kept **at = find(up, key);
    const upstream_kept *old = *at;
    bool same = old && old->length == entries.len &&
                memcmp(old->text.ptr + old->from, entries.ptr, entries.len) == 0;
    upstream_kept *k = text.len < MOST_BYTES ? make(up, key, text, entries) : NULL;
    if (!same && !key->cursor[0])
        drop_list(up, key);
    else if (old)
        drop(up, at);
    if (!k)
        return !same;
    k->used = ++up->n_kept_uses;
    k->next = up->kept;
    up->kept = k;
    up->kept_bytes += size_of(k);
    limit(up);
    return !same;
}

void upstream_kept_adopt(upstream *up, upstream *from)
{
    if (up->kept)
        return;
    up->kept = from->kept;
    up->kept_bytes = from->kept_bytes;
    up->n_kept_uses = from->n_kept_uses;
    from->kept = NULL;
    from->kept_bytes = 0;
}
