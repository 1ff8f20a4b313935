/* file.h: reads a whole file, within limits. */
#ifndef PROGRAM_FILE_H
#define PROGRAM_FILE_H

#include <mcp/base.h>

typedef enum file_trust {
    /* The user named it: it may be a pipe, and reading waits for its writer. */
    FILE_NAMED,
    /* It was found, or named by a file that anyone may have written: it must be a regular file. */
    FILE_FOUND,
} file_trust;

/* Its bytes followed by a NUL, to be freed. MCP_ENOTFOUND, MCP_EIO (also if it is not a regular
 * file), MCP_ELIMIT (more than `most` bytes), MCP_ENOMEM; error->text says why. */
int file_load(const char *path, file_trust trust, size_t most, char **ret, size_t *len,
              mcp_error *error);
/* The same for a descriptor, from its current offset; it stays open. */
int file_read(int fd, size_t most, char **ret, size_t *len, mcp_error *error);

#endif
