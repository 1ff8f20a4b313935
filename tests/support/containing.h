/* containing.h: the slow model of rows that contain a text, for generated tests: texts of pieces that
 * patterns, quotes and charsets treat in their own way, and a search through them byte by byte. */
#ifndef MCP_TESTS_CONTAINING_H
#define MCP_TESTS_CONTAINING_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <mcp/json.h>

#include "dice.h"

/* Pairs of lower and upper case, of the same length in UTF-8. */
static const char *const containing_cases[][2] = {
    {"\xc3\xa4", "\xc3\x84"},
    {"\xc3\xa9", "\xc3\x89"},
    {"\xd1\x8f", "\xd0\xaf"},
    {"k", "K"},
    {"i", "I"},
    {"s", "S"},
    {"x", "X"},
    {"e", "E"},
};

static const char *const containing_pieces[] = {
    "%",
    "_",
    "\\",
    "'",
    "\"",
    "(",
    "*",
    "$1",
    "?1",
    "--",
    "0",
    "1",
    "-",
    ".",
    "e",
    "E",
    "x",
    "X",
    "k",
    "K",
    "i",
    "I",
    "s",
    "S",
    " ",
    "\xc3\xa4",
    "\xc3\x84",
    "\xc3\xa9",
    "\xc3\x89",
    "\xd1\x8f",
    "\xd0\xaf",
    "\xe2\x82\xac",
    "\xf0\x9f\x98\x80",
    "ab",
    "&",
    "=",
    "+",
    "#",
    "null",
    "true",
};

/* Appends up to `most` random pieces. */
static inline void containing_text(char *to, size_t room, unsigned most)
{
    size_t n = sizeof(containing_pieces) / sizeof(*containing_pieces);
    for (unsigned left = dice(most + 1); left; left--) {
        const char *piece = containing_pieces[dice(2) ? dice((unsigned)n) : dice(6)];
        if (strlen(to) + strlen(piece) < room)
            strcat(to, piece);
    }
}

/* Changes a text to lower case. */
static inline void containing_fold(char *text)
{
    for (size_t at = 0; text[at]; at++)
        for (size_t i = 0; i < sizeof(containing_cases) / sizeof(*containing_cases); i++) {
            const char *const *pair = containing_cases[i];
            size_t len = strlen(pair[1]);
            if (strncmp(text + at, pair[1], len) == 0)
                memcpy(text + at, pair[0], len);
        }
}

static inline bool containing_has(const char *text, const char *what, bool ignore_case)
{
    char copies[2][400];
    const char *const texts[2] = {text, what};
    for (size_t i = 0; i < 2; i++) {
        size_t len = strnlen(texts[i], sizeof(copies[i]) - 1);
        memcpy(copies[i], texts[i], len);
        copies[i][len] = 0;
        if (ignore_case)
            containing_fold(copies[i]);
    }
    return strstr(copies[0], copies[1]) != NULL;
}

/* Writes the text percent-encoded. */
static inline void containing_encode(const char *text, char *to, size_t room)
{
    *to = 0;
    for (size_t n = 0; *text && n + 4 < room; text++, n += 3)
        snprintf(to + n, room - n, "%%%02X", (unsigned char)*text);
}

#endif
