/* fileuri.h: converts file URIs to paths beneath the roots, and back (RFC 8089, RFC 3986).
 *
 * Each path has exactly one canonical URI: "file://" and the path, in which every byte that is not
 * unreserved, a sub-delimiter, ":" or "@" is encoded as %XX with capital digits. A folder has no
 * slash at its end, except that the top of the file system is "file:///". The parser also accepts
 * "localhost", any case of "file" and of the hexadecimal digits, needless encoding, and one slash
 * at the end. It decodes once: "%2541" is the name "%41".
 */
#ifndef FILES_FILEURI_H
#define FILES_FILEURI_H

#include "buffer.h"
#include "root.h"

typedef struct files_target {
    size_t root;     /* index of the root */
    const char *rel; /* points into `path`; NUL-terminated; "" is the root itself */
    size_t rel_len;
    bool slash; /* the URI ended with a slash, so only a folder matches */
    char path[COMMON_PATH_MAX];
} files_target;

/* Finds the most specific root that contains the URI, and the path below it. Does not access
 * the file system. Returns MCP_OK, MCP_EPARSE if the URI is malformed or cannot name a file
 * (NUL, an encoded slash, an empty, "." or ".." segment), MCP_EUNSUPPORTED for another scheme,
 * a host, a query or a fragment, MCP_ENOTFOUND if no root contains it, or MCP_ELIMIT if it is
 * too long for a path. */
int files_uri_parse(const files_roots *roots, mcp_str uri, files_target *ret);

/* Does the same for an absolute path in bytes, without encoding. */
int files_path_parse(const files_roots *roots, mcp_str path, files_target *ret);

/* Appends the canonical URI. Returns MCP_OK or MCP_ENOMEM. */
int files_uri_write(const files_root *root, mcp_str rel, common_buffer *out);

/* Appends the canonical form of a URI. Returns the errors of files_uri_parse() and
 * files_uri_write(). */
int files_uri_canonical(const files_roots *roots, mcp_str uri, common_buffer *out);

/* Returns whether the bytes are a valid relative path without NUL: "", or components of which none
 * is empty, "." or "..". */
bool files_rel_valid(mcp_str rel);

#endif
