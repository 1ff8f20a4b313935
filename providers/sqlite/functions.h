/* functions.h: replacements for SQL functions that could take too long.
 *
 * SQLite checks its time limit between the steps of a statement, and a function call is one step.
 * SQLite's own trim(), replace(), instr(), unhex(), like() and glob() take time proportional to the
 * product of two lengths: hours for a mebibyte each. So every connection has replacements with the
 * same names and results. The replacements of like() and glob() check the limits of the
 * connection's use while they run. json_patch(), which is as slow, fails.
 */
#ifndef SQLITE_FUNCTIONS_H
#define SQLITE_FUNCTIONS_H

#include "conn.h"

/* Installs the functions. `conn` has the limits; NULL means no limits. Returns SQLite's code. */
int sqlite_functions_install(sqlite3 *db, sqlite_conn *conn);

#endif
