/* ls.c: mcpctl ls, and the table that find prints too. Unless they have to be sorted or are
 * JSON, entries are printed page by page, so that memory does not grow with the list; the columns
 * are those of the widest page so far.
 */
#include <stdlib.h>

#include "entries.h"

enum { WIDEST_NAME = 40, WIDEST_TYPE = 30, ENOUGH = -1 };

struct listing {
    ctl *c;
    size_t count;
    size_t name, type; /* column widths; 0 before the first line */
    bool as_json;
    json_list json;
};

listing *listing_begin(ctl *c, const char *json_name)
{
    listing *l = calloc(1, sizeof(*l));
    if (!l) {
        say("out of memory");
        return NULL;
    }
    l->c = c;
    l->as_json = c->set.json;
    if (l->as_json)
        json_list_begin(&l->json, json_name);
    return l;
}

static void widen(size_t *width, mcp_str s, size_t most)
{
    size_t w = text_width(s);
    w = w < most ? w : most;
    *width = *width > w ? *width : w;
}

void listing_measure(listing *l, const entry *items, size_t count)
{
    const ctl *c = l->c;
    bool first = l->name == 0;
    if (l->as_json || !c->out_is_terminal || !count)
        return;
    l->name = l->name > 4 ? l->name : 4;
    l->type = l->type > 4 ? l->type : 4;
    for (size_t i = 0; i < count; i++) {
        widen(&l->name, items[i].name, WIDEST_NAME);
        widen(&l->type, items[i].type, WIDEST_TYPE);
    }
    if (first && c->set.long_form)
        printf("%s%-*s  %12s  %-*s  %8s  %-20s  %s%s\n", style_of(c, STYLE_BOLD), (int)l->name,
               "NAME", "SIZE", (int)l->type, "TYPE", "PRIORITY", "MODIFIED", "URI",
               style_of(c, STYLE_NONE));
    else if (first)
        printf("%s%-*s  %5s  %-*s  %s%s\n", style_of(c, STYLE_BOLD), (int)l->name, "NAME", "SIZE",
               (int)l->type, "TYPE", "URI", style_of(c, STYLE_NONE));
}

static void put_long(const ctl *c, const entry *e)
{
    char modified[32] = "";
    if (e->modified != TIME_UNKNOWN)
        time_format(e->modified, modified);
    put_field(c, e->uri);
    putchar('\t');
    if (e->size >= 0)
        printf("%lld", (long long)e->size);
    putchar('\t');
    put_field(c, e->type);
    putchar('\t');
    put_field(c, e->name);
    putchar('\t');
    if (e->priority >= 0)
        printf("%.6g", e->priority);
    printf("\t%s", modified);
}

/* Prints a row for people: in columns, with the URI last because it may be long. */
static void put_long_row(const ctl *c, const listing *l, const entry *e)
{
    char modified[32] = "", size[24] = "", priority[24] = "";
    if (e->modified != TIME_UNKNOWN)
        time_format(e->modified, modified);
    if (e->size >= 0)
        snprintf(size, sizeof(size), "%lld", (long long)e->size);
    if (e->priority >= 0)
        snprintf(priority, sizeof(priority), "%.6g", e->priority);
    fputs(style_of(c, STYLE_NAME), stdout);
    text_put_cell(stdout, e->name, l->name);
    printf("%s  %12s  ", style_of(c, STYLE_NONE), size);
    text_put_cell(stdout, e->type, l->type);
    printf("  %8s  %-20s  ", priority, modified);
    text_put(stdout, e->uri, TEXT_LINE);
}

static void put_row(const ctl *c, const listing *l, const entry *e)
{
    char size[24];
    size_format(e->size, size);
    fputs(style_of(c, STYLE_NAME), stdout);
    text_put_cell(stdout, e->name, l->name);
    printf("%s  %5s  ", style_of(c, STYLE_NONE), size);
    text_put_cell(stdout, e->type, l->type);
    fputs("  ", stdout);
    text_put(stdout, e->uri, TEXT_LINE);
}

static int put_scored(const ctl *c, listing *l, const entry *e)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_iter it = {0};
    mcp_str key, text;
    mcp_json_doc *doc = NULL;
    mcp_json_begin_object(w);
    mcp_json_put_real(w, "score", e->score);
    for (const mcp_json *v; (v = mcp_json_next(e->json, &it, &key)) != NULL;) {
        if (!mcp_str_eq(key, MCP_STR("score")))
            mcp_json_key_str(w, key), mcp_json_add_value(w, v);
    }
    mcp_json_end(w);
    int code = EXIT_LOCAL;
    if (w && mcp_json_writer_finish(w, &text) == MCP_OK &&
        mcp_json_parse(text, NULL, NULL, &doc, NULL) == MCP_OK)
        code = json_list_add(c, &l->json, mcp_json_root(doc));
    mcp_json_free(doc);
    mcp_json_writer_free(w);
    return code;
}

int listing_put(listing *l, const entry *e, bool with_score)
{
    const ctl *c = l->c;
    l->count++;
    if (l->as_json)
        return with_score ? put_scored(c, l, e) : json_list_add(c, &l->json, e->json);
    if (c->set.long_form && c->out_is_terminal)
        put_long_row(c, l, e);
    else if (c->set.long_form)
        put_long(c, e);
    else if (c->out_is_terminal)
        put_row(c, l, e);
    else
        put_field(c, e->uri);
    putchar('\n');
    return EXIT_OK;
}

int listing_end(listing *l, int code, size_t *count)
{
    *count = l->count;
    if (l->as_json)
        code = json_list_end(l->c, &l->json, code);
    free(l);
    return code;
}

/* ---- ls -------------------------------------------------------------------------------------- */

typedef struct streaming {
    filter filter;
    listing *listing;
    size_t seen;
} streaming;

/* Filters the entries of a page. The caller frees them. */
static int choose(ctl *c, streaming *s, const mcp_json *resources, entry **ret, size_t *count)
{
    entry *chosen = malloc((mcp_json_count(resources) + 1) * sizeof(*chosen));
    mcp_json_iter it = {0};
    *ret = chosen;
    *count = 0;
    for (const mcp_json *v; chosen && (v = mcp_json_next(resources, &it, NULL)) != NULL;) {
        entry e = entry_of(v);
        s->seen++;
        if (!e.uri.len) {
            say("ls: entry %zu has no \"uri\": the server breaks the protocol", s->seen);
            return EXIT_PROTOCOL;
        }
        if (filter_passes(&s->filter, &e))
            chosen[(*count)++] = e;
    }
    if (!chosen)
        say("%s: out of memory", c->command->name);
    return chosen ? EXIT_OK : EXIT_LOCAL;
}

static int on_page(ctl *c, const mcp_json *result, void *user)
{
    streaming *s = user;
    entry *chosen;
    size_t count;
    int code = choose(c, s, mcp_json_get(result, "resources"), &chosen, &count);
    listing_measure(s->listing, chosen, code == EXIT_OK ? count : 0);
    for (size_t i = 0; code == EXIT_OK && i < count; i++) {
        code = listing_put(s->listing, &chosen[i], false);
        if (code == EXIT_OK && c->set.limit && s->listing->count == c->set.limit)
            code = ENOUGH;
    }
    free(chosen);
    /* Flushing shows each page at once, and ends an endless list when the reader of a pipe has
     * exited. */
    return flush_stdout(c) ? code : EXIT_LOCAL;
}

static int list_sorted(ctl *c, streaming *s)
{
    entries all;
    int code = entries_collect(c, &s->filter, &all);
    s->seen = all.seen;
    if (code == EXIT_OK) {
        entries_sort(&all, c->set.sort, c->set.reverse);
        if (c->set.limit && all.count > c->set.limit)
            all.count = (size_t)c->set.limit;
        listing_measure(s->listing, all.items, all.count);
    }
    for (size_t i = 0; code == EXIT_OK && i < all.count; i++)
        code = listing_put(s->listing, &all.items[i], false);
    entries_clear(&all);
    return code;
}

int run_ls(ctl *c)
{
    streaming s = {0};
    int code = filter_make(c, true, &s.filter);
    if (code != EXIT_OK)
        return code;
    if (c->set.reverse && !c->set.sort)
        c->set.sort = "uri";
    if (!(s.listing = listing_begin(c, "resources")))
        return EXIT_LOCAL;
    if (session_offers(c, "resources"))
        code =
            c->set.sort ? list_sorted(c, &s) : session_list(c, "ls", "resources/list", on_page, &s);
    code = code == ENOUGH ? EXIT_OK : code;
    size_t count;
    code = listing_end(s.listing, code, &count);
    if (!count && code == EXIT_OK)
        entries_say_none(c, s.seen);
    return code;
}
