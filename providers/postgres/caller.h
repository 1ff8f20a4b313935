/* caller.h: runs each request with the database role of its caller (the option run_as).
 *
 * A claim of the caller, or its principal, is looked up in a map of the configuration, which gives
 * the role. The transaction of a request then changes to this role (SET LOCAL ROLE), and gives it
 * claims as settings, so that privileges and row-level security decide what the request returns. A
 * caller without a role is refused. The login role itself never reads data for a caller.
 */
#ifndef POSTGRES_CALLER_H
#define POSTGRES_CALLER_H

#include "table.h"

enum {
    POSTGRES_ROLES = 1000,
    POSTGRES_SETTINGS = 16,
    POSTGRES_ROLE_MAX = 63, /* bytes; PostgreSQL truncates longer names, so two could be equal */
    POSTGRES_SETTINGS_SQL = 1400,
};

/* The role and the settings of a caller. Two callers with the same text get the same results. */
struct postgres_as {
    const char *role;
    int n; /* number of values: a name and a value for each setting */
    const char *value[2 * (POSTGRES_SETTINGS + 1)];
    size_t size; /* of `text`, which has the strings above, each with its NUL */
    char text[];
};

typedef struct postgres_role {
    char *value; /* of the claim */
    char *name;
    postgres_tables tables; /* as this role sees them */
} postgres_role;

typedef struct postgres_setting {
    char *name;
    char *claim; /* NULL means all claims, as JSON */
} postgres_setting;

/* The option run_as. All zero means that it is not set. */
typedef struct postgres_callers {
    bool on;
    char *claim;  /* NULL means the principal */
    char *issuer; /* the only issuer whose claims count; NULL means identities without an issuer */
    postgres_role *role;
    size_t n_role;
    postgres_setting setting[POSTGRES_SETTINGS + 1];
    size_t n_setting;
} postgres_callers;

/* Schema of the member "run_as" in the options. */
#define POSTGRES_RUN_AS_SCHEMA                                                                     \
    "\"run_as\":{\"type\":\"object\",\"required\":[\"roles\"],\"additionalProperties\":false,"     \
    "\"description\":\"Run each request with the database role of its caller; the tool for "       \
    "queries is then off\",\"properties\":{"                                                       \
    "\"claim\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":256,\"description\":\"The claim" \
    " that is looked up in roles; default: the name of the caller\"},"                             \
    "\"issuer\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":1023,\"description\":\"The "    \
    "issuer whose tokens have this claim\"},"                                                      \
    "\"roles\":{\"type\":\"object\",\"minProperties\":1,\"maxProperties\":1000,"                   \
    "\"additionalProperties\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":63},"             \
    "\"description\":\"The role for each value of the claim\"},"                                   \
    "\"claims\":{\"type\":\"string\",\"maxLength\":63,\"description\":\"A setting that gets all "  \
    "claims as JSON, such as request.jwt.claims\"},"                                               \
    "\"settings\":{\"type\":\"object\",\"maxProperties\":16,\"additionalProperties\":{\"type\":"   \
    "\"string\",\"minLength\":1,\"maxLength\":256},\"description\":\"Settings that get the value " \
    "of one claim: {\\\"app.tenant\\\": \\\"tenant\\\"}\"}}},"

/* Loads the option from `from`; NULL means that it is not set. Call postgres_callers_free() even
 * after a failure. Returns MCP_OK, MCP_EINVAL or MCP_ENOMEM. */
int postgres_callers_load(postgres_callers *all, const mcp_allocator *alloc, const mcp_json *from,
                          mcp_error *error);
void postgres_callers_free(postgres_callers *all, const mcp_allocator *alloc);
/* Clears the cached tables of all roles. */
void postgres_callers_clear_tables(postgres_callers *all);

/* Finds the role and the settings of a caller. They are in one block of memory from `give`. *role
 * is the entry of the map. Returns MCP_OK, MCP_ENOTFOUND (the caller has no role) or MCP_ENOMEM. */
int postgres_caller_of(postgres_callers *all, const mcp_allocator *alloc,
                       const mcp_identity *identity, void *(*give)(size_t size, void *user),
                       void *user, postgres_as **ret, postgres_role **role);

/* Returns the word of a statement that could change the role or a setting, or run a text as a
 * statement, for example "set_config". Returns NULL if there is none. */
const char *postgres_changes_role(const char *sql);

/* Writes the statement that gives a role its settings: n pairs of parameters, the name and the
 * value. It fails if the role, or the login role, is one for which row-level security does not
 * apply. */
void postgres_settings_sql(char sql[POSTGRES_SETTINGS_SQL], int n);

#endif
