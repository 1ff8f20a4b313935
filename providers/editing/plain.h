/* plain.h: which files may be changed at all, and what a replaced file keeps. Inside of this folder only. */
#ifndef EDITING_PLAIN_H
#define EDITING_PLAIN_H

#include <mcp/base.h>

#include <sys/stat.h>

/* Returns why a file with this status is not changed, for example "has more than one link; ...", or NULL. The mode
 * alone decides whether it may be opened at all. */
const char *editing_not_plain(const struct stat *st);

/* The same for what only an open descriptor tells: capabilities, flags. */
const char *editing_not_plain_inside(int fd);

/* Gives the new file mode, group, access control list, extended attributes and flags of the old one. Returns MCP_OK,
 * or the code of an error whose text says what cannot be kept. */
int editing_keep(int from, const struct stat *st, int to, const char *rel, mcp_error *err);

#endif
