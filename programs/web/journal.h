/* journal.h: the last messages between the gateway and its servers, for the page's timeline. */
#ifndef WEB_JOURNAL_H
#define WEB_JOURNAL_H

#include <mcp/json.h>

enum {
    JOURNAL_ENTRIES = 10000,
    JOURNAL_BYTES = 32 << 20,     /* of all texts that are kept */
    JOURNAL_TEXT = 64 << 10,      /* of one text */
    JOURNAL_PAGE_BYTES = 8 << 20, /* of the texts of one answer */
    JOURNAL_PAGE = 1000,          /* entries of one answer */
};

typedef enum journal_from {
    JOURNAL_CLIENT,
    JOURNAL_SERVER,
    JOURNAL_STDERR,
    JOURNAL_GATEWAY, /* what the gateway has to say about the server */
} journal_from;

typedef struct journal_entry {
    const char *server; /* borrowed; lives as long as the journal */
    journal_from from;
    int64_t at; /* milliseconds since 1970 */
    int64_t us; /* microseconds of a monotonic clock */
    size_t bytes;
    size_t len; /* of the text that is kept */
    char *text; /* valid UTF-8, which mcp_json_add_str() needs */
} journal_entry;

typedef struct journal {
    journal_entry *items; /* a ring; NULL before the first entry */
    uint64_t first, next; /* the numbers of the oldest entry and of the next one, from 1 */
    size_t bytes;
} journal;

/* Keeps a text. Nothing is kept if out of memory. */
void journal_add(journal *j, const char *server, journal_from from, mcp_str text);
/* Writes the entries after number `after`, at most `limit` of them, as members of an object. */
void journal_put(const journal *j, uint64_t after, size_t limit, mcp_json_writer *w);
void journal_clear(journal *j);

/* Copies a text of at most `most` bytes, and replaces what is not UTF-8 by U+FFFD. The caller frees
 * it. Returns NULL if out of memory. */
char *journal_copy(mcp_str text, size_t most, size_t *len);

#endif
