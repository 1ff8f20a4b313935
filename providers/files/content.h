/* content.h: reads a file or a part of it, with memory proportional to the part instead of the
 * file.
 *
 * Lines end with a line feed, in UTF-16 and UTF-32 with that of the encoding. Which encoding it is
 * says a byte order mark; without one, it is guessed from the beginning.
 *
 * A part is exact. Bytes are not trimmed to characters, so a byte range that splits a character is
 * binary (see common_text_check()). Lines keep their ends. A part larger than `limit` fails with
 * MCP_ELIMIT; it is never truncated. If the file changes during the read, each block has the
 * contents at the time when the block was read.
 */
#ifndef FILES_CONTENT_H
#define FILES_CONTENT_H

#include "buffer.h"

typedef struct files_reader {
    int fd;
    size_t limit; /* bytes of the largest result */
    /* Called before each block of a long search. If it returns true, the read ends with
     * MCP_ECANCELLED. May be NULL. */
    bool (*stop)(void *user);
    void *user;
} files_reader;

/* All functions append to `out` and return MCP_OK, MCP_ELIMIT, MCP_ENOMEM, MCP_EIO or
 * MCP_ECANCELLED. After a failure the contents of `out` are undefined. */

/* Reads the whole file. `size` is that of fstat(), which may be 0 for files in /proc. */
int files_read_whole(const files_reader *r, uint64_t size, common_buffer *out);

/* Reads `length` bytes from `offset`, or fewer at the end of the file. */
int files_read_bytes(const files_reader *r, uint64_t offset, uint64_t length, common_buffer *out);

/* Reads `count` lines from line `first` (counted from 1; 0 means 1). *begin becomes its offset, also if the
 * lines are too large. */
int files_read_lines(const files_reader *r, uint64_t first, uint64_t count, common_buffer *out,
                     uint64_t *begin);

/* Reads the last `count` lines. Text after the last line end counts as a line. The file is read
 * backwards from `size`, so the cost does not depend on its beginning. */
int files_read_tail(const files_reader *r, uint64_t size, uint64_t count, common_buffer *out);

#endif
