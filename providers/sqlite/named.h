/* named.h: whether a text names a table or view that the caller may not read.
 *
 * SQL stored in the file (tables, views, triggers) can have any form, so it is not parsed. A name
 * that is a word counts wherever it occurs as a word, in any case. Any other name counts wherever
 * it occurs.
 */
#ifndef SQLITE_NAMED_H
#define SQLITE_NAMED_H

#include "provider.h"

/* The sorted names of all tables and views. Empty if there are no access rules, since then nothing
 * is hidden. */
typedef struct sqlite_names {
    common_buffer text; /* each followed by a NUL */
    common_buffer at;   /* size_t: the offset of each */
    size_t n;
} sqlite_names;

/* Returns SQLite's code. Must be freed in every case. */
int sqlite_names_load(sqlite_names *names, sqlite_conn *conn, const sqlite_job *job);
void sqlite_names_free(sqlite_names *names);

/* Whether `text`, which belongs to the table or view `own`, names one that is hidden from the
 * caller. */
bool sqlite_names_hidden(const sqlite_names *names, sqlite_job *job, mcp_str text, mcp_str own);

/* Whether the caller may know of the table with this name, in any case. */
bool sqlite_names_may(const sqlite_names *names, sqlite_job *job, mcp_str table);

#endif
