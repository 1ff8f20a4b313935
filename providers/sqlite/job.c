/* job.c: one read, from its URI to its reply. It runs on the server's thread if that is quick,
 * otherwise on a worker. */
#define _GNU_SOURCE
#include "provider.h"

#include <stdarg.h>
#include <stdio.h>

#include "file.h"
#include "pieces.h"
#include "replies.h"
#include "table_text.h"

#define TOO_LARGE "The answer is too large: ask for less"

/* ---- creating a job -------------------------------------------------------------------------- */

static int (*const runs[])(sqlite_conn *, sqlite_job *) = {
    [SQLITE_KIND_DATABASE] = sqlite_run_database, [SQLITE_KIND_TABLE] = sqlite_run_table,
    [SQLITE_KIND_ROWS] = sqlite_run_rows,         [SQLITE_KIND_ROW] = sqlite_run_row,
    [SQLITE_KIND_CELL] = sqlite_run_cell,         [SQLITE_KIND_QUERY] = sqlite_run_saved,
};

sqlite_job *sqlite_job_new(sqlite *s, mcp_request *req, mcp_str uri, int *rc)
{
    mcp_str rest = {"", 0};
    *rc = uri.len && !common_pieces_behind(uri, s->base.prefix, &rest) ? MCP_ENOTFOUND : MCP_ENOMEM;
    if (*rc == MCP_ENOTFOUND)
        return NULL;
    sqlite_job *j = mcp_request_alloc(req, sizeof(*j) + uri.len + SQLITE_URI_ROOM);
    if (!j)
        return NULL;
    memset(j, 0, offsetof(sqlite_job, target));
    memset(&j->saved, 0, sizeof(*j) - offsetof(sqlite_job, saved));
    j->s = s;
    j->req = req;
    j->limit = s->max_rows;
    j->most = s->max_bytes;
    j->target.kind = SQLITE_KIND_DATABASE;
    j->uri = uri;
    common_asking_init(&j->asking, req, &s->base.alloc);
    if (!uri.len) /* a job of the tool */
        return j;
    *rc = sqlite_uri_parse(rest, j->room, &j->target);
    if (*rc != MCP_OK)
        return NULL;
    j->run = runs[j->target.kind];
    return j;
}

int sqlite_job_fail(sqlite_job *j, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(j->message, sizeof(j->message), format, args);
    va_end(args);
    j->code = code;
    j->found = true;
    return SQLITE_OK;
}

bool sqlite_job_number(sqlite_job *j, const char *name, uint64_t min, uint64_t max,
                       uint64_t fallback, uint64_t *ret)
{
    const mcp_str *text = sqlite_uri_param(&j->target, name);
    *ret = fallback;
    if (!text || common_pieces_number(*text, min, max, ret))
        return true;
    sqlite_job_fail(j, MCP_CODE_INVALID_PARAMS, "%s must be a whole number from %llu to %llu", name,
                    (unsigned long long)min, (unsigned long long)max);
    return false;
}

bool sqlite_job_format(sqlite_job *j)
{
    char why[300];
    if (common_table_format(sqlite_uri_param(&j->target, "format"), &j->as_text, why))
        return true;
    sqlite_job_fail(j, MCP_CODE_INVALID_PARAMS, "%s", why);
    return false;
}

bool sqlite_job_only(sqlite_job *j, const char *const *names)
{
    char why[300];
    if (common_pieces_only(j->target.param, j->target.n_param, names, why))
        return true;
    sqlite_job_fail(j, MCP_CODE_INVALID_PARAMS, "%s", why);
    return false;
}

/* ---- reply ----------------------------------------------------------------------------------- */

static int fail(const sqlite_job *j, int code, const char *text)
{
    return common_reply_fail(j->req, &j->s->base.alloc, j->as_tool, j->uri, code, text);
}

static void log_failure(const sqlite_job *j)
{
    common_source_log(&j->s->base, j->s->file.path,
                      j->far.text[0] ? j->far.text : mcp_error_text(j->far.rc));
}

static int too_large(const sqlite_job *j)
{
    return common_reply_too_large(
        j->req, &j->s->base.alloc, j->as_tool,
        &(common_too_large){.uri = j->uri,
                            .what = "A value",
                            .where = " of the cell",
                            .size = (uint64_t)j->size,
                            .limit = j->s->max_read,
                            .prefix = j->s->base.prefix,
                            .rest = "{table}/cell/{column}{/key*}{?offset,length}"});
}

/* Replies to an error of SQLite. The message about a statement of the tool is for its author; other
 * messages are for the operator. */
static int failed_in_sqlite(const sqlite_job *j)
{
    char text[400];
    if ((j->far.code & 0xff) == SQLITE_TOOBIG)
        return too_large(j);
    log_failure(j);
    if (j->as_tool)
        return mcp_reply_tool_error(j->req, "%s", j->far.text);
    snprintf(text, sizeof(text), "The database %.100s cannot be read now: %.200s", j->s->base.name,
             sqlite_words(j->req, j->far.text));
    return fail(j, MCP_CODE_INTERNAL, text);
}

static int took_too_long(const sqlite_job *j)
{
    char text[300];
    snprintf(text, sizeof(text), COMMON_DATABASE_TOO_LONG, (unsigned long long)j->s->timeout_ms);
    return fail(j, MCP_CODE_INTERNAL, text);
}

static int failed(const sqlite_job *j)
{
    switch (j->far.rc) {
    case MCP_EREMOTE: return failed_in_sqlite(j);
    case MCP_PENDING: /* without workers, no other thread can continue */
    case MCP_ETIMEOUT: log_failure(j); return took_too_long(j);
    case MCP_ELIMIT:
        log_failure(j);
        return fail(j, MCP_CODE_INTERNAL, "It needs too much memory: sort or group fewer rows");
    case MCP_ENOTFOUND: log_failure(j); return MCP_ENOTFOUND;
    default: return j->far.rc;
    }
}

static int reply_rows_of_tool(const sqlite_job *j)
{
    int rc = j->explained ? common_query_tool_explained(j->req, j->json, j->message)
                          : common_query_tool_reply(j->req, &j->s->base.alloc, j->given, j->json,
                                                    j->rows, j->more);
    return rc == MCP_ELIMIT ? fail(j, MCP_CODE_INTERNAL, TOO_LARGE) : rc;
}

static int reply_json(const sqlite_job *j)
{
    mcp_str text;
    if (j->as_tool)
        return reply_rows_of_tool(j);
    int rc = mcp_json_writer_finish(j->json, &text);
    if (rc == MCP_ELIMIT)
        return fail(j, MCP_CODE_INTERNAL, TOO_LARGE);
    if (rc != MCP_OK)
        return rc;
    return common_reply_table(j->req, &j->s->base.alloc, text, j->as_text, j->is_row);
}

static int reply(const sqlite_job *j)
{
    if (j->far.rc != MCP_OK)
        return failed(j);
    if (!j->found)
        return MCP_ENOTFOUND;
    if (j->too_large)
        return too_large(j);
    if (j->code)
        return fail(j, j->code, j->message);
    if (!j->bytes)
        return reply_json(j);
    return j->is_text ? mcp_reply_str(j->req, (mcp_str){j->bytes, j->len}, j->mime)
                      : mcp_reply_bytes(j->req, j->bytes, j->len, j->mime);
}

static void reset(sqlite_job *j)
{
    j->found = j->too_large = j->more = j->explained = false;
    j->rows = 0;
    j->code = 0;
    j->size = 0;
    sqlite3_free(j->bytes);
    j->bytes = NULL;
    j->len = 0;
    if (j->json)
        mcp_json_writer_reset(j->json);
}

static void drop(void *user)
{
    sqlite_job *j = user;
    mcp_json_writer_free(j->json);
    mcp_json_free(j->doc);
    sqlite3_free(j->bytes);
    common_asking_free(&j->asking);
}

/* ---- running --------------------------------------------------------------------------------- */

bool sqlite_job_may(sqlite_job *j, mcp_str table)
{
    if (!j->asking.needed)
        return true;
    sqlite3_str *uri = sqlite3_str_new(NULL);
    sqlite3_str_appendall(uri, j->s->base.prefix);
    sqlite_uri_put_text(uri, table);
    char *text = sqlite3_str_finish(uri);
    if (!text)
        j->asking.rc = MCP_ENOMEM;
    bool may = text && common_asking_may(&j->asking, mcp_str_from(text));
    sqlite3_free(text);
    return may;
}

static int run(sqlite_conn *conn, void *user)
{
    sqlite_job *j = user;
    j->asking.here = conn->near;
    reset(j);
    if (!j->json)
        j->json = mcp_json_writer_new(&j->s->base.alloc, 4 * j->s->max_read);
    return j->json ? j->run(conn, j) : SQLITE_NOMEM;
}

static int end(void *user)
{
    sqlite_job *j = user;
    if (common_asking_again(&j->asking, &j->far.rc))
        return sqlite_far_run(&j->far, true);
    int rc = reply(j);
    drop(j);
    return rc;
}

int sqlite_job_start(sqlite_job *j, bool far)
{
    j->far.s = j->s;
    j->far.req = j->req;
    j->far.use = run;
    j->far.end = end;
    j->far.drop = drop;
    j->far.user = j;
    j->far.bytes = (size_t)(j->target.kind == SQLITE_KIND_CELL ? j->s->max_read : j->s->max_bytes);
    return sqlite_far_run(&j->far, far);
}

/* ---- callbacks of the server ----------------------------------------------------------------- */

/* Returns whether a job starts on a worker. Pages of rows and saved queries read much data; other
 * jobs are tried on this thread first. */
static bool is_long(const sqlite_job *j)
{
    return j->target.kind == SQLITE_KIND_ROWS || j->target.kind == SQLITE_KIND_QUERY;
}

int sqlite_read(mcp_request *req, mcp_str uri, void *user)
{
    int rc;
    sqlite_job *j = sqlite_job_new(user, req, uri, &rc);
    return j ? sqlite_job_start(j, is_long(j)) : rc;
}

int sqlite_read_template(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)match; /* its variables are decoded, so "/" and "%2F" are the same in them */
    return sqlite_read(req, uri, user);
}
