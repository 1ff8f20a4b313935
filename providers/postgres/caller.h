/* caller.h: runs each request with the database role of its caller (the option run_as).
 *
 * A claim of the caller, or its principal, is looked up in a map of the configuration, which gives
 * the role. The transaction of a request then changes to this role (SET LOCAL ROLE), and gives it
 * claims as settings, so that privileges and row-level security decide what the request returns. A
 * caller without a role is refused. The login role itself never reads data for a caller.
 *
 * With own_login there is no change of the role: each role has connections of its own, which log in
 * as this role (login.c). Then callers may write SQL, because it cannot get another role. It can
 * change settings, so there are none.
 */
#ifndef POSTGRES_CALLER_H
#define POSTGRES_CALLER_H

#include "pool.h"
#include "table.h"

enum {
    POSTGRES_ROLES = 1000,
    POSTGRES_SETTINGS = 16,
    POSTGRES_ROLE_MAX = 63, /* bytes; PostgreSQL truncates longer names, so two could be equal */
    POSTGRES_SETTINGS_SQL = 1700,
    POSTGRES_LOGINS = 3, /* parameters of a login */
};

/* The role and the settings of a caller. Two callers with the same text get the same results. */
struct postgres_as {
    const char *role;
    bool own; /* the connection has logged in as this role */
    int n;    /* number of values: a name and a value for each setting */
    const char *value[2 * (POSTGRES_SETTINGS + 1)];
    size_t size; /* of `text`, which has the strings above, each with its NUL */
    char text[];
};

typedef struct postgres_role {
    char *value; /* of the claim */
    char *name;
    postgres_tables tables; /* as this role sees them */
    /* With own_login: libpq's connection string, and the pool, which is that of the first entry with
     * the same name. */
    char *conninfo;
    postgres_pool *pool;
    bool shares; /* the pool belongs to another entry */
} postgres_role;

typedef struct postgres_setting {
    char *name;
    char *claim; /* NULL means all claims, as JSON */
} postgres_setting;

/* The option run_as. All zero means that it is not set. */
typedef struct postgres_callers {
    bool on;
    bool own_login;
    char *claim;  /* NULL means the principal */
    char *issuer; /* the only issuer whose claims count; NULL means identities without an issuer */
    postgres_role *role;
    size_t n_role;
    postgres_setting setting[POSTGRES_SETTINGS + 1];
    size_t n_setting;
    postgres_budget budget; /* with own_login: of the connections of all roles */
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
    "of one claim: {\\\"app.tenant\\\": \\\"tenant\\\"}\"},"                                       \
    "\"own_login\":{\"type\":\"boolean\",\"description\":\"Log in as the role of the caller, "     \
    "instead "                                                                                     \
    "of changing to it; the tool for queries is then on\"},"                                       \
    "\"logins\":{\"type\":\"object\",\"maxProperties\":1000,\"additionalProperties\":{\"type\":"   \
    "\"object\",\"additionalProperties\":false,\"properties\":{\"passfile\":{\"type\":\"string\"}" \
    ","                                                                                            \
    "\"sslcert\":{\"type\":\"string\"},\"sslkey\":{\"type\":\"string\"}}},\"description\":\"With " \
    "own_login: the password file or the certificate of each role\"}}},"

/* Loads the option from `from`; NULL means that it is not set. Call postgres_callers_free() even
 * after a failure. Returns MCP_OK, MCP_EINVAL or MCP_ENOMEM. */
int postgres_callers_load(postgres_callers *all, const mcp_allocator *alloc, const mcp_json *from,
                          mcp_error *error);
void postgres_callers_free(postgres_callers *all, const mcp_allocator *alloc);
/* With own_login: makes the connection strings of the roles from that of the source. Returns MCP_OK,
 * MCP_EINVAL or MCP_ENOMEM. See login.c. */
int postgres_logins_load(postgres_callers *all, const mcp_allocator *alloc, const char *conninfo,
                         const mcp_json *from, mcp_error *error);
/* Makes the pools of the roles; `options` is for all. Returns the errors of postgres_pool_new(). */
int postgres_logins_open(postgres_callers *all, const postgres_pool_options *options);
/* Closes them. */
void postgres_logins_close(postgres_callers *all);
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

/* The statement that fails if the session of an own login is not that of the role $1, or if
 * row-level security does not apply to the role. */
extern const char postgres_own_sql[];

#endif
