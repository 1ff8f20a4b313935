/* rows.h: recognizes JSON that is a table or a history, so that all programs show the same of it.
 *
 *   table     an array of flat objects, or {"columns": ["id", ...], "rows": [[1, ...], ...]}
 *   history   {"commits": [{"id": "0123abcd...", "subject": ..., "author": ...}, ...]}
 *
 * The whole value is checked first: a value that only resembles one of these forms is neither. An
 * object may have other members, if each is a single value ("next").
 */
#ifndef PROGRAM_ROWS_H
#define PROGRAM_ROWS_H

#include <mcp/json.h>

enum {
    ROWS_COLUMNS = 64, /* most columns of a table */
    ROWS_CELLS = 200000,
    ROWS_ID = 8, /* so many digits of a commit's id are shown */
};

/* Refers to the document, which has to be kept. */
typedef struct rows {
    const mcp_json *root, *list; /* the value, and the array in it that has the rows or commits */
    bool is_history;
    size_t columns; /* of a table, and their names */
    mcp_str names[ROWS_COLUMNS];
} rows;

typedef struct rows_commit {
    mcp_str id, day, author, subject; /* the id is shortened; the day is like "2026-07-28" */
    const mcp_json *decorations;
} rows_commit;

/* Returns false if the value has another form, or is larger than these limits. */
bool rows_find(const mcp_json *root, rows *ret);

/* Returns the next row or commit, or NULL. Begin with a zeroed iterator. */
const mcp_json *rows_next(const rows *r, mcp_json_iter *it);
/* Calls cell() for each column of a row of a table. A value is NULL if an object lacks the member. */
void rows_cells(const rows *r, const mcp_json *row, void (*cell)(void *user, const mcp_json *value),
                void *user);
/* Returns a value as text: a string itself, "NULL" for null, "" for NULL, else JSON. It is valid until
 * the next call with the same writer. */
mcp_str rows_text(mcp_json_writer *w, const mcp_json *value);

void rows_commit_get(const mcp_json *commit, rows_commit *ret);
/* Takes the name of the next branch or tag at a commit. Returns false at the end. */
bool rows_decoration(const rows_commit *commit, mcp_json_iter *it, mcp_str *name);

/* Takes the next one of the other members. Returns NULL at the end. */
const mcp_json *rows_other(const rows *r, mcp_json_iter *it, mcp_str *key);

#endif
