/* describe_notes.h: what a model asks next about a table, for describe_sql.c, whose macros it uses: the
 * values of enums, what domains are, which tables refer to it, its partitions, which policies let the
 * caller see rows, how large it is. As comments behind the DDL and as JSON, each with a limit.
 */
#ifndef POSTGRES_DESCRIBE_NOTES_H
#define POSTGRES_DESCRIBE_NOTES_H

/* clang-format off */
/* The enums and domains among the types of the columns that are shown, also as elements of arrays and
 * as what a domain is based on. The names of the types are those of the columns; a domain over a row
 * type would name its table. */
#define TYPES                                                                                   \
    "(WITH RECURSIVE used(oid, depth) AS "                                                      \
    "(SELECT DISTINCT a.atttypid, 0"                                                            \
    " FROM pg_catalog.pg_attribute a"                                                           \
    " WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND "                    \
    "pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT') UNION "                         \
    "SELECT coalesce(nullif(b.typbasetype, 0), b.typelem), used.depth + 1"                      \
    " FROM used"                                                                                \
    " JOIN pg_catalog.pg_type b ON b.oid = used.oid"                                            \
    " WHERE used.depth < 8 AND (b.typtype = 'd' OR (b.typcategory = 'A' AND b.typelem <> 0)))"  \
    " SELECT DISTINCT y.oid, y.typtype, y.typname, y.typbasetype, y.typtypmod, y.typnotnull"    \
    " FROM used"                                                                                \
    " JOIN pg_catalog.pg_type y ON y.oid = used.oid"                                            \
    " LEFT JOIN pg_catalog.pg_type b ON b.oid = y.typbasetype"                                  \
    " LEFT JOIN pg_catalog.pg_type m ON m.oid = b.typelem"                                      \
    " WHERE y.typtype IN ('d', 'e') AND pg_catalog.has_type_privilege(y.oid, 'USAGE') AND "     \
    "pg_catalog.has_schema_privilege(y.typnamespace, 'USAGE') AND coalesce(b.typtype, '') "     \
    "<> 'c' AND coalesce(m.typtype, '') <> 'c'"                                                 \
    " ORDER BY y.typname, y.oid"                                                                \
    " LIMIT 50) AS y"
#define LABELS                                                                                  \
    "(SELECT e.enumlabel, e.enumsortorder, pg_catalog.count(*) OVER () AS total"                \
    " FROM pg_catalog.pg_enum e"                                                                \
    " WHERE e.enumtypid = y.oid ORDER BY e.enumsortorder LIMIT 100) AS e"
/* A check that uses something which is not PostgreSQL's own may name what the caller must not see. */
#define CHECKS                                                                                  \
    "pg_catalog.pg_constraint k WHERE k.contypid = y.oid AND k.contype = 'c' AND NOT ("         \
    IS_CLOSED("x") " AND EXISTS "                                                               \
    "(SELECT 1"                                                                                 \
    " FROM pg_catalog.pg_depend d"                                                              \
    " WHERE d.classid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND d.objid = k.oid "   \
    "AND d.refobjid <> y.oid))"
#define CHECK "pg_catalog.left(pg_catalog.pg_get_constraintdef(k.oid), 1000)"
#define TYPES_TEXT                                                                              \
    "coalesce("                                                                                 \
    "(SELECT pg_catalog.string_agg(pg_catalog.replace(pg_catalog.format('-- %s is %s', "        \
    "pg_catalog.format_type(y.oid, NULL), CASE y.typtype"                                       \
    " WHEN 'e' THEN "                                                                           \
    "(SELECT 'one of ' || pg_catalog.string_agg(pg_catalog.quote_literal(e.enumlabel), ', ' "   \
    "ORDER BY e.enumsortorder) || CASE WHEN pg_catalog.max(e.total) > 100 THEN "                \
    "pg_catalog.format(' and %s more', pg_catalog.max(e.total) - 100) ELSE '' END"              \
    " FROM " LABELS ")"                                                                         \
    " ELSE pg_catalog.format_type(y.typbasetype, y.typtypmod) || CASE WHEN y.typnotnull THEN "  \
    "' NOT NULL' ELSE '' END || coalesce("                                                      \
    "(SELECT ' ' || pg_catalog.string_agg(" CHECK ", ' ' ORDER BY k.conname)"                   \
    " FROM " CHECKS "), '') END), E'\n', ' ') || E'\n', '' ORDER BY y.typname, y.oid)"          \
    " FROM " TYPES "), '')"
#define TYPES_JSON                                                                              \
    "(SELECT pg_catalog.array_to_json(pg_catalog.array_agg(pg_catalog.json_strip_nulls("        \
    "pg_catalog.json_build_object('name', pg_catalog.format_type(y.oid, NULL)"                  \
    ", 'values', "                                                                              \
    "(SELECT pg_catalog.array_agg(e.enumlabel ORDER BY e.enumsortorder)"                        \
    " FROM " LABELS ")"                                                                         \
    ", 'moreValues', "                                                                          \
    "(SELECT nullif(greatest(pg_catalog.max(e.total) - 100, 0), 0)"                             \
    " FROM " LABELS ")"                                                                         \
    ", 'base', CASE WHEN y.typtype = 'd' THEN "                                                 \
    "pg_catalog.format_type(y.typbasetype, y.typtypmod) END"                                    \
    ", 'notNull', CASE WHEN y.typnotnull THEN true END"                                         \
    ", 'checks', "                                                                              \
    "(SELECT pg_catalog.array_agg(" CHECK " ORDER BY k.conname)"                                \
    " FROM " CHECKS "))) ORDER BY y.typname, y.oid))"                                           \
    " FROM " TYPES ")"

/* The constraints of which one may refer to the table: no index of the catalogue is for that, but each foreign key has
 * triggers on the table that it refers to. Before PostgreSQL 15 it has none on a partitioned one. */
#define REFERRING                                                                               \
    "ARRAY(SELECT g.tgconstraint FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND "     \
    "g.tgconstraint <> 0 UNION ALL SELECT x.oid FROM pg_catalog.pg_constraint x WHERE "         \
    "c.relkind = 'p' AND x.confrelid = c.oid)"

/* The foreign keys of other tables, and of this one, that refer to it. Those of partitions are copies. */
#define REFERENCES                                                                              \
    "(SELECT k.conname, k.conrelid, k.conkey, k.confrelid, k.confkey, fn.nspname, f.relname, "  \
    "pg_catalog.count(*) OVER () AS total"                                                      \
    " FROM pg_catalog.pg_constraint k"                                                          \
    " JOIN pg_catalog.pg_class f ON f.oid = k.conrelid"                                         \
    " JOIN pg_catalog.pg_namespace fn ON fn.oid = f.relnamespace"                               \
    " WHERE k.oid = ANY (" REFERRING ") AND k.confrelid = c.oid AND k.contype = 'f' AND "       \
    "k.conparentid = 0 AND "                                                                    \
    "pg_catalog.has_schema_privilege(fn.oid, 'USAGE') AND " READABLE                            \
    " AND NOT " IS_LEFT("b", "k.oid")                                                           \
    " ORDER BY fn.nspname, f.relname, k.conname"                                                \
    " LIMIT 50) AS k"
#define NAMES_OF(numbers, relation)                                                             \
    "(SELECT pg_catalog.array_agg(x.attname ORDER BY u.place) FROM unnest(" numbers             \
    ") WITH ORDINALITY u(att, place) JOIN pg_catalog.pg_attribute x ON x.attrelid = " relation  \
    " AND x.attnum = u.att)"
#define REFERENCES_TEXT                                                                         \
    "coalesce("                                                                                 \
    "(SELECT '-- referenced by ' || pg_catalog.replace(pg_catalog.string_agg("                  \
    "pg_catalog.format('%I.%I(%s)', k.nspname, k.relname, pg_catalog.array_to_string("          \
    NAMES_OF("k.conkey", "k.conrelid") ", ', ')), ', ' ORDER BY k.nspname, k.relname, "         \
    "k.conname), E'\n', ' ') || CASE WHEN pg_catalog.max(k.total) > 50 THEN "                   \
    "pg_catalog.format(' and %s more', pg_catalog.max(k.total) - 50) ELSE '' END || E'\n'"      \
    " FROM " REFERENCES "), '')"
#define REFERENCES_JSON                                                                         \
    "(SELECT pg_catalog.array_to_json(pg_catalog.array_agg(pg_catalog.json_build_object("       \
    "'schema', k.nspname, 'table', k.relname"                                                   \
    ", 'columns', " NAMES_OF("k.conkey", "k.conrelid")                                          \
    ", 'references', " NAMES_OF("k.confkey", "k.confrelid") ") ORDER BY k.nspname, k.relname, " \
    "k.conname))"                                                                               \
    " FROM " REFERENCES "), "                                                                   \
    "(SELECT nullif(greatest(pg_catalog.max(k.total) - 50, 0), 0)"                              \
    " FROM " REFERENCES ")"

#define PARTITIONS                                                                              \
    "(SELECT pc.oid, pc.relpartbound, pn.nspname, pc.relname, pg_catalog.count(*) OVER () AS "  \
    "total"                                                                                     \
    " FROM pg_catalog.pg_inherits h"                                                            \
    " JOIN pg_catalog.pg_class pc ON pc.oid = h.inhrelid"                                       \
    " JOIN pg_catalog.pg_namespace pn ON pn.oid = pc.relnamespace"                              \
    " WHERE h.inhparent = c.oid AND pc.relispartition AND "                                     \
    "pg_catalog.has_schema_privilege(pn.oid, 'USAGE') AND "                                     \
    "pg_catalog.has_any_column_privilege(pc.oid, 'SELECT') AND NOT " IS_LEFT("s", "pc.oid")     \
    " ORDER BY pn.nspname, pc.relname"                                                          \
    " LIMIT 20) AS s"
#define BOUND "pg_catalog.left(pg_catalog.pg_get_expr(s.relpartbound, s.oid), 300)"
#define PARTITIONS_TEXT                                                                         \
    "coalesce("                                                                                 \
    "(SELECT pg_catalog.string_agg(pg_catalog.replace(pg_catalog.format('-- partition %I.%I "   \
    "%s', s.nspname, s.relname, " BOUND "), E'\n', ' ') || E'\n', '' ORDER BY s.nspname, "      \
    "s.relname) || CASE WHEN pg_catalog.max(s.total) > 20 THEN "                                \
    "pg_catalog.format(E'-- and %s more partitions\n', pg_catalog.max(s.total) - 20) "          \
    "ELSE '' END"                                                                               \
    " FROM " PARTITIONS "), '')"
#define PARTITIONS_JSON                                                                         \
    "(SELECT pg_catalog.json_build_object('count', pg_catalog.max(s.total)"                     \
    ", 'first', pg_catalog.array_agg(pg_catalog.json_build_object("                             \
    "'schema', s.nspname, 'table', s.relname, 'bounds', " BOUND ") ORDER BY s.nspname, "        \
    "s.relname))"                                                                               \
    " FROM " PARTITIONS " HAVING pg_catalog.count(*) > 0)"

/* As ANALYZE and VACUUM left them. Callers whom a policy hides rows from get neither. */
#define ESTIMATED                                                                               \
    "c.relkind IN ('r', 'm', 'p') AND c.reltuples > 0 AND NOT " IS_CLOSED("n") " AND NOT ("     \
    SECURED ")"
#define BYTES "c.relpages * pg_catalog.current_setting('block_size')::pg_catalog.int8"
#define ESTIMATE_TEXT                                                                           \
    "CASE WHEN " ESTIMATED " THEN pg_catalog.format(E'-- about %s rows%s\n', "                  \
    "c.reltuples::pg_catalog.int8, CASE WHEN c.relpages > 0 THEN ', ' || "                      \
    "pg_catalog.pg_size_pretty(" BYTES ") ELSE '' END) ELSE '' END"
#define ESTIMATE_JSON                                                                           \
    "CASE WHEN " ESTIMATED " THEN pg_catalog.json_strip_nulls(pg_catalog.json_build_object("    \
    "'rows', c.reltuples::pg_catalog.int8, 'bytes', CASE WHEN c.relpages > 0 THEN " BYTES       \
    " END)) END"

/* Comments behind the DDL of a table; those of many tables are without what refers to each. */
#define ROWS_BY_TEXT "coalesce('-- ' || pg_catalog.replace(" ROWS_BY ", E'\n', ' ') || E'\n', '')"
#define NOTES TYPES_TEXT " || " ROWS_BY_TEXT
#define ALL_NOTES NOTES " || " REFERENCES_TEXT " || " PARTITIONS_TEXT " || " ESTIMATE_TEXT
/* clang-format on */

#endif
