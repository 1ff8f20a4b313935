/* named.h: checks whether a text mentions a table or view that the caller may not read.
 *
 * SQL stored in the file (tables, views, triggers) can have any form, so it is not parsed. A name
 * that is a word counts as mentioned wherever it occurs as a word, in any case. Any other name
 * counts wherever it occurs.
 */
#ifndef SQLITE_NAMED_H
#define SQLITE_NAMED_H

#include "provider.h"

/* The sorted names of all tables and views. Empty without access rules, because then
 * nothing is hidden. */
typedef struct sqlite_names {
    common_buffer text; /* each followed by NUL */
    common_buffer at;   /* the offset of each name, a size_t */
    size_t n;
} sqlite_names;

/* Loads the names. Returns SQLite's code. Must be freed in every case. */
int sqlite_names_load(sqlite_names *names, sqlite_conn *conn, const sqlite_job *job);
void sqlite_names_free(sqlite_names *names);

/* Returns whether `text`, which belongs to the table or view `own`, mentions a table or view that
 * is hidden from the caller. */
bool sqlite_names_hidden(const sqlite_names *names, sqlite_job *job, mcp_str text, mcp_str own);

/* Returns whether the caller may read the table with this name, compared ignoring case. */
bool sqlite_names_may(const sqlite_names *names, sqlite_job *job, mcp_str table);

#endif
