/* journal_segment.h: the files of the journal, its segments. Inside of this folder only.
 *
 * The name of a segment is its number, its key, and the form of its records. If the form changes, so does the end of the
 * name: what cannot be read counts as damaged, and is overwritten by a purge. The number is the time when the segment was
 * begun, or one more than that of the segment before. A segment only grows, and is removed as a whole. What a killed
 * process left behind its last whole record is cut off by the next one that writes. */
#ifndef EDITING_JOURNAL_SEGMENT_H
#define EDITING_JOURNAL_SEGMENT_H

#include "journal_record.h"

#include <sys/types.h>

typedef struct editing_segment {
    uint64_t number, key;
    uint64_t size;
    /* What was found out about it, for the file of these: */
    uint64_t inode, facts_size, changed;
    uint64_t freed;   /* bytes that are holes */
    int64_t youngest; /* time of the youngest entry, if there is one */
    bool known, has_entries;
} editing_segment;

/* In the order of their numbers. */
typedef struct editing_segments {
    editing_segment *items;
    size_t count, cap;
} editing_segments;

/* Lists the segments of a folder. What was found out about segments that are listed already is kept. Returns MCP_OK,
 * MCP_ENOMEM or MCP_EIO with errno. */
int editing_segments_list(editing_segments *list, int folder, const mcp_allocator *alloc);
editing_segment *editing_segments_find(const editing_segments *list, uint64_t number);

/* Opens a segment; returns -1 with errno. */
int editing_segment_open(int folder, const editing_segment *segment);
/* Makes a new, empty one behind all others, which is on the disk, and adds it to the list. Returns MCP_OK, MCP_ENOMEM, or
 * MCP_EIO with errno. */
int editing_segment_make(editing_segments *list, int folder, int64_t now,
                         const mcp_allocator *alloc, int *ret);
int editing_segment_remove(int folder, const editing_segment *segment);

/* Reads and writes exactly `len` bytes. Return MCP_OK, MCP_EPARSE (there are less) or MCP_EIO with errno. */
int editing_read_at(int fd, void *to, size_t len, uint64_t at);
int editing_write_at(int fd, const void *from, size_t len, uint64_t at);

/* ---- from the end to the beginning ---- */

typedef struct editing_walk {
    int fd;
    uint64_t key, number;
    uint64_t end;  /* what is before it has not been visited */
    char *bytes;   /* EDITING_HEAD_ROOM */
    uint64_t gap;  /* where a damaged part ends that the last step has passed, */
    uint64_t from; /* and begins; the same if there was none */
} editing_walk;

/* Reads the record that begins at a place. Returns MCP_OK, MCP_EPARSE (there is none) or MCP_EIO. */
int editing_walk_at(editing_walk *w, uint64_t at, editing_record *ret);
/* Goes to the record before. Returns MCP_OK, MCP_ENOTFOUND (there is none) or MCP_EIO. */
int editing_walk_back(editing_walk *w, editing_record *ret);

/* Finds the end of the last whole record, which may be damaged, of a segment of `size` bytes. Returns MCP_OK or MCP_EIO. */
int editing_segment_end(int fd, uint64_t key, uint64_t size, uint64_t *ret);

#endif
