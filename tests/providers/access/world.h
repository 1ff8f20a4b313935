/* world.h: one server with every available provider, whose items each contain a unique mark, and
 * access rules that are a list of globs. The rules are evaluated in the simplest way, as a model.
 *
 * A temporary folder contains docs/ (files), app (a repository), shop.db, prompts/ and, if a test
 * needs it, pg/ (a PostgreSQL server with the database "mart").
 */
#ifndef MCP_TESTS_ACCESS_WORLD_H
#define MCP_TESTS_ACCESS_WORLD_H

#include <ctype.h>

#include "peer.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

extern char top[64];

/* ---- the folder ------------------------------------------------------------------------------ */

typedef struct world_options {
    const char *script;   /* a shell script that creates the contents, run in the folder */
    const char *database; /* statements that make mart; NULL: no PostgreSQL is started */
} world_options;

void make_world(const world_options *options);
void remove_world(void);
/* Returns whether there is a PostgreSQL server: the test requests it, and it is built and
 * installed. */
bool has_database(void);

/* Runs a group of tests in a world. */
int world_setup(void **state);
int world_teardown(void **state);
extern world_options world;
#define run_in_world(tests, ...)           \
    (world = (world_options){__VA_ARGS__}, \
     cmocka_run_group_tests(tests, world_setup, world_teardown))

/* The tables of shop.db, each with a row that holds its mark. */
#define SHOP_SCRIPT                                                                               \
    "sqlite3 shop.db \"CREATE TABLE sale(id INTEGER PRIMARY KEY, word TEXT); INSERT INTO sale "   \
    "VALUES (1, 'MARK(sale)'); CREATE TABLE customer(id INTEGER PRIMARY KEY, word TEXT); INSERT " \
    "INTO customer VALUES (1, 'MARK(customer)');\""

/* ---- rules ----------------------------------------------------------------------------------- */

/* With ALLOW: callers without the scope "deep" are denied (SCOPED). The rule is only about members of
 * the group "staff" (GROUPED). */
enum { DENY = 0, ALLOW = 1, SCOPED = 2, GROUPED = 4 };

typedef struct rule {
    unsigned effect;  /* of the flags above; `true` is ALLOW */
    const char *glob; /* "$T" stands for the folder */
} rule;

/* What the token of a caller says. */
typedef struct caller {
    bool deep;
    enum { NOT_STAFF, STAFF, NO_GROUPS } staff; /* NO_GROUPS: the claim is missing */
} caller;

/* The caller of the current channel. Its identity is in the peer. */
extern caller asker;
void change_caller(peer *p, caller c);

enum { RULES = 8 };
/* The array ends at the first rule without a glob. The last rule that matches decides. */
extern rule rules[RULES];

/* Whether the caller may see a resource, and whether lists contain it. */
bool allowed(const char *name);
bool listed(const char *name);
void set_rules(const peer *p, const rule *these, size_t n);

/* ---- the server ------------------------------------------------------------------------------ */

mcp_loop *new_loop(void);
/* Opens the server with workers on `loop`, which it takes over; PostgreSQL is mounted if available.
 * Without a loop, all requests are answered synchronously. */
void open_world(peer *p, mcp_loop *loop);
/* Does the same, with the repository and shop.db in processes of their own. Returns false, and does
 * nothing, if mcpd is not built. */
bool open_world_apart(peer *p);
void close_world(peer *p);

/* Sends a request and returns the reply, waiting for it if necessary. */
const char *ask_any(peer *p, const char *method, const char *params);

#endif
