/* uri.c: see uri.h. */
#include "uri.h"

#include <mcp/uri.h>

#include <ctype.h>

/* The next piece of *rest up to `end` or one of `stops`, decoded into *room. */
static bool take(mcp_str *rest, const char *stops, char **room, mcp_str *ret)
{
    size_t len = 0, decoded;
    while (len < rest->len && !strchr(stops, rest->ptr[len] ? rest->ptr[len] : '/'))
        len++;
    if (len < rest->len && !rest->ptr[len])
        return false;
    if (mcp_uri_decode((mcp_str){rest->ptr, len}, *room, len, &decoded) != MCP_OK)
        return false;
    (*room)[decoded] = 0;
    *ret = (mcp_str){*room, decoded};
    *room += decoded + 1;
    rest->ptr += len;
    rest->len -= len;
    return true;
}

/* One character that stands next. */
static bool skip(mcp_str *rest, char c)
{
    if (!rest->len || *rest->ptr != c)
        return false;
    rest->ptr++;
    rest->len--;
    return true;
}

static bool take_params(mcp_str *rest, char **room, sqlite_target *t)
{
    while (rest->len) {
        if (t->n_param == SQLITE_URI_PARAMS)
            return false;
        sqlite_param *p = &t->param[t->n_param++];
        if (!take(rest, "=&#", room, &p->name) || !p->name.len)
            return false;
        p->value = (mcp_str){"", 0};
        if (skip(rest, '=') && !take(rest, "&#", room, &p->value))
            return false;
        if (rest->len && (!skip(rest, '&') || !rest->len))
            return false;
    }
    return true;
}

static bool take_keys(mcp_str *rest, char **room, sqlite_target *t)
{
    while (skip(rest, '/')) {
        if (t->n_key == SQLITE_URI_KEYS || !take(rest, "/?#", room, &t->key[t->n_key++]))
            return false;
    }
    return t->n_key > 0;
}

static bool take_aspect(mcp_str *rest, char **room, sqlite_target *t)
{
    mcp_str aspect;
    if (!take(rest, "/?#", room, &aspect))
        return false;
    t->kind = SQLITE_KIND_ROWS;
    if (mcp_str_eq(aspect, MCP_STR("rows")))
        return true;
    t->kind = SQLITE_KIND_ROW;
    if (mcp_str_eq(aspect, MCP_STR("row")))
        return take_keys(rest, room, t);
    t->kind = SQLITE_KIND_CELL;
    return mcp_str_eq(aspect, MCP_STR("cell")) && skip(rest, '/') &&
           take(rest, "/?#", room, &t->column) && take_keys(rest, room, t);
}

static bool take_path(mcp_str *rest, char **room, sqlite_target *t)
{
    static const mcp_str query = MCP_STR("$query/");
    if (!rest->len || *rest->ptr == '?')
        return true;
    if (rest->len >= query.len && memcmp(rest->ptr, query.ptr, query.len) == 0) {
        rest->ptr += query.len;
        rest->len -= query.len;
        t->kind = SQLITE_KIND_QUERY;
        return take(rest, "/?#", room, &t->table) && t->table.len;
    }
    t->kind = SQLITE_KIND_TABLE;
    if (*rest->ptr == '$' || !take(rest, "/?#", room, &t->table) || !t->table.len)
        return false;
    return !skip(rest, '/') || take_aspect(rest, room, t);
}

int sqlite_uri_parse(mcp_str rest, char *room, sqlite_target *ret)
{
    ret->kind = SQLITE_KIND_DATABASE;
    ret->table = ret->column = (mcp_str){"", 0};
    ret->n_key = ret->n_param = 0;
    if (!take_path(&rest, &room, ret))
        return MCP_ENOTFOUND;
    if (skip(&rest, '?') && (!rest.len || !take_params(&rest, &room, ret)))
        return MCP_ENOTFOUND;
    return rest.len ? MCP_ENOTFOUND : MCP_OK;
}

void sqlite_uri_put_text(sqlite3_str *to, mcp_str text)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        char encoded[3] = {'%', digits[c >> 4], digits[c & 15]};
        if ((c < 0x80 && isalnum(c)) || (c && strchr("-._~", c)))
            sqlite3_str_appendchar(to, 1, (char)c);
        else
            sqlite3_str_append(to, encoded, 3);
    }
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
    for (size_t i = 0; i < t->n_param; i++)
        if (mcp_str_eq(t->param[i].name, mcp_str_from(name)))
            return &t->param[i].value;
    return NULL;
}
