/* file.h: checks the file of a database and the files beside it from outside: whether they are
 * still the same, and whether SQLite can open them without blocking.
 */
#ifndef SQLITE_FILE_H
#define SQLITE_FILE_H

#include "conn.h"

#include <time.h>

int64_t sqlite_nanoseconds(struct timespec t);

/* False, with errno: it does not exist or is not a regular file, and opening it could block. */
bool sqlite_stamp_of(const char *path, sqlite_stamp *ret);
bool sqlite_same_file(const sqlite_stamp *a, const sqlite_stamp *b);
bool sqlite_same_stamp(const sqlite_stamp *a, const sqlite_stamp *b);
/* Modified so recently that the next change may get the same time. */
bool sqlite_is_young(const sqlite_stamp *stamp);

/* Whether there is a -wal file that is not empty; one that takes long to read; a -journal that is
 * not a regular file. */
bool sqlite_has_log(const sqlite_file *f);
bool sqlite_has_long_log(const sqlite_file *f);
bool sqlite_is_trapped(const sqlite_file *f);

#endif
