/* context.c: mcpctl context: selects resources for a language model, within a budget.
 *
 * It works in two rounds, because reading everything would be slow: candidates are selected by
 * their entries in the list, and then their texts are read and ranked again. A priority of 1 means
 * "required" (2026-07-28, server/resources, "Annotations") and comes before everything else.
 */
#include <stdlib.h>

#include "bundle.h"
#include "rank.h"
#include "read.h"
#include "terminal.h"

enum { CANDIDATES = 60, MOST_TEXT = 4 << 20 };

typedef enum fate {
    FATE_IN,
    FATE_CUT,
    FATE_FOLDER,
    FATE_BINARY,
    FATE_NO_MATCH,
    FATE_NOT_LOOKED_AT,
    FATE_UNREADABLE,
    FATE_NO_ROOM,
} fate;

static const char *const fates[] = {
    "included",        "included in part", "a folder",       "not text",
    "matches no word", "too far down",     "cannot be read", "no room left in the budget",
};

typedef struct candidate {
    entry e;
    char *text;
    size_t len;
    double match, priority, recency;
    fate fate;
    uint64_t cost;
    char *section;
    mcp_str part; /* the part of the text that is included */
} candidate;

typedef struct choosing {
    ctl *c;
    candidate *items;
    size_t count;
    char *query;
    size_t words;
    budget budget;
} choosing;

static bool is_in(const candidate *k)
{
    return k->fate == FATE_IN || k->fate == FATE_CUT;
}

static bool is_required(const candidate *k)
{
    return k->e.priority >= 1;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* Returns 1 for the current time, 0.5 for a month ago, and approaches 0 for older times. */
static double recency_of(int64_t modified)
{
    const double month = 30.0 * 86400 * 1000;
    if (modified == TIME_UNKNOWN)
        return 0;
    double age = (double)time_now() - (double)modified;
    return age <= 0 ? 1 : month / (month + age);
}

static bool score(choosing *k)
{
    ranking *r = ranking_new(k->query);
    double best = 0;
    bool ok = r != NULL;
    for (size_t i = 0; ok && i < k->count; i++) {
        const candidate *a = &k->items[i];
        const rank_field fields[] = {{a->e.name, 3},
                                     {a->e.title, 2},
                                     {a->e.description, 1.5},
                                     {a->e.uri, 0.5},
                                     {{a->text, a->len}, 1}};
        ok = ranking_add(r, fields, sizeof(fields) / sizeof(*fields));
    }
    k->words = ok ? ranking_words(r) : 0;
    for (size_t i = 0; ok && i < k->count; i++) {
        k->items[i].match = k->words ? ranking_score(r, i) : 0;
        best = k->items[i].match > best ? k->items[i].match : best;
    }
    for (size_t i = 0; ok && i < k->count; i++) {
        candidate *a = &k->items[i];
        a->match = best > 0 ? a->match / best : 0;
        a->priority = a->e.priority >= 0 ? a->e.priority : 0.5;
        a->recency = recency_of(a->e.modified);
        a->e.score = k->words ? 0.7 * a->match + 0.2 * a->priority + 0.1 * a->recency
                              : 0.7 * a->priority + 0.3 * a->recency;
        if (k->words && a->match <= 0)
            a->e.score = 0;
        if (is_required(a))
            a->e.score += 1;
    }
    ranking_free(r);
    return ok;
}

static int by_score(const void *a, const void *b)
{
    const entry *x = &((const candidate *)a)->e, *y = &((const candidate *)b)->e;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return (x->place > y->place) - (x->place < y->place);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static bool begins(mcp_str s, const char *with)
{
    size_t len = strlen(with);
    return s.len >= len && memcmp(s.ptr, with, len) == 0;
}

/* Decides what can be decided before reading. FATE_NOT_LOOKED_AT means undecided. */
static fate first_look(const entry *e)
{
    static const char *const binary[] = {"image/",
                                         "audio/",
                                         "video/",
                                         "font/",
                                         "model/",
                                         "application/zip",
                                         "application/gzip",
                                         "application/pdf",
                                         "application/octet-stream"};
    if (begins(e->type, "inode/") || (e->uri.len && e->uri.ptr[e->uri.len - 1] == '/'))
        return FATE_FOLDER;
    for (size_t i = 0; i < sizeof(binary) / sizeof(*binary); i++)
        if (begins(e->type, binary[i]))
            return FATE_BINARY;
    return FATE_NOT_LOOKED_AT;
}

static int on_text(ctl *c, const mcp_json *result, void *user)
{
    candidate *k = user;
    mcp_json_iter it = {0};
    const mcp_json *contents = mcp_json_get(result, "contents");
    (void)c;
    k->fate = FATE_BINARY;
    for (const mcp_json *v; !k->text && (v = mcp_json_next(contents, &it, NULL)) != NULL;) {
        mcp_str text = mcp_json_string(mcp_json_get(v, "text"));
        if (!text.ptr)
            continue;
        k->len = text.len < MOST_TEXT ? text.len : MOST_TEXT;
        k->text = text_dup((mcp_str){text.ptr, k->len});
        k->fate = FATE_NO_ROOM;
    }
    return EXIT_OK;
}

/* Reads candidates that may be text, in order, until there are enough. */
static void read_texts(choosing *k)
{
    size_t open = 0, done = 0;
    for (size_t i = 0; i < k->count; i++)
        open += k->items[i].fate == FATE_NOT_LOOKED_AT;
    open = open < CANDIDATES ? open : CANDIDATES;
    bar_begin("reading", k->c->set.quiet);
    for (size_t i = 0; i < k->count && done < open && !k->c->session->interrupted; i++) {
        candidate *a = &k->items[i];
        char *uri = a->fate == FATE_NOT_LOOKED_AT ? text_dup(a->e.uri) : NULL;
        char *params = uri ? read_params(uri) : NULL;
        if (!params) {
            free(uri);
            continue;
        }
        bar_set((double)done++, (double)open, a->e.name);
        a->fate = FATE_UNREADABLE;
        session_call_quietly(k->c, "resources/read", params, on_text, a);
        free(params);
        free(uri);
    }
    bar_end();
}

/* ---- filling the budget ---------------------------------------------------------------------- */

/* Returns where a part of a long text should begin: shortly before the first of the lines with the
 * most query words. */
static size_t best_place(const choosing *k, const candidate *a)
{
    size_t best = 0, most = 0, before[3] = {0};
    ranking *r = k->words ? ranking_new(k->query) : NULL;
    for (size_t at = 0, line = 0; r && at < a->len; line++) {
        const char *newline = memchr(a->text + at, '\n', a->len - at);
        size_t len = newline ? (size_t)(newline - a->text) + 1 - at : a->len - at;
        const rank_field field = {{a->text + at, len}, 1};
        if (!ranking_add(r, &field, 1))
            break;
        size_t matched = ranking_matched(r, line);
        if (matched > most)
            most = matched, best = before[0];
        before[0] = before[1], before[1] = before[2], before[2] = at;
        at += len;
    }
    ranking_free(r);
    return best;
}

/* Includes as much as fits; parts below `LEAST` are not useful. */
static void include(choosing *k, candidate *a)
{
    budget *b = &k->budget;
    uint64_t left = b->limit - b->used, least = b->tokens ? 50 : 200;
    /* If there are several resources, only a required one gets more than half of the budget. */
    uint64_t room = is_required(a) || k->count < 2 || left < b->limit / 2 ? left : b->limit / 2;
    mcp_str whole = {a->text, a->len};
    char *section = bundle_section(&a->e, whole, false);
    a->part = whole;
    a->fate = FATE_IN;
    if (section && budget_cost(b, mcp_str_from(section)) > room) {
        free(section);
        section = bundle_section(&a->e, (mcp_str){"", 0}, true);
        uint64_t frame = section ? budget_cost(b, mcp_str_from(section)) : 0;
        free(section);
        section = NULL;
        a->fate = FATE_NO_ROOM;
        if (room >= frame + least) {
            size_t from = best_place(k, a);
            /* This reserves room for a longer fence and a final newline. */
            a->part = budget_cut(b, (mcp_str){a->text + from, a->len - from}, room - frame - 8);
            section = a->part.len ? bundle_section(&a->e, a->part, true) : NULL;
            a->fate = section ? FATE_CUT : FATE_NO_ROOM;
        }
    }
    if (section && budget_cost(b, mcp_str_from(section)) > left) {
        free(section);
        section = NULL;
        a->fate = FATE_NO_ROOM;
    }
    a->section = section;
    a->cost = section ? budget_cost(b, mcp_str_from(section)) : 0;
    b->used += a->cost;
}

static size_t fill(choosing *k)
{
    size_t included = 0;
    for (size_t i = 0; i < k->count; i++) {
        candidate *a = &k->items[i];
        if (!a->text)
            continue;
        if (k->words && a->match <= 0 && !is_required(a))
            a->fate = FATE_NO_MATCH;
        else
            include(k, a);
        included += is_in(a);
    }
    return included;
}

/* ---- output ---------------------------------------------------------------------------------- */

static const char heading[] = "# Context\n";

static void put_markdown(const choosing *k)
{
    put_block(k->c, mcp_str_from(heading));
    for (size_t i = 0; i < k->count; i++)
        if (is_in(&k->items[i]))
            put_block(k->c, mcp_str_from(k->items[i].section));
}

static void put_explanation(const choosing *k)
{
    const ctl *c = k->c;
    for (size_t i = 0; i < k->count; i++) {
        const candidate *a = &k->items[i];
        printf("%s\t%.3f\tmatch %.2f, priority %.2f, recency %.2f\t%llu\t%s\t",
               is_in(a) ? "in" : "out", a->e.score, a->match, a->priority, a->recency,
               (unsigned long long)a->cost, fates[a->fate]);
        put_field(c, a->e.uri);
        putchar('\n');
    }
    if (!c->set.quiet)
        say("%llu of %llu %s used", (unsigned long long)k->budget.used,
            (unsigned long long)k->budget.limit, k->budget.tokens ? "tokens" : "bytes");
}

static void add_number(mcp_json_writer *w, const char *key, double value)
{
    mcp_json_key(w, key);
    mcp_json_add_real(w, value);
}

static void add_item(mcp_json_writer *w, const ctl *c, const candidate *a)
{
    mcp_json_begin_object(w);
    mcp_json_key(w, "uri"), mcp_json_add_str(w, a->e.uri);
    mcp_json_key(w, "name"), mcp_json_add_str(w, a->e.name);
    if (a->e.type.len)
        mcp_json_key(w, "mimeType"), mcp_json_add_str(w, a->e.type);
    add_number(w, "score", a->e.score);
    if (c->set.explain) {
        add_number(w, "match", a->match);
        add_number(w, "priority", a->priority);
        add_number(w, "recency", a->recency);
        mcp_json_key(w, "included"), mcp_json_add_bool(w, is_in(a));
        mcp_json_key(w, "why"), mcp_json_add_string(w, fates[a->fate]);
    }
    mcp_json_key(w, "cost"), mcp_json_add_uint(w, a->cost);
    if (is_in(a) && !c->set.explain) {
        mcp_json_key(w, "part"), mcp_json_add_bool(w, a->fate == FATE_CUT);
        mcp_json_key(w, "text"), mcp_json_add_str(w, a->part);
    }
    mcp_json_end(w);
}

static int put_json(const choosing *k)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, (size_t)1 << 30);
    mcp_json_begin_object(w);
    mcp_json_key(w, "query"), mcp_json_add_string(w, k->query);
    mcp_json_key(w, "unit"), mcp_json_add_string(w, k->budget.tokens ? "tokens" : "bytes");
    mcp_json_key(w, "budget"), mcp_json_add_uint(w, k->budget.limit);
    mcp_json_key(w, "used"), mcp_json_add_uint(w, k->budget.used);
    mcp_json_key(w, "resources"), mcp_json_begin_array(w);
    for (size_t i = 0; i < k->count; i++)
        if (is_in(&k->items[i]) || k->c->set.explain)
            add_item(w, k->c, &k->items[i]);
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
    k->items = calloc(all->count + 1, sizeof(*k->items));
    k->count = k->items ? all->count : 0;
    for (size_t i = 0; i < k->count; i++) {
        k->items[i].e = all->items[i];
        k->items[i].fate = first_look(&all->items[i]);
    }
    if (!k->items || !score(k)) {
        say("context: out of memory");
        return EXIT_LOCAL;
    }
    qsort(k->items, k->count, sizeof(*k->items), by_score);
    read_texts(k);
    if (!score(k))
        return EXIT_LOCAL;
    qsort(k->items, k->count, sizeof(*k->items), by_score);
    k->budget.used = budget_cost(&k->budget, mcp_str_from(heading));
    return put_all(k, fill(k));
}

int run_context(ctl *c)
{
    choosing k = {.c = c};
    filter f;
    entries all = {0};
    int code = filter_make(c, false, &f);
    if (code == EXIT_OK && !budget_parse(c->set.budget ? c->set.budget : "32K", &k.budget)) {
        say("--budget cannot be '%s'; it is a number of bytes, such as 32K, or of tokens, such as "
            "8000t",
            c->set.budget);
        code = EXIT_USAGE;
    }
    if (!c->set.audience)
        f.audience = AUDIENCE_ASSISTANT;
    if (code == EXIT_OK && session_offers(c, "resources"))
        code = entries_collect(c, &f, &all);
    k.query = words_join(c->args, c->n_args);
    if (code == EXIT_OK && k.query)
        code = choose(&k, &all);
    for (size_t i = 0; i < k.count; i++) {
        free(k.items[i].text);
        free(k.items[i].section);
    }
    free(k.items);
    free(k.query);
    entries_clear(&all);
    return code;
}
