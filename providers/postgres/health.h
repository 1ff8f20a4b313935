/* health.h: the statement of the tool database_health, the parts of its answer, and its hypothetical indexes.
 *
 * Each row has the number of a part, in the order of the enum; the kind, schema and name of the table or
 * schema that it is about, as in describe.h, or "-" if it is about none; the entry, a JSON object; the
 * same as a line of text; and, for a running statement that may be shown, its text.
 */
#ifndef POSTGRES_HEALTH_H
#define POSTGRES_HEALTH_H

#include "describe.h"

typedef enum postgres_health_part {
    POSTGRES_HEALTH_SUBJECT, /* the schemas or tables that the caller has named */
    POSTGRES_HEALTH_COUNTED, /* since when */
    POSTGRES_HEALTH_CACHE,
    POSTGRES_HEALTH_TRANSACTIONS,
    POSTGRES_HEALTH_UNUSED,
    POSTGRES_HEALTH_SCANS,
    POSTGRES_HEALTH_DEAD,
    POSTGRES_HEALTH_DUPLICATE,
    POSTGRES_HEALTH_INVALID,
    POSTGRES_HEALTH_STATEMENTS,
    POSTGRES_HEALTH_PARTS,
} postgres_health_part;

/* Parameters: the schema and the table, NULL for all; whether rules are set ("t", "f"); the largest number
 * of rows of a part. */
extern const char postgres_health_sql[];

/* Appends a text that may have line ends, which are spaces then. */
void postgres_put_line(postgres_sql *to, const char *text);

/* Whether the arguments ask for hypothetical indexes, and the call then; see trial.c. */
bool postgres_is_trial(const mcp_json *arguments);
int postgres_trial_start(postgres_job *j, const mcp_json *arguments);

int postgres_health_offer(postgres *s, common_offer offer, mcp_error *error);

#endif
