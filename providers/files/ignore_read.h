/* ignore_read.h: reads the rules for ignore.c from a file, from the options, and from the folders
 * between the repository's top and the root.
 */
#ifndef FILES_IGNORE_READ_H
#define FILES_IGNORE_READ_H

#include "beneath.h"
#include "rules.h"

/* Reads rules from an open file of about this size. Returns MCP_OK or MCP_ENOMEM. */
int files_rules_read(const mcp_allocator *alloc, int fd, size_t size, files_rules **ret);
/* Makes rules from globs of the options. Returns MCP_OK or MCP_ENOMEM. */
int files_rules_of_globs(const mcp_allocator *alloc, const char *const *list, size_t count,
                         files_rules **ret);

/* Rules of a folder above the root. They are matched against the path from that folder
 * to the entry. */
typedef struct files_rules_above {
    files_rules *rules;
    size_t skip; /* bytes of the lead that precede that path */
} files_rules_above;

typedef struct files_above {
    files_rules_above *items; /* the nearest folder first, .git/info/exclude last */
    size_t count;
    size_t lead; /* length of the lead: the root's path relative to the repository's top, with a
                  * slash at its end */
} files_above;

/* Reads the rules, and writes the lead to `lead`, which has room for COMMON_PATH_MAX bytes. *ret
 * must be freed even after a failure. Returns MCP_OK or MCP_ENOMEM. */
int files_above_read(files_above *ret, const char *root, const mcp_allocator *alloc, char *lead);
void files_above_free(files_above *a, const mcp_allocator *alloc);

/* Writes dir[0, len) and the name to `path`. Returns false if they are too long. */
bool files_path_add(char path[COMMON_PATH_MAX], const char *dir, size_t len, const char *name);

#endif
