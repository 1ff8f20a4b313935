/* context.c: mcpctl context: selects resources for a language model, within a budget.
 *
 * It works in two rounds, because reading everything would be slow: candidates are selected by
 * their entries in the list, and then their texts are read and ranked again. A priority of 1 means
 * "required" (2026-07-28, server/resources, "Annotations") and comes before everything else.
 */
#include <stdlib.h>

#include <common/selection.h>

#include "entries.h"
#include "read.h"
#include "terminal.h"

enum { CANDIDATES = 60, MOST_TEXT = 4 << 20 };

typedef struct choosing {
    ctl *c;
    selection chosen;
} choosing;

/* Returns 1 for the current time, 0.5 for a month ago, and approaches 0 for older times. */
static double recency_of(int64_t modified)
{
    const double month = 30.0 * 86400 * 1000;
    if (modified == TIME_UNKNOWN)
        return 0;
    double age = (double)time_now() - (double)modified;
    return age <= 0 ? 1 : month / (month + age);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static int on_text(ctl *c, const mcp_json *result, void *user)
{
    selected *k = user;
    mcp_json_iter it = {0};
    const mcp_json *contents = mcp_json_get(result, "contents");
    (void)c;
    k->outcome = FATE_BINARY;
    for (const mcp_json *v; !k->text && (v = mcp_json_next(contents, &it, NULL)) != NULL;) {
        mcp_str text = mcp_json_string(mcp_json_get(v, "text"));
        if (!text.ptr)
            continue;
        k->len = text.len < MOST_TEXT ? text.len : MOST_TEXT;
        k->text = text_dup((mcp_str){text.ptr, k->len});
        k->outcome = FATE_NO_ROOM;
    }
    return EXIT_OK;
}

/* Reads candidates that may be text, in order, until there are enough. */
static void read_texts(choosing *k)
{
    const selection *s = &k->chosen;
    size_t open = 0, done = 0;
    for (size_t i = 0; i < s->count; i++)
        open += s->items[i].outcome == FATE_NOT_LOOKED_AT;
    open = open < CANDIDATES ? open : CANDIDATES;
    bar_begin("reading", k->c->set.quiet);
    for (size_t i = 0; i < s->count && done < open && !k->c->session->interrupted; i++) {
        selected *a = &s->items[i];
        char *uri = a->outcome == FATE_NOT_LOOKED_AT ? text_dup(a->uri) : NULL;
        char *params = uri ? read_params(uri) : NULL;
        if (!params) {
            free(uri);
            continue;
        }
        bar_set((double)done++, (double)open, a->name);
        a->outcome = FATE_UNREADABLE;
        session_call_quietly(k->c, "resources/read", params, on_text, a);
        free(params);
        free(uri);
    }
    bar_end();
}

/* ---- output ---------------------------------------------------------------------------------- */

static void put_markdown(const choosing *k)
{
    put_block(k->c, mcp_str_from(selection_heading));
    for (size_t i = 0; i < k->chosen.count; i++)
        if (selected_is_in(&k->chosen.items[i]))
            put_block(k->c, mcp_str_from(k->chosen.items[i].section));
}

static void put_explanation(const choosing *k)
{
    const ctl *c = k->c;
    for (size_t i = 0; i < k->chosen.count; i++) {
        const selected *a = &k->chosen.items[i];
        printf("%s\t%.3f\tmatch %.2f, priority %.2f, recency %.2f\t%llu\t%s\t",
               selected_is_in(a) ? "in" : "out", a->score, a->match, a->priority, a->recency,
               (unsigned long long)a->cost, selected_outcomes[a->outcome]);
        put_field(c, a->uri);
        putchar('\n');
    }
    if (!c->set.quiet)
        say("%llu of %llu %s used", (unsigned long long)k->chosen.budget.used,
            (unsigned long long)k->chosen.budget.limit,
            k->chosen.budget.tokens ? "tokens" : "bytes");
}

static void add_number(mcp_json_writer *w, const char *key, double value)
{
    mcp_json_key(w, key);
    mcp_json_add_real(w, value);
}

static void add_item(mcp_json_writer *w, const ctl *c, const selected *a)
{
    mcp_json_begin_object(w);
    mcp_json_put_str(w, "uri", a->uri);
    mcp_json_put_str(w, "name", a->name);
    if (a->type.len)
        mcp_json_put_str(w, "mimeType", a->type);
    add_number(w, "score", a->score);
    if (c->set.explain) {
        add_number(w, "match", a->match);
        add_number(w, "priority", a->priority);
        add_number(w, "recency", a->recency);
        mcp_json_put_bool(w, "included", selected_is_in(a));
        mcp_json_put_string(w, "why", selected_outcomes[a->outcome]);
    }
    mcp_json_put_uint(w, "cost", a->cost);
    if (selected_is_in(a) && !c->set.explain) {
        mcp_json_put_bool(w, "part", a->outcome == FATE_CUT);
        mcp_json_put_str(w, "text", a->part);
    }
    mcp_json_end(w);
}

static int put_json(const choosing *k)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, (size_t)1 << 30);
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "query", k->chosen.query);
    mcp_json_put_string(w, "unit", k->chosen.budget.tokens ? "tokens" : "bytes");
    mcp_json_put_uint(w, "budget", k->chosen.budget.limit);
    mcp_json_put_uint(w, "used", k->chosen.budget.used);
    mcp_json_put_array(w, "resources");
    for (size_t i = 0; i < k->chosen.count; i++)
        if (selected_is_in(&k->chosen.items[i]) || k->c->set.explain)
            add_item(w, k->c, &k->chosen.items[i]);
    mcp_json_end(w), mcp_json_end(w);
    return put_written(k->c, "context", w);
}

static int put_all(const choosing *k, size_t included)
{
    int code = EXIT_OK;
    if (k->c->set.json)
        code = put_json(k);
    else if (k->c->set.explain)
        put_explanation(k);
    else if (included)
        put_markdown(k);
    if (code != EXIT_OK || included)
        return code;
    if (!k->c->set.quiet)
        say("nothing to include; --explain says why");
    return EXIT_NOTHING;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int choose(choosing *k, const entries *all)
{
    selection *s = &k->chosen;
    s->items = calloc(all->count + 1, sizeof(*s->items));
    s->count = s->items ? all->count : 0;
    for (size_t i = 0; i < s->count; i++) {
        const entry *e = &all->items[i];
        s->items[i] = (selected){.uri = e->uri,
                                 .name = e->name,
                                 .title = e->title,
                                 .type = e->type,
                                 .about = e->description,
                                 .priority = e->priority >= 0 ? e->priority : 0.5,
                                 .recency = recency_of(e->modified),
                                 .place = e->place,
                                 .outcome = selected_first_look(e->type, e->uri)};
    }
    if (!s->items || !selection_score(s)) {
        say("context: out of memory");
        return EXIT_LOCAL;
    }
    read_texts(k);
    if (!selection_score(s))
        return EXIT_LOCAL;
    return put_all(k, selection_fill(s));
}

int run_context(ctl *c)
{
    choosing k = {.c = c};
    selection *s = &k.chosen;
    filter f;
    entries all = {0};
    int code = filter_make(c, false, &f);
    if (code == EXIT_OK && !budget_parse(c->set.budget ? c->set.budget : "32K", &s->budget)) {
        say("--budget cannot be '%s'; it is a number of bytes, such as 32K, or of tokens, such as "
            "8000t",
            c->set.budget);
        code = EXIT_USAGE;
    }
    if (!c->set.audience)
        f.audience = AUDIENCE_ASSISTANT;
    if (code == EXIT_OK && session_offers(c, "resources"))
        code = entries_collect(c, &f, &all);
    char *query = words_join(c->args, c->n_args);
    s->query = query;
    if (code == EXIT_OK && query)
        code = choose(&k, &all);
    selection_clear(s);
    for (size_t i = 0; i < s->count; i++)
        free(s->items[i].text);
    free(s->items);
    free(query);
    entries_clear(&all);
    return code;
}
