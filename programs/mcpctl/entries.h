/* entries.h: resources as a server lists them: their fields, what the options choose, and their
 * order. */
#ifndef MCPCTL_ENTRIES_H
#define MCPCTL_ENTRIES_H

#include "mcpctl.h"

#define TIME_UNKNOWN INT64_MIN

typedef enum audience { AUDIENCE_USER = 1, AUDIENCE_ASSISTANT = 2 } audience;

typedef struct entry {
    const mcp_json *json;
    mcp_str uri, name, title, description, type;
    int64_t size;      /* -1: unknown */
    double priority;   /* -1: unknown */
    int64_t modified;  /* ms since 1970 or TIME_UNKNOWN */
    unsigned audience; /* 0: anybody */
    double score;      /* the command's own */
    size_t place;      /* in the server's order */
} entry;

/* Of a Resource, or of the ResourceLink of a tool. Everything is the JSON value's. */
entry entry_of(const mcp_json *resource);

/* "2026-07-28", "2026-07-28T12:00:00.5+02:00": ms since 1970. */
bool time_parse(mcp_str text, int64_t *ret);
int64_t time_now(void);
/* "2026-07-28T12:00:00Z" */
void time_format(int64_t ms, char to[32]);

/* What the options choose. */
typedef struct filter {
    const settings *set;
    const char *const *more_globs; /* words of the command, beside --glob */
    size_t n_more;
    double priority; /* -1: any */
    int64_t since;   /* or TIME_UNKNOWN */
    unsigned audience;
} filter;

/* EXIT_OK, or EXIT_USAGE after saying what is wrong. */
int filter_make(const ctl *c, bool words_are_globs, filter *ret);
bool filter_passes(const filter *f, const entry *e);

/* A list that is kept. */
typedef struct entries {
    entry *items;
    size_t count, room;
    mcp_json_doc **docs;
    size_t n_docs;
    size_t bytes;
    size_t seen; /* before the filter */
} entries;

/* All resources that pass. EXIT_OK or after saying why not; entries_clear() is due in any case. */
int entries_collect(ctl *c, const filter *f, entries *ret);
void entries_clear(entries *list);
/* Says on stderr why a list is empty: `seen` entries passed no filter. */
void entries_say_none(const ctl *c, size_t seen);
/* By one of the keys of --sort; equal ones stay in the server's order. */
void entries_sort(entries *list, const char *key, bool reverse);

/* "12.3K": at most 5 columns; nothing when it is unknown. */
void size_format(int64_t size, char to[24]);

/* find.c: the words with a space between; to be freed, NULL: no memory. */
char *words_join(const char *const *items, size_t count);

/* ls.c: prints them as ls does. */
typedef struct listing listing;
listing *listing_begin(ctl *c, const char *json_name);
/* Widens the columns for what comes; before the first, or before each page. */
void listing_measure(listing *l, const entry *items, size_t count);
int listing_put(listing *l, const entry *e, bool with_score);
/* Frees it; `complete`: the JSON is ended. */
size_t listing_end(listing *l, bool complete);

#endif
