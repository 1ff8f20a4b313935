/* selection.c: selects resources for a language model, within a budget. */
#include "selection.h"

#include <stdlib.h>
#include <string.h>

#include "rank.h"

const char *const selected_outcomes[SELECTED_OUTCOMES] = {
    "included",        "included in part", "a folder",       "not text",
    "matches no word", "too far down",     "cannot be read", "no room left in the budget",
};

const char selection_heading[] = "# Context\n";

static bool is_required(const selected *a)
{
    return a->priority >= 1;
}

/* ---- scores ---------------------------------------------------------------------------------- */

static bool begins(mcp_str s, const char *with)
{
    size_t len = strlen(with);
    return s.len >= len && memcmp(s.ptr, with, len) == 0;
}

selected_outcome selected_first_look(mcp_str type, mcp_str uri)
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
    if (begins(type, "inode/") || (uri.len && uri.ptr[uri.len - 1] == '/'))
        return FATE_FOLDER;
    for (size_t i = 0; i < sizeof(binary) / sizeof(*binary); i++)
        if (begins(type, binary[i]))
            return FATE_BINARY;
    return FATE_NOT_LOOKED_AT;
}

/* Sets the match of each resource, relative to the best one. */
static bool match(selection *s)
{
    ranking *r = ranking_new(s->query);
    double best = 0;
    bool ok = r != NULL;
    for (size_t i = 0; ok && i < s->count; i++) {
        const selected *a = &s->items[i];
        const rank_field fields[] = {
            {a->name, 3}, {a->title, 2}, {a->about, 1.5}, {a->uri, 0.5}, {{a->text, a->len}, 1}};
        ok = ranking_add(r, fields, sizeof(fields) / sizeof(*fields));
    }
    s->words = ok ? ranking_words(r) : 0;
    for (size_t i = 0; ok && i < s->count; i++) {
        s->items[i].match = s->words ? ranking_score(r, i) : 0;
        best = s->items[i].match > best ? s->items[i].match : best;
    }
    for (size_t i = 0; ok && i < s->count; i++)
        s->items[i].match = best > 0 ? s->items[i].match / best : 0;
    ranking_free(r);
    return ok;
}

static double score_of(const selection *s, const selected *a)
{
    double score = s->words ? 0.7 * a->match + 0.2 * a->priority + 0.1 * a->recency
                            : 0.7 * a->priority + 0.3 * a->recency;
    if (s->words && a->match <= 0 && !s->keeps_all)
        score = 0;
    return is_required(a) ? score + 1 : score;
}

static int by_score(const void *a, const void *b)
{
    const selected *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return (x->place > y->place) - (x->place < y->place);
}

bool selection_score(selection *s)
{
    if (!match(s))
        return false;
    for (size_t i = 0; i < s->count; i++)
        s->items[i].score = score_of(s, &s->items[i]);
    if (s->count)
        qsort(s->items, s->count, sizeof(*s->items), by_score);
    return true;
}

/* ---- filling the budget ---------------------------------------------------------------------- */

/* Returns where a part of a long text should begin: shortly before the first of the lines with the
 * most query words. */
static size_t best_place(const selection *s, mcp_str text)
{
    size_t best = 0, most = 0, before[3] = {0};
    ranking *r = s->words ? ranking_new(s->query) : NULL;
    for (size_t at = 0, line = 0; r && at < text.len; line++) {
        const char *newline = memchr(text.ptr + at, '\n', text.len - at);
        size_t len = newline ? (size_t)(newline - text.ptr) + 1 - at : text.len - at;
        const rank_field field = {{text.ptr + at, len}, 1};
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

static char *section_of(const selected *a, mcp_str text, bool cut)
{
    mcp_str title = a->title.len ? a->title : a->name.len ? a->name : a->uri;
    return bundle_section(title, a->uri, text, cut);
}

/* Makes a section of at most `room`, from the best part of the text. */
static char *cut_section(const selection *s, selected *a, uint64_t room)
{
    uint64_t least = s->budget.tokens ? 50 : 200; /* smaller parts are not useful */
    char *empty = section_of(a, (mcp_str){"", 0}, true);
    uint64_t frame = empty ? budget_cost(&s->budget, mcp_str_from(empty)) : room;
    free(empty);
    if (room < frame + least)
        return NULL;
    size_t from = best_place(s, (mcp_str){a->text, a->len});
    /* This reserves room for a longer fence and a final newline. */
    a->part = budget_cut(&s->budget, (mcp_str){a->text + from, a->len - from}, room - frame - 8);
    return a->part.len ? section_of(a, a->part, true) : NULL;
}

static bool is_last(const selection *s, const selected *a)
{
    for (const selected *b = a + 1; b < s->items + s->count; b++)
        if (b->text)
            return false;
    return true;
}

/* Includes as much as fits. */
static void include(selection *s, selected *a)
{
    budget *b = &s->budget;
    uint64_t left = b->limit > b->used ? b->limit - b->used : 0;
    /* Only a required resource and the last one get more than half of the budget. */
    bool gets_all = is_required(a) || is_last(s, a) || left < b->limit / 2;
    uint64_t room = gets_all ? left : b->limit / 2;
    mcp_str whole = {a->text, a->len};
    char *section = section_of(a, whole, false);
    a->part = whole;
    a->outcome = FATE_IN;
    if (section && budget_cost(b, mcp_str_from(section)) > room) {
        free(section);
        section = cut_section(s, a, room);
        a->outcome = FATE_CUT;
    }
    if (section && budget_cost(b, mcp_str_from(section)) > left) {
        free(section);
        section = NULL;
    }
    a->outcome = section ? a->outcome : FATE_NO_ROOM;
    a->section = section;
    a->cost = section ? budget_cost(b, mcp_str_from(section)) : 0;
    b->used += a->cost;
}

size_t selection_fill(selection *s)
{
    size_t included = 0;
    selection_clear(s);
    s->budget.used = budget_cost(&s->budget, mcp_str_from(selection_heading));
    for (size_t i = 0; i < s->count; i++) {
        selected *a = &s->items[i];
        if (!a->text)
            continue;
        if (s->words && a->match <= 0 && !is_required(a) && !s->keeps_all)
            a->outcome = FATE_NO_MATCH;
        else
            include(s, a);
        included += selected_is_in(a);
    }
    return included;
}

void selection_clear(selection *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->items[i].section);
        s->items[i].section = NULL;
        s->items[i].cost = 0;
    }
}
