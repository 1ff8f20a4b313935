/* guard.h: restricts statements from clients to SELECT and a few PRAGMAs that only return
 * information.
 *
 * This is the second of three lines of defence: the file is opened read-only, and a statement that
 * SQLite does not report as read-only is rejected before it runs.
 */
#ifndef SQLITE_GUARD_H
#define SQLITE_GUARD_H

#include "conn.h"

/* Checks every statement that is prepared while conn->guarded is set. Returns SQLite's code. */
int sqlite_guard_install(sqlite_conn *conn);

/* Prepares one statement from a client. It must be the only one and read-only. Returns SQLite's
 * code; if it is SQLITE_AUTH, `why` has the reason. */
int sqlite_guard_prepare(sqlite_conn *conn, mcp_str sql, sqlite3_stmt **ret, char why[256]);

#endif
