/* shown.h: files in UTF-16, as the text that they are.
 *
 * Only a file that begins with the mark of UTF-16 is one: nothing is guessed. Each character is given as it is stored, the
 * mark too, so that the text in UTF-16 is again the bytes of the file. What is malformed or has a NUL is no text, and is
 * given as its bytes.
 */
#ifndef FILES_SHOWN_H
#define FILES_SHOWN_H

#include "buffer.h"

enum {
    FILES_TYPE_SIZE = 160, /* of the longest MIME type with a charset, and its NUL */
};

/* The charset, as a parameter of a MIME type says it, of a file that begins with these bytes: static storage; or NULL. */
const char *files_shown_charset(mcp_str bytes);
/* The same of an open file. */
const char *files_shown_charset_of(int fd);

/* Appends whole characters of a file in this charset as UTF-8. Returns MCP_OK, MCP_EPARSE if they are no text, or
 * MCP_ENOMEM. */
int files_shown_decode(mcp_str bytes, const char *charset, common_buffer *to);

/* The MIME type with the charset, in `room` unless there is none. */
const char *files_shown_type(const char *type, const char *charset, char room[FILES_TYPE_SIZE]);

#endif
