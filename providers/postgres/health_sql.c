/* health_sql.c: the statement of health.h.
 *
 * It reads the catalogue and the counters of the statistics, and no table; and it waits for no lock: sizes
 * are those that VACUUM, ANALYZE and CREATE INDEX left. It names what the role may read: tables with a
 * column that it may select, indexes over columns all of which it may select. Tables whose policies hide
 * rows from the role are left out, since counters tell how many there are. Of the statements that run, it
 * shows those of sessions that logged in as this role. With rules it shows no statement and no index
 * over expressions, because these may name what the rules hide.
 */
#include "health.h"

/* clang-format off */

#define READABLE(attribute, relation, condition)                                             \
    "NOT EXISTS (SELECT 1 FROM pg_catalog.pg_attribute a WHERE a.attrelid = " relation       \
    " AND a.attnum > 0 AND NOT a.attisdropped AND " condition                                \
    " AND NOT pg_catalog.has_column_privilege(" relation ", " attribute ", 'SELECT'))"

/* The tables and materialized views that the role may read, of those that were asked for. */
#define RELATIONS                                                                                \
    "rel AS MATERIALIZED (SELECT c.oid, n.nspname AS schema, c.relname AS name, c.relkind,"      \
    " c.relpages * pg_catalog.current_setting('block_size')::pg_catalog.int8 AS bytes,"          \
    " c.relkind IN ('r', 'p') AND pg_catalog.row_security_active(c.oid) AS secured"              \
    " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"       \
    " WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname <> 'information_schema'"                  \
    " AND n.nspname !~ '^pg_' AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')"               \
    " AND pg_catalog.has_any_column_privilege(c.oid, 'SELECT')"                                  \
    " AND ($1::pg_catalog.text IS NULL OR n.nspname = $1::pg_catalog.text)"                      \
    " AND ($2::pg_catalog.text IS NULL OR c.relname = $2::pg_catalog.text))"

/* Their counters. */
#define COUNTERS                                                                                 \
    "tab AS MATERIALIZED (SELECT r.oid, r.schema, r.name, r.bytes,"                              \
    " pg_catalog.pg_stat_get_numscans(r.oid) AS scans,"                                          \
    " pg_catalog.pg_stat_get_tuples_returned(r.oid) AS got,"                                     \
    " pg_catalog.pg_stat_get_live_tuples(r.oid) AS live,"                                        \
    " pg_catalog.pg_stat_get_dead_tuples(r.oid) AS dead,"                                        \
    " greatest(pg_catalog.pg_stat_get_last_vacuum_time(r.oid),"                                  \
    " pg_catalog.pg_stat_get_last_autovacuum_time(r.oid)) AS vacuumed,"                          \
    " (SELECT coalesce(pg_catalog.sum(pg_catalog.pg_stat_get_numscans(x.indexrelid)), 0)"        \
    " FROM pg_catalog.pg_index x WHERE x.indrelid = r.oid) AS index_scans"                       \
    " FROM rel r WHERE NOT r.secured)"

/* Their indexes. One of a partitioned table cannot be dropped by itself. `kept`: it does more than to be
 * read. */
#define INDEXES                                                                                  \
    "idx AS MATERIALIZED (SELECT x.indexrelid AS id, x.indrelid AS of, t.schema, t.name AS rel," \
    " i.relname AS name, x.indisvalid AS valid, x.indisunique AS is_unique, i.relam,"            \
    " i.relpages * pg_catalog.current_setting('block_size')::pg_catalog.int8 AS bytes,"          \
    " x.indkey::pg_catalog.text || ' ' || x.indclass::pg_catalog.text || ' ' ||"                 \
    " x.indcollation::pg_catalog.text || ' ' || x.indoption::pg_catalog.text || ' ' ||"          \
    " x.indnkeyatts || ' ' || i.relam || ' ' ||"                                                 \
    " coalesce(x.indexprs::pg_catalog.text, '') || ' ' ||"                                       \
    " coalesce(x.indpred::pg_catalog.text, '') AS like,"                                         \
    " x.indisunique OR x.indisprimary OR x.indisexclusion OR x.indisreplident OR EXISTS ("       \
    "SELECT 1 FROM pg_catalog.pg_constraint k WHERE k.conrelid = x.indrelid AND k.conindid = "     \
    "x.indexrelid AND k.contype IN ('p', 'u', 'x')) AS kept"                                     \
    " FROM tab t JOIN pg_catalog.pg_index x ON x.indrelid = t.oid"                               \
    " JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid"                                        \
    " WHERE i.relkind = 'i' AND NOT i.relispartition"                                            \
    " AND " READABLE("a.attnum", "x.indrelid", "a.attnum = ANY (x.indkey::pg_catalog.int2[])")   \
    " AND (x.indexprs IS NULL AND x.indpred IS NULL OR NOT $3::pg_catalog.bool AND "             \
    READABLE("a.attnum", "x.indrelid", "true") "))"

#define SIZE(bytes)  "pg_catalog.pg_size_pretty(" bytes ")"
#define TIME(at)     "pg_catalog.to_char(pg_catalog.timezone('UTC', " at "), 'YYYY-MM-DD HH24:MI\" UTC\"')"
#define NAME(s, n)   "pg_catalog.quote_ident(" s ") || '.' || pg_catalog.quote_ident(" n ")"
#define OBJECT       "pg_catalog.json_build_object("
#define TABLE        OBJECT "'schema', schema, 'table', name, "
#define INDEX        OBJECT "'schema', schema, 'table', rel, 'index', name, "
#define OF_INDEX     NAME("schema", "name") " || ' on ' || " NAME("schema", "rel")
/* The rows of a part, in an order of its own. */
#define PART(number, kind, schema, name, entry, line, said, from, order)                         \
    "(SELECT " number " AS part, pg_catalog.row_number() OVER (ORDER BY " order ") AS place, "   \
    kind " AS kind, " schema "::pg_catalog.text AS schema, " name "::pg_catalog.text AS name, "  \
    entry "::pg_catalog.text AS entry, " line " AS line, " said " AS said FROM " from            \
    " ORDER BY 2 LIMIT $4::pg_catalog.int8)"
#define EVERYWHERE   "$1::pg_catalog.text IS NULL AND $2::pg_catalog.text IS NULL"
#define HERE         "pg_catalog.pg_stat_database d WHERE d.datname = pg_catalog.current_database()"
#define ALL          " UNION ALL "

#define THE_SCHEMA                                                                               \
    PART("0", "'a'", "nspname", "''", "NULL", "'Schema ' || pg_catalog.quote_ident(nspname)",    \
         "NULL", "pg_catalog.pg_namespace WHERE $2::pg_catalog.text IS NULL AND nspname = "      \
         "$1::pg_catalog.text AND pg_catalog.has_schema_privilege(oid, 'USAGE') AND nspname <> " \
         "'information_schema' AND nspname !~ '^pg_'", "nspname")
#define THE_TABLES                                                                               \
    PART("0", "'t'", "schema", "name",                                                           \
         TABLE "'policies_hide_rows', secured, 'rows', live, 'dead_rows', dead, "                \
         "'sequential_scans', scans, 'rows_read', got, 'index_scans', index_scans, 'bytes', "    \
         "tab_bytes, 'vacuumed', " TIME("vacuumed") ")",                                         \
         NAME("schema", "name") " || CASE WHEN secured THEN ': policies hide rows from this "    \
         "server''s role, so there are no numbers' ELSE pg_catalog.format(': about %s rows and " \
         "%s dead ones, %s; %s sequential scans read %s rows, %s index scans; last vacuum %s', " \
         "live, dead, " SIZE("tab_bytes") ", scans, got, index_scans, coalesce("                 \
         TIME("vacuumed") ", 'never')) END", "NULL",                                             \
         "(SELECT r.schema, r.name, r.secured, t.live, t.dead, t.scans, t.got, t.index_scans, "  \
         "t.bytes AS tab_bytes, t.vacuumed FROM rel r LEFT JOIN tab t ON t.oid = r.oid WHERE "   \
         "$2::pg_catalog.text IS NOT NULL) AS q", "schema, name")
#define COUNTED                                                                                  \
    PART("1", "'-'", "''", "''",                                                                 \
         OBJECT "'since', " TIME("d.stats_reset") ", 'days', pg_catalog.floor("                  \
         "pg_catalog.date_part('epoch', pg_catalog.now() - d.stats_reset) / 86400), 'standby', " \
         "pg_catalog.pg_is_in_recovery())",                                                      \
         "CASE WHEN d.stats_reset IS NULL THEN 'Counted since the database was made: no reset "  \
         "is recorded' ELSE pg_catalog.format('Counted since %s, for %s days', "                 \
         TIME("d.stats_reset") ", pg_catalog.floor(pg_catalog.date_part('epoch', "               \
         "pg_catalog.now() - d.stats_reset) / 86400)) END || CASE WHEN "                         \
         "pg_catalog.pg_is_in_recovery() THEN ', on a standby, which does not know what its "    \
         "primary does.' ELSE ', on this server alone.' END", "NULL", HERE, "1")
#define CACHE                                                                                    \
    PART("2", "'-'", "''", "''",                                                                 \
         OBJECT "'percent', pg_catalog.round(100.0 * d.blks_hit / (d.blks_hit + d.blks_read), "  \
         "1), 'hits', d.blks_hit, 'reads', d.blks_read)",                                        \
         "pg_catalog.format('Cache: %s %% of %s blocks were found in memory.', pg_catalog.round(" \
         "100.0 * d.blks_hit / (d.blks_hit + d.blks_read), 1), d.blks_hit + d.blks_read)",       \
         "NULL", HERE " AND " EVERYWHERE " AND d.blks_hit + d.blks_read > 0", "1")
#define TRANSACTIONS                                                                             \
    PART("3", "'-'", "''", "''",                                                                 \
         OBJECT "'age', age, 'percent', pg_catalog.round(100.0 * age / 2147483648, 1), "         \
         "'autovacuum_freeze_max_age', most)",                                                   \
         "pg_catalog.format('Transaction ids: the oldest one is %s transactions old, %s %% of "  \
         "what is possible; autovacuum freezes from %s on.', age, pg_catalog.round(100.0 * age " \
         "/ 2147483648, 1), most)", "NULL",                                                      \
         "(SELECT pg_catalog.age(datfrozenxid) AS age, pg_catalog.current_setting("              \
         "'autovacuum_freeze_max_age')::pg_catalog.int8 AS most FROM pg_catalog.pg_database "    \
         "WHERE datname = pg_catalog.current_database() AND " EVERYWHERE ") AS q", "1")
#define UNUSED                                                                                   \
    PART("4", "'t'", "schema", "rel", INDEX "'bytes', bytes)",                                   \
         OF_INDEX " || ': ' || " SIZE("bytes"), "NULL",                                          \
         "idx WHERE valid AND NOT kept AND pg_catalog.pg_stat_get_numscans(id) = 0",             \
         "bytes DESC, schema, name")
#define SCANS                                                                                    \
    PART("5", "'t'", "schema", "name",                                                           \
         TABLE "'scans', scans, 'rows_read', got, 'index_scans', index_scans, 'bytes', bytes)",  \
         "pg_catalog.format('%s: %s sequential scans read %s rows, %s each; %s index scans; %s', " \
         NAME("schema", "name") ", scans, got, got / scans, index_scans, " SIZE("bytes") ")",    \
         "NULL", "tab WHERE scans >= 10 AND got / scans >= 1000", "got DESC, schema, name")
#define DEAD                                                                                     \
    PART("6", "'t'", "schema", "name",                                                           \
         TABLE "'dead', dead, 'live', live, 'percent', 100 * dead / (dead + live), 'vacuumed', " \
         TIME("vacuumed") ")",                                                                   \
         "pg_catalog.format('%s: about %s %% of its rows, %s beside %s live ones; last vacuum "  \
         "%s', " NAME("schema", "name") ", 100 * dead / (dead + live), dead, live, coalesce("    \
         TIME("vacuumed") ", 'never'))", "NULL", "tab WHERE dead >= 1000 AND 9 * dead >= live",  \
         "dead DESC, schema, name")
#define DUPLICATE                                                                                \
    PART("7", "'t'", "schema", "rel", INDEX "'like', same, 'bytes', bytes)",                     \
         OF_INDEX " || ' is like ' || pg_catalog.quote_ident(same) || ', ' || " SIZE("bytes"),   \
         "NULL", "(SELECT *, pg_catalog.first_value(name) OVER alike AS same, "                  \
         "pg_catalog.row_number() OVER alike AS nth FROM idx WHERE valid WINDOW alike AS ("      \
         "PARTITION BY idx.of, idx.like ORDER BY NOT kept, id)) AS q WHERE nth > 1 AND NOT kept",        \
         "bytes DESC, schema, name")
#define INVALID                                                                                  \
    PART("8", "'t'", "schema", "rel", INDEX "'bytes', bytes)", OF_INDEX, "NULL",                 \
         "idx WHERE NOT valid", "schema, name")
#define STATEMENTS                                                                               \
    PART("9", "'-'", "''", "''",                                                                 \
         OBJECT "'seconds', seconds, 'state', state, 'waits_for', waits)",                       \
         "pg_catalog.format('%s s, %s%s', seconds, state, coalesce(', waits for ' || waits, " \
         "''))", "CASE WHEN NOT $3::pg_catalog.bool THEN query END",                             \
         "(SELECT pg_catalog.floor(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp() "  \
         "- CASE s.state WHEN 'active' THEN s.query_start ELSE s.xact_start END)) AS seconds, "  \
         "s.state, CASE s.state WHEN 'active' THEN s.wait_event_type || ' ' || s.wait_event "    \
         "END AS waits, s.query, s.pid FROM pg_catalog.pg_stat_activity s WHERE " EVERYWHERE     \
         " AND s.usename = current_user AND s.datname = pg_catalog.current_database() AND "      \
         "s.pid <> pg_catalog.pg_backend_pid() AND s.backend_type = 'client backend' AND "       \
         "s.state <> 'idle') AS q WHERE seconds >= 1", "seconds DESC, pid")

const char postgres_health_sql[] =
    "WITH " RELATIONS ", " COUNTERS ", " INDEXES
    " SELECT part, kind, schema, name, entry, line, said FROM ("
    THE_SCHEMA ALL THE_TABLES ALL COUNTED ALL CACHE ALL TRANSACTIONS ALL UNUSED ALL SCANS ALL DEAD ALL
    DUPLICATE ALL INVALID ALL STATEMENTS ") AS every ORDER BY part, place";
