/* functions.h: replacements for SQL functions that could take too long.
 *
 * SQLite checks its time limit between the steps of a statement, and a call of a function is one
 * step. Its own trim(), replace(), instr(), unhex(), like() and glob() take time proportional to
 * the product of two lengths: hours for a mebibyte each. So every connection has replacements with
 * the same names and results; those that compare patterns check the limits of the connection's use
 * meanwhile. json_patch(), which is as slow, is an error.
 */
#ifndef SQLITE_FUNCTIONS_H
#define SQLITE_FUNCTIONS_H

#include "conn.h"

/* `conn` has the limits; NULL: no limits. Returns SQLite's code. */
int sqlite_functions_install(sqlite3 *db, sqlite_conn *conn);

#endif
