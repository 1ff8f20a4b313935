/* saved.h: saved queries: statements that who runs the server wrote, each a template of its own. */
#ifndef POSTGRES_SAVED_H
#define POSTGRES_SAVED_H

#include "provider.h"

typedef struct postgres_parameter {
    char *name, *description;
    char *value; /* when it is not given; NULL: SQL's NULL, unless it is required */
    bool required;
    char **choice; /* for completion */
    size_t n_choice;
} postgres_parameter;

struct postgres_saved {
    char *name, *title, *description, *sql;
    char *uri; /* without parameters */
    postgres_parameter *parameter;
    size_t n_parameter;
    postgres *s;
};

#endif
