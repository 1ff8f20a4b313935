/* pieces.h: splits the URIs of providers into decoded pieces, and encodes pieces. Each provider
 * interprets its own pieces.
 */
#ifndef COMMON_PIECES_H
#define COMMON_PIECES_H

#include <mcp/uri.h>

#include "buffer.h"

typedef struct common_pieces {
    mcp_str rest; /* the unread part */
    char *room;   /* where the next decoded piece and its NUL are stored */
    bool nul;     /* whether pieces may contain NUL (%00) */
} common_pieces;

/* Decodes the next piece, up to a character of `stops` or the end. Returns false for an invalid "%"
 * or a NUL. */
bool common_pieces_take(common_pieces *p, const char *stops, mcp_str *ret);
/* Skips `c` if it is next; returns whether it was. */
bool common_pieces_skip(common_pieces *p, char c);
bool common_pieces_skip_text(common_pieces *p, mcp_str text);
/* Takes "/KEY" one to `max` times. */
bool common_pieces_take_keys(common_pieces *p, mcp_str *keys, size_t max, size_t *ret_n);
/* Takes "NAME=VALUE&NAME=VALUE" up to the end, at most `max` pairs. A name without "=" has
 * an empty value. */
bool common_pieces_take_pairs(common_pieces *p, mcp_uri_pair *pairs, size_t max, size_t *ret_n);

/* Percent-encodes one byte unless it is unreserved. Returns 1 or 3. */
size_t common_pieces_encode(char to[3], char byte);
/* Appends one piece, percent-encoded. Returns false if memory is exhausted. */
bool common_pieces_put(common_buffer *to, mcp_str text);
/* Gets the part of a URI after a prefix, "SCHEME://NAME/" with the scheme in lower case. The URI's
 * scheme may be in any case. Returns false if the URI does not begin with the prefix. */
bool common_pieces_behind(mcp_str uri, const char *prefix, mcp_str *rest);
/* Parses a whole number from `min` to `max`; only decimal digits are allowed. */
bool common_pieces_number(mcp_str text, uint64_t min, uint64_t max, uint64_t *ret);
/* Returns whether the names of all pairs are in a list that ends with NULL. If not, `why` contains
 * the invalid name and the valid ones. */
bool common_pieces_only(const mcp_uri_pair *pairs, size_t n, const char *const *names,
                        char why[300]);
/* Returns the value of the pair with this name, or NULL. */
const mcp_str *common_pieces_value(const mcp_uri_pair *pairs, size_t n, const char *name);

#endif
