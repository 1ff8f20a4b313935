/* search.c: the entries of a list that match a query, the best ones first. */
#include "search.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1000, BETWEEN_LOOKS = 128 };

mcp_str item_label(const item *i)
{
    return i->title.len ? i->title : i->name.len ? i->name : i->key;
}

static int score_of(const fuzzy *f, const item *i)
{
    mcp_str label = item_label(i);
    /* all URIs of a server have much in common, so they are searched only for a part of a path */
    bool is_path = memchr(f->letters, '/', sizeof(f->letters)) != NULL;
    int score = fuzzy_score(f, label, NULL, NULL);
    if (score >= 0)
        return score + 20;
    /* the name of a tool or a prompt is its key */
    bool is_named = i->name.len || !memchr(i->key.ptr, ':', i->key.len);
    mcp_str name = i->name.len ? i->name : i->key;
    score = is_named && name.ptr != label.ptr ? fuzzy_score(f, name, NULL, NULL) : -1;
    if (score >= 0)
        return score + 10;
    return is_path && label.ptr != i->key.ptr ? fuzzy_score(f, i->key, NULL, NULL) : -1;
}

static void forget(search_state *s, size_t from)
{
    for (size_t i = from; i < s->count; i++)
        free(s->items[i].packed);
    s->count = from < s->count ? from : s->count;
}

static bool is_better(const match *a, int score, size_t at)
{
    return score > a->score || (score == a->score && at < a->at);
}

/* Returns where a match belongs in the order. */
static size_t place_of(const search_state *s, int score, size_t at)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (is_better(&s->items[middle], score, at))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void keep(search_state *s, const item *i, int score, size_t at)
{
    size_t place = place_of(s, score, at);
    if (place == MOST)
        return;
    if (!s->items && !(s->items = calloc(MOST + 1, sizeof(*s->items))))
        return;
    char *packed = malloc(item_packed_size(i));
    if (!packed)
        return;
    item_pack(i, packed);
    memmove(s->items + place + 1, s->items + place, (s->count - place) * sizeof(*s->items));
    s->items[place] = (match){score, at, packed};
    s->count++;
    forget(s, MOST);
}

/* Searches only what was found before. */
static void narrow(search_state *s)
{
    search_state old = *s;
    s->items = NULL;
    s->count = s->total = 0;
    for (size_t k = 0; k < old.count; k++) {
        item i = item_unpack(old.items[k].packed);
        int score = score_of(&s->query, &i);
        if (score >= 0) {
            keep(s, &i, score, old.items[k].at);
            s->total++;
        }
    }
    forget(&old, 0);
    free(old.items);
}

void search_begin(search_state *s, mcp_str query, mcp_str before)
{
    bool continues = s->is_on && s->query.words && before.len && query.len > before.len &&
                     memcmp(query.ptr, before.ptr, before.len) == 0 && s->total == s->count;
    s->is_on = true;
    s->query = fuzzy_of(query);
    if (continues) {
        narrow(s);
        return;
    }
    forget(s, 0);
    s->total = s->next = 0;
}

void search_clear(search_state *s)
{
    forget(s, 0);
    free(s->items);
    *s = (search_state){0};
}

bool search_step(search_state *s, pages *p, bool (*is_late)(void *), void *user)
{
    size_t begin = s->next;
    if (s->generation != p->generation) {
        forget(s, 0);
        s->next = begin = s->total = 0;
        s->generation = p->generation;
    }
    item i;
    for (; s->next < p->known && pages_item(p, s->next, &i); s->next++) {
        int score = score_of(&s->query, &i);
        if (score >= 0) {
            keep(s, &i, score, s->next);
            s->total++;
        }
        if ((s->next - begin) % BETWEEN_LOOKS == BETWEEN_LOOKS - 1 && is_late(user)) {
            s->next++;
            break;
        }
    }
    return s->next != begin;
}

bool search_is_done(const search_state *s, const pages *p)
{
    return s->next >= p->known && (p->is_complete || p->is_broken);
}
