/* left_out.c: finds the pieces that a description leaves out; see describe.h. */
#include "describe.h"

int postgres_job_may(const postgres_job *j, const postgres_target *t)
{
    postgres_sql uri;
    if (!mcp_request_restricted(j->req))
        return MCP_OK;
    postgres_sql_init(&uri, &j->s->base.alloc);
    postgres_uri_put(&uri, j->s->base.prefix, t);
    const char *text = postgres_sql_text(&uri);
    int rc = !text                                                            ? MCP_ENOMEM
             : mcp_request_may(j->req, MCP_ITEM_RESOURCE, mcp_str_from(text)) ? MCP_OK
                                                                              : MCP_ENOTFOUND;
    postgres_sql_free(&uri);
    return rc;
}

static mcp_str cell(const PGresult *r, int at)
{
    return (mcp_str){PQgetvalue(r, 0, at), (size_t)PQgetlength(r, 0, at)};
}

postgres_target postgres_thing(const PGresult *r, int at)
{
    char kind = *PQgetvalue(r, 0, at);
    return (postgres_target){.kind = kind == 'a'   ? POSTGRES_KIND_SCHEMA
                                     : kind == 't' ? POSTGRES_KIND_TABLE
                                                   : POSTGRES_KIND_FUNCTION,
                             .schema = cell(r, at + 1),
                             .name = kind == 'a' ? (mcp_str){"", 0} : cell(r, at + 2)};
}

/* Pieces consist of letters, digits and dots, so they need no escaping in an array. */
static int put_left_out(postgres_op *op, const PGresult *r)
{
    postgres_job *j = op->user;
    if (!PQntuples(r))
        return MCP_OK;
    postgres_target t = postgres_thing(r, 1);
    int rc = postgres_job_may(j, &t);
    if (rc != MCP_ENOTFOUND)
        return rc;
    postgres_put(&j->left, j->left.b.len > 1 ? "," : "");
    postgres_put_str(&j->left, cell(r, 0));
    return j->left.b.len > j->s->max_read ? MCP_ELIMIT : MCP_OK;
}

static void end_left_out(postgres_job *j, int rc)
{
    postgres_put(&j->left, "}");
    const char *text = postgres_sql_text(&j->left);
    j->after_left_out(j, rc == MCP_OK && !text ? MCP_ENOMEM : rc);
}

void postgres_find_left_out(postgres_job *j, const char *names,
                            void (*next)(postgres_job *j, int rc))
{
    postgres_sql_reset(&j->left);
    bool restricted = mcp_request_restricted(j->req);
    postgres_put(&j->left, restricted ? "{x,n" : j->s->callers.on ? "{x" : "{");
    j->after_left_out = next;
    if (!restricted) {
        end_left_out(j, MCP_OK);
        return;
    }
    j->op.value[0] = j->target.schema.len ? j->target.schema.ptr : NULL;
    j->op.value[1] = j->target.name.ptr;
    j->op.n_value = 1 + (j->target.name.len > 0);
    postgres_job_look(j, names, put_left_out, end_left_out);
}
