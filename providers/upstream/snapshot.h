/* snapshot.h: what is known of the other server without asking it, for each principal, because it may
 * tell and show each one something else.
 */
#ifndef UPSTREAM_SNAPSHOT_H
#define UPSTREAM_SNAPSHOT_H

#include "session.h"

/* A page of a list, as the other server sent it last. */
typedef struct upstream_page {
    struct upstream_page *next; /* last the one that was used least recently */
    mcp_item item;
    bool apps;
    char *cursor;
    mcp_str text;        /* owned */
    size_t from, length; /* the array of entries in `text` */
    bool measured;
    uint64_t cost; /* of tools, if it was measured */
} upstream_page;

struct upstream_snapshot {
    upstream_snapshot *next; /* last the one that was used least recently */
    char *principal;         /* NULL if anonymous */
    upstream_page *pages;
    bool introduced; /* it has said something about itself: */
    char *instructions;
    char title[100], version[40];
    unsigned items; /* the kinds of items that it has declared: 1u << MCP_ITEM_RESOURCE and so on */
};

/* The kinds of items that a server declares, by their names in its capabilities. */
enum { UPSTREAM_KINDS = 3 };
typedef struct upstream_kind {
    const char *name;
    mcp_item item;
} upstream_kind;
extern const upstream_kind upstream_kinds[UPSTREAM_KINDS];

/* What a server says about itself. The texts are truncated if they are long. */
typedef struct upstream_introduction {
    mcp_str title, version, instructions;
    unsigned items;
} upstream_introduction;

/* Sets what the other server has said to a principal. Without memory, less is known. */
void upstream_snapshot_say(upstream *up, const char *principal,
                           const upstream_introduction *server_info);
/* Takes what it said in open sessions of the principal. */
void upstream_snapshot_refresh(upstream *up, const char *principal);

/* Identifies a page of a list. */
typedef struct upstream_key {
    const char *principal; /* NULL if anonymous */
    mcp_item item;
    const char *cursor; /* as in upstream_listing */
    bool apps;          /* for callers that show apps, whose lists may have other entries */
} upstream_key;

/* Returns the text of the page that the other server sent last, or ptr == NULL. */
mcp_str upstream_page_find(upstream *up, const upstream_key *key);
/* Keeps a copy of a page, unless it is too long or there is no memory. `value` was parsed from
 * `text`. Returns whether its entries differ from those that were known. */
bool upstream_page_put(upstream *up, const upstream_key *key, const mcp_json *value, mcp_str text);

#endif
