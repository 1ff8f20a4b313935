/* uri.c: see uri.h. */
#include "uri.h"

#include "pieces.h"

static bool take_aspect(common_pieces *p, sqlite_target *t)
{
    mcp_str aspect;
    if (!common_pieces_take(p, "/?#", &aspect))
        return false;
    t->kind = SQLITE_KIND_ROWS;
    if (mcp_str_eq(aspect, MCP_STR("rows")))
        return true;
    t->kind = SQLITE_KIND_ROW;
    if (mcp_str_eq(aspect, MCP_STR("row")))
        return common_pieces_take_keys(p, t->key, SQLITE_URI_KEYS, &t->n_key);
    t->kind = SQLITE_KIND_CELL;
    return mcp_str_eq(aspect, MCP_STR("cell")) && common_pieces_skip(p, '/') &&
           common_pieces_take(p, "/?#", &t->column) &&
           common_pieces_take_keys(p, t->key, SQLITE_URI_KEYS, &t->n_key);
}

static bool take_path(common_pieces *p, sqlite_target *t)
{
    if (!p->rest.len || *p->rest.ptr == '?')
        return true;
    t->kind = SQLITE_KIND_QUERY;
    if (common_pieces_skip_text(p, MCP_STR("$query/")))
        return common_pieces_take(p, "/?#", &t->table) && t->table.len;
    t->kind = SQLITE_KIND_TABLE;
    if (*p->rest.ptr == '$' || !common_pieces_take(p, "/?#", &t->table) || !t->table.len)
        return false;
    return !common_pieces_skip(p, '/') || take_aspect(p, t);
}

int sqlite_uri_parse(mcp_str rest, char *room, sqlite_target *ret)
{
    common_pieces p = {.rest = rest, .room = room, .nul = true};
    ret->kind = SQLITE_KIND_DATABASE;
    ret->table = ret->column = (mcp_str){"", 0};
    ret->n_key = ret->n_param = 0;
    if (!take_path(&p, ret))
        return MCP_ENOTFOUND;
    if (common_pieces_skip(&p, '?') &&
        (!p.rest.len ||
         !common_pieces_take_pairs(&p, ret->param, SQLITE_URI_PARAMS, &ret->n_param)))
        return MCP_ENOTFOUND;
    return p.rest.len ? MCP_ENOTFOUND : MCP_OK;
}

void sqlite_uri_put_text(sqlite3_str *to, mcp_str text)
{
    char encoded[3];
    for (size_t i = 0; i < text.len; i++)
        sqlite3_str_append(to, encoded, (int)common_pieces_encode(encoded, text.ptr[i]));
}

static void put_keys(sqlite3_str *to, const sqlite_target *t)
{
    for (size_t i = 0; i < t->n_key; i++) {
        sqlite3_str_appendchar(to, 1, '/');
        sqlite_uri_put_text(to, t->key[i]);
    }
}

void sqlite_uri_put(sqlite3_str *to, const char *prefix, const sqlite_target *t)
{
    sqlite3_str_appendall(to, prefix);
    if (t->kind == SQLITE_KIND_QUERY)
        sqlite3_str_appendall(to, "$query/");
    sqlite_uri_put_text(to, t->table);
    if (t->kind == SQLITE_KIND_ROWS)
        sqlite3_str_appendall(to, "/rows");
    if (t->kind == SQLITE_KIND_ROW)
        sqlite3_str_appendall(to, "/row");
    if (t->kind == SQLITE_KIND_CELL) {
        sqlite3_str_appendall(to, "/cell/");
        sqlite_uri_put_text(to, t->column);
    }
    put_keys(to, t);
    for (size_t i = 0; i < t->n_param; i++) {
        sqlite3_str_appendchar(to, 1, i ? '&' : '?');
        sqlite_uri_put_text(to, t->param[i].name);
        sqlite3_str_appendchar(to, 1, '=');
        sqlite_uri_put_text(to, t->param[i].value);
    }
}

const mcp_str *sqlite_uri_param(const sqlite_target *t, const char *name)
{
    return common_pieces_value(t->param, t->n_param, name);
}
