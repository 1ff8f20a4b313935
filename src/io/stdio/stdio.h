/* stdio.h: input by lines, buffered output, and descriptors, for stdio servers and child
 * processes. */
#ifndef MCP_SRC_IO_STDIO_H
#define MCP_SRC_IO_STDIO_H

#include "base/base.h"
#include "jsonrpc/envelope.h"

/* ---- lines.c: splits a stream into lines ---------------------------------------------------- */

typedef struct mcp__lines {
    const mcp_allocator *allocator;
    char *ptr;
    size_t cap, start, end; /* [start, end) has been read, but not returned yet */
    size_t scanned;         /* there is no newline before this offset */
    size_t max_line;
    bool discarding;   /* an oversized line is arriving */
    mcp__id_scan scan; /* of that line, or of the one that was returned last */
} mcp__lines;

enum { MCP__LINE_NONE, MCP__LINE_WHOLE, MCP__LINE_OVERSIZED };

void mcp__lines_init(mcp__lines *l, const mcp_allocator *allocator, size_t max_line);
void mcp__lines_free(mcp__lines *l);
/* Returns the buffer for the next read, and in *room its size, at least 16 KiB. Returns NULL if out
 * of memory. Invalidates all lines returned before. */
char *mcp__lines_room(mcp__lines *l, size_t *room);
/* Reports that n bytes have been read into the buffer. */
void mcp__lines_added(mcp__lines *l, size_t n);
/* Returns in *line the next line that is not empty, without its newline. Of an oversized
 * line, *line is what mcp__id_scan_end() returns. It is borrowed until the next mcp__lines_room(). The result is MCP__LINE_WHOLE, MCP__LINE_OVERSIZED, or MCP__LINE_NONE if more
 * input is needed. */
int mcp__lines_next(mcp__lines *l, mcp_str *line);
/* Returns a last line without a newline, in the same form. Must be called at the end of the input,
 * after mcp__lines_next() has returned MCP__LINE_NONE. */
int mcp__lines_rest(mcp__lines *l, mcp_str *line);

/* ---- lines.c: output to a descriptor -------------------------------------------------------- */

typedef struct mcp__output {
    const mcp_allocator *allocator;
    int fd;
    char *ptr;
    size_t cap, start, end;
    size_t limit; /* maximum of pending bytes; exceeding it is a failure */
    bool blocked; /* the descriptor has to become writable first */
    int failed;   /* MCP_OK, or the first error: MCP_ECLOSED, MCP_EIO, MCP_ENOMEM, MCP_ELIMIT */
    int sys;      /* errno of that error, or 0 */
} mcp__output;

void mcp__output_init(mcp__output *o, const mcp_allocator *allocator, int fd, size_t limit);
void mcp__output_free(mcp__output *o);
static inline size_t mcp__output_pending(const mcp__output *o)
{
    return o->end - o->start;
}
/* Appends a message and a newline. Of a large message, as much as possible is written
 * immediately. */
void mcp__output_line(mcp__output *o, mcp_str message);
/* Writes pending bytes until none are left or the descriptor takes no more, which sets
 * o->blocked. */
void mcp__output_flush(mcp__output *o);

/* ---- descriptor.c -------------------------------------------------------------------------------- */

typedef struct mcp__descriptor {
    int fd;
    bool owned; /* mcp__descriptor_release() closes it */
    bool fifo;
    int flags; /* status flags (F_SETFL) to restore, or -1 */
} mcp__descriptor;

/* Opens /dev/null in place of each of the descriptors 0, 1 and 2 that is closed, so that no other
 * file gets that number. Returns 0 or -1. */
int mcp__descriptor_fill_standard(void);
/* Prepares fd for reading. A terminal is opened again. Returns 0, or -1 with errno. */
int mcp__descriptor_input(mcp__descriptor *d, int fd);
/* Prepares a duplicate of fd for writing. A terminal is opened again. If `take` is set, fd itself
 * then refers to stderr. Returns 0, or -1 with errno. */
int mcp__descriptor_output(mcp__descriptor *d, int fd, bool take);
/* Restores the flags, and closes the descriptor if it is owned. */
void mcp__descriptor_release(mcp__descriptor *d);

/* ---- parent.c ------------------------------------------------------------------------------------ */

/* Returns a descriptor that becomes readable when the parent process has ended. Returns -1 if the
 * system cannot report that, if there is no parent, or if SIGHUP is ignored (as nohup does). The
 * caller closes the descriptor. */
int mcp__parent_open(void);

#endif
