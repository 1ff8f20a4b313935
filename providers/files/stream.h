/* stream.h: searches a file that is too large to be read whole, block by block.
 *
 * A block ends after a line. A line that is longer than a block is searched in pieces that overlap by the
 * longest plain text that can be searched for, so a longer match of a regular expression may be missed
 * there. Lines that are not text are counted and not searched, but a file whose beginning is not text is
 * binary. A part ends with its slice, or when the results are full, and soon if there are some; the
 * position is then that of the next line.
 */
#ifndef FILES_STREAM_H
#define FILES_STREAM_H

#include "sweep.h"

typedef struct files_stream {
    bool begun;
    uint64_t size; /* of the file */
    files_sweep *sweep;
    search_turn *turn;
    search_text text; /* of a block, and whose it is */
    search_item item;
} files_stream;

/* Begins at sweep->within. `text` describes the file; its strings are borrowed. */
void files_stream_begin(files_stream *s, files_sweep *sweep, search_turn *turn,
                        const search_text *text, uint64_t size);
/* Notes in the results how far the file is searched. */
void files_stream_note(const files_stream *s);

/* Searches the next part, with `block` as its memory, and sets sweep->within. Returns MCP_OK at the end of
 * the file, MCP_EEXIST if it has more matches than are wanted of a file, FILES_SWEEP_PART,
 * FILES_SWEEP_ENOUGH, MCP_EUNSUPPORTED for UTF-16 and UTF-32, MCP_EPARSE if it is not text, MCP_EIO,
 * MCP_ENOMEM, MCP_ELIMIT or MCP_ECANCELLED. */
int files_stream_search(files_stream *s, int fd, common_buffer *block);

#endif
