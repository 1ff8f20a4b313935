/* functions.h: functions of SQL that take no longer than what they are given is long.
 *
 * SQLite looks at its clock between the steps of a statement, and a call of a function is one step. Its own trim(),
 * replace() and instr() take as long as the product of two lengths: hours for a mebibyte each. So every
 * connection has others under their names, which do the same.
 */
#ifndef SQLITE_FUNCTIONS_H
#define SQLITE_FUNCTIONS_H

#include <sqlite3.h>

/* SQLite's code. */
int sqlite_functions_install(sqlite3 *db);

#endif
