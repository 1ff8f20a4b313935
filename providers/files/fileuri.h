/* fileuri.h: file URIs to paths beneath the roots, and back (RFC 8089, RFC 3986).
 *
 * Each path has exactly one canonical URI: "file://", then every byte that is not unreserved, a
 * sub-delimiter, ":" or "@" as %XX in capitals; a folder has no slash at its end (the top of the
 * file system is "file:///"). Accepted are also "localhost", any case of "file" and of the hex
 * digits, needless encoding, and one slash at the end. Decoding happens once: "%2541" is the name
 * "%41".
 */
#ifndef FILES_FILEURI_H
#define FILES_FILEURI_H

#include "buffer.h"
#include "root.h"

typedef struct files_target {
    size_t root;     /* index into the roots */
    const char *rel; /* into `path`; NUL-terminated, "" is the root itself */
    size_t rel_len;
    bool slash; /* it ended with a slash, so only a folder matches */
    char path[COMMON_PATH_MAX];
} files_target;

/* Finds the most specific root that contains the URI, and the path below it. Does not access the
 * file system. MCP_EPARSE: not a well-formed URI, or it cannot name a file (NUL, an encoded slash,
 * an empty, "." or ".." segment); MCP_EUNSUPPORTED: another scheme, a host, a query or a fragment;
 * MCP_ENOTFOUND: in no root; MCP_ELIMIT: too long for a path. */
int files_uri_parse(const files_roots *roots, mcp_str uri, files_target *ret);

/* The same for an absolute path as bytes, not encoded. */
int files_path_parse(const files_roots *roots, mcp_str path, files_target *ret);

/* Appends the canonical URI. MCP_ENOMEM. */
int files_uri_write(const files_root *root, mcp_str rel, common_buffer *out);

/* Appends the canonical spelling of a URI, which identifies a resource. Errors as the two above. */
int files_uri_canonical(const files_roots *roots, mcp_str uri, common_buffer *out);

/* Whether the bytes are a valid relative path: "" or components that are not empty, "." or "..",
 * without NUL. */
bool files_rel_valid(mcp_str rel);

#endif
