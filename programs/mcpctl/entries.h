/* entries.h: resources of a server's list: their fields, filters and order. */
#ifndef MCPCTL_ENTRIES_H
#define MCPCTL_ENTRIES_H

#include "mcpctl.h"

#define TIME_UNKNOWN INT64_MIN

typedef enum audience { AUDIENCE_USER = 1, AUDIENCE_ASSISTANT = 2 } audience;

typedef struct entry {
    const mcp_json *json;
    mcp_str uri, name, title, description, type;
    int64_t size;      /* in bytes; -1 if unknown */
    double priority;   /* from 0 to 1; -1 if unknown */
    int64_t modified;  /* in ms since 1970, or TIME_UNKNOWN */
    unsigned audience; /* 0 if the entry names none */
    double score;      /* set by the command */
    size_t place;      /* position in the server's order */
} entry;

/* Makes an entry from a Resource or from a ResourceLink of a tool. It points into the JSON
 * value. */
entry entry_of(const mcp_json *resource);

/* Parses "2026-07-28" or "2026-07-28T12:00:00.5+02:00" as ms since 1970. */
bool time_parse(mcp_str text, int64_t *ret);
int64_t time_now(void);
/* Writes "2026-07-28T12:00:00Z". */
void time_format(int64_t ms, char to[32]);

/* The filters of the command line. */
typedef struct filter {
    const settings *set;
    const char *const *more_globs; /* globs that are words of the command, in addition to --glob */
    size_t n_more;
    double priority; /* minimum; -1 for any */
    int64_t since;   /* in ms since 1970, or TIME_UNKNOWN for any time */
    unsigned audience;
} filter;

/* Makes the filters from the options. Returns EXIT_OK, or EXIT_USAGE after reporting the error. */
int filter_make(const ctl *c, bool words_are_globs, filter *ret);
bool filter_passes(const filter *f, const entry *e);

/* A list of entries. */
typedef struct entries {
    entry *items;
    size_t count, room;
    mcp_json_doc **docs;
    size_t n_docs;
    size_t bytes;
    size_t seen; /* number of entries before filtering */
} entries;

/* Collects all resources that pass the filters. Returns EXIT_OK, or another code after reporting
 * the error; entries_clear() must be called in any case. */
int entries_collect(ctl *c, const filter *f, entries *ret);
void entries_clear(entries *list);
/* Reports on stderr why a list is empty: the filters excluded `seen` entries. */
void entries_say_none(ctl *c, size_t seen);
/* Sorts by one of the keys of --sort; equal entries keep the server's order. */
void entries_sort(entries *list, const char *key, bool reverse);

/* Writes a size such as "12.3K" in at most 5 columns, or an empty string if it is unknown. */
void size_format(int64_t size, char to[24]);

/* find.c: joins words with spaces. The caller frees the text. Returns NULL if out of memory. */
char *words_join(const char *const *items, size_t count);

/* ls.c: prints entries as ls does. */
typedef struct listing listing;
listing *listing_begin(ctl *c, const char *json_name);
/* Widens the columns for these entries; called before the first is printed, or before each page. */
void listing_measure(listing *l, const entry *items, size_t count);
int listing_put(listing *l, const entry *e, bool with_score);
/* Ends and frees the listing, and sets *count to the number of its entries. A JSON document is
 * printed if `code` is EXIT_OK. Returns `code`, or EXIT_LOCAL if it cannot be printed. */
int listing_end(listing *l, int code, size_t *count);

#endif
