/* stdio.h: lines in, bytes out, descriptors: what a peer on a pair of descriptors needs. A child process is one too.
 */
#ifndef MCP_SRC_IO_STDIO_H
#define MCP_SRC_IO_STDIO_H

#include "base/base.h"

/* ---- lines.c: a stream cut into lines ----------------------------------------------------------- */

typedef struct mcp__lines {
    const mcp_allocator *allocator;
    char *ptr;
    size_t cap, start, end; /* [start, end) is what was read and not yet taken */
    size_t scanned;         /* no newline before this */
    size_t max_line;
    /* Of a line that is too long: [0, scanned) is its head, [scanned, end) the last of it that was read. */
    bool discarding;
    mcp_str tail; /* of the oversized line that was taken last: its end */
} mcp__lines;

enum { MCP__LINE_NONE, MCP__LINE_WHOLE, MCP__LINE_OVERSIZED };

void mcp__lines_init(mcp__lines *l, const mcp_allocator *allocator, size_t max_line);
void mcp__lines_free(mcp__lines *l);
/* Where to read to, and how much at most (at least 16 KiB). NULL: no memory. Lines that were taken
 * before are invalid afterwards. */
char *mcp__lines_room(mcp__lines *l, size_t *room);
void mcp__lines_added(mcp__lines *l, size_t n);
/* Takes the next line that is not empty, without its newline: whole, or too long and then its head, and its end in
 * l->tail. They point into the buffer. */
int mcp__lines_next(mcp__lines *l, mcp_str *line);
/* At the end of input, after mcp__lines_next() found no more: the last line, which has no newline. */
int mcp__lines_rest(mcp__lines *l, mcp_str *line);

/* ---- lines.c: bytes on their way to a descriptor ------------------------------------------------ */

typedef struct mcp__output {
    const mcp_allocator *allocator;
    int fd;
    char *ptr;
    size_t cap, start, end;
    size_t limit; /* more waiting than this is a failure */
    bool blocked; /* the descriptor took no more: wait until it is writable */
    int failed;   /* sticks: MCP_ECLOSED, MCP_EIO, MCP_ENOMEM, MCP_ELIMIT */
    int sys;      /* errno of MCP_EIO */
} mcp__output;

void mcp__output_init(mcp__output *o, const mcp_allocator *allocator, int fd, size_t limit);
void mcp__output_free(mcp__output *o);
static inline size_t mcp__output_pending(const mcp__output *o)
{
    return o->end - o->start;
}
/* Puts message and a newline behind what waits; a large one is written at once as far as possible. */
void mcp__output_line(mcp__output *o, mcp_str message);
/* Writes what waits until all is written or the descriptor takes no more (`blocked`). */
void mcp__output_flush(mcp__output *o);

/* ---- descriptor.c -------------------------------------------------------------------------------- */

typedef struct mcp__descriptor {
    int fd;
    bool owned; /* close it at the end */
    bool fifo;
    int flags; /* of fcntl(F_SETFL), to be restored; -1: nothing was changed */
} mcp__descriptor;

/* Opens those of 0, 1 and 2 that are closed on /dev/null, so that nothing else takes their place. */
int mcp__descriptor_fill_standard(void);
/* For reading fd: as it is, or a private description of it where it is a terminal. */
int mcp__descriptor_input(mcp__descriptor *d, int fd);
/* For writing: a duplicate. With `take`, fd becomes another name of stderr. */
int mcp__descriptor_output(mcp__descriptor *d, int fd, bool take);
/* Makes it as it was found; closes it if it is ours. */
void mcp__descriptor_release(mcp__descriptor *d);

/* ---- parent.c ------------------------------------------------------------------------------------ */

/* A descriptor that is readable when our parent process has ended; -1 where there is nothing to wait for: no
 * parent, one that is not to take us along (nohup), or a system that cannot tell. */
int mcp__parent_open(void);

#endif
