/* batch.h: selects the smallest of a large number of names.
 *
 * A page of a folder needs the next thousand names in byte order, and the folder may have a
 * million. So at most `limit` names are kept, in a heap with the largest on top, and a larger name
 * is rejected after one comparison. After the last name has been added, the names are taken out in
 * order; only those that are taken out get sorted.
 */
#ifndef FILES_BATCH_H
#define FILES_BATCH_H

#include <mcp/base.h>

typedef struct files_slot {
    unsigned char type; /* DT_* */
    unsigned char len;
    unsigned short room; /* bytes at `at` */
    uint32_t at;         /* offset of the name in `names` */
    const char *name;    /* NUL-terminated; set when the slot is taken */
} files_slot;

typedef struct files_batch {
    mcp_allocator alloc;
    files_slot *slots;
    uint32_t *order; /* heap of slot numbers */
    char *names;     /* stays small because a name reuses the space of the longer name
                      * that it replaces */
    size_t names_len, names_cap;
    size_t count, cap, limit;
    bool sealed;
    bool more; /* more than `limit` names were offered */
} files_batch;

void files_batch_init(files_batch *b, const mcp_allocator *alloc, size_t limit);
void files_batch_free(files_batch *b);

/* Returns whether a name would be kept. Call it before other checks of the name, because it is the
 * cheapest. Sets b->more if it returns false. */
bool files_batch_wants(files_batch *b, const char *name, size_t len);
/* Adds a name of 1 to 255 bytes for which files_batch_wants() returned true. Returns
 * MCP_OK or MCP_ENOMEM. */
int files_batch_add(files_batch *b, const char *name, size_t len, unsigned char type);

/* Takes the smallest remaining name; no name may be added afterwards. The slot is valid until the
 * next call. Returns NULL if no name is left. */
const files_slot *files_batch_take(files_batch *b);

/* Compares byte by byte; a prefix sorts first. */
int files_name_compare(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
