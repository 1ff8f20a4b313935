/* world.h: one server with every provider that is there, whose items each hold a mark of their own,
 * and access rules that are a list of globs. What a rule says is found here in the slowest and
 * plainest way.
 *
 * Beneath a temporary folder: docs/ (files), app (a repository), shop.db, prompts/, and, for who
 * asks for it, pg/ (a PostgreSQL server, whose database is "mart").
 */
#ifndef MCP_TESTS_ACCESS_WORLD_H
#define MCP_TESTS_ACCESS_WORLD_H

#include <ctype.h>

#include "peer.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

extern char top[64];

/* ---- the folder ------------------------------------------------------------------------------ */

typedef struct world_options {
    const char *script;   /* makes what is there: run by a shell, in the folder */
    const char *database; /* statements that make mart; NULL: no PostgreSQL is started */
} world_options;

void make_world(const world_options *options);
void remove_world(void);
/* Whether there is a PostgreSQL server: it was asked for, built, and is installed. */
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

typedef struct rule {
    bool allow;
    const char *glob; /* "$T" stands for the folder */
} rule;

enum { RULES = 8 };
extern rule rules[RULES]; /* up to the first without a glob; the last that matches decides */

bool allowed(const char *name);
void set_rules(const peer *p, const rule *these, size_t n);

/* ---- the server ------------------------------------------------------------------------------ */

mcp_loop *new_loop(void);
/* On a loop, which it takes over: with workers, and PostgreSQL where it is; without one everything
 * happens at once. */
void open_world(peer *p, mcp_loop *loop);
void close_world(peer *p);

/* The reply, at once or when it is there. */
const char *ask_any(peer *p, const char *method, const char *params);

#endif
