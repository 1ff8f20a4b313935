/* store.h: a file with the records of logins, shared by several processes.
 *
 * The file is only replaced as a whole, under a lock of its own. A second kind of lock is that of
 * one record, which a client holds while it renews a token. Both are byte-range locks on a file
 * beside it, NAME.lock, which is never replaced: byte 0 for the file, and a byte that is calculated
 * from the key for a record. The locks belong to open file descriptions, so they also exclude other
 * users of the store in the same process, and a process that ends leaves none.
 */
#ifndef MCP_SRC_IO_OAUTH_STORE_H
#define MCP_SRC_IO_OAUTH_STORE_H

#include <sys/stat.h>

#include "io/loop/loop.h"

enum {
    MCP__RECORDS_VERSION = 1,
    MCP__RECORDS_MAX_BYTES = 16 << 20, /* of the file */
    MCP__RECORD_MAX_BYTES = 1 << 20,   /* of one record */
    MCP__RECORDS_REPLACE_MS = 10000,   /* longest wait for another process that replaces the file */
};

/* ---- folder.c: the folder and the locks ------------------------------------------------------ */

typedef struct mcp__records {
    const mcp_allocator *allocator;
    char *path;       /* as the program named it, for messages */
    char *folder;     /* without links */
    const char *name; /* of the file in the folder; part of `folder`'s memory */
} mcp__records;

/* Returns MCP_OK, MCP_EINVAL (an empty path, or one that ends with a slash), MCP_EACCESS (a link of
 * another user), MCP_EIO or MCP_ENOMEM. Free it with mcp__records_free() in any case. */
int mcp__records_init(mcp__records *r, const mcp_allocator *allocator, const char *path,
                      mcp_error *error);
void mcp__records_free(mcp__records *r);

/* Opens the file that is locked, and makes it and its folder if necessary. *ret gets the
 * descriptor. */
int mcp__records_open_lock(const mcp__records *r, int *ret, mcp_error *error);
/* Tries to lock a byte. Returns MCP_OK, MCP_PENDING (somebody else has it), MCP_ESTATE (the file was
 * removed since it was opened: open it again) or MCP_EIO. Closing the descriptor unlocks it. */
int mcp__records_try(const mcp__records *r, int fd, int64_t byte, mcp_error *error);
/* Locks the file for its replacement. Others have this lock only while they write, so this waits
 * for them, for at most MCP__RECORDS_REPLACE_MS. *ret gets a descriptor: closing it unlocks. */
int mcp__records_lock(const mcp__records *r, int *ret, mcp_error *error);

/* For file.c: opens the folder, or returns MCP_ENOTFOUND if there is none and `make` is not set; */
int mcp__records_open_folder(const mcp__records *r, bool make, int *ret, mcp_error *error);
/* checks that an open file is private; */
int mcp__records_check(const mcp__records *r, int fd, struct stat *s, mcp_error *error);
/* fill *error with a text about the file, and return the code; the second uses errno. */
int mcp__records_refuse(const mcp__records *r, mcp_error *error, int rc, const char *what);
int mcp__records_fail(const mcp__records *r, mcp_error *error, const char *what);

/* ---- file.c: the records --------------------------------------------------------------------- */

/* Calls give() for the record with that key, or for all records if `key` is NULL. Returns MCP_OK,
 * MCP_ENOTFOUND (no such record; only with a key), MCP_EACCESS (the file is not private), MCP_EPARSE
 * (it is damaged), MCP_EUNSUPPORTED (of a later version), MCP_ELIMIT, MCP_EIO or MCP_ENOMEM. */
typedef void mcp__record_fn(void *arg, mcp_str key, mcp_str record);
int mcp__records_load(const mcp__records *r, const char *key, mcp__record_fn *give, void *arg,
                      mcp_error *error);
/* Adds, replaces or (if `record` is empty) removes a record. Waits while another process does the
 * same. If it fails, the file is unchanged. Returns the codes of mcp__records_load(), MCP_EPARSE
 * also for a record that is not JSON, or MCP_ETIMEOUT. */
int mcp__records_save(const mcp__records *r, const char *key, mcp_str record, mcp_error *error);

/* ---- lock.c: the lock of a record ------------------------------------------------------------ */

typedef struct mcp__record_lock mcp__record_lock;

/* Called once, and not from within mcp__record_lock_new(): MCP_OK, or MCP_ETIMEOUT and the codes of
 * mcp__records_open_lock(). In any case the lock must then be freed. */
typedef void mcp__record_locked_fn(int rc, const mcp_error *error, void *arg);

/* Tries to lock the record. Returns MCP_OK (locked; `done` is not called), MCP_PENDING (`done` will
 * be called), or a negative code (no *ret). */
int mcp__record_lock_new(mcp_loop *loop, const mcp__records *r, const char *key, uint64_t wait_ms,
                         mcp__record_locked_fn *done, void *arg, mcp__record_lock **ret,
                         mcp_error *error);
/* Unlocks, or ends the wait. NULL is allowed. */
void mcp__record_lock_free(mcp__record_lock *lock);

#endif
