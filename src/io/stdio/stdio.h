/* stdio.h: shared by stdio servers and child processes: lines in, bytes out, descriptors. */
#ifndef MCP_SRC_IO_STDIO_H
#define MCP_SRC_IO_STDIO_H

#include "base/base.h"

/* ---- lines.c: splits a stream into lines ---------------------------------------------------- */

typedef struct mcp__lines {
    const mcp_allocator *allocator;
    char *ptr;
    size_t cap, start, end; /* [start, end) is read, but not taken yet */
    size_t scanned;         /* no newline before this */
    size_t max_line;
    /* For an oversized line: [0, scanned) is its head, [scanned, end) the latest bytes of it. */
    bool discarding;
    mcp_str tail; /* the end of the oversized line that was taken last */
} mcp__lines;

enum { MCP__LINE_NONE, MCP__LINE_WHOLE, MCP__LINE_OVERSIZED };

void mcp__lines_init(mcp__lines *l, const mcp_allocator *allocator, size_t max_line);
void mcp__lines_free(mcp__lines *l);
/* Returns where to read to, and in *room how many bytes at most (at least 16 KiB). Returns NULL if
 * out of memory. Invalidates the lines taken before. */
char *mcp__lines_room(mcp__lines *l, size_t *room);
void mcp__lines_added(mcp__lines *l, size_t n);
/* Takes the next line that is not empty, without its newline: the whole line, or the head of an
 * oversized one with its end in l->tail. Both point into the buffer. */
int mcp__lines_next(mcp__lines *l, mcp_str *line);
/* At the end of input, after mcp__lines_next() found no more: takes the last line, which has no
 * newline. */
int mcp__lines_rest(mcp__lines *l, mcp_str *line);

/* ---- lines.c: output to a descriptor -------------------------------------------------------- */

typedef struct mcp__output {
    const mcp_allocator *allocator;
    int fd;
    char *ptr;
    size_t cap, start, end;
    size_t limit; /* waiting bytes above this are a failure */
    bool blocked; /* the descriptor takes no more until it is writable */
    int failed;   /* sticky: MCP_ECLOSED, MCP_EIO, MCP_ENOMEM, MCP_ELIMIT */
    int sys;      /* errno of MCP_EIO */
} mcp__output;

void mcp__output_init(mcp__output *o, const mcp_allocator *allocator, int fd, size_t limit);
void mcp__output_free(mcp__output *o);
static inline size_t mcp__output_pending(const mcp__output *o)
{
    return o->end - o->start;
}
/* Appends a message and a newline. A large message is written at once as far as possible. */
void mcp__output_line(mcp__output *o, mcp_str message);
/* Writes the waiting bytes until all are written or the descriptor takes no more (`blocked`). */
void mcp__output_flush(mcp__output *o);

/* ---- descriptor.c -------------------------------------------------------------------------------- */

typedef struct mcp__descriptor {
    int fd;
    bool owned; /* to be closed at the end */
    bool fifo;
    int flags; /* flags of fcntl(F_SETFL) to restore; -1: unchanged */
} mcp__descriptor;

/* Opens /dev/null for those of the descriptors 0, 1 and 2 that are closed, so that no other file
 * takes their place. */
int mcp__descriptor_fill_standard(void);
/* For reading fd: the same descriptor, or a private description if it is a terminal. */
int mcp__descriptor_input(mcp__descriptor *d, int fd);
/* For writing: a duplicate. With `take`, fd then refers to stderr. */
int mcp__descriptor_output(mcp__descriptor *d, int fd, bool take);
/* Restores the flags; closes the descriptor if it is owned. */
void mcp__descriptor_release(mcp__descriptor *d);

/* ---- parent.c ------------------------------------------------------------------------------------ */

/* Returns a descriptor that becomes readable when the parent process has ended, or -1 if that
 * cannot be detected: no parent, one whose end is to be ignored (nohup), or a system without the
 * call. */
int mcp__parent_open(void);

#endif
