/* uri.c: see uri.h. */
#include "uri.h"

#include "pieces.h"

/* The beginnings of keys that name the type of their value. */
static const char *const key_types[SQLITE_KEY_TYPES] = {
    [SQLITE_KEY_PLAIN] = "",      [SQLITE_KEY_INTEGER] = "$integer:",
    [SQLITE_KEY_REAL] = "$real:", [SQLITE_KEY_TEXT] = "$text:",
    [SQLITE_KEY_BLOB] = "$blob:", [SQLITE_KEY_ROWID] = "$rowid:",
};

static sqlite_key_type take_key_type(common_pieces *p)
{
    for (int type = SQLITE_KEY_PLAIN + 1; type < SQLITE_KEY_TYPES; type++)
        if (common_pieces_skip_text(p, mcp_str_from(key_types[type])))
            return (sqlite_key_type)type;
    return SQLITE_KEY_PLAIN;
}

static bool take_keys(common_pieces *p, sqlite_target *t)
{
    while (common_pieces_skip(p, '/')) {
        if (t->n_key == SQLITE_URI_KEYS)
            return false;
        t->key_type[t->n_key] = take_key_type(p);
        if (!common_pieces_take(p, "/?#", &t->key[t->n_key++]))
            return false;
    }
    return t->n_key > 0;
}

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
        return take_keys(p, t);
    t->kind = SQLITE_KIND_CELL;
    return mcp_str_eq(aspect, MCP_STR("cell")) && common_pieces_skip(p, '/') &&
           common_pieces_take(p, "/?#", &t->column) && take_keys(p, t);
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

void sqlite_uri_put_key(sqlite3_str *to, sqlite_key_type type, mcp_str text)
{
    sqlite3_str_appendchar(to, 1, '/');
    sqlite3_str_appendall(to, key_types[type]);
    sqlite_uri_put_text(to, text);
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
    for (size_t i = 0; i < t->n_key; i++)
        sqlite_uri_put_key(to, t->key_type[i], t->key[i]);
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
