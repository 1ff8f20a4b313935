/* uri.c: see uri.h. */
#include "uri.h"

#include <mcp/uri.h>

#include <ctype.h>

/* The next piece of *rest up to `end` or one of `stops`, decoded into *room. */
static bool take(mcp_str *rest, const char *stops, char **room, mcp_str *ret)
{
    size_t len = 0, decoded;
    while (len < rest->len && rest->ptr[len] && !strchr(stops, rest->ptr[len]))
        len++;
    if (mcp_uri_decode((mcp_str){rest->ptr, len}, *room, len, &decoded) != MCP_OK ||
        memchr(*room, 0, decoded) || (len < rest->len && !rest->ptr[len]))
        return false;
    (*room)[decoded] = 0;
    *ret = (mcp_str){*room, decoded};
    *room += decoded + 1;
    rest->ptr += len;
    rest->len -= len;
    return true;
}

static bool skip(mcp_str *rest, char c)
{
    if (!rest->len || *rest->ptr != c)
        return false;
    rest->ptr++;
    rest->len--;
    return true;
}

static bool skip_text(mcp_str *rest, mcp_str text)
{
    if (rest->len < text.len || memcmp(rest->ptr, text.ptr, text.len) != 0)
        return false;
    rest->ptr += text.len;
    rest->len -= text.len;
    return true;
}

static bool take_params(mcp_str *rest, char **room, postgres_target *t)
{
    while (rest->len) {
        if (t->n_param == POSTGRES_URI_PARAMS)
            return false;
        postgres_param *p = &t->param[t->n_param++];
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

static bool take_keys(mcp_str *rest, char **room, postgres_target *t)
{
    while (skip(rest, '/'))
        if (t->n_key == POSTGRES_URI_KEYS || !take(rest, "/?#", room, &t->key[t->n_key++]))
            return false;
    return t->n_key > 0;
}

static bool take_aspect(mcp_str *rest, char **room, postgres_target *t)
{
    mcp_str aspect;
    if (!take(rest, "/?#", room, &aspect))
        return false;
    t->kind = POSTGRES_KIND_ROWS;
    if (mcp_str_eq(aspect, MCP_STR("rows")))
        return true;
    t->kind = POSTGRES_KIND_ROW;
    if (mcp_str_eq(aspect, MCP_STR("row")))
        return take_keys(rest, room, t);
    t->kind = POSTGRES_KIND_CELL;
    return mcp_str_eq(aspect, MCP_STR("cell")) && skip(rest, '/') &&
           take(rest, "/?#", room, &t->column) && take_keys(rest, room, t);
}

/* A name, which begins with "$" only where that is encoded. */
static bool take_name(mcp_str *rest, char **room, mcp_str *ret)
{
    return (!rest->len || *rest->ptr != '$') && take(rest, "/?#", room, ret) && ret->len;
}

static bool take_in_schema(mcp_str *rest, char **room, postgres_target *t)
{
    t->kind = POSTGRES_KIND_FUNCTION;
    if (skip_text(rest, MCP_STR("$function/")))
        return take(rest, "/?#", room, &t->name) && t->name.len;
    t->kind = POSTGRES_KIND_TABLE;
    return take_name(rest, room, &t->name) && (!skip(rest, '/') || take_aspect(rest, room, t));
}

static bool take_path(mcp_str *rest, char **room, postgres_target *t)
{
    if (!rest->len || *rest->ptr == '?')
        return true;
    t->kind = POSTGRES_KIND_QUERY;
    if (skip_text(rest, MCP_STR("$query/")))
        return take(rest, "/?#", room, &t->name) && t->name.len;
    t->kind = POSTGRES_KIND_SCHEMA;
    return take_name(rest, room, &t->schema) && (!skip(rest, '/') || take_in_schema(rest, room, t));
}

int postgres_uri_parse(mcp_str rest, char *room, postgres_target *ret)
{
    ret->kind = POSTGRES_KIND_DATABASE;
    ret->schema = ret->name = ret->column = (mcp_str){"", 0};
    ret->n_key = ret->n_param = 0;
    if (!take_path(&rest, &room, ret))
        return MCP_ENOTFOUND;
    if (skip(&rest, '?') && (!rest.len || !take_params(&rest, &room, ret)))
        return MCP_ENOTFOUND;
    return rest.len ? MCP_ENOTFOUND : MCP_OK;
}

void postgres_uri_put_text(postgres_sql *to, mcp_str text)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        char encoded[3] = {'%', digits[c >> 4], digits[c & 15]};
        bool plain = (c < 0x80 && isalnum(c)) || (c && strchr("-._~", c));
        postgres_put_str(to, plain ? (mcp_str){&text.ptr[i], 1} : (mcp_str){encoded, 3});
    }
}

static void put_aspect(postgres_sql *to, const postgres_target *t)
{
    if (t->kind == POSTGRES_KIND_ROWS)
        postgres_put(to, "/rows");
    if (t->kind == POSTGRES_KIND_ROW)
        postgres_put(to, "/row");
    if (t->kind == POSTGRES_KIND_CELL) {
        postgres_put(to, "/cell/");
        postgres_uri_put_text(to, t->column);
    }
    for (size_t i = 0; i < t->n_key; i++) {
        postgres_put(to, "/");
        postgres_uri_put_text(to, t->key[i]);
    }
}

void postgres_uri_put(postgres_sql *to, const char *prefix, const postgres_target *t)
{
    postgres_put(to, prefix);
    postgres_uri_put_text(to, t->schema);
    if (t->kind == POSTGRES_KIND_QUERY)
        postgres_put(to, "$query/");
    else if (t->kind == POSTGRES_KIND_FUNCTION)
        postgres_put(to, "/$function/");
    else if (t->kind > POSTGRES_KIND_SCHEMA)
        postgres_put(to, "/");
    postgres_uri_put_text(to, t->name);
    put_aspect(to, t);
    for (size_t i = 0; i < t->n_param; i++) {
        postgres_put(to, i ? "&" : "?");
        postgres_uri_put_text(to, t->param[i].name);
        postgres_put(to, "=");
        postgres_uri_put_text(to, t->param[i].value);
    }
}

const mcp_str *postgres_uri_param(const postgres_target *t, const char *name)
{
    for (size_t i = 0; i < t->n_param; i++)
        if (mcp_str_eq(t->param[i].name, mcp_str_from(name)))
            return &t->param[i].value;
    return NULL;
}
