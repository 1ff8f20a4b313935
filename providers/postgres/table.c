/* table.c: see table.h. */
#include "table.h"

#include <stdlib.h>

/* "=" is called with its schema: PostgreSQL's own, or that of the type's extension. Without a
 * schema, a user-defined operator could be called if its argument types match better. For example,
 * PostgreSQL has no "=" for varchar, only one for text. */
const char postgres_table_sql[] =
    "SELECT c.relkind, a.attname, t.oid::pg_catalog.int8,"
    " pg_catalog.format_type(a.atttypid, a.atttypmod), coalesce(k.place, 0),"
    " c.relkind = 'r' AND NOT c.relrowsecurity AND NOT c.relhassubclass,"
    " pg_catalog.quote_ident(CASE WHEN t.typtype = 'b' AND t.typcategory <> 'A' AND EXISTS (SELECT "
    "1 FROM pg_catalog.pg_operator o WHERE o.oprname = '=' AND o.oprleft = t.oid AND o.oprright = "
    "t.oid AND o.oprnamespace = t.typnamespace) THEN (SELECT y.nspname FROM "
    "pg_catalog.pg_namespace y WHERE y.oid = t.typnamespace) ELSE 'pg_catalog' END),"
    " CASE t.typtype WHEN 'c' THEN '::' || pg_catalog.format_type(t.oid, NULL) ELSE '' END"
    " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    " JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
    " JOIN LATERAL (WITH RECURSIVE base(oid) AS (SELECT a.atttypid UNION ALL SELECT y.typbasetype "
    "FROM base b JOIN pg_catalog.pg_type y ON y.oid = b.oid AND y.typtype = 'd') SELECT y.oid, "
    "y.typtype, y.typcategory, y.typnamespace FROM base b JOIN pg_catalog.pg_type y ON y.oid = "
    "b.oid AND y.typtype <> 'd') t ON true"
    " LEFT JOIN pg_catalog.pg_index i ON i.indrelid = c.oid AND i.indisprimary"
    " LEFT JOIN LATERAL (SELECT o.place FROM pg_catalog.unnest(i.indkey::pg_catalog.int2[]) WITH "
    "ORDINALITY"
    " o(att, place) WHERE o.att = a.attnum LIMIT 1) k ON true"
    " WHERE n.nspname = $1::pg_catalog.name AND c.relname = $2::pg_catalog.name"
    " AND c.relkind IN ('r', 'v', 'm', 'f', 'p')"
    " AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'"
    " AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')"
    " AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT') ORDER BY a.attnum";

const postgres_column *postgres_table_key(const postgres_table *t, size_t i)
{
    for (size_t c = 0; c < t->n_column; c++)
        if (t->column[c].key == (int)i + 1)
            return &t->column[c];
    return NULL;
}

const postgres_column *postgres_table_column(const postgres_table *t, mcp_str name)
{
    for (size_t c = 0; c < t->n_column; c++)
        if (mcp_str_eq(mcp_str_from(t->column[c].name), name))
            return &t->column[c];
    return NULL;
}

static void free_table(const mcp_allocator *alloc, postgres_table *t)
{
    for (size_t i = 0; i < t->n_column; i++) {
        common_release(alloc, t->column[i].name);
        common_release(alloc, t->column[i].type);
        common_release(alloc, t->column[i].equal);
        common_release(alloc, t->column[i].cast);
    }
    common_release(alloc, t->column);
    common_release(alloc, t->schema);
    common_release(alloc, t->name);
    common_release(alloc, t->row_sql);
    common_release(alloc, t);
}

void postgres_table_release(const mcp_allocator *alloc, postgres_table *t)
{
    if (t && --t->used == 0 && !t->cached)
        free_table(alloc, t);
}

postgres_table *postgres_table_new(const mcp_allocator *alloc, mcp_str schema, mcp_str name)
{
    postgres_table *t = common_alloc(alloc, sizeof(*t));
    if (!t)
        return NULL;
    *t = (postgres_table){.used = 1};
    t->schema = common_copy(alloc, schema.ptr, schema.len);
    t->name = common_copy(alloc, name.ptr, name.len);
    if (t->schema && t->name)
        return t;
    postgres_table_release(alloc, t);
    return NULL;
}

int postgres_table_add(const mcp_allocator *alloc, postgres_table *t, const PGresult *r)
{
    size_t n = t->n_column;
    postgres_column *grown = t->column
                                 ? alloc->resize(t->column, (n + 1) * sizeof(*grown), alloc->user)
                                 : common_alloc(alloc, sizeof(*grown));
    if (!grown)
        return MCP_ENOMEM;
    t->column = grown;
    t->kind = *PQgetvalue(r, 0, 0);
    postgres_column *c = &grown[n];
    c->equal = common_copy(alloc, PQgetvalue(r, 0, 6), (size_t)PQgetlength(r, 0, 6));
    c->cast = common_copy(alloc, PQgetvalue(r, 0, 7), (size_t)PQgetlength(r, 0, 7));
    c->name = common_copy(alloc, PQgetvalue(r, 0, 1), (size_t)PQgetlength(r, 0, 1));
    c->type = common_copy(alloc, PQgetvalue(r, 0, 3), (size_t)PQgetlength(r, 0, 3));
    c->oid = (unsigned)strtoul(PQgetvalue(r, 0, 2), NULL, 10);
    c->key = (int)strtol(PQgetvalue(r, 0, 4), NULL, 10);
    t->inert = (n == 0 || t->inert) && *PQgetvalue(r, 0, 5) == 't' &&
               (!c->key || postgres_column_is_plain(c));
    t->n_key += c->key > 0;
    t->n_column++;
    return c->name && c->type && c->equal && c->cast ? MCP_OK : MCP_ENOMEM;
}

/* ---- the cache ------------------------------------------------------------------------------- */

postgres_table *postgres_tables_find(postgres_tables *all, mcp_str schema, mcp_str name,
                                     int64_t now)
{
    for (size_t i = 0; i < POSTGRES_TABLES; i++) {
        postgres_table *t = all->table[i];
        if (!t || !mcp_str_eq(mcp_str_from(t->name), name) ||
            !mcp_str_eq(mcp_str_from(t->schema), schema))
            continue;
        if (now < t->until) {
            t->used++;
            return t;
        }
        postgres_tables_drop(all, t);
    }
    return NULL;
}

void postgres_tables_drop(postgres_tables *all, postgres_table *t)
{
    for (size_t i = 0; i < POSTGRES_TABLES; i++) {
        if (all->table[i] != t)
            continue;
        all->table[i] = NULL;
        t->cached = false;
        t->used++;
        postgres_table_release(&all->alloc, t);
        return;
    }
}

/* Replaces the entry that has been in the cache for the longest time. */
void postgres_tables_keep(postgres_tables *all, postgres_table *t, int64_t now)
{
    size_t oldest = 0;
    for (size_t i = 0; i < POSTGRES_TABLES && all->table[oldest]; i++)
        if (!all->table[i] || all->table[i]->until < all->table[oldest]->until)
            oldest = i;
    if (all->table[oldest])
        postgres_tables_drop(all, all->table[oldest]);
    t->until = now + POSTGRES_TABLE_MS;
    t->number = ++all->numbers;
    t->cached = true;
    all->table[oldest] = t;
}

void postgres_tables_clear(postgres_tables *all)
{
    for (size_t i = 0; i < POSTGRES_TABLES; i++)
        if (all->table[i])
            postgres_tables_drop(all, all->table[i]);
}
