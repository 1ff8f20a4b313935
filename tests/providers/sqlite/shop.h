/* shop.h: the database of a shop, with names and values of every kind. */
#ifndef MCP_TESTS_SQLITE_SHOP_H
#define MCP_TESTS_SQLITE_SHOP_H

#include "database.h"

static const char schema[] =
    "CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE);"
    "CREATE TABLE \"order\"(id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customer(id) ON "
    "DELETE CASCADE, status TEXT DEFAULT 'open', total REAL);"
    "CREATE INDEX order_status ON \"order\"(status) WHERE total > 0;"
    "CREATE TABLE part(a TEXT, b INTEGER, photo BLOB, note, PRIMARY KEY(a, b)) WITHOUT ROWID;"
    "CREATE TABLE \"odd name/%é?#\"\"q\"(x, \"limit\" INTEGER, rowid TEXT);"
    "CREATE TABLE \"$query\"(x);"
    "CREATE TABLE loose(v);"
    "CREATE TABLE named(name TEXT PRIMARY KEY, half REAL);"
    "CREATE TABLE made(a INTEGER PRIMARY KEY, b AS (a * 2), c AS (a * 3) STORED);"
    "CREATE TABLE pair(x INTEGER, y INTEGER, FOREIGN KEY(x, y) REFERENCES part(a, b));"
    "CREATE VIEW open_orders AS SELECT o.id, c.name FROM \"order\" o JOIN customer c ON c.id = "
    "o.customer WHERE status = 'open';"
    "CREATE VIRTUAL TABLE docs USING fts5(body);"
    "CREATE VIRTUAL TABLE box USING rtree(id, x1, x2);"
    "INSERT INTO customer VALUES (1, 'Ada', 'ada@example.org'), (2, 'Bob', NULL), (20, 'Cy', 'c'), "
    "(21, 'Di', 'd'), (-3, 'Eve', 'e');"
    "INSERT INTO \"order\" VALUES (1, 1, 'open', 9.5), (2, 1, 'done', 1e999), (3, 2, 'open', NULL);"
    "INSERT INTO part VALUES ('a/b', 1, x'89504e470d0a1a0a00', 'n'), ('', 2, NULL, 5);"
    "INSERT INTO \"odd name/%é?#\"\"q\" VALUES ('v', 3, 'r'), (x'00ff', 4, 's');"
    "INSERT INTO loose VALUES (5), ('5'), (x'35'), (NULL), (CAST(x'6261ff' AS TEXT)), "
    "(9007199254740993), ('a' || char(0) || 'b');"
    "INSERT INTO named VALUES ('a', 0.5), ('x''00''', 1), ('héllo wörld/%', 2), (x'0102', 3);"
    "INSERT INTO made(a) VALUES (1);"
    "CREATE TABLE formats(id INTEGER PRIMARY KEY, format); INSERT INTO formats VALUES (1, 'x'), "
    "(2, "
    "'y');"
    "INSERT INTO docs VALUES ('hello world');"
    "INSERT INTO box VALUES (1, 2, 3);";

static inline int setup(void **state)
{
    (void)state;
    make_database(schema);
    return 0;
}

#endif
