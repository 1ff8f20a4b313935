/* version.h: the version of a file, a short text by which a writer says which state it has seen.
 *
 * It consists of inode, time of the last change of the inode (in nanoseconds) and size. The provider layer has no
 * cryptographic hash, so files of up to 64 KiB also have a plain 64-bit one, which notices a change within one tick
 * of the file system's clock. It is no protection against somebody who constructs contents, who could as well write
 * the file. The device is left out, because its number may change with the machine's next start.
 *
 * A version without a hash, as a list of a folder has it, names each version that has the same other parts. */
#ifndef EDITING_VERSION_H
#define EDITING_VERSION_H

#include <mcp/base.h>

#include <sys/stat.h>

enum {
    EDITING_VERSION_SIZE = 80,      /* of the longest text, including NUL */
    EDITING_HASHED_MAX = 64 * 1024, /* bytes of the largest file whose version has a hash */
};

typedef struct editing_version {
    char text[EDITING_VERSION_SIZE]; /* NUL-terminated; hexadecimal digits and "-" */
} editing_version;

/* Returns the hash of some bytes. */
uint64_t editing_hash(mcp_str bytes);

/* Makes the version of a file, with the hash if `bytes` is not NULL and they are few enough. */
void editing_version_make(const struct stat *st, const mcp_str *bytes, editing_version *ret);

/* The same with a hash that is known already, or NULL. */
void editing_version_with(const struct stat *st, const uint64_t *hash, editing_version *ret);

/* Computes the hash of an open file of at most EDITING_HASHED_MAX bytes, from its beginning. Returns MCP_OK, MCP_EIO
 * with errno, or MCP_ESTATE if it does not have `size` bytes any more. */
int editing_hash_file(int fd, size_t size, uint64_t *ret);

/* Makes the version of an open file, and reads it if it is small enough. Returns like editing_hash_file(). */
int editing_version_of(int fd, const struct stat *st, editing_version *ret);

/* Returns whether `given`, which a caller has sent, names the version `now`. */
bool editing_version_matches(mcp_str given, const editing_version *now);

/* Returns whether both have the same inode, size and hash, whatever their times are. False without a hash. */
bool editing_version_same_contents(mcp_str given, const editing_version *now);

#endif
