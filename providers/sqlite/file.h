/* file.h: checks the file of a database and the files beside it from outside: whether they are
 * still the same, and whether SQLite can open them without blocking.
 */
#ifndef SQLITE_FILE_H
#define SQLITE_FILE_H

#include "conn.h"

#include <time.h>

int64_t sqlite_nanoseconds(struct timespec t);

/* False, and errno: it is not there, or no regular file, which may wait when it is opened. */
bool sqlite_stamp_of(const char *path, sqlite_stamp *ret);
bool sqlite_same_file(const sqlite_stamp *a, const sqlite_stamp *b);
bool sqlite_same_stamp(const sqlite_stamp *a, const sqlite_stamp *b);
/* Written so short a time ago that the next change may have the same time. */
bool sqlite_is_young(const sqlite_stamp *stamp);

/* Whether there is a -wal file with something in it; one that takes long to read; a -journal that
 * is no file. */
bool sqlite_has_log(const sqlite_file *f);
bool sqlite_has_long_log(const sqlite_file *f);
bool sqlite_is_trapped(const sqlite_file *f);

#endif
