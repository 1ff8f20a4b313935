/* fields.c: asks for the values of the properties of a schema on the terminal. */
#define _GNU_SOURCE
#include "fields.h"

#include <stdlib.h>

#include "terminal.h"

static void show_choices(const field *f)
{
    field_choices all = field_choices_of(f->schema);
    field_choice one;
    while (field_choices_next(&all, &one)) {
        char *json = mcp_json_is(one.value, MCP_JSON_STRING) ? NULL : field_json(one.value);
        fputs("      ", stderr);
        text_put(stderr, json ? mcp_str_from(json) : mcp_json_string(one.value), TEXT_LINE);
        if (one.title.len)
            fputs("  ", stderr), text_put(stderr, one.title, TEXT_LINE);
        fputc('\n', stderr);
        free(json);
    }
    if (all.list && all.several)
        fputs("      (several: separated by commas)\n", stderr);
}

static mcp_str kind_of(const mcp_json *schema)
{
    mcp_str type = mcp_json_string(mcp_json_get(schema, "type"));
    mcp_str format = mcp_json_string(mcp_json_get(schema, "format"));
    if (format.len)
        return format;
    return mcp_str_eq(type, MCP_STR("string")) ? (mcp_str){0} : type;
}

/* Makes a prompt such as "  Your age (age, integer, optional) [30]: ". */
static char *make_label(const field *f)
{
    char *label = NULL;
    size_t size;
    mcp_str title = mcp_json_string(mcp_json_get(f->schema, "title")), kind = kind_of(f->schema);
    const mcp_json *fallback = field_default(f);
    FILE *to = open_memstream(&label, &size);
    if (!to)
        return NULL;
    const mcp_str notes[] = {title.len ? f->name : (mcp_str){0}, kind,
                             f->required || fallback ? (mcp_str){0} : MCP_STR("optional")};
    title = title.len ? title : f->name;
    fprintf(to, "  %.*s", (int)title.len, title.ptr);
    const char *before = " (";
    for (size_t i = 0; i < 3; i++)
        if (notes[i].len)
            fprintf(to, "%s%.*s", before, (int)notes[i].len, notes[i].ptr), before = ", ";
    if (*before == ',')
        fputc(')', to);
    char *json = fallback ? field_json(fallback) : NULL;
    mcp_str text = mcp_json_string(fallback);
    if (mcp_json_is(fallback, MCP_JSON_STRING))
        fprintf(to, " [%.*s]", (int)text.len, text.len ? text.ptr : "");
    else if (json)
        fprintf(to, " [%s]", json);
    fputs(": ", to);
    free(json);
    fclose(to);
    return label;
}

/* Prints a reason such as "    age: expected at most 9, got 10". */
static void tell(const field *f, const char *why)
{
    fputs("    ", stderr);
    text_put(stderr, f->name, TEXT_LINE);
    fputs(": ", stderr);
    text_put(stderr, mcp_str_from(why), TEXT_LINE);
    fputc('\n', stderr);
}

field_answer field_ask(const field *f, char **ret)
{
    mcp_str about = mcp_json_string(mcp_json_get(f->schema, "description"));
    char *label = make_label(f), *line = NULL;
    field_answer answer = FIELD_END;
    *ret = NULL;
    terminal_show(about, 4);
    show_choices(f);
    while (label && !*ret && (line = terminal_edit(label)) != NULL) {
        field_reason why = {""};
        if (*line) {
            *ret = field_value(f, line, &why);
            answer = FIELD_TYPED;
        } else if (field_default(f)) {
            *ret = field_json(field_default(f));
            answer = FIELD_DEFAULT;
        } else if (!f->required) {
            answer = FIELD_LEFT_OUT;
            break;
        } else {
            snprintf(why.text, sizeof(why.text), "it is required");
        }
        if (!*ret)
            tell(f, why.text);
        free(line);
        line = NULL;
    }
    bool ended = !*ret && !line;
    free(line);
    free(label);
    return ended ? FIELD_END : answer;
}
