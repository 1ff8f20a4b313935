/* bus_entry.h: the contents of an entry on the bus, before it is sealed; see bus_entry.c. */
#ifndef MCP_SRC_SHARE_ENTRY_H
#define MCP_SRC_SHARE_ENTRY_H

#include "base/base.h"

enum { MCP__INSTANCE = 16 }; /* bytes in the name of an instance */

/* What an entry begins with. */
typedef struct mcp__entry_head {
    char instance[MCP__INSTANCE];
    uint64_t number; /* of this instance's entries, from 1 without gaps */
    int64_t time;    /* when it was sealed, in milliseconds since 1970 */
} mcp__entry_head;

enum { MCP__ENTRY_HEAD = 1 + MCP__INSTANCE + 8 + 8, MCP__ENTRY_ITEM = 1 + 4 };

/* The kinds of items, with their texts. */
enum {
    MCP__MARK_TOPIC = 'u', /* a resource was updated: the key of its topic (core/topic.h) */
    MCP__MARK_URI = 'b',   /* a resource was added or removed: its URI */
    MCP__MARK_LIST = 'l',  /* a list changed: a digit, the mcp_item */
    MCP__MARK_LIST_FOR =
        'p', /* the same for one principal: the digit, 'a' for an anonymous caller, or
                                * 'n' and the principal */
    MCP__MARK_MESSAGE = 'm', /* a message of the program: the length of the topic in one byte, the
                                * topic, the data */
    MCP__MARK_EVERYTHING = 'e', /* everything may have changed: no text */
    MCP__MARK_TAKEN = 't'       /* requests of a caller were counted: see core/rate.c */
};

typedef struct mcp__entry_item {
    char kind;
    mcp_str text;
} mcp__entry_item;

/* Append to a buffer. */
void mcp__entry_put_head(mcp__buf *to, const mcp__entry_head *head);
void mcp__entry_put_item(mcp__buf *to, char kind, mcp_str text);

/* Reads the head and checks that all items are complete, so that an entry takes effect as a whole or
 * not at all. *items then has the rest. Returns MCP_OK or MCP_EPARSE. */
int mcp__entry_open(mcp_str entry, mcp__entry_head *head, mcp_str *items);
/* Takes the next item of *items. Returns false at the end. */
bool mcp__entry_next(mcp_str *items, mcp__entry_item *ret);

#endif
