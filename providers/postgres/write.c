/* write.c: the tools of saved statements that change rows.
 *
 * Each statement is the operator's; a caller chooses it and gives its parameters. Whether the caller may
 * do so is asked three times (mcp_request_may_do() with MCP_OPERATION_COMMIT and the tool's name):
 * when it is called, just before the transaction begins, and before COMMIT is sent. Everything else of
 * the provider stays as it is: read-only, and rolled back.
 */
#define _GNU_SOURCE
#include "provider.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <mcp/audit.h>

enum {
    LONGEST_NAME = 64, /* the limit of the strictest model API */
    MOST_SHOWN = 3000, /* bytes of all parameters in a question */
    LEAST_SHOWN = 90,  /* bytes of one */
};

/* One call. */
typedef struct writing {
    postgres_job *j;
    const postgres_change *change;
    mcp_effect granted; /* ask: the person has consented */
    postgres_write write;
} writing;

/* ---- loading --------------------------------------------------------------------------------- */

size_t postgres_n_saved(const postgres *s)
{
    return s->base.queries.n + s->writes.n;
}

const common_query *postgres_saved_at(const postgres *s, size_t i)
{
    size_t n = s->base.queries.n;
    return i < n ? &s->base.queries.query[i] : &s->writes.query[i - n];
}

/* Characters that not every model API allows become "_". */
static void make_name(char name[128], const char *database, const char *statement)
{
    snprintf(name, 128, "write_%.*s_%.*s", COMMON_NAME_MAX - 8, database, 64, statement);
    for (char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-')
            *p = '_';
}

static int load(postgres *s, postgres_change *c, const common_query *q, mcp_error *error)
{
    *c = (postgres_change){.s = s, .q = q, .command = postgres_change_of(q->sql)};
    make_name(c->name, s->base.name, q->name);
    if (!c->command)
        return common_query_refuse(error, q->name,
                                   "with \"write\" it has to begin with INSERT, UPDATE, DELETE or "
                                   "MERGE");
    if (strlen(q->sql) > POSTGRES_LONGEST_SQL)
        return common_query_refuse(error, q->name, "it is longer than %d bytes",
                                   POSTGRES_LONGEST_SQL);
    if (strlen(c->name) > LONGEST_NAME)
        return common_query_refuse(error, q->name,
                                   "the name of its tool, write_DATABASE_QUERY, is longer than %d "
                                   "bytes: shorten one of them",
                                   LONGEST_NAME);
    return MCP_OK;
}

int postgres_writes_load(postgres *s, mcp_error *error)
{
    size_t n = s->writes.n;
    if (!n)
        return MCP_OK;
    s->change = common_alloc(&s->base.alloc, n * sizeof(*s->change));
    if (!s->change)
        return MCP_ENOMEM;
    int rc = common_confirms_new(&s->base.alloc, &s->confirms);
    for (size_t i = 0; rc == MCP_OK && i < n; i++)
        rc = load(s, &s->change[i], &s->writes.query[i], error);
    return rc;
}

void postgres_writes_free(postgres *s)
{
    common_confirms_free(s->confirms);
    common_release(&s->base.alloc, s->change);
    common_queries_free(&s->writes, &s->base.alloc);
}

/* ---- rights ---------------------------------------------------------------------------------- */

static mcp_effect effect_on(const mcp_request *req, const postgres_change *c)
{
    return mcp_request_may_do(req, MCP_OPERATION_COMMIT, MCP_ITEM_TOOL, mcp_str_from(c->name), 0);
}

static bool offered(const mcp_request *req, void *user)
{
    return effect_on(req, user) != MCP_EFFECT_DENY;
}

/* Rules may have changed since the call. After COMMIT was sent, the request is not cancelled any more:
 * a connection that is closed then would make its outcome unknown. */
static bool may(void *user, bool end)
{
    writing *w = user;
    if (effect_on(w->j->req, w->change) < w->granted || mcp_request_cancelled(w->j->req))
        return false;
    if (end)
        mcp_request_on_cancel(w->j->req, NULL, NULL);
    return true;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static uint64_t hash(const char *text)
{
    uint64_t h = 14695981039346656037U;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211U;
    return h;
}

/* Appends "NAME = VALUE" in a line of its own: no value can look like another parameter, or push it out
 * of the question. */
static bool put_parameter(common_buffer *to, const char *name, const char *value, size_t most)
{
    mcp_str text = mcp_str_from(value), shown = {"NULL", 4};
    char more[60] = "";
    mcp_json_writer *w = mcp_json_writer_new(&to->alloc, 0);
    if (text.len > most) {
        snprintf(more, sizeof(more), " and %zu more bytes", text.len - most);
        for (text.len = most; text.len && ((unsigned char)text.ptr[text.len] & 0xc0) == 0x80;)
            text.len--;
    }
    if (value)
        mcp_json_add_str(w, text);
    bool ok = w && (!value || mcp_json_writer_finish(w, &shown) == MCP_OK);
    ok = ok && common_put(to, "\n") && common_put(to, name) && common_put(to, " = ") &&
         common_buffer_append(to, shown.ptr, shown.len) == MCP_OK && common_put(to, more);
    mcp_json_writer_free(w);
    return ok;
}

static bool put_question(common_buffer *to, const writing *w)
{
    const common_query *q = w->change->q;
    char head[100];
    size_t most = q->n_parameter ? MOST_SHOWN / q->n_parameter : 0;
    most = most > LEAST_SHOWN ? most : LEAST_SHOWN;
    snprintf(head, sizeof(head), "%s of at most %zu row%s of the database ", w->change->command,
             q->rows, q->rows == 1 ? "" : "s");
    bool ok = common_put(to, head) && common_put(to, w->j->s->base.name) && common_put(to, ": ") &&
              common_put(to, q->title ? q->title : q->name);
    for (size_t i = 0; ok && i < q->n_parameter; i++)
        ok = put_parameter(to, q->parameter[i].name, w->j->op.value[i], most);
    return ok;
}

static int confirm(writing *w)
{
    char binding[100];
    postgres *s = w->j->s;
    common_buffer text;
    common_buffer_init(&text, &s->base.alloc);
    snprintf(binding, sizeof(binding), "%zu %016" PRIx64, w->change->q->rows,
             hash(w->change->q->sql));
    common_change what = {.operation = "commit",
                          .uri = mcp_str_from(w->change->name),
                          .binding = mcp_str_from(binding)};
    int rc = MCP_ENOMEM;
    if (put_question(&text, w)) {
        what.content = (mcp_str){text.ptr, text.len};
        rc = common_confirm(w->j->req, s->confirms, &what, s->host.now(s->host.user));
    }
    common_buffer_free(&text);
    if (rc == MCP_EREMOTE)
        mcp_request_note_denied(w->j->req);
    return rc;
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* Rows of RETURNING that do not fit are left out, but received: the change is what was asked for. */
static int put_returned(postgres_op *op, const PGresult *r)
{
    postgres_job *j = op->user;
    if (!j->more && !j->rows)
        postgres_put_names(j, r);
    if (!PQntuples(r))
        j->more = j->rows == 0; /* there are only names */
    else if (j->rows == j->limit || (j->rows && j->size > j->s->max_bytes))
        j->offset = 1;
    else
        postgres_put_row(j, r);
    return MCP_OK;
}

/* What was committed is said in any case, if only as a number. */
static void answer(postgres_job *j, const writing *w)
{
    mcp_str text;
    bool returned = j->rows || j->more;
    if (returned) {
        mcp_json_end(j->json);
        mcp_json_put_bool(j->json, "truncated", j->offset != 0);
    } else {
        mcp_json_begin_object(j->json);
    }
    mcp_json_put_uint(j->json, "changed", w->write.rows);
    mcp_json_end(j->json);
    if (mcp_json_writer_finish(j->json, &text) != MCP_OK) {
        mcp_json_writer_reset(j->json);
        mcp_json_begin_object(j->json);
        mcp_json_put_uint(j->json, "changed", w->write.rows);
        mcp_json_put_bool(j->json, "truncated", true);
        mcp_json_end(j->json);
    }
    postgres_job_reply_json(j);
}

#define LOOK_FIRST                                                                                 \
    "The outcome is unknown: the connection to the database was lost after COMMIT was sent. Look " \
    "whether the change was made before you try again"
#define NOTHING "Nothing was changed: "

/* Reasons that a caller can understand, by the beginning of the database's code. */
static const struct {
    const char *state, *why;
} reasons[] = {
    {"22", "a parameter has a value that the statement does not accept"},
    {"23", "a constraint of the database does not allow it"},
    {"25006", "the database is read-only now"},
    {"40", "it was in conflict with another change; it may be tried again"},
    {"55P03", "it waited too long for a lock; it may be tried again"},
    {"57014", "it took too long"},
    {"P0", "a trigger or a function of the database refused it"},
};

/* The database's message may mention something hidden. */
static void fail_with_reason(postgres_job *j, const writing *w)
{
    const char *words = postgres_job_words(j, "");
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons) && !j->op.refused; i++)
        if (strncmp(j->op.state, reasons[i].state, strlen(reasons[i].state)) == 0) {
            postgres_job_fail(j, MCP_CODE_INVALID_PARAMS, NOTHING "%s%s%.250s", reasons[i].why,
                              *words ? ": " : "", words);
            return;
        }
    common_source_log(&j->s->base, w->change->name, j->op.text);
    postgres_job_fail(j, MCP_CODE_INTERNAL,
                      NOTHING "%.250s. The operator of this server has to "
                              "correct it",
                      *words ? words : "the log of this server has the reason");
}

static void fail_undone(postgres_job *j, const writing *w)
{
    size_t most = w->change->q->rows;
    if (w->write.denied)
        mcp_request_note_denied(j->req);
    if (w->write.many)
        postgres_job_fail(j, MCP_CODE_INVALID_PARAMS,
                          NOTHING "it would have been %" PRIu64 " rows, and at most %zu %s allowed",
                          w->write.rows, most, most == 1 ? "is" : "are");
    else if (w->write.denied)
        postgres_job_fail(j, MCP_CODE_INVALID_PARAMS,
                          NOTHING "the rules of this server have changed since you called it");
    else
        postgres_job_fail(j, MCP_CODE_INTERNAL, NOTHING "the database did not run it as one %s",
                          w->change->command);
}

static void fail(postgres_job *j, const writing *w, int rc)
{
    switch (rc) {
    case MCP_EREMOTE: fail_with_reason(j, w); break;
    case MCP_ECANCELLED: fail_undone(j, w); break;
    case MCP_EACCESS:
        postgres_job_fail(j, MCP_CODE_INTERNAL,
                          NOTHING "this server's database role is a superuser or may read the "
                                  "database server's files. Its operator should use a role with "
                                  "fewer privileges");
        break;
    case MCP_ETIMEOUT:
        postgres_job_fail(j, MCP_CODE_INTERNAL, NOTHING "it took too long; it may be tried again");
        break;
    case MCP_ELIMIT:
        postgres_job_fail(j, MCP_CODE_INTERNAL, NOTHING "a row of its answer is too large");
        break;
    case MCP_ECLOSED:
    case MCP_EFILES:
        postgres_job_fail(j, MCP_CODE_INTERNAL,
                          NOTHING "the database %.64s cannot be reached now; try again later",
                          j->s->base.name);
        break;
    default: postgres_job_finish(j, rc);
    }
}

static void end(postgres_job *j, int rc)
{
    const writing *w = j->own;
    bool unknown = w->write.sent && rc != MCP_OK && rc != MCP_EREMOTE;
    if (rc == MCP_OK || unknown)
        postgres_rows_changed(j->s);
    if (unknown) {
        common_source_log(&j->s->base, w->change->name,
                          "the outcome is unknown, because the connection to the database was lost "
                          "after COMMIT was sent");
        postgres_job_fail(j, MCP_CODE_INTERNAL, LOOK_FIRST);
    } else if (rc == MCP_OK) {
        answer(j, w);
    } else {
        fail(j, w, rc);
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int deny(mcp_request *req, const postgres_change *c)
{
    mcp_request_note_denied(req);
    return mcp_reply_tool_error(req,
                                "%s: no rule of this server's owner allows you to commit with it. "
                                "Nothing was changed",
                                c->name);
}

/* Sets the parameters. Returns false with the reply if one is invalid. */
static bool take_values(postgres_job *j, const common_query *q, const mcp_json *arguments, int *rc)
{
    for (size_t i = 0; i < q->n_parameter; i++) {
        const common_parameter *p = &q->parameter[i];
        mcp_str given = mcp_json_string(mcp_json_get(arguments, p->name));
        j->op.value[i] = given.ptr ? mcp_request_strdup(j->req, given) : p->value;
        if (given.ptr && !j->op.value[i]) {
            *rc = MCP_ENOMEM;
            return false;
        }
        if (given.ptr && given.len && memchr(given.ptr, 0, given.len)) {
            *rc = mcp_reply_tool_error(j->req, "The parameter %.64s contains NUL", p->name);
            return false;
        }
    }
    j->op.n_value = (int)q->n_parameter;
    return true;
}

static void run(postgres_job *j)
{
    writing *w = (writing *)(uintptr_t)j->own;
    j->op.outside = true;
    j->op.write = &w->write;
    j->limit = j->s->max_rows;
    postgres_job_run(j, w->change->q->sql, put_returned, end);
}

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    const postgres_change *c = user;
    int rc;
    mcp_effect granted = effect_on(req, c);
    mcp_request_note_change(req, MCP_OPTIONS(mcp_audit_change, .operation = "commit"));
    if (granted == MCP_EFFECT_DENY)
        return deny(req, c);
    postgres_job *j = postgres_job_new(c->s, req, (mcp_str){"", 0}, &rc);
    if (!j)
        return rc;
    writing *w = mcp_request_alloc(req, sizeof(*w));
    if (!w)
        return MCP_ENOMEM;
    *w = (writing){.j = j,
                   .change = c,
                   .granted = granted,
                   .write = {.command = c->command, .most = c->q->rows, .may = may, .user = w}};
    j->as_tool = true;
    j->own = w;
    if (!take_values(j, c->q, arguments, &rc))
        return rc;
    rc = granted == MCP_EFFECT_ASK ? confirm(w) : MCP_OK;
    if (rc != MCP_OK)
        return rc == MCP_EREMOTE ? MCP_OK : rc;
    return postgres_job_start(j, run);
}

/* ---- registration ---------------------------------------------------------------------------- */

static const char output_schema[] =
    "{\"type\":\"object\",\"required\":[\"changed\"],\"properties\":{\"changed\":{\"type\":"
    "\"integer\",\"description\":\"Number of rows that the statement changed\"},\"columns\":{"
    "\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"rows\":{\"type\":\"array\",\"items\":{"
    "\"type\":\"array\",\"items\":{}}},\"truncated\":{\"type\":\"boolean\",\"description\":\"Not "
    "all rows of the answer are shown\"}}}";

static void put_property(mcp_json_writer *w, const common_parameter *p)
{
    mcp_json_key(w, p->name);
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "type", "string");
    if (p->description)
        mcp_json_put_string(w, "description", p->description);
    if (p->value)
        mcp_json_put_string(w, "default", p->value);
    mcp_json_end(w);
}

/* Each parameter is a string, which the database converts to the type that the statement implies. */
static void put_input(mcp_json_writer *w, const common_query *q)
{
    mcp_json_begin_object(w);
    mcp_json_put_string(w, "type", "object");
    mcp_json_put_bool(w, "additionalProperties", false);
    mcp_json_key(w, "properties");
    mcp_json_begin_object(w);
    for (size_t i = 0; i < q->n_parameter; i++)
        put_property(w, &q->parameter[i]);
    mcp_json_end(w);
    mcp_json_key(w, "required");
    mcp_json_begin_array(w);
    for (size_t i = 0; i < q->n_parameter; i++)
        if (q->parameter[i].required && !q->parameter[i].value)
            mcp_json_add_string(w, q->parameter[i].name);
    mcp_json_end(w);
    mcp_json_end(w);
}

/* An INSERT only adds, unless it says what to do in a conflict. */
static bool is_destructive(const postgres_change *c)
{
    return strcmp(c->command, "INSERT") != 0 || strcasestr(c->q->sql, "conflict");
}

static bool put_about(common_buffer *to, const postgres_change *c)
{
    char rest[120];
    const common_query *q = c->q;
    bool ok = !q->description || (common_put(to, q->description) && common_put(to, "\n"));
    snprintf(rest, sizeof(rest), " with one %s, and commits. More than %zu row%s would be undone",
             c->command, q->rows, q->rows == 1 ? "" : "s");
    return ok && common_put(to, "Changes the PostgreSQL database ") &&
           common_put(to, c->s->base.name) && common_put(to, rest) &&
           common_buffer_append(to, "", 1) == MCP_OK;
}

static int add(postgres_change *c, common_offer offer, const char *about, const char *input,
               mcp_error *error)
{
    const common_query *q = c->q;
    /* What happens if it is repeated depends on the statement: count = count + 1 */
    int rc = common_offer_tool(
        offer,
        MCP_OPTIONS(mcp_tool, .name = c->name, .title = q->title ? q->title : q->name,
                    .description = about, .input_schema = input, .output_schema = output_schema,
                    .read_only = MCP_HINT_NO,
                    .destructive = is_destructive(c) ? MCP_HINT_YES : MCP_HINT_NO,
                    .idempotent = MCP_HINT_NO, .open_world = MCP_HINT_NO, .call = call,
                    .timeout_ms = UINT64_MAX, .offered = offered),
        c, error);
    return rc == MCP_EEXIST
               ? common_query_refuse(error, q->name,
                                     "another source has the tool %.64s; rename one", c->name)
               : rc;
}

static int offer_one(postgres_change *c, common_offer offer, mcp_error *error)
{
    const mcp_allocator *alloc = &c->s->base.alloc;
    common_buffer about;
    mcp_str input;
    mcp_json_writer *w = mcp_json_writer_new(alloc, 0);
    common_buffer_init(&about, alloc);
    put_input(w, c->q);
    int rc = put_about(&about, c) ? mcp_json_writer_finish(w, &input) : MCP_ENOMEM;
    char *schema = rc == MCP_OK ? common_copy(alloc, input.ptr, input.len) : NULL;
    if (rc == MCP_OK)
        rc = schema ? add(c, offer, about.ptr, schema, error) : MCP_ENOMEM;
    common_release(alloc, schema);
    common_buffer_free(&about);
    mcp_json_writer_free(w);
    return rc;
}

int postgres_writes_offer(common_source *base, common_offer offer, mcp_error *error)
{
    postgres *s = (postgres *)base;
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < s->writes.n; i++)
        rc = offer_one(&s->change[i], offer, error);
    return rc;
}
