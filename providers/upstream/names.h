/* names.h: the names under which this server offers the tools and prompts of another server.
 *
 * A name depends only on the configuration and the original name. It is NAME_ followed by the
 * original if the result has at most 64 characters, all of A-Z, a-z, 0-9, "_" and "-". Any other
 * name is truncated, its invalid characters become "_", and "_" and eight hexadecimal digits of the
 * original's hash are appended. The same happens to an original that already ends like that. Such a
 * change cannot be reversed by a rule, so the originals are remembered when they are listed.
 *
 * The configuration may give an item another name, which follows NAME_ instead of the original. If the
 * other server has a further item of this name, that one gets a hash.
 */
#ifndef UPSTREAM_NAMES_H
#define UPSTREAM_NAMES_H

#include <mcp/sys/forward.h>

#include "buffer.h"
#include "upstream.h"

enum { UPSTREAM_NAME_MAX = 64, UPSTREAM_SOURCE_MAX = 24 };

/* Returns whether `name` is valid as the name of a source. */
bool upstream_is_name(const char *name);

typedef struct upstream_names {
    const char *prefix;                  /* "NAME_"; borrowed */
    const mcp_upstream_options *options; /* with the names of the configuration; borrowed */
    mcp_allocator alloc;
    struct upstream_renamed *renamed;
    size_t n, cap;
} upstream_names;

/* Checks the names in the configuration: their characters, their length, and that no two items would
 * have the same name. Returns MCP_OK or MCP_EINVAL. */
int upstream_names_check(const mcp_upstream_options *options, mcp_error *error);

void upstream_names_init(upstream_names *names, const char *prefix,
                         const mcp_upstream_options *options, const mcp_allocator *alloc);
void upstream_names_free(upstream_names *names);
/* Writes the name that this server offers to `to`. Returns MCP_OK, MCP_ENOMEM, or
 * MCP_ENOTFOUND if the original is empty or cannot be offered (too many names are remembered,
 * or its hash is taken). */
int upstream_names_give(upstream_names *names, mcp_item item, mcp_str original,
                        char to[MCP_NAME_ROOM]);
/* Returns whether `name`, as offered here, has a hash, so that its original has to be
 * remembered. */
bool upstream_names_is_changed(const upstream_names *names, mcp_str name);
/* Returns the original of a name that this server offers; ptr is NULL if it is not known. */
mcp_str upstream_names_find(const upstream_names *names, mcp_item item, mcp_str name);

/* Returns the index of `name` in an array that is sorted by names, or where it would be. */
size_t upstream_place(const void *array, size_t n, mcp_str (*name_at)(const void *array, size_t i),
                      mcp_str name, bool *found);

#endif
