/* batch.h: the few smallest of very many names.
 *
 * A page of a folder needs the next thousand names in byte order, and the folder may have a
 * million. So at most `limit` names are kept, in a heap with the largest on top; a larger name is
 * refused with one comparison. After the last name they are taken out in order, and only those that
 * are taken out are sorted.
 */
#ifndef FILES_BATCH_H
#define FILES_BATCH_H

#include <mcp/base.h>

typedef struct files_slot {
    unsigned char type; /* DT_* */
    unsigned char len;
    unsigned short room; /* bytes at `at` */
    uint32_t at;         /* offset of the name in `names` */
    const char *name;    /* when taken: NUL-terminated */
} files_slot;

typedef struct files_batch {
    mcp_allocator alloc;
    files_slot *slots;
    uint32_t *order; /* heap of slot numbers */
    char *names;     /* a name that replaces a longer one reuses its space, so this stays small */
    size_t names_len, names_cap;
    size_t count, cap, limit;
    bool sealed;
    bool more; /* there were more than `limit` */
} files_batch;

void files_batch_init(files_batch *b, const mcp_allocator *alloc, size_t limit);
void files_batch_free(files_batch *b);

/* Whether a name would be kept, to be checked before anything else about it. Sets b->more if
 * not. */
bool files_batch_wants(files_batch *b, const char *name, size_t len);
/* Adds a name of 1 to 255 bytes for which files_batch_wants() returned true. MCP_ENOMEM. */
int files_batch_add(files_batch *b, const char *name, size_t len, unsigned char type);

/* After the last add: takes the smallest remaining name, valid until the next call; NULL: no
 * more. */
const files_slot *files_batch_take(files_batch *b);

/* Compares by bytes; a prefix comes first. */
int files_name_compare(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
