/* targets_postgres.h: what can be asked for of the PostgreSQL database "mart", as targets.h has the rest. */
#ifndef MCP_TESTS_ACCESS_TARGETS_POSTGRES_H
#define MCP_TESTS_ACCESS_TARGETS_POSTGRES_H

#include "targets.h"

/* A table's columns are its own marks. */
#define MART_TABLE(schema, table, more)                                                         \
    "CREATE TABLE \"" schema "\".\"" table "\"(id integer PRIMARY KEY, word text, \"col_" table \
    "\" text" more "); INSERT INTO \"" schema "\".\"" table "\" VALUES (1, 'MARK(mart:" schema  \
    "/" table ")', '');\n"

static const char mart_script[] =
    "CREATE SCHEMA \"back room\"; GRANT USAGE ON SCHEMA \"back room\" TO reader;\n" MART_TABLE(
        "public", "customer", "") MART_TABLE("public", "sale", "")
        MART_TABLE("public", "odd é/%", "") MART_TABLE(
            "back room", "stock",
            "") "CREATE FUNCTION total(n integer) RETURNS integer LANGUAGE sql AS 'SELECT n + 0 /* "
                "MARK(mart:total) */';\n"
                "GRANT SELECT ON ALL TABLES IN SCHEMA public, \"back room\" TO reader;\n";

#define MART       "postgres://mart/"
#define MART_FIXED (sizeof MART - 1)

static const struct {
    const char *path, *schema, *name;
} mart_tables[] = {{"public/sale", "public", "sale"},
                   {"public/customer", "public", "customer"},
                   {"public/odd%20%C3%A9%2F%25", "public", "odd é/%"},
                   {"back%20room/stock", "back room", "stock"}};

static inline void add_mart_tables(void)
{
    static const struct {
        const char *rest, *params;
    } aspects[] = {{"/rows", "limit=9 offset=0 id=1 format=json"},
                   {"/rows", "format=text limit=1"},
                   {"/row/1", "format=json"},
                   {"/row/1", "format=text"},
                   {"/cell/word/1", "offset=0 length=99"}};
    char mark[NAME];
    for (size_t i = 0; i < COUNT(mart_tables); i++) {
        for (size_t k = 0; k < 2; k++) {
            target *t = add_target(k ? "format=text" : "format=json", MART_FIXED, MART "%s",
                                   mart_tables[i].path);
            snprintf(mark, sizeof mark, "col_%s", mart_tables[i].name);
            add_shown(t, mark, "", "");
        }
        for (size_t k = 0; k < COUNT(aspects); k++) {
            target *t = add_target(aspects[k].params, MART_FIXED, MART "%s%s", mart_tables[i].path,
                                   aspects[k].rest);
            snprintf(mark, sizeof mark, "MARK(mart:%s/%s)", mart_tables[i].schema,
                     mart_tables[i].name);
            add_shown(t, mark, "", "");
        }
    }
}

#define MART_FUNCTION MART "public/$function/total%28n%20integer%29"

static inline void add_mart_functions(void)
{
    size_t fixed = sizeof MART "public/$function/" - 1;
    add_shown(add_target("format=json", fixed, "%s", MART_FUNCTION), "MARK(mart:total)", "", "");
    add_shown(add_target("format=text", fixed, "%s", MART_FUNCTION), "MARK(mart:total)", "", "");
}

static inline void add_mart_completions(void)
{
    static const struct {
        const char *params, *mark, *need;
    } rows[] = {
        {OF(MART "{schema}{?format}", "schema", "", ""), "\"back room\"", MART "back%20room"},
        {OF(MART "{schema}/{table}{?format}", "table", "cu", "\"schema\":\"public\""),
         "\"customer\"", MART "public/customer"},
        {OF(MART "{schema}/{table}/rows{?limit,offset,format}", "table", "",
            "\"schema\":\"back room\""),
         "\"stock\"", MART "back%20room/stock/rows"},
        {OF(MART "{schema}/{table}/row{/key*}{?format}", "key", "",
            "\"schema\":\"public\",\"table\":\"customer\""),
         "[\"1\"]", MART "public/customer/row/1"},
        {OF(MART "{schema}/{table}/cell/{column}{/key*}{?offset,length}", "column", "",
            "\"schema\":\"public\",\"table\":\"customer\""),
         "\"col_customer\"", MART "public/customer"},
        {OF(MART "{schema}/$function/{function}{?format}", "function", "to",
            "\"schema\":\"public\""),
         "\"total(n integer)\"", MART_FUNCTION},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        target *t = add_target("", 0, "%s", "");
        t->method = "completion/complete";
        t->request = rows[i].params;
        add_shown(t, rows[i].mark, rows[i].need, "");
    }
}

/* Beside what else is in the lists: `own` of what add_lists() made. */
static inline void add_mart_lists(size_t first)
{
    char mark[NAME + 16], uri[NAME];
    for (size_t k = first; k < n_targets; k++) {
        target *t = &targets[k];
        bool search = strstr(t->request, "search_resources") != NULL;
        for (size_t i = 0; i < COUNT(mart_tables); i++) {
            snprintf(uri, sizeof uri, MART "%s/rows", mart_tables[i].path);
            if (search)
                snprintf(mark, sizeof mark, "MARK(mart:%s/%s)", mart_tables[i].schema,
                         mart_tables[i].name);
            else
                snprintf(mark, sizeof mark, "\"uri\":\"%s\"", uri);
            add_shown(t, mark, uri, "");
        }
        snprintf(mark, sizeof mark, "\"uri\":\"%s\"", MART_FUNCTION);
        add_shown(t, search ? "MARK(mart:total)" : mark, MART_FUNCTION, "");
    }
}

static inline void add_mart(size_t lists)
{
    add_mart_lists(lists);
    add_mart_tables();
    add_mart_functions();
    add_mart_completions();
}

#endif
