/* filetext.h: the text of a file: from bytes to UTF-8 and back, without loss.
 *
 * Charsets. UTF-8 with or without a byte order mark, and UTF-16 with a mark or recognizable without,
 * are found by looking. Another charset must be named and be in a table of those in which each
 * character has one form and there is no state between characters; the whole file is converted there
 * and back when it is opened, and refused unless each byte returns. From this follows that characters
 * that nobody changed are written back as the bytes that they were. The text has no mark; bytes with
 * a NUL, or that are malformed in their charset, are no text.
 *
 * Line ends are LF and CRLF. CR alone is one only in a file that has no LF. What a caller sends
 * follows one rule: a string without CR does not say which line ends it means, so each "\n" in it
 * matches any line end and is written as the file's; a string with a CR means all its line ends as
 * they are written.
 *
 * Nothing here opens files. The functions have no state in common and may run on any thread.
 */
#ifndef EDITING_FILETEXT_H
#define EDITING_FILETEXT_H

#include <mcp/base.h>

#include "buffer.h"

typedef struct editing_charset editing_charset;

/* A file's text. Members are read only. `text` is a slice of the file's bytes if these are UTF-8, so
 * the bytes must stay; otherwise it is in `room`. */
typedef struct editing_text {
    mcp_str text; /* UTF-8 without NUL and without the mark */
    const editing_charset *charset;
    bool mark;    /* the file begins with a byte order mark */
    bool is_new;  /* there is no file yet */
    bool has_cr;  /* the text has a CR */
    bool cr_ends; /* CR alone is a line end: the text has CR, but no LF */
    common_buffer room;
} editing_text;

/* Interprets the bytes of a file. `charset` is its name, or empty for UTF-8 and UTF-16, of which the
 * file shows which it is. `most` limits the UTF-8 text in bytes. After success the caller ends with
 * editing_text_close(). Returns MCP_OK, MCP_EPARSE (not a text in this charset; error->offset is the
 * byte), MCP_EUNSUPPORTED (the charset, or these bytes in it, cannot be written back exactly),
 * MCP_EINVAL (no charset has this name here, or the file's mark is that of another one), MCP_ELIMIT
 * or MCP_ENOMEM. `alloc` may be NULL. */
int editing_text_open(mcp_str bytes, mcp_str charset, size_t most, const mcp_allocator *alloc,
                      editing_text *ret, mcp_error *error);

/* Makes the empty text of a file that does not exist yet. Without a name its charset is UTF-8 without
 * a mark; "UTF-16" is UTF-16LE with a mark. Returns MCP_OK, MCP_EUNSUPPORTED or MCP_EINVAL. */
int editing_text_new(mcp_str charset, const mcp_allocator *alloc, editing_text *ret,
                     mcp_error *error);

/* Accepts NULL and a text that is all zero. */
void editing_text_close(editing_text *t);

/* The name of the charset, for example "UTF-16LE". Static storage. */
const char *editing_text_charset(const editing_text *t);

/* ---- changed texts ----
 *
 * A changed text is collected in a buffer in which it stands behind the mark of UTF-8, if the file
 * has that: so the buffer is what is written, without another copy. */

/* Prepares a buffer, which may be uninitialized, for a text of about `size` bytes. The caller frees it
 * with common_buffer_free(), also after a failure. Returns MCP_OK or MCP_ENOMEM. */
int editing_changed_begin(const editing_text *t, size_t size, common_buffer *changed);

/* The text in the buffer, without the mark. */
mcp_str editing_changed_text(const editing_text *t, const common_buffer *changed);

/* Gives the bytes to write. They are in `changed` for UTF-8, otherwise in `room`, which is initialized
 * here and which the caller frees in any case. What is converted is converted back and compared.
 * Returns MCP_OK, MCP_EUNSUPPORTED (a character that the charset does not have; the text names it and
 * its line), MCP_ELIMIT (more than `most` bytes) or MCP_ENOMEM. */
int editing_changed_bytes(const editing_text *t, const common_buffer *changed, size_t most,
                          common_buffer *room, mcp_str *ret, mcp_error *error);

/* ---- for the other files of this folder ---- */

/* Fills in an error, which may be NULL, and returns the code. */
int editing_fail(mcp_error *error, int code, size_t offset, const char *format, ...)
    MCP_PRINTF(4, 5);
/* The same with the code's own text. */
int editing_fail_code(mcp_error *error, int code);
/* Empties it and returns MCP_OK. */
int editing_succeed(mcp_error *error);

/* Whether a caller's string has CR, and so means all its line ends as they are written. */
static inline bool editing_is_exact(mcp_str text)
{
    return text.len && memchr(text.ptr, '\r', text.len);
}

#endif
