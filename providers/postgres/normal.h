/* normal.h: a statement without its constants, for callers who are not its author. */
#ifndef POSTGRES_NORMAL_H
#define POSTGRES_NORMAL_H

#include "sql.h"

enum { POSTGRES_LONGEST_NORMAL = 300 /* bytes of a statement that are shown */ };

/* Appends the statement in one line: constants are "?", comments are left out, and so is everything from
 * where it is not certain what is a constant. */
void postgres_put_normal(postgres_sql *to, const char *sql);

#endif
