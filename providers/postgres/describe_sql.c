/* describe_sql.c: the statements of describe.h.
 *
 * A piece is identified by a letter and an OID: k is a constraint, v the definition of a view, d a
 * default, i an index, g a trigger, y a policy, h what a table inherits or is partitioned by, f
 * everything about a function except its signature, and t, with the number of the column, the type
 * of a column; b is a foreign key that refers to the table, s one of its partitions.
 */
#include "describe.h"

/* The objects to show: none of PostgreSQL's own, and only those that the role may use. */
#define OWN    "n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'"
#define SHOWN  OWN " AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')"
#define KINDS  "('r', 'v', 'm', 'f', 'p')"
#define TABLES "c.relkind IN " KINDS " AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT')"
#define KIND                                                                               \
    "CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'f' THEN " \
    "'foreign table' WHEN 'p' THEN 'partitioned table' ELSE 'table' END"
#define NO_EXTENSION                                                                          \
    "NOT EXISTS (SELECT 1 FROM pg_catalog.pg_depend d WHERE d.objid = p.oid AND d.classid = " \
    "'pg_catalog.pg_proc'::pg_catalog.regclass AND d.deptype = 'e')"
#define SIGNATURE "p.proname || '(' || pg_catalog.pg_get_function_identity_arguments(p.oid) || ')'"

/* clang-format would treat the macros as calls. */
/* clang-format off */
/* Columns of the table `relation` that the role may read, all of them. */
#define ALL_READABLE(numbers, relation)                                                         \
    "NOT EXISTS (SELECT 1 FROM pg_catalog.unnest(" numbers "::pg_catalog.int2[]) AS u(att) "    \
    "WHERE u.att > 0 AND NOT pg_catalog.has_column_privilege(" relation ", u.att, 'SELECT'))"
/* A constraint `k`, of which the role may read what it names. */
#define READABLE                                                                                \
    ALL_READABLE("k.conkey", "k.conrelid") " AND (k.contype <> 'f' OR ("                        \
    ALL_READABLE("k.confkey", "k.confrelid") " AND EXISTS (SELECT 1 FROM pg_catalog.pg_class "  \
    "rc WHERE rc.oid = k.confrelid AND pg_catalog.has_schema_privilege(rc.relnamespace, "       \
    "'USAGE'))))"
/* clang-format on */

/* What is left out as a whole; see describe.h. */
#define IS_CLOSED(letter)    "'" letter "' = ANY ($1::pg_catalog.text[])"
#define IS_LEFT(letter, oid) "'" letter "' || " oid " = ANY ($1::pg_catalog.text[])"
/* The type of a column `a`. A row type is shown as "record" if its table is left out. */
#define TYPE                                                                             \
    "CASE WHEN 't' || a.attrelid || '.' || a.attnum = ANY ($1::pg_catalog.text[]) THEN " \
    "'record' ELSE pg_catalog.format_type(a.atttypid, a.atttypmod) END"
/* clang-format off */
/* `e` is the default of each column. */
#define COLUMNS                                                                                \
    "pg_catalog.pg_attribute a"                                                                \
    " LEFT JOIN pg_catalog.pg_attrdef e ON e.adrelid = a.attrelid AND e.adnum = a.attnum AND " \
    "NOT " IS_LEFT("d", "e.oid") " WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT "         \
    "a.attisdropped AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')"

/* What follows the columns of the table `c`. Other tables and functions in it are those on which the
 * table itself depends. */
#define BEHIND                                                                                  \
    "CASE WHEN " IS_LEFT("h", "c.oid") " THEN '' WHEN c.relkind = 'p' THEN ' PARTITION BY ' || " \
    "pg_catalog.pg_get_partkeydef(c.oid)"                                                       \
    " WHEN NOT c.relispartition THEN coalesce("                                                 \
    "(SELECT ' INHERITS (' || pg_catalog.string_agg(pg_catalog.format('%I.%I', pn.nspname, "    \
    "pc.relname), ', ' ORDER BY h.inhseqno) || ')'"                                             \
    " FROM " PARENTS "), '')"                                                                   \
    " ELSE '' END || coalesce("                                                                 \
    "(SELECT pg_catalog.format(' SERVER %I', fs.srvname)"                                       \
    " FROM pg_catalog.pg_foreign_table ft"                                                      \
    " JOIN pg_catalog.pg_foreign_server fs ON fs.oid = ft.ftserver"                             \
    " WHERE ft.ftrelid = c.oid), '')"
#define PARENTS                                                                                 \
    "pg_catalog.pg_inherits h JOIN pg_catalog.pg_class pc ON pc.oid = h.inhparent"              \
    " JOIN pg_catalog.pg_namespace pn ON pn.oid = pc.relnamespace WHERE h.inhrelid = c.oid"
#define ATTACHED                                                                                \
    "coalesce("                                                                                 \
    "(SELECT pg_catalog.format(E'ALTER TABLE ONLY %I.%I ATTACH PARTITION %I.%I %s;\\n', "       \
    "pn.nspname, pc.relname, n.nspname, c.relname, pg_catalog.pg_get_expr(c.relpartbound, "     \
    "c.oid))"                                                                                   \
    " FROM " PARENTS " AND c.relispartition AND NOT " IS_LEFT("h", "c.oid") "), '')"
#define TRIGGERS                                                                                \
    "coalesce("                                                                                 \
    "(SELECT pg_catalog.string_agg(pg_catalog.pg_get_triggerdef(g.oid) || E';\\n', '' ORDER "   \
    "BY g.tgname)"                                                                              \
    " FROM pg_catalog.pg_trigger g"                                                             \
    " WHERE g.tgrelid = c.oid AND NOT g.tgisinternal AND NOT " IS_LEFT("g", "g.oid") "), '')"
#define POLICIES                                                                                \
    "CASE WHEN c.relrowsecurity THEN pg_catalog.format(E'ALTER TABLE %I.%I ENABLE ROW LEVEL "   \
    "SECURITY;\\n', n.nspname, c.relname) ELSE '' END"                                          \
    " || CASE WHEN c.relforcerowsecurity THEN pg_catalog.format(E'ALTER TABLE %I.%I FORCE ROW " \
    "LEVEL SECURITY;\\n', n.nspname, c.relname) ELSE '' END"                                    \
    " || CASE WHEN " IS_CLOSED("x") " THEN '' ELSE coalesce("                                   \
    "(SELECT pg_catalog.string_agg(pg_catalog.format(E'CREATE POLICY %I ON %I.%I AS %s FOR %s " \
    "TO %s%s%s;\\n', y.polname, n.nspname, c.relname, CASE"                                     \
    " WHEN y.polpermissive THEN 'PERMISSIVE'"                                                   \
    " ELSE 'RESTRICTIVE' END, CASE y.polcmd"                                                    \
    " WHEN 'r' THEN 'SELECT'"                                                                   \
    " WHEN 'a' THEN 'INSERT'"                                                                   \
    " WHEN 'w' THEN 'UPDATE'"                                                                   \
    " WHEN 'd' THEN 'DELETE'"                                                                   \
    " ELSE 'ALL' END, "                                                                         \
    "(SELECT pg_catalog.string_agg(CASE"                                                        \
    " WHEN u.role = 0 THEN 'PUBLIC'"                                                            \
    " ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(u.role)) END, ', ' ORDER BY "      \
    "u.place)"                                                                                  \
    " FROM pg_catalog.unnest(y.polroles) WITH ORDINALITY u(role, place)), "                     \
    "coalesce(' USING (' || pg_catalog.pg_get_expr(y.polqual, y.polrelid) || ')', ''), "        \
    "coalesce(' WITH CHECK (' || pg_catalog.pg_get_expr(y.polwithcheck, y.polrelid) || ')', "   \
    "'')), '' ORDER BY y.polname)"                                                              \
    " FROM pg_catalog.pg_policy y"                                                              \
    " WHERE y.polrelid = c.oid AND NOT " IS_LEFT("y", "y.oid") "), '') END"

/* Which policies let the caller see rows. Their expressions are not part of it. */
#define SECURED "c.relkind IN ('r', 'p') AND pg_catalog.row_security_active(c.oid)"
#define ROWS_BY                                                                                 \
    "CASE WHEN " SECURED " THEN coalesce("                                                      \
    "(SELECT 'you see rows by policy ' || pg_catalog.string_agg("                               \
    "pg_catalog.quote_ident(y.polname), ', ' ORDER BY y.polname)"                               \
    " FROM pg_catalog.pg_policy y"                                                              \
    " WHERE y.polrelid = c.oid AND y.polcmd IN ('r', '*') AND NOT " IS_LEFT("y", "y.oid")       \
    " AND EXISTS "                                                                              \
    "(SELECT 1"                                                                                 \
    " FROM pg_catalog.unnest(y.polroles) u(role)"                                               \
    " WHERE CASE WHEN u.role = 0 THEN true"                                                     \
    " ELSE pg_catalog.pg_has_role(u.role, 'USAGE') END)), "                                     \
    "'row-level security decides which rows you see') END"

/* The DDL of the table `c` in the schema `n`. */
#define TABLE_DDL                                                                               \
    "CASE WHEN " IS_LEFT("v", "c.oid") " THEN pg_catalog.format(E'-- %s %I.%I\n', " KIND ", "   \
    "n.nspname, c.relname)"                                                                     \
    " WHEN c.relkind IN ('v', 'm') THEN pg_catalog.format(E'CREATE %s %I.%I AS\\n%s\\n', CASE " \
    "c.relkind"                                                                                 \
    " WHEN 'v' THEN 'VIEW'"                                                                     \
    " ELSE 'MATERIALIZED VIEW' END, n.nspname, c.relname, pg_catalog.pg_get_viewdef(c.oid))"    \
    " ELSE pg_catalog.format(E'CREATE %sTABLE %I.%I (\\n%s\\n)%s;\\n', CASE"                    \
    " WHEN c.relkind = 'f' THEN 'FOREIGN '"                                                     \
    " WHEN c.relpersistence = 'u' THEN 'UNLOGGED '"                                             \
    " ELSE '' END, n.nspname, c.relname, "                                                      \
    "(SELECT pg_catalog.string_agg(line, E',\\n' ORDER BY part, place)"                         \
    " FROM "                                                                                    \
    "(SELECT 1 AS part, a.attnum::pg_catalog.int4 AS place, pg_catalog.format('    %I "         \
    "%s%s%s%s', a.attname, " TYPE ", CASE a.attidentity"                                        \
    " WHEN 'a' THEN ' GENERATED ALWAYS AS IDENTITY'"                                            \
    " WHEN 'd' THEN ' GENERATED BY DEFAULT AS IDENTITY'"                                        \
    " ELSE '' END, CASE"                                                                        \
    " WHEN a.attgenerated <> '' THEN ' GENERATED ALWAYS AS (' || "                              \
    "pg_catalog.pg_get_expr(e.adbin, e.adrelid) || ') STORED'"                                  \
    " ELSE coalesce(' DEFAULT ' || pg_catalog.pg_get_expr(e.adbin, e.adrelid), '') END, CASE"   \
    " WHEN a.attnotnull THEN ' NOT NULL'"                                                       \
    " ELSE '' END) AS line"                                                                     \
    " FROM " COLUMNS " UNION ALL SELECT 2, pg_catalog.row_number() OVER (ORDER BY "             \
    "k.conname)::pg_catalog.int4, pg_catalog.format('    CONSTRAINT %I %s', k.conname, "        \
    "pg_catalog.pg_get_constraintdef(k.oid))"                                                   \
    " FROM pg_catalog.pg_constraint k"                                                          \
    " WHERE k.conrelid = c.oid AND k.contype <> 'n' AND " READABLE                              \
    " AND NOT " IS_LEFT("k", "k.oid") ") AS lines), " BEHIND ") END || " ATTACHED                                                      \
    " || coalesce("                                                                             \
    "(SELECT pg_catalog.string_agg(pg_catalog.pg_get_indexdef(i.indexrelid) || E';\\n', '' "    \
    "ORDER BY i.indexrelid)"                                                                    \
    " FROM pg_catalog.pg_index i"                                                               \
    " WHERE i.indrelid = c.oid AND " ALL_READABLE("i.indkey", "c.oid")                          \
    " AND NOT " IS_LEFT("i", "i.indexrelid") " AND NOT EXISTS "                                 \
    "(SELECT 1"                                                                                 \
    " FROM pg_catalog.pg_constraint k"                                                          \
    " WHERE k.conrelid = i.indrelid AND k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x'))" \
    "), '') || " TRIGGERS " || " POLICIES                      \
    " || coalesce(pg_catalog.format('COMMENT ON %s %I.%I IS ', upper(" KIND "), n.nspname, "    \
    "c.relname) || pg_catalog.quote_literal(pg_catalog.obj_description(c.oid, 'pg_class')) || " \
    "E';\\n', '')"                                                                              \
    " || coalesce("                                                                             \
    "(SELECT pg_catalog.string_agg(pg_catalog.format(E'COMMENT ON COLUMN %I.%I.%I IS %L;\\n', " \
    "n.nspname, c.relname, a.attname, pg_catalog.col_description(c.oid, a.attnum)), '' ORDER "  \
    "BY a.attnum)"                                                                              \
    " FROM pg_catalog.pg_attribute a"                                                           \
    " WHERE a.attrelid = c.oid AND a.attnum > 0 AND pg_catalog.col_description(c.oid, "         \
    "a.attnum) IS NOT NULL AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')), '')"

#define FUNCTION_DDL                                                                           \
    "CASE WHEN " IS_LEFT("f", "p.oid") " THEN '-- ' || " SIGNATURE " WHEN p.prokind IN ('a', " \
    "'w') THEN '-- ' || " SIGNATURE " || ' is an aggregate'"                                   \
    " ELSE pg_catalog.pg_get_functiondef(p.oid) || ';' END || E'\n'"
/* clang-format on */

#include "describe_notes.h"

/* ---- the database and schemas ---------------------------------------------------------------- */

#define IN_SCHEMA " AND ($2::pg_catalog.text IS NULL OR n.nspname = $2::pg_catalog.text)"

/* Schemas, then tables, then functions, each sorted by name. */
const char postgres_things_text[] =
    "SELECT ddl, kind, nspname, name FROM (SELECT n.nspname, 'a' AS kind, '' AS "
    "name, pg_catalog.format(E'CREATE SCHEMA %I;\n', n.nspname) AS ddl FROM "
    "pg_catalog.pg_namespace n WHERE " SHOWN IN_SCHEMA
    " UNION ALL SELECT n.nspname, 't', c.relname::pg_catalog.text, " TABLE_DDL " || " NOTES
    " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = "
    "c.relnamespace WHERE " SHOWN " AND " TABLES " AND NOT c.relispartition" IN_SCHEMA
    " UNION ALL SELECT n.nspname, 'x', " SIGNATURE ", " FUNCTION_DDL
    " FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = "
    "p.pronamespace WHERE " SHOWN " AND " NO_EXTENSION IN_SCHEMA
    ") AS every ORDER BY nspname, kind, name";

/* clang-format off */
const char postgres_things_json[] =
    "SELECT 't', n.nspname, c.relname::pg_catalog.text AS name, " KIND ", "
    "pg_catalog.obj_description(c.oid, 'pg_class'), "
    "(SELECT pg_catalog.array_to_json(pg_catalog.array_agg(pg_catalog.json_build_object('name', "
    "a.attname, 'type', " TYPE ") ORDER BY a.attnum))"
    " FROM " COLUMNS ")"
    " FROM pg_catalog.pg_class c"
    " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    " WHERE " SHOWN " AND " TABLES " AND NOT c.relispartition" IN_SCHEMA " UNION ALL SELECT 'x', "
    "n.nspname, " SIGNATURE ", CASE p.prokind"
    " WHEN 'p' THEN 'procedure'"
    " WHEN 'a' THEN 'aggregate'"
    " WHEN 'w' THEN 'window function'"
    " ELSE 'function' END, pg_catalog.obj_description(p.oid, 'pg_proc'), NULL"
    " FROM pg_catalog.pg_proc p"
    " JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace"
    " WHERE " SHOWN " AND " NO_EXTENSION IN_SCHEMA " UNION ALL SELECT 'a', n.nspname, '', "
    "'schema', pg_catalog.obj_description(n.oid, 'pg_namespace'), NULL"
    " FROM pg_catalog.pg_namespace n"
    " WHERE " SHOWN IN_SCHEMA " ORDER BY 2, 1, 3";
/* clang-format on */

/* ---- names that are similar to one ------------------------------------------------------------ */

#define LIKE(name)                                                                              \
    "(pg_catalog.abs(pg_catalog.length(" name "::pg_catalog.text) - pg_catalog.length($1)) <= " \
    "2 OR pg_catalog.strpos(pg_catalog.lower(" name                                             \
    "::pg_catalog.text), pg_catalog.lower($1)) > 0)"
#define EXACT_FIRST(name)                                                                \
    " ORDER BY pg_catalog.lower(" name "::pg_catalog.text) <> pg_catalog.lower($1), 2, " \
    "3, 4 LIMIT 1000"
#define QUOTED "pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname)"

const char postgres_tables_like[] =
    "SELECT 't', n.nspname, c.relname::pg_catalog.text, c.relname::pg_catalog.text, " QUOTED
    " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = "
    "c.relnamespace WHERE " SHOWN " AND " TABLES " AND NOT c.relispartition AND "
    "$2::pg_catalog.text IS NOT NULL AND " LIKE("c.relname") EXACT_FIRST("c.relname");

const char postgres_columns_like[] =
    "SELECT 't', n.nspname, c.relname::pg_catalog.text, a.attname::pg_catalog.text, " QUOTED
    " || '.' || pg_catalog.quote_ident(a.attname) FROM pg_catalog.pg_class c JOIN "
    "pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_attribute a ON "
    "a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped WHERE " SHOWN " AND " TABLES
    " AND NOT c.relispartition AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT') AND "
    "pg_catalog.strpos(pg_catalog.lower($2::pg_catalog.text), "
    "pg_catalog.lower(c.relname::pg_catalog.text)) > 0 AND " LIKE("a.attname")
        EXACT_FIRST("a.attname");

/* ---- tables ---------------------------------------------------------------------------------- */

#define THIS_TABLE " AND n.nspname = $2::pg_catalog.name AND c.relname = $3::pg_catalog.name"
#define FROM_TABLES                                                                         \
    " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace " \
    "WHERE " SHOWN " AND " TABLES THIS_TABLE

const char postgres_table_text[] = "SELECT " TABLE_DDL " || " ALL_NOTES FROM_TABLES;

/* clang-format off */
const char postgres_table_json[] =
    "SELECT " KIND ", pg_catalog.obj_description(c.oid, 'pg_class'), "
    "(SELECT pg_catalog.array_to_json(pg_catalog.array_agg(pg_catalog.json_strip_nulls("
    "pg_catalog.json_build_object('name', a.attname, 'type', " TYPE ", 'notNull', CASE"
    " WHEN a.attnotnull THEN true END"
    ", 'default', pg_catalog.pg_get_expr(e.adbin, e.adrelid)"
    ", 'identity', CASE a.attidentity"
    " WHEN 'a' THEN 'always'"
    " WHEN 'd' THEN 'by default' END"
    ", 'generated', CASE"
    " WHEN a.attgenerated <> '' THEN true END"
    ", 'comment', pg_catalog.col_description(c.oid, a.attnum))) ORDER BY a.attnum))"
    " FROM " COLUMNS "), "
    "(SELECT pg_catalog.array_to_json(" NAMES_OF("i.indkey::pg_catalog.int2[]", "c.oid") ")"
    " FROM pg_catalog.pg_index i"
    " WHERE i.indrelid = c.oid AND i.indisprimary AND NOT EXISTS "
    "(SELECT 1"
    " FROM pg_catalog.pg_attribute x"
    " WHERE x.attrelid = c.oid AND x.attnum = ANY (i.indkey::pg_catalog.int2[]) AND NOT "
    "pg_catalog.has_column_privilege(c.oid, x.attnum, 'SELECT'))), "
    "(SELECT pg_catalog.array_to_json(pg_catalog.array_agg(pg_catalog.json_build_object('name', "
    "o.relname"
    ", 'unique', i.indisunique"
    ", 'sql', pg_catalog.pg_get_indexdef(i.indexrelid)) ORDER BY o.relname))"
    " FROM pg_catalog.pg_index i"
    " JOIN pg_catalog.pg_class o ON o.oid = i.indexrelid"
    " WHERE i.indrelid = c.oid AND " ALL_READABLE("i.indkey", "c.oid")
    " AND NOT " IS_LEFT("i", "i.indexrelid") "), "
    "(SELECT pg_catalog.array_to_json(pg_catalog.array_agg(pg_catalog.json_build_object('name', "
    "k.conname"
    ", 'columns', " NAMES_OF("k.conkey", "k.conrelid") ", 'references', "
    "pg_catalog.json_build_object('schema', fn.nspname, 'table', f.relname"
    ", 'columns', " NAMES_OF("k.confkey", "k.confrelid") ")) ORDER BY k.conname))"
    " FROM pg_catalog.pg_constraint k"
    " JOIN pg_catalog.pg_class f ON f.oid = k.confrelid"
    " JOIN pg_catalog.pg_namespace fn ON fn.oid = f.relnamespace"
    " WHERE k.conrelid = c.oid AND k.contype = 'f' AND " READABLE
    " AND NOT " IS_LEFT("k", "k.oid") "), "
    "(SELECT pg_catalog.array_to_json(pg_catalog.array_agg(pg_catalog.json_build_object('name', "
    "k.conname"
    ", 'sql', pg_catalog.pg_get_constraintdef(k.oid)) ORDER BY k.conname))"
    " FROM pg_catalog.pg_constraint k"
    " WHERE k.conrelid = c.oid AND k.contype IN ('c', 'u', 'x') AND " READABLE
    " AND NOT " IS_LEFT("k", "k.oid") "), " TABLE_DDL ", " TYPES_JSON ", " ROWS_BY ", "
    REFERENCES_JSON ", " PARTITIONS_JSON ", " ESTIMATE_JSON FROM_TABLES;
/* clang-format on */

/* ---- functions ------------------------------------------------------------------------------- */

#define THIS_FUNCTION \
    " WHERE " SHOWN " AND n.nspname = $2::pg_catalog.name AND " SIGNATURE " = $3::pg_catalog.text"

const char postgres_function_text[] =
    "SELECT " FUNCTION_DDL " FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = "
    "p.pronamespace" THIS_FUNCTION;

/* clang-format off */
const char postgres_function_json[] =
    "SELECT " SIGNATURE ", CASE"
    " WHEN NOT " IS_LEFT("f", "p.oid") " THEN pg_catalog.pg_get_function_result(p.oid) END, "
    "l.lanname, CASE p.provolatile"
    " WHEN 'i' THEN 'immutable'"
    " WHEN 's' THEN 'stable'"
    " ELSE 'volatile' END, pg_catalog.obj_description(p.oid, 'pg_proc'), CASE"
    " WHEN NOT " IS_LEFT("f", "p.oid") " THEN pg_catalog.pg_get_function_arguments(p.oid) END, "
    FUNCTION_DDL " FROM pg_catalog.pg_proc p"
    " JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace"
    " JOIN pg_catalog.pg_language l ON l.oid = p.prolang" THIS_FUNCTION;
/* clang-format on */

/* ---- which pieces mention which objects ------------------------------------------------------ */

/* The pieces, with the objects on which they depend according to the catalogue. Such an object is a
 * function or a table; a row type, an array of a row type, or a sequence counts as the table that
 * it belongs to. The body of a function is plain text. It mentions an object if the object's name
 * is one of its words or, for names that are not words, occurs in it. */
#define NAMES(tables, functions, more)                                                             \
    "WITH rel AS MATERIALIZED (SELECT c.oid FROM pg_catalog.pg_class c JOIN "                      \
    "pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE " SHOWN " AND " TABLES              \
    " AND " tables "), fn AS MATERIALIZED (SELECT p.oid, p.prosrc FROM pg_catalog.pg_proc p JOIN " \
    "pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE " SHOWN " AND " functions           \
    "), pieces(piece, classid, objid, own) AS (SELECT 'k' || k.oid, "                              \
    "'pg_catalog.pg_constraint'::pg_catalog.regclass, k.oid, k.conrelid FROM "                     \
    "pg_catalog.pg_constraint k JOIN rel ON rel.oid = k.conrelid UNION ALL SELECT "                \
    "'v' || w.ev_class, 'pg_catalog.pg_rewrite'::pg_catalog.regclass, w.oid, "                     \
    "w.ev_class FROM pg_catalog.pg_rewrite w JOIN rel ON rel.oid = w.ev_class UNION "              \
    "ALL SELECT 'd' || e.oid, 'pg_catalog.pg_attrdef'::pg_catalog.regclass, e.oid, "               \
    "e.adrelid FROM pg_catalog.pg_attrdef e JOIN rel ON rel.oid = e.adrelid UNION "                \
    "ALL SELECT 'i' || i.indexrelid, 'pg_catalog.pg_class'::pg_catalog.regclass, "                 \
    "i.indexrelid, i.indrelid FROM pg_catalog.pg_index i JOIN rel ON rel.oid = "                   \
    "i.indrelid UNION ALL SELECT 'g' || g.oid, "                                                   \
    "'pg_catalog.pg_trigger'::pg_catalog.regclass, g.oid, g.tgrelid FROM "                         \
    "pg_catalog.pg_trigger g JOIN rel ON rel.oid = g.tgrelid UNION ALL SELECT 'y' || y.oid, "      \
    "'pg_catalog.pg_policy'::pg_catalog.regclass, y.oid, y.polrelid FROM "                         \
    "pg_catalog.pg_policy y JOIN rel ON rel.oid = y.polrelid UNION ALL SELECT 'h' || rel.oid, "    \
    "'pg_catalog.pg_class'::pg_catalog.regclass, rel.oid, rel.oid FROM rel UNION ALL SELECT "      \
    "'f' || fn.oid, "                                                                              \
    "'pg_catalog.pg_proc'::pg_catalog.regclass, fn.oid, 0::pg_catalog.oid FROM fn), "              \
    "deps(piece, own, class, id) AS (SELECT q.piece, q.own, d.refclassid, d.refobjid "             \
    "FROM pieces q JOIN pg_catalog.pg_depend d ON d.classid = q.classid AND d.objid "              \
    "= q.objid UNION ALL SELECT 't' || rel.oid || '.' || d.objsubid, rel.oid, "                    \
    "d.refclassid, d.refobjid FROM rel JOIN pg_catalog.pg_depend d ON d.classid = "                \
    "'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = rel.oid AND d.objsubid "             \
    "> 0 AND d.refclassid = 'pg_catalog.pg_type'::pg_catalog.regclass), "                          \
    "tables(piece, own, id) AS (SELECT piece, own, id FROM deps WHERE class = "                    \
    "'pg_catalog.pg_class'::pg_catalog.regclass UNION ALL SELECT s.piece, s.own, "                 \
    "d.refobjid FROM deps s JOIN pg_catalog.pg_depend d ON d.classid = "                           \
    "'pg_catalog.pg_class'::pg_catalog.regclass AND d.objid = s.id AND d.refclassid "              \
    "= 'pg_catalog.pg_class'::pg_catalog.regclass AND d.deptype IN ('a', 'i') WHERE "              \
    "s.class = 'pg_catalog.pg_class'::pg_catalog.regclass UNION ALL SELECT s.piece, "              \
    "s.own, coalesce(nullif(y.typrelid, 0), m.typrelid) FROM deps s JOIN "                         \
    "pg_catalog.pg_type y ON y.oid = s.id LEFT JOIN pg_catalog.pg_type m ON m.oid = "              \
    "y.typelem WHERE s.class = 'pg_catalog.pg_type'::pg_catalog.regclass), "                       \
    "words(oid, word) AS (SELECT DISTINCT fn.oid, u.word FROM fn, "                                \
    "pg_catalog.regexp_split_to_table(pg_catalog.lower(fn.prosrc), "                               \
    "'[^[:alnum:]_$]+') u(word)), others(kind, id, name) AS MATERIALIZED (SELECT "                 \
    "'t', c.oid, pg_catalog.lower(c.relname::pg_catalog.text) FROM "                               \
    "pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "              \
    "WHERE " OWN " AND c.relkind IN " KINDS                                                        \
    " AND EXISTS (SELECT 1 FROM fn) UNION ALL SELECT 'x', p.oid, "                                 \
    "pg_catalog.lower(p.proname::pg_catalog.text) FROM pg_catalog.pg_proc p JOIN "                 \
    "pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE " OWN                               \
    " AND EXISTS (SELECT 1 FROM fn)), found(piece, kind, id) AS (SELECT piece, 't', "              \
    "id FROM tables WHERE id <> own UNION SELECT piece, 'x', id FROM deps WHERE "                  \
    "class = 'pg_catalog.pg_proc'::pg_catalog.regclass UNION SELECT 'f' || w.oid, "                \
    "o.kind, o.id FROM words w JOIN others o ON o.name = w.word WHERE o.id <> w.oid "              \
    "UNION SELECT 'f' || fn.oid, o.kind, o.id FROM fn JOIN others o ON o.id <> "                   \
    "fn.oid AND o.name ~ '[^[:alnum:]_$]' AND "                                                    \
    "pg_catalog.strpos(pg_catalog.lower(fn.prosrc), pg_catalog.replace(o.name, '\"', "             \
    "'\"\"')) > 0" more ") SELECT piece, 't', n.nspname, c.relname::pg_catalog.text FROM "         \
    "found JOIN pg_catalog.pg_class c ON c.oid = found.id AND c.relkind IN " KINDS                 \
    " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE kind = 't' AND " OWN          \
    " UNION ALL SELECT piece, 'x', n.nspname, " SIGNATURE                                          \
    " FROM found JOIN pg_catalog.pg_proc p ON p.oid = found.id JOIN "                              \
    "pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE kind = 'x' AND " OWN

/* What refers to the table, and its partitions. */
#define BY_OTHERS                                                                              \
    " UNION SELECT 'b' || k.oid, 't', k.conrelid FROM rel JOIN pg_catalog.pg_constraint k ON " \
    "k.confrelid = rel.oid AND k.conrelid <> rel.oid AND k.contype = 'f' UNION SELECT 's' || " \
    "h.inhrelid, 't', h.inhrelid FROM rel JOIN pg_catalog.pg_inherits h ON h.inhparent = "     \
    "rel.oid"

#define SCHEMA "($1::pg_catalog.text IS NULL OR n.nspname = $1::pg_catalog.text)"

const char postgres_things_names[] =
    NAMES(SCHEMA " AND NOT c.relispartition", SCHEMA " AND " NO_EXTENSION, "");
const char postgres_table_names[] = NAMES(
    "n.nspname = $1::pg_catalog.name AND c.relname = $2::pg_catalog.name", "false", BY_OTHERS);
const char postgres_function_names[] =
    NAMES("false", "n.nspname = $1::pg_catalog.name AND " SIGNATURE " = $2::pg_catalog.text", "");
