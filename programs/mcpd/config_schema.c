/* config_schema.c: completes the schema from the table of options, and formats JSON for people. */
#define _GNU_SOURCE
#include "config.h"

#include <stdlib.h>

/* ---- formatting JSON ------------------------------------------------------------------------- */

static size_t string_end(mcp_str json, size_t i)
{
    for (i++; json.ptr[i] != '"'; i++)
        i += json.ptr[i] == '\\';
    return i + 1;
}

/* Returns the length of the array that begins here if it is short and contains no containers;
 * otherwise 0. */
static size_t short_array(mcp_str json, size_t i)
{
    size_t at = i + 1;
    while (at < json.len && json.ptr[at] != ']') {
        if (json.ptr[at] == '{' || json.ptr[at] == '[' || at - i > 80)
            return 0;
        at = json.ptr[at] == '"' ? string_end(json, at) : at + 1;
    }
    return at < json.len ? at + 1 - i : 0;
}

static void put_short(FILE *to, mcp_str json)
{
    for (size_t i = 0; i < json.len;) {
        size_t end = json.ptr[i] == '"' ? string_end(json, i) : i + 1;
        fwrite(json.ptr + i, 1, end - i, to);
        if (json.ptr[i] == ',')
            fputc(' ', to);
        i = end;
    }
}

static void new_line(FILE *to, int depth)
{
    fprintf(to, "\n%*s", 2 * depth, "");
}

void config_pretty(FILE *to, mcp_str json)
{
    int depth = 0;
    for (size_t i = 0; i < json.len;) {
        char c = json.ptr[i];
        size_t end = c == '"' ? string_end(json, i) : i + 1;
        size_t whole = c == '[' ? short_array(json, i) : 0;
        bool empty = c == '{' && i + 1 < json.len && json.ptr[i + 1] == '}';
        if (whole) {
            put_short(to, (mcp_str){json.ptr + i, whole});
            end = i + whole;
        } else if (empty) {
            fputs("{}", to);
            end = i + 2;
        } else {
            if (c == '}' || c == ']')
                new_line(to, --depth);
            fwrite(json.ptr + i, 1, end - i, to);
            if (c == '{' || c == '[')
                new_line(to, ++depth);
            else if (c == ',')
                new_line(to, depth);
            else if (c == ':')
                fputc(' ', to);
        }
        i = end;
    }
    fputc('\n', to);
}

/* ---- options --------------------------------------------------------------------------------- */

static void put_choices(mcp_json_writer *w, const char *choices)
{
    mcp_json_key(w, "enum");
    mcp_json_begin_array(w);
    for (const char *p = choices; *p; p += strcspn(p, "|"), p += *p == '|')
        mcp_json_add_str(w, (mcp_str){p, strcspn(p, "|")});
    mcp_json_end(w);
}

static void put_text(mcp_json_writer *w)
{
    mcp_json_put_string(w, "type", "string");
    mcp_json_put_int(w, "minLength", 1);
}

static void put_list(mcp_json_writer *w)
{
    mcp_json_put_raw(w, "type", MCP_STR("[\"string\",\"array\"]"));
    mcp_json_put_int(w, "minLength", 1);
    mcp_json_key(w, "items");
    mcp_json_begin_object(w);
    put_text(w);
    mcp_json_end(w);
}

static void put_number(mcp_json_writer *w, const option *o)
{
    mcp_json_key(w, "type");
    if (o->kind == OPTION_SIZE || o->automatic)
        mcp_json_add_raw(w, MCP_STR("[\"integer\",\"string\"]"));
    else
        mcp_json_add_string(w, o->kind == OPTION_SECONDS ? "number" : "integer");
    mcp_json_put_uint(w, "minimum", o->min);
    mcp_json_put_uint(w, "maximum", o->max);
    if (o->kind == OPTION_SIZE)
        mcp_json_put_string(w, "pattern", "^[0-9]+([KkMmGg]i?)?B?$");
    if (o->automatic)
        mcp_json_put_string(w, "pattern", "^([0-9]+|auto)$");
}

static void put_option(mcp_json_writer *w, const option *o)
{
    mcp_json_key(w, o->name);
    mcp_json_begin_object(w);
    switch (o->kind) {
    case OPTION_FLAG: mcp_json_put_string(w, "type", "boolean"); break;
    case OPTION_CHOICE: put_choices(w, o->choices); break;
    case OPTION_TEXT:
        if (o->is_secret) {
            mcp_json_put_string(w, "$ref", "#/$defs/secret");
            mcp_json_put_int(w, "minLength", 1);
        } else {
            put_text(w);
        }
        break;
    case OPTION_LIST: put_list(w); break;
    case OPTION_COUNT:
    case OPTION_SIZE:
    case OPTION_SECONDS: put_number(w, o); break;
    }
    mcp_json_put_string(w, "description", o->help);
    mcp_json_end(w);
}

static bool is_option(mcp_str name)
{
    size_t count;
    const option *table = options_table(&count);
    for (size_t i = 0; i < count; i++)
        if (mcp_str_eq(name, mcp_str_from(table[i].name)))
            return true;
    return false;
}

static void put_properties(mcp_json_writer *w, const mcp_json *properties)
{
    size_t count;
    const option *table = options_table(&count);
    mcp_json_iter it = {0};
    mcp_str key;
    mcp_json_begin_object(w);
    for (const mcp_json *v; (v = mcp_json_next(properties, &it, &key)) != NULL;)
        if (!is_option(key))
            mcp_json_key_str(w, key), mcp_json_add_value(w, v);
    for (size_t i = 0; i < count; i++)
        if (!table[i].line_only)
            put_option(w, &table[i]);
    mcp_json_end(w);
}

int config_print_schema(FILE *to)
{
    mcp_json_doc *doc = NULL;
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_json_iter it = {0};
    mcp_str key, text;
    int rc = mcp_json_parse((mcp_str){config_schema, config_schema_len}, NULL, NULL, &doc, NULL);
    mcp_json_begin_object(w);
    for (const mcp_json *v; (v = mcp_json_next(mcp_json_root(doc), &it, &key)) != NULL;) {
        mcp_json_key_str(w, key);
        if (mcp_str_eq(key, MCP_STR("properties")))
            put_properties(w, v);
        else
            mcp_json_add_value(w, v);
    }
    mcp_json_end(w);
    if (rc == MCP_OK && w)
        rc = mcp_json_writer_finish(w, &text);
    if (rc == MCP_OK && w)
        config_pretty(to, text);
    mcp_json_writer_free(w);
    mcp_json_free(doc);
    return rc == MCP_OK ? 0 : 1;
}
