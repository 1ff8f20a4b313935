/* health.c: the tool database_health: what the counters of the database say of its indexes, tables and
 * running statements. It is there with the option of the source, and under access rules only for those whom
 * a rule allows it by its name.
 */
#include "health.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "normal.h"

enum {
    MOST = 10,              /* entries of a part */
    MOST_LOOKED_AT = 200,   /* with access rules, some of them may be hidden */
    LONGEST_TOOL_NAME = 64, /* the limit of the strictest model API */
};

/* A part of the answer. Without `head` its only entry is an object, and its line stands for itself. */
static const struct part {
    const char *key, *head;
} parts[POSTGRES_HEALTH_PARTS] = {
    [POSTGRES_HEALTH_SUBJECT] = {"tables", ""},
    [POSTGRES_HEALTH_COUNTED] = {"counted", NULL},
    [POSTGRES_HEALTH_CACHE] = {"cache", NULL},
    [POSTGRES_HEALTH_TRANSACTIONS] = {"transaction_ids", NULL},
    [POSTGRES_HEALTH_UNUSED] = {"unused_indexes",
                                "Indexes that were never used, and keep no constraint"},
    [POSTGRES_HEALTH_SCANS] = {"sequential_scans",
                               "Tables often read as a whole, where an index may be missing"},
    [POSTGRES_HEALTH_DEAD] = {"dead_rows", "Tables with many dead rows (estimated)"},
    [POSTGRES_HEALTH_DUPLICATE] = {"duplicate_indexes", "Indexes that another one makes needless"},
    [POSTGRES_HEALTH_INVALID] = {"invalid_indexes",
                                 "Indexes that are not valid (being built, or failed)"},
    [POSTGRES_HEALTH_STATEMENTS] = {"running_statements",
                                    "Statements of this role that run for more than a second"},
};

/* One call. */
typedef struct looking {
    postgres_job *j;
    const char *schema, *table; /* NULL: all */
    size_t part, n;             /* where the answer is, and the entries of this part */
    bool found;                 /* what the caller named */
} looking;

/* ---- the answer ------------------------------------------------------------------------------ */

/* Names may contain anything, so a line end of theirs is none of the text. */
void postgres_put_line(postgres_sql *to, const char *text)
{
    for (; *text; text++)
        postgres_put_str(to, (unsigned char)*text < ' ' ? MCP_STR(" ") : (mcp_str){text, 1});
}

static bool is_list(size_t part)
{
    return parts[part].head != NULL;
}

/* Whether the part is in the answer: what is about the whole database is not, if only a part of it was
 * asked for. */
static bool is_asked(const looking *l, size_t part)
{
    bool named = l->schema || l->table;
    if (part == POSTGRES_HEALTH_SUBJECT)
        return l->table != NULL;
    return !named || (part != POSTGRES_HEALTH_CACHE && part != POSTGRES_HEALTH_TRANSACTIONS &&
                      part != POSTGRES_HEALTH_STATEMENTS);
}

static void end_part(looking *l)
{
    postgres_job *j = l->j;
    if (!is_list(l->part) || !is_asked(l, l->part))
        return;
    mcp_json_end(j->json);
    if (*parts[l->part].head)
        postgres_put(&j->text, l->n ? "" : ": none.\n");
}

static void begin_part(looking *l)
{
    l->n = 0;
    if (!is_list(l->part) || !is_asked(l, l->part))
        return;
    mcp_json_put_array(l->j->json, parts[l->part].key);
    postgres_put(&l->j->text, parts[l->part].head);
}

static void go_to(looking *l, size_t part)
{
    while (l->part < part) {
        end_part(l);
        l->part++;
        if (l->part < POSTGRES_HEALTH_PARTS)
            begin_part(l);
    }
}

/* Writes the members of the database's object, except those that are null. */
static void put_members(mcp_json_writer *w, const mcp_json *entry)
{
    mcp_json_iter at = {0};
    mcp_str key;
    for (const mcp_json *v; (v = mcp_json_next(entry, &at, &key)) != NULL;) {
        if (mcp_json_is(v, MCP_JSON_NULL))
            continue;
        mcp_json_key_str(w, key);
        mcp_json_add_value(w, v);
    }
}

static void put_entry(looking *l, const mcp_json *entry, const char *line, const char *statement)
{
    postgres_job *j = l->j;
    const char *head = parts[l->part].head;
    postgres_put(&j->text, !head || !*head ? "" : l->n ? "- " : ":\n- ");
    postgres_put_line(&j->text, line);
    if (statement)
        postgres_put(&j->text, ": ");
    postgres_put_line(&j->text, statement ? statement : "");
    postgres_put(&j->text, "\n");
    if (!head)
        mcp_json_key(j->json, parts[l->part].key);
    mcp_json_begin_object(j->json);
    put_members(j->json, entry);
    if (statement)
        mcp_json_put_string(j->json, "statement", statement);
    mcp_json_end(j->json);
    l->n++;
}

/* Whether there is room for an entry: in its part, and in the answer. */
static bool fits(looking *l, size_t size)
{
    postgres_job *j = l->j;
    if (l->n < MOST && j->size + size <= j->most)
        return true;
    j->more = true;
    return false;
}

/* Returns the statement without its constants, or NULL if there is none to show. */
static const char *statement_of(postgres_job *j, const PGresult *r, int at)
{
    postgres_sql_reset(&j->sql);
    if (PQgetisnull(r, 0, at))
        return NULL;
    postgres_put_normal(&j->sql, PQgetvalue(r, 0, at));
    return postgres_sql_text(&j->sql);
}

static int take_entry(looking *l, const PGresult *r)
{
    postgres_job *j = l->j;
    mcp_json_doc *doc = NULL;
    const char *line = PQgetvalue(r, 0, 5), *statement = statement_of(j, r, 6);
    mcp_str text = {PQgetvalue(r, 0, 4), (size_t)PQgetlength(r, 0, 4)};
    size_t size = 2 * (text.len + strlen(line) + (statement ? 2 * strlen(statement) : 0));
    if (j->sql.failed)
        return MCP_ENOMEM;
    if (!fits(l, size))
        return MCP_OK;
    int rc = mcp_json_parse(text, NULL, &j->s->base.alloc, &doc, NULL);
    if (rc == MCP_OK) {
        put_entry(l, mcp_json_root(doc), line, statement);
        j->size += size;
    }
    mcp_json_free(doc);
    return rc == MCP_ENOMEM ? rc : MCP_OK; /* not UTF-8, so it cannot be in JSON */
}

static int take_row(postgres_op *op, const PGresult *r)
{
    postgres_job *j = op->user;
    looking *l = (looking *)(uintptr_t)j->own;
    if (!PQntuples(r))
        return MCP_OK;
    size_t part = (size_t)strtoul(PQgetvalue(r, 0, 0), NULL, 10);
    if (*PQgetvalue(r, 0, 1) != '-') {
        postgres_target t = postgres_thing(r, 1);
        int rc = postgres_job_may(j, &t);
        if (rc != MCP_OK)
            return rc == MCP_ENOTFOUND ? MCP_OK : rc;
    }
    l->found = l->found || part == POSTGRES_HEALTH_SUBJECT;
    if (part >= POSTGRES_HEALTH_PARTS || PQgetisnull(r, 0, 4))
        return MCP_OK;
    go_to(l, part);
    return take_entry(l, r);
}

static int reply(postgres_job *j)
{
    mcp_str json;
    if (j->more)
        postgres_put(&j->text, "There is more than is shown: ask with schema or table.\n");
    mcp_json_put_bool(j->json, "truncated", j->more);
    mcp_json_end(j->json);
    const char *text = postgres_sql_text(&j->text);
    int rc = text ? mcp_json_writer_finish(j->json, &json) : MCP_ENOMEM;
    if (rc == MCP_OK)
        rc = mcp_reply_text(j->req, text);
    return rc == MCP_OK ? mcp_reply_structured(j->req, json) : rc;
}

static void end(postgres_job *j, int rc)
{
    looking *l = (looking *)(uintptr_t)j->own;
    if (rc != MCP_OK)
        postgres_job_broken(j, rc);
    else if ((l->schema || l->table) && !l->found)
        postgres_job_fail(j, MCP_CODE_INVALID_PARAMS,
                          "There is no such %s that can be read here: look at %s",
                          l->table ? "table" : "schema", j->s->base.prefix);
    else {
        go_to(l, POSTGRES_HEALTH_PARTS);
        postgres_job_finish(j, reply(j));
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Without rules the option is enough. A rule for many tools was not written for this one. */
static bool may(const mcp_request *req, const postgres *s)
{
    return mcp_request_may_do(req, MCP_OPERATION_CALL, MCP_ITEM_TOOL, mcp_str_from(s->health),
                              MCP_MAY_EXACT) == MCP_EFFECT_ALLOW;
}

static bool offered(const mcp_request *req, void *user)
{
    return may(req, user);
}

static void run(postgres_job *j)
{
    looking *l = (looking *)(uintptr_t)j->own;
    bool restricted = mcp_request_restricted(j->req);
    snprintf(j->number, sizeof(j->number), "%d", restricted ? MOST_LOOKED_AT : MOST + 1);
    j->op.value[0] = l->schema;
    j->op.value[1] = l->table;
    j->op.value[2] = restricted ? "t" : "f";
    j->op.value[3] = j->number;
    j->op.n_value = 4;
    mcp_json_begin_object(j->json);
    begin_part(l);
    postgres_job_look(j, postgres_health_sql, take_row, end);
}

/* Copies an argument; *ret is NULL if there is none. */
static int take_name(mcp_request *req, const mcp_json *arguments, const char *key, const char **ret)
{
    mcp_str given = mcp_json_string(mcp_json_get(arguments, key));
    *ret = given.len ? mcp_request_strdup(req, given) : NULL;
    if (given.len && memchr(given.ptr, 0, given.len))
        return MCP_EINVAL;
    return given.len && !*ret ? MCP_ENOMEM : MCP_OK;
}

static int start(postgres_job *j, const mcp_json *arguments)
{
    looking *l = mcp_request_alloc(j->req, sizeof(*l));
    if (!l)
        return MCP_ENOMEM;
    *l = (looking){.j = j};
    int rc = take_name(j->req, arguments, "schema", &l->schema);
    if (rc == MCP_OK)
        rc = take_name(j->req, arguments, "table", &l->table);
    if (rc == MCP_EINVAL)
        return mcp_reply_tool_error(j->req, "A name contains NUL");
    j->own = l;
    j->most = common_query_tool_bytes(j->req, arguments, j->s->answer_tokens);
    return rc == MCP_OK ? postgres_job_start(j, run) : rc;
}

static int call(mcp_request *req, const mcp_json *arguments, void *user)
{
    postgres *s = user;
    int rc;
    if (!may(req, s)) {
        mcp_request_note_denied(req);
        return mcp_reply_tool_error(
            req, "%s: no rule of this server's owner allows it to you by its name", s->health);
    }
    postgres_job *j = postgres_job_new(s, req, (mcp_str){"", 0}, &rc);
    if (!j)
        return rc;
    j->as_tool = true;
    return (postgres_is_trial(arguments) ? postgres_trial_start : start)(j, arguments);
}

/* ---- registration ---------------------------------------------------------------------------- */

#define INPUT(more)                                                                             \
    "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"schema\":{\"type\":" \
    "\"string\",\"description\":\"Only this schema\"},\"table\":{\"type\":\"string\","          \
    "\"description\":\"Only this table\"}" more "}}"
static const char input_schema[] = INPUT("");
static const char input_schema_with_plans[] =
    INPUT(",\"query\":{\"type\":\"string\",\"description\":\"Instead: a SELECT that `indexes` "
          "might help. "
          "Needs the extension hypopg, creates nothing\"},"
          "\"indexes\":{\"type\":\"array\",\"maxItems\":4,\"items\":{\"type\":\"string\"},"
          "\"description\":\"CREATE INDEX statements\"}");

#define LIST "{\"type\":\"array\",\"items\":{\"type\":\"object\"}}"
#define OUTPUT(more)                                                                             \
    "{\"type\":\"object\",\"required\":[\"truncated\"],\"properties\":{\"tables\":" LIST         \
    ",\"counted\":{\"type\":\"object\"},\"cache\":{\"type\":\"object\"},\"transaction_ids\":{"   \
    "\"type\":\"object\"},\"unused_indexes\":" LIST ",\"sequential_scans\":" LIST                \
    ",\"dead_rows\":" LIST ",\"duplicate_indexes\":" LIST ",\"invalid_indexes\":" LIST           \
    ",\"running_statements\":" LIST more ",\"truncated\":{\"type\":\"boolean\",\"description\":" \
    "\"There is more than is shown\"}}}"
static const char output_schema[] = OUTPUT("");
static const char output_schema_with_plans[] = OUTPUT(
    ",\"hypothetical_indexes\":{\"type\":\"object\",\"required\":[\"cost_without\",\"cost_with\","
    "\"indexes\"],\"properties\":{\"cost_without\":{\"type\":\"number\"},\"cost_with\":{\"type\":"
    "\"number\"},\"indexes\":" LIST "}}");

/* Characters that not every model API allows become "_". */
static void make_name(postgres *s)
{
    _Static_assert(sizeof(s->health) > LONGEST_TOOL_NAME, "the name fits");
    snprintf(s->health, sizeof(s->health), "database_health_%.*s", LONGEST_TOOL_NAME - 16,
             s->base.name);
    for (char *p = s->health; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-')
            *p = '_';
}

int postgres_health_offer(postgres *s, common_offer offer, mcp_error *error)
{
    char title[200], about[400];
    bool plans = s->base.explain; /* hypothetical indexes are about plans */
    if (!s->health_wanted)
        return MCP_OK;
    make_name(s);
    snprintf(title, sizeof(title), "Health of the PostgreSQL database %.80s", s->base.name);
    snprintf(about, sizeof(about),
             "Says what the statistics of the PostgreSQL database %.80s show: unused, missing, "
             "duplicate and invalid indexes, dead rows, long statements, cache, transaction ids%s",
             s->base.name, plans ? ". Or whether new indexes would help a query" : "");
    int rc = common_offer_tool(
        offer,
        MCP_OPTIONS(mcp_tool, .name = s->health, .title = title, .description = about,
                    .input_schema = plans ? input_schema_with_plans : input_schema,
                    .output_schema = plans ? output_schema_with_plans : output_schema,
                    .read_only = MCP_HINT_YES, .destructive = MCP_HINT_NO,
                    .idempotent = MCP_HINT_YES, .open_world = MCP_HINT_NO, .call = call,
                    .offered = offered),
        s, error);
    return rc == MCP_EEXIST ? common_refuse(error, rc, s->base.name,
                                            "another source has the same tool database_health; "
                                            "rename one of them: ?name=NAME")
                            : rc;
}
