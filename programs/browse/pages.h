/* pages.h: a list of a server, of which only some pages are in memory.
 *
 * The pages are requested one after the other, when they are looked at. For each page its cursor
 * and its number of entries are kept. The entries of pages that were not looked at for the longest
 * time are dropped, and requested again with the cursor when they are needed. So the list may have
 * any number of entries. An entry is kept as its strings, one after the other, in a block of its
 * page.
 */
#ifndef BROWSE_PAGES_H
#define BROWSE_PAGES_H

#include <mcp/json.h>

typedef struct item {
    mcp_str key; /* the URI, URI template or name, as requests name it */
    mcp_str name, title, type, about;
    mcp_str json;    /* the whole definition; empty for resources */
    int64_t size;    /* -1 if unknown */
    double priority; /* -1 if unknown */
    bool too_long;   /* the key is longer than the program keeps, so the entry cannot be used */
} item;

typedef struct pages_kind {
    const char *method, *array, *key; /* "resources/list", "resources", "uri" */
    bool whole;                       /* keep the JSON of the entries */
} pages_kind;

typedef struct page {
    char *cursor;        /* NULL for the first page */
    size_t first, count; /* which entries; known once the page was read */
    char *block;         /* the entries; NULL if they are not in memory */
    size_t *offsets;     /* of each entry in the block, and its end */
    bool is_read;
    uint64_t used;
} page;

typedef struct pages {
    const pages_kind *kind;
    page *items;
    size_t count, room;
    size_t known;     /* entries of all pages that were read */
    bool is_complete; /* the last page was read */
    bool is_broken;   /* the list cannot be continued; `why` */
    char why[200];
    size_t bytes, most_bytes; /* of the blocks */
    uint64_t clock;
    uint64_t generation; /* increased by pages_reset() */
} pages;

void pages_init(pages *p, const pages_kind *kind);
/* Forgets everything: the list will be read again. */
void pages_reset(pages *p);

/* Returns the index of the page to request for entries from `from` up to, but not including, `to`,
 * or SIZE_MAX if nothing is missing. */
size_t pages_wanted(pages *p, size_t from, size_t to);
/* Returns the index of the page that has an entry, or `count` if no page has it. */
size_t pages_page_of(const pages *p, size_t at);
/* Returns the cursor of a page to request; NULL for none. */
const char *pages_cursor(const pages *p, size_t index);
/* Takes the result of the list method for a page. Returns false if out of memory. */
bool pages_take(pages *p, size_t index, const mcp_json *result);
/* The list cannot be continued. */
void pages_break(pages *p, const char *why);

/* Gets an entry, whose strings are valid until pages_take() or pages_reset(). Returns false if it is
 * not in memory. */
bool pages_item(pages *p, size_t at, item *ret);

/* Gets an entry from a definition; the strings are those of the JSON value. */
item item_of(const mcp_json *definition, const char *key);
/* Packs an entry into *to, which has room for item_packed_size() bytes, and unpacks it. */
size_t item_packed_size(const item *i);
void item_pack(const item *i, char *to);
item item_unpack(const char *from);

#endif
