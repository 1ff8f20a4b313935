/* charset.h: the charsets of files that can be written back exactly, and conversions.
 *
 * UTF-16 is converted here, other charsets by iconv. What iconv of this machine has depends on its
 * modules. Only charsets of a table are accepted: those in which each character has one form and no
 * state is carried from one to the next. (Left out for this reason: ISO-2022 and its kin, UTF-7, HZ,
 * and those in which accents combine, windows-1255, windows-1258, TCVN, Big5-HKSCS; for its line ends,
 * EBCDIC.)
 */
#ifndef EDITING_CHARSET_H
#define EDITING_CHARSET_H

#include <mcp/base.h>

#include "buffer.h"

typedef enum editing_family {
    EDITING_UTF8,
    EDITING_UTF16, /* in either order: the file's mark says which */
    EDITING_UTF16LE,
    EDITING_UTF16BE,
    EDITING_ICONV,
} editing_family;

typedef struct editing_charset {
    const char *name;       /* as iconv knows it */
    const char *aliases[3]; /* in capitals, only letters and digits */
    editing_family family;
} editing_charset;

/* Finds a charset by its name, in any case, with or without "-" and "_". Returns MCP_OK,
 * MCP_EUNSUPPORTED if iconv here knows it but it cannot be written back exactly, or MCP_EINVAL. */
int editing_charset_find(mcp_str name, const editing_charset **ret, mcp_error *error);
const editing_charset *editing_charset_of(editing_family family);

/* The byte order mark of a charset, or an empty string. */
mcp_str editing_charset_mark(const editing_charset *charset);
/* Returns the charset whose mark is at the beginning, or NULL. */
const editing_charset *editing_charset_marked(mcp_str bytes);
/* Returns UTF-16LE or UTF-16BE if bytes without a mark are clearly text in it, otherwise NULL. */
const editing_charset *editing_charset_guess(mcp_str bytes);

/* Append the bytes in UTF-8, or UTF-8 in the charset, without marks. The charset is not UTF-8 and not
 * EDITING_UTF16. Return MCP_OK; MCP_EPARSE with the offset of the first byte of the input that cannot
 * be converted; MCP_EUNSUPPORTED if iconv here does not have the charset; MCP_ELIMIT if the buffer would have
 * more than `most` bytes; MCP_ENOMEM. */
int editing_charset_decode(const editing_charset *charset, mcp_str bytes, size_t most,
                           common_buffer *to, size_t *ret_bad);
int editing_charset_encode(const editing_charset *charset, mcp_str text, size_t most,
                           common_buffer *to, size_t *ret_bad);

#endif
