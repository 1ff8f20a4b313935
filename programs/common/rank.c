/* rank.c: ranking with BM25 over weighted fields. */
#include "rank.h"

#include <stdlib.h>

enum { MOST_WORDS = 32, MOST_LETTERS = 64 };

typedef struct word {
    char letters[MOST_LETTERS];
    size_t len;
} word;

typedef struct document {
    float times[MOST_WORDS]; /* weighted number of occurrences of each query word */
    float length;
} document;

struct ranking {
    word words[MOST_WORDS];
    size_t n_words;
    size_t with[MOST_WORDS]; /* number of documents that contain the word */
    document *documents;
    size_t count, room;
    double length; /* total length of all documents */
};

/* ---- words ----------------------------------------------------------------------------------- */

static bool is_letter(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
}

static bool is_upper(unsigned char c)
{
    return c >= 'A' && c <= 'Z';
}

/* Converts ASCII and accented Latin letters to lower case. */
static char lower(unsigned char before, unsigned char c)
{
    if (is_upper(c) || (before == 0xc3 && c >= 0x80 && c <= 0x9e && c != 0x97))
        c = (unsigned char)(c + 0x20);
    return (char)c;
}

/* Gets the next word in lower case; "readMe" counts as two. Returns false at the end. */
static bool next_word(mcp_str *text, word *ret)
{
    const unsigned char *p = (const unsigned char *)text->ptr;
    size_t i = 0;
    while (i < text->len && !is_letter(p[i]))
        i++;
    ret->len = 0;
    for (size_t begin = i; i < text->len && is_letter(p[i]); i++) {
        if (i > begin && is_upper(p[i]) && !is_upper(p[i - 1]))
            break;
        if (ret->len < MOST_LETTERS)
            ret->letters[ret->len++] = lower(i > begin ? p[i - 1] : 0, p[i]);
    }
    *text = (mcp_str){text->ptr + i, text->len - i};
    return ret->len != 0;
}

/* Returns the weight of a match between the query word `want` and the word `have`. */
static float likeness(const word *want, const word *have)
{
    if (have->len < want->len || have->len == 0)
        return 0;
    if (memcmp(have->letters, want->letters, want->len) == 0)
        return have->len == want->len ? 1.0f : 0.6f;
    /* Words of two letters are contained in too many words, but "read me" should find README. */
    size_t last = have->len - want->len;
    for (size_t i = want->len >= 3 ? 1 : last; want->len >= 2 && i <= last; i++)
        if (memcmp(have->letters + i, want->letters, want->len) == 0)
            return 0.3f;
    return 0;
}

/* ---- documents ------------------------------------------------------------------------------- */

ranking *ranking_new(const char *query)
{
    ranking *r = calloc(1, sizeof(*r));
    mcp_str text = mcp_str_from(query);
    word w;
    while (r && r->n_words < MOST_WORDS && next_word(&text, &w)) {
        bool twice = false;
        for (size_t i = 0; i < r->n_words; i++)
            twice = twice || (r->words[i].len == w.len &&
                              memcmp(r->words[i].letters, w.letters, w.len) == 0);
        if (!twice)
            r->words[r->n_words++] = w;
    }
    return r;
}

void ranking_free(ranking *r)
{
    if (r)
        free(r->documents);
    free(r);
}

size_t ranking_words(const ranking *r)
{
    return r->n_words;
}

static void count_field(const ranking *r, document *d, const rank_field *field)
{
    mcp_str text = field->text;
    word have;
    while (text.len && next_word(&text, &have)) {
        d->length += (float)field->weight;
        for (size_t i = 0; i < r->n_words; i++)
            d->times[i] += (float)field->weight * likeness(&r->words[i], &have);
    }
}

bool ranking_add(ranking *r, const rank_field *fields, size_t count)
{
    if (r->count == r->room) {
        size_t room = r->room ? r->room * 2 : 64;
        document *grown = realloc(r->documents, room * sizeof(*grown));
        if (!grown)
            return false;
        r->documents = grown;
        r->room = room;
    }
    document *d = &r->documents[r->count++];
    *d = (document){0};
    for (size_t i = 0; i < count; i++)
        count_field(r, d, &fields[i]);
    for (size_t i = 0; i < r->n_words; i++)
        r->with[i] += d->times[i] > 0;
    r->length += (double)d->length;
    return true;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* Computes the natural logarithm for x >= 1, to avoid linking libm. It halves x repeatedly, and
 * then sums the series of 2 artanh((x-1)/(x+1)). */
static double logarithm(double x)
{
    double sum = 0;
    while (x > 1.5) {
        x /= 2;
        sum += 0.6931471805599453;
    }
    double z = (x - 1) / (x + 1), power = z, series = 0;
    for (int i = 1; i < 20; i += 2) {
        series += power / i;
        power *= z * z;
    }
    return sum + 2 * series;
}

double ranking_score(const ranking *r, size_t at)
{
    const double k = 1.2, b = 0.75;
    const document *d = &r->documents[at];
    double score = 0, average = r->length / (double)r->count;
    for (size_t i = 0; i < r->n_words; i++) {
        double n = (double)r->with[i], all = (double)r->count, times = (double)d->times[i];
        double rarity = logarithm(1 + (all - n + 0.5) / (n + 0.5));
        double norm = 1 - b + b * (average > 0 ? (double)d->length / average : 1);
        if (times > 0)
            score += rarity * times * (k + 1) / (times + k * norm);
    }
    return score;
}

size_t ranking_matched(const ranking *r, size_t at)
{
    size_t matched = 0;
    for (size_t i = 0; i < r->n_words; i++)
        matched += r->documents[at].times[i] > 0;
    return matched;
}
