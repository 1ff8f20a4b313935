/* meant.c: the error of a caller's own statement: the database's message, where in the statement it
 * is, and which names were perhaps meant, or the database's hint.
 *
 * The names are those that the caller's list has. With access rules or roles of callers, the
 * database's hint is left out, because it may name something that is hidden. The messages of
 * PostgreSQL are in the language of its installation, so a name is taken from the statement, at the
 * position of the error.
 */
#include "describe.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_NAME = 256 }; /* of a database that was compiled so */

/* ---- places and names in a statement --------------------------------------------------------- */

/* Returns the place of a character (from 1), with the number of its line and column. */
static const char *place_of(const char *sql, unsigned position, unsigned *line, unsigned *column)
{
    *line = *column = 1;
    for (; *sql && position > 1; position--) {
        *column = *sql == '\n' ? 1 : *column + 1;
        *line += *sql == '\n';
        sql++;
        while (((unsigned char)*sql & 0xc0) == 0x80)
            sql++;
    }
    return sql;
}

static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Reads one identifier, whose case does not matter here. Returns its end. */
static const char *take_identifier(const char *sql, char name[LONGEST_NAME])
{
    bool quoted = *sql == '"';
    size_t n = 0;
    for (sql += quoted; quoted ? *sql != 0 : is_of_word(*sql); sql++) {
        if (quoted && *sql == '"' && *++sql != '"')
            break;
        if (n + 1 < LONGEST_NAME)
            name[n++] = *sql;
    }
    name[n] = 0;
    return sql;
}

/* Reads the last part of a name such as sales.deal. */
static void take_last_part(const char *sql, char name[LONGEST_NAME])
{
    for (;;) {
        sql = take_identifier(sql, name);
        sql += strspn(sql, " \t\r\n");
        if (*sql != '.')
            return;
        sql++;
        sql += strspn(sql, " \t\r\n");
    }
}

/* ---- the error ------------------------------------------------------------------------------- */

/* Returns whether the caller may get the database's hint. About an unknown column (42703) it may name
 * one that the role may not read. */
static bool is_hint_open(const postgres_job *j)
{
    return !mcp_request_restricted(j->req) && !j->s->callers.on &&
           strcmp(j->op.state, "42703") != 0;
}

/* An alias that is missing in FROM has the state of an unknown table, and no similar name helps. */
static const char *statement_for(const postgres_job *j)
{
    static const char alias[] = "missing FROM-clause";
    if (strcmp(j->op.state, "42703") == 0)
        return postgres_columns_like;
    return strcmp(j->op.state, "42P01") == 0 && strncmp(j->op.text, alias, sizeof(alias) - 1) != 0
               ? postgres_tables_like
               : NULL;
}

static void end_near(postgres_job *j, int rc)
{
    char words[COMMON_NEAR_WORDS];
    (void)rc; /* without similar names the error is still said */
    const char *meant = j->near ? common_near_words(j->near, words) : "";
    postgres_put(&j->text, *meant || j->hint ? "." : "");
    postgres_put(&j->text, meant);
    if (!*meant && j->hint) {
        postgres_put(&j->text, " ");
        postgres_put(&j->text, j->hint);
    }
    const char *text = postgres_sql_text(&j->text);
    postgres_job_fail(j, MCP_CODE_INVALID_PARAMS, "%s", text ? text : "out of memory");
}

static int take_near(postgres_op *op, const PGresult *r)
{
    postgres_job *j = op->user;
    if (!PQntuples(r))
        return MCP_OK;
    postgres_target t = postgres_thing(r, 0);
    int rc = postgres_job_may(j, &t);
    if (rc == MCP_OK)
        common_near_try(j->near, mcp_str_from(PQgetvalue(r, 0, 3)),
                        mcp_str_from(PQgetvalue(r, 0, 4)));
    return rc == MCP_ENOTFOUND ? MCP_OK : rc;
}

static void look_for_near(postgres_job *j, const char *sql, const char *place)
{
    char *name = mcp_request_alloc(j->req, LONGEST_NAME);
    j->near = name ? mcp_request_alloc(j->req, sizeof(*j->near)) : NULL;
    if (!j->near) {
        end_near(j, MCP_ENOMEM);
        return;
    }
    take_last_part(place, name);
    *j->near = (common_near){.name = mcp_str_from(name)};
    j->op.value[0] = name;
    j->op.value[1] = j->op.alone;
    j->op.n_value = 2;
    j->op.outside = false;
    j->op.fetch = 0;
    postgres_job_look(j, sql, take_near, end_near);
}

void postgres_fail_statement(postgres_job *j)
{
    unsigned line, column;
    const char *place = NULL, *sql = statement_for(j);
    postgres_sql_reset(&j->text);
    postgres_put(&j->text, j->op.text);
    if (j->op.position) {
        place = place_of(j->op.alone, j->op.position, &line, &column);
        postgres_putf(&j->text, " (line %u, column %u)", line, column);
    }
    if (is_hint_open(j) && j->op.hint[0])
        j->hint = mcp_request_strdup(j->req, mcp_str_from(j->op.hint));
    if (place && sql)
        look_for_near(j, sql, place);
    else
        end_near(j, MCP_OK);
}
