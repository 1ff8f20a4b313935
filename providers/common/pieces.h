/* pieces.h: parses URIs of providers into pieces, and encodes pieces. Each provider interprets its
 * own pieces.
 */
#ifndef COMMON_PIECES_H
#define COMMON_PIECES_H

#include <mcp/uri.h>

#include "buffer.h"

typedef struct common_pieces {
    mcp_str rest; /* what was not looked at yet */
    char *room;   /* where the next decoded piece goes, with a NUL behind it */
    bool nul;     /* whether a piece may hold NUL, as %00 */
} common_pieces;

/* The next piece up to the end or one of `stops`, decoded. False: a bad "%", or a NUL. */
bool common_pieces_take(common_pieces *p, const char *stops, mcp_str *ret);
/* What stands next, if it does. */
bool common_pieces_skip(common_pieces *p, char c);
bool common_pieces_skip_text(common_pieces *p, mcp_str text);
/* /KEY for each key; at least one, at most `max`. */
bool common_pieces_take_keys(common_pieces *p, mcp_str *keys, size_t max, size_t *ret_n);
/* NAME=VALUE&NAME=VALUE to the end; a name alone has an empty value. At most `max`. */
bool common_pieces_take_pairs(common_pieces *p, mcp_uri_pair *pairs, size_t max, size_t *ret_n);

/* One byte as it stands in a URI, which is itself only where it is unreserved. Returns 1 or 3. */
size_t common_pieces_encode(char to[3], char byte);
/* One piece, encoded. False: no memory. */
bool common_pieces_put(common_buffer *to, mcp_str text);
/* What stands behind a prefix, "SCHEME://NAME/" in which the scheme is in lower case. False:
 * something else begins the URI. In the URI the scheme may be spelled in either case. */
bool common_pieces_behind(mcp_str uri, const char *prefix, mcp_str *rest);
/* A whole number from `min` to `max`, in decimal digits alone. */
bool common_pieces_number(mcp_str text, uint64_t min, uint64_t max, uint64_t *ret);
/* Whether nothing is asked for but these, which NULL ends; else `why` says what, and what may
 * be. */
bool common_pieces_only(const mcp_uri_pair *pairs, size_t n, const char *const *names,
                        char why[300]);
/* The value of a pair; NULL: none. */
const mcp_str *common_pieces_value(const mcp_uri_pair *pairs, size_t n, const char *name);

#endif
