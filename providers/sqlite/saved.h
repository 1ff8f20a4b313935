/* saved.h: saved queries: statements that who runs the server wrote, each a template of its own.
 *
 * Immutable once the database is mounted, so any thread may look.
 */
#ifndef SQLITE_SAVED_H
#define SQLITE_SAVED_H

#include "provider.h"

typedef enum sqlite_parameter_type {
    SQLITE_PARAMETER_TEXT,
    SQLITE_PARAMETER_INTEGER,
    SQLITE_PARAMETER_NUMBER,
} sqlite_parameter_type;

typedef struct sqlite_parameter {
    char *name, *description;
    char *value; /* when it is not given; NULL: SQL's NULL, unless it is required */
    sqlite_parameter_type type;
    bool required;
    char **choice; /* for completion */
    size_t n_choice;
} sqlite_parameter;

struct sqlite_saved {
    char *name, *title, *description, *sql;
    char *uri; /* without parameters */
    sqlite_parameter *parameter;
    size_t n_parameter;
    sqlite *s;
};

const sqlite_parameter *sqlite_saved_parameter(const sqlite_saved *q, mcp_str name);

#endif
