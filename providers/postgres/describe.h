/* describe.h: statements that describe what is there, and what of it the caller may not see named.
 *
 * A description names other things than the one it is of: a foreign key its table, a view what it
 * selects from, a column of a row type its table. Where there are access rules, one statement finds
 * which pieces (a constraint, a definition, a default, an index, a function's body, a column's
 * type) name what; those that name what the caller may not read are left out by the statement that
 * describes.
 */
#ifndef POSTGRES_DESCRIBE_H
#define POSTGRES_DESCRIBE_H

#include "provider.h"

/* Values: the pieces that are left out, as an array; the schema (of things NULL: all); the name. */
extern const char postgres_things_text[], postgres_things_json[]; /* without the name */
extern const char postgres_table_text[], postgres_table_json[];
extern const char postgres_function_text[], postgres_function_json[];

/* A row for each piece and what it names: the piece, the kind ('t': a table or view, 'x': a
 * function), schema and name. Values: the schema, as above; the name, but of things. */
extern const char postgres_things_names[], postgres_table_names[], postgres_function_names[];

/* Runs one of these for the target, then `next` with MCP_OK and the array in j->left, or a code. */
void postgres_find_left_out(postgres_job *j, const char *names,
                            void (*next)(postgres_job *j, int rc));

/* Whether the caller may read it: MCP_OK, MCP_ENOTFOUND (or it has no URI), MCP_ENOMEM. */
int postgres_job_may(const postgres_job *j, const postgres_target *t);
/* The same of what a row has by its kind ('a': a schema; as above), schema and name, from column
 * `at` on. */
postgres_target postgres_thing(const PGresult *r, int at);

#endif
