/* uri.c: see uri.h. */
#include "uri.h"

#include "pieces.h"

static bool take_aspect(common_pieces *p, postgres_target *t)
{
    mcp_str aspect;
    if (!common_pieces_take(p, "/?#", &aspect))
        return false;
    t->kind = POSTGRES_KIND_ROWS;
    if (mcp_str_eq(aspect, MCP_STR("rows")))
        return true;
    t->kind = POSTGRES_KIND_ROW;
    if (mcp_str_eq(aspect, MCP_STR("row")))
        return common_pieces_take_keys(p, t->key, POSTGRES_URI_KEYS, &t->n_key);
    t->kind = POSTGRES_KIND_CELL;
    return mcp_str_eq(aspect, MCP_STR("cell")) && common_pieces_skip(p, '/') &&
           common_pieces_take(p, "/?#", &t->column) &&
           common_pieces_take_keys(p, t->key, POSTGRES_URI_KEYS, &t->n_key);
}

/* Reads a name. It may begin with "$" only if that is percent-encoded. */
static bool take_name(common_pieces *p, mcp_str *ret)
{
    return (!p->rest.len || *p->rest.ptr != '$') && common_pieces_take(p, "/?#", ret) && ret->len;
}

static bool take_in_schema(common_pieces *p, postgres_target *t)
{
    t->kind = POSTGRES_KIND_FUNCTION;
    if (common_pieces_skip_text(p, MCP_STR("$function/")))
        return common_pieces_take(p, "/?#", &t->name) && t->name.len;
    t->kind = POSTGRES_KIND_TABLE;
    return take_name(p, &t->name) && (!common_pieces_skip(p, '/') || take_aspect(p, t));
}

static bool take_path(common_pieces *p, postgres_target *t)
{
    if (!p->rest.len || *p->rest.ptr == '?')
        return true;
    t->kind = POSTGRES_KIND_QUERY;
    if (common_pieces_skip_text(p, MCP_STR("$query/")))
        return common_pieces_take(p, "/?#", &t->name) && t->name.len;
    t->kind = POSTGRES_KIND_SCHEMA;
    return take_name(p, &t->schema) && (!common_pieces_skip(p, '/') || take_in_schema(p, t));
}

int postgres_uri_parse(mcp_str rest, char *room, postgres_target *ret)
{
    common_pieces p = {.rest = rest, .room = room};
    ret->kind = POSTGRES_KIND_DATABASE;
    ret->schema = ret->name = ret->column = (mcp_str){"", 0};
    ret->n_key = ret->n_param = 0;
    if (!take_path(&p, ret))
        return MCP_ENOTFOUND;
    if (common_pieces_skip(&p, '?') &&
        (!p.rest.len ||
         !common_pieces_take_pairs(&p, ret->param, POSTGRES_URI_PARAMS, &ret->n_param)))
        return MCP_ENOTFOUND;
    return p.rest.len ? MCP_ENOTFOUND : MCP_OK;
}

/* Appends one percent-encoded segment. */
static void put_piece(postgres_sql *to, mcp_str text)
{
    char encoded[3];
    for (size_t i = 0; i < text.len; i++)
        postgres_put_str(to, (mcp_str){encoded, common_pieces_encode(encoded, text.ptr[i])});
}

static void put_aspect(postgres_sql *to, const postgres_target *t)
{
    if (t->kind == POSTGRES_KIND_ROWS)
        postgres_put(to, "/rows");
    if (t->kind == POSTGRES_KIND_ROW)
        postgres_put(to, "/row");
    if (t->kind == POSTGRES_KIND_CELL) {
        postgres_put(to, "/cell/");
        put_piece(to, t->column);
    }
    for (size_t i = 0; i < t->n_key; i++) {
        postgres_put(to, "/");
        put_piece(to, t->key[i]);
    }
}

void postgres_uri_put(postgres_sql *to, const char *prefix, const postgres_target *t)
{
    postgres_put(to, prefix);
    put_piece(to, t->schema);
    if (t->kind == POSTGRES_KIND_QUERY)
        postgres_put(to, "$query/");
    else if (t->kind == POSTGRES_KIND_FUNCTION)
        postgres_put(to, "/$function/");
    else if (t->kind > POSTGRES_KIND_SCHEMA)
        postgres_put(to, "/");
    put_piece(to, t->name);
    put_aspect(to, t);
    for (size_t i = 0; i < t->n_param; i++) {
        postgres_put(to, i ? "&" : "?");
        put_piece(to, t->param[i].name);
        postgres_put(to, "=");
        put_piece(to, t->param[i].value);
    }
}

const mcp_str *postgres_uri_param(const postgres_target *t, const char *name)
{
    return common_pieces_value(t->param, t->n_param, name);
}
