/* fuzzy.c: fuzzy matching. Letters that follow each other, that begin a word and that belong to the
 * last part of a path count more; letters between those that were found count less.
 */
#include "fuzzy.h"

#include <string.h>

enum { LONGEST = 1000, LETTER = 16, ADJACENT = 12, WORD = 10, LAST_PART = 6, GAP = 1 };

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static char lower(char c)
{
    return is_upper(c) ? (char)(c + 0x20) : c;
}

static bool is_letter(char c)
{
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || (c & 0x80);
}

fuzzy fuzzy_of(mcp_str query)
{
    fuzzy f = {.words = 0};
    size_t n = 0;
    bool in_word = false;
    for (size_t i = 0; i < query.len && n < FUZZY_LETTERS; i++) {
        if (query.ptr[i] == ' ') {
            in_word = false;
            continue;
        }
        if (!in_word) {
            if (f.words == FUZZY_LETTERS / 2)
                break;
            f.begin[f.words++] = n;
        }
        in_word = true;
        f.exact_case = f.exact_case || is_upper(query.ptr[i]);
        f.letters[n++] = query.ptr[i];
    }
    f.begin[f.words] = n;
    return f;
}

typedef struct search {
    const char *letters, *text;
    size_t count, len;
    bool exact_case;
} search;

static bool is_same(const search *s, size_t letter, size_t at)
{
    char c = s->text[at];
    return (s->exact_case ? c : lower(c)) == s->letters[letter];
}

/* Finds the letters as far to the left as possible, then as close to the last one as possible.
 * Returns false if they are not there. */
static bool find(const search *s, size_t from, size_t places[FUZZY_LETTERS])
{
    size_t letter = 0, at = from;
    for (; at < s->len && letter < s->count; at++)
        letter += is_same(s, letter, at);
    if (letter < s->count)
        return false;
    while (letter > 0) {
        at--;
        if (is_same(s, letter - 1, at))
            places[--letter] = at;
    }
    return true;
}

static int value(const search *s, const size_t *places, size_t last_part)
{
    int score = 0;
    for (size_t i = 0; i < s->count; i++) {
        size_t at = places[i];
        bool begins = !at || !is_letter(s->text[at - 1]) ||
                      (is_upper(s->text[at]) && !is_upper(s->text[at - 1]));
        score += LETTER + (begins ? WORD : 0) + (at >= last_part ? LAST_PART : 0);
        if (!i)
            continue;
        size_t gap = at - places[i - 1] - 1;
        score += gap ? -(int)(gap < 12 ? gap : 12) * GAP : ADJACENT;
    }
    return score;
}

static int score_word(const search *s, size_t last_part, size_t places[FUZZY_LETTERS])
{
    size_t other[FUZZY_LETTERS];
    if (!find(s, 0, places))
        return -1;
    int score = value(s, places, last_part);
    if (!last_part || !find(s, last_part, other))
        return score < 0 ? 0 : score;
    int last = value(s, other, last_part);
    if (last > score)
        memcpy(places, other, s->count * sizeof(*other));
    return last > score ? last : score < 0 ? 0 : score;
}

int fuzzy_score(const fuzzy *f, mcp_str text, size_t *places, size_t *n)
{
    size_t left_out = text.len > LONGEST ? text.len - LONGEST : 0, last_part = 0, count = 0;
    int score = 0;
    text = (mcp_str){text.ptr + left_out, text.len - left_out};
    for (size_t i = 0; i + 1 < text.len; i++)
        if (text.ptr[i] == '/')
            last_part = i + 1;
    for (size_t i = 0; i < f->words; i++) {
        size_t found[FUZZY_LETTERS];
        search s = {f->letters + f->begin[i], text.ptr, f->begin[i + 1] - f->begin[i], text.len,
                    f->exact_case};
        int one = score_word(&s, last_part, found);
        if (one < 0)
            return -1;
        score += one;
        for (size_t k = 0; places && k < s.count; k++)
            places[count++] = found[k] + left_out;
    }
    if (n)
        *n = count;
    int shorter = text.len < 200 ? (int)(200 - text.len) / 2 : 0; /* of equal ones, the shortest */
    return score + shorter;
}
