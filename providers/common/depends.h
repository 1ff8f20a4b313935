/* depends.h: the names of the files on which an answer depends.
 *
 * A server that forwards requests to a source in a process of its own may answer a repeated request
 * itself while these files are unchanged. It asks for their names with the member
 * COMMON_META_FILES, whose value is true, in the request's _meta, and gets them in the same member
 * of the result's _meta:
 *
 *     ["/.git/HEAD",true,"/.git/packed-refs",false]
 *
 * Each name is appended to the path of the source. It begins with "/" if the source is a folder; if it
 * is a file, it is "", "-wal" or "-journal". The value after it says whether there was such a file. An
 * answer without this member must not be kept.
 */
#ifndef COMMON_DEPENDS_H
#define COMMON_DEPENDS_H

#include <mcp/provider.h>

#define COMMON_META_FILES "libmcp/files"

/* A list of names, initialized with zeros. While `json` is NULL, no names are collected. */
typedef struct common_depends {
    mcp_json_writer *json;
} common_depends;

/* Begins a new list if the request asks for one, and no access rules apply to its caller. If memory
 * is exhausted, no names are collected. */
void common_depends_begin(common_depends *d, const mcp_request *req, const mcp_allocator *alloc);
/* Adds the name FOLDER/NAME. Without `folder` adds NAME. `d` may be NULL. */
void common_depends_add(common_depends *d, const char *folder, const char *name, bool exists);
/* Frees the list. No more names are collected. `d` may be NULL. */
void common_depends_end(common_depends *d);
/* Adds the list to the result of the request, and frees it. Returns the code of
 * mcp_reply_meta(). */
int common_depends_reply(common_depends *d, mcp_request *req);

#endif
