/* file.h: reads a whole file, within limits, replaces one, and finds programs. */
#ifndef PROGRAM_FILE_H
#define PROGRAM_FILE_H

#include <mcp/base.h>

typedef enum file_trust {
    /* The user named the file: it may be a pipe, and reading waits for a writer. */
    FILE_NAMED,
    /* The program found the file, or an untrusted file names it: it must be a regular file. */
    FILE_FOUND,
} file_trust;

/* Reads a file. *ret gets its bytes, followed by a NUL, and the caller frees it. Fails with
 * MCP_ENOTFOUND (errno is that of open()), MCP_EIO (also if it is not a regular file), MCP_ELIMIT
 * (more than `most` bytes), MCP_ENOMEM; error->text says why. */
int file_load(const char *path, file_trust trust, size_t most, char **ret, size_t *len,
              mcp_error *error);
/* Reads from a descriptor in the same way, from its current offset. The descriptor stays open. */
int file_read(int fd, size_t most, char **ret, size_t *len, mcp_error *error);

/* Replaces a file in one step by one that only its owner can read. `sync` waits until it is stored.
 * Returns 0, or errno; the file is unchanged then. */
int file_replace(const char *path, const char *text, size_t len, bool sync);

/* Returns whether a path is that of a regular file that may be executed. */
bool file_is_program(const char *path);
/* Searches a program in PATH like posix_spawnp(). Returns whether it was found; its path is in `to`. */
bool file_find_program(const char *name, char *to, size_t room);

#endif
