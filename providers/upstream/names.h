/* names.h: the names by which the tools and prompts of another server are known here.
 *
 * They depend on the configuration and the original name alone: NAME_ and the original where that
 * is at most 64 characters of A-Z, a-z, 0-9, "_" and "-". Any other name is cut and changed to
 * that, with eight digits of its hash; so is one that looks as if it were. That cannot be undone by
 * a rule, so those names are remembered when they are listed.
 */
#ifndef UPSTREAM_NAMES_H
#define UPSTREAM_NAMES_H

#include <mcp/provider.h>

#include "buffer.h"

enum { UPSTREAM_NAME_MAX = 64, UPSTREAM_SOURCE_MAX = 24 };

/* Whether a source may have this name. */
bool upstream_is_name(const char *name);

typedef struct upstream_names {
    const char *prefix; /* "NAME_"; borrowed */
    mcp_allocator alloc;
    struct upstream_renamed *renamed;
    size_t n, cap;
} upstream_names;

void upstream_names_init(upstream_names *names, const char *prefix, const mcp_allocator *alloc);
void upstream_names_free(upstream_names *names);
/* Writes the name here. MCP_OK, MCP_ENOTFOUND (an empty name), MCP_ENOMEM, MCP_ELIMIT. */
int upstream_names_give(upstream_names *names, mcp_str original, char to[MCP_NAME_ROOM]);
/* Whether the original has to be remembered to be found. */
bool upstream_names_is_changed(const upstream_names *names, mcp_str name);
/* The original of a name that begins with the prefix; ptr NULL: none is known. */
mcp_str upstream_names_find(const upstream_names *names, mcp_str name);

#endif
