/* pattern.c: see pattern.h. The results equal SQLite's for any bytes, but the algorithm
 * differs: a mismatch backtracks only to the last "any", because the matches of earlier ones
 * need not change. */
#define _GNU_SOURCE
#include "pattern.h"

#include <string.h>

enum { BETWEEN = 16 << 10 }; /* bytes compared between two calls of `spend` */

static bool goes_on(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Returns the payload bits of the first byte of a sequence. */
static uint32_t first_bits(unsigned char byte)
{
    return byte < 0xe0   ? byte & 0x1fu
           : byte < 0xf0 ? byte & 0x0fu
           : byte < 0xf8 ? byte & 0x07u
           : byte < 0xfc ? byte & 0x03u
           : byte < 0xfe ? byte & 0x01u
                         : 0;
}

/* A byte that does not begin a sequence is a character by itself, and a sequence
 * includes all continuation bytes that follow. Overlong sequences, surrogates, U+FFFE
 * and U+FFFF become U+FFFD. */
uint32_t sqlite_pattern_take(const char **text)
{
    unsigned char byte = (unsigned char)**text;
    if (!byte)
        return 0;
    ++*text;
    if (byte < 0xc0)
        return byte;
    uint32_t c = first_bits(byte);
    while (goes_on(**text))
        c = (c << 6) + ((unsigned char)*(*text)++ & 0x3fu);
    return c < 0x80 || (c & 0xfffff800u) == 0xd800 || (c & 0xfffffffeu) == 0xfffe ? 0xfffd : c;
}

static uint32_t folded(uint32_t c)
{
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

/* Returns whether the character is in the set after "[". Advances the pattern to what follows "]".
 * A set without "]" is empty. */
static bool in_set(const char **pattern, uint32_t c)
{
    bool invert = false, seen = false;
    uint32_t before = 0, next = sqlite_pattern_take(pattern);
    if (next == '^') {
        invert = true;
        next = sqlite_pattern_take(pattern);
    }
    if (next == ']') { /* "]" as the first character is a member */
        seen = c == ']';
        next = sqlite_pattern_take(pattern);
    }
    for (; next && next != ']'; next = sqlite_pattern_take(pattern)) {
        if (next == '-' && **pattern != ']' && **pattern && before) {
            uint32_t last = sqlite_pattern_take(pattern);
            seen = seen || (c >= before && c <= last);
            before = 0;
        } else {
            seen = seen || c == next;
            before = next;
        }
    }
    return next && seen != invert;
}

/* Returns whether the next element of the pattern, which is not "any", matches the next
 * character. Advances both. */
static bool take_one(const sqlite_pattern *r, const char **pattern, const char **text)
{
    uint32_t wanted = sqlite_pattern_take(pattern), c = sqlite_pattern_take(text);
    if (r->set && wanted == r->set)
        return in_set(pattern, c);
    if (r->escape && wanted == r->escape)
        wanted = sqlite_pattern_take(pattern);
    else if (r->one && wanted == r->one)
        return true;
    return wanted == c || (r->fold && wanted < 0x80 && folded(wanted) == folded(c));
}

/* If the next character of the pattern is an ordinary ASCII character, sets the bytes that match it
 * and returns true. */
static bool plain_byte(const sqlite_pattern *r, const char *pattern, char bytes[2])
{
    unsigned char c = (unsigned char)*pattern;
    if (c >= 0x80 || c == r->one || c == r->set || c == r->escape)
        return false;
    bytes[0] = bytes[1] = (char)c;
    if (r->fold && folded(c) >= 'a' && folded(c) <= 'z')
        bytes[1] = (char)(c ^ 0x20);
    return true;
}

/* Returns the first position after "any" at which the rest of the pattern can match. */
static const char *next_place(const sqlite_pattern *r, const char *pattern, const char *text)
{
    char bytes[2];
    if (!plain_byte(r, pattern, bytes))
        return text;
    if (bytes[0] == bytes[1])
        return strchrnul(text, bytes[0]);
    while (*text && *text != bytes[0] && *text != bytes[1])
        text++;
    return text;
}

typedef struct matching {
    const sqlite_pattern *rules;
    const char *pattern, *text; /* what remains of both */
    const char *behind_any,
        *place; /* rest of the pattern after the last "any" (or NULL), and the position where
                 * it was tried */
    size_t spent;
} matching;

/* Returns false if the caller requests a stop. */
static bool spend(matching *m, size_t bytes)
{
    m->spent += bytes + 1;
    if (m->spent < BETWEEN || !m->rules->spend)
        return true;
    size_t spent = m->spent;
    m->spent = 0;
    return m->rules->spend(m->rules->user, spent);
}

/* Matches the pattern after the last "any" at or after `text`. */
static bool try_place(matching *m, const char *text)
{
    m->place = next_place(m->rules, m->behind_any, text);
    m->pattern = m->behind_any;
    m->text = m->place;
    return spend(m, (size_t)(m->place - text));
}

static bool try_next_place(matching *m)
{
    const char *next = m->place;
    sqlite_pattern_take(&next);
    return try_place(m, next);
}

static bool at_any(const matching *m)
{
    return *m->pattern && (unsigned char)*m->pattern == m->rules->any;
}

sqlite_matched sqlite_pattern_match(const sqlite_pattern *rules, const char *pattern,
                                    const char *text)
{
    matching m = {.rules = rules, .pattern = pattern, .text = text};
    for (;;) {
        const char *before = m.pattern;
        bool on = true;
        while (at_any(&m))
            m.pattern++;
        if (m.pattern != before) {
            m.behind_any = m.pattern;
            if (!*m.pattern)
                break;
            on = try_place(&m, m.text);
        } else if (!*m.text) {
            if (*m.pattern)
                return SQLITE_MATCHED_NOT; /* a later position would not match either */
            break;
        } else if (!*m.pattern || !take_one(rules, &m.pattern, &m.text)) {
            if (!m.behind_any)
                return SQLITE_MATCHED_NOT;
            on = try_next_place(&m);
        } else {
            on = spend(&m, (size_t)(m.pattern - before));
        }
        if (!on)
            return SQLITE_MATCHED_STOPPED;
    }
    return SQLITE_MATCHED;
}
