/* functions.h: functions of SQL that end in time, whatever they are called with.
 *
 * SQLite looks at its clock between the steps of a statement, and a call of a function is one step.
 * Its own trim(), replace(), instr(), unhex(), like() and glob() take as long as the product of two
 * lengths: hours for a mebibyte each. So every connection has others under their names, which do
 * the same; those that compare patterns look at the bounds of the connection's use meanwhile.
 * json_patch(), which is as slow, is an error.
 */
#ifndef SQLITE_FUNCTIONS_H
#define SQLITE_FUNCTIONS_H

#include "conn.h"

/* `conn` has the bounds; NULL: there are none. SQLite's code. */
int sqlite_functions_install(sqlite3 *db, sqlite_conn *conn);

#endif
