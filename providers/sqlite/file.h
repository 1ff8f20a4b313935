/* file.h: checks the file of a database and the files beside it without SQLite: whether they are
 * unchanged, and whether SQLite can open them without blocking.
 */
#ifndef SQLITE_FILE_H
#define SQLITE_FILE_H

#include "conn.h"

#include <time.h>

int64_t sqlite_nanoseconds(struct timespec t);

/* Gets the stamp of a file. Returns false and sets errno if it does not exist or is not a regular
 * file, which could block when opened. */
bool sqlite_stamp_of(const char *path, sqlite_stamp *ret);
bool sqlite_same_file(const sqlite_stamp *a, const sqlite_stamp *b);
bool sqlite_same_stamp(const sqlite_stamp *a, const sqlite_stamp *b);
/* Returns whether the file was modified so recently that the next change may get the same time. */
bool sqlite_is_young(const sqlite_stamp *stamp);

/* The first returns whether there is a -wal file that is not empty, the second whether there is one
 * that takes long to read, and the third whether there is a -journal that is not a regular file. */
bool sqlite_has_log(const sqlite_file *f);
bool sqlite_has_long_log(const sqlite_file *f);
bool sqlite_is_trapped(const sqlite_file *f);

#endif
