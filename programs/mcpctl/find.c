/* find.c: mcpctl find: prints resources that contain all words in their name, title, description or
 * URI, best match first. */
#include <stdlib.h>

#include <common/rank.h>

#include "entries.h"

char *words_join(const char *const *items, size_t count)
{
    size_t len = 1;
    for (size_t i = 0; i < count; i++)
        len += strlen(items[i]) + 1;
    char *text = calloc(1, len), *to = text;
    for (size_t i = 0; text && i < count; i++) {
        size_t n = strlen(items[i]);
        if (i)
            *to++ = ' ';
        memcpy(to, items[i], n);
        to += n;
    }
    return text;
}

/* Keeps only the entries that contain all words. If there are no words, keeps every entry. Returns
 * false if out of memory. */
static bool score_all(entries *all, const char *query)
{
    ranking *r = ranking_new(query);
    bool ok = r != NULL;
    for (size_t i = 0; ok && i < all->count; i++) {
        const entry *e = &all->items[i];
        const rank_field fields[] = {
            {e->name, 3}, {e->title, 2}, {e->description, 1}, {e->uri, 0.5}};
        ok = ranking_add(r, fields, sizeof(fields) / sizeof(*fields));
    }
    size_t left = 0;
    for (size_t i = 0; ok && i < all->count; i++) {
        if (ranking_matched(r, i) < ranking_words(r))
            continue;
        all->items[left] = all->items[i];
        all->items[left++].score = ranking_score(r, i);
    }
    all->count = left;
    ranking_free(r);
    return ok;
}

static int put_all(ctl *c, entries *all)
{
    listing *l = listing_begin(c, "resources");
    int code = l ? EXIT_OK : EXIT_LOCAL;
    if (c->set.limit && all->count > c->set.limit)
        all->count = (size_t)c->set.limit;
    if (l)
        listing_measure(l, all->items, all->count);
    for (size_t i = 0; code == EXIT_OK && i < all->count; i++)
        code = listing_put(l, &all->items[i], true);
    size_t count;
    return l ? listing_end(l, code, &count) : code;
}

int run_find(ctl *c)
{
    filter f;
    entries all = {0};
    int code = filter_make(c, false, &f);
    if (code == EXIT_OK && session_offers(c, "resources"))
        code = entries_collect(c, &f, &all);
    char *query = code == EXIT_OK ? words_join(c->args, c->n_args) : NULL;
    if (code == EXIT_OK && (!query || !score_all(&all, query))) {
        say("find: out of memory");
        code = EXIT_LOCAL;
    }
    if (code == EXIT_OK) {
        bool found = all.count > 0;
        entries_sort(&all, c->set.sort ? c->set.sort : "score", c->set.reverse);
        code = put_all(c, &all);
        if (code == EXIT_OK && !found) {
            if (!c->set.quiet)
                say("nothing found; 'mcpctl ls' lists all");
            code = EXIT_NOTHING;
        }
    }
    free(query);
    entries_clear(&all);
    return code;
}
