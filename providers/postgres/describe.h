/* describe.h: statements that describe the database's objects, and that find what the caller must
 * not see in a description.
 *
 * A description mentions other objects: a foreign key mentions its table, a view mentions what it
 * selects from, and a column with a row type mentions the type's table. With access rules, one
 * statement finds which pieces (a constraint, a definition, a default, an index, a function's body,
 * a column's type) mention which objects. The statement for the description then leaves out the
 * pieces that mention something hidden. With rules or with roles of callers, two letters among the
 * pieces leave out more: x the expressions of policies, and checks of domains that use anything of
 * the database, n numbers of rows.
 */
#ifndef POSTGRES_DESCRIBE_H
#define POSTGRES_DESCRIBE_H

#include "provider.h"

/* Parameters: the pieces to leave out, as an array; the schema (for things, NULL means
 * all); the name. */
extern const char postgres_things_text[], postgres_things_json[]; /* these have no name parameter */
extern const char postgres_table_text[], postgres_table_json[];
extern const char postgres_function_text[], postgres_function_json[];

/* Return a row for each piece and each object that it mentions: the piece, the object's kind ('t'
 * for a table or view, 'x' for a function), schema and name. Parameters: the schema, as above; the
 * name, except for things. */
extern const char postgres_things_names[], postgres_table_names[], postgres_function_names[];

/* Return a row for each table, or column of a table, that the role may read and whose name may be
 * similar to the parameter $1: the table as above, the name, and how a statement refers to it. $2 is
 * the statement, which has to contain the names of the tables whose columns are returned. */
extern const char postgres_tables_like[], postgres_columns_like[];

/* Runs one of the statements for mentions for the target, then calls `next` with MCP_OK and the array in
 * j->left, or with an error. */
void postgres_find_left_out(postgres_job *j, const char *names,
                            void (*next)(postgres_job *j, int rc));

/* Checks whether the caller may read the target. Returns MCP_OK, MCP_ENOTFOUND (also if the target
 * has no URI) or MCP_ENOMEM. */
int postgres_job_may(const postgres_job *j, const postgres_target *t);
/* Returns the target in a row: kind ('a' for a schema, others as above), schema and name, from
 * column `at` on. */
postgres_target postgres_thing(const PGresult *r, int at);

#endif
