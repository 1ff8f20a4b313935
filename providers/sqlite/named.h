/* named.h: whether a text names a table or view that the caller may not read.
 *
 * SQL that the file keeps (of tables, views, triggers) may say anything in any way, so that it is
 * not taken apart: a name counts wherever it stands as a word, whatever its case, and one that is
 * no word wherever it stands at all.
 */
#ifndef SQLITE_NAMED_H
#define SQLITE_NAMED_H

#include "provider.h"

/* The names of all tables and views, sorted. Empty where there are no rules: then nothing is
 * hidden. */
typedef struct sqlite_names {
    common_buffer text; /* each with a NUL */
    common_buffer at;   /* size_t: where each begins */
    size_t n;
} sqlite_names;

/* SQLITE_OK, or the code; to be freed in every case. */
int sqlite_names_load(sqlite_names *names, sqlite_conn *conn, const sqlite_job *job);
void sqlite_names_free(sqlite_names *names);

/* Whether `text`, which belongs to the table or view `own`, names one that is hidden from the
 * caller. */
bool sqlite_names_hidden(const sqlite_names *names, sqlite_job *job, mcp_str text, mcp_str own);

/* Whether the table of this name, whatever its case, may be shown. */
bool sqlite_names_may(const sqlite_names *names, sqlite_job *job, mcp_str table);

#endif
