/* fuzz_postgres_uri.c: a URI of the PostgreSQL provider from a peer is parsed and built again. Each
 * URI has one canonical spelling with the same meaning, and no name escapes from the quotes of an
 * identifier.
 */
#include <stdint.h>
#include <stdlib.h>

#include <uri.h>

static bool same(const postgres_target *a, const postgres_target *b)
{
    bool ok = a->kind == b->kind && mcp_str_eq(a->schema, b->schema) &&
              mcp_str_eq(a->name, b->name) && mcp_str_eq(a->column, b->column) &&
              a->n_key == b->n_key && a->n_param == b->n_param;
    for (size_t i = 0; ok && i < a->n_key; i++)
        ok = mcp_str_eq(a->key[i], b->key[i]);
    for (size_t i = 0; ok && i < a->n_param; i++)
        ok = mcp_str_eq(a->param[i].name, b->param[i].name) &&
             mcp_str_eq(a->param[i].value, b->param[i].value);
    return ok;
}

/* Checks that all quotes inside the outer quotes are doubled. */
static void check_name(postgres_sql *to, mcp_str name)
{
    postgres_sql_reset(to);
    postgres_put_name(to, name.ptr);
    const char *text = postgres_sql_text(to);
    size_t len = text ? strlen(text) : 0;
    if (len < 2 || text[0] != '"' || text[len - 1] != '"' || memchr(name.ptr, 0, name.len))
        abort();
    for (size_t i = 1; i + 1 < len; i++)
        if (text[i] == '"' && (i + 2 >= len || text[++i] != '"'))
            abort();
}

static void check_round_trip(const postgres_target *t, postgres_sql *to)
{
    postgres_target again;
    postgres_sql_reset(to);
    postgres_uri_put(to, "", t);
    const char *text = postgres_sql_text(to);
    mcp_str made = mcp_str_from(text ? text : "");
    char *room = malloc(made.len + POSTGRES_URI_ROOM);
    if (room && text && (postgres_uri_parse(made, room, &again) != MCP_OK || !same(t, &again)))
        abort();
    free(room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    postgres_target t;
    postgres_sql to;
    mcp_allocator alloc = common_allocator(NULL);
    mcp_str rest = {(const char *)data, size};
    char *room = malloc(size + POSTGRES_URI_ROOM);
    postgres_sql_init(&to, &alloc);
    if (room && postgres_uri_parse(rest, room, &t) == MCP_OK) {
        check_round_trip(&t, &to);
        check_name(&to, t.schema);
        check_name(&to, t.name);
        check_name(&to, t.column);
    }
    postgres_sql_free(&to);
    free(room);
    return 0;
}
