/* query.c: runs statements from outside, which are the tool's and saved queries.
 *
 * There are several lines of defence, each of which would stop most attacks. Only a statement that
 * begins like a read is sent. The protocol accepts only one statement. A query is embedded in
 * DECLARE CURSOR, which the server allows only for queries that change nothing. It runs in a
 * read-only transaction, in which an earlier query has made this mode permanent. The transaction is
 * rolled back, and the state of the session is discarded. A role that could do harm by reading
 * (files of the server, programs) is not used unless the operator allows it.
 */
#include "provider.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "text.h"

enum {
    LONGEST_SQL = POSTGRES_LONGEST_SQL,
    LONGEST_TEXT = 64 << 10,
    LONGEST_BLOB = 4 << 10, /* BLOBs up to this many bytes are returned in Base64 */
    DISCARDED = 256 << 10,  /* bytes of further rows that cost less than a new connection */
};

/* ---- the beginning of a statement ------------------------------------------------------------ */

/* Skips a comment, white space or an opening parenthesis. Returns false if there is none. */
static bool skip_one(const char **p)
{
    const char *s = *p;
    if (isspace((unsigned char)*s) || *s == '(') {
        (*p)++;
        return true;
    }
    if (s[0] == '-' && s[1] == '-') {
        *p += strcspn(s, "\r\n"); /* PostgreSQL ends a comment at either */
        return true;
    }
    if (s[0] != '/' || s[1] != '*')
        return false;
    size_t depth = 0;
    do { /* comments can be nested */
        bool open = s[0] == '/' && s[1] == '*', close = s[0] == '*' && s[1] == '/';
        depth += open;
        depth -= close;
        s += open || close ? 2 : 1;
    } while (depth && *s);
    *p = s;
    return true;
}

/* Reads the first word, in lower case; it is cut off after 11 letters. */
static void first_word(const char *sql, bool in_parentheses, char word[12])
{
    size_t n = 0;
    while ((in_parentheses || *sql != '(') && skip_one(&sql))
        ;
    while (isalpha((unsigned char)sql[n]) && n < 11) {
        word[n] = (char)tolower((unsigned char)sql[n]);
        n++;
    }
    word[n] = 0;
}

postgres_beginning postgres_beginning_of(const char *sql)
{
    static const struct {
        const char *word;
        postgres_beginning is;
    } words[] = {{"select", POSTGRES_QUERY},      {"with", POSTGRES_QUERY},
                 {"values", POSTGRES_QUERY},      {"table", POSTGRES_QUERY},
                 {"explain", POSTGRES_STATEMENT}, {"show", POSTGRES_STATEMENT}};
    char word[12];
    first_word(sql, true, word);
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcmp(word, words[i].word) == 0)
            return words[i].is;
    return POSTGRES_REFUSED;
}

/* A statement of PostgreSQL that begins with one of these words is that command and no other. */
const char *postgres_change_of(const char *sql)
{
    static const char *const commands[] = {"INSERT", "UPDATE", "DELETE", "MERGE"};
    char word[12];
    first_word(sql, false, word);
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
        if (strcasecmp(word, commands[i]) == 0)
            return commands[i];
    return NULL;
}

/* ---- results --------------------------------------------------------------------------------- */

/* The name may not be UTF-8, because a statement may have changed the encoding, and a database
 * may have none. */
static void add_name(mcp_json_writer *w, const char *name)
{
    mcp_json_add_string(w, common_text_utf8(mcp_str_from(name)) ? name : "?");
}

void postgres_put_names(postgres_job *j, const PGresult *r)
{
    mcp_json_begin_object(j->json);
    mcp_json_key(j->json, "columns");
    mcp_json_begin_array(j->json);
    for (int i = 0; i < PQnfields(r); i++)
        add_name(j->json, PQfname(r, i));
    mcp_json_end(j->json);
    mcp_json_key(j->json, "rows");
    mcp_json_begin_array(j->json);
}

static bool ends_in_a_character(mcp_str text, size_t at)
{
    return at == text.len || ((unsigned char)text.ptr[at] & 0xc0) != 0x80;
}

/* Writes a long value: its size, and its beginning if it is text. Binary values, and text that is
 * not UTF-8, are written in full if they are small. */
static void put_long(postgres_job *j, const PGresult *r, int at, size_t longest)
{
    unsigned char bytes[LONGEST_BLOB];
    mcp_json_writer *w = j->json;
    mcp_str text = {PQgetvalue(r, 0, at), (size_t)PQgetlength(r, 0, at)};
    bool bytea = PQftype(r, at) == POSTGRES_BYTEA;
    size_t size = bytea ? postgres_bytes(text, bytes, sizeof(bytes)) : text.len;
    size_t cut = text.len < longest ? text.len : longest;
    while (cut && !ends_in_a_character(text, cut))
        cut--;
    bool blob = bytea || !common_text_utf8((mcp_str){text.ptr, cut});
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "type", blob ? "blob" : "text");
    mcp_json_put_uint(w, "size", size);
    if (!blob)
        mcp_json_put_str(w, "begins", (mcp_str){text.ptr, cut});
    else if (size <= sizeof(bytes) && size <= longest)
        mcp_json_put_base64(w, "base64", bytea ? (void *)bytes : text.ptr, size);
    mcp_json_end(w);
    j->size += 100 + (blob ? 2 * sizeof(bytes) : cut);
}

void postgres_put_row(postgres_job *j, const PGresult *r)
{
    size_t longest = j->longest ? j->longest : LONGEST_TEXT;
    mcp_json_begin_array(j->json);
    for (int i = 0; i < PQnfields(r); i++)
        if (!postgres_put_value(j->json, r, i, longest, &j->size))
            put_long(j, r, i, longest);
    mcp_json_end(j->json);
    j->rows++;
}

/* Returns about how many bytes a row has when it is written. */
static size_t size_of(const postgres_job *j, const PGresult *r)
{
    size_t size = 0;
    for (int i = 0; i < PQnfields(r); i++)
        size += common_query_tool_size((mcp_str){PQgetvalue(r, 0, i), (size_t)PQgetlength(r, 0, i)},
                                       j->longest);
    return size;
}

static void begin_result(postgres_job *j, const PGresult *r)
{
    j->begun = true;
    postgres_put_names(j, r);
    j->longest = j->as_tool ? common_query_tool_value(j->most, (size_t)PQnfields(r), LONGEST_TEXT)
                            : LONGEST_TEXT;
}

static int put_result_row(postgres_op *op, const PGresult *r)
{
    postgres_job *j = op->user;
    if (!j->begun)
        begin_result(j, r);
    if (!PQntuples(r) || (!op->fetch && op->rows <= op->skip))
        return MCP_OK;
    size_t size = size_of(j, r);
    j->more = j->more || j->rows == j->limit || (j->rows && j->size + size > j->most);
    size += j->size;
    if (!j->more)
        postgres_put_row(j, r);
    j->size = size;
    return !j->more || op->rows == op->fetch || j->size < j->most + DISCARDED ? MCP_OK
                                                                              : MCP_PENDING;
}

/* The database's message about a statement is shown only to its author. The reader of a saved query
 * has supplied only the parameters. */
static void fail_with_words(postgres_job *j)
{
    if (j->op.refused) {
        postgres_job_broken(j, MCP_EREMOTE);
        return;
    }
    bool saved = !j->as_tool, value = strncmp(j->op.state, "22", 2) == 0;
    if (saved && !value)
        postgres_job_fail(j, MCP_CODE_INTERNAL, COMMON_QUERY_BROKEN, j->target.name.ptr,
                          postgres_job_words(j, "the database refuses it"));
    else if (saved)
        postgres_job_fail(
            j, MCP_CODE_INVALID_PARAMS, "%.400s",
            postgres_job_words(j, "A parameter has a value that the query does not accept"));
    else
        postgres_fail_statement(j);
}

static void reply_result(postgres_job *j)
{
    if (!j->begun) { /* a statement without columns */
        postgres_job_fail(j, MCP_CODE_INVALID_PARAMS, "The statement has no result");
        return;
    }
    mcp_json_end(j->json);
    if (!j->as_tool) {
        mcp_json_put_bool(j->json, "truncated", j->more);
        mcp_json_end(j->json);
        postgres_job_reply_json(j);
        return;
    }
    int rc = common_query_tool_reply(j->req, &j->s->base.alloc, j->own, j->json, j->rows, j->more);
    if (rc == MCP_ELIMIT)
        postgres_job_fail(j, MCP_CODE_INTERNAL, "The answer is too large: ask for less");
    else
        postgres_job_finish(j, rc);
}

void postgres_end_statement(postgres_job *j, int rc)
{
    bool too_large = rc == MCP_EREMOTE && strstr(j->op.text, "a row of ");
    if (rc == MCP_ELIMIT || too_large) {
        postgres_job_fail(j, MCP_CODE_INTERNAL, "A row is too large: select less of it");
    } else if (rc == MCP_EREMOTE && strcmp(j->op.state, "57014") != 0) {
        fail_with_words(j);
    } else if (rc == MCP_EACCESS) {
        postgres_job_fail(
            j, MCP_CODE_INTERNAL,
            "Queries are disabled: this server's database role is a superuser or may read the "
            "database server's files. Its operator should use a role with fewer privileges");
    } else if (rc != MCP_OK) {
        postgres_job_broken(j, rc);
    } else {
        reply_result(j);
    }
}

size_t postgres_query_length(const char *sql)
{
    size_t len = strlen(sql);
    while (len && (isspace((unsigned char)sql[len - 1]) || sql[len - 1] == ';'))
        len--;
    return len;
}

/* The server has already parsed the statement by itself (postgres_op.alone), so a parenthesis in it
 * cannot close the subquery here. The database limits the size of a row, because libpq always
 * receives whole rows. */
void postgres_put_query(postgres_sql *to, const char *sql, size_t max_bytes)
{
    postgres_put(to, "DECLARE mcp_cursor NO SCROLL CURSOR FOR SELECT mcp_row.* FROM (");
    postgres_put_str(to, (mcp_str){sql, postgres_query_length(sql)});
    postgres_putf(
        to,
        "\n) AS mcp_row WHERE pg_catalog.pg_column_size(mcp_row) <= %zu OR ('a row of ' || "
        "pg_catalog.pg_column_size(mcp_row) || ' bytes')::pg_catalog.bool",
        4 * max_bytes);
}

void postgres_run_outside(postgres_job *j, mcp_str sql)
{
    if (sql.len > LONGEST_SQL || !sql.ptr || memchr(sql.ptr, 0, sql.len)) {
        postgres_job_fail(j, MCP_CODE_INVALID_PARAMS,
                          "The statement is longer than %d bytes, or contains NUL", LONGEST_SQL);
        return;
    }
    postgres_beginning is = postgres_beginning_of(sql.ptr);
    if (is == POSTGRES_REFUSED) {
        postgres_job_fail(j, MCP_CODE_INVALID_PARAMS, "This is not run: " POSTGRES_WHAT_IS_RUN);
        return;
    }
    postgres_sql_reset(&j->sql);
    if (is == POSTGRES_QUERY)
        postgres_put_query(&j->sql, sql.ptr, j->s->max_bytes);
    else
        postgres_put_str(&j->sql, sql);
    j->op.outside = true;
    j->op.alone = sql.ptr;
    j->op.statement = 0;
    j->op.fetch = is == POSTGRES_QUERY ? j->limit + 1 : 0;
    postgres_job_run(j, NULL, put_result_row, postgres_end_statement);
}
