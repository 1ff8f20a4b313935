/* targets_postgres.h: the targets of the PostgreSQL database "mart"; targets.h has the others. */
#ifndef MCP_TESTS_ACCESS_TARGETS_POSTGRES_H
#define MCP_TESTS_ACCESS_TARGETS_POSTGRES_H

#include "targets.h"

/* Each column name of a table is a mark. */
#define MART_TABLE(schema, table, more)                                                         \
    "CREATE TABLE \"" schema "\".\"" table "\"(id integer PRIMARY KEY, word text, \"col_" table \
    "\" text" more "); INSERT INTO \"" schema "\".\"" table "\" VALUES (1, 'MARK(mart:" schema  \
    "/" table ")', '');\n"

static const char mart_script[] =
    "CREATE SCHEMA \"back room\"; GRANT USAGE ON SCHEMA \"back room\" TO reader;\n" /**/
    MART_TABLE("public", "customer", "")                                            /**/
    MART_TABLE("public", "sale",
               ", buyer integer, CONSTRAINT names_customer FOREIGN KEY (buyer) REFERENCES "
               "customer(id)")          /**/
    MART_TABLE("public", "odd é/%", "") /**/
    MART_TABLE("back room", "stock",
               ", of_customer customer, CONSTRAINT names_sale FOREIGN KEY (id) REFERENCES "
               "sale(id)") /**/
    "CREATE VIEW \"back room\".seen AS SELECT id AS col_seen FROM customer WHERE word <> "
    "'MARK(mart:seen)';\n"
    "CREATE FUNCTION total(n integer) RETURNS integer LANGUAGE sql AS 'SELECT n + 0 /* "
    "MARK(mart:total) */';\n"
    "CREATE FUNCTION loud(n integer) RETURNS bigint LANGUAGE sql AS 'SELECT total(n) + "
    "count(*) FROM Sale /* MARK(mart:loud) */';\n"
    "CREATE FUNCTION oops() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
    "'MARK%', '(mart:error)'; END $$;\n"
    "CREATE VIEW \"back room\".broken AS SELECT oops() AS x;\n"
    "CREATE TABLE many(id integer PRIMARY KEY); INSERT INTO many SELECT generate_series(1, 200);\n"
    "GRANT SELECT ON ALL TABLES IN SCHEMA public, \"back room\" TO reader;\n";

#define MART          "postgres://mart/"
#define MART_FIXED    (sizeof(MART) - 1)
#define MART_FUNCTION MART "public/$function/total%28n%20integer%29"

static const struct {
    const char *path, *schema, *name;
} mart_tables[] = {{"public/sale", "public", "sale"},
                   {"public/customer", "public", "customer"},
                   {"public/odd%20%C3%A9%2F%25", "public", "odd é/%"},
                   {"back%20room/stock", "back room", "stock"}};

/* The marks of other items in the description of an item, as JSON or SQL, alone or within the
 * description of the database or schema. */
static const struct {
    /* of: the path after the database; needs: other items that must be allowed too */
    const char *of, *mark, *needs[2];
    const char *format;
    /* 'a': only in its own description; 'w': only in that of the database or schema; 0: in both */
    char where;
} mart_names[] = {
    {"public/sale", "REFERENCES public.customer", {MART "public/customer", ""}, "text", 0},
    {"public/sale", "REFERENCES public.customer", {MART "public/customer", ""}, "json", 'a'},
    {"public/sale", "\\\"table\\\" : \\\"customer", {MART "public/customer", ""}, "json", 'a'},
    {"public/sale", "\\\"table\\\" : \\\"stock", {MART "back%20room/stock", ""}, "json", 'a'},
    {"public/sale",
     "referenced by \\\"back room\\\".stock(id)",
     {MART "back%20room/stock", ""},
     "text",
     'a'},
    {"public/customer", "referenced by public.sale(buyer)", {MART "public/sale", ""}, "text", 'a'},
    {"public/customer", "\\\"table\\\" : \\\"sale", {MART "public/sale", ""}, "json", 'a'},
    {"back%20room/stock", "REFERENCES public.sale", {MART "public/sale", ""}, "text", 0},
    {"back%20room/stock", "names_sale", {MART "public/sale", ""}, "json", 'a'},
    {"back%20room/stock", "of_customer public.customer", {MART "public/customer", ""}, "text", 0},
    {"back%20room/stock",
     "\\\"type\\\":\\\"public.customer",
     {MART "public/customer", ""},
     "json",
     'a'},
    {"back%20room/stock",
     "\\\"type\\\" : \\\"public.customer",
     {MART "public/customer", ""},
     "json",
     'w'},
    {"back%20room/seen", "MARK(mart:seen)", {MART "public/customer", ""}, "text", 0},
    {"back%20room/seen", "MARK(mart:seen)", {MART "public/customer", ""}, "json", 'a'},
    {"public/$function/total%28n%20integer%29", "MARK(mart:total)", {"", ""}, "text", 0},
    {"public/$function/total%28n%20integer%29", "MARK(mart:total)", {"", ""}, "json", 'a'},
    {"public/$function/loud%28n%20integer%29",
     "MARK(mart:loud)",
     {MART "public/sale", MART_FUNCTION},
     "text",
     0},
    {"public/$function/loud%28n%20integer%29",
     "MARK(mart:loud)",
     {MART "public/sale", MART_FUNCTION},
     "json",
     'a'},
};

static inline void add_mart_name(target *t, size_t i)
{
    char uri[NAME];
    snprintf(uri, sizeof(uri), MART "%s", mart_names[i].of);
    add_shown(t, mart_names[i].mark, uri, mart_names[i].needs[0]);
    snprintf(t->shows[t->n - 1].needs[2], NAME, "%s", mart_names[i].needs[1]);
}

/* Adds the marks for item `of` to a target, which is the item itself, its schema or the database. */
static inline void add_mart_names(target *t, const char *of, const char *format)
{
    char not_here = strcmp(t->uri + MART_FIXED, of) == 0 ? 'w' : 'a';
    for (size_t i = 0; i < COUNT(mart_names); i++)
        if (strcmp(mart_names[i].of, of) == 0 && strcmp(mart_names[i].format, format) == 0 &&
            mart_names[i].where != not_here)
            add_mart_name(t, i);
}

static const char *const mart_things[] = {
    "public/sale",
    "public/customer",
    "public/odd%20%C3%A9%2F%25",
    "back%20room/stock",
    "back%20room/seen",
    "public/$function/total%28n%20integer%29",
    "public/$function/loud%28n%20integer%29",
};

/* Adds the descriptions of the database, its schemas and each item, in both formats. */
static inline void add_mart_descriptions(void)
{
    static const char *const wholes[] = {"", "public", "back%20room"};
    char uri[NAME], mark[NAME + 2];
    for (size_t f = 0; f < 2; f++) {
        const char *format = f ? "text" : "json";
        for (size_t w = 0; w < COUNT(wholes); w++) {
            target *t = add_target(f ? "format=text" : "", MART_FIXED, MART "%s", wholes[w]);
            t->needed = f;
            for (size_t i = 0; i < COUNT(mart_things); i++) {
                if (strncmp(mart_things[i], wholes[w], strlen(wholes[w])) != 0)
                    continue;
                snprintf(uri, sizeof(uri), MART "%s", mart_things[i]);
                snprintf(mark, sizeof(mark), f ? "%s" : "%s\\\"", uri);
                if (!f)
                    add_shown(t, mark, uri, "");
                add_mart_names(t, mart_things[i], format);
            }
        }
        for (size_t i = 0; i < COUNT(mart_things); i++) {
            const char *function = strstr(mart_things[i], "$function/");
            size_t more = function ? (size_t)(function - mart_things[i]) + 10 : 0;
            target *t =
                add_target(f ? "format=text" : "", MART_FIXED + more, MART "%s", mart_things[i]);
            t->needed = f;
            add_mart_names(t, mart_things[i], format);
        }
    }
}

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
            snprintf(mark, sizeof(mark), "col_%s", mart_tables[i].name);
            add_shown(t, mark, "", "");
        }
        for (size_t k = 0; k < COUNT(aspects); k++) {
            target *t = add_target(aspects[k].params, MART_FIXED, MART "%s%s", mart_tables[i].path,
                                   aspects[k].rest);
            snprintf(mark, sizeof(mark), "MARK(mart:%s/%s)", mart_tables[i].schema,
                     mart_tables[i].name);
            add_shown(t, mark, "", "");
        }
    }
}

static inline void add_mart_completions(void)
{
    static const struct {
        const char *params, *mark, *need;
    } rows[] = {
        {OF(MART "{schema}{?format}", "schema", "", ""), "\"back room\"", MART "back%20room"},
        {OF(MART "{schema}/{table}{?format}", "table", "cu", "\"schema\":\"public\""),
         "\"customer\"", MART "public/customer"},
        {OF(MART "{schema}/{table}/rows{?contains,icontains,limit,offset,format}", "table", "",
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

/* Adds the PostgreSQL entries to the lists that add_lists() created from index `first` on. */
static inline void add_mart_lists(size_t first)
{
    char mark[NAME + 16], uri[NAME];
    for (size_t k = first; k < n_targets; k++) {
        target *t = &targets[k];
        bool search = strstr(t->request, "search_resources") != NULL;
        for (size_t i = 0; i < COUNT(mart_tables); i++) {
            snprintf(uri, sizeof(uri), MART "%s/rows", mart_tables[i].path);
            if (search)
                snprintf(mark, sizeof(mark), "MARK(mart:%s/%s)", mart_tables[i].schema,
                         mart_tables[i].name);
            else
                snprintf(mark, sizeof(mark), "\"uri\":\"%s\"", uri);
            add_shown(t, mark, uri, "");
        }
        for (size_t i = 0; i < COUNT(mart_names) && search; i++)
            if (strstr(mart_names[i].mark, "MARK(") && mart_names[i].where == 'a')
                add_mart_name(t, i);
        snprintf(mark, sizeof(mark), "\"uri\":\"%s\"", MART_FUNCTION);
        if (!search)
            add_shown(t, mark, MART_FUNCTION, "");
    }
}

static inline void add_mart(size_t lists)
{
    add_mart_lists(lists);
    /* The database's error message about a broken view shows no mark. */
    add_target("limit=9 offset=0", MART_FIXED, MART "back%%20room/broken/rows");
    add_mart_tables();
    add_mart_descriptions();
    add_mart_completions();
}

#endif
